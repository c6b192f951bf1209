//! Extended attributes on their way from each source into the tree.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{XattrFlags, lsetxattr};
use sinterfs_model::{NodeId, Quiet, Source, Tree, XattrSet, Xattrs};
use sinterfs_source::directory::Options;
use sinterfs_source::image::Damage;
use sinterfs_source::merge::{MergeInput, MergeOptions, WhiteoutMarks};
use sinterfs_source::{Directory, ImageSource, Merge};
use sinterfs_testkit::{Builder, meta};

/// Attributes of each name of a tree's root directory that has some, and of the root.
fn shown(tree: &Tree) -> Vec<(String, Xattrs)> {
    let pairs = |id: NodeId| -> Xattrs {
        let pairs = tree.xattrs().pairs(tree.node(id).xattrs);
        pairs
            .map(|(name, value)| (name.to_vec(), value.to_vec()))
            .collect()
    };
    let names = tree.children(NodeId::ROOT).iter();
    let names = names.map(|link| {
        let name = String::from_utf8_lossy(tree.bytes(link.name)).into_owned();
        (name, pairs(link.node))
    });
    let root = [(String::new(), pairs(NodeId::ROOT))];
    let all = root.into_iter().chain(names);
    all.filter(|(_, pairs)| !pairs.is_empty()).collect()
}

fn pair(name: &str, value: impl AsRef<[u8]>) -> (Vec<u8>, Vec<u8>) {
    (name.as_bytes().to_vec(), value.as_ref().to_vec())
}

fn set(path: impl AsRef<Path>, name: &str, value: &[u8]) -> bool {
    lsetxattr(path.as_ref(), name, value, XattrFlags::empty()).is_ok()
}

/// An ACL as the kernel takes and shows it: owner, user 1234, group, mask, others.
fn acl() -> Vec<u8> {
    let entries = [
        (1_u16, 6_u16, u32::MAX),
        (2, 4, 1234),
        (4, 4, u32::MAX),
        (0x10, 4, u32::MAX),
        (0x20, 0, u32::MAX),
    ];
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        acl.extend(tag.to_le_bytes());
        acl.extend(rights.to_le_bytes());
        acl.extend(id.to_le_bytes());
    }
    acl
}

#[test]
fn a_directory_shows_all_that_the_kernel_lists() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    for name in ["acl", "large", "many", "none", "same"] {
        fs::write(root.join(name), name).unwrap();
    }
    fs::create_dir(root.join("dir")).unwrap();
    std::os::unix::fs::symlink("none", root.join("link")).unwrap();
    let large = vec![7; 3000];
    if !set(root.join("large"), "user.large", &large) {
        return sinterfs_testkit::skip(
            "no user attributes of 3000 bytes on the file system for temporary files",
        );
    }
    if !set(root.join("link"), "trusted.link", b"t") {
        return sinterfs_testkit::skip("trusted attributes need root");
    }
    if !set(root.join("acl"), "system.posix_acl_access", &acl()) {
        return sinterfs_testkit::skip("no ACLs on the file system for temporary files");
    }
    assert!(set(root, "user.root", b""));
    assert!(set(root.join("dir"), "system.posix_acl_default", &acl()));
    assert!(set(root.join("dir"), "user.same", b"\0\xff"));
    assert!(set(root.join("same"), "user.same", b"\0\xff"));
    // more names than the first list takes
    let many: Xattrs = (0..100)
        .map(|n| pair(&format!("user.number.{n:03}"), [n]))
        .collect();
    for (name, value) in &many {
        let name = std::str::from_utf8(name).unwrap();
        if !set(root.join("many"), name, value) {
            return sinterfs_testkit::skip(
                "no hundred attributes on the file system for temporary files",
            );
        }
    }

    let observer = Warnings::default();
    let tree = Directory::open(root, Options::default())
        .unwrap()
        .scan(&observer)
        .unwrap();
    assert_eq!(observer.0.lock().unwrap().as_slice(), [""; 0]);
    let expected = [
        (String::new(), vec![pair("user.root", "")]),
        (
            "acl".to_owned(),
            vec![pair("system.posix_acl_access", acl())],
        ),
        (
            "dir".to_owned(),
            vec![
                pair("system.posix_acl_default", acl()),
                pair("user.same", b"\0\xff"),
            ],
        ),
        ("large".to_owned(), vec![pair("user.large", large)]),
        ("link".to_owned(), vec![pair("trusted.link", "t")]),
        ("many".to_owned(), many),
        ("same".to_owned(), vec![pair("user.same", b"\0\xff")]),
    ];
    assert_eq!(shown(&tree), expected);
    assert_eq!(tree.with_xattrs(), 7);
    assert_eq!(tree.xattrs().count(), 7);
}

#[test]
fn what_may_not_be_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    fs::write(root.join("secret"), "x").unwrap();
    if !set(root.join("secret"), "user.secret", b"value") {
        return sinterfs_testkit::skip("no user attributes on the file system for temporary files");
    }
    if !rustix::process::geteuid().is_root() {
        return sinterfs_testkit::skip("becoming somebody who may not read needs root");
    }
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(root.join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    let observer = Warnings::default();
    let options = Options {
        threads: 1,
        ..Options::default()
    };
    let unwanted = Options {
        no_xattrs: true,
        ..options.clone()
    };
    let source = Directory::open(root, options).unwrap();
    let tree = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let nobody = rustix::fs::Uid::from_raw(65534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            source.scan(&observer).unwrap()
        });
        other.join().unwrap()
    });
    let told = observer.0.lock().unwrap();
    let [one] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert!(
        one.contains("/secret: cannot read the extended attribute user.secret, left out"),
        "{one}"
    );
    assert_eq!(tree.with_xattrs(), 0);
    drop(told);
    // what is not wanted is not looked at
    observer.0.lock().unwrap().clear();
    let source = Directory::open(root, unwanted).unwrap();
    assert_eq!(source.scan(&observer).unwrap().with_xattrs(), 0);
    assert!(observer.0.lock().unwrap().is_empty());
}

#[test]
fn images_and_layers_keep_theirs() {
    let image = |value: &[u8], mask| {
        let mut b = Builder::new(meta(0o755, 1, 0), 4096);
        let file = b.file(Builder::ROOT, b"file", meta(0o644, 1, 0), &[]);
        let both = b.dir(Builder::ROOT, b"both", meta(0o755, 1, 0));
        let plain = b.file(
            Builder::ROOT,
            if mask == 0 { b"a" } else { b"b" },
            meta(0o644, 1, 0),
            &[],
        );
        b.link(Builder::ROOT, if mask == 0 { b"a2" } else { b"b2" }, plain);
        b.xattr(file, b"user.x", value);
        b.xattr(both, b"user.from", value);
        b.xattr(plain, b"user.same", b"same");
        if mask == 0 {
            b.xattr(both, b"user.only-below", b"");
            b.xattr(Builder::ROOT, b"user.root", value);
        }
        Arc::new(b.finish(mask))
    };
    let source = |image: &Arc<sinterfs_testkit::MemImage>| {
        ImageSource::new(
            Arc::clone(image) as Arc<dyn sinterfs_model::Image>,
            "the.image",
            Arc::new(Damage::default()),
        )
    };
    let (lower, upper) = (image(b"below", 0), image(b"above", 5));
    let tree = source(&lower).scan(&Quiet).unwrap();
    let name = |name: &str, pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| pair(name, value));
        (name.to_owned(), pairs.collect::<Xattrs>())
    };
    let expected = [
        name("", &[("user.root", "below")]),
        name("a", &[("user.same", "same")]),
        name("a2", &[("user.same", "same")]),
        name("both", &[("user.from", "below"), ("user.only-below", "")]),
        name("file", &[("user.x", "below")]),
    ];
    assert_eq!(shown(&tree), expected);
    assert_eq!(tree.with_xattrs(), 4);

    let part = |image, at: &str| MergeInput {
        source: Box::new(source(image)),
        at: at.into(),
        picks: Vec::new(),
        name: "part".to_owned(),
        marks: WhiteoutMarks::default(),
    };
    let merge = |parts| {
        Merge::new(parts, MergeOptions::default())
            .unwrap()
            .scan(&Quiet)
            .unwrap()
    };
    let tree = merge(vec![part(&lower, ""), part(&upper, "")]);
    let expected = [
        name("a", &[("user.same", "same")]),
        name("a2", &[("user.same", "same")]),
        name("b", &[("user.same", "same")]),
        name("b2", &[("user.same", "same")]),
        name("both", &[("user.from", "above")]),
        name("file", &[("user.x", "above")]),
    ];
    assert_eq!(shown(&tree), expected);
    // what equal sets cost is one set
    assert_eq!((tree.with_xattrs(), tree.xattrs().count()), (4, 3));
    // a directory that no source has has none, and the root is the one of a source that goes there
    let tree = merge(vec![part(&lower, ""), part(&upper, "made/up")]);
    assert_eq!(shown(&tree)[0], name("", &[("user.root", "below")]));
    let made = tree
        .children(NodeId::ROOT)
        .iter()
        .find(|link| tree.bytes(link.name) == b"made");
    assert_eq!(tree.node(made.unwrap().node).xattrs, XattrSet::NONE);
}

/// Keeps what is reported.
#[derive(Default)]
struct Warnings(std::sync::Mutex<Vec<String>>);

impl sinterfs_model::Observer for Warnings {
    fn expect(&self, _: sinterfs_model::Stage, _: sinterfs_model::Tally) {}
    fn advance(&self, _: sinterfs_model::Stage, _: sinterfs_model::Tally) {}
    fn warn(&self, warning: &sinterfs_model::Error) {
        self.0.lock().unwrap().push(warning.to_string());
    }
}
