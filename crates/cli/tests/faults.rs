//! System calls that fail at the n-th call, for n up to the last one: every command ends with an
//! error or with the result that it has without faults, never with a panic; an output that exists
//! is the old one or the new one, whole; nothing else is left behind.
//!
//! Faults are injected by strace. By default n grows like the Fibonacci numbers;
//! `SINTER_FAULTS=all` takes each.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "faults/mounts.rs"]
mod mounts;
#[path = "faults/pairs.rs"]
mod pairs;
#[path = "faults/power_cuts.rs"]
mod power_cuts;
#[path = "faults/recorded.rs"]
mod recorded;
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use sinterfs_testkit::noise;
use support::{scratch, shell, skip};

/// System calls with the errors that they get.
const FAULTS: [(&str, &str); 13] = [
    ("openat", "EMFILE"),
    ("read", "EIO"),
    ("pread64", "EIO"),
    ("write", "ENOSPC"),
    ("pwrite64", "ENOSPC"),
    ("ftruncate", "EIO"),
    ("fsync", "EIO"),
    ("linkat", "EIO"),
    ("rename", "EIO"),
    ("renameat2", "EIO"),
    ("unlinkat", "EIO"),
    ("getdents64", "EIO"),
    ("clone3", "EAGAIN"),
];

/// Commands that replace the file `out`.
const REPLACING: [&[&str]; 9] = [
    &["build", "--force", "-q", "-j2", "tree", "-o", "out"],
    &[
        "build", "--force", "-q", "-f", "squashfs", "tree", "-o", "out",
    ],
    &["build", "--force", "-q", "-f", "erofs", "tree", "-o", "out"],
    &[
        "build",
        "--force",
        "-q",
        "tree",
        "--base",
        "old.dwarfs",
        "-o",
        "out",
    ],
    &[
        "convert",
        "--force",
        "-q",
        "-f",
        "cramfs",
        "old.dwarfs",
        "-o",
        "out",
    ],
    &[
        "recompress",
        "--force",
        "-q",
        "-l1",
        "old.dwarfs",
        "-o",
        "out",
    ],
    &[
        "merge",
        "--force",
        "-q",
        "old.dwarfs",
        "other.dwarfs",
        "-o",
        "out",
    ],
    &[
        "extract",
        "--force",
        "-q",
        "--tar",
        "old.dwarfs",
        "-o",
        "out",
    ],
    &["parity", "--force", "-q", "old.dwarfs", "-o", "out"],
];

/// Commands that print something.
const PRINTING: [&[&str]; 4] = [
    &["ls", "-lR", "old.dwarfs"],
    &["cat", "old.dwarfs", "noise"],
    &["check", "--deep", "old.dwarfs"],
    &["digest", "old.dwarfs"],
];

fn command(program: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .current_dir(dir)
        .env("SOURCE_DATE_EPOCH", "1000000000");
    command
}

fn sinter(dir: &Path, args: &[&str]) -> Output {
    let output = command(env!("CARGO_BIN_EXE_sinter"), dir)
        .args(args)
        .output();
    output.unwrap()
}

/// Runs a command with a fault; returns whether it happened.
fn with_fault(dir: &Path, (call, error): (&str, &str), n: usize, args: &[&str]) -> (bool, Output) {
    let log = dir.join("log");
    let mut strace = command("timeout", dir);
    strace.args(["120", "strace", "-f", "-qq", "-e"]);
    strace.arg(format!("trace={call}")).arg("-e");
    strace.arg(format!("inject={call}:error={error}:when={n}"));
    strace.arg("-o").arg(&log);
    strace.arg(env!("CARGO_BIN_EXE_sinter")).args(args);
    let output = strace.output().unwrap();
    let happened = fs::read_to_string(&log).unwrap().contains("(INJECTED)");
    fs::remove_file(log).unwrap();
    (happened, output)
}

/// Returns the values of n, until a caller breaks.
fn numbers() -> impl Iterator<Item = usize> {
    let all = std::env::var_os("SINTER_FAULTS").is_some();
    let mut next = (1, 2);
    std::iter::from_fn(move || {
        let now = next.0;
        next = if all {
            (now + 1, 0)
        } else {
            (next.1, next.0 + next.1)
        };
        Some(now)
    })
}

/// Calls `check` with the result of a command for every fault.
fn sweep(dir: &Path, args: &[&str], mut check: impl FnMut(&str, &Output)) -> usize {
    let mut faults = 0;
    for fault in FAULTS {
        for n in numbers() {
            let (happened, output) = with_fault(dir, fault, n, args);
            if !happened {
                break;
            }
            faults += 1;
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            let what = format!("{args:?}, {} {n}: {} {words}", fault.0, output.status);
            let code = output.status.code();
            let is_sane = code.is_some_and(|code| ![101, 124, 134, 139].contains(&code));
            assert!(is_sane && !words.contains("panicked"), "{what}");
            check(&what, &output);
        }
    }
    faults
}

/// Returns the files below a directory with their content.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_dir() {
                open.push(path);
                continue;
            }
            let content = if kind.is_symlink() {
                fs::read_link(&path)
                    .unwrap()
                    .into_os_string()
                    .into_encoded_bytes()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path, content);
        }
    }
    found
}

/// A directory with a tree and images of it.
fn work() -> Option<tempfile::TempDir> {
    let tried = Command::new("strace")
        .args(["-o", "/dev/null", "true"])
        .output();
    if !tried.is_ok_and(|output| output.status.success()) {
        skip("needs strace, and the right to use it");
        return None;
    }
    let work = scratch();
    let dir = work.path();
    shell(
        dir,
        "mkdir -p tree/sub; seq 3000 >tree/text; echo x >tree/sub/x; ln -s x tree/sub/l",
    );
    fs::write(dir.join("tree/noise"), noise(1, 60_000)).unwrap();
    for image in ["old.dwarfs", "other.dwarfs"] {
        let made = sinter(dir, &["build", "-q", "tree", "-o", image]);
        assert!(made.status.success(), "{made:?}");
    }
    Some(work)
}

#[test]
fn an_output_is_the_old_one_or_the_new_one() {
    let Some(work) = work() else { return };
    let (dir, out) = (work.path(), work.path().join("out"));
    for args in REPLACING {
        let made = sinter(dir, args);
        assert!(made.status.success(), "{args:?}: {made:?}");
        let new = fs::read(&out).unwrap();
        fs::write(&out, "old").unwrap();
        let before = files(dir);
        let faults = sweep(dir, args, |what, output| {
            let now = fs::read(&out).unwrap();
            assert!(now == new || !output.status.success(), "no error: {what}");
            // a file that cannot be read is left out and reported: the exit code is 1
            let is_partial = output.status.code() == Some(1) && !output.stderr.is_empty();
            if now == new || is_partial {
                fs::write(&out, "old").unwrap();
            }
            if is_partial && now != b"old" && now != new {
                fs::write(dir.join("partial"), now).unwrap();
                let checked = check_partial(dir, args);
                assert!(checked.status.success(), "{what}: {checked:?}");
                fs::remove_file(dir.join("partial")).unwrap();
            }
            assert!(
                files(dir) == before,
                "something is left or was changed: {what}"
            );
        });
        assert!(faults > 10, "{args:?}: only {faults} faults");
    }
}

/// Checks the file `partial`, from which what could not be read was left out, as other programs or
/// a reader see it.
fn check_partial(dir: &Path, args: &[&str]) -> Output {
    match args[0] {
        "extract" => command("tar", dir)
            .args(["-tf", "partial"])
            .output()
            .unwrap(),
        "parity" => panic!("parity of a part of a file"),
        _ => sinter(dir, &["check", "--deep", "-q", "partial"]),
    }
}

#[test]
fn output_is_right_or_an_error() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let before = files(dir);
    for args in PRINTING {
        let sound = sinter(dir, args);
        assert!(sound.status.success(), "{args:?}: {sound:?}");
        let faults = sweep(dir, args, |what, output| {
            let is_right = output.stdout == sound.stdout;
            assert!(is_right || !output.status.success(), "no error: {what}");
        });
        assert!(faults > 5, "{args:?}: only {faults} faults");
        assert!(files(dir) == before, "{args:?}");
    }
}

#[test]
fn extracted_files_are_whole_or_missing() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let source = files(&dir.join("tree"));
    let target = dir.join("target");
    let faults = sweep(
        dir,
        &["extract", "-q", "old.dwarfs", "-o", "target"],
        |what, output| {
            let mut count = 0;
            if target.exists() {
                for (path, content) in files(&target) {
                    let original = dir.join("tree").join(path.strip_prefix(&target).unwrap());
                    assert!(
                        source.get(&original) == Some(&content),
                        "{}: {what}",
                        path.display()
                    );
                    count += 1;
                }
                fs::remove_dir_all(&target).unwrap();
            }
            assert!(
                count == source.len() || !output.status.success(),
                "no error: {what}"
            );
        },
    );
    assert!(faults > 10, "only {faults} faults");
}

#[test]
fn a_killed_extraction_leaves_whole_files_and_can_be_completed() {
    let Some(work) = work() else { return };
    let dir = work.path();
    fs::write(dir.join("tree/large"), noise(2, 2_000_000)).unwrap();
    shell(dir, "chmod 711 tree/sub; touch -d @1000 tree/sub tree/text");
    let made = sinter(
        dir,
        &["build", "--force", "-q", "-l1", "tree", "-o", "old.dwarfs"],
    );
    assert!(made.status.success(), "{made:?}");
    let source = files(&dir.join("tree"));
    let target = dir.join("target");
    let mut kills = 0;
    for call in [
        "openat",
        "pwrite64",
        "renameat2",
        "utimensat",
        "close",
        "mkdirat",
    ] {
        for (n, over) in numbers().flat_map(|n| [(n, "--keep"), (n, "--force")]) {
            if over == "--force" {
                shell(
                    dir,
                    "mkdir -p target/sub; echo old >target/text; echo old >target/large",
                );
            }
            let mut strace = command("timeout", dir);
            strace.args(["120", "strace", "-f", "-qq", "-o", "log", "-e"]);
            strace.arg(format!("inject={call}:signal=KILL:when={n}"));
            strace.arg(env!("CARGO_BIN_EXE_sinter"));
            strace.args(["extract", "-q", "old.dwarfs", "-o", "target", over]);
            let is_killed = !strace.output().unwrap().status.success();
            let left = if target.exists() {
                files(&target)
            } else {
                BTreeMap::new()
            };
            for (path, content) in left {
                let name = path.strip_prefix(&target).unwrap();
                let is_old = over == "--force" && content == b"old\n";
                // the file, or a directory that it is in
                let is_hidden = name
                    .iter()
                    .any(|name| name.as_encoded_bytes().starts_with(b".sinter-"));
                let is_whole = source.get(&dir.join("tree").join(name)) == Some(&content);
                assert!(
                    is_old || is_hidden || is_whole,
                    "{call} {n}: {}",
                    path.display()
                );
            }
            let done = sinter(dir, &["extract", "-q", "old.dwarfs", "-o", "target", over]);
            assert!(done.status.success(), "{call} {n}: {done:?}");
            let mut left = Command::new("find");
            let left = left.arg(&target).args(["-name", ".sinter-*"]).output();
            assert_eq!(
                left.unwrap().stdout,
                b"",
                "{call} {n}: hidden names are left"
            );
            let compared = sinter(dir, &["diff", "old.dwarfs", "target"]);
            assert!(compared.status.success(), "{call} {n} {over}: {compared:?}");
            fs::remove_dir_all(&target).unwrap();
            kills += usize::from(is_killed);
            if !is_killed {
                break;
            }
        }
    }
    assert!(kills > 20, "only {kills} kills");
}

#[test]
fn a_file_that_cannot_be_closed_is_an_error_and_missing() {
    let Some(work) = work() else { return };
    let (dir, file) = (work.path(), work.path().join("target/noise"));
    let path = fs::canonicalize(dir).unwrap().join("target/noise");
    for over in ["--keep", "--force"] {
        for error in ["ENOSPC", "EDQUOT", "EIO"] {
            let _ = fs::remove_dir_all(dir.join("target"));
            let mut strace = command("strace", dir);
            strace.args(["-f", "-qq", "-o", "log", "-e", "trace=close", "-P"]);
            strace
                .arg(&path)
                .arg("-e")
                .arg(format!("inject=close:error={error}"));
            strace.arg(env!("CARGO_BIN_EXE_sinter"));
            strace.args(["extract", "-q", "old.dwarfs", "-o", "target", over]);
            let output = strace.output().unwrap();
            let injected = fs::read_to_string(dir.join("log")).unwrap();
            assert!(injected.contains("(INJECTED)"), "{output:?}");
            assert!(!output.status.success(), "{output:?}");
            assert!(!file.exists(), "{output:?}");
        }
    }
}

#[test]
fn a_repair_changes_nothing_or_all() {
    let Some(work) = work() else { return };
    let (dir, image) = (work.path(), work.path().join("old.dwarfs"));
    assert!(
        sinter(dir, &["parity", "-q", "old.dwarfs"])
            .status
            .success()
    );
    let sound = fs::read(&image).unwrap();
    let mut damaged = sound.clone();
    damaged[20_000..21_000].fill(0);
    fs::write(&image, &damaged).unwrap();
    let before = files(dir);
    let faults = sweep(dir, &["repair", "-q", "old.dwarfs"], |what, output| {
        let is_repaired = fs::read(&image).unwrap() == sound;
        assert!(is_repaired || !output.status.success(), "no error: {what}");
        if is_repaired {
            // the damaged image has another name now
            fs::rename(dir.join("old.dwarfs.damaged"), &image).unwrap();
        }
        assert!(
            files(dir) == before,
            "something is left or was changed: {what}"
        );
    });
    assert!(faults > 10, "only {faults} faults");
}

#[test]
fn little_address_space_leaves_the_old_output() {
    let work = scratch();
    let (dir, out) = (work.path(), work.path().join("out"));
    shell(dir, "mkdir tree; seq 100000 >tree/text; printf old >out");
    let new = {
        let made = sinter(dir, &["build", "-q", "tree", "-o", "new"]);
        assert!(made.status.success(), "{made:?}");
        let new = fs::read(dir.join("new")).unwrap();
        fs::remove_file(dir.join("new")).unwrap();
        new
    };
    let mut made = 0;
    for mebibytes in [40, 80, 120, 160, 240, 320, 480, 640, 1000, 4000] {
        let limit = mebibytes << 10;
        let words = format!("ulimit -v {limit}; exec \"$0\" build --force -q tree -o out");
        let mut shell = command("bash", dir);
        shell.args(["-c", &words, env!("CARGO_BIN_EXE_sinter")]);
        let output = shell.output().unwrap();
        let now = fs::read(&out).unwrap();
        let whole = if output.status.success() {
            &new[..]
        } else {
            b"old"
        };
        assert!(now == whole, "{mebibytes} MiB: {output:?}");
        assert_eq!(
            fs::read_dir(dir).unwrap().count(),
            2,
            "{mebibytes} MiB: something is left"
        );
        made += u32::from(output.status.success());
        fs::write(&out, "old").unwrap();
    }
    assert!(made > 0, "not even 4000 MiB are enough");
}
