//! Directories of the running system as a source, and whole builds of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, mknodat, openat};
use sinterfs_model::{Content, ExtentSource, FileType, Kind, NodeId, Quiet, Source, Tree};
use sinterfs_pipeline::{Options as BuildOptions, build};
use sinterfs_source::directory::Options;
use sinterfs_source::{Definition, Directory, EditedSource, Edits, Exclude};
use sinterfs_source::{Manifest, manifest};
use sinterfs_testkit::noise;
use support::{Image, Memory, MemoryWriter, text};

fn scan(path: &Path, options: Options) -> Tree {
    let observer = Memory::default();
    let tree = Directory::open(path, options)
        .unwrap()
        .scan(&observer)
        .unwrap();
    assert_eq!(observer.warned(), [""; 0]);
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

fn pack(path: &Path, options: Options) -> (Image, sinterfs_pipeline::Report, Vec<String>) {
    let (writer, image) = MemoryWriter::new(64 << 10);
    let observer = Memory::default();
    let source = Directory::open(path, options).unwrap();
    let report = build(&source, writer, &BuildOptions::default(), &observer).unwrap();
    let image = std::mem::take(&mut *image.lock().unwrap());
    (image, report, observer.warned())
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
fn hard_links_are_one_node_also_across_directories() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    write(root.join("b/x"), "same inode");
    fs::create_dir(root.join("a")).unwrap();
    fs::hard_link(root.join("b/x"), root.join("a/y")).unwrap();
    fs::hard_link(root.join("b/x"), root.join("z")).unwrap();
    symlink("t", root.join("l1")).unwrap();
    rustix::fs::linkat(
        CWD,
        root.join("l1"),
        CWD,
        root.join("a/l2"),
        rustix::fs::AtFlags::empty(),
    )
    .unwrap();
    let tree = scan(root, Options::default());
    let names = names(&tree);
    assert_eq!((names["b/x"], names["z"]), (names["a/y"], names["a/y"]));
    assert_eq!(names["l1"], names["a/l2"]);
    assert_eq!(tree.node(names["z"]).links, 3);
    assert_eq!(tree.stats().hard_links, 3);
    let (image, report, _) = pack(root, Options::default());
    assert_eq!(image.stored(), 10);
    assert_eq!((report.tree.files, report.duplicates), (1, 0));
}

#[test]
fn trees_deeper_than_path_max_work() {
    let dir = tempfile::tempdir().unwrap();
    let mut at = openat(CWD, dir.path(), OFlags::PATH, Mode::empty()).unwrap();
    let name = "n".repeat(200);
    // deep enough that more directories wait than are kept open
    for _ in 0..400 {
        mkdirat(&at, "beside", Mode::RWXU).unwrap();
        mkdirat(&at, name.as_str(), Mode::RWXU).unwrap();
        at = openat(&at, name.as_str(), OFlags::PATH, Mode::empty()).unwrap();
    }
    let file = openat(&at, "deep", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
    rustix::io::write(&file, b"down here").unwrap();
    let (image, report, warned) = pack(dir.path(), Options::default());
    assert_eq!(warned, [""; 0]);
    assert_eq!((report.tree.directories, report.tree.files), (801, 1));
    let contents = image.contents();
    let (path, bytes) = contents.iter().next().unwrap();
    assert!(path.len() > 80_000 && path.ends_with("/deep"));
    assert_eq!(bytes, b"down here");
    // `remove_dir_all` of the temporary directory works relative to descriptors, too
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

/// Does something as an ordinary user; as root in a thread that has given its rights away (those it
/// starts inherit what it has left).
fn as_ordinary_user<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !rustix::process::geteuid().is_root() {
        return work();
    }
    let drop_rights = || {
        let nobody = 65_534;
        let (uid, gid) = (
            rustix::fs::Uid::from_raw(nobody),
            rustix::fs::Gid::from_raw(nobody),
        );
        rustix::thread::set_thread_groups(&[]).unwrap();
        rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
        rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
        work()
    };
    std::thread::scope(|scope| scope.spawn(drop_rights).join().unwrap())
}

#[test]
fn unreadable_parts_are_told_and_left_out() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("closed/x"), "x");
    write(dir.path().join("file"), "y");
    write(dir.path().join("open"), "z");
    let mode = |path: &str, mode| {
        fs::set_permissions(dir.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("", 0o755);
    mode("closed", 0);
    mode("file", 0);
    let (image, report, warned) = as_ordinary_user(|| pack(dir.path(), Options::default()));
    mode("closed", 0o700);
    assert_eq!((report.left_out, report.unreadable), (1, 1));
    assert_eq!(warned.len(), 2, "{warned:?}");
    assert!(
        warned[0].contains("/closed: cannot open the directory"),
        "{warned:?}"
    );
    assert!(warned[1].contains("/file: cannot open"), "{warned:?}");
    let contents = image.contents();
    assert_eq!(
        (&contents["file"][..], &contents["open"][..]),
        (&b""[..], &b"z"[..])
    );
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
fn a_file_removed_after_the_scan_is_stored_empty() {
    struct Removing<'a>(Directory, &'a Path);
    impl Source for Removing<'_> {
        fn scan(&self, observer: &dyn sinterfs_model::Observer) -> sinterfs_model::Result<Tree> {
            let tree = self.0.scan(observer)?;
            fs::remove_file(self.1.join("gone")).unwrap();
            fs::write(self.1.join("grown"), text(500, 1)).unwrap();
            Ok(tree)
        }
        fn open(
            &self,
            tree: &Tree,
            file: NodeId,
        ) -> sinterfs_model::Result<Box<dyn sinterfs_model::FileContent>> {
            self.0.open(tree, file)
        }
    }
    let dir = tempfile::tempdir().unwrap();
    write(dir.path().join("gone"), "x");
    write(dir.path().join("grown"), text(400, 1));
    let source = Removing(
        Directory::open(dir.path(), Options::default()).unwrap(),
        dir.path(),
    );
    let (writer, image) = MemoryWriter::new(1 << 20);
    let observer = Memory::default();
    let report = build(&source, writer, &BuildOptions::default(), &observer).unwrap();
    let contents = image.lock().unwrap().contents();
    assert_eq!(contents["gone"], b"");
    assert_eq!(contents["grown"], text(400, 1));
    assert_eq!((report.unreadable, report.changed), (1, 1));
    assert_eq!(observer.warned().len(), 2);
}

#[test]
fn holes_of_files_stay_holes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse");
    let file = fs::File::create(&path).unwrap();
    file.set_len(10 << 20).unwrap();
    file.write_all_at(&noise(1, 1 << 20), 3 << 20).unwrap();
    let (image, report, warned) = pack(dir.path(), Options::default());
    assert_eq!(warned, [""; 0]);
    assert!(image.contents()["sparse"] == fs::read(&path).unwrap());
    let source = Directory::open(dir.path(), Options::default()).unwrap();
    let tree = source.scan(&Quiet).unwrap();
    let extents = source
        .open(&tree, names(&tree)["sparse"])
        .unwrap()
        .extents()
        .unwrap();
    assert_eq!(
        extents.iter().map(|extent| extent.len).sum::<u64>(),
        10 << 20
    );
    if extents.len() == 1 {
        println!("SKIPPED: the file system of the temporary directory has no holes");
        return;
    }
    let holes: Vec<_> = extents
        .iter()
        .map(|extent| extent.source == ExtentSource::Hole)
        .collect();
    assert_eq!(holes, [true, false, true]);
    assert_eq!(
        image.files()["sparse"].1,
        [(false, 3 << 20), (true, 1 << 20), (false, 6 << 20)]
    );
    assert_eq!(report.hole_bytes, 9 << 20);
}

#[test]
fn a_real_tree_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let mut expected = BTreeMap::new();
    for index in 0..500u64 {
        let bytes = if index % 3 == 0 {
            noise(index % 50, (index * 37) as usize)
        } else {
            text((index * 91) as usize, index % 60)
        };
        let path = format!("{}/{index}.bin", index % 9);
        write(dir.path().join(&path), &bytes);
        expected.insert(path, bytes);
    }
    let large = [noise(1, 3_000_000), text(2_000_000, 2), noise(1, 3_000_000)].concat();
    write(dir.path().join("large"), &large);
    expected.insert("large".to_owned(), large);
    let (image, _, warned) = pack(dir.path(), Options::default());
    assert_eq!(warned, [""; 0]);
    assert!(image.contents() == expected);
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

/// A directory in which something happens after the scan.
struct Meddled<'a>(Directory, Box<dyn Fn() + Send + Sync + 'a>);

impl Source for Meddled<'_> {
    fn scan(&self, observer: &dyn sinterfs_model::Observer) -> sinterfs_model::Result<Tree> {
        let tree = self.0.scan(observer)?;
        (self.1)();
        Ok(tree)
    }

    fn open(
        &self,
        tree: &Tree,
        file: NodeId,
    ) -> sinterfs_model::Result<Box<dyn sinterfs_model::FileContent>> {
        self.0.open(tree, file)
    }

    fn may_change(&self, file: NodeId) -> bool {
        self.0.may_change(file)
    }
}

#[test]
fn an_empty_file_that_grows_after_the_scan_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["log", "still", "gone"] {
        write(dir.path().join(name), "");
    }
    write(dir.path().join("other"), "x");
    let source = Meddled(
        Directory::open(dir.path(), Options::default()).unwrap(),
        Box::new(|| {
            write(dir.path().join("log"), "line");
            fs::remove_file(dir.path().join("gone")).unwrap();
        }),
    );
    let (writer, image) = MemoryWriter::new(1 << 20);
    let observer = Memory::default();
    let report = build(&source, writer, &BuildOptions::default(), &observer).unwrap();
    assert_eq!(image.lock().unwrap().contents()["log"], b"");
    assert_eq!((report.unreadable, report.changed), (0, 1));
    let warned = observer.warned();
    assert!(warned.len() == 1 && warned[0].contains("log"), "{warned:?}");
}

/// Counts the visited files with content, and reads them.
struct Visitor(std::sync::atomic::AtomicU64);

impl sinterfs_pipeline::FileVisitor for Visitor {
    type State = ();

    fn start(&self) {}

    fn read(
        &self,
        (): &mut (),
        _: NodeId,
        content: &dyn sinterfs_model::FileContent,
    ) -> sinterfs_model::Result<()> {
        let mut bytes = vec![0; content.len()? as usize];
        content.read_at(0, &mut bytes)?;
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Ok(())
    }

    fn end(&self, (): ()) -> sinterfs_model::Result<()> {
        Ok(())
    }
}

#[test]
fn a_visit_goes_on_after_a_file_that_cannot_be_read() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "gone", "z"] {
        write(dir.path().join(name), name);
    }
    let gone = dir.path().join("gone");
    let source = Meddled(
        Directory::open(dir.path(), Options::default()).unwrap(),
        Box::new(|| fs::remove_file(&gone).unwrap()),
    );
    let observer = Memory::default();
    let tree = source.scan(&observer).unwrap();
    let visitor = Visitor(0.into());
    let counts = sinterfs_pipeline::for_each_file(&source, &tree, 2, &visitor, &observer);
    let counts = counts.unwrap();
    assert_eq!((counts.unreadable, counts.grown), (1, 0));
    assert_eq!(visitor.0.into_inner(), 2);
    let warned = observer.warned();
    assert!(
        warned.len() == 1 && warned[0].contains("gone"),
        "{warned:?}"
    );
}
