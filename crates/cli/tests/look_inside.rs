//! Looking into images: `find`, `grep`, `du`, `tree`, `stat`, and patterns in `ls` and `cat`. The
//! judges are find(1), grep(1), stat(1) and cat(1) on the tree that was packed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::{build, scratch, shell, sinter};

/// Makes a tree `d` with everything that the conditions distinguish.
const TREE: &str = r#"
mkdir -p d/etc/conf.d d/usr/lib d/empty; cd d
printf 'alpha\nBeta word\nwordy\n' > etc/a.conf
printf 'word one\nno\nword two\n' > etc/conf.d/b.conf
printf '[main]\nword\n' > 'etc/conf.d/with space.conf'
seq 1 40000 > usr/lib/big.txt
cp usr/lib/big.txt usr/lib/again.txt
head -c 5000 /dev/zero | tr '\0' x > usr/lib/five
printf 'text\0word\n' > usr/lib/binary
printf 'no newline word' > etc/last
ln etc/a.conf usr/lib/linked
ln -s ../etc/a.conf usr/to
chmod 4755 usr/lib/five; chmod 600 etc/last
touch -d @1000000000 etc/a.conf; touch -d @1500000000 etc/last
touch -h -d @1200000000 usr/to; touch -d @1300000000 usr/lib usr
"#;

fn out(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {told}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn sorted(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Runs the judge in the tree; fails only if it cannot be started.
fn judge(tree: &Path, script: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(tree);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

fn ours(work: &Path, words: &[&str]) -> Output {
    sinter().current_dir(work).args(words).output().unwrap()
}

/// Makes the tree, and an image of each of two kinds of formats.
fn images() -> (tempfile::TempDir, [&'static str; 2]) {
    let work = scratch();
    shell(work.path(), TREE);
    let tree = work.path().join("d");
    for image in ["i.dwarfs", "i.squashfs"] {
        let format = image.strip_prefix("i.").unwrap();
        build(format, &tree, &work.path().join(image), &[]);
    }
    (work, ["i.dwarfs", "i.squashfs"])
}

#[test]
fn find_as_find_does() {
    let (work, images) = images();
    let tree = work.path().join("d");
    for (conditions, same) in [
        (&[][..], "-true"),
        (&["-name", "*.conf"], "-name '*.conf'"),
        (&["-iname", "A.CONF"], "-iname A.CONF"),
        (&["-type", "f", "--size", "+5000"], "-type f -size +4999c"),
        (&["--size", "-20"], "-type f -size -21c"),
        (&["--size", "5000"], "-type f -size 5000c"),
        (&["-type", "d,l"], "( -type d -o -type l )"),
        (&["--newer", "@1400000000"], "-newermt @1399999999"),
        (
            &["--older", "2009-01-01"],
            "! -newermt '2009-01-01 00:00 UTC'",
        ),
        (&["-perm", "-4000"], "-perm -4000"),
        (&["-perm", "644"], "-perm 644"),
        (&["--perm", "/6001"], "-perm /6001"),
        (&["-type", "f", "-size", "5000c"], "-type f -size 5000c"),
        (&["-maxdepth", "1"], "-maxdepth 1"),
        (&["-name", "etc/*/*.conf"], "-path './etc/*/*.conf'"),
        (&["-uid", "4242"], "-uid 4242"),
    ] {
        let same = same.replace('(', "\\(").replace(')', "\\)");
        let theirs = judge(&tree, &format!("find . -mindepth 1 {same} -printf '%P\\n'"));
        for image in images {
            let words = [&["find", image][..], conditions].concat();
            let found = out(&ours(work.path(), &words));
            assert_eq!(sorted(&found), sorted(&theirs), "{words:?}");
        }
    }
    let below = out(&ours(
        work.path(),
        &["find", images[0], "etc", "-type", "f"],
    ));
    assert_eq!(sorted(&below), sorted(&judge(&tree, "find etc -type f")));
    let wrong = ours(work.path(), &["find", images[0], "--newer", "yesterday"]);
    assert_eq!(wrong.status.code(), Some(2));
    let blocks = ours(work.path(), &["find", images[0], "-size", "+10"]);
    assert_eq!(blocks.status.code(), Some(2));
}

#[test]
fn grep_as_grep_does() {
    let (work, images) = images();
    let tree = work.path().join("d");
    for (ours_words, same) in [
        (&["word"][..], "-n word"),
        (&["-i", "BETA"], "-n -i BETA"),
        (&["-w", "word"], "-n -w word"),
        (&["-N", "-F", "[main]"], "-F '[main]'"),
        (&["-v", "word"], "-n -v word"),
        (&["-l", "word"], "-l word"),
        (&["-c", "^[0-9]*7$"], "-c '^[0-9]*7$'"),
        (&["-o", "wor."], "-n -o 'wor.'"),
        (&["-N", "-A", "1", "one"], "-A 1 one"),
        (&["-a", "text"], "-n -a text"),
        (&["-N", "-m", "1", "word"], "-m 1 word"),
    ] {
        // the further name of a file is not searched, binary files are compared below
        let files = "etc usr/lib/big.txt usr/lib/again.txt usr/lib/five";
        let files = if ours_words[0] == "-a" { "usr" } else { files };
        let mut theirs = judge(&tree, &format!("grep -rH --exclude=linked {same} {files}"));
        if same.starts_with("-c") {
            // counts of zero are not printed
            let lines = theirs.lines().filter(|line| !line.ends_with(":0"));
            theirs = lines.map(|line| format!("{line}\n")).collect();
        }
        for image in images {
            for jobs in ["-j1", "-j4"] {
                let pattern = ours_words.last().unwrap();
                let flags = &ours_words[..ours_words.len() - 1];
                let paths: Vec<&str> = files.split(' ').collect();
                let words = [&["grep", jobs][..], flags, &[pattern, image], &paths].concat();
                let found = out(&ours(work.path(), &words));
                assert_eq!(sorted(&found), sorted(&theirs), "{words:?}");
            }
        }
    }
    let name = ["grep", "-l", "-g", "*.conf", "word", images[0]];
    assert_eq!(sorted(&out(&ours(work.path(), &name))).len(), 3);
    let none = ours(work.path(), &["grep", "nowhere at all", images[0]]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(1), 0));
    let wrong = ours(work.path(), &["grep", "(", images[0]]);
    assert_eq!(wrong.status.code(), Some(2));
    let json = out(&ours(work.path(), &["grep", "--json", "alpha", images[0]]));
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "begin");
}

#[test]
fn grep_goes_on_behind_damage_and_says_so() {
    let (work, _) = images();
    let image = work.path().join("i.dwarfs");
    build("dwarfs", &work.path().join("d"), &image, &["-l0", "-b4k"]);
    let mut bytes = fs::read(&image).unwrap();
    let at = bytes.windows(4).position(|w| w == b"xxxx").unwrap();
    bytes[at] = b'y';
    fs::write(&image, bytes).unwrap();
    let output = ours(work.path(), &["grep", "-l", "wordy", "i.dwarfs"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("usr/lib/five"), "{told}");
    assert!(!output.stdout.is_empty());
}

#[test]
fn grep_goes_on_behind_a_line_that_is_too_long() {
    let work = tempfile::tempdir().unwrap();
    let tree = work.path().join("d");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("a-long"), vec![b'x'; 65 << 20]).unwrap();
    for i in 0..20 {
        fs::write(tree.join(format!("b{i}")), format!("word {i}\n")).unwrap();
    }
    fs::write(tree.join("c\x1b[31m"), "word\n").unwrap();
    build("dwarfs", &tree, &work.path().join("i.dwarfs"), &["-l1"]);
    for jobs in ["-j1", "-j4"] {
        let output = ours(work.path(), &["grep", jobs, "word", "i.dwarfs"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{told}");
        assert!(
            told.contains("a-long") && told.contains("a line of"),
            "{told}"
        );
        let found = String::from_utf8_lossy(&output.stdout);
        assert_eq!(found.lines().count(), 21, "{found}");
        assert!(found.contains("c\\x1b[31m:1:word"), "{found}");
    }
    let raw = ours(
        work.path(),
        &["grep", "-l", "-0", "-g", "c*", "word", "i.dwarfs"],
    );
    assert_eq!(raw.stdout, b"c\x1b[31m\0");
}

#[test]
fn sizes_of_directories_add_up() {
    let (work, images) = images();
    let tree = work.path().join("d");
    for image in images {
        let rows = out(&ours(work.path(), &["du", "--json", image]));
        let rows: Vec<serde_json::Value> = rows
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let names = |row: &serde_json::Value| row["path"].as_str().unwrap().to_owned();
        let dirs = judge(&tree, "find . -type d -printf '%P\\n' | sed 's/^$/./'");
        let mut found: Vec<String> = rows.iter().map(names).collect();
        found.sort();
        assert_eq!(found, sorted(&dirs), "{image}");
        let of = |path: &str, what: &str| {
            let row = rows.iter().find(|row| row["path"] == path).unwrap();
            row[what].as_u64().unwrap()
        };
        // each inode once, where its first name is
        let all = judge(&tree, "find . -type f ! -name linked -printf '%s\\n'");
        let all: u64 = all.lines().map(|size| size.parse::<u64>().unwrap()).sum();
        assert_eq!(of(".", "apparent"), all);
        let parts = |what| of("etc", what) + of("usr", what) + of("empty", what);
        for what in ["apparent", "image", "shared", "files"] {
            assert_eq!(of(".", what), parts(what), "{image} {what}");
        }
        // big.txt and again.txt are stored once
        let big = fs::metadata(tree.join("usr/lib/big.txt")).unwrap().len();
        assert!(of("usr", "shared") >= 2 * big, "{image}");
        assert_eq!(of("etc", "shared"), 0, "{image}");
        let whole = fs::metadata(work.path().join(image)).unwrap().len();
        assert!((1..whole).contains(&of(".", "image")), "{image}");
    }
    let by_size = ["du", "-ah", "--sort", "apparent", "i.dwarfs", "usr/lib"];
    let text = out(&ours(work.path(), &by_size));
    let rows: Vec<&str> = text.lines().collect();
    assert!(
        rows[1].ends_with("  usr/lib") && rows[2].contains("224K"),
        "{text}"
    );
    let only = out(&ours(work.path(), &["du", "-s", "i.dwarfs", "usr/l*"]));
    assert_eq!(only.lines().count(), 2, "{only}");
}

#[test]
fn a_tree_is_drawn() {
    let (work, images) = images();
    let expected = "\
etc
├── [   22]  a.conf
├── conf.d
│   ├── [   21]  b.conf
│   └── [   12]  with space.conf
└── [   15]  last

2 directories, 4 files
";
    for image in images {
        let drawn = out(&ours(work.path(), &["tree", "-h", image, "etc"]));
        assert_eq!(drawn, expected);
        let drawn = out(&ours(work.path(), &["tree", "-d", "-L", "1", image]));
        assert_eq!(drawn, ".\n├── empty\n├── etc\n└── usr\n\n4 directories\n");
    }
}

#[test]
fn stat_matches_coreutils() {
    let (work, images) = images();
    let tree = work.path().join("d");
    for image in images {
        for path in ["etc/a.conf", "etc/last", "usr/lib/five", "usr/to"] {
            let format = "    Size: %s|    Mode: %04a (%A)|   Owner: %u|   Group: %g|   Links: %h";
            let said = judge(&tree, &format!("stat -c '{format}' {path}"));
            let shown = out(&ours(work.path(), &["stat", image, path]));
            for line in said.trim_end().split('|') {
                assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
            }
            let time = judge(&tree, &format!("TZ=UTC stat -c %y {path}"));
            let seconds = &time[..19];
            assert!(shown.contains(&format!("Modified: {seconds}.")), "{shown}");
        }
    }
    let followed = out(&ours(work.path(), &["stat", "-L", "i.dwarfs", "usr/to"]));
    assert!(followed.contains("regular file") && followed.contains("1 extent in 1 block"));
    let json = out(&ours(
        work.path(),
        &["stat", "--json", "i.squashfs", "etc/*"],
    ));
    assert_eq!(json.lines().count(), 3, "{json}");
}

#[test]
fn patterns_stand_for_paths() {
    let (work, images) = images();
    let tree = work.path().join("d");
    for image in images {
        for pattern in [
            "etc/*.conf",
            "etc/**/*.conf",
            "usr/lib/{five,bin*}",
            "*/conf.?",
        ] {
            // bash has `**` of the same meaning
            let same = format!("bash -O globstar -c 'printf \"%s\\n\" {pattern}'");
            let listed = out(&ours(work.path(), &["ls", "-d", image, pattern]));
            assert_eq!(sorted(&listed), sorted(&judge(&tree, &same)), "{pattern}");
        }
        let printed = out(&ours(work.path(), &["cat", image, "etc/c*/*.conf"]));
        assert_eq!(printed, judge(&tree, "cat etc/c*/*.conf"));
        let none = ours(work.path(), &["ls", image, "*.nothing"]);
        assert_eq!(none.status.code(), Some(5));
        let by_size = out(&ours(work.path(), &["ls", "-S", image, "usr/lib"]));
        assert_eq!(by_size, judge(&tree, "ls -S usr/lib | sed s:^:usr/lib/:"));
        let by_time = out(&ours(work.path(), &["ls", "-tr", image, "etc"]));
        assert_eq!(by_time.lines().next(), Some("etc/a.conf"));
        let human = out(&ours(work.path(), &["ls", "-lh", image, "usr/lib/five"]));
        assert!(human.contains(" 4.9K "), "{human}");
    }
}

/// Commands for a browser in a terminal of tmux.
const BROWSE: &str = r#"
tmux() { command tmux -S "$PWD/socket" -f /dev/null "$@"; }
trap 'tmux kill-server' EXIT
screen() { tmux capture-pane -p > screen; }
shows() {
    for i in $(seq 100); do
        screen
        if grep -qF -- "$1" screen; then return; fi
        sleep 0.1
    done
    echo "no '$1' on:"; cat screen; exit 1
}
export NO_COLOR=1 TERM=xterm
tmux new-session -d -x 80 -y 24 \
    "'$SINTER' browse '$PWD/i.dwarfs'; echo ended \$?; stty -a; sleep 100"
shows '463 kB as '; shows 'by size in the image'
shows 'usr/'
tmux send-keys /et Enter Enter
shows 'i.dwarfs:/etc'
tmux send-keys /a.c Enter Enter
shows 'Beta word'
tmux send-keys q e BSpace o u t Enter
shows 'out: 1 file, 1 directory'
cmp out/etc/a.conf d/etc/a.conf
tmux resize-window -x 36 -y 12
shows 'SIZE IN IMAGE  NAME'
kill -TERM "$(pgrep -f "^$SINTER browse $PWD/")"
tmux resize-window -x 80 -y 24
shows 'ended 130'; shows ' icanon '; shows ' echo '
tmux new-window "'$SINTER' browse '$PWD/i.dwarfs' usr; echo ended \$?; stty -a; sleep 100"
shows 'i.dwarfs:/usr'
tmux send-keys C-c
shows 'ended 0'; shows ' icanon '; shows ' echo '
# nothing remains where the terminal is gone
tmux new-window "'$SINTER' browse '$PWD/i.dwarfs' etc"
shows 'i.dwarfs:/etc'
trap - EXIT
tmux kill-server
for i in $(seq 100); do
    if ! pgrep -f "^$SINTER browse $PWD/" > remains; then exit 0; fi
    sleep 0.1
done
echo "a browser goes on without a terminal"; exit 1
"#;

#[test]
fn the_browser_gives_the_terminal_back() {
    if Command::new("tmux").arg("-V").output().is_err() {
        sinterfs_testkit::skip("no tmux");
        return;
    }
    let (work, _) = images();
    let mut browser = Command::new("bash");
    browser.args(["-ec", BROWSE]).current_dir(work.path());
    let program = env!("CARGO_BIN_EXE_sinter");
    let output = browser.env("SINTER", program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // without a terminal, it says so
    let none = ours(work.path(), &["browse", "i.dwarfs"]);
    assert_eq!(none.status.code(), Some(4), "{none:?}");
}
