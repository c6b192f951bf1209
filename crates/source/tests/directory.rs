//! Directories of the running system as a source.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::fs::{CWD, Mode, mknodat};
use sinterfs_model::{
    Content, Error, FileType, Kind, NodeId, Observer, Quiet, Source, Stage, Tally, Tree,
};
use sinterfs_source::directory::Options;
use sinterfs_source::{Definition, Directory, EditedSource, Edits, Exclude, Manifest, manifest};
use sinterfs_testkit::as_ordinary_user;

/// Remembers warnings.
#[derive(Debug, Default)]
struct Warnings(Mutex<Vec<String>>);

impl Observer for Warnings {
    fn expect(&self, _: Stage, _: Tally) {}

    fn advance(&self, _: Stage, _: Tally) {}

    fn warn(&self, warning: &Error) {
        self.0.lock().unwrap().push(warning.to_string());
    }
}

fn scan(path: &Path, options: Options) -> Tree {
    let observer = Warnings::default();
    let tree = Directory::open(path, options)
        .unwrap()
        .scan(&observer)
        .unwrap();
    assert_eq!(*observer.0.lock().unwrap(), [""; 0]);
    tree
}

/// Every name of a tree by path, with its node.
fn names(tree: &Tree) -> BTreeMap<String, NodeId> {
    let mut names = BTreeMap::from([(String::new(), NodeId::ROOT)]);
    let mut open = vec![(String::new(), NodeId::ROOT)];
    while let Some((path, dir)) = open.pop() {
        for link in tree.children(dir) {
            let name = String::from_utf8_lossy(tree.bytes(link.name)).into_owned();
            let path = if path.is_empty() {
                name
            } else {
                format!("{path}/{name}")
            };
            names.insert(path.clone(), link.node);
            open.push((path, link.node));
        }
    }
    names
}

fn write(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn every_type_comes_with_its_metadata() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root.join("sub/file"), "content");
    symlink("../nowhere", root.join("sub/link")).unwrap();
    mknodat(
        CWD,
        root.join("fifo"),
        rustix::fs::FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    let _socket = UnixListener::bind(root.join("socket")).unwrap();
    fs::set_permissions(root.join("sub"), fs::Permissions::from_mode(0o2751)).unwrap();
    fs::set_permissions(root, fs::Permissions::from_mode(0o1700)).unwrap();
    let tree = scan(root, Options::default());
    let names = names(&tree);
    assert_eq!(names.len(), 6);
    for (path, &node) in &names {
        let (node, meta) = (
            tree.node(node),
            fs::symlink_metadata(root.join(path)).unwrap(),
        );
        assert_eq!(
            Some(node.content.kind()),
            FileType::from_mode(meta.mode()),
            "{path}"
        );
        let found = node.meta;
        assert_eq!(u32::from(found.mode), meta.mode() & 0o7777, "{path}");
        assert_eq!((found.uid, found.gid), (meta.uid(), meta.gid()));
        let times = found.times;
        assert_eq!(
            (times.modified.secs, i64::from(times.modified.nanos)),
            (meta.mtime(), meta.mtime_nsec())
        );
        assert_eq!(
            (times.changed.secs, i64::from(times.changed.nanos)),
            (meta.ctime(), meta.ctime_nsec())
        );
    }
    assert_eq!(
        tree.node(names["sub/file"]).content,
        Content::File { size: 7 }
    );
    let Content::Symlink(target) = tree.node(names["sub/link"]).content else {
        panic!("a symlink")
    };
    assert_eq!(tree.bytes(target), b"../nowhere");
    assert_eq!(tree.node(NodeId::ROOT).meta.mode, 0o1700);
}

#[test]
fn the_root_may_be_a_symlink_but_no_file() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("real/file"), "x");
    symlink("real", dir.path().join("link")).unwrap();
    assert_eq!(
        scan(&dir.path().join("link"), Options::default())
            .stats()
            .files,
        1
    );
    let error = Directory::open(dir.path().join("real/file"), Options::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(
        error
            .to_string()
            .ends_with("real/file: the input is not a directory"),
        "{error}"
    );
    let error = Directory::open(dir.path().join("none"), Options::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
}

#[test]
fn symlinks_below_the_root_are_never_followed() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("outside/file"), "secret");
    write(dir.path().join("root/sub/file"), "public");
    write(dir.path().join("root/plain"), "public");
    let root = dir.path().join("root");
    let source = Directory::open(&root, Options::default()).unwrap();
    let tree = source.scan(&Quiet).unwrap();
    let names = names(&tree);
    fs::rename(root.join("sub"), root.join("old")).unwrap();
    symlink("../outside", root.join("sub")).unwrap();
    fs::remove_file(root.join("plain")).unwrap();
    symlink("../outside/file", root.join("plain")).unwrap();
    for path in ["sub/file", "plain"] {
        let error = source.open(&tree, names[path]).err().unwrap();
        assert!(error.to_string().contains(path), "{error}");
    }
    fs::remove_file(root.join("plain")).unwrap();
    mknodat(
        CWD,
        root.join("plain"),
        rustix::fs::FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    // does not hang for want of a writer
    assert_eq!(
        source.open(&tree, names["plain"]).err().unwrap().kind(),
        Kind::Invalid
    );
}

#[test]
fn excluded_entries_are_left_out_with_all_below() {
    let dir = tempfile::tempdir().unwrap();
    for path in [
        "a/x.o",
        "a/keep",
        "a/tmp/y",
        "tmp/z",
        "b/tmp",
        "b/cache/1",
        "cache/2",
    ] {
        write(dir.path().join(path), path);
    }
    let exclude = Exclude::new(["*.o", "tmp/", "/b/cache"]).unwrap();
    let tree = scan(
        dir.path(),
        Options {
            exclude,
            ..Options::default()
        },
    );
    let names: Vec<_> = names(&tree).into_keys().collect();
    assert_eq!(names, ["", "a", "a/keep", "b", "b/tmp", "cache", "cache/2"]);
}

#[test]
fn other_file_systems_stay_empty_if_asked() {
    let (dev, shm) = (Path::new("/dev"), Path::new("/dev/shm"));
    let device = |path| fs::metadata(path).map(|meta| meta.dev()).ok();
    let probe = tempfile::NamedTempFile::new_in(shm);
    let (Ok(probe), true) = (probe, device(dev) != device(shm)) else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "/dev/shm is no file system"
        );
        println!("SKIPPED: /dev/shm is no file system of its own");
        return;
    };
    let name = format!(
        "shm/{}",
        probe.path().file_name().unwrap().to_str().unwrap()
    );
    for one_file_system in [true, false] {
        let options = Options {
            one_file_system,
            ..Options::default()
        };
        // entries of /dev come and go
        let tree = Directory::open(dev, options).unwrap().scan(&Quiet).unwrap();
        let names = names(&tree);
        assert!(names.contains_key("shm"));
        assert_eq!(names.contains_key(&name), !one_file_system);
    }
}

#[test]
fn threads_do_not_change_the_tree() {
    let dir = tempfile::tempdir().unwrap();
    for index in 0..3000 {
        write(
            dir.path()
                .join(format!("{}/{}/{index}", index % 7, index % 31)),
            index.to_string(),
        );
    }
    for index in 0..100 {
        let from = dir
            .path()
            .join(format!("{}/{}/{index}", index % 7, index % 31));
        fs::hard_link(from, dir.path().join(format!("{}/link{index}", index % 5))).unwrap();
    }
    let dump = |threads| {
        let tree = scan(
            dir.path(),
            Options {
                threads,
                ..Options::default()
            },
        );
        let nodes: Vec<_> = tree
            .nodes()
            .iter()
            .map(|node| (node.content.kind(), node.links))
            .collect();
        (names(&tree), nodes)
    };
    let one = dump(1);
    for threads in [2, 8, 8, 8] {
        assert!(dump(threads) == one, "{threads} threads");
    }
}

#[test]
fn excluded_directories_are_not_opened_for_their_names() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("closed/x"), "x");
    write(dir.path().join("file"), "y");
    fs::hard_link(dir.path().join("file"), dir.path().join("closed.o")).unwrap();
    let mode = |path: &str, mode| {
        fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("closed", 0);
    let options = Options {
        exclude: Exclude::new(["closed*"]).unwrap(),
        keep_excluded_names: true,
        ..Options::default()
    };
    let tree = as_ordinary_user(|| scan(dir.path(), options));
    mode("closed", 0o700);
    let found = names(&tree);
    assert!(found.keys().eq(["", "closed", "closed.o", "file"]));
    assert_eq!(tree.node(found["file"]).links, 1);
}

#[test]
fn files_are_taken_out_of_a_directory_that_cannot_be_listed() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("file"), "content");
    write(dir.path().join("list"), "#mtree\n./file type=file\n");
    write(dir.path().join("tree/x"), "x");
    let mode = |path: &str, mode| {
        fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for (path, bits) in [
        ("", 0o711),
        ("tree", 0o755),
        ("file", 0o644),
        ("list", 0o644),
    ] {
        mode(path, bits);
    }
    let text = format!("added l {}", dir.path().join("file").display());
    let edits = Edits {
        pseudo: vec![Definition::parse(text.as_bytes()).unwrap()],
        ..Edits::default()
    };
    let names_of = |source: &dyn Source| {
        let tree = source.scan(&Quiet).unwrap();
        names(&tree).into_keys().collect::<Vec<_>>()
    };
    as_ordinary_user(|| {
        let list = manifest::Options::default();
        let list = Manifest::open(dir.path().join("list"), &list, Arc::default()).unwrap();
        assert_eq!(names_of(&list), ["", "file"]);
        let tree = Directory::open(dir.path().join("tree"), Options::default()).unwrap();
        assert_eq!(
            names_of(&EditedSource::new(&tree, &edits)),
            ["", "added", "x"]
        );
    });
}

#[test]
fn names_that_are_replaced_during_the_scan_come_once() {
    // on tmpfs a replaced name is listed again behind those that were there
    let shm = Path::new("/dev/shm");
    let dir = if shm.is_dir() {
        tempfile::tempdir_in(shm)
    } else {
        tempfile::tempdir()
    }
    .unwrap();
    let root = dir.path().join("root");
    for index in 0..3000 {
        write(root.join(format!("{index}")), "x");
    }
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for index in (0..3000).cycle() {
                if stop.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                write(dir.path().join("new"), "y");
                fs::rename(dir.path().join("new"), root.join(format!("{index}"))).unwrap();
            }
        });
        let trees: Vec<_> = (0..20)
            .map(|_| {
                Directory::open(&root, Options::default())
                    .unwrap()
                    .scan(&Quiet)
            })
            .collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for tree in trees {
            assert!(tree.unwrap().stats().files <= 3000);
        }
    });
}
