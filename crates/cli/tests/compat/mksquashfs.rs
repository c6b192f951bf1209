//! What mksquashfs packs, how it is chosen and changed, and appending: beside the real one.

use std::path::Path;

use super::support::archives::{has, words_of};
use super::support::{self, scratch};
use super::{call, called, squashfs_tool};

/// Makes a tree with links of both kinds, names that need patterns, and files to choose among.
const TREE: &str = "umask 022; mkdir -p t/d/sub t/e/empty t/n/deep/er; echo a >t/f; \
    seq 40000 >t/d/big; ln -s ../f t/d/l; ln -s d/l t/m; ln -s nowhere t/x; ln -s /abs t/a; \
    echo b >'t/d/sub/a name'; echo c >t/d/sub/b.c; ln t/f t/d/g; mkfifo t/p; echo h >t/.hid; \
    truncate -s 1M t/d/hole; echo s >t/run.sh; chmod 750 t/run.sh; cp t/d/big t/n/deep/er/copy; \
    chmod 711 t/n; find t -exec touch -h -d '2020-01-02 03:04:05Z' {} +; \
    if [ \"$(id -u)\" = 0 ]; then chown 3:4 t/d/big; chown -h 5 t/m; fi";

/// Runs a script with the tools of `SINTER_PEER_SQUASHFS` before those of the system.
pub(super) fn shell(dir: &Path, script: &str) {
    let path = "PATH=${SINTER_PEER_SQUASHFS:+$SINTER_PEER_SQUASHFS:}$PATH";
    support::shell(dir, &format!("{path}; {script}"));
}

/// Returns whether squashfs-tools are of version 4.7 or later, whose rules are kept to.
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
pub(super) fn are_current() -> bool {
    let asked = squashfs_tool("mksquashfs").arg("-version").output();
    let said = asked.map(|output| output.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let is_current = ["version 4.7", "version 4.8", "version 4.9"]
        .iter()
        .any(|version| said.contains(version));
    if !is_current {
        eprintln!("NOT RUN: there is no mksquashfs 4.7 (SINTER_PEER_SQUASHFS)");
    }
    is_current
}

#[test]
fn actions_decide_where_tails_are_and_where_files_begin() {
    if !has("mksquashfs") || !has("unsquashfs") || !are_current() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir t; seq 2000 >t/large; seq 30 >t/a; seq 31 60 >t/b",
    );
    for (actions, fragments) in [
        ("", 1),
        ("-action no-fragments@true", 0),
        ("-action no-fragments@name(?)", 0),
        (
            "-action no-fragments@name(?) -action tailend@name(large)",
            1,
        ),
        (
            "-tailends -action no-fragments@name(?) -action no-tailend@true",
            0,
        ),
        ("-no-fragments -action fragments@name(a)", 1),
        (
            "-no-fragments -action fragments@true -action no-fragments@true",
            0,
        ),
    ] {
        let options = "-b 4096 -quiet -no-progress -noappend";
        let words: Vec<&str> = ["t", "ours"]
            .into_iter()
            .chain(options.split(' '))
            .chain(actions.split_whitespace())
            .collect();
        call(work, "mksquashfs", &words);
        let mut real = squashfs_tool("mksquashfs");
        let made = real
            .current_dir(work)
            .arg("t")
            .arg("real")
            .args(&words[2..])
            .output();
        assert!(made.expect("mksquashfs").status.success(), "{actions}");
        for image in ["ours", "real"] {
            let mut asked = squashfs_tool("unsquashfs");
            let said = asked.current_dir(work).args(["-s", image]).output();
            let said = String::from_utf8_lossy(&said.expect("unsquashfs").stdout).into_owned();
            let told = format!("Number of fragments {fragments}\n");
            assert!(said.contains(&told), "{image} {actions}: {said}");
        }
        let same = "rm -rf out; unsquashfs -n -q -d out ours >/dev/null && diff -r t out";
        shell(work, same);
        call(work, "fsck.erofs", &["ours"]);
    }
    let aligned = [
        "t",
        "ours",
        "-noappend",
        "-quiet",
        "-noD",
        "-action",
        "align(64K)@name(large)",
    ];
    call(work, "mksquashfs", &[&aligned[..], &["-b", "4K"]].concat());
    let image = std::fs::read(work.join("ours")).expect("an image");
    let start = std::fs::read(work.join("t/large")).expect("a file");
    let at = image
        .windows(2000)
        .position(|window| window == &start[..2000]);
    assert!(
        at.is_some_and(|at| at > 0 && at % (64 << 10) == 0),
        "{at:?}"
    );
    shell(
        work,
        "rm -rf out; unsquashfs -n -q -d out ours >/dev/null && diff -r t out",
    );
    // other formats have no such places
    let refused = called(
        work,
        "sinter",
        &["build", "t", "-o", "x.dwarfs", "--action", "tailend@true"],
    );
    assert!(
        words_of(&refused).contains("does not apply to"),
        "{}",
        words_of(&refused)
    );
}

/// Makes an image by both and compares the listings; `IMAGE` in the line is the image, which may
/// exist already.
fn same_listing(work: &Path, line: &str) {
    let ours = work.join("bin");
    let _ = std::fs::create_dir(&ours);
    let link = ours.join("mksquashfs");
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), link);
    let [real, own] = ["real.sqfs", "ours.sqfs"].map(|image| line.replace("IMAGE", image));
    shell(work, &real);
    shell(work, &format!("PATH={}:$PATH; {own}", ours.display()));
    let listed = |image: &str| {
        let mut unsquashfs = squashfs_tool("unsquashfs");
        let output = unsquashfs.current_dir(work).args(["-lln", image]).output();
        let output = output.expect("unsquashfs");
        assert!(output.status.success(), "{line}: {}", words_of(&output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // the size of a directory in an image is its own measure, and a root has its own time
        let rows = text.lines().enumerate().map(|(number, row)| {
            let words: Vec<&str> = row.split_whitespace().collect();
            let hides_size = row.starts_with('d');
            let kept = words.iter().enumerate().filter(|(column, _)| {
                let is_time = (3..5).contains(column) && number == 0;
                !(is_time || hides_size && *column == 2)
            });
            kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
        });
        rows.collect::<Vec<_>>()
    };
    assert_eq!(listed("ours.sqfs"), listed("real.sqfs"), "{line}");
}

#[test]
fn sources_and_choices_are_those_of_mksquashfs() {
    if !has("mksquashfs") || !has("unsquashfs") || !are_current() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, TREE);
    // -e takes all that follows
    let quiet = "IMAGE -quiet -no-progress -noappend >/dev/null";
    for line in [
        // files, symlinks and directories among the sources
        "mksquashfs t/f t/d t/m IMAGE",
        "mksquashfs t/f IMAGE",
        "mksquashfs t/m IMAGE",
        "mksquashfs t/d t/f t/d/sub t/f IMAGE",
        "mksquashfs t/d/sub t/f IMAGE -tarstyle",
        "mksquashfs $PWD/t/d/sub IMAGE -no-strip",
        "find t/d | mksquashfs - IMAGE -cpiostyle",
        "printf 't/d/sub/a name\\n./t/f\\nt/e\\n' | mksquashfs - IMAGE -cpiostyle",
        "find t/d -print0 | mksquashfs - IMAGE -cpiostyle0",
        // what is left out
        "mksquashfs t IMAGE -max-depth 1",
        "mksquashfs t IMAGE -max-depth 2",
        "mksquashfs t/d t/n IMAGE -max-depth 1",
        "mksquashfs t IMAGE -regex -e '^d$/s.b' x",
        "mksquashfs t IMAGE -regex -e '... ^g$'",
        "mksquashfs t IMAGE -no-hardlinks",
        "mksquashfs t IMAGE -p 'q/r/file s 777 3 4 target' -pd 'd 0711 5 6' -mkfs-time 1 \
         -all-time 1",
    ] {
        same_listing(work, &line.replace("IMAGE", quiet));
    }
}

#[test]
fn actions_are_those_of_mksquashfs() {
    if !has("mksquashfs") || !has("unsquashfs") || !are_current() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, TREE);
    let actions = "# a comment\nchmod(go-w)@type(f) && \\\n  !name(*.c)\nuid(root)@true\n";
    std::fs::write(work.join("actions"), actions).expect("a file");
    for actions in [
        "-action 'exclude@pathname(d/*)'",
        "-action 'exclude@pathname(/d/b*)'",
        "-action 'exclude@subpathname(d/s*)'",
        "-action 'exclude@depth(>2) || (depth(2) && type(d))'",
        "-action 'prune@dircount(0)' -action 'uid(3)@dircount(0)'",
        "-action 'uid(5)@readlink(\"name(f)\")'",
        "-action 'uid(5)@readlink(\"type(f) && filesize(>1K)\")'",
        "-action 'uid(5)@eval(\"..\",\"name(d)\")'",
        "-action 'prune@type(d) && eval(sub,\"type(d)\")'",
        "-action 'uid(5)@exists' -action 'gid(6)@absolute'",
        "-action 'exclude@!type(d)' -action 'empty(excluded)@true'",
        "-action 'exclude@!type(d)' -action 'empty(source)@true'",
        "-action 'exclude@!type(d)' -action 'empty@true'",
        "-action 'prune@type(l)' -action 'empty(excluded)@true' -e e/empty",
        "-action 'uid(5)@filesize_range(1,3)' -action 'guid(root,7)@perm(0644)'",
        "-action 'uid(9)@depth(0)'",
        "-action 'uid(9)@uid(0)' -action 'gid(4)@uid(9)'",
        "-action 'uid(7)@name(big) || name(f) && type(d)'",
        "-action 'prune@tailsize(<100)'",
        "-action 'uid(7)@name(.h*)' -action 'gid(8)@name(*)'",
        "-action 'uid(1)@nlink(2)'",
        "-action 'chmod(u+s,go=u)@name(*.sh) || user(root) && type(f)'",
        "-action 'chmod(0700)@type(d)' -action 'uncompressed@name(big)'",
        "-action-file actions",
    ] {
        let line = format!("mksquashfs t IMAGE -quiet -no-progress -noappend {actions}");
        same_listing(work, &format!("{line} >/dev/null"));
    }
    // what is stored uncompressed takes its size
    let size = |flags: &[&str]| {
        let all = [&["t", "image", "-noappend", "-quiet", "-nopad"][..], flags].concat();
        call(work, "mksquashfs", &all);
        std::fs::metadata(work.join("image"))
            .expect("an image")
            .len()
    };
    let (packed, stored) = (size(&[]), size(&["-action", "uncompressed@name(big)"]));
    assert!(
        stored > packed + 100_000 && stored < packed + 200_000,
        "{packed} {stored}"
    );
    shell(
        work,
        "unsquashfs -n -q -d out image >/dev/null; cmp out/d/big t/d/big",
    );
    let log = ["t", "image", "-noappend", "-log-action", "exclude@name(f)"];
    let said = words_of(&called(work, "mksquashfs", &log));
    assert!(said.contains("-log-action prints nothing"), "{said}");
}

#[test]
fn images_are_appended_to_as_by_mksquashfs() {
    if !has("mksquashfs") || !has("unsquashfs") {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "umask 022; mkdir -p a/d b/d b/n; echo 1 >a/f; echo 2 >a/d/x; echo 3 >b/f; echo 4 >b/d/y; \
         ln b/f b/n/hard; chmod 700 a; chmod 711 b; find a b -exec touch -d 2020-01-02 {} +",
    );
    let (zstd, xz) = (
        "-comp zstd -b 64K -noI",
        "-comp xz -b 64K -Xbcj x86,sparc -Xdict-size 32K",
    );
    for (codec, line) in [
        (zstd, "mksquashfs b IMAGE"),
        (zstd, "mksquashfs b IMAGE -keep-as-directory"),
        (zstd, "mksquashfs b a/f IMAGE"),
        (zstd, "mksquashfs b IMAGE -root-becomes old"),
        (zstd, "mksquashfs b a IMAGE -root-becomes old"),
        (zstd, "mksquashfs b/f IMAGE -root-becomes old"),
        (zstd, "mksquashfs b IMAGE -root-becomes f"),
        (xz, "mksquashfs b b IMAGE"),
        (zstd, "mksquashfs b b IMAGE"),
    ] {
        let first = format!("mksquashfs a IMAGE -quiet -no-progress -noappend {codec} >/dev/null");
        let line = format!("{first} && {line} -quiet -no-progress -no-recovery >/dev/null 2>&1");
        same_listing(work, &line);
        let facts = |image: &str| {
            let output = squashfs_tool("unsquashfs")
                .current_dir(work)
                .args(["-s", image])
                .output();
            let text = String::from_utf8_lossy(&output.expect("unsquashfs").stdout).into_owned();
            let told = [
                "Compression",
                "\tDictionary size",
                "\tFilters selected",
                "Block size",
                "Inodes are",
                "Data is",
            ];
            let rows = text
                .lines()
                .filter(|row| told.iter().any(|one| row.starts_with(one)));
            rows.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(facts("ours.sqfs"), facts("real.sqfs"), "{line}");
    }
    shell(
        work,
        "unsquashfs -n -q -d out ours.sqfs >/dev/null; diff -r out/b b; diff -r out/b_1 b",
    );
    shell(work, "test out/b/f -ef out/b/n/hard");
    shell(
        work,
        "{ head -c 4096 /dev/zero; cat ours.sqfs; } >behind.sqfs",
    );
    for (arguments, hint) in [
        (&["b", "ours.sqfs", "-all-root"][..], "-noappend"),
        (&["b", "ours.sqfs", "-no-hardlinks"], "-noappend"),
        (&["b", "ours.sqfs", "-repro-time", "1"], "-noappend"),
        (&["b", "ours.sqfs", "-o", "4096"], "-o with an image"),
        (&["b", "behind.sqfs"], "not a SquashFS image"),
        (&["b", "b/f"], "not a SquashFS image"),
        (&["-", "ours.sqfs", "-tar"], "-noappend"),
    ] {
        let refused = called(work, "mksquashfs", arguments);
        let said = words_of(&refused);
        assert!(
            !refused.status.success() && said.contains(hint),
            "{arguments:?}: {said}"
        );
    }
}

#[test]
fn what_newer_versions_add_is_done() {
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir -p t/d/e; echo a >t/f; ln -s f t/l; tar -C t -cf a.tar f; tar -cf b.tar t/d",
    );
    call(
        work,
        "mksquashfs",
        &[
            "t",
            "image",
            "-quiet",
            "-xattrs-add",
            "user.z=0x4142",
            "-all-root",
            "-pseudo-override",
            "-p",
            "n d 711 3 4",
            "-p",
            "f m 644 7 8",
        ],
    );
    let defines_nothing = ["t", "other", "-pd", "d 755 0 0", "-pseudo-override"];
    let output = called(work, "mksquashfs", &defines_nothing);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for option in ["-pd", "-pseudo-override"] {
        let note = format!("mksquashfs {option} has no effect here: nothing is defined");
        assert!(said.contains(&note), "{said}");
    }
    let listed = called(work, "unsquashfs", &["-lln", "image"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for row in [
        "drwx--x--x 3/4",
        "-rw-r--r-- 7/8",
        "drwxr-xr-x 0/0",
        "lrwxrwxrwx 0/0",
    ] {
        assert!(listed.contains(row), "{row}: {listed}");
    }
    for (file, expected) in [("f", "user.z=AB\n"), ("d", "user.z=AB\n"), ("l", "")] {
        let shown = called(work, "rdsquashfs", &["-x", file, "image"]);
        assert_eq!(String::from_utf8_lossy(&shown.stdout), expected, "{file}");
    }
    // directories that an archive has no member for, and its root
    let link = work.join("mksquashfs").display().to_string();
    shell(
        work,
        &format!(
            "{link} - image -tar -noappend -quiet -default-mode 711 -default-uid 9 \
             -default-gid 8 <b.tar"
        ),
    );
    let listed = called(work, "unsquashfs", &["-lln", "image"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert_eq!(listed.matches("drwx--x--x 9/8").count(), 2, "{listed}");
    // a time in words
    call(
        work,
        "mksquashfs",
        &[
            "t",
            "image",
            "-noappend",
            "-quiet",
            "-mkfs-time",
            "2001-09-09 01:46:40Z",
        ],
    );
    let time = called(work, "unsquashfs", &["-mkfs-time", "image"]);
    assert_eq!(time.stdout, b"1000000000\n");
}
