//! Damage of single entries in the formats that other tools make: what each walk makes of it.
//!
//! Cromfs has no tool at hand; its images are made in `crates/cromfs/tests/images.rs`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{every_conversion, every_walk, files, has, patch, refused_everywhere};
use crate::support::{build, scratch, shell};

/// A format: what makes the image `i` of the directory `t`, and damage to that.
struct Format {
    name: &'static str,
    tools: &'static [&'static str],
    /// A script of the shell; none where the format is written here.
    make: Option<&'static str>,
    damage: &'static [Damage],
}

struct Damage {
    /// A script of Python, which has the image in `b`.
    script: &'static str,
    /// What each walk names.
    named: &'static str,
    /// Whether only those walks see it that read content.
    is_in_content: bool,
}

const fn damage(named: &'static str, script: &'static str) -> Damage {
    Damage {
        script,
        named,
        is_in_content: false,
    }
}

const fn in_content(named: &'static str, script: &'static str) -> Damage {
    Damage {
        script,
        named,
        is_in_content: true,
    }
}

const FORMATS: &[Format] = &[
    Format {
        name: "cramfs",
        tools: &[],
        make: None,
        damage: &[
            // an inode without a type
            damage(
                "d/f3",
                "struct.pack_into('<H', b, b.find(b'f3\\0\\0') - 12, 0o644)",
            ),
            damage("\"..\"", "at = b.find(b'f3\\0\\0'); b[at:at + 2] = b'..'"),
            damage("\"f/\"", "at = b.find(b'f3\\0\\0'); b[at:at + 2] = b'f/'"),
            damage(
                "\"f4\" occurs twice",
                "at = b.find(b'f3\\0\\0'); b[at:at + 2] = b'f4'",
            ),
            // a listing outside of the image
            damage(
                "a: corrupt image",
                "at = b.find(b'a\\0\\0\\0', 76)\n\
                 word = struct.unpack_from('<I', b, at - 4)[0]\n\
                 struct.pack_into('<I', b, at - 4, word & 63 | 0x3fffff0 << 6)",
            ),
        ],
    },
    Format {
        name: "romfs",
        tools: &["genromfs"],
        make: Some("genromfs -d t -f i"),
        damage: &[
            // a hard link to nothing
            damage(
                "d/f3",
                "at = b.find(b'f3\\0') - 16\n\
                 next = struct.unpack_from('>I', b, at)[0]\n\
                 struct.pack_into('>II', b, at, next & ~7, 0x7ffffff0)",
            ),
            damage("\"f/\"", "at = b.find(b'f3\\0'); b[at:at + 2] = b'f/'"),
            damage("\"..\"", "at = b.find(b'f3\\0'); b[at:at + 2] = b'..'"),
            damage(
                "\"f4\" occurs twice",
                "at = b.find(b'f3\\0'); b[at:at + 2] = b'f4'",
            ),
            damage(
                "a: corrupt image",
                "struct.pack_into('>I', b, b.find(b'a\\0', 64) - 12, 0x7ffffff0)",
            ),
            // content outside of the image
            in_content(
                "d/f3",
                "struct.pack_into('>I', b, b.find(b'f3\\0') - 8, 0x7fffffff)",
            ),
        ],
    },
    Format {
        name: "fat",
        tools: &["mkfs.vfat", "mcopy"],
        make: Some("mkfs.vfat -C i 2048 >/dev/null; mcopy -s -i i t/d t/a t/z ::/"),
        damage: &[
            damage("\"f/\"", "at = b.find(b'F3      '); b[at:at + 2] = b'F/'"),
            damage(
                "the name \"f4\"",
                "at = b.find(b'F3      '); b[at:at + 2] = b'F4'",
            ),
            damage(
                "the name \"..\"",
                "at = b.find(b'F3      '); b[at:at + 2] = b'..'",
            ),
            // clusters that do not exist
            damage(
                "a: corrupt image",
                "struct.pack_into('<H', b, b.find(b'A          ') + 26, 0xfff0)",
            ),
            in_content(
                "d/f3",
                "struct.pack_into('<H', b, b.find(b'F3      ') + 26, 0xfff0)",
            ),
        ],
    },
    Format {
        name: "ext",
        tools: &["mke2fs", "debugfs"],
        make: Some("truncate -s 4M i; mke2fs -q -F -t ext4 -O ^has_journal -d t i"),
        damage: &[
            damage(
                "\"/3\"",
                "at = b.find(b'\\2\\1f3'); b[at + 2:at + 4] = b'/3'",
            ),
            damage(
                "\"f4\"",
                "at = b.find(b'\\2\\1f3'); b[at + 2:at + 4] = b'f4'",
            ),
            damage(
                "d/f3",
                "import subprocess; open('i', 'wb').write(b)\n\
                 subprocess.run(['debugfs', '-w', '-R', 'sif d/f3 mode 0', 'i'])\n\
                 b = bytearray(open('i', 'rb').read())",
            ),
            damage(
                "a: corrupt image",
                "import subprocess; open('i', 'wb').write(b)\n\
                 subprocess.run(['debugfs', '-w', '-R', 'sif a block[0] 0', 'i'])\n\
                 b = bytearray(open('i', 'rb').read())",
            ),
        ],
    },
    Format {
        name: "udf",
        tools: &["genisoimage"],
        make: Some("genisoimage -quiet -udf -o i t"),
        damage: &[
            // the checksums of file entries
            damage(
                "d/f3",
                "at = next(at for at in range(0, len(b), 2048) if b[at:at + 2] == b'\\5\\1'\n\
                 \x20         and struct.unpack_from('<Q', b, at + 56)[0] == 3001)\n\
                 b[at + 4] ^= 1",
            ),
            damage(
                "a: corrupt image",
                "at = next(at for at in range(0, len(b), 2048) if b[at:at + 2] == b'\\5\\1'\n\
                 \x20         and struct.unpack_from('<Q', b, at + 56)[0] == 3001)\n\
                 name = b.find(b'\\x08f3') - 38\n\
                 start = at // 2048 - struct.unpack_from('<I', b, name + 24)[0]\n\
                 name = b.find(b'\\x08a') - 38\n\
                 assert b[name:name + 2] == b'\\1\\1'\n\
                 at = (start + struct.unpack_from('<I', b, name + 24)[0]) * 2048\n\
                 b[at + 4] ^= 1",
            ),
            damage(
                "\"f/\"",
                "import binascii\n\
                 at = b.find(b'\\x08f3') - 38\n\
                 b[at + 40] = ord('/')\n\
                 n = struct.unpack_from('<H', b, at + 10)[0]\n\
                 struct.pack_into('<H', b, at + 8, binascii.crc_hqx(bytes(b[at + 16:at + 16 + n]), 0))\n\
                 b[at + 4] = (sum(b[at:at + 16]) - b[at + 4]) & 255",
            ),
        ],
    },
    Format {
        name: "iso9660",
        tools: &["genisoimage"],
        make: Some("genisoimage -quiet -R -o i t"),
        damage: &[
            // a type that is none: the field PX of Rock Ridge of the file of 3001 bytes
            damage(
                "F3",
                "at = b.find(struct.pack('<I', 3001) + struct.pack('>I', 3001))\n\
                 at = b.find(b'PX', at) + 4\n\
                 b[at:at + 8] = struct.pack('<I', 0o644) + struct.pack('>I', 0o644)",
            ),
            damage(
                "f/",
                "at = b.find(b'f3', b.find(b'NM')); b[at:at + 2] = b'f/'",
            ),
            damage(
                "f4",
                "at = b.find(b'f3', b.find(b'NM')); b[at:at + 2] = b'f4'",
            ),
        ],
    },
];

#[test]
fn damaged_entries_of_cramfs_are_named_by_every_walk() {
    every_damage("cramfs");
}

#[test]
fn damaged_entries_of_romfs_are_named_by_every_walk() {
    every_damage("romfs");
}

#[test]
fn damaged_entries_of_fat_are_named_by_every_walk() {
    every_damage("fat");
}

#[test]
fn damaged_entries_of_ext_are_named_by_every_walk() {
    every_damage("ext");
}

#[test]
fn damaged_entries_of_udf_are_named_by_every_walk() {
    every_damage("udf");
}

#[test]
fn damaged_entries_of_iso9660_are_named_by_every_walk() {
    every_damage("iso9660");
}

fn every_damage(name: &str) {
    let work = scratch();
    let work = work.path();
    files(work);
    for (dir, file) in [("a", "y"), ("z", "x")] {
        fs::create_dir(work.join("t").join(dir)).unwrap();
        fs::write(work.join("t").join(dir).join(file), file).unwrap();
    }
    for format in FORMATS.iter().filter(|format| format.name == name) {
        if !format.tools.iter().all(|tool| has(tool)) {
            continue;
        }
        let _ = fs::remove_file(work.join("i"));
        match format.make {
            Some(make) => shell(work, &format!("PATH=$PATH:/usr/sbin:/sbin\n{make}")),
            None => drop(build(format.name, &work.join("t"), &work.join("i"), &[])),
        }
        for (number, damage) in format.damage.iter().enumerate() {
            let image = format!("{number}.{}", format.name);
            shell(work, &format!("cp i whole; cp i {image}"));
            patch(
                work,
                &image,
                &damage.script.replace("'i'", &format!("'{image}'")),
            );
            assert!(
                fs::read(work.join("whole")).unwrap() != fs::read(work.join(&image)).unwrap(),
                "{image}"
            );
            every_walk(work, &image, damage.named, "d/f6", damage.is_in_content);
            // what is left out is the same for all damage of a format
            if number == 0 {
                every_conversion(work, &image, damage.named, "d/f6");
            }
        }
    }
}

/// The metadata of these formats is under one checksum: an entry that is damaged cannot be told
/// from others, so the image is refused as a whole.
#[test]
fn damaged_metadata_under_one_checksum_is_refused_by_every_walk() {
    let work = scratch();
    let work = work.path();
    files(work);
    for (format, script) in [
        // the section of metadata, by its type
        (
            "dwarfs",
            "found = (at for at in range(len(b)) if b[at:at + 6] == b'DWARFS')\n\
             at = next(at for at in found if b[at + 52] == 8)\n\
             b[at + 70] ^= 1",
        ),
        // the resource that the header names
        ("wim", "b[b.find(b'f\\x003\\0')] ^= 1"),
    ] {
        let image = format!("i.{format}");
        let flags: &[&str] = if format == "wim" {
            &["-C", "none"]
        } else {
            &[]
        };
        build(format, &work.join("t"), &work.join(&image), flags);
        patch(work, &image, script);
        refused_everywhere(work, &image);
    }
}

/// Walks an archive whose members have such names.
#[test]
fn members_of_archives_that_no_tree_holds_are_named() {
    let work = scratch();
    let work = work.path();
    let script = "\
import io, tarfile
t = tarfile.open('i.tar', 'w')
for name in ['d/f6', '../out', 'd/../../x', 'z/x']:
    m = tarfile.TarInfo(name); m.size = 1
    t.addfile(m, io.BytesIO(b'x'))
t.close()";
    shell(work, &format!("python3 - <<'P'\n{script}\nP\n"));
    every_walk(work, "i.tar", "../out", "d/f6", false);
    assert!(!Path::new(&work.join("out")).exists());
}

/// The facts of composefs-info go on behind damage, which is named.
#[test]
fn composefs_images_are_shown_behind_damage() {
    let work = scratch();
    let work = work.path();
    files(work);
    let store = work.join("objects");
    let flags = ["--digest-store", store.to_str().unwrap()];
    build("composefs", &work.join("t"), &work.join("i.cfs"), &flags);
    let script = "\
b[1032] &= ~1
at = next(at for at in range(1024, len(b) - 64, 32)
          if struct.unpack_from('<H', b, at + 4)[0] & 0o170000 == 0o100000
          and struct.unpack_from('<Q', b, at + 8)[0] == 3001)
struct.pack_into('<H', b, at, 0xffff)";
    patch(work, "i.cfs", script);
    symlink(env!("CARGO_BIN_EXE_sinter"), work.join("composefs-info")).unwrap();
    for fact in ["ls", "dump", "objects"] {
        let mut command = Command::new(work.join("composefs-info"));
        let output = command.arg(fact).arg(work.join("i.cfs")).output().unwrap();
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{fact}: {messages}");
        assert_eq!(messages.lines().count(), 1, "{fact}: {messages}");
        assert!(messages.contains("d/f3"), "{fact}: {messages}");
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        let names = ["d/f1", "d/f2", "d/f4", "d/f5", "d/f6"];
        let all = match fact {
            "objects" => shown.lines().count() == 5,
            _ => names.iter().all(|name| shown.contains(name)),
        };
        assert!(all && !shown.contains("d/f3"), "{fact}: {shown}");
    }
    let words = ["ls", "-R", "--objects", store.to_str().unwrap()];
    let output = super::walk(work, &words, "i.cfs");
    assert_eq!(output.status.code(), Some(1));
}
