//! A mount under mixed load for a while: every byte is compared with the source, and memory stays
//! bounded.
//!
//! Eight threads (`SINTER_SOAK_READERS`) read files, pieces anywhere, names and attributes, for
//! 5 seconds (`SINTER_SOAK`) on each of four mounts. The cache is far smaller than the content.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]
#![allow(clippy::print_stdout, reason = "figures, for whoever runs it for long")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sinterfs_testkit::noise;
use support::{kernel_serves, run, scratch};

const FILES: usize = 400;

/// Bytes that decoded blocks may take.
const CACHE: u64 = 24 << 20;

/// Bytes above cache and metadata that a server may take.
const MORE: u64 = 64 << 20;

/// Makes some 100 MB: small files, a few large ones, words that compress and noise that does not.
fn tree(dir: &Path) {
    for number in 0..FILES {
        let parent = dir.join(format!("d{}", number % 23));
        fs::create_dir_all(&parent).expect("a directory");
        let len = match number % 40 {
            0 => 6_000_001,
            1..10 => 300_000 + number,
            _ => 11 * number,
        };
        let mut bytes = noise(number as u64, len);
        if number % 3 > 0 {
            bytes.iter_mut().for_each(|byte| *byte = b'a' + (*byte & 7));
        }
        fs::write(parent.join(format!("f{number}")), bytes).expect("a file");
    }
}

/// A server in the foreground, ended when dropped.
struct Server {
    process: Child,
    dir: PathBuf,
}

impl Server {
    fn start(image: &Path, dir: &Path, through: &str) -> Self {
        fs::create_dir_all(dir).expect("a mount point");
        let mut command = support::sinter();
        command.args(["mount", "-f", through, "--cache-size"]);
        command.arg(CACHE.to_string()).arg(image).arg(dir);
        let process = command
            .stdout(Stdio::null())
            .spawn()
            .expect("sinter starts");
        let begin = Instant::now();
        while fs::read_dir(dir).expect("a directory").next().is_none() {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "nothing is mounted"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        let dir = dir.to_owned();
        Self { process, dir }
    }

    /// Returns the most memory that the server ever took, in bytes.
    fn peak(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("the server's status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib: u64 = line
            .and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok())
            .expect("a number");
        kib << 10
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let ended = Command::new("umount").arg("-l").arg(&self.dir).status();
        let served = self.process.wait();
        if !std::thread::panicking() {
            assert!(ended.expect("umount").success());
            assert!(served.expect("the server ends").success());
        }
    }
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}

fn read(path: &Path, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    let file = File::open(path).expect("a file");
    let mut filled = 0;
    while filled < len {
        let at = offset + filled as u64;
        match file.read_at(&mut bytes[filled..], at).expect("bytes") {
            0 => break,
            count => filled += count,
        }
    }
    bytes.truncate(filled);
    bytes
}

/// Does one thing with the mount and compares; returns the bytes that were read.
fn act(dice: &mut Dice, source: &Path, mounted: &Path) -> u64 {
    let number = dice.below(FILES as u64);
    let name = format!("d{}/f{number}", number % 23);
    let (ours, theirs) = (mounted.join(&name), source.join(&name));
    let len = theirs.metadata().expect("a file").len();
    match dice.below(8) {
        0 => {
            let names = |dir: &Path| {
                let all = fs::read_dir(dir).expect("a directory").flatten();
                let mut names: Vec<_> = all.map(|entry| entry.file_name()).collect();
                names.sort();
                names
            };
            let dir = format!("d{}", number % 23);
            assert_eq!(names(&mounted.join(&dir)), names(&source.join(&dir)));
            0
        }
        1 => {
            let facts = |path: &Path| {
                let found = path.metadata().expect("a file");
                (found.mode(), found.uid(), found.len(), found.mtime())
            };
            assert_eq!(facts(&ours), facts(&theirs));
            assert!(!mounted.join("none").join(&name).exists());
            0
        }
        2 | 3 => {
            let whole = fs::read(&ours).expect("a file");
            assert!(
                whole == fs::read(&theirs).expect("a file"),
                "{name} differs"
            );
            len
        }
        _ => {
            let offset = dice.below(len + 10);
            let piece = usize::try_from(1 + dice.below(70_000)).expect("a length");
            let found = read(&ours, offset, piece);
            assert!(
                found == read(&theirs, offset, piece),
                "{name} differs at {offset}"
            );
            found.len() as u64
        }
    }
}

#[test]
fn eight_readers_get_right_bytes_within_bounded_memory() {
    if !support::is_root() || !kernel_serves() {
        return;
    }
    let setting = |name: &str| std::env::var(name).ok()?.parse().ok();
    let seconds = setting("SINTER_SOAK").unwrap_or(5);
    let readers: u64 = setting("SINTER_SOAK_READERS").unwrap_or(8);
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let (source, image) = (at("tree"), at("image"));
    tree(&source);
    for (format, flags, through) in [
        // fast to build: what is tested begins after that
        ("dwarfs", &["-C", "zstd:level=1", "-b", "8m"][..], "--fuse"),
        ("dwarfs", &["-C", "zstd:level=1", "-b", "8m"], "--kernel"),
        ("squashfs", &["-C", "zstd:level=1"], "--fuse"),
        ("erofs", &["-C", "lz4"], "--kernel"),
    ] {
        support::build(format, &source, &image, flags);
        let server = Server::start(&image, &at("mnt"), through);
        let begin = Instant::now();
        let bytes = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for reader in 1..=readers {
                let (bytes, source, mounted) = (&bytes, &source, &server.dir);
                scope.spawn(move || {
                    let mut dice = Dice(reader.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    while begin.elapsed() < Duration::from_secs(seconds) {
                        bytes.fetch_add(act(&mut dice, source, mounted), Ordering::Relaxed);
                        if dice.below(50) == 0 {
                            // what is cached must be asked for again
                            let _ = fs::write("/proc/sys/vm/drop_caches", "1");
                        }
                    }
                });
            }
        });
        let (peak, bytes) = (server.peak(), bytes.into_inner());
        println!(
            "{format} {through}: {} MiB read, at most {} MiB of memory",
            bytes >> 20,
            peak >> 20
        );
        assert!(
            bytes > 1 << 20,
            "{format} {through}: hardly anything was read"
        );
        assert!(
            peak <= CACHE + MORE,
            "{format} {through}: {} MiB of memory",
            peak >> 20
        );
    }
    run([Path::new("check"), Path::new("--deep"), &image]);
}
