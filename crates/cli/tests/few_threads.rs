//! The program where the system starts few threads or none (`RLIMIT_NPROC`, a container's limit of
//! processes): no panic and no hang; what can be done with one thread is done, with the same bytes.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use support::{build, is_root, scratch, shell, skip};

const FORMATS: [&str; 3] = ["dwarfs", "squashfs", "erofs"];

/// Commands in a directory with an image `i` and the tree `tree` that it was made of, which make
/// `out`; and the threads with which each has to work. With fewer it may fail with an error that
/// names the reason: the stages of a build are threads of their own, and an image that it reads may
/// have started others.
const COMMANDS: [(&[&str], usize); 13] = [
    (&["info", "i"], 1),
    (&["ls", "-R", "i"], 1),
    (&["cat", "i", "large"], 1),
    (&["digest", "i"], 1),
    (&["diff", "i", "tree"], 1),
    (&["check", "i"], 1),
    (&["check", "--deep", "i"], 1),
    (&["extract", "i", "-o", "out"], 1),
    (&["extract", "--tar", "i", "-o", "out"], 1),
    (&["extract", "--mtree", "i", "-o", "out"], 1),
    (&["recompress", "i", "-o", "out"], 1),
    (&["convert", "-f", "erofs", "i", "-o", "out"], 20),
    (&["build", "tree", "-o", "out"], 5),
];

/// A user that no process runs as, so that all that count for its limit are those of a test.
fn user() -> String {
    (2_000_000 + std::process::id()).to_string()
}

/// Runs a program in a directory as a user with no more than so many threads.
fn limited(program: &Path, dir: &Path, threads: usize, args: &[&str]) -> Output {
    let user = user();
    let identity = ["--reuid", &user, "--regid", &user, "--clear-groups"];
    let mut command = Command::new("timeout");
    command.args(["120", "setpriv"]).args(identity);
    command
        .arg("prlimit")
        .arg(format!("--nproc={threads}:{threads}"));
    command.arg(program).args(args);
    command.env_remove("SOURCE_DATE_EPOCH").current_dir(dir);
    command.output().expect("timeout (package coreutils)")
}

/// Returns what a command made in a directory: the names and bytes of files below `out`, in order.
fn made(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.join("out")];
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => open.extend(entries.map(|entry| entry.expect("an entry").path())),
            Err(_) if path.exists() => {
                let bytes = std::fs::read(&path).expect("a file that was made");
                found.push((path.display().to_string(), bytes));
            }
            Err(_) => {}
        }
    }
    found.sort_unstable();
    shell(dir, "rm -rf out");
    found
}

/// Makes a tree with more to do than one thread would take on: directories, files, and one of many
/// blocks.
fn make_tree(dir: &Path) {
    let script = "
        mkdir tree
        for d in $(seq 40); do
            mkdir tree/$d
            for f in $(seq 25); do
                yes $d.$f | head -c $((d * f * 7)) >tree/$d/$f-with-a-name
            done
        done
        seq 1 200000 >tree/large
        head -c 500000 /dev/urandom >tree/noise
    ";
    shell(dir, script);
}

fn open_to_all(path: &Path, mode: u32) {
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, permissions).expect("chmod");
}

#[test]
fn few_threads_are_no_panic_and_the_same_bytes() {
    if !is_root() {
        return;
    }
    let scratch = scratch();
    let work = scratch.path();
    open_to_all(work, 0o777);
    // a checkout may be in a directory that other users cannot enter
    let shared = tempfile::tempdir().expect("a directory");
    open_to_all(shared.path(), 0o755);
    let program = &shared.path().join("sinter");
    std::fs::copy(env!("CARGO_BIN_EXE_sinter"), program).expect("a copy of the program");
    open_to_all(program, 0o755);
    if !limited(program, work, 1, &["--version"]).status.success() {
        return skip("needs setpriv and prlimit");
    }
    make_tree(work);
    for format in FORMATS {
        build(format, &work.join("tree"), &work.join("i"), &["-j4"]);
        for (args, enough) in COMMANDS {
            if args[0] == "recompress" && format != "dwarfs" {
                continue;
            }
            let mut args = args.to_vec();
            if args[0] == "build" {
                args.extend(["-f", format]);
            }
            let free = limited(program, work, 100, &args);
            assert!(free.status.success(), "{format} {args:?}: {free:?}");
            let free_made = made(work);
            for threads in [1, 3, 5, 20] {
                let few = limited(program, work, threads, &args);
                let words = String::from_utf8_lossy(&few.stderr);
                let what = format!("{format} {args:?} {threads}: {} {words}", few.status);
                assert!(!words.contains("panicked"), "{what}");
                if threads < enough && few.status.code() == Some(7) {
                    assert!(words.contains("cannot start a thread"), "{what}");
                    assert_eq!(made(work), [], "{what}");
                    continue;
                }
                assert_eq!(few.status.code(), Some(0), "{what}");
                assert!(made(work) == free_made, "other bytes: {what}");
                if !["check", "build"].contains(&args[0]) {
                    assert!(few.stdout == free.stdout, "other words: {what}");
                }
            }
        }
    }
}
