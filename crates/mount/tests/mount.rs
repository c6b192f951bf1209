//! Mounts images from memory for real and compares what the kernel shows. Needs root and FUSE.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;
use sinterfs_model::{Error, Image, Ino, Inode, Kind, Observer, Result, Stage, Tally};
use sinterfs_mount::{MountOptions, Session, Trace, mount, umount};
use sinterfs_testkit::mounted::{self, Way};
use sinterfs_testkit::{MemImage, sample, skip};

/// What a test works with; the mount ends before its directory.
struct Mounted {
    session: Session,
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
    let dir = tempfile::tempdir().unwrap();
    let session = mount(Arc::new(image), dir.path(), options).unwrap();
    Some(Mounted { session, dir })
}

fn mounted(image: MemImage) -> Option<Mounted> {
    mounted_with(image, &MountOptions::default())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap()
}

const FUSE: Way = Way {
    mount: |image, dir| Box::new(mount(image, dir, &MountOptions::default()).unwrap()),
    exact: true,
    unit: 1,
};

const ONE_THREAD: Way = Way {
    mount: |image, dir| {
        let options = MountOptions {
            threads: 1,
            ..Default::default()
        };
        Box::new(mount(image, dir, &options).unwrap())
    },
    ..FUSE
};

#[test]
fn mounts_match_their_images() {
    if !possible() {
        return;
    }
    for way in [FUSE, ONE_THREAD] {
        mounted::everything_is_seen(&way);
        mounted::many_threads_at_once(&way);
    }
    mounted::nothing_can_be_written(&FUSE);
    mounted::holes_are_found(&FUSE);
    mounted::large_directories_are_listed_once_each(&FUSE);
    mounted::damage_costs_only_its_pages(&FUSE);
    mounted::totals_are_told(&FUSE);
    mounted::attributes_are_shown(&FUSE);
}

#[test]
fn the_root_has_the_number_that_fuse_wants() {
    let Some(mut mounted) = mounted(sample(5)) else {
        return;
    };
    assert_eq!(fs::metadata(mounted.root()).unwrap().ino(), 1);
    mounted.session.unmount().unwrap();
    assert_eq!(fs::read_dir(mounted.root()).unwrap().count(), 0);
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
    sinterfs_model::delegate_image!(0: info, inode, read_dir, lookup, parent, read_link, extents);

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
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
fn damage_reaches_the_observer() {
    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);
    impl Observer for Notes {
        fn expect(&self, _: Stage, _: Tally) {}
        fn advance(&self, _: Stage, _: Tally) {}
        fn warn(&self, warning: &Error) {
            self.0.lock().unwrap().push(warning.to_string());
        }
    }
    let image = sample(0);
    let docs = image.lookup(image.info().root, b"docs").unwrap().unwrap();
    let bad = image.lookup(docs, b"small").unwrap().unwrap();
    image.damage(bad, 0);
    let notes = Arc::new(Notes::default());
    let observer = Arc::clone(&notes) as Arc<dyn Observer>;
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

/// An image that names a root and does not have it.
struct Rootless(MemImage);

impl Image for Rootless {
    sinterfs_model::delegate_image!(
        0: info, read_dir, lookup, parent, read_link, extents, read_at
    );

    fn inode(&self, ino: Ino) -> Result<Inode> {
        if ino == self.info().root {
            Err(Error::not_found("the root"))
        } else {
            self.0.inode(ino)
        }
    }
}

#[test]
fn an_image_without_a_root_is_not_mounted() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let image = Arc::new(Rootless(sample(0)));
    let error = mount(image, dir.path(), &MountOptions::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!mounts.contains(dir.path().to_str().unwrap()));
}
