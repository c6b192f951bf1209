//! Damaged and unusual entries: every walk names what it cannot read, and shows the rest.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "damaged_entries/formats.rs"]
mod formats;
#[path = "damaged_entries/mounts.rs"]
mod mounts;
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use support::{build, scratch, shell, sinter, skip};

/// A command that walks an image.
struct Walk {
    words: &'static [&'static str],
    /// Whether it prints the names that it meets.
    prints: bool,
    /// Whether it reads content.
    reads: bool,
}

const fn lists(words: &'static [&'static str]) -> Walk {
    Walk {
        words,
        prints: true,
        reads: false,
    }
}

const fn reads(words: &'static [&'static str]) -> Walk {
    Walk {
        words,
        prints: false,
        reads: true,
    }
}

/// Commands that walk an image.
const WALKS: &[Walk] = &[
    lists(&["ls", "-R"]),
    lists(&["ls", "-lR"]),
    lists(&["ls", "-R", "--json"]),
    lists(&["find"]),
    lists(&["find", "--json"]),
    lists(&["tree"]),
    lists(&["du", "-a"]),
    Walk {
        words: &["extract", "-q", "--mtree", "-o", "-"],
        prints: true,
        reads: true,
    },
    reads(&["extract", "-q", "--tar", "-o", "out.tar"]),
    reads(&["extract", "-q", "--cpio", "-o", "out.cpio"]),
    reads(&["extract", "-q", "-o", "out"]),
    reads(&["convert", "-q", "-f", "dwarfs", "-o", "out.dwarfs"]),
    reads(&["build", "-q", "-f", "squashfs", "-o", "out.squashfs"]),
    reads(&["merge", "-q", "-o", "merged.dwarfs"]),
];

/// Formats that are written, for what is left out of a conversion.
const WRITTEN: &[&str] = &["dwarfs", "squashfs", "erofs", "cramfs", "wim", "iso9660"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn has(tool: &str) -> bool {
    let script = format!("PATH=$PATH:/usr/sbin:/sbin command -v {tool} >/dev/null");
    let found = Command::new("sh").args(["-c", &script]).status();
    let found = found.is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{tool} is missing"));
    }
    found
}

/// Changes an image by a script of Python, which has its bytes in `b`.
fn patch(work: &Path, image: &str, script: &str) {
    let script = format!(
        "python3 - <<'P'\nimport struct\nb = bytearray(open('{image}', 'rb').read())\n{script}\n\
         open('{image}', 'wb').write(b)\nP"
    );
    shell(work, &script);
}

/// Runs a command with an image in a directory of its own.
fn walk(work: &Path, words: &[&str], image: &str) -> Output {
    let dir = work.join("walk");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).unwrap();
    let (name, others) = words.split_first().unwrap();
    let mut command = sinter();
    command.current_dir(dir).arg(name).arg(work.join(image));
    command.args(others).output().unwrap()
}

/// Runs every walk: each names what is damaged, fails, and shows another entry. Damage in content
/// is seen only by the walks that read it; the others show all names.
fn every_walk(work: &Path, image: &str, damaged: &str, sound: &str, is_in_content: bool) {
    let name = sound.rsplit('/').next().unwrap();
    for Walk {
        words,
        prints,
        reads,
    } in WALKS
    {
        let output = walk(work, words, image);
        let messages = text(&output.stderr);
        let context = format!("{image}: {words:?}: {messages}");
        let shown = text(&output.stdout);
        if *prints {
            assert!(shown.contains(name), "{context}\n{shown}");
        }
        if !is_in_content || *reads {
            assert!(!output.status.success(), "{context}");
            assert!(messages.contains(damaged), "{context}");
        }
        // of content, an archive and an image have all of a file or are not written
        if !is_in_content {
            assert_eq!(output.status.code(), Some(1), "{context}");
        }
    }
    let _ = walk(work, &["extract", "-q", "-o", "out"], image);
    assert!(work.join("walk/out").join(sound).exists(), "{image}");
    // of an archive, all commands end with the code of what was passed over
    if image.ends_with(".tar") {
        return;
    }
    let siblings = [&["cat", sound][..], &["stat", sound]];
    for words in siblings {
        let output = walk(work, words, image);
        let context = format!("{image}: {words:?}: {}", text(&output.stderr));
        assert!(output.status.success(), "{context}");
    }
    let checked = walk(work, &["check"], image);
    assert!(!checked.status.success(), "{image}: check");
    if is_in_content {
        return;
    }
    let dumped = walk(work, &["info", "--dump"], image);
    let messages = text(&dumped.stderr);
    assert_eq!(dumped.status.code(), Some(1), "{image}: {messages}");
    assert!(messages.contains(damaged), "{image}: {messages}");
}

/// Converts to every format that is written: each names what is left out, and --strict refuses it.
fn every_conversion(work: &Path, image: &str, damaged: &str, sound: &str) {
    for format in WRITTEN {
        let words = ["convert", "-q", "-f", format, "-o", "out"];
        let output = walk(work, &words, image);
        let messages = text(&output.stderr);
        let context = format!("{image} as {format}: {messages}");
        assert_eq!(output.status.code(), Some(1), "{context}");
        assert!(messages.contains(damaged), "{context}");
        let mut found = sinter();
        let found = found.arg("cat").arg(work.join("walk/out")).arg(sound);
        let found = found.output().unwrap();
        assert!(found.status.success(), "{context}: {}", text(&found.stderr));
        let output = walk(work, &[&words[..], &["--strict"]].concat(), image);
        let context = format!("{image} as {format}: {}", text(&output.stderr));
        assert!(!output.status.success(), "{context}");
        assert!(!work.join("walk/out").exists(), "{context}");
    }
}

/// Runs every walk on an image that none can read.
fn refused_everywhere(work: &Path, image: &str) {
    for Walk { words, .. } in WALKS {
        let output = walk(work, words, image);
        let messages = text(&output.stderr);
        let context = format!("{image}: {words:?}: {messages}");
        assert_eq!(output.status.code(), Some(3), "{context}");
        assert!(messages.contains(image), "{context}");
        let mut left = fs::read_dir(work.join("walk")).unwrap();
        assert!(left.next().is_none(), "{context}");
    }
}

/// Makes files of different sizes.
fn files(work: &Path) {
    fs::create_dir_all(work.join("t/d")).unwrap();
    for number in 1..7_usize {
        let content = vec![b'x'; 1000 * number + 1];
        fs::write(work.join(format!("t/d/f{number}")), content).unwrap();
    }
}

#[test]
fn a_damaged_inode_hides_no_other_name() {
    let work = scratch();
    let work = work.path();
    files(work);
    build("erofs", &work.join("t"), &work.join("i.erofs"), &[]);
    // an inode of an unknown layout; the superblock has no checksum then
    let script = "\
b[1032] &= ~1
at = next(at for at in range(1024, len(b) - 32, 32)
          if struct.unpack_from('<I', b, at + 8)[0] == 3001
          and struct.unpack_from('<H', b, at + 4)[0] & 0o170000 == 0o100000)
struct.pack_into('<H', b, at, 0xffff)";
    patch(work, "i.erofs", script);
    every_walk(work, "i.erofs", "d/f3", "d/f6", false);
    if !has("mksquashfs") {
        return;
    }
    shell(
        work,
        "mksquashfs t i.squashfs -noI -noD -noF -quiet -no-progress >/dev/null",
    );
    // the type of the inode of a file, by its size
    let script = "\
at = next(at for at in range(96, len(b) - 32)
          if struct.unpack_from('<H', b, at)[0] == 2
          and struct.unpack_from('<I', b, at + 28)[0] == 3001)
struct.pack_into('<H', b, at, 99)";
    patch(work, "i.squashfs", script);
    every_walk(work, "i.squashfs", "d/f3", "d/f6", false);
    every_conversion(work, "i.squashfs", "d/f3", "d/f6");
}

#[test]
fn a_damaged_directory_is_not_listed_as_empty() {
    let work = scratch();
    let work = work.path();
    fs::create_dir_all(work.join("t/a")).unwrap();
    fs::create_dir_all(work.join("t/z")).unwrap();
    fs::write(work.join("t/z/x"), "x").unwrap();
    for number in 0..400 {
        fs::write(work.join(format!("t/a/file_with_a_long_name_{number}")), "").unwrap();
    }
    build("erofs", &work.join("t"), &work.join("i.erofs"), &[]);
    let script = "\
at = b.find(b'file_with_a_long_name_100') // 4096 * 4096
b[at:at + 64] = b'\\xff' * 64";
    patch(work, "i.erofs", script);
    every_walk(work, "i.erofs", "a: ", "z/x", false);
    for (name, option) in [
        ("unsquashfs", "-l"),
        ("unsquashfs", "-ll"),
        ("rdsquashfs", "-d"),
    ] {
        let program = work.join(name);
        let _ = symlink(env!("CARGO_BIN_EXE_sinter"), &program);
        let output = Command::new(program)
            .arg(option)
            .arg(work.join("i.erofs"))
            .output()
            .unwrap();
        let messages = text(&output.stderr);
        assert!(!output.status.success(), "{name} {option}: {messages}");
        assert!(messages.contains('a'), "{name} {option}: {messages}");
    }
}

/// An ISO 9660 image with two files, of which one has this name.
const NAMES: &str = r"
both = lambda n: struct.pack('<I', n) + struct.pack('>I', n)
def rec(name, block, size, flags=0):
    r = bytes(1) + both(block) + both(size)
    r += bytes([101, 9, 9, 1, 46, 40, 0, flags, 0, 0, 1, 0, 0, 1, len(name)]) + name
    r += bytes((len(r) + 1) % 2)
    return bytes([len(r) + 1]) + r
b = bytearray(2048 * 32)
v = bytearray(2048)
v[0:7] = b'\x01CD001\x01'; v[80:88] = both(32); v[120:128] = b'\1\0\0\1' * 2
v[128:132] = b'\0\x08\x08\0'
root = rec(b'\0', 20, 2048, 2)
v[156:156 + len(root)] = root; v[881] = 1
b[16 * 2048:17 * 2048] = v
b[17 * 2048:17 * 2048 + 7] = b'\xffCD001\x01'
d = rec(b'\0', 20, 2048, 2) + rec(b'\1', 20, 2048, 2)
d += rec(b'A/B.TXT;1', 22, 5) + rec(b'C.TXT;1', 22, 5)
b[20 * 2048:20 * 2048 + len(d)] = d; b[22 * 2048:22 * 2048 + 5] = b'hello'
";

#[test]
fn an_invalid_name_hides_no_other_file() {
    let work = scratch();
    let work = work.path();
    fs::write(work.join("i.iso"), "").unwrap();
    patch(work, "i.iso", NAMES);
    let output = sinter()
        .arg("cat")
        .args([&*work.join("i.iso"), Path::new("C.TXT")])
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "hello", "{}", text(&output.stderr));
    let listed = walk(work, &["ls"], "i.iso");
    assert!(matches!(listed.status.code(), Some(1 | 3)));
    assert!(
        text(&listed.stderr).contains("A/B.TXT"),
        "{}",
        text(&listed.stderr)
    );
    assert!(text(&listed.stdout).contains("C.TXT"));
}

#[test]
fn an_index_of_attributes_without_a_table_means_none() {
    if !has("mksquashfs") {
        return;
    }
    let work = scratch();
    let work = work.path();
    let script = "\
mkdir t; echo data >t/f; ln t/f t/g
mksquashfs t i.squashfs -noI -noD -no-xattrs -quiet -no-progress >/dev/null";
    shell(work, script);
    let script = "\
at, end = struct.unpack_from('<QQ', b, 64)
p = next(p for p in range(at + 2, end) if struct.unpack_from('<H', b, p)[0] == 9)
b[p + 52:p + 56] = struct.pack('<I', 0)";
    patch(work, "i.squashfs", script);
    for words in [
        &["stat", "f"][..],
        &["ls", "--json"],
        &["check"],
        &["extract", "-q", "--tar", "-o", "o.tar"],
    ] {
        let (name, others) = words.split_first().unwrap();
        let output = sinter()
            .current_dir(work)
            .args([name, "i.squashfs"])
            .args(others)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn room_for_attributes_is_no_attribute() {
    let work = scratch();
    let work = work.path();
    let made = Command::new("sh")
        .args([
            "-ec",
            "mkdir t; echo a >t/a; setfattr -n user.room -v 0123456789 t",
        ])
        .current_dir(work)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        skip("no attributes of users here");
        return;
    }
    build("erofs", &work.join("t"), &work.join("i.erofs"), &[]);
    // zeros in place of the only entry: its lengths, its name and its value
    let script = "\
b[1032] &= ~1
at = b.find(b'room0123456789') - 4
assert at > 0
b[at:at + 4 + 14] = bytes(18)";
    patch(work, "i.erofs", script);
    for words in [&["stat", "."][..], &["check"], &["ls", "-R"]] {
        let (name, others) = words.split_first().unwrap();
        let output = sinter()
            .current_dir(work)
            .args([name, "i.erofs"])
            .args(others)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{words:?}: {}",
            text(&output.stderr)
        );
        assert!(!text(&output.stdout).contains("user."), "{words:?}");
    }
}

#[test]
fn inline_data_of_ext4_is_read_and_is_no_attribute() {
    if !has("mkfs.ext4") {
        return;
    }
    let work = scratch();
    let work = work.path();
    let script = "\
PATH=$PATH:/usr/sbin:/sbin
mkdir -p s/d; echo hi >s/small; echo x >s/d/f; truncate -s 16M i.ext4
mkfs.ext4 -q -F -O inline_data -I 256 -d s i.ext4 >/dev/null 2>&1";
    shell(work, script);
    let listed = walk(work, &["ls", "-R", "--json"], "i.ext4");
    let shown = text(&listed.stdout);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    assert!(
        shown.contains("d/f") && !shown.contains("system.data"),
        "{shown}"
    );
    let content = sinter()
        .current_dir(work)
        .args(["cat", "i.ext4", "small", "d/f"])
        .output()
        .unwrap();
    assert_eq!(text(&content.stdout), "hi\nx\n");
}

#[test]
fn blocks_beyond_the_end_of_an_ext4_file_are_no_content() {
    if !has("mke2fs") || !has("debugfs") {
        return;
    }
    let work = scratch();
    let work = work.path();
    let script = "\
PATH=$PATH:/usr/sbin:/sbin
mkdir t; truncate -s 8192 t/f; head -c 4096 /dev/urandom >>t/f; echo ok >t/g
mke2fs -q -F -t ext4 -b 4096 -O ^has_journal -d t i.ext4 4096k
debugfs -w -R 'sif /f size 5' i.ext4 2>/dev/null";
    shell(work, script);
    let output = walk(work, &["extract", "-q", "--tar", "-o", "o.tar"], "i.ext4");
    assert!(output.status.success(), "{}", text(&output.stderr));
    shell(
        work,
        "mkdir x; tar -xf walk/o.tar -C x; test $(stat -c %s x/f) = 5",
    );
    let output = walk(work, &["stat", "f"], "i.ext4");
    assert!(
        !text(&output.stdout).contains(" 10 bytes"),
        "{}",
        text(&output.stdout)
    );
}

#[test]
fn a_boot_image_beyond_the_end_is_a_problem() {
    let work = scratch();
    let work = work.path();
    fs::create_dir(work.join("t")).unwrap();
    fs::write(work.join("t/a"), "a").unwrap();
    fs::write(work.join("boot"), [0; 2048]).unwrap();
    let boot = format!("boot={}", work.join("boot").display());
    build(
        "iso9660",
        &work.join("t"),
        &work.join("i.iso"),
        &["-E", &boot],
    );
    assert!(walk(work, &["check", "--deep"], "i.iso").status.success());
    let script = "\
at = b.find(b'EL TORITO SPECIFICATION') - 7
catalog = struct.unpack_from('<I', b, at + 71)[0] * 2048
b[catalog + 40:catalog + 44] = struct.pack('<I', 1000000)";
    patch(work, "i.iso", script);
    let output = walk(work, &["check", "--deep"], "i.iso");
    assert!(!output.status.success(), "{}", text(&output.stdout));
}
