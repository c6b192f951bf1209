//! Command lines of programs that make images by mksquashfs and mkfs.erofs: they are taken as they
//! are, and the images hold what was packed.

use super::support::archives::words_of;
use super::support::{scratch, shell};
use super::{call, called};

/// Whole lines, with the tree `tree` and the image `image`.
const LINES: [(&str, &str); 8] = [
    // archiso, its profiles for SquashFS and EROFS
    (
        "mksquashfs",
        "tree image -noappend -comp xz -Xbcj x86 -b 1M -Xdict-size 1M",
    ),
    (
        "mkfs.erofs",
        "--quiet -zlzma,109 -C1048576 -Efragments,dedupe \
         -U 5eed0000-0000-4000-8000-000000000001 -- image tree",
    ),
    // lorax
    (
        "mksquashfs",
        "tree image -noappend -comp xz -Xbcj x86 -b 1M -Xdict-size 100% -no-progress",
    ),
    // appimagetool, before it writes its runtime to the front
    (
        "mksquashfs",
        "tree image -offset 193728 -comp gzip -root-owned -noappend -mkfs-time 0",
    ),
    // casper and others
    (
        "mksquashfs",
        "tree image -noappend -reproducible -all-time 0 -no-progress -info -e boot",
    ),
    (
        "mksquashfs",
        "tree image -noappend -force-uid root -force-gid root -single-reader -throttle 10 \
         -percentage -mem-percent 50",
    ),
    (
        "mkfs.erofs",
        "-x3 -Enosbcrc,force-inode-extended --ignore-mtime -T1234567 --offset=8192 \
         --exclude-regex=^boot$ image tree",
    ),
    (
        "mkfs.erofs",
        "--tar=f --exclude-regex=^boot$ -zlz4 image tree.tar",
    ),
];

#[test]
fn known_command_lines_are_taken() {
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir -p tree/usr/bin tree/boot; echo text >tree/usr/a; head -c 300000 /dev/zero | tr \
         '\\0' x >tree/usr/bin/b; echo kernel >tree/boot/k; tar -C tree -cf tree.tar .",
    );
    for (name, line) in LINES {
        let words: Vec<&str> = line.split_whitespace().collect();
        call(work, name, &words);
        let offset = match line {
            _ if line.contains("193728") => "193728",
            _ if line.contains("--offset=8192") => "8192",
            _ => "0",
        };
        call(
            work,
            "unsquashfs",
            &["-q", "-d", "out", "-o", offset, "image"],
        );
        let excluded = if line.contains("boot") { "-x boot" } else { "" };
        shell(work, &format!("diff -r {excluded} tree out"));
        assert_eq!(
            work.join("out/boot/k").exists(),
            excluded.is_empty(),
            "{line}"
        );
        shell(work, "rm -r out image");
    }
}

#[test]
fn the_room_before_an_image_is_zeros() {
    let work = scratch();
    let work = work.path();
    shell(work, "mkdir tree; echo text >tree/a");
    for (name, option) in [("mksquashfs", "-o"), ("mkfs.erofs", "--offset")] {
        let (plain, moved) = match name {
            "mksquashfs" => (vec!["tree", "plain"], vec!["tree", "moved", option, "8K"]),
            _ => (vec!["plain", "tree"], vec![option, "8192", "moved", "tree"]),
        };
        call(work, name, &plain);
        call(work, name, &moved);
        shell(
            work,
            "cmp -n 8192 moved /dev/zero && tail -c +8193 moved | cmp - plain && rm plain moved",
        );
    }
}

#[test]
fn what_has_no_effect_is_told_once() {
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir tree; echo text >tree/a; touch -d @1 tree/a tree",
    );
    let output = called(work, "mksquashfs", &["tree", "image", "-percentage"]);
    let said = words_of(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(
        said.matches("-percentage has no effect here").count(),
        1,
        "{said}"
    );
    let words = ["-x3", "-Enosbcrc", "image", "tree"];
    let said = words_of(&called(work, "mkfs.erofs", &words));
    for option in ["-x", "-E nosbcrc"] {
        let told = format!("mkfs.erofs {option} has no effect here");
        assert_eq!(said.matches(&told).count(), 1, "{said}");
    }
    let words = ["tree", "image", "-noappend", "-percentage", "-quiet"];
    let quiet = called(work, "mksquashfs", &words);
    assert!(
        quiet.status.success() && quiet.stderr.is_empty(),
        "{quiet:?}"
    );
}
