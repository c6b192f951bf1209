//! Goes to the background for real: this program starts itself again as the server of a mount.
//! It has a `main` of its own, because the usual one would write to the pipe between the two.

#![allow(clippy::unwrap_used, reason = "all of this is test code")]
#![allow(
    clippy::print_stdout,
    reason = "a test without the usual harness reports by itself"
)]

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use sinterfs_model::{Error, Kind};
use sinterfs_mount::{Ended, MountOptions, daemon, mount, umount};
use sinterfs_testkit::{sample, skip};

/// Sets in the environment of the child where it is to mount, and how it is to behave.
const MOUNT_AT: &str = "SINTER_TEST_MOUNT_AT";
const BEHAVE: &str = "SINTER_TEST_BEHAVE";

fn main() {
    if let Some(dir) = std::env::var_os(MOUNT_AT) {
        return serve(Path::new(&dir));
    }
    let fuse = File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .is_ok();
    if !rustix::process::geteuid().is_root() || !fuse {
        return skip("mounting needs root and /dev/fuse");
    }
    for (name, test) in [
        ("usable when the parent returns", usable as fn()),
        ("failures reach the parent", failures),
        ("signals unmount", signals),
        ("a signal ends even a busy mount", busy),
        ("a dead mount can be unmounted", dead),
    ] {
        test();
        println!("test {name} ... ok");
    }
}

/// The child: what `sinter mount` does in the background.
fn serve(dir: &Path) {
    let behave = std::env::var(BEHAVE).unwrap();
    if behave == "die" {
        std::process::exit(7);
    }
    daemon::detach_from_terminal().unwrap();
    let options = MountOptions {
        catch_signals: true,
        ..Default::default()
    };
    let mut session = match mount(Arc::new(sample(4)), dir, &options) {
        Ok(session) => session,
        Err(error) => {
            daemon::report_to_parent(Err(&error), ToString::to_string).unwrap();
            std::process::exit(1);
        }
    };
    fs::write(pid_file(dir), std::process::id().to_string()).unwrap();
    let code = if behave == "in part" { 1 } else { 0 };
    daemon::report_to_parent(Ok(code), ToString::to_string).unwrap();
    let ended = session.serve().unwrap();
    let text = if ended == Ended::Unmounted {
        "unmounted"
    } else {
        "abandoned"
    };
    fs::write(dir.with_extension("ended"), text).unwrap();
}

fn pid_file(dir: &Path) -> PathBuf {
    dir.with_extension("pid")
}

/// A mount point that is certainly free in the end.
struct Point {
    _guard: tempfile::TempDir,
    dir: PathBuf,
}

impl Point {
    fn new() -> Self {
        let guard = tempfile::tempdir().unwrap();
        let dir = guard.path().join("mnt");
        fs::create_dir(&dir).unwrap();
        Self { _guard: guard, dir }
    }

    fn start(&self, behave: &str) -> Result<u8, Error> {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .env(MOUNT_AT, &self.dir)
            .env(BEHAVE, behave)
            .stdin(Stdio::null());
        daemon::start(&mut command)
    }

    fn pid(&self) -> Pid {
        let text = fs::read_to_string(pid_file(&self.dir)).unwrap();
        Pid::from_raw(text.parse().unwrap()).unwrap()
    }

    /// Waits for what the child leaves when it ends.
    fn ended(&self) -> String {
        let begin = Instant::now();
        loop {
            match fs::read_to_string(self.dir.with_extension("ended")) {
                Ok(text) if !text.is_empty() => return text,
                _ => assert!(
                    begin.elapsed() < Duration::from_secs(20),
                    "the server goes on"
                ),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_free(&self) -> bool {
        fs::read_dir(&self.dir).is_ok_and(|mut entries| entries.next().is_none())
    }
}

impl Drop for Point {
    fn drop(&mut self) {
        // Only after a failure is there anything left to do.
        let _ = umount(&self.dir, true);
    }
}

fn usable() {
    let point = Point::new();
    assert_eq!(point.start("in part").unwrap(), 1);
    assert_eq!(fs::read(point.dir.join("docs/small")).unwrap(), b"hello\n");
    let proc = PathBuf::from(format!("/proc/{}", point.pid().as_raw_nonzero()));
    assert_eq!(fs::read_link(proc.join("cwd")).unwrap(), Path::new("/"));
    for stream in 0..3 {
        let file = fs::read_link(proc.join(format!("fd/{stream}"))).unwrap();
        assert_eq!(file, Path::new("/dev/null"), "stream {stream}");
    }
    let stat = fs::read_to_string(proc.join("stat")).unwrap();
    let session = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .nth(3)
        .unwrap();
    assert_eq!(session, point.pid().as_raw_nonzero().to_string());
    umount(&point.dir, false).unwrap();
    assert_eq!(point.ended(), "unmounted");
}

fn failures() {
    let point = Point::new();
    point.start("").unwrap();
    let twice = point.start("").unwrap_err();
    assert_eq!(twice.kind(), Kind::Io);
    assert!(twice.to_string().contains("already mounted"), "{twice}");
    umount(&point.dir, false).unwrap();
    point.ended();
    fs::remove_dir(&point.dir).unwrap();
    let missing = point.start("").unwrap_err();
    assert_eq!(missing.kind(), Kind::NotFound);
    let died = point.start("die").unwrap_err();
    assert!(
        died.to_string()
            .contains("ended before it mounted: exit status: 7"),
        "{died}"
    );
    let none = daemon::start(&mut Command::new("/no/such/program")).unwrap_err();
    assert!(none.to_string().contains("cannot start"), "{none}");
}

fn signals() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let point = Point::new();
        point.start("").unwrap();
        kill_process(point.pid(), signal).unwrap();
        assert_eq!(point.ended(), "unmounted");
        assert!(point.is_free());
    }
}

fn busy() {
    let point = Point::new();
    point.start("").unwrap();
    let file = File::open(point.dir.join("docs/big")).unwrap();
    kill_process(point.pid(), Signal::TERM).unwrap();
    let begin = Instant::now();
    while !point.is_free() {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    // It is out of the tree, but who has it open has some time left.
    file.read_exact_at(&mut [0; 10], 2_000_000).unwrap();
    kill_process(point.pid(), Signal::TERM).unwrap();
    assert_eq!(point.ended(), "abandoned");

    let point = Point::new();
    point.start("").unwrap();
    let file = File::open(point.dir.join("docs/big")).unwrap();
    kill_process(point.pid(), Signal::TERM).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    drop(file);
    assert_eq!(point.ended(), "unmounted");
}

fn dead() {
    let point = Point::new();
    point.start("").unwrap();
    kill_process(point.pid(), Signal::KILL).unwrap();
    let begin = Instant::now();
    while fs::read_dir(&point.dir).is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(10));
    }
    let again = point.start("").unwrap_err();
    assert!(again.to_string().contains("unmount it first"), "{again}");
    umount(&point.dir, false).unwrap();
    assert!(point.is_free());
}
