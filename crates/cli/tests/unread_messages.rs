//! Messages that nobody reads: whatever becomes of standard error, the work is done to its end, and
//! the exit code is that of the work.

mod support;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sinterfs_testkit::noise;
use support::{is_root, run, scratch, sinter, try_run};

/// What becomes of standard error.
#[derive(Debug, Clone, Copy)]
enum Stderr {
    /// A pipe without a reader.
    Unread,
    /// A pipe whose reader leaves after one line.
    ReadOnce,
    /// `2>&-`
    Closed,
    /// `2>/dev/full`
    Full,
}

const ALL: [Stderr; 4] = [
    Stderr::Unread,
    Stderr::ReadOnce,
    Stderr::Closed,
    Stderr::Full,
];

/// Runs `sinter`; the output holds what it wrote to standard output.
fn run_with<S: AsRef<OsStr>>(stderr: Stderr, args: &[S]) -> Output {
    let mut command = match stderr {
        Stderr::Closed => {
            let mut shell = Command::new("sh");
            shell.args(["-c", "exec \"$0\" \"$@\" 2>&-"]);
            shell.arg(env!("CARGO_BIN_EXE_sinter"));
            shell
        }
        _ => sinter(),
    };
    command.args(args).stdin(Stdio::null());
    match stderr {
        Stderr::Unread => {
            let (reader, writer) = std::io::pipe().expect("a pipe");
            drop(reader);
            command.stderr(writer);
        }
        Stderr::ReadOnce => {
            command.stderr(Stdio::piped());
        }
        Stderr::Closed => {}
        Stderr::Full => {
            let full = File::options().write(true).open("/dev/full");
            command.stderr(full.expect("/dev/full"));
        }
    }
    let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
    if let Some(pipe) = child.stderr.take() {
        let read = BufReader::new(pipe).read_line(&mut String::new());
        read.expect("a line");
    }
    child.wait_with_output().expect("it ends")
}

/// Makes a tree of files that do not compress, with times that SquashFS cannot keep.
fn make_tree(tree: &Path) {
    for dir in 0..10 {
        let dir_path = tree.join(format!("d{dir}"));
        fs::create_dir_all(&dir_path).expect("a directory");
        for file in 0..40 {
            let content = noise(dir * 40 + file, 3000);
            let path = dir_path.join(format!("f{file}"));
            fs::write(&path, content).expect("a file");
            let time = std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 5);
            let opened = File::options().write(true).open(&path).expect("a file");
            opened.set_modified(time).expect("a time");
        }
    }
}

/// Builds an image of the tree and damages one block in its middle.
fn damaged(work: &Path) -> PathBuf {
    let (tree, image) = (work.join("tree"), work.join("damaged.dwarfs"));
    make_tree(&tree);
    let mut bytes = support::build("dwarfs", &tree, &image, &["--block-size", "64k"]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    fs::write(&image, bytes).expect("the damage");
    image
}

/// Lists the files of a tree with what they hold.
fn content(tree: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![tree.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(tree).expect("a path below").to_owned();
                found.insert(name, fs::read(&path).expect("a file"));
            }
        }
    }
    found
}

#[test]
fn extraction_restores_all_that_can_be_restored() {
    let work = scratch();
    let image = damaged(work.path());
    let extract = |out: &Path| {
        let words = [OsStr::new("extract"), image.as_os_str(), OsStr::new("-o")];
        words
            .into_iter()
            .chain([out.as_os_str()])
            .map(OsStr::to_owned)
            .collect::<Vec<_>>()
    };
    let whole = work.path().join("whole");
    let reference = try_run(extract(&whole));
    assert_eq!(reference.status.code(), Some(1), "{reference:?}");
    let warnings = String::from_utf8_lossy(&reference.stderr).lines().count();
    assert!(warnings > 3, "{reference:?}");
    let whole = content(&whole);
    for stderr in ALL {
        let out = work.path().join(format!("{stderr:?}"));
        let output = run_with(stderr, &extract(&out));
        assert_eq!(output.status.code(), Some(1), "{stderr:?}");
        assert!(content(&out) == whole, "{stderr:?}: other files");
    }
}

#[test]
fn checks_give_their_result() {
    let work = scratch();
    let image = damaged(work.path());
    let words = [OsStr::new("check"), OsStr::new("--deep"), image.as_os_str()];
    let reference = try_run(words);
    assert_eq!(reference.status.code(), Some(1), "{reference:?}");
    assert!(!reference.stderr.is_empty());
    for stderr in ALL {
        let output = run_with(stderr, &words);
        assert_eq!(output.status.code(), Some(1), "{stderr:?}");
        assert_eq!(output.stdout, reference.stdout, "{stderr:?}");
    }
}

#[test]
fn images_are_built_and_converted() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image"));
    make_tree(&tree);
    for verb in [&["build", "-v"][..], &["build", "--json"], &["convert"]] {
        let from = if verb[0] == "build" { &tree } else { &image };
        let words = |to: &Path| {
            let mut words: Vec<_> = verb
                .iter()
                .map(|word| OsStr::new(word).to_owned())
                .collect();
            words.extend(["-f".into(), "squashfs".into(), "--force".into()]);
            words.extend(["-o".into(), to.into(), from.into()]);
            words
        };
        let to = work.path().join("to");
        let reference = run(words(&to));
        let bytes = fs::read(&to).expect("an image");
        fs::write(&image, &bytes).expect("an image to convert");
        assert!(!reference.stderr.is_empty() || verb.contains(&"--json"));
        for stderr in ALL {
            fs::remove_file(&to).expect("the image is removed");
            let output = run_with(stderr, &words(&to));
            assert_eq!(output.status.code(), Some(0), "{verb:?} {stderr:?}");
            assert!(
                fs::read(&to).expect("an image") == bytes,
                "{verb:?} {stderr:?}"
            );
        }
    }
}

#[test]
fn errors_keep_their_exit_codes() {
    for (words, code) in [
        (&["build", "--no-such-option"][..], 2),
        (&["ls", "/no/such/image"], 5),
        (&["info", "/dev/null"], 2),
    ] {
        let reference = try_run(words).status.code();
        for stderr in ALL {
            let output = run_with(stderr, words);
            assert_eq!(output.status.code(), reference, "{words:?} {stderr:?}");
        }
        assert!(
            reference.is_some_and(|found| found == code),
            "{words:?}: {reference:?}"
        );
    }
}

#[test]
fn a_mount_is_served() {
    if !is_root() || !Path::new("/dev/fuse").exists() {
        return;
    }
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    make_tree(&tree);
    // with all times, so that a mount through the kernel warns
    support::build("dwarfs", &tree, &image, &["--keep-all-times"]);
    let dir = work.path().join("mount");
    fs::create_dir(&dir).expect("a mount point");
    for how in [&[][..], &["--fuse"]] {
        for stderr in ALL {
            let mut words = vec![OsStr::new("mount"), image.as_os_str(), dir.as_os_str()];
            words.extend(how.iter().map(OsStr::new));
            let output = run_with(stderr, &words);
            let mounted = support::Mounted(dir.clone());
            assert_eq!(output.status.code(), Some(0), "{how:?} {stderr:?}");
            let found = fs::read(mounted.0.join("d3/f7")).expect("a file");
            assert_eq!(found, noise(3 * 40 + 7, 3000), "{how:?} {stderr:?}");
        }
    }
}

/// Runs a program that reads a file from a pipe and whose standard error is a terminal, which is
/// taken away after the first words on it, when half of the file is read.
const LOSE_THE_TERMINAL: &str = "
import os, pty, subprocess, sys
content = open(sys.argv[1], 'rb').read()
half = len(content) // 2
ours, theirs = pty.openpty()
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stderr=theirs, start_new_session=True)
os.close(theirs)
child.stdin.write(content[:half])
child.stdin.flush()
os.read(ours, 1)
os.close(ours)
child.stdin.write(content[half:])
child.stdin.close()
sys.exit(child.wait())
";

#[test]
fn a_lost_terminal_ends_nothing() {
    let work = scratch();
    make_tree(&work.path().join("tree"));
    support::shell(work.path(), "tar -cf tree.tar tree");
    let at = |name: &str| work.path().join(name);
    let mut python = Command::new("python3");
    python.args(["-c", LOSE_THE_TERMINAL]).arg(at("tree.tar"));
    python.args([
        env!("CARGO_BIN_EXE_sinter"),
        "build",
        "-f",
        "squashfs",
        "-",
        "-o",
    ]);
    let status = python.arg(at("lost")).status().expect("python3");
    assert_eq!(status.code(), Some(0));
    support::shell(
        work.path(),
        &format!(
            "{} build -qf squashfs tree.tar -o kept",
            env!("CARGO_BIN_EXE_sinter")
        ),
    );
    assert!(fs::read(at("lost")).expect("an image") == fs::read(at("kept")).expect("an image"));
}
