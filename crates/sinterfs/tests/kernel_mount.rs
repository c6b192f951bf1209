//! Mounts images from memory through the kernel's EROFS and compares what it shows. Needs root and
//! FUSE.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(clippy::print_stderr, reason = "a test that does not run says so")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use sinterfs::model::{Image, Ino, Meta};
use sinterfs::mount::{MountMethod, MountOptions, Mounted, Session, mount, umount};
use sinterfs::{Error, Kind, Result};
use sinterfs_testkit::mounted::{self, Way};
use sinterfs_testkit::{Builder, MemImage, Piece, meta, noise, sample, skip};

/// Returns whether this machine can: Linux from 5.4 on with EROFS, FUSE and, before 6.12, loop
/// devices.
fn possible() -> bool {
    let fuse = File::options().read(true).write(true).open("/dev/fuse");
    if !rustix::process::geteuid().is_root() || fuse.is_err() {
        skip("mounting needs root and /dev/fuse");
        return false;
    }
    let dir = tempfile::tempdir().unwrap();
    let tried = through(MountMethod::Kernel, sample(0), dir.path());
    match tried {
        Ok(_) => true,
        Err(error) if matches!(error.kind(), Kind::Unsupported | Kind::Io) => {
            // a failure in CI only where the kernel has what it takes
            let known = fs::read_to_string("/proc/filesystems").unwrap();
            if known.contains("erofs") {
                skip(&format!("the kernel can't: {error}"));
            } else {
                eprintln!("NOT RUN: the kernel has no EROFS: {error}");
            }
            false
        }
        Err(error) => panic!("{error}"),
    }
}

fn through(way: MountMethod, image: impl Image + 'static, dir: &Path) -> Result<Mounted> {
    let image: Arc<dyn Image> = Arc::new(image);
    mount(image, dir, &MountOptions::default(), way)
}

fn session(image: impl Image + 'static, dir: &Path) -> Session {
    through(MountMethod::Kernel, image, dir)
        .unwrap()
        .session
        .unwrap()
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap()
}

/// What the kernel reports of the mount at a path.
fn shown_at(dir: &Path) -> Option<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let point = format!(" {} ", dir.to_str().unwrap());
    let line = table.lines().rfind(|line| line.contains(&point))?;
    Some(line.split_once(" - ").unwrap().1.to_owned())
}

const KERNEL: Way = Way {
    mount: |image, dir| {
        let mounted = mount(
            image as Arc<dyn Image>,
            dir,
            &MountOptions::default(),
            MountMethod::Kernel,
        )
        .unwrap();
        assert!(shown_at(dir).unwrap().starts_with("erofs "));
        Box::new(mounted.session.unwrap())
    },
    exact: false,
    unit: 4096,
};

const LOOP: Way = Way {
    mount: |image, dir| {
        let options = MountOptions {
            loop_device: true,
            ..Default::default()
        };
        let mounted = mount(image as Arc<dyn Image>, dir, &options, MountMethod::Kernel).unwrap();
        assert!(shown_at(dir).unwrap().starts_with("erofs /dev/loop"));
        Box::new(mounted.session.unwrap())
    },
    ..KERNEL
};

#[test]
fn loop_devices_show_the_same() {
    let devices = fs::read_dir("/sys/block").unwrap();
    let is_loop = |name: std::ffi::OsString| name.to_string_lossy().starts_with("loop");
    let there = devices.flatten().any(|entry| is_loop(entry.file_name()));
    if !there
        || std::process::Command::new("losetup")
            .arg("-V")
            .output()
            .is_err()
    {
        eprintln!("NOT RUN: no loop devices, or no losetup");
        return;
    }
    if !possible() {
        return;
    }
    mounted::everything_is_seen(&LOOP);
    mounted::many_threads_at_once(&LOOP);
    mounted::holes_are_found(&LOOP);
    mounted::damage_costs_only_its_pages(&LOOP);
    let dir = tempfile::tempdir().unwrap();
    let options = MountOptions {
        loop_device: true,
        ..Default::default()
    };
    let image: Arc<dyn Image> = Arc::new(sample(0));
    let mut ours = mount(image, dir.path(), &options, MountMethod::Kernel).unwrap();
    let source = shown_at(dir.path()).unwrap();
    umount(dir.path(), false).unwrap();
    ours.session.as_mut().unwrap().wait().unwrap();
    let device = source.split_whitespace().nth(1).unwrap();
    let name = device.strip_prefix("/dev/").unwrap();
    let file = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file"));
    assert!(!file.unwrap_or_default().contains("sinter:"));
}

#[test]
fn mounts_show_what_images_have() {
    if !possible() {
        return;
    }
    mounted::everything_is_seen(&KERNEL);
    mounted::many_threads_at_once(&KERNEL);
    mounted::nothing_can_be_written(&KERNEL);
    mounted::holes_are_found(&KERNEL);
    mounted::large_directories_are_listed_once_each(&KERNEL);
    mounted::damage_costs_only_its_pages(&KERNEL);
    mounted::totals_are_told(&KERNEL);
    mounted::attributes_are_shown(&KERNEL);
}

#[test]
fn both_halves_end_together() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut ours = session(sample(0), dir.path());
    let source = shown_at(dir.path()).unwrap();
    assert!(source.contains("sinter:sinter"), "{source}");
    let twice = through(MountMethod::Kernel, sample(0), dir.path()).unwrap_err();
    assert_eq!(twice.io_source().map(errno), Some(Errno::BUSY), "{twice}");
    // busy
    let file = File::open(dir.path().join("docs/big")).unwrap();
    for error in [
        ours.unmount().unwrap_err(),
        umount(dir.path(), false).unwrap_err(),
    ] {
        assert_eq!(error.io_source().map(errno), Some(Errno::BUSY));
    }
    file.read_exact_at(&mut [0], 2_999_999).unwrap();
    drop(file);
    ours.unmount().unwrap();
    ours.unmount().unwrap();
    // by ours from elsewhere, by umount(8), lazily
    let mut ours = session(sample(0), dir.path());
    umount(dir.path(), false).unwrap();
    ours.wait().unwrap();
    assert_eq!(umount(dir.path(), false).unwrap_err().kind(), Kind::Invalid);
    let mut ours = session(sample(0), dir.path());
    let status = std::process::Command::new("umount")
        .arg(dir.path())
        .status();
    assert!(status.unwrap().success());
    ours.wait().unwrap();
    let mut ours = session(sample(0), dir.path());
    let file = File::open(dir.path().join("docs/big")).unwrap();
    umount(dir.path(), true).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    file.read_exact_at(&mut [0], 2_999_999).unwrap();
    drop(file);
    ours.wait().unwrap();
    // and dropped
    drop(session(sample(0), dir.path()));
    assert_eq!(shown_at(dir.path()), None);
}

#[test]
fn only_what_loses_nothing_is_chosen_unasked() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    // it has times of access
    let mounted = through(MountMethod::Auto, sample(0), dir.path()).unwrap();
    let why = mounted.fell_back.as_ref().unwrap().to_string();
    assert!(why.contains("access or inode change times"), "{why}");
    assert!(shown_at(dir.path()).unwrap().starts_with("fuse.sinter "));
    drop(mounted);
    let mounted = through(MountMethod::Kernel, sample(0), dir.path()).unwrap();
    assert_eq!(mounted.losses.len(), 1);
    drop(mounted);
    let plain = || Builder::new(Meta::default(), 4096).finish(0);
    let mounted = through(MountMethod::Auto, plain(), dir.path()).unwrap();
    assert!(mounted.fell_back.is_none() && mounted.losses.is_empty());
    assert!(shown_at(dir.path()).unwrap().starts_with("erofs "));
    drop(mounted);
    let mounted = through(MountMethod::Fuse, plain(), dir.path()).unwrap();
    assert!(mounted.fell_back.is_none());
    assert!(shown_at(dir.path()).unwrap().starts_with("fuse.sinter "));
}

#[test]
fn options_are_honoured() {
    if !possible() {
        return;
    }
    let options = MountOptions {
        uid: Some(11),
        gid: Some(12),
        umask: 0o027,
        exec: false,
        read_ahead: Some(516 << 10),
        fsname: "/some/where/an image\n.dwarfs".into(),
        ..Default::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let image: Arc<dyn Image> = Arc::new(sample(0));
    let _mounted = mount(image, dir.path(), &options, MountMethod::Kernel).unwrap();
    let stat = fs::metadata(dir.path().join("docs/deep/tool")).unwrap();
    assert_eq!((stat.uid(), stat.gid(), stat.mode()), (11, 12, 0o106_750));
    let shown = shown_at(dir.path()).unwrap();
    assert!(shown.contains(r"sinter:an\040image.dwarfs "), "{shown}");
    let table = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = table
        .lines()
        .find(|line| line.contains(dir.path().to_str().unwrap()));
    for option in ["ro", "nosuid", "nodev", "noexec"] {
        assert!(line.unwrap().contains(option), "{line:?}");
    }
    let mut ahead = fs::read_dir("/sys/class/bdi").unwrap();
    assert!(ahead.any(|entry| {
        let path = entry.unwrap().path().join("read_ahead_kb");
        fs::read(path).is_ok_and(|value| value == b"516\n")
    }));
}

#[test]
fn huge_sparse_files_are_no_larger_than_what_is_in_them() {
    if !possible() {
        return;
    }
    let part = |seed| Piece::Data(noise(seed, 5000));
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let gib = 1_u64 << 30;
    let pieces = [
        part(1),
        Piece::Hole(5 * gib),
        part(2),
        Piece::Hole(1 << 44),
        part(3),
    ];
    b.file(Builder::ROOT, b"five", meta(0o644, 0, 0), &pieces[..3]);
    b.file(Builder::ROOT, b"more", meta(0o644, 0, 0), &pieces);
    b.file(
        Builder::ROOT,
        b"none",
        meta(0o644, 0, 0),
        &[Piece::Hole(1 << 50)],
    );
    let dir = tempfile::tempdir().unwrap();
    let _ours = session(b.finish(0), dir.path());
    let open = |name: &str| File::open(dir.path().join(name)).unwrap();
    for name in ["five", "more"] {
        let file = open(name);
        let mut end = [0; 5000];
        file.read_exact_at(&mut end, 5 * gib + 5000).unwrap();
        assert_eq!(end[..], noise(2, 5000));
        file.read_exact_at(&mut end, 3 * gib).unwrap();
        assert_eq!(end, [0; 5000]);
        let hole = rustix::fs::seek(&file, SeekFrom::Hole(0)).unwrap();
        assert!((5000..1 << 30).contains(&hole), "{hole}");
        let data = rustix::fs::seek(&file, SeekFrom::Data(hole)).unwrap();
        assert!((4 * gib..=5 * gib + 5000).contains(&data), "{data}");
    }
    let mut last = Vec::new();
    let mut file = open("more");
    rustix::fs::seek(&file, SeekFrom::End(-5000)).unwrap();
    file.read_to_end(&mut last).unwrap();
    assert!(last == noise(3, 5000));
    let none = open("none");
    assert_eq!(none.metadata().unwrap().len(), 1 << 50);
    assert_eq!(rustix::fs::seek(&none, SeekFrom::Data(0)), Err(Errno::NXIO));
    none.read_exact_at(&mut [1; 100], (1 << 50) - 100).unwrap();
}

/// An image that is slow, and whose reader can have a bug.
struct Slow(MemImage, Duration);

impl Image for Slow {
    sinterfs::model::delegate_image!(0: info, inode, read_dir, lookup, parent, read_link, extents);

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        std::thread::sleep(self.1);
        let docs = self.0.lookup(self.0.info().root, b"docs")?;
        let bad = docs.map(|docs| self.0.lookup(docs, b"read-only"));
        if let Some(Ok(Some(bad))) = bad {
            assert_ne!(ino, bad, "a bug that a test asked for");
        }
        self.0.read_at(ino, offset, buf)
    }
}

#[test]
fn a_bug_costs_one_request_and_not_the_mount() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let _ours = session(Slow(sample(0), Duration::ZERO), dir.path());
    for _ in 0..3 {
        let error = fs::read(dir.path().join("docs/read-only")).unwrap_err();
        assert_eq!(errno(&error), Errno::IO);
        assert_eq!(fs::read(dir.path().join("docs/small")).unwrap(), b"hello\n");
    }
}

#[test]
fn unmounting_under_load_waits_for_nobody() {
    if !possible() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut ours = session(Slow(sample(0), Duration::from_millis(30)), dir.path());
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Ok(file) = File::open(dir.path().join("docs/big")) {
                    let mut all = Vec::new();
                    let _ = (&file).read_to_end(&mut all);
                    assert!(all.is_empty() || all == noise(1, 3_000_001));
                    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
                }
            });
        }
        std::thread::sleep(Duration::from_millis(200));
        let busy = umount(dir.path(), false);
        if let Err(error) = busy {
            assert_eq!(error.io_source().map(errno), Some(Errno::BUSY));
            umount(dir.path(), true).unwrap();
        }
    });
    ours.wait().unwrap();
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn damage_is_told_to_who_watches() {
    #[derive(Default)]
    struct Notes(std::sync::Mutex<Vec<String>>);
    impl sinterfs::Observer for Notes {
        fn expect(&self, _: sinterfs::model::Stage, _: sinterfs::model::Tally) {}
        fn advance(&self, _: sinterfs::model::Stage, _: sinterfs::model::Tally) {}
        fn warn(&self, warning: &Error) {
            self.0.lock().unwrap().push(warning.to_string());
        }
    }
    if !possible() {
        return;
    }
    let image = sample(0);
    let docs = image.lookup(image.info().root, b"docs").unwrap().unwrap();
    let bad = image.lookup(docs, b"small").unwrap().unwrap();
    image.damage(bad, 0);
    let notes = Arc::new(Notes::default());
    let options = MountOptions {
        observer: Arc::clone(&notes) as Arc<dyn sinterfs::Observer>,
        ..Default::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let image: Arc<dyn Image> = Arc::new(image);
    let _ours = mount(image, dir.path(), &options, MountMethod::Kernel).unwrap();
    let error = fs::read(dir.path().join("docs/small")).unwrap_err();
    assert_eq!(errno(&error), Errno::IO);
    let told = notes.0.lock().unwrap();
    let expected = format!("inode {}", bad.0);
    assert!(told.iter().any(|text| text.contains(&expected)), "{told:?}");
}
