//! What the program's tests share: running `sinter`, the shared vectors, the manifests' own
//! comparison program, and skipping that CI does not accept.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

pub mod archives;
pub mod erofs;
pub mod listing;
mod manifests;
pub mod vectors;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

pub use manifests::compare;
pub use sinterfs_testkit::skip;

/// Starts a `sinter` command.
pub fn sinter() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sinter"));
    command.env_remove("SOURCE_DATE_EPOCH").stdin(Stdio::null());
    command
}

/// Runs `sinter` with arguments; panics with its words if it fails.
pub fn run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(args: I) -> Output {
    let output = try_run(args);
    assert!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Runs `sinter` with arguments, whatever comes of it.
pub fn try_run<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(args: I) -> Output {
    sinter().args(args).output().expect("sinter starts")
}

/// Builds an image of a format with flags, whatever comes of it.
pub fn try_build(format: &str, tree: &Path, image: &Path, flags: &[&str]) -> Output {
    let mut command = sinter();
    command.args(["build", "--force", "-f", format]).args(flags);
    command.arg(tree).arg("-o").arg(image);
    command.output().expect("sinter starts")
}

/// Builds an image of a format with flags and gives its bytes; panics with the words of a failure.
pub fn build(format: &str, tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    let output = try_build(format, tree, image, &[flags, &["-q"]].concat());
    assert!(output.status.success(), "{flags:?}: {output:?}");
    std::fs::read(image).expect("an image")
}

/// Runs a script in a directory; panics if it fails.
pub fn shell(dir: &Path, script: &str) {
    let mut shell = Command::new("sh");
    let output = shell.args(["-ec", script]).current_dir(dir).output();
    let output = output.expect("a shell");
    assert!(output.status.success(), "{script}: {output:?}");
}

/// Finds the shared vectors.
pub fn vectors() -> Option<PathBuf> {
    sinterfs_testkit::shared("vectors")
}

/// Returns whether this process is root; a test that needs it skips otherwise.
pub fn is_root() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip("needs root");
    }
    root
}

/// A directory for a test's files that keeps nanoseconds, holes and all owners: on tmpfs, since
/// ext4 may lack room for large attributes and disks may be slow.
pub fn scratch() -> tempfile::TempDir {
    let base = Path::new("/dev/shm");
    if base.is_dir() {
        tempfile::tempdir_in(base).expect("a directory in /dev/shm")
    } else {
        tempfile::tempdir().expect("a temporary directory")
    }
}

/// Makes the tree of the shared vectors in a new directory.
pub fn make_tree(vectors: &Path, dir: &Path, options: &[&str]) {
    let status = Command::new("python3")
        .arg(vectors.join("make-tree.py"))
        .arg(dir)
        .args(options)
        .status()
        .expect("python3");
    assert!(status.success(), "make-tree.py failed");
}

/// A mounted image that is unmounted when dropped.
pub struct Mounted(pub PathBuf);

impl Mounted {
    /// Mounts an image on a directory.
    pub fn new(image: &Path, dir: &Path, more: &[&str]) -> Self {
        std::fs::create_dir_all(dir).expect("a mount point");
        run([OsStr::new("mount"), image.as_os_str(), dir.as_os_str()]
            .into_iter()
            .chain(more.iter().map(OsStr::new)));
        Self(dir.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let umount = || try_run([OsStr::new("umount"), self.0.as_os_str()]);
        let mut output = umount();
        // a process that another test is just starting holds all files that are open here
        for _ in 0..40 {
            if !String::from_utf8_lossy(&output.stderr).contains("busy") {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            output = umount();
        }
        if !output.status.success() && !std::thread::panicking() {
            panic!("umount: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// Finds a tool of upstream's, which no registry has: where it is missing, that is said and no
/// failure.
pub fn peer(tool: &str) -> Option<PathBuf> {
    let Some(dir) = std::env::var_os("SINTER_PEER_DWARFS") else {
        eprintln!("NOT RUN: SINTER_PEER_DWARFS does not name a directory with upstream's tools");
        return None;
    };
    Some(Path::new(&dir).join(tool))
}

/// An image that the kernel has mounted.
pub struct KernelMount(pub PathBuf);

impl KernelMount {
    /// Mounts an image of a format, by the kernel's name for it, on a directory.
    pub fn new(format: &str, image: &Path, dir: &Path) -> Self {
        Self::with(format, image, dir, "ro")
    }

    /// Mounts with further options.
    pub fn with(format: &str, image: &Path, dir: &Path, options: &str) -> Self {
        std::fs::create_dir_all(dir).expect("a mount point");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", format, "-o", &format!("loop,ro,{options}")])
            .args([image, dir]);
        let output = mount.output().expect("mount");
        assert!(output.status.success(), "{output:?}");
        Self(dir.to_owned())
    }
}

impl Drop for KernelMount {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

/// Returns whether images can be mounted through the kernel: by root, with EROFS, on a file or a
/// loop device.
pub fn kernel_serves() -> bool {
    if !is_root() {
        return false;
    }
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    std::fs::create_dir(&tree).expect("a directory");
    build("dwarfs", &tree, &image, &[]);
    let words = ["mount".as_ref(), "--kernel".as_ref(), image.as_os_str()];
    let output = try_run(words.into_iter().chain([tree.as_os_str()]));
    if output.status.success() {
        run([OsStr::new("umount"), tree.as_os_str()]);
        return true;
    }
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    lacking("erofs", &format!("no mounts through the kernel: {why}"));
    false
}

/// Returns why a test of the kernel's can't run here: a failure in CI only where the kernel has the
/// file system.
pub fn lacking(format: &str, why: &str) {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if known.contains(format) {
        skip(why);
    } else {
        eprintln!("NOT RUN: {why}");
    }
}

/// Returns whether the kernel mounts composefs images itself: by EROFS and data-only layers, from
/// Linux 6.6 on.
pub fn kernel_overlays() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|word| word.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < (6, 6) {
        eprintln!("NOT RUN: overlayfs has no data-only layers before Linux 6.6");
        return false;
    }
    kernel_mounts("erofs") && kernel_mounts("overlay")
}

/// Returns whether the kernel has a driver that many kernels are built without; says so if not.
pub fn kernel_has(format: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if is_root() && known.contains(format) {
        return true;
    }
    eprintln!("NOT RUN: this kernel does not mount {format}");
    false
}

/// Returns whether the kernel can mount images of a format from a file.
pub fn kernel_mounts(format: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let module = Path::new("/sys/module").join(format);
    if is_root() && (known.contains(format) || module.exists()) {
        return true;
    }
    skip(&format!("the kernel does not mount {format} here"));
    false
}

/// Calls the program by another name, in a directory.
pub fn called(work: &Path, name: &str, words: &[&str]) -> Output {
    let link = work.join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), &link).expect("a symlink");
    }
    let mut command = Command::new(link);
    command.env_remove("SOURCE_DATE_EPOCH").current_dir(work);
    command.args(words).output().expect("the program")
}
