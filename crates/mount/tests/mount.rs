//! Mounts images from memory for real and compares what the kernel shows. Needs root and FUSE.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use model::{Cursor, FileType, Image, Ino, Kind, Rdev};
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use sinterfs_mount::{MountOptions, Session, Trace, mount, umount};
use testkit::{Builder, MemImage, Piece, meta, noise, sample, skip};

/// What a test works with; the mount ends before its directory.
struct Mounted {
    session: Session,
    image: Arc<MemImage>,
    dir: tempfile::TempDir,
}

impl Mounted {
    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }
}

fn possible() -> bool {
    let root = rustix::process::geteuid().is_root();
    let fuse = File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .is_ok();
    if !root || !fuse {
        skip("mounting needs root and /dev/fuse");
    }
    root && fuse
}

fn mounted_with(image: MemImage, options: &MountOptions) -> Option<Mounted> {
    if !possible() {
        return None;
    }
    let image = Arc::new(image);
    let dir = tempfile::tempdir().unwrap();
    let session = mount(Arc::clone(&image) as Arc<dyn Image>, dir.path(), options).unwrap();
    Some(Mounted {
        session,
        image,
        dir,
    })
}

fn mounted(image: MemImage) -> Option<Mounted> {
    mounted_with(image, &MountOptions::default())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap()
}

fn content(image: &dyn Image, ino: Ino) -> Vec<u8> {
    let mut data = vec![0; image.inode(ino).unwrap().size as usize];
    assert_eq!(image.read_at(ino, 0, &mut data).unwrap(), data.len());
    data
}

/// Compares a directory of the mount with one of the image, and what is below it; counts names.
fn compare(image: &dyn Image, dir: Ino, path: &Path) -> usize {
    let mut expected = Vec::new();
    image
        .read_dir(dir, Cursor::START, &mut |dirent| {
            expected.push((OsStr::from_bytes(dirent.name).to_owned(), dirent.ino));
            ControlFlow::Continue(())
        })
        .unwrap();
    let mut found: Vec<_> = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    found.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    assert_eq!(
        found,
        expected
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>()
    );
    let mut count = expected.len();
    for (name, ino) in expected {
        compare_inode(image, ino, &path.join(&name));
        if image.inode(ino).unwrap().kind == FileType::Directory {
            count += compare(image, ino, &path.join(&name));
        }
    }
    count
}

fn compare_inode(image: &dyn Image, ino: Ino, path: &Path) {
    let inode = image.inode(ino).unwrap();
    let stat = fs::symlink_metadata(path).unwrap();
    let what = path.display();
    assert_eq!(
        stat.mode(),
        inode.kind.bits() | u32::from(inode.meta.mode),
        "{what}"
    );
    assert_eq!(
        (stat.uid(), stat.gid()),
        (inode.meta.uid, inode.meta.gid),
        "{what}"
    );
    assert_eq!(
        (stat.size(), stat.nlink()),
        (inode.size, u64::from(inode.nlink)),
        "{what}"
    );
    assert_eq!(stat.blocks(), inode.allocated.div_ceil(512), "{what}");
    let times = inode.meta.times;
    for (found, expected) in [
        ((stat.mtime(), stat.mtime_nsec()), times.modified),
        ((stat.atime(), stat.atime_nsec()), times.accessed),
        ((stat.ctime(), stat.ctime_nsec()), times.changed),
    ] {
        assert_eq!(
            found,
            (expected.secs, i64::from(expected.nanos)),
            "times of {what}"
        );
    }
    match inode.kind {
        FileType::File => assert!(fs::read(path).unwrap() == content(image, ino), "{what}"),
        FileType::Symlink => {
            let target = fs::read_link(path).unwrap().into_os_string().into_vec();
            assert_eq!(target, image.read_link(ino).unwrap(), "{what}");
        }
        FileType::CharDevice | FileType::BlockDevice => {
            assert_eq!(stat.rdev(), inode.rdev.to_dev_t(), "{what}");
        }
        FileType::Fifo => assert!(stat.file_type().is_fifo()),
        FileType::Socket => assert!(stat.file_type().is_socket()),
        FileType::Directory => {}
    }
}

#[test]
fn everything_is_seen_through_the_kernel() {
    for mask in [0, 1, 5] {
        for threads in [1, 4] {
            let options = MountOptions {
                threads,
                ..Default::default()
            };
            let Some(mut mounted) = mounted_with(sample(mask), &options) else {
                return;
            };
            let count = compare(&*mounted.image, mounted.image.info().root, mounted.root());
            assert_eq!(count, 43);
            compare_inode(&*mounted.image, mounted.image.info().root, mounted.root());
            let hard = |path| fs::metadata(mounted.path(path)).unwrap().ino();
            assert_eq!(hard("docs/big"), hard("zz-big"));
            assert_eq!(fs::metadata(mounted.root()).unwrap().ino(), 1);
            mounted.session.unmount().unwrap();
            assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
        }
    }
}

#[test]
fn nothing_can_be_written() {
    let Some(mounted) = mounted(sample(0)) else {
        return;
    };
    let errors = [
        fs::write(mounted.path("new"), "x").unwrap_err(),
        fs::write(mounted.path("docs/small"), "x").unwrap_err(),
        fs::remove_file(mounted.path("docs/small")).unwrap_err(),
        fs::create_dir(mounted.path("dir")).unwrap_err(),
        fs::rename(mounted.path("link"), mounted.path("link2")).unwrap_err(),
        fs::set_permissions(
            mounted.root(),
            fs::metadata(mounted.root()).unwrap().permissions(),
        )
        .unwrap_err(),
    ];
    for error in errors {
        assert_eq!(errno(&error), Errno::ROFS);
    }
}

#[test]
fn holes_are_found() {
    let Some(mounted) = mounted(sample(0)) else {
        return;
    };
    let holes = |path: &str| {
        let file = File::open(mounted.path(path)).unwrap();
        let mut found = Vec::new();
        let mut at = 0;
        loop {
            let data = match rustix::fs::seek(&file, SeekFrom::Data(at)) {
                Ok(data) => data,
                Err(Errno::NXIO) => return found,
                Err(errno) => panic!("{errno}"),
            };
            at = rustix::fs::seek(&file, SeekFrom::Hole(data)).unwrap();
            found.push((data, at));
        }
    };
    let (first, second) = (65_536, 65_536 + (1 << 20));
    let third = second + 5000 + 60_536;
    assert_eq!(
        holes("docs/sparse"),
        [(0, first), (second, second + 5000), (third, third + 1)]
    );
    assert_eq!(holes("docs/sparse-start"), [(1 << 20, (1 << 20) + 9)]);
    assert_eq!(holes("docs/hole-only"), []);
    assert_eq!(holes("docs/empty"), []);
    assert_eq!(holes("docs/big"), [(0, 3_000_001)]);
    let file = File::open(mounted.path("docs/small")).unwrap();
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Hole(6)), Err(Errno::NXIO));
    assert_eq!(rustix::fs::seek(&file, SeekFrom::End(-2)), Ok(4));
}

#[test]
fn large_directories_are_listed_once_each() {
    const COUNT: usize = 20_000;
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let dir = b.dir(Builder::ROOT, b"large", meta(0o755, 0, 0));
    let mut expected = BTreeSet::from([".".to_owned(), "..".to_owned()]);
    for number in 0..COUNT {
        let name = format!("{number}-{}", "n".repeat(number % 200));
        b.special(
            dir,
            name.as_bytes(),
            meta(0o600, 0, 0),
            FileType::Fifo,
            Rdev::default(),
        );
        expected.insert(name);
    }
    let Some(mounted) = mounted(b.finish(9)) else {
        return;
    };
    for size in [300, 4096, 1 << 20] {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let fd = rustix::fs::open(mounted.path("large"), flags, Mode::empty()).unwrap();
        let mut space = Vec::with_capacity(size);
        let mut entries = rustix::fs::RawDir::new(&fd, space.spare_capacity_mut());
        let mut found = Vec::new();
        while let Some(entry) = entries.next() {
            let entry = entry.unwrap();
            found.push(entry.file_name().to_str().unwrap().to_owned());
        }
        assert_eq!(found.len(), COUNT + 2, "buffers of {size}");
        assert_eq!(
            found.into_iter().collect::<BTreeSet<_>>(),
            expected,
            "buffers of {size}"
        );
    }
    // A position can be gone back to.
    let listed = |skip: usize| {
        let entries = fs::read_dir(mounted.path("large")).unwrap().skip(skip);
        entries
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(COUNT - 5), listed(0)[COUNT - 5..]);
    let up = fs::metadata(mounted.path("large/..")).unwrap().ino();
    assert_eq!(up, 1);
}

#[test]
fn damage_costs_only_its_pages() {
    let mut b = Builder::new(meta(0o755, 0, 0), 64 << 10);
    let data = noise(1, 1 << 20);
    let file = b.file(
        Builder::ROOT,
        b"f",
        meta(0o644, 0, 0),
        &[Piece::Data(data.clone())],
    );
    let image = b.finish(0);
    // The eleventh block of sixteen.
    image.damage(image.ino(file), 10 * (64 << 10) + 5);
    let Some(mounted) = mounted(image) else {
        return;
    };
    let (bad, after) = (10 * (64 << 10), 11 * (64 << 10));
    for direct in [false, true] {
        let flags = if direct {
            OFlags::DIRECT.bits() as i32
        } else {
            0
        };
        let mut file = File::options()
            .read(true)
            .custom_flags(flags)
            .open(mounted.path("f"))
            .unwrap();
        let mut front = Vec::new();
        let error = file.read_to_end(&mut front).unwrap_err();
        assert_eq!(errno(&error), Errno::IO);
        assert!(
            front == data[..bad],
            "{} bytes before the damage",
            front.len()
        );
        let mut rest = vec![0; data.len() - after];
        file.read_exact_at(&mut rest, after as u64).unwrap();
        assert!(rest == data[after..]);
        assert_eq!(file.metadata().unwrap().len(), data.len() as u64);
        let error = file.read_at(&mut [0; 4096], bad as u64 + 4096).unwrap_err();
        assert_eq!(errno(&error), Errno::IO);
    }
}

#[test]
fn totals_are_told() {
    let Some(mounted) = mounted(sample(0)) else {
        return;
    };
    let totals = mounted.image.info().totals;
    let stat = rustix::fs::statvfs(mounted.root()).unwrap();
    assert_eq!(stat.f_blocks, totals.bytes.unwrap().div_ceil(stat.f_frsize));
    assert_eq!((stat.f_bfree, stat.f_bavail, stat.f_ffree), (0, 0, 0));
    assert_eq!((stat.f_files, stat.f_namemax), (totals.inodes, 255));
}

#[test]
fn the_kernel_remembers() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let trace = Trace(Arc::new(move |line: &str| {
        sink.lock().unwrap().push(line.to_owned());
    }));
    let options = MountOptions {
        trace: Some(trace),
        ..Default::default()
    };
    let Some(mounted) = mounted_with(sample(0), &options) else {
        return;
    };
    for _ in 0..50 {
        let missing = fs::metadata(mounted.path("docs/missing")).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
        let inside = fs::metadata(mounted.path("docs/small/x")).unwrap_err();
        assert_eq!(errno(&inside), Errno::NOTDIR);
        assert_eq!(
            fs::read_link(mounted.path("link")).unwrap(),
            Path::new("docs/small")
        );
        assert_eq!(fs::read(mounted.path("docs/small")).unwrap(), b"hello\n");
        fs::metadata(mounted.path("docs/small")).unwrap();
        assert_eq!(fs::read_dir(mounted.path("docs/deep")).unwrap().count(), 4);
        let mut value = [0; 10];
        let attribute = rustix::fs::getxattr(mounted.path("docs"), "user.x", &mut value);
        assert_eq!(attribute, Err(Errno::OPNOTSUPP));
    }
    let lines = lines.lock().unwrap();
    let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
    // Once each, were it not for a machine so short of memory that the kernel forgets again.
    for what in [
        r#""missing""#,
        "open ",
        "opendir ",
        "readlink ",
        "getxattr ",
        "read ",
    ] {
        assert!((1..=5).contains(&count(what)), "{what}: {lines:#?}");
    }
}

#[test]
fn attributes_are_shown() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let file = b.file(Builder::ROOT, b"f", meta(0o644, 0, 0), &[]);
    b.xattr(file, b"user.a", b"1\x002");
    b.xattr(file, b"user.empty", b"");
    b.file(Builder::ROOT, b"g", meta(0o644, 0, 0), &[]);
    let Some(mounted) = mounted(b.finish(0)) else {
        return;
    };
    let (f, g) = (mounted.path("f"), mounted.path("g"));
    let mut space = [0; 100];
    let len = rustix::fs::listxattr(&f, &mut space).unwrap();
    assert_eq!(&space[..len], b"user.a\0user.empty\0");
    assert_eq!(rustix::fs::listxattr_query(&f), Ok(len));
    assert_eq!(rustix::fs::listxattr(&f, &mut [0; 5]), Err(Errno::RANGE));
    assert_eq!(rustix::fs::listxattr(&g, &mut space), Ok(0));
    assert_eq!(rustix::fs::getxattr(&f, "user.a", &mut space), Ok(3));
    assert_eq!(&space[..3], b"1\x002");
    assert_eq!(rustix::fs::getxattr_query(&f, "user.a"), Ok(3));
    assert_eq!(
        rustix::fs::getxattr(&f, "user.a", &mut [0; 2]),
        Err(Errno::RANGE)
    );
    assert_eq!(rustix::fs::getxattr(&f, "user.empty", &mut space), Ok(0));
    assert_eq!(
        rustix::fs::getxattr(&f, "user.b", &mut space),
        Err(Errno::NODATA)
    );
    assert_eq!(
        rustix::fs::getxattr(&g, "user.a", &mut space),
        Err(Errno::NODATA)
    );
}

#[test]
fn many_threads_at_once() {
    let Some(mounted) = mounted(sample(2)) else {
        return;
    };
    let (image, root) = (&*mounted.image, mounted.root());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| compare(image, image.info().root, root));
        }
    });
}

#[test]
fn owners_and_permissions_can_be_replaced() {
    let options = MountOptions {
        uid: Some(11),
        gid: Some(12),
        umask: 0o027,
        ..Default::default()
    };
    let Some(mounted) = mounted_with(sample(0), &options) else {
        return;
    };
    let stat = fs::metadata(mounted.path("docs/deep/tool")).unwrap();
    assert_eq!((stat.uid(), stat.gid(), stat.mode()), (11, 12, 0o106_750));
}

#[test]
fn a_busy_mount_stays_until_it_is_free() {
    let Some(mut mounted) = mounted(sample(0)) else {
        return;
    };
    let file = File::open(mounted.path("docs/big")).unwrap();
    for error in [
        mounted.session.unmount().unwrap_err(),
        umount(mounted.root(), false).unwrap_err(),
    ] {
        assert_eq!(error.io_source().map(errno), Some(Errno::BUSY));
        assert!(error.to_string().contains("busy"), "{error}");
    }
    let mut byte = [0];
    file.read_exact_at(&mut byte, 2_999_999).unwrap();
    drop(file);
    mounted.session.unmount().unwrap();
    mounted.session.unmount().unwrap();
}

#[test]
fn others_can_unmount_even_lazily() {
    let Some(mut mounted) = mounted(sample(0)) else {
        return;
    };
    umount(mounted.root(), false).unwrap();
    mounted.session.wait().unwrap();
    let nothing = umount(mounted.root(), false).unwrap_err();
    assert_eq!(nothing.kind(), Kind::Invalid);
    assert_eq!(
        umount(Path::new("/proc"), false).unwrap_err().kind(),
        Kind::Invalid
    );
    assert_eq!(
        umount(&mounted.path("missing"), true).unwrap_err().kind(),
        Kind::Io
    );

    let Some(mut mounted) = self::mounted(sample(0)) else {
        return;
    };
    let file = File::open(mounted.path("docs/big")).unwrap();
    umount(mounted.root(), true).unwrap();
    assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
    file.read_exact_at(&mut [0], 2_999_999).unwrap();
    drop(file);
    mounted.session.wait().unwrap();
}

#[test]
fn mount_points_are_checked() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let try_at = |path: &Path| {
        let image: Arc<dyn Image> = Arc::new(sample(0));
        mount(image, path, &MountOptions::default())
    };
    let missing = try_at(&dir.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), Kind::NotFound);
    fs::write(dir.path().join("file"), "").unwrap();
    let file = try_at(&dir.path().join("file")).unwrap_err();
    assert_eq!(file.kind(), Kind::Invalid);
    let odd = dir.path().join("odd \\ name\n\u{e4}");
    fs::create_dir(&odd).unwrap();
    let mut session = try_at(&odd).unwrap();
    let twice = try_at(&odd).unwrap_err();
    assert_eq!(twice.io_source().map(errno), Some(Errno::BUSY));
    assert_eq!(fs::read(odd.join("docs/small")).unwrap(), b"hello\n");
    session.unmount().unwrap();
}

#[test]
fn the_helper_of_ordinary_users_works() {
    if !possible() {
        return;
    }
    if std::process::Command::new("fusermount3")
        .arg("-V")
        .output()
        .is_err()
    {
        return skip("fusermount3 is not installed");
    }
    let options = MountOptions {
        helper: true,
        fsname: "a,b\\c".into(),
        ..Default::default()
    };
    let Some(mut mounted) = mounted_with(sample(0), &options) else {
        return;
    };
    assert_eq!(fs::read(mounted.path("docs/small")).unwrap(), b"hello\n");
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = table
        .lines()
        .find(|line| line.contains(mounted.root().to_str().unwrap()))
        .unwrap();
    assert!(
        line.starts_with(r"a,b\134c ") && line.contains(" fuse.sinter "),
        "{line}"
    );
    mounted.session.unmount().unwrap();
}

/// An image whose reader has a bug: it panics for one file.
struct Buggy(MemImage, Ino);

impl Image for Buggy {
    fn info(&self) -> &model::ImageInfo {
        self.0.info()
    }
    fn inode(&self, ino: Ino) -> model::Result<model::Inode> {
        self.0.inode(ino)
    }
    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(model::Dirent<'_>) -> ControlFlow<()>,
    ) -> model::Result<()> {
        self.0.read_dir(dir, from, visit)
    }
    fn lookup(&self, dir: Ino, name: &[u8]) -> model::Result<Option<Ino>> {
        self.0.lookup(dir, name)
    }
    fn parent(&self, dir: Ino) -> model::Result<Ino> {
        self.0.parent(dir)
    }
    fn read_link(&self, ino: Ino) -> model::Result<Vec<u8>> {
        self.0.read_link(ino)
    }
    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(model::Extent) -> ControlFlow<()>,
    ) -> model::Result<()> {
        self.0.extents(ino, from, visit)
    }
    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> model::Result<usize> {
        assert_ne!(ino, self.1, "a bug that a test asked for");
        self.0.read_at(ino, offset, buf)
    }
}

#[test]
fn a_bug_costs_one_request_and_not_the_mount() {
    if !possible() {
        return;
    }
    let image = sample(0);
    let docs = image.lookup(image.info().root, b"docs").unwrap().unwrap();
    let bad = image.lookup(docs, b"read-only").unwrap().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = MountOptions {
        threads: 1,
        ..Default::default()
    };
    let mut session = mount(Arc::new(Buggy(image, bad)), dir.path(), &options).unwrap();
    for _ in 0..3 {
        let error = fs::read(dir.path().join("docs/read-only")).unwrap_err();
        assert_eq!(errno(&error), Errno::IO);
        assert_eq!(fs::read(dir.path().join("docs/small")).unwrap(), b"hello\n");
    }
    session.unmount().unwrap();
}

#[test]
fn the_observer_is_told_of_damage() {
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);
    impl model::Observer for Notes {
        fn expect(&self, _: model::Stage, _: model::Tally) {}
        fn advance(&self, _: model::Stage, _: model::Tally) {}
        fn warn(&self, warning: &model::Error) {
            self.0.lock().unwrap().push(warning.to_string());
        }
    }
    let image = sample(0);
    let docs = image.lookup(image.info().root, b"docs").unwrap().unwrap();
    let bad = image.lookup(docs, b"small").unwrap().unwrap();
    image.damage(bad, 0);
    let notes = Arc::new(Notes::default());
    let observer = Arc::clone(&notes) as Arc<dyn model::Observer>;
    let options = MountOptions {
        observer,
        ..Default::default()
    };
    let Some(mounted) = mounted_with(image, &options) else {
        return;
    };
    assert_eq!(
        errno(&fs::read(mounted.path("docs/small")).unwrap_err()),
        Errno::IO
    );
    let told = notes.0.lock().unwrap();
    let expected = format!("inode {}: corrupt image: block at", bad.0);
    assert!(
        told.iter().any(|text| text.starts_with(&expected)),
        "{told:?}"
    );
}
