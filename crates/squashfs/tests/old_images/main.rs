//! Images of versions 1 to 3, in both byte orders, made here from what is known of the format, read
//! back as what they were made of; unsquashfs, which knows them too, agrees that they are such
//! images.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod make;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use make::{GROUPS, Kind, MADE, MODIFIED, NO_GROUP, Node, USERS, What};
use sinterfs_block::MemorySource;
use sinterfs_model::{Cursor, FileType, Image, Ino, Quiet};
use sinterfs_squashfs::check::check;
use sinterfs_squashfs::read::{ReadOptions, Squashfs};
use sinterfs_testkit::noise;

fn node(name: &str, what: What) -> Node {
    Node {
        name: name.to_owned(),
        mode: 0o644,
        owner: (0, 0),
        what,
    }
}

/// All types, owners beyond the first sixteen, a directory of several metadata blocks, content that
/// does not compress, a hole, tails.
fn sample() -> Node {
    let text: Vec<u8> = b"some text that repeats, "
        .iter()
        .copied()
        .cycle()
        .take(100_001)
        .collect();
    let mut holes = text[..make::BLOCK].to_vec();
    holes.resize(3 * make::BLOCK, 0);
    holes.extend(noise(3, make::BLOCK));
    holes.extend(b"the tail");
    let many = (0..1500)
        .map(|number| {
            let content = format!("{number}\n").into_bytes();
            node(&format!("file-{number:05}"), What::File(content))
        })
        .collect();
    let deep = vec![node("inner", What::File(noise(1, 50_000)))];
    let mut children = vec![
        node("device", What::CharDevice(0x103)),
        node("empty", What::Directory(Vec::new())),
        node("file", What::File(b"a few bytes".to_vec())),
        node("holes", What::File(holes)),
        node("many", What::Directory(many)),
        node("nothing", What::File(Vec::new())),
        node("pipe", What::Fifo),
        node(
            "sub",
            What::Directory(vec![node("deep", What::Directory(deep))]),
        ),
        node("symlink", What::Symlink("sub/deep/inner")),
        node("text", What::File(text)),
    ];
    children[2].owner = (17, 1);
    children[2].mode = 0o4751;
    children[6].owner = (19, NO_GROUP);
    children[9].owner = (3, NO_GROUP);
    Node {
        mode: 0o755,
        ..node("", What::Directory(children))
    }
}

fn kinds() -> impl Iterator<Item = Kind> {
    let orders = |major| {
        [false, true].map(|big| Kind {
            major,
            big,
            raw: major == 3 && big,
        })
    };
    (1..=3).flat_map(orders)
}

fn open(bytes: Vec<u8>) -> Squashfs {
    Squashfs::open(Arc::new(MemorySource(bytes)), &ReadOptions::default()).unwrap()
}

fn children(image: &Squashfs, dir: Ino) -> BTreeMap<String, Ino> {
    let mut found = BTreeMap::new();
    image
        .read_dir(dir, Cursor::START, &mut |entry| {
            let name = String::from_utf8(entry.name.to_vec()).unwrap();
            assert_eq!(image.inode(entry.ino).unwrap().kind, entry.kind);
            found.insert(name, entry.ino);
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

fn owner(node: &Node) -> (u64, u64) {
    let (user, group) = node.owner;
    let user = USERS[user as usize];
    (user, GROUPS.get(group as usize).copied().unwrap_or(user))
}

fn compare(image: &Squashfs, kind: Kind, ino: Ino, above: Ino, node: &Node) {
    let inode = image.inode(ino).unwrap();
    let name = &node.name;
    assert_eq!(u64::from(inode.meta.mode), node.mode, "{kind:?} {name}");
    let ids = (u64::from(inode.meta.uid), u64::from(inode.meta.gid));
    assert_eq!(ids, owner(node), "{kind:?} {name}");
    let has_time = kind.major == 3 || matches!(node.what, What::File(_) | What::Directory(_));
    let time = if has_time { MODIFIED } else { MADE };
    assert_eq!(inode.meta.times.modified.secs as u64, time);
    match &node.what {
        What::Directory(expected) => {
            let subdirectories = expected
                .iter()
                .filter(|child| matches!(child.what, What::Directory(_)));
            assert_eq!(inode.nlink as usize, 2 + subdirectories.count());
            assert_eq!(image.parent(ino).unwrap(), above);
            let found = children(image, ino);
            assert_eq!(found.len(), expected.len());
            for child in expected {
                let named = image.lookup(ino, child.name.as_bytes()).unwrap();
                assert_eq!(named, found.get(&child.name).copied(), "{}", child.name);
                compare(image, kind, named.unwrap(), ino, child);
            }
            for missing in ["a", "file-", "file-00700x", "zzz"] {
                assert_eq!(image.lookup(ino, missing.as_bytes()).unwrap(), None);
            }
        }
        What::File(content) => {
            assert_eq!(inode.size, content.len() as u64);
            let mut found = vec![1; content.len() + 10];
            let len = image.read_at(ino, 0, &mut found).unwrap();
            assert!(found[..len] == content[..], "{kind:?} {name}");
            let from = content.len() / 3;
            let len = image.read_at(ino, from as u64, &mut found).unwrap();
            assert!(found[..len] == content[from..], "{kind:?} {name}");
        }
        What::Symlink(target) => {
            assert_eq!(image.read_link(ino).unwrap(), target.as_bytes());
        }
        What::CharDevice(_) => {
            assert_eq!(inode.kind, FileType::CharDevice);
            assert_eq!((inode.rdev.major, inode.rdev.minor), (1, 3));
        }
        What::Fifo => assert_eq!(inode.kind, FileType::Fifo),
    }
}

#[test]
fn every_old_version_is_read() {
    let sample = sample();
    for kind in kinds() {
        let bytes = make::image(kind, &sample);
        let image = open(bytes.clone());
        let minor = u32::from(kind.major == 3);
        assert_eq!(image.info().version, format!("{}.{minor}", kind.major));
        let root = image.info().root;
        compare(&image, kind, root, root, &sample);
        sinterfs_squashfs::dump::dump(&image, &mut std::io::sink()).unwrap();
        let source = Arc::new(MemorySource(bytes));
        let report = check(source, &ReadOptions::default(), true, &Quiet).unwrap();
        assert!(report.findings.is_sound(), "{kind:?} {:?}", report.findings);
        assert_eq!(report.inodes, image.info().totals.inodes);
    }
}

#[test]
fn images_behind_other_content_are_found() {
    // the magic crosses the border of two searched windows
    const START: usize = (1 << 18) - 2;
    let sample = sample();
    for kind in kinds() {
        let image = make::image(kind, &sample);
        let mut file = vec![0x7f; START];
        // a magic alone, and a superblock whose tables are somewhere else
        file[5..9].copy_from_slice(b"hsqs");
        file[1000..1119].copy_from_slice(&image[..119]);
        file.extend(&image);
        let opened = open(file);
        assert_eq!(opened.offset(), START as u64, "{kind:?}");
        assert_eq!(children(&opened, opened.info().root).len(), 10);
    }
}

#[test]
fn unsquashfs_reads_these_images_alike() {
    let tool = std::env::var_os("SINTER_PEER_SQUASHFS").map_or("unsquashfs".into(), |dir| {
        Path::new(&dir).join("unsquashfs")
    });
    if Command::new(&tool).arg("-version").output().is_err() {
        return sinterfs_testkit::skip("no unsquashfs (squashfs-tools)");
    }
    if !rustix::process::geteuid().is_root() {
        return sinterfs_testkit::skip("needs root to make devices");
    }
    let sample = sample();
    for kind in kinds() {
        let dir = tempfile::tempdir().unwrap();
        let (file, to) = (dir.path().join("image"), dir.path().join("tree"));
        std::fs::write(&file, make::image(kind, &sample)).unwrap();
        let output = Command::new(&tool)
            .args(["-no-progress", "-quiet", "-dest"])
            .args([&to, &file])
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{kind:?}: {told}");
        compare_tree(kind, &to, &sample);
    }
}

fn compare_tree(kind: Kind, path: &Path, node: &Node) {
    let found = std::fs::symlink_metadata(path).unwrap();
    let ids = (u64::from(found.uid()), u64::from(found.gid()));
    assert_eq!(ids, owner(node), "{kind:?} {}", path.display());
    if !matches!(node.what, What::Symlink(_)) {
        let mode = u64::from(found.mode() & 0o7777);
        assert_eq!(mode, node.mode, "{kind:?} {}", path.display());
    }
    match &node.what {
        What::Directory(children) => {
            assert_eq!(std::fs::read_dir(path).unwrap().count(), children.len());
            for child in children {
                compare_tree(kind, &path.join(&child.name), child);
            }
        }
        What::File(content) => {
            let found = std::fs::read(path).unwrap();
            assert!(found == *content, "{kind:?} {}", path.display());
        }
        What::Symlink(target) => {
            assert_eq!(std::fs::read_link(path).unwrap(), Path::new(target));
        }
        What::CharDevice(rdev) => {
            assert!(found.file_type().is_char_device());
            assert_eq!(found.rdev(), *rdev);
        }
        What::Fifo => assert!(found.file_type().is_fifo()),
    }
}
