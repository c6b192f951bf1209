//! The commands of the guides, and of the pages for those who come from another tool: each runs, in
//! the order of its page, in a directory with a small tree.
//!
//! In: the pages of docs. **Invariant:** a command that is printed there is run here, but for
//! blocks that are marked with `ignore`, which need root or a server.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::scratch;

/// Names that the commands call the program by.
const NAMES: [&str; 13] = [
    "sinter",
    "mksquashfs",
    "sqfstar",
    "unsquashfs",
    "sqfs2tar",
    "mkdwarfs",
    "dwarfsck",
    "dwarfsextract",
    "mkfs.erofs",
    "fsck.erofs",
    "dump.erofs",
    "tar",
    "sh",
];

/// Names in [`NAMES`] that are other programs, which the commands call as well.
const OTHERS: [&str; 2] = ["tar", "sh"];

fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read_to_string(docs.join(name)).expect(name);
    assert!(text.lines().count() < 90, "{name}: more than two screens");
    text
}

/// Makes a directory with a tree `DIR`, beside links to the program under its names.
fn directory(work: &Path, name: &str) -> PathBuf {
    let dir = work.join(name);
    fs::create_dir_all(dir.join("DIR/sub")).unwrap();
    fs::write(dir.join("DIR/a.txt"), "one\n".repeat(900)).unwrap();
    fs::write(dir.join("DIR/sub/b.txt"), "two\n").unwrap();
    fs::write(dir.join("DIR/sub/c.tmp"), "three\n").unwrap();
    let names = work.join("names");
    fs::create_dir_all(&names).unwrap();
    for name in NAMES.iter().filter(|name| !OTHERS.contains(name)) {
        let link = names.join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), link).unwrap();
        }
    }
    dir
}

/// Runs commands in one shell; the first one that fails ends it.
fn run(work: &Path, dir: &Path, script: &str) {
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", work.join("names").display());
    let mut shell = Command::new("sh");
    shell
        .args(["-euxc", script])
        .env("PATH", path)
        .current_dir(dir);
    let output = shell.env_remove("SOURCE_DATE_EPOCH").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
}

/// Returns the commands of the two columns of tables whose first heading is given.
fn columns(text: &str, heading: &str) -> (Vec<String>, Vec<String>) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    let wanted = format!("| {heading} |");
    let tables = text.split("\n\n").filter(|part| part.starts_with(&wanted));
    for row in tables.flat_map(|table| table.lines().skip(2)) {
        // `\|` is a pipe within a row
        let row = row.replace("\\|", "\u{1}");
        let cells: Vec<String> = row
            .split('|')
            .map(|cell| cell.trim().trim_matches('`').replace('\u{1}', "|"))
            .collect();
        left.push(cells[1].clone());
        right.push(cells[2].clone());
    }
    assert!(!left.is_empty(), "no table of {heading}");
    (left, right)
}

#[test]
fn commands_for_those_who_come_from_another_tool_run() {
    let pages = [
        "from-mksquashfs.md",
        "from-mkdwarfs.md",
        "from-mkfs-erofs.md",
        "from-ratarmount-or-zip.md",
    ];
    for name in pages {
        let work = scratch();
        let (theirs, ours) = columns(&page(name), "yours");
        let starts = |command: &String| {
            let mut words = command.split(' ').filter(|word| NAMES.contains(word));
            words.next().is_some() || command.starts_with("cp ")
        };
        assert!(theirs.iter().all(starts), "{name}: {theirs:?}");
        let from = directory(work.path(), "theirs");
        run(work.path(), &from, &theirs.join("\n"));
        let to = directory(work.path(), "ours");
        if name.contains("ratarmount") {
            fs::copy(from.join("a.tar"), to.join("a.tar")).unwrap();
        }
        run(work.path(), &to, &ours.join("\n"));
        compare_unpacked(&from, &to, name);
    }
}

/// Compares what both columns unpacked into `out`.
fn compare_unpacked(theirs: &Path, ours: &Path, page: &str) {
    if theirs.join("out").exists() {
        let mut diff = Command::new("diff");
        let diff = diff.arg("-r").args([theirs.join("out"), ours.join("out")]);
        assert!(diff.status().unwrap().success(), "{page}");
        let mut source = Command::new("diff");
        let source = source.arg("-r").args([ours.join("DIR"), ours.join("out")]);
        assert!(source.status().unwrap().success(), "{page}");
    }
}

#[test]
fn commands_in_the_place_of_zip_run() {
    let work = scratch();
    let dir = directory(work.path(), "ours");
    let (_, ours) = columns(&page("from-ratarmount-or-zip.md"), "zip or ratarmount");
    run(work.path(), &dir, "tar -C DIR -cf a.tar .");
    run(work.path(), &dir, &ours.join("\n"));
}

#[test]
fn commands_of_the_guides_run() {
    for name in ["pack", "verify", "backup"] {
        let work = scratch();
        let dir = directory(work.path(), "guide");
        let text = page(&format!("guides/{name}.md"));
        let blocks = text.split("```sh\n").skip(1);
        let blocks: Vec<&str> = blocks
            .map(|rest| rest.split("```").next().unwrap())
            .collect();
        assert!(blocks.len() > 1, "{name}");
        run(work.path(), &dir, &blocks.concat());
    }
}

#[test]
fn guides_that_need_root_or_a_server_are_short() {
    for name in ["boot", "share", "python"] {
        page(&format!("guides/{name}.md"));
    }
}
