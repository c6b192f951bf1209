//! Mounts through the kernel by the whole program: whoever ends them, and however, nothing hangs
//! and nothing is left.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

mod support;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use sinterfs_testkit::noise;
use support::{Mounted, kernel_serves, run, scratch, try_run};

const FILES: usize = 40;
const LEN: usize = 1_000_003;

/// An image of files that do not compress.
fn image(work: &Path) -> PathBuf {
    let (tree, image) = (work.join("tree"), work.join("image.dwarfs"));
    fs::create_dir(&tree).unwrap();
    for number in 0..FILES {
        fs::write(tree.join(format!("f{number}")), noise(number as u64, LEN)).unwrap();
    }
    support::build("dwarfs", &tree, &image, &["-l1"]);
    image
}

/// Finds the process that serves a directory.
fn server(dir: &Path) -> Pid {
    let dir = dir.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let serves = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains("--report-ready") && words.split('\0').any(|word| word == dir)
    };
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Pid::from_raw(pids.into_iter().find(serves).unwrap()).unwrap()
}

fn ends(pid: Pid) {
    let begin = Instant::now();
    while test_kill_process(pid).is_ok() && !is_zombie(pid) {
        assert!(
            begin.elapsed() < Duration::from_secs(20),
            "the server goes on"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where nobody collects orphans a process that has ended keeps its number.
fn is_zombie(pid: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(')').next().unwrap().starts_with(" Z"))
}

fn is_free(dir: &Path) -> bool {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    !table.contains(dir.to_str().unwrap()) && fs::read_dir(dir).unwrap().next().is_none()
}

fn mount(image: &Path, dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    run([Path::new("mount"), Path::new("--kernel"), image, dir]);
}

#[test]
fn whoever_unmounts_the_server_ends() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (image, dir) = (image(work.path()), work.path().join("mnt"));
    for way in ["sinter", "umount", "lazy", "signal"] {
        mount(&image, &dir);
        let pid = server(&dir);
        assert!(fs::read(dir.join("f3")).unwrap() == noise(3, LEN));
        match way {
            "sinter" => drop(run([Path::new("umount"), &dir])),
            "lazy" => drop(run([Path::new("umount"), Path::new("--lazy"), &dir])),
            "umount" => assert!(Command::new("umount").arg(&dir).status().unwrap().success()),
            _ => kill_process(pid, Signal::TERM).unwrap(),
        }
        ends(pid);
        assert!(is_free(&dir), "{way}");
    }
}

/// Reads files again and again until one cannot be read, and counts those that could.
fn read_until_failure(dir: &Path, first: usize, count: &AtomicUsize) {
    for number in (0..FILES).cycle().skip(first) {
        let Ok(mut file) = File::open(dir.join(format!("f{number}"))) else {
            return;
        };
        let mut content = Vec::new();
        if file.read_to_end(&mut content).is_err() {
            return;
        }
        assert!(content == noise(number as u64, LEN), "f{number}");
        // so that it is read anew
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_killed_server_leaves_errors_and_nothing_to_clean_up() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (image, dir) = (image(work.path()), work.path().join("mnt"));
    mount(&image, &dir);
    let (pid, count) = (server(&dir), AtomicUsize::new(0));
    let held = File::open(dir.join("f0")).unwrap();
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (dir, count) = (&dir, &count);
            scope.spawn(move || read_until_failure(dir, first * 10, count));
        }
        while count.load(Ordering::Relaxed) < 50 {
            assert!(begin.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(5));
        }
        kill_process(pid, Signal::KILL).unwrap();
    });
    ends(pid);
    // an error each time, and at once
    let begin = Instant::now();
    rustix::fs::fadvise(&held, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    for _ in 0..3 {
        assert!(held.read_at(&mut [0; 4096], 500_000).is_err());
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
    // busy as ever while a file is open, free afterwards
    assert!(!try_run([Path::new("umount"), &dir]).status.success());
    drop(held);
    run([Path::new("umount"), &dir]);
    assert!(is_free(&dir));
    mount(&image, &dir);
    assert!(fs::read(dir.join("f7")).unwrap() == noise(7, LEN));
    run([Path::new("umount"), &dir]);
}

#[test]
fn unmounting_under_load_ends_when_the_last_file_is_closed() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (image, dir) = (image(work.path()), work.path().join("mnt"));
    mount(&image, &dir);
    let (pid, count) = (server(&dir), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for first in 0..4 {
            let (dir, count) = (&dir, &count);
            scope.spawn(move || read_until_failure(dir, first * 10, count));
        }
        while count.load(Ordering::Relaxed) < 20 {
            std::thread::sleep(Duration::from_millis(5));
        }
        // a file that is open is read to its end, the next one is not there
        run([Path::new("umount"), Path::new("--lazy"), &dir]);
    });
    ends(pid);
    assert!(is_free(&dir));
}

#[test]
fn damage_is_an_error_and_costs_nothing_else() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let image = image(work.path());
    let mut bytes = fs::read(&image).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&image, &bytes).unwrap();
    let mounted = Mounted::new(&image, &work.path().join("mnt"), &["--kernel"]);
    let mut failed = 0;
    for number in 0..FILES {
        match fs::read(mounted.0.join(format!("f{number}"))) {
            Ok(content) => assert!(content == noise(number as u64, LEN), "f{number}"),
            Err(error) => {
                let io = rustix::io::Errno::IO.raw_os_error();
                assert_eq!(error.raw_os_error(), Some(io));
                failed += 1;
            }
        }
    }
    assert!((1..FILES).contains(&failed), "{failed}");
}

#[test]
fn an_image_without_its_end_is_refused() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let image = image(work.path());
    let file = File::options().write(true).open(&image).unwrap();
    let len = file.metadata().unwrap().len();
    let dir = work.path().join("mnt");
    fs::create_dir(&dir).unwrap();
    for len in [len - 1, len / 2, 100, 0] {
        file.set_len(len).unwrap();
        let output = try_run([Path::new("mount"), Path::new("--kernel"), &image, &dir]);
        assert!(!output.status.success(), "{len}");
        assert!(is_free(&dir));
    }
}

#[test]
fn options_of_fuse_are_not_lost_in_the_kernel() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let image = image(work.path());
    let dir = work.path().join("mnt");
    fs::create_dir(&dir).unwrap();
    for option in ["allow_root", "auto_unmount", "max_read=65536"] {
        let name = option.split('=').next().unwrap();
        let words = ["mount", "--kernel", "-o", option].map(Path::new);
        let output = try_run(words.into_iter().chain([&*image, &*dir]));
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && messages.contains(name),
            "{messages}"
        );
        assert!(is_free(&dir));
    }
}

#[test]
fn fuse_stands_in_only_where_that_is_not_forbidden() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    fs::create_dir(&tree).unwrap();
    let file = File::create(tree.join("old")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    let dir = work.path().join("mnt");
    fs::create_dir(&dir).unwrap();
    let kind = || {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = table
            .lines()
            .find(|line| line.contains(dir.to_str().unwrap()));
        line.unwrap().split_once(" - ").unwrap().1[..5].to_owned()
    };
    for (flags, way, shown, words) in [
        (&[][..], None, "erofs", ""),
        (&[], Some("--fuse"), "fuse.", ""),
        (
            &["--keep-all-times"],
            None,
            "fuse.",
            "mounted through FUSE: ",
        ),
        (
            &["--keep-all-times"],
            Some("--kernel"),
            "erofs",
            "not visible through the kernel: ",
        ),
    ] {
        support::build("dwarfs", &tree, &image, flags);
        let words_of = ["mount".as_ref()].into_iter().chain(way.map(str::as_ref));
        let output = run(words_of.chain([image.as_os_str(), dir.as_os_str()]));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(told.is_empty(), words.is_empty(), "{told}");
        assert!(told.contains(words), "{told}");
        assert_eq!(kind(), shown, "{flags:?} {way:?}");
        run([Path::new("umount"), &dir]);
    }
}

#[test]
fn mounts_of_other_subtypes_and_covered_ones_are_listed_and_unmounted() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (image, dir) = (image(work.path()), work.path().join("mnt"));
    fs::create_dir(&dir).unwrap();
    let listed = || {
        let list = String::from_utf8(run(["mounts"]).stdout).unwrap();
        let is_here = |line: &&str| line.contains(&format!(" on {} ", dir.display()));
        list.lines()
            .filter(is_here)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    for (options, kind) in [
        (&["--kernel"][..], "erofs"),
        (&["--fuse", "-o", "subtype=foo"], "fuse.foo"),
        (&["--fuse", "-o", "subtype=foo,max_read=131072"], "fuse.foo"),
    ] {
        let words = [
            &["mount"],
            options,
            &[image.to_str().unwrap(), dir.to_str().unwrap()],
        ];
        run(words.concat());
        let line = format!("{} on {} ({kind})", image.display(), dir.display());
        assert_eq!(listed(), std::slice::from_ref(&line));
        let cover = Command::new("mount")
            .args(["-t", "tmpfs", "cover"])
            .arg(&dir)
            .status();
        assert!(cover.unwrap().success());
        fs::write(dir.join("of the cover"), "").unwrap();
        assert_eq!(listed(), [line]);
        // those of other tests are not to be ended: by its server, as `umount --all` does
        kill_process(server(&dir), Signal::TERM).unwrap();
        let begin = Instant::now();
        while !listed().is_empty() {
            assert!(begin.elapsed() < Duration::from_secs(20), "{kind}");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(dir.join("of the cover").exists(), "{kind}");
        assert!(Command::new("umount").arg(&dir).status().unwrap().success());
        assert!(is_free(&dir));
    }
}

#[test]
fn a_mount_keeps_no_descriptors_and_no_ignored_signal_ends_it() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (image, dir) = (image(work.path()), work.path().join("mnt"));
    fs::create_dir(&dir).unwrap();
    let script = "exec 3>&1; trap '' HUP INT; \"$0\" mount \"$1\" \"$2\"";
    // the output ends only when nobody has it any more
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_sinter")])
        .args([&image, &dir])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let pid = server(&dir);
    for signal in [Signal::HUP, Signal::INT] {
        kill_process(pid, signal).unwrap();
    }
    assert!(fs::read(dir.join("f3")).unwrap() == noise(3, LEN));
    run([Path::new("umount"), &dir]);
    ends(pid);
    assert!(is_free(&dir));
}

#[test]
fn a_record_is_complete_when_the_mount_has_ended() {
    if !kernel_serves() {
        return;
    }
    let work = scratch();
    let (image, dir) = (image(work.path()), work.path().join("mnt"));
    let list = work.path().join("list");
    fs::create_dir(&dir).unwrap();
    for way in ["--kernel", "--fuse"] {
        for ours in [true, false] {
            let record = ["mount", way, "--record", list.to_str().unwrap()];
            run([
                &record[..],
                &[image.to_str().unwrap(), dir.to_str().unwrap()],
            ]
            .concat());
            for number in 0..FILES {
                fs::read(dir.join(format!("f{number}"))).unwrap();
            }
            if ours {
                run([Path::new("umount"), &dir]);
            } else {
                assert!(Command::new("umount").arg(&dir).status().unwrap().success());
            }
            let names: Vec<_> = (0..FILES).map(|number| format!("f{number}\n")).collect();
            assert_eq!(fs::read_to_string(&list).unwrap(), names.concat(), "{way}");
            fs::remove_file(&list).unwrap();
        }
    }
}

#[test]
fn a_hundred_images_are_layers_and_too_many_are_refused_at_once() {
    if !kernel_serves() || !support::kernel_overlays() {
        return;
    }
    let work = scratch();
    let (tree, dir) = (work.path().join("tree"), work.path().join("mnt"));
    fs::create_dir(&tree).unwrap();
    fs::create_dir(&dir).unwrap();
    let (first, other) = (
        work.path().join("a.squashfs"),
        work.path().join("b.squashfs"),
    );
    fs::write(tree.join("first"), "1").unwrap();
    support::build("squashfs", &tree, &first, &[]);
    fs::rename(tree.join("first"), tree.join("other")).unwrap();
    support::build("squashfs", &tree, &other, &[]);
    let words = |count: usize| {
        let images = std::iter::repeat_n(other.as_path(), count - 1);
        let before = [Path::new("mount"), &first].into_iter();
        before
            .chain(images)
            .chain([dir.as_path()])
            .map(Path::to_owned)
            .collect::<Vec<_>>()
    };
    let begin = Instant::now();
    let refused = try_run(words(501));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("overlayfs takes 500"), "{message}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    run(words(100));
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 2);
    run([Path::new("umount"), &dir]);
    assert!(is_free(&dir));
}
