//! System calls that fail at the n-th call while an image is mounted and read: a mount shows the
//! right bytes or an error, a command that fails leaves nothing mounted, and after the end no
//! process and no loop device is left. Nothing waits for ever.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::{command, files, numbers, work};
use crate::support::{kernel_serves, try_run};

/// System calls with the errors that they get.
type Faults = &'static [(&'static str, &'static str)];

/// Those of the process that serves. Replies (writev) are not among them: strace keeps the call
/// from the kernel, which ends a request itself if it cannot take the reply.
const OF_SERVER: Faults = &[
    ("openat", "EMFILE"),
    ("read", "EIO"),
    ("pread64", "EIO"),
    ("write", "EIO"),
    ("readlink", "EIO"),
    ("statx", "EIO"),
    ("fstat", "EIO"),
    ("newfstatat", "EIO"),
    // the allocator and the stacks of threads
    ("mmap", "ENOMEM"),
    ("clone3", "EAGAIN"),
    ("socketpair", "EMFILE"),
    ("fcntl", "EMFILE"),
    ("unshare", "ENOMEM"),
    ("mount", "ENOMEM"),
    ("fsopen", "ENOMEM"),
    ("fsconfig", "ENOMEM"),
    ("fsmount", "ENOMEM"),
    ("move_mount", "ENOMEM"),
];

/// How threads get the device. (Through the kernel a failure makes losetup the next try, and the
/// standard library panics where the pipe of that cannot be set up.)
const OF_DEVICE: Faults = &[("ioctl", "EIO")];

/// Those by which a process goes to the background.
const OF_BACKGROUND: Faults = &[
    ("openat", "EMFILE"),
    ("read", "EIO"),
    ("write", "EIO"),
    ("readlink", "EIO"),
    ("clone3", "EAGAIN"),
    ("execve", "ENOMEM"),
    ("pipe2", "EMFILE"),
    ("fcntl", "EMFILE"),
    ("dup2", "EBUSY"),
    ("dup3", "EBUSY"),
    ("chdir", "EIO"),
    ("setsid", "ENOSYS"),
];

/// The longest time in which an image is mounted, read and unmounted.
const LIMIT: Duration = Duration::from_secs(60);

const PAUSE: Duration = Duration::from_millis(10);

/// A mount in a directory, made by a program that strace runs.
struct Attempt<'a> {
    dir: &'a Path,
    image: String,
    strace: Child,
    /// What ends the watch over the time.
    watch: (Sender<()>, JoinHandle<bool>),
    what: String,
}

/// Returns whether something is mounted on a directory.
fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let point = format!(" {} ", point.display());
    mounts.lines().any(|line| line.contains(&point))
}

/// Returns the processes that a log of strace names.
fn processes(log: &Path) -> Vec<String> {
    let log = fs::read_to_string(log).unwrap_or_default();
    let first = |line: &str| line.split(' ').next().map(str::to_owned);
    let mut found: Vec<_> = log.lines().filter_map(first).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Kills all processes of a log, unless the sender is dropped within the limit; so that neither
/// they nor a read of a mount of theirs goes on. Returns whether it did.
fn watch(log: PathBuf) -> (Sender<()>, JoinHandle<bool>) {
    let (sender, ended) = channel();
    let work = move || {
        let is_late = ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout);
        if is_late {
            let kill = Command::new("kill")
                .arg("-KILL")
                .args(processes(&log))
                .status();
            kill.unwrap();
        }
        is_late
    };
    let thread = thread::Builder::new().spawn(work);
    (sender, thread.unwrap())
}

impl<'a> Attempt<'a> {
    fn start(dir: &'a Path, image: &str, way: &[&str], fault: (&str, &str), n: usize) -> Self {
        let (call, error) = fault;
        let mut strace = command("strace", dir);
        // programs that are started are named, so that all can be killed
        strace.args(["-f", "-q", "-o", "log", "-e"]);
        strace.arg(format!("trace={call},execve")).arg("-e");
        strace.arg(format!("inject={call}:error={error}:when={n}"));
        strace.arg(env!("CARGO_BIN_EXE_sinter")).arg("mount");
        strace.args(way).args(["--threads", "2", image, "mnt"]);
        let words = File::create(dir.join("words")).unwrap();
        strace
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(words);
        Self {
            dir,
            image: image.to_owned(),
            strace: strace.spawn().unwrap(),
            watch: watch(dir.join("log")),
            what: format!("{way:?}, {call} {n}"),
        }
    }

    fn point(&self) -> PathBuf {
        self.dir.join("mnt")
    }

    fn words(&self) -> String {
        let words = fs::read_to_string(self.dir.join("words")).unwrap();
        format!("{}: {words}", self.what)
    }

    /// Returns whether every process has ended.
    fn has_ended(&mut self) -> bool {
        self.strace.try_wait().unwrap().is_some()
    }

    /// Returns how the first process has ended, in the words of strace, if it has.
    fn outcome(&self) -> Option<String> {
        let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        let first = log.split(' ').next()?;
        let of_first = log.lines().filter_map(|line| line.strip_prefix(first));
        let mut ends = of_first.filter(|line| line.trim_start().starts_with("+++"));
        ends.next().map(|line| line.trim().to_owned())
    }

    /// Waits until the mount can be used or the command has failed; returns whether it is mounted.
    fn becomes_usable(&mut self, in_background: bool) -> bool {
        while !self.has_ended() {
            match self.outcome() {
                Some(outcome) if outcome.contains(" with 0 ") => {
                    assert!(is_mounted(&self.point()), "no mount: {}", self.words());
                    return true;
                }
                Some(_) => self.wait(),
                None if !in_background && is_mounted(&self.point()) => return true,
                None => thread::sleep(PAUSE),
            }
        }
        false
    }

    fn wait(&mut self) {
        self.strace.wait().unwrap();
    }

    /// Unmounts, if it is mounted still, and waits for the end of all processes.
    fn unmount(&mut self) {
        let (point, begin) = (self.point(), Instant::now());
        while is_mounted(&point) {
            let unmounted = try_run(["umount".as_ref(), point.as_os_str()]);
            let is_late = begin.elapsed() > LIMIT;
            assert!(
                unmounted.status.success() || !is_late,
                "{unmounted:?}: {}",
                self.words()
            );
        }
        self.wait();
    }

    /// Checks what is left after the end, and returns whether the fault happened.
    fn finish(mut self) -> bool {
        let outcome = self.outcome().unwrap_or_default();
        let what = format!("{outcome} {}", self.words());
        let killed = outcome.contains("killed by SIGABRT") && what.contains("allocation");
        if killed {
            // what is served by nobody can be unmounted
            self.unmount();
        }
        assert!(!is_mounted(&self.point()), "still mounted: {what}");
        assert!(killed || outcome.contains("exited with"), "{what}");
        let panicked = outcome.contains("with 101") || what.contains("panicked");
        assert!(!panicked, "{what}");
        assert_eq!(loop_devices(&self.image), [""; 0], "loop devices: {what}");
        let (sender, watcher) = self.watch;
        drop(sender);
        assert!(
            !watcher.join().unwrap(),
            "it took more than {LIMIT:?}: {what}"
        );
        let log = fs::read_to_string(self.dir.join("log")).unwrap();
        // the next attempt has a log of its own from its beginning
        fs::remove_file(self.dir.join("log")).unwrap();
        log.contains("(INJECTED)")
    }
}

/// Returns the loop devices on files that an image has something to do with.
fn loop_devices(image: &str) -> Vec<String> {
    let devices = fs::read_dir("/sys/block").unwrap();
    let files = devices.filter_map(|device| {
        let file = device.unwrap().path().join("loop/backing_file");
        fs::read_to_string(file).ok()
    });
    files.filter(|file| file.contains(image)).collect()
}

/// Reads what is mounted; counts what is equal to the source. Other bytes are a failure.
fn read_all(point: &Path, source: &Path, what: &str) -> usize {
    let mut equal = 0;
    for (path, content) in files(source) {
        let below = path.strip_prefix(source).unwrap();
        let Ok(found) = fs::read(point.join(below)) else {
            continue;
        };
        assert!(
            found == content,
            "other bytes in {}: {what}",
            below.display()
        );
        equal += 1;
    }
    equal
}

/// Returns how many calls precede those of a command: the dynamic loader may end in any way.
fn calls_of_start(dir: &Path, call: &str) -> usize {
    let mut strace = command("strace", dir);
    strace.args(["-f", "-qq", "-o", "log", "-e"]);
    strace.arg(format!("trace={call}"));
    strace.args([env!("CARGO_BIN_EXE_sinter"), "--version"]);
    let output = strace.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let log = fs::read_to_string(dir.join("log")).unwrap();
    fs::remove_file(dir.join("log")).unwrap();
    log.lines().count()
}

/// Mounts and reads with each fault; returns how many happened and how many files were read.
fn sweep(dir: &Path, image: &str, way: &[&str], faults: Faults) -> (usize, usize) {
    let in_background = !way.contains(&"-f");
    let (mut count, mut equal) = (0, 0);
    for fault in faults {
        let before = match fault.0 {
            "mmap" => calls_of_start(dir, fault.0),
            _ => 0,
        };
        for n in numbers().map(|n| before + n) {
            let mut attempt = Attempt::start(dir, image, way, *fault, n);
            if attempt.becomes_usable(in_background) {
                equal += read_all(&attempt.point(), &dir.join("tree"), &attempt.what);
                attempt.unmount();
            }
            if !attempt.finish() {
                break;
            }
            count += 1;
        }
    }
    (count, equal)
}

#[test]
fn a_mount_shows_right_bytes_or_errors_and_leaves_nothing() {
    if !kernel_serves() {
        return;
    }
    let Some(work) = work() else { return };
    let dir = work.path();
    fs::remove_file(dir.join("tree/sub/l")).unwrap();
    fs::create_dir(dir.join("mnt")).unwrap();
    // a name that no other loop device has
    let image = format!("faulty-{}.dwarfs", std::process::id());
    fs::rename(dir.join("old.dwarfs"), dir.join(&image)).unwrap();
    for (way, faults, least) in [
        (&["-f", "--fuse"][..], OF_SERVER, 30),
        (&["-f", "--fuse"], OF_DEVICE, 1),
        (&["-f", "--kernel"], OF_SERVER, 30),
        (&["--fuse"], OF_BACKGROUND, 20),
        (&["--kernel"], OF_BACKGROUND, 20),
    ] {
        let (faults, equal) = sweep(dir, &image, way, faults);
        assert!(
            faults >= least && equal >= least,
            "{way:?}: {faults} faults, {equal} files"
        );
    }
}
