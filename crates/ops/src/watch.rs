//! An image that counts its calls and records the order in which files were read.
//!
//! Enters an image and questions; leaves the image's answers, and numbers. **Invariant:** answers
//! are the image's own; counting takes no lock, remembering a short one for each read.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sinterfs_model::{Cursor, Dirent, Image, Ino, Inode, Result, Xattrs};

use crate::walk::{Visit, WalkStep, walk};

/// Steps of times between a power of two and the next.
const STEPS: u64 = 4;

/// What was asked of an image.
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
    /// How long all reads took together.
    pub reading: Duration,
    /// How long the median read took at most, the 90th of 100, the 99th, and the longest; to a
    /// quarter.
    pub read_times: [Duration; 4],
}

/// An image and what was asked of it.
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
#[derive(Default)]
struct ReadOrder {
    seen: HashSet<Ino>,
    files: Vec<Ino>,
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched")
            .field("activity", &self.activity())
            .finish_non_exhaustive()
    }
}

impl Watched {
    /// Watches an image; the order of the files that are read is remembered on demand, 24 bytes a
    /// file.
    pub fn new(image: Arc<dyn Image>, remember: bool) -> Self {
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
            order: remember.then(Mutex::default),
        }
    }

    /// Returns what was asked until now.
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

    /// Returns the paths of the files that were read, in the order of their first reads; of a file
    /// with several names the first of a walk. Walks the image.
    pub fn paths(&self) -> Result<Vec<Vec<u8>>> {
        let Some(order) = &self.order else {
            return Ok(Vec::new());
        };
        let files = order
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .files
            .clone();
        let mut places: std::collections::HashMap<Ino, usize> =
            files.into_iter().zip(0..).collect();
        let mut paths = vec![Vec::new(); places.len()];
        walk(&*self.image, self.image.info().root, &mut |visit| {
            if let Visit::Enter(entry) = visit
                && let Some(place) = places.remove(&entry.ino)
            {
                paths[place] = entry.path.to_vec();
            }
            let left = !places.is_empty();
            Ok(if left { WalkStep::On } else { WalkStep::Stop })
        })?;
        paths.retain(|path| !path.is_empty());
        Ok(paths)
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
        if let Some(order) = &self.order {
            let mut order = order.lock().unwrap_or_else(PoisonError::into_inner);
            if order.seen.insert(ino) {
                order.files.push(ino);
            }
        }
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
        self.image.inode(ino)
    }

    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.listings.fetch_add(1, Ordering::Relaxed);
        self.image.read_dir(dir, from, visit)
    }

    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>> {
        self.lookups.fetch_add(1, Ordering::Relaxed);
        self.image.lookup(dir, name)
    }

    fn read_link(&self, ino: Ino) -> Result<Vec<u8>> {
        self.links.fetch_add(1, Ordering::Relaxed);
        self.image.read_link(ino)
    }

    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let began = Instant::now();
        let read = self.image.read_at(ino, offset, buf);
        self.count_read(ino, began, &read);
        read
    }

    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        self.xattrs.fetch_add(1, Ordering::Relaxed);
        self.image.xattrs(ino)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use super::*;

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
        let watched = Watched::new(image.clone(), true);
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
        let mut bytes = 0;
        for (_, ino) in files.iter().chain(&files) {
            let (mut ours, mut theirs) = (vec![0; 100], vec![0; 100]);
            let read = watched.read_at(*ino, 0, &mut ours).unwrap();
            assert_eq!(read, image.read_at(*ino, 0, &mut theirs).unwrap());
            assert_eq!(ours, theirs);
            bytes += read as u64;
        }
        assert!(watched.read_at(Ino(u64::MAX), 0, &mut [0]).is_err());
        let activity = watched.activity();
        let reads = 2 * files.len() as u64 + 1;
        assert_eq!((activity.reads, activity.bytes), (reads, bytes));
        assert_eq!((activity.failed, activity.lookups), (1, 0));
        assert!(activity.read_times.is_sorted());
        let paths = watched.paths().unwrap();
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
        assert!(Watched::new(image, false).paths().unwrap().is_empty());
    }
}
