//! Files of pseudo definitions that unsquashfs writes and mksquashfs reads, and what mksquashfs
//! lists: beside the real ones.

use std::path::Path;

use super::mksquashfs::{are_current, shell};
use super::readers::LISTED;
use super::support::archives::{has, words_of};
use super::support::scratch;
use super::{call, called, squashfs_tool};

/// What the real unsquashfs prints.
fn real(work: &Path, arguments: &[&str]) -> Vec<u8> {
    let mut real = squashfs_tool("unsquashfs");
    let real = real.current_dir(work).args(arguments).output();
    real.expect("unsquashfs").stdout
}

/// Makes `tree` and, by the real mksquashfs, `image`, with content in fragments, extended
/// attributes of all forms, and a file of zeros.
fn make_image(work: &Path) {
    shell(work, LISTED);
    // groups above 2^31 are negative there
    let more = "test ! -c tree/c || chown 98765:43210 tree/z; \
        seq 100000 >tree/numbers; cp tree/numbers tree/z; truncate -s 0 tree/none; \
        ln -s 'to a \"\\\\ b' tree/odd; find tree -exec touch -h -d @1600000000 {} +; \
        mksquashfs tree image -quiet -no-progress -p 'numbers x user.a=a\\b \"c\"' \
        -p 'd x user.b=0t\\000\\134\\377' -p '/ x user.c=0x0a' -p 'f x user.d=0t \\303\\274'";
    shell(work, more);
}

#[test]
fn definitions_are_those_of_unsquashfs() {
    if !has("mksquashfs") || !has("unsquashfs") || !are_current() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make_image(work);
    for arguments in [
        &["-pf", "-", "image"][..],
        &["-pseudo-file", "-", "image", "d/s*", "z"],
        &["-pf", "-", "-max-depth", "2", "image"],
        &["-pf", "-", "-no-xattrs", "-excludes", "image", "d", "f"],
        &["-pf", "-", "image", "nothing"],
        &["-pf", "-", "-no-wildcards", "image", "d/sub/a name"],
    ] {
        let ours = called(work, "unsquashfs", arguments);
        let theirs = real(work, arguments);
        let shown = String::from_utf8_lossy(&theirs[..theirs.len().min(1000)]).into_owned();
        assert!(
            ours.stdout == theirs,
            "{arguments:?}: {}\n{shown}",
            words_of(&ours)
        );
        assert_eq!(ours.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn definitions_with_data_become_images_again() {
    if !has("mksquashfs") || !has("unsquashfs") || !are_current() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make_image(work);
    call(work, "unsquashfs", &["-pf", "file", "image"]);
    call(work, "mksquashfs", &["-", "again", "-pf", "file", "-quiet"]);
    let written = std::fs::read(work.join("file")).expect("definitions");
    assert!(real(work, &["-pf", "-", "again"]) == written);
    call(work, "unsquashfs", &["-pf", "file", "again"]);
    assert!(std::fs::read(work.join("file")).expect("definitions") == written);
    // what is cut off, or has no root
    std::fs::write(work.join("cut"), &written[..written.len() - 1]).expect("a file");
    std::fs::write(work.join("rootless"), "a D 1 755 0 0\n").expect("a file");
    for (file, hint) in [
        ("cut", "not behind the definitions"),
        ("rootless", "defines the root"),
    ] {
        let output = called(work, "mksquashfs", &["-", "new", "-pf", file]);
        assert!(words_of(&output).contains(hint), "{}", words_of(&output));
        assert!(!work.join("new").exists());
    }
}

#[test]
fn no_name_makes_a_definition_of_its_own() {
    let work = scratch();
    let work = work.path();
    std::fs::create_dir_all(work.join("tree/a\nb F 0 0 0 0 ls")).expect("a directory");
    std::fs::write(work.join("tree/a\nb F 0 0 0 0 ls/below"), "x").expect("a file");
    std::os::unix::fs::symlink("x\nc F 0 0 0 0 ls", work.join("tree/link")).expect("a symlink");
    std::os::unix::fs::symlink("x\\", work.join("tree/link2")).expect("a symlink");
    std::fs::write(work.join("tree/y\\"), "x").expect("a file");
    std::fs::hard_link(work.join("tree/y\\"), work.join("tree/z")).expect("a link");
    call(work, "mksquashfs", &["tree", "image", "-quiet"]);
    let output = called(work, "unsquashfs", &["-pf", "file", "image"]);
    assert_eq!(output.status.code(), Some(2), "{}", words_of(&output));
    for refused in ["link: a target", "link2: a target", "z: a link to a name"] {
        assert!(
            words_of(&output).contains(refused),
            "{refused}: {}",
            words_of(&output)
        );
    }
    let written = std::fs::read_to_string(work.join("file")).expect("definitions");
    let lines: Vec<&str> = written.lines().collect();
    assert!(
        lines.len() == 6 && lines[1].starts_with("y\\\\ R "),
        "{written}"
    );
}

#[test]
fn files_are_listed_as_by_mksquashfs() {
    if !has("mksquashfs") || !are_current() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, LISTED);
    shell(
        work,
        "cp -p tree/f tree/d/same; seq 100000 >tree/numbers; cp tree/numbers tree/z",
    );
    shell(
        work,
        "mksquashfs tree real -quiet -no-progress -info-file theirs",
    );
    let options = ["tree", "ours", "-quiet", "-info-file", "list"];
    call(work, "mksquashfs", &options);
    // numbers of inodes depend on how many bytes metadata takes
    let lines = |file: &str| {
        let text = std::fs::read(work.join(file)).expect("a list");
        let text = String::from_utf8_lossy(&text).into_owned();
        let without_numbers = text.lines().map(|line| {
            let start = line.split(" inode 0x").next().unwrap_or_default();
            format!(
                "{start}{}",
                if line.ends_with(" LINK") { " LINK" } else { "" }
            )
        });
        without_numbers.collect::<Vec<_>>()
    };
    assert_eq!(lines("list"), lines("theirs"));
    let printed = called(work, "mksquashfs", &["tree", "more", "-quiet", "-info"]);
    assert!(printed.stdout == std::fs::read(work.join("list")).expect("a list"));
}
