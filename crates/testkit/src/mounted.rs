//! What every mount of an image has to show, by whichever way the kernel gets at it.
//!
//! In: a way of mounting. Out: panics where a mount shows something else than the image.
//! **Invariant:** nothing here knows how a mount is made.

use std::any::Any;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::ops::ControlFlow;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use sinterfs_model::{Cursor, FileType, Image, Ino, Rdev};

use crate::{Builder, MemImage, Piece, meta, noise, sample};

/// A way of mounting, and what it cannot show.
#[derive(Debug, Clone, Copy)]
pub struct Way {
    /// Mounts; what it returns unmounts when it is dropped.
    pub mount: fn(Arc<MemImage>, &Path) -> Box<dyn Any>,
    /// Whether it shows all times, the blocks that a file has and the length of directories as the
    /// image has it, and lets programs read past the page cache.
    pub exact: bool,
    /// The unit of holes and of bytes lost by damage.
    pub unit: u64,
}

/// The resources of a test; the mount is dropped before its directory.
struct TestMount {
    _mount: Box<dyn Any>,
    image: Arc<MemImage>,
    dir: Dir,
}

/// A temporary directory, removed on drop.
struct Dir(PathBuf);

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

impl Way {
    fn mounted(&self, image: MemImage) -> TestMount {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let image = Arc::new(image);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sinter-way-{}-{number}", std::process::id());
        let dir = Dir(std::env::temp_dir().join(name));
        fs::create_dir(&dir.0).unwrap();
        TestMount {
            _mount: (self.mount)(Arc::clone(&image), &dir.0),
            image,
            dir,
        }
    }
}

impl TestMount {
    fn root(&self) -> &Path {
        &self.dir.0
    }

    fn path(&self, path: &str) -> PathBuf {
        self.dir.0.join(path)
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap()
}

fn content(image: &dyn Image, ino: Ino) -> Vec<u8> {
    let mut data = vec![0; image.inode(ino).unwrap().size as usize];
    assert_eq!(image.read_at(ino, 0, &mut data).unwrap(), data.len());
    data
}

/// Compares a directory of the mount with one of the image, recursively; counts names.
fn compare(way: &Way, image: &dyn Image, dir: Ino, path: &Path) -> usize {
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
        compare_inode(way, image, ino, &path.join(&name));
        if image.inode(ino).unwrap().kind == FileType::Directory {
            count += compare(way, image, ino, &path.join(&name));
        }
    }
    count
}

fn compare_inode(way: &Way, image: &dyn Image, ino: Ino, path: &Path) {
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
    assert_eq!(stat.nlink(), u64::from(inode.nlink), "{what}");
    let is_dir = inode.kind == FileType::Directory;
    if way.exact || !is_dir {
        assert_eq!(stat.size(), inode.size, "{what}");
    }
    let blocks = if way.exact {
        inode.allocated
    } else {
        inode.size.next_multiple_of(4096)
    };
    if way.exact || inode.kind == FileType::File {
        assert_eq!(stat.blocks(), blocks.div_ceil(512), "{what}");
    }
    let times = inode.meta.times;
    let shown = |time| if way.exact { time } else { times.modified };
    for (found, expected) in [
        ((stat.mtime(), stat.mtime_nsec()), times.modified),
        ((stat.atime(), stat.atime_nsec()), shown(times.accessed)),
        ((stat.ctime(), stat.ctime_nsec()), shown(times.changed)),
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

/// Tries to write.
pub fn nothing_can_be_written(way: &Way) {
    let mounted = way.mounted(sample(0));
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

/// Compares where holes are found with where they are.
pub fn holes_are_found(way: &Way) {
    let mounted = way.mounted(sample(0));
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
    let wide = |size: u64, ranges: &[(u64, u64)]| {
        let range = |&(start, end): &(u64, u64)| {
            let end = end.next_multiple_of(way.unit).min(size);
            (start / way.unit * way.unit, end)
        };
        ranges.iter().map(range).collect::<Vec<_>>()
    };
    let (first, second) = (65_536, 65_536 + (1 << 20));
    let third = second + 5000 + 60_536;
    let ranges = [(0, first), (second, second + 5000), (third, third + 1)];
    assert_eq!(holes("docs/sparse"), wide(third + 10, &ranges));
    assert_eq!(holes("docs/sparse-start"), [(1 << 20, (1 << 20) + 9)]);
    assert_eq!(holes("docs/hole-only"), []);
    assert_eq!(holes("docs/empty"), []);
    assert_eq!(holes("docs/big"), [(0, 3_000_001)]);
    let file = File::open(mounted.path("docs/small")).unwrap();
    assert_eq!(rustix::fs::seek(&file, SeekFrom::Hole(6)), Err(Errno::NXIO));
    assert_eq!(rustix::fs::seek(&file, SeekFrom::End(-2)), Ok(4));
}

/// Lists a directory of 20,000 names, and from within it.
pub fn large_directories_are_listed_once_each(way: &Way) {
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
    let mounted = way.mounted(b.finish(9));
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
    // A position can be read again.
    let listed = |skip: usize| {
        let entries = fs::read_dir(mounted.path("large")).unwrap().skip(skip);
        entries
            .map(|entry| entry.unwrap().file_name())
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(COUNT - 5), listed(0)[COUNT - 5..]);
    let number = |path: &str| fs::metadata(mounted.path(path)).unwrap().ino();
    assert_eq!(number("large/.."), number(""));
}

/// Reads before, in and after damaged bytes.
pub fn damage_costs_only_its_pages(way: &Way) {
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
    let mounted = way.mounted(image);
    let (bad, after) = (10 * (64 << 10), 11 * (64 << 10));
    for direct in [false, true] {
        if direct && !way.exact {
            continue;
        }
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

/// Compares the result of statfs(2).
pub fn totals_are_told(way: &Way) {
    let mounted = way.mounted(sample(0));
    let totals = mounted.image.info().totals;
    let stat = rustix::fs::statvfs(mounted.root()).unwrap();
    assert_eq!(stat.f_blocks, totals.bytes.unwrap().div_ceil(stat.f_frsize));
    assert_eq!((stat.f_bfree, stat.f_bavail, stat.f_namemax), (0, 0, 255));
    assert_eq!(stat.f_files - stat.f_ffree, totals.inodes);
    if way.exact {
        assert_eq!(stat.f_ffree, 0);
    }
}

/// Reads extended attributes.
pub fn attributes_are_shown(way: &Way) {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let file = b.file(Builder::ROOT, b"f", meta(0o644, 0, 0), &[]);
    b.xattr(file, b"user.a", b"1\x002");
    b.xattr(file, b"user.empty", b"");
    b.file(Builder::ROOT, b"g", meta(0o644, 0, 0), &[]);
    let mounted = way.mounted(b.finish(0));
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

/// Compares everything from eight threads.
#[allow(clippy::disallowed_methods, reason = "a test fails without threads")]
pub fn many_threads_at_once(way: &Way) {
    let mounted = way.mounted(sample(2));
    let (image, root) = (&*mounted.image, mounted.root());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| compare(way, image, image.info().root, root));
        }
    });
}

/// Compares everything.
pub fn everything_is_seen(way: &Way) {
    for mask in [0, 1, 5] {
        let mounted = way.mounted(sample(mask));
        let (image, root) = (&*mounted.image, mounted.root());
        assert_eq!(compare(way, image, image.info().root, root), 43);
        compare_inode(way, image, image.info().root, root);
        let hard = |path| fs::metadata(mounted.path(path)).unwrap().ino();
        assert_eq!(hard("docs/big"), hard("zz-big"));
        assert_ne!(hard(""), 0);
    }
}
