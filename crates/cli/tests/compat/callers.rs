//! Command lines as real programs issue them (`callers.tsv`): each by the real tool, where it is
//! installed, and by the name of ours. Exit codes are equal, and so is what the line says is
//! compared: an image's tree, a directory, a mount or what is printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::archives::words_of;
use super::support::{is_root, scratch, shell};
use super::{called, real};

/// What lines use: a tree, archives and images of it, and lists.
const INPUTS: &str = r"
    mkdir -p tree/usr/bin tree/usr/lib tree/etc tree/boot tree/empty mnt
    printf '#!/bin/sh\necho hello\n' >tree/usr/bin/app; chmod 755 tree/usr/bin/app
    seq 60000 >tree/usr/lib/numbers; echo conf >tree/etc/conf; : >tree/etc/nothing
    ln tree/etc/conf tree/etc/link; ln -s ../usr/bin/app tree/etc/app; chmod 750 tree/empty
    head -c 4096 /dev/zero | tr '\0' b >tree/boot/isolinux.bin
    find tree -exec touch -h -d '2020-02-29 23:59:58Z' {} +
    cp -a tree layered; : >layered/.wh.gone; mkdir layered/over; : >layered/over/.wh..wh..opq
    echo over >layered/over/file; find layered -exec touch -h -d '2020-02-29 23:59:58Z' {} +
    tar --format=pax --sort=name -C layered -cf layer.tar .
    echo 'usr/lib/*' >ignore; echo 'usr/bin/app 100' >sort; echo /usr/bin/app >hot
    echo registered >registration; head -c 8192 /dev/zero >runtime
    printf '/vendor(/.*)? u:object_r:vendor_file:s0\n' >contexts
    printf 'usr=tree/usr\netc/conf=tree/etc/conf\n' >pathlist";

/// A line of the list.
struct Line<'a> {
    program: &'a str,
    repository: &'a str,
    file: &'a str,
    compared: &'a str,
    command: &'a str,
}

fn lines() -> Vec<Line<'static>> {
    let list = include_str!("callers.tsv").lines();
    let list = list.filter(|line| !line.starts_with('#'));
    let line = |line: &'static str| match line.split('\t').collect::<Vec<_>>()[..] {
        [program, repository, file, compared, command] => Line {
            program,
            repository,
            file,
            compared,
            command,
        },
        _ => panic!("{line}"),
    };
    list.map(line).collect()
}

/// What a line does.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    success: bool,
    /// What is compared, as text.
    seen: String,
}

/// Lists a directory: every name with its attributes, and the digest of its content.
fn listing(dir: &Path) -> String {
    let script = "cd \"$0\" && find . -mindepth 1 -printf '%P %y %m %U %G %l %n\\n' | \
                  sed '/ d /s/ [0-9]*$//' | sort; find . -type f -exec sha256sum {} + | sort";
    let mut command = Command::new("sh");
    let output = command.args(["-c", script]).arg(dir).output().expect("sh");
    assert!(output.status.success(), "{}", words_of(&output));
    String::from_utf8(output.stdout).expect("text")
}

fn mount_line(work: &Path, command: &str, path: &str) -> Outcome {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec {command}")]);
    shell.current_dir(work).env("PATH", path);
    let mut child = shell.stderr(Stdio::null()).spawn().expect("sh");
    let dir = work.join("mnt");
    let is_mounted = || {
        let mut asked = Command::new("mountpoint");
        let asked = asked.arg("-q").arg(&dir).status();
        asked.expect("mountpoint").success()
    };
    let (start, mut ended) = (Instant::now(), None);
    while !is_mounted() && ended.is_none() && start.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
        ended = child
            .try_wait()
            .expect("a child")
            .filter(|code| !code.success());
    }
    let seen = listing(&dir);
    let _ = Command::new("umount").arg(&dir).status();
    let code = ended.unwrap_or_else(|| child.wait().expect("a child"));
    Outcome {
        success: code.success(),
        seen,
    }
}

/// Leaves out what the real tools do otherwise without an effect on who reads the tree: the content
/// that `-boot-info-table` changes depends on where the file is, the catalog has a name as a file,
/// and gensquashfs makes files of hard links.
fn comparable(line: &Line<'_>, listing: &str) -> String {
    let is_iso = line.command.contains("-boot-info-table");
    let has_copies = line.program == "gensquashfs";
    let lines = listing.lines().filter(|text| {
        let is_catalog = text.starts_with("boot") && text.contains(".cat");
        !(is_iso
            && (text.ends_with("boot/isolinux.bin") || is_catalog || text.contains("/boot.cat")))
    });
    let lines = lines.map(|text| match text.rsplit_once("  ") {
        Some((file, links)) if has_copies && links.len() == 1 => file,
        _ => text,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs a line with a path of programs, in a directory of the inputs that it may change.
fn outcome(work: &Path, line: &Line<'_>, path: &str) -> Outcome {
    shell(work, "rm -rf out index restored copy; cp -a tree copy");
    if line.compared == "mount:mnt" {
        return mount_line(work, line.command, path);
    }
    let mut command = Command::new("sh");
    command.args(["-c", line.command]).current_dir(work);
    command.env("PATH", path).stdin(Stdio::null());
    let output = command.output().expect("sh");
    let success = output.status.success();
    let (kind, what) = line.compared.split_once(':').unwrap_or((line.compared, ""));
    let seen = match kind {
        _ if !success => output.status.to_string(),
        "image" => {
            let (image, offset) = what.split_once('@').unwrap_or((what, "0"));
            let behind = ["--offset", offset];
            let behind = if line.program == "mkdwarfs" {
                &[][..]
            } else {
                &behind
            };
            let mut sinter = Command::new(env!("CARGO_BIN_EXE_sinter"));
            sinter
                .args(["extract", "-q", "-o", "restored"])
                .args(behind);
            let output = sinter.arg(image).current_dir(work).output();
            let output = output.expect("sinter");
            assert!(
                output.status.success(),
                "{}: {}",
                line.command,
                words_of(&output)
            );
            comparable(line, &listing(&work.join("restored")))
        }
        "tree" => listing(&work.join(what)),
        "stdout" => String::from_utf8(output.stdout).expect("text"),
        _ => String::new(),
    };
    Outcome { success, seen }
}

/// Returns the directories with real tools, and whether one has the program of a line in a version
/// that knows its options.
fn real_tools() -> (String, impl Fn(&str) -> bool) {
    let peers = ["SQUASHFS", "EROFS", "DWARFS"].map(|peer| format!("SINTER_PEER_{peer}"));
    let dirs = peers.iter().map(String::as_str).chain(["PATH"]);
    let dirs = dirs.filter_map(|name| std::env::var(name).ok());
    let path = dirs
        .chain(["/usr/sbin:/sbin".to_owned()])
        .collect::<Vec<_>>()
        .join(":");
    let all: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let has = move |program: &str| {
        let found = all
            .iter()
            .map(|dir| dir.join(program))
            .find(|file| file.is_file());
        let new_enough = |file: PathBuf| {
            let said = Command::new(file)
                .arg("--version")
                .output()
                .expect("a version");
            program != "mkfs.erofs" || String::from_utf8_lossy(&said.stdout).contains(" 1.9")
        };
        found.is_some_and(new_enough)
    };
    (path, has)
}

#[test]
fn callers_run_unchanged() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, INPUTS);
    for (name, args) in [
        ("mksquashfs", &["tree", "in.sqfs", "-quiet"][..]),
        (
            "mksquashfs",
            &["tree", "moved.sqfs", "-quiet", "-offset", "193728"],
        ),
        (
            "mkdwarfs",
            &["-i", "tree", "-o", "in.dwarfs", "-l3", "--hotness-list=hot"],
        ),
    ] {
        let output = called(work, name, args);
        assert!(output.status.success(), "{}", words_of(&output));
    }
    let (theirs, has) = real_tools();
    let bin = work.join("bin");
    std::fs::create_dir_all(&bin).expect("a directory");
    let all = lines();
    for line in &all {
        let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), bin.join(line.program));
    }
    let ours = format!("{}:{theirs}", bin.display());
    let (mut wrong, mut compared) = (Vec::new(), 0);
    for line in &all {
        let mine = outcome(work, line, &ours);
        let other = has(line.program).then(|| outcome(work, line, &theirs));
        compared += usize::from(other.as_ref().is_some_and(|other| other.success));
        let is_right = match &other {
            Some(other) if other.success => mine == *other,
            // an older version of the tool lacks options that the caller uses
            Some(_) => true,
            None => mine.success,
        };
        if !is_right {
            let Line {
                repository,
                file,
                command,
                ..
            } = line;
            wrong.push(format!(
                "{repository} {file}: {command}\n{mine:#?}\n{other:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(compared > 0, "no real tool is installed");
}

#[test]
fn every_line_names_its_source() {
    let all = lines();
    assert!(all.len() >= 60, "{}", all.len());
    for line in &all {
        assert_eq!(line.repository.split('/').count(), 2, "{}", line.command);
        assert!(!line.file.is_empty() && line.command.contains(line.program));
        let kinds = ["image:", "tree:", "mount:", "stdout", "none"];
        assert!(kinds.iter().any(|kind| line.compared.starts_with(kind)));
    }
    assert!(real("PATH", "sh").is_some());
}
