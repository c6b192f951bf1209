//! Builds of directories of the running system.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use sinterfs_model::{ExtentSource, NodeId, Quiet, Source, Tree};
use sinterfs_pipeline::{Options as BuildOptions, build};
use sinterfs_source::Directory;
use sinterfs_source::directory::Options;
use sinterfs_testkit::{as_ordinary_user, noise};
use support::{Image, Memory, MemoryWriter, text};

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

fn scan(path: &Path, options: Options) -> Tree {
    let observer = Memory::default();
    let tree = Directory::open(path, options)
        .unwrap()
        .scan(&observer)
        .unwrap();
    assert_eq!(observer.warned(), [""; 0]);
    tree
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
