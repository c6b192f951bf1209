//! Odd arguments: each is an error that says what is wrong, with the exit code that `--help`
//! documents, and harms nothing. Names, help and completions that are made of the same definitions
//! are valid in their languages.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use support::{run, scratch, sinter, skip};

/// A digest of nothing that there is.
const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Makes a tree `d`, an image `i` of it and a file `file` in a new directory.
fn place() -> tempfile::TempDir {
    let work = scratch();
    fs::create_dir_all(work.path().join("d/sub")).unwrap();
    fs::write(work.path().join("d/f"), "content").unwrap();
    fs::write(work.path().join("file"), "").unwrap();
    for name in ["text", "d/text.tar.xz"] {
        fs::write(work.path().join(name), "neither an image nor empty").unwrap();
    }
    called(work.path(), &["build", "-q", "-l1", "d", "-o", "i"]);
    work
}

fn called(work: &Path, words: &[&str]) -> Output {
    sinter().current_dir(work).args(words).output().unwrap()
}

#[test]
fn messages_name_the_wrong_argument() {
    let work = place();
    let before = fs::read(work.path().join("i")).unwrap();
    for (words, code, said) in [
        (&["build", "d"][..], 2, "--output"),
        (&["build", "-o", "x"], 2, "SOURCE"),
        (&["build", "d", "-o", ""], 2, "--output"),
        (&["build", "", "-o", "x"], 2, "SOURCE"),
        (&["build", "d", "-o", "d"], 2, "is a directory"),
        (&["build", "d", "-o", "i"], 2, "--force"),
        (&["build", "nope", "-o", "x"], 5, "nope"),
        (&["build", "d", "-o", "nope/x"], 5, "nope/x"),
        (&["build", "d", "-o", "x", "-o", "y"], 2, "multiple times"),
        (&["recompress", "i", "-o", "x.erofs"], 2, "stays dwarfs"),
        (&["recompress", "i", "-o", "x.zip"], 2, "stays dwarfs"),
        (&["repair", "nope"], 5, "nope: cannot open"),
        (&["check", "--parity", "i"], 5, "no such parity file"),
        (&["ls", "d"], 2, "`sinter build d -o IMAGE`"),
        (&["parity", "https://h/x"], 4, "`sinter pull URL"),
        (&["repair", "https://h/x"], 4, "`sinter pull URL"),
        (&["grep", "(", "i"], 2, "error: unclosed group"),
        (&["extract", "i", "-o", "d"], 2, "--force"),
        (&["push", "i", "nope"], 2, "nope: not a URL"),
        (&["build", "d", "-o", "x", "-l", "10"], 2, "0..=9"),
        (&["build", "d", "-o", "x", "-j", "0"], 2, "1..=1024"),
        (&["build", "d", "-o", "x", "-b", "3"], 2, "power of two"),
        (
            &["build", "d", "-o", "x", "--memory", "1"],
            2,
            "MiB are needed",
        ),
        (&["build", "--", "d", "-o", "x"], 2, "--output"),
        (&["build", "d", "-o", "-", "--json"], 2, "standard output"),
        (&["build", "d", "-o", "-", "--report", "r"], 2, "--report"),
        (&["build", "d", "-o", "x", "--report", "x"], 2, "replace"),
        (&["build", "d", "-o", "x", "--report", "./x"], 2, "replace"),
        (
            &["build", "i", "-o", "x", "--force", "--report", "i"],
            2,
            "replace",
        ),
        (&["build", "d", "-o", "x", "--report", "file"], 2, "--force"),
        (&["build", "d", "-o", "x", "--report", "nope/r"], 5, "nope"),
        (&["build", "d", "-o", "x", "--report", "-"], 2, "a file"),
        (&["build", "d", "-o", "x.romfs"], 4, "read, but not written"),
        (
            &["build", "d", "-o", "x", "-f", "romfs"],
            2,
            "possible values: dwarfs",
        ),
        (&["build", "d", "x.dwarfs"], 2, "did you mean `-o x.dwarfs`"),
        (&["build", "d"], 2, "`sinter build d -o d.dwarfs` writes"),
        (
            &["build", "."],
            2,
            "`sinter build . -o image.dwarfs` writes",
        ),
        (
            &["build", "a/b.tar.gz"],
            2,
            "`sinter build a/b.tar.gz -o b.dwarfs` writes",
        ),
        (
            &["extract", "i", "--tar", "--platform", "linux/arm64"],
            2,
            "cannot be used with '--platform <PLATFORM>'",
        ),
        (
            &["extract", "i", "-o", "x", "--platform", "linux/arm64"],
            2,
            "--oci",
        ),
        (
            &["ls", "i", "--digest", DIGEST, "--signature", "text"],
            2,
            "cannot be used with '--signature <FILE>'",
        ),
        (&["info", "i", "--json", "--force"], 2, "--force"),
        (
            &["build", "d", "-o", "x", "--no-progress"],
            2,
            "--progress none",
        ),
        (
            &["build", "d", "-o", "x", "--set-owner", "nobody at all"],
            2,
            "no user is named",
        ),
        (&["man", "nope"], 2, "is not a command"),
        (&["extract", "i"], 2, "`sinter extract i -o DIR` unpacks"),
        (&["extract", "i", "-o", "-"], 2, "--tar"),
        (
            &["extract", "i", "--tar", "--force", "-o", "i"],
            2,
            "would replace",
        ),
        (&["extract", "i", "-o", "x", "--glob", "["], 2, "glob"),
        (&["extract", "d", "-o", "x"], 2, "`sinter build d -o"),
        (&["ls", "i", "nope"], 5, "nope"),
        (&["ls", "--", "i", "-x"], 5, "-x"),
        (&["cat", "i", "sub"], 2, "sub"),
        (&["info", "nope"], 5, "nope"),
        (&["info", "file"], 4, "the file is empty"),
        (&["info", "text"], 4, "known format"),
        (&["info", "d/text.tar.xz"], 4, "`sinter ls` lists it"),
        (&["info", "i", "--report", "i", "--force"], 2, "replace"),
        (&["check", "i", "--digest", "00"], 2, "64 hexadecimal"),
        (&["digest", "i", "-o", "i", "--force"], 2, "replace"),
        (&["mount", "i", "nope"], 5, "nope"),
        (&["mount", "--", "i", "nope"], 5, "nope"),
        (&["mount", "nope", "d"], 5, "nope"),
        (&["mount", "i", "file"], 2, "not a directory"),
        (&["umount", "nope"], 5, "nope"),
        (&["diff", "i", "nope"], 5, "nope"),
        (&["convert", "d", "-o", "x"], 2, "d: "),
        (&["recompress", "d", "-o", "x"], 2, "d: "),
        (&["merge", "-o", "x"], 2, "SOURCE"),
        (&["completions", "nope"], 2, "bash"),
    ] {
        let output = called(work.path(), words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(said), "{words:?}: {told}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert!(!work.path().join("x").exists(), "{words:?}");
    }
    assert_eq!(fs::read(work.path().join("i")).unwrap(), before);
    assert_eq!(fs::read(work.path().join("file")).unwrap(), b"");
}

#[test]
fn images_are_not_for_terminals() {
    let work = place();
    let program = env!("CARGO_BIN_EXE_sinter");
    for (words, said) in [
        ("build d -o -", "not written to a terminal"),
        ("build - -o x", "standard input is a terminal"),
        ("extract i --tar", "not written to a terminal"),
    ] {
        // script(1) runs it on a terminal of its own and gives its exit code
        let mut script = Command::new("script");
        let output = script
            .args(["-qec", &format!("{program} {words}"), "/dev/null"])
            .current_dir(work.path())
            .stdin(Stdio::null())
            .output();
        let Ok(output) = output else {
            return skip("no script(1)");
        };
        let told = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(2), "{words}: {told}");
        assert!(told.contains(said), "{words}: {told}");
    }
}

#[test]
fn quiet_still_reports_losses() {
    let work = place();
    let socket = std::os::unix::net::UnixListener::bind(work.path().join("d/socket")).unwrap();
    called(work.path(), &["build", "-q", "--force", "d", "-o", "i"]);
    let [first, second] = ["d/l", "d/m"].map(|name| work.path().join(name));
    std::os::unix::fs::symlink("f", &first).unwrap();
    fs::hard_link(first, second).unwrap();
    for (words, lost, code) in [
        (
            &["build", "-q", "d", "-o", "a.dwarfs"][..],
            "hard links of symlinks",
            0,
        ),
        (&["convert", "-q", "i", "-o", "b.squashfs"], "", 0),
        (
            &["extract", "-q", "--tar", "i", "-o", "c.tar"],
            "socket: not kept by tar: sockets",
            1,
        ),
        (&["check", "-q", "i"], "", 0),
    ] {
        let output = called(work.path(), words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(lost), "{words:?}: {told}");
        // a summary is what -q leaves out
        assert!(!told.contains(" in 0."), "{words:?}: {told}");
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), work.path().join("sqfs2tar")).unwrap();
    let mut sqfs2tar = Command::new(work.path().join("sqfs2tar"));
    let output = sqfs2tar.arg("i").current_dir(work.path()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("not kept by tar: 1 sockets"), "{told}");
    drop(socket);
}

/// Returns the verbs.
fn verbs() -> Vec<String> {
    let help = String::from_utf8(run(["help"]).stdout).unwrap();
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| !line.is_empty());
    let verbs = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    verbs
        .filter(|verb| !verb.is_empty() && *verb != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn words_of_other_programs_are_taken() {
    let work = place();
    let flags = ["-C", "zstd:3", "--set-owner", "root", "--set-group", "root"];
    for verb in ["pack", "create"] {
        let image = format!("{verb}.dwarfs");
        let words = [&[verb, "-q", "d", "-o", &image][..], &flags].concat();
        let output = called(work.path(), &words);
        assert!(output.status.success(), "{output:?}");
        for words in [["list", &image], ["verify", &image], ["test", &image]] {
            assert!(called(work.path(), &words).status.success(), "{words:?}");
        }
        let row = called(work.path(), &["ls", "-l", &image, "f"]).stdout;
        let row = String::from_utf8(row).unwrap();
        let fields: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(fields[2..4], ["0", "0"], "{row}");
        let out = format!("{verb}.out");
        assert!(
            called(work.path(), &["unpack", "-q", &image, "-o", &out])
                .status
                .success()
        );
        assert!(work.path().join(out).join("f").exists());
    }
}

#[test]
fn the_program_describes_itself() {
    let page = String::from_utf8(run(["man", "verify"]).stdout).unwrap();
    assert!(
        page.contains("sinter\\-check") && page.contains(".SH SYNOPSIS"),
        "{page}"
    );
    let version = String::from_utf8(run(["--version"]).stdout).unwrap();
    for said in [
        "formats written: dwarfs",
        "romfs",
        "codecs of squashfs: gzip, lzo, lz4, lz4hc, xz, zstd, lzma\n",
    ] {
        assert!(version.contains(said), "{version}");
    }
    assert_eq!(
        String::from_utf8(run(["-V"]).stdout)
            .unwrap()
            .lines()
            .count(),
        1
    );
}

#[test]
fn progress_has_the_form_that_is_asked_for() {
    let work = place();
    let noisy = fs::File::create(work.path().join("d/big")).unwrap();
    noisy.set_len(1 << 20).unwrap();
    let slow = ["build", "--progress", "json", "d", "-o", "slow", "-l1"];
    let output = called(work.path(), &slow);
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    for line in told.lines().filter(|line| line.starts_with('{')) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["message_type"], "status");
    }
    let none = called(
        work.path(),
        &["build", "--progress", "none", "d", "-o", "none", "-l1"],
    );
    let told = String::from_utf8(none.stderr).unwrap();
    assert!(told.contains("image: "), "the summary stays: {told}");
    assert!(
        !told.contains("0 symlinks") && !told.contains("1 directories"),
        "{told}"
    );
    // a pipe keeps the work waiting until a line was asked for
    let script = format!(
        "mkfifo p; {0} build - -o piped <p 2>told & pid=$!; exec 3>p; sleep 1; kill -USR1 $pid; \
         sleep 1; tar -c d >&3; exec 3>&-; wait $pid; cat told",
        env!("CARGO_BIN_EXE_sinter")
    );
    let mut shell = Command::new("sh");
    let output = shell
        .args(["-c", &script])
        .current_dir(work.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.lines()
            .any(|line| line.starts_with("sinter:   -% 0:0")),
        "{told}"
    );
}

#[test]
fn only_formats_that_are_written_are_offered() {
    let help = String::from_utf8(run(["build", "--help"]).stdout).unwrap();
    assert!(help.contains("cramfs") && help.contains("squashfs"));
    assert!(!help.to_lowercase().contains("romfs"), "{help}");
}

#[test]
fn each_verb_has_an_example() {
    let verbs = verbs();
    assert!(verbs.len() > 14, "{verbs:?}");
    for verb in verbs {
        let help = String::from_utf8(run([&verb, "--help"]).stdout).unwrap();
        assert!(help.contains(&format!("sinter {verb} ")), "{verb}");
        assert!(help.contains("Example"), "{verb}");
    }
}

#[test]
fn shells_take_the_completions() {
    let work = scratch();
    for shell in ["bash", "zsh", "fish"] {
        let script = work.path().join(shell);
        fs::write(&script, run(["completions", shell]).stdout).unwrap();
        let output = Command::new(shell).arg("-n").arg(&script).output();
        let Ok(output) = output else {
            skip(&format!("no {shell}"));
            continue;
        };
        assert!(output.status.success(), "{shell}: {output:?}");
        assert!(output.stderr.is_empty(), "{shell}: {output:?}");
    }
    // what bash completes by them
    let script = format!(
        ". {}; COMP_WORDS=(sinter umo); COMP_CWORD=1; _sinter sinter umo sinter; echo \"${{COMPREPLY[@]}}\"",
        work.path().join("bash").display()
    );
    let output = Command::new("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "umount");
}

#[test]
fn the_manual_has_no_mistakes() {
    let work = scratch();
    run(["man".as_ref(), "-o".as_ref(), work.path().as_os_str()]);
    let mut pages: Vec<_> = fs::read_dir(work.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.sort();
    // verbs with verbs of their own have a page for each of those, too
    let nested = |verb: &str| {
        let start = format!("sinter-{verb}-");
        let names = pages
            .iter()
            .map(|page| page.file_name().unwrap().to_string_lossy());
        names.filter(|name| name.starts_with(&start)).count()
    };
    let nested: usize = verbs().iter().map(|verb| nested(verb)).sum();
    assert_eq!(nested, 5);
    assert_eq!(pages.len(), verbs().len() + 1 + nested);
    for page in pages {
        // what cannot be broken is not stretched either: no mistake
        let mut groff = Command::new("groff");
        let output = groff
            .args(["-ww", "-Wbreak", "-man", "-Tutf8", "-z"])
            .arg(&page)
            .output();
        let Ok(output) = output else {
            return skip("no groff");
        };
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && told.is_empty(),
            "{page:?}: {told}"
        );
    }
}

#[test]
fn times_that_are_rounded_are_no_news_for_quiet_commands() {
    let work = place();
    let finer = "not kept by dwarfs: ";
    let loud = called(work.path(), &["build", "-l1", "d", "-o", "loud"]);
    assert!(
        String::from_utf8_lossy(&loud.stderr).contains(finer),
        "{loud:?}"
    );
    let quiet = called(work.path(), &["build", "-q", "-l1", "d", "-o", "quiet"]);
    assert!(
        quiet.status.success() && quiet.stderr.is_empty(),
        "{quiet:?}"
    );
}

#[test]
fn a_name_of_no_known_program_is_said_to_be() {
    let work = place();
    let link = work.path().join("tar3sqfs");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), &link).unwrap();
    let output = Command::new(link).arg("x").output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    let expected = "`tar3sqfs` is not the name of a program whose options are known";
    assert!(words.contains(expected), "{words}");
}
