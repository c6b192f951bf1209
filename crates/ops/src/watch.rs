//! An image that counts its calls and records the order in which files were read.
//!
//! Enters an image and questions; leaves the image's answers, and numbers. **Invariant:** answers
//! are the image's own; counting takes no lock, remembering a short one for each call. The path of
//! a file is reported before its first read returns.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sinterfs_model::{Cursor, Dirent, Image, Ino, Inode, Result, Xattrs};

use crate::walk::{WalkStep, walk};

/// Steps of times between a power of two and the next.
const STEPS: u64 = 4;

/// The reads of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Names that were looked up.
    pub lookups: u64,
    /// Calls for the attributes of an inode.
    pub attributes: u64,
    /// Times that a directory was listed, or a part of it.
    pub listings: u64,
    /// Symlinks that were read.
    pub links: u64,
    /// Calls for the extended attributes of an inode.
    pub xattrs: u64,
    /// Reads of content.
    pub reads: u64,
    /// Reads that failed.
    pub failed: u64,
    /// Bytes of content that were read.
    pub bytes: u64,
    /// The total time of all reads.
    pub reading: Duration,
    /// Upper bounds of the median read time, the 90th and 99th percentile and the longest read;
    /// accurate to a quarter.
    pub read_times: [Duration; 4],
}

/// Receives the path of each file before its first read returns, and nothing after each other call.
pub type OnRead = Box<dyn FnMut(Option<&[u8]>) + Send>;

/// An image and its reads.
pub struct Watched {
    image: Arc<dyn Image>,
    lookups: AtomicU64,
    attributes: AtomicU64,
    listings: AtomicU64,
    links: AtomicU64,
    xattrs: AtomicU64,
    failed: AtomicU64,
    bytes: AtomicU64,
    nanos: AtomicU64,
    /// Reads by how long they took.
    times: [AtomicU64; 64 * STEPS as usize],
    order: Option<Mutex<ReadOrder>>,
}

/// The files that were read.
struct ReadOrder {
    seen: HashSet<Ino>,
    /// The directory and the name by which an inode was found first.
    names: HashMap<Ino, (Ino, Box<[u8]>)>,
    on_read: OnRead,
}

impl ReadOrder {
    fn learn(&mut self, dir: Ino, name: &[u8], ino: Ino) {
        self.names.entry(ino).or_insert_with(|| (dir, name.into()));
    }

    /// Returns the path of an inode; `None` if not all of its names were seen.
    fn path(&self, root: Ino, ino: Ino) -> Option<Vec<u8>> {
        let (mut names, mut at) = (Vec::new(), ino);
        while at != root {
            let (dir, name) = self.names.get(&at)?;
            // directories of a damaged image may be in each other
            if names.len() > self.names.len() {
                return None;
            }
            names.push(&**name);
            at = *dir;
        }
        names.reverse();
        Some(names.join(&b'/'))
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched")
            .field("activity", &self.activity())
            .finish_non_exhaustive()
    }
}

impl Watched {
    /// Watches an image. To report paths it remembers the names that were looked up or listed, some
    /// 100 bytes each; of a file with several names the one that was seen first is reported.
    pub fn new(image: Arc<dyn Image>, on_read: Option<OnRead>) -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            image,
            lookups: zero(),
            attributes: zero(),
            listings: zero(),
            links: zero(),
            xattrs: zero(),
            failed: zero(),
            bytes: zero(),
            nanos: zero(),
            times: std::array::from_fn(|_| zero()),
            order: on_read.map(|on_read| {
                Mutex::new(ReadOrder {
                    seen: HashSet::new(),
                    names: HashMap::new(),
                    on_read,
                })
            }),
        }
    }

    /// Returns the reads so far.
    pub fn activity(&self) -> Activity {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let times: Vec<u64> = self.times.iter().map(get).collect();
        let reads: u64 = times.iter().sum();
        // of one read the median is that one
        let nth = |percent: u64| percentile(&times, (reads * percent).div_ceil(100).max(1));
        Activity {
            lookups: get(&self.lookups),
            attributes: get(&self.attributes),
            listings: get(&self.listings),
            links: get(&self.links),
            xattrs: get(&self.xattrs),
            reads,
            failed: get(&self.failed),
            bytes: get(&self.bytes),
            reading: Duration::from_nanos(get(&self.nanos)),
            read_times: [50, 90, 99, 100].map(nth),
        }
    }

    fn order(&self) -> Option<MutexGuard<'_, ReadOrder>> {
        let order = self.order.as_ref()?;
        Some(order.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports a request for something other than content.
    fn report_call(&self) {
        if let Some(mut order) = self.order() {
            (order.on_read)(None);
        }
    }

    /// Reports a read, with the path of a file that is read for the first time.
    fn report_read(&self, ino: Ino) {
        let root = self.image.info().root;
        let Some(mut order) = self.order() else {
            return;
        };
        if !order.seen.insert(ino) {
            return (order.on_read)(None);
        }
        if let Some(path) = order.path(root, ino) {
            return (order.on_read)(Some(&path));
        }
        drop(order);
        // found by its number: all names are looked at; what cannot be listed has no path
        let _ = walk(self, root, &mut |_| Ok(WalkStep::On));
        if let Some(mut order) = self.order() {
            let path = order.path(root, ino);
            (order.on_read)(path.as_deref());
        }
    }

    fn count_read(&self, ino: Ino, began: Instant, read: &Result<usize>) {
        let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let add = |count: &AtomicU64, more| count.fetch_add(more, Ordering::Relaxed);
        add(&self.nanos, nanos);
        if let Some(times) = self.times.get(bucket(nanos)) {
            add(times, 1);
        }
        match read {
            Ok(count) => add(&self.bytes, *count as u64),
            Err(_) => add(&self.failed, 1),
        };
        self.report_read(ino);
    }
}

/// Returns which times a time is counted with: those between a quarter of a power of two and the
/// next.
fn bucket(nanos: u64) -> usize {
    let power = nanos.max(STEPS).ilog2();
    let quarter = nanos.max(STEPS) >> (power - STEPS.ilog2()) & (STEPS - 1);
    usize::try_from(u64::from(power) * STEPS + quarter).unwrap_or(usize::MAX)
}

/// Returns the longest time that is counted with the `nth` shortest; zero if there are fewer.
fn percentile(times: &[u64], nth: u64) -> Duration {
    let mut passed = 0;
    let found = (0_u64..).zip(times).find(|&(_, count)| {
        passed += count;
        passed >= nth
    });
    let longest = |(index, _)| {
        let (power, quarter) = (index / STEPS, index % STEPS);
        let step = u128::from(STEPS);
        ((step + u128::from(quarter) + 1) << power) / step - 1
    };
    let nanos = found.map_or(0, longest);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Image for Watched {
    sinterfs_model::delegate_image!(image: info, parent, extents, release);

    fn inode(&self, ino: Ino) -> Result<Inode> {
        self.attributes.fetch_add(1, Ordering::Relaxed);
        let inode = self.image.inode(ino);
        self.report_call();
        inode
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.listings.fetch_add(1, Ordering::Relaxed);
        let read = self.image.read_dir(dir, from, &mut |entry| {
            if let Some(mut order) = self.order() {
                order.learn(dir, entry.name, entry.ino);
            }
            visit(entry)
        });
        self.report_call();
        read
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        let found = self.image.lookup(dir, name);
        if let Some(mut order) = self.order() {
            if let Ok(Some(ino)) = found {
                order.learn(dir, name, ino);
            }
            (order.on_read)(None);
        }
        found
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        self.links.fetch_add(1, Ordering::Relaxed);
        let link = self.image.read_link(ino);
        self.report_call();
        link
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let began = Instant::now();
        let read = self.image.read_at(ino, offset, buf);
        self.count_read(ino, began, &read);
        read
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.xattrs.fetch_add(1, Ordering::Relaxed);
        let xattrs = self.image.xattrs(ino);
        self.report_call();
        xattrs
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;
    use crate::walk::Visit;

    #[test]
    fn times_are_measured_to_a_quarter() {
        for nanos in [0, 1, 4, 5, 7, 8, 9, 1000, 1_000_000, 123_456_789, u64::MAX] {
            let mut times = vec![0; 64 * STEPS as usize];
            times[bucket(nanos)] = 1;
            let measured = u64::try_from(percentile(&times, 1).as_nanos()).unwrap();
            assert!(
                measured >= nanos && measured / 5 * 4 <= nanos.max(STEPS),
                "{nanos}: {measured}"
            );
        }
        let mut times = vec![0; 64 * STEPS as usize];
        times[bucket(10)] = 90;
        times[bucket(1000)] = 10;
        assert!(percentile(&times, 90) < Duration::from_nanos(20));
        assert!(percentile(&times, 91) > Duration::from_nanos(999));
        assert_eq!(percentile(&[0; 8], 1), Duration::ZERO);
    }

    #[test]
    fn answers_are_the_images_own_and_counted() {
        let image = Arc::new(sinterfs_testkit::sample(7));
        let reported = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&reported);
        let on_read: OnRead = Box::new(move |path| {
            sink.lock().unwrap().extend(path.map(<[u8]>::to_vec));
        });
        let watched = Watched::new(image.clone(), Some(on_read));
        let mut files = Vec::new();
        walk(&*image, image.info().root, &mut |visit| {
            if let Visit::Enter(entry) = visit
                && entry.kind == sinterfs_model::FileType::File
            {
                files.push((entry.path.to_vec(), entry.ino));
            }
            Ok(WalkStep::On)
        })
        .unwrap();
        files.reverse();
        let mut seen = HashSet::new();
        files.retain(|(_, ino)| seen.insert(*ino));
        let (mut bytes, mut names, mut read_paths) = (0, HashSet::new(), Vec::new());
        for (_, ino) in files.iter().chain(&files) {
            let (mut ours, mut theirs) = (vec![0; 100], vec![0; 100]);
            let read = watched.read_at(*ino, 0, &mut ours).unwrap();
            assert_eq!(read, image.read_at(*ino, 0, &mut theirs).unwrap());
            assert_eq!(ours, theirs);
            bytes += read as u64;
            // before the read returns
            let last = read_paths.len();
            read_paths.extend(reported.lock().unwrap().get(last..).unwrap().to_vec());
            assert!(names.insert(*ino) == (read_paths.len() > last));
        }
        assert!(watched.read_at(Ino(u64::MAX), 0, &mut [0]).is_err());
        let activity = watched.activity();
        let reads = 2 * files.len() as u64 + 1;
        assert_eq!((activity.reads, activity.bytes), (reads, bytes));
        assert_eq!((activity.failed, activity.lookups), (1, 0));
        assert!(
            watched
                .lookup(image.info().root, b"no such")
                .unwrap()
                .is_none()
        );
        assert!(activity.read_times.is_sorted());
        let paths = read_paths;
        // of a file with several names the walk's last is the first here
        assert_eq!(paths.len(), files.len());
        let ino = |path: &[u8]| {
            let names = path.split(|&byte| byte == b'/');
            names.fold(image.info().root, |dir, name| {
                image.lookup(dir, name).unwrap().unwrap()
            })
        };
        let found: Vec<Ino> = paths.iter().map(|path| ino(path)).collect();
        let read: Vec<Ino> = files.iter().map(|(_, ino)| *ino).collect();
        assert_eq!(found, read);
    }
}
