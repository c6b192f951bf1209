//! A tree goes through every format and an archive, and comes back as it was but for what one of
//! them cannot keep; that is reported, counted, and with `--strict` an error.

mod support;

use std::path::Path;
use std::process::Command;

use support::{compare, is_root, make_tree, run, scratch, sinter, vectors};

/// What GNU tar and every tar leaves out: sockets. What DwarFS can't keep: hard links of symlinks
/// and special files.
const TAR_AND_DWARFS: &[&str] = &["--skip-type", "s", "--drop", "link,nlink:lpcb"];

/// What SquashFS can't keep.
const SQUASHFS: &[&str] = &["--mtime-seconds", "--skip-xattr", "system.posix_acl"];

/// Runs a command that makes a file without a loss of entries; returns its messages.
fn step(words: &[&str], from: &Path, to: &Path) -> String {
    ends_with(0, words, from, to)
}

/// Runs a command that makes a file; returns its messages.
fn ends_with(code: i32, words: &[&str], from: &Path, to: &Path) -> String {
    let output = sinter().args(words).arg(from).arg("-o").arg(to).output();
    let output = output.expect("sinter starts");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{words:?}: {messages}");
    messages
}

#[test]
fn a_tree_comes_back_from_all_formats() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let tree = at("tree");
    make_tree(&shared, &tree, &["--size", "small"]);
    // what the tree of the vectors lacks: a capability, a label, a large owner
    let odd = tree.join("odd one");
    std::fs::write(&odd, "program").expect("a file");
    std::os::unix::fs::chown(&odd, Some(3_000_000_000), Some(70_000)).expect("chown");
    let set = |name: &str, value: &str| {
        let mut command = Command::new("setfattr");
        let status = command.args(["-n", name, "-v", value]).arg(&odd).status();
        assert!(status.expect("setfattr (package attr)").success(), "{name}");
    };
    set("security.capability", "0sAQAAAgAgAAAAAAAAAAAAAAAAAAA=");
    set("security.selinux", "system_u:object_r:bin_t:s0");
    set("user.of \"odd\" name=", "0sAAEC/w==");

    let ns = ["--time-resolution", "1ns", "-q"];
    step(&[&["build"], &ns[..]].concat(), &tree, &at("1.dwarfs"));
    let messages = ends_with(1, &["extract", "--tar"], &at("1.dwarfs"), &at("2.tar"));
    assert!(
        messages.contains("special/socket: not kept by tar"),
        "{messages}"
    );
    step(&["build", "-q"], &at("2.tar"), &at("3.erofs"));
    step(&["convert", "-q"], &at("3.erofs"), &at("4.dwarfs"));
    run([
        Path::new("extract"),
        &at("4.dwarfs"),
        Path::new("-o"),
        &at("kept"),
    ]);
    compare(&shared, TAR_AND_DWARFS, &tree, &at("kept"));

    let told = step(&["convert"], &at("3.erofs"), &at("5.squashfs"));
    for lost in ["fractions of a second", "POSIX ACLs"] {
        assert!(told.contains(lost), "{lost}: {told}");
    }
    let mut strict = sinter();
    strict
        .args(["convert", "--strict"])
        .arg(at("3.erofs"))
        .arg("-o");
    let refused = strict
        .arg(at("strict.squashfs"))
        .output()
        .expect("sinter starts");
    assert!(!refused.status.success() && !at("strict.squashfs").exists());

    step(&["convert", "-q"], &at("5.squashfs"), &at("6.dwarfs"));
    run([
        Path::new("extract"),
        &at("6.dwarfs"),
        Path::new("-o"),
        &at("back"),
    ]);
    compare(
        &shared,
        &[TAR_AND_DWARFS, SQUASHFS].concat(),
        &tree,
        &at("back"),
    );
    run([Path::new("diff"), &at("5.squashfs"), &at("6.dwarfs")]);
}
