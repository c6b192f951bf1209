//! Files that are read in turn, and the blocks that their readers need next.
//!
//! In: reads of files. Out: how much of a file is worth preparing for, and which blocks are kept
//! until they are read. **Invariant:** a file counts as read in turn only after several reads, each
//! where the last one ended; what is kept for all readers together is at most half of the cache,
//! and nothing is kept for a reader that stopped.

use std::sync::Arc;
use std::time::Duration;

use super::block::{Block, InUse};
use crate::locks::{Instant, Mutex};

/// The part of a block that a reader needs, from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// The block.
    pub key: u128,
    /// The end of the bytes that are needed.
    pub end: u64,
}

/// The bytes of a file that must have been read in turn.
const THRESHOLD: u64 = 256 << 10;

/// How much is prepared for each byte that was read in turn.
const FACTOR: u64 = 16;

/// The bytes after which the next needed blocks are determined again.
const STEP: u64 = 128 << 10;

/// The most files that are watched.
const READERS: usize = 16;

/// The time after which a reader is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(5);

/// The files that are being read.
#[derive(Default)]
pub(super) struct FileReaders {
    readers: Mutex<Vec<FileReader>>,
}

/// A file that is being read.
struct FileReader {
    file: u128,
    /// The end of the last read.
    next: u64,
    /// The bytes that were read in turn.
    run: u64,
    /// The bytes read since needs were last found out; `None` before the first time.
    unplanned: Option<u64>,
    at: Instant,
    kept: Vec<KeptBlock>,
}

/// A block that a reader needs next.
struct KeptBlock {
    need: Need,
    /// Set when the block is opened.
    block: Option<InUse>,
    /// Whether a thread prepares it.
    is_busy: bool,
    /// Whether that failed: the reader gets the error, and it is not tried again.
    is_failed: bool,
    /// The most bytes that it takes, decoded.
    size: u64,
}

impl KeptBlock {
    fn is_done(&self) -> bool {
        let block = self.block.as_ref();
        self.is_failed || block.is_some_and(|block| block.has(self.need.end))
    }
}

impl FileReader {
    fn new(file: u128, now: Instant) -> Self {
        Self {
            file,
            next: 0,
            run: 0,
            unplanned: None,
            at: now,
            kept: Vec::new(),
        }
    }

    /// Adds a read. Of two requests that the kernel sends at once, the second one may come first.
    fn add(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len);
        let is_late = self.run > 0 && end == self.next.saturating_sub(len);
        let is_early = self.run > 0 && offset == self.next.saturating_add(len);
        self.unplanned = self.unplanned.map(|bytes| bytes.saturating_add(len));
        if is_late {
            return;
        }
        if offset != self.next && !is_early {
            self.run = 0;
            self.unplanned = None;
            self.kept.clear();
        }
        self.run = self.run.saturating_add(len);
        self.next = end;
    }

    /// Returns how much is worth preparing for, once in a while.
    fn ahead(&mut self, len: u64) -> Option<u64> {
        let is_due = self.unplanned.is_none_or(|bytes| bytes >= STEP);
        if !is_due || self.run < THRESHOLD || self.run <= len {
            return None;
        }
        self.unplanned = Some(0);
        Some(len.saturating_add(self.run.saturating_mul(FACTOR)))
    }
}

impl FileReaders {
    /// Adds a read of a file. Returns how many of its bytes from `offset` on are worth preparing
    /// for; `None` if that was found out shortly before, or if the file is not read in turn.
    pub(super) fn add(&self, file: u128, offset: u64, len: u64) -> Option<u64> {
        let now = Instant::now();
        let mut readers = self.readers.lock();
        readers.retain(|reader| now.saturating_duration_since(reader.at) < FORGOTTEN);
        let found = readers.iter().position(|reader| reader.file == file);
        let at = match found {
            Some(at) => at,
            None => {
                if readers.len() >= READERS {
                    let oldest = readers.iter().enumerate().min_by_key(|(_, r)| r.at);
                    let oldest = oldest.map_or(0, |(at, _)| at);
                    readers.swap_remove(oldest);
                }
                readers.push(FileReader::new(file, now));
                readers.len().saturating_sub(1)
            }
        };
        let reader = readers.get_mut(at)?;
        reader.at = now;
        reader.add(offset, len);
        reader.ahead(len)
    }

    /// Takes what a reader needs next, blocks of at most `size` bytes. As many of them are kept as
    /// are `most` bytes for all readers together, and nothing else any more for this reader.
    /// Returns what no thread prepares yet.
    pub(super) fn plan(
        &self,
        file: u128,
        needs: &[Need],
        (size, most): (u64, u64),
        cached: impl Fn(u128) -> Option<Arc<Block>>,
    ) -> Vec<Need> {
        let mut readers = self.readers.lock();
        let of_others = readers.iter().filter(|reader| reader.file != file);
        let of_others = of_others.flat_map(|reader| &reader.kept);
        let others = of_others.fold(0, |sum: u64, kept| sum.saturating_add(kept.size));
        let most = most.saturating_sub(others) / size.max(1);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let Some(reader) = readers.iter_mut().find(|reader| reader.file == file) else {
            return Vec::new();
        };
        let needs = needs.get(..most.min(needs.len())).unwrap_or_default();
        let is_needed = |key| needs.iter().any(|need| need.key == key);
        reader.kept.retain(|kept| is_needed(kept.need.key));
        let mut open = Vec::new();
        for need in needs {
            let of_same = |kept: &&mut KeptBlock| kept.need.key == need.key;
            let kept = match reader.kept.iter_mut().find(of_same) {
                Some(kept) => kept,
                None => {
                    reader.kept.push(KeptBlock {
                        need: *need,
                        block: cached(need.key).map(InUse::new),
                        is_busy: false,
                        is_failed: false,
                        size,
                    });
                    match reader.kept.last_mut() {
                        Some(kept) => kept,
                        None => continue,
                    }
                }
            };
            kept.need = *need;
            if !kept.is_busy && !kept.is_done() {
                open.push(*need);
            }
        }
        open
    }

    /// Begins to prepare a block, if a reader still needs it, and nobody does or did it.
    pub(super) fn begin(&self, file: u128, key: u128) -> Option<Busy<'_>> {
        let is_free = self.with(file, key, |kept| {
            let is_free = !kept.is_busy && !kept.is_done();
            kept.is_busy |= is_free;
            is_free
        })?;
        is_free.then(|| Busy {
            readers: self,
            file,
            key,
        })
    }

    /// Keeps a block that is prepared in the cache; returns how far it is needed, if it still is.
    pub(super) fn keep(&self, file: u128, key: u128, block: &Arc<Block>) -> Option<u64> {
        self.with(file, key, |kept| {
            kept.block = Some(InUse::new(Arc::clone(block)));
            kept.need.end
        })
    }

    /// Keeps a block no more that cannot be prepared.
    pub(super) fn leave(&self, file: u128, key: u128) {
        // the reader may be gone
        let _ = self.with(file, key, |kept| {
            kept.block = None;
            kept.is_failed = true;
        });
    }

    /// Forgets all readers.
    pub(super) fn clear(&self) {
        self.readers.lock().clear();
    }

    fn with<T>(&self, file: u128, key: u128, call: impl FnOnce(&mut KeptBlock) -> T) -> Option<T> {
        let mut readers = self.readers.lock();
        let reader = readers.iter_mut().find(|reader| reader.file == file)?;
        let mut kept = reader.kept.iter_mut();
        kept.find(|kept| kept.need.key == key).map(call)
    }
}

/// The preparation of a block; dropping it ends it.
pub(super) struct Busy<'a> {
    readers: &'a FileReaders,
    file: u128,
    key: u128,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let end = |kept: &mut KeptBlock| kept.is_busy = false;
        // the reader may be gone
        let _ = self.readers.with(self.file, self.key, end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 128 << 10;

    #[test]
    fn only_reads_in_turn_count() {
        let files = FileReaders::default();
        let add = |file, at: u64| files.add(file, at * UNIT, UNIT);
        let ahead = |units: u64| Some(UNIT + units * UNIT * FACTOR);
        assert_eq!(add(1, 0), None);
        assert_eq!(add(1, 1), ahead(2));
        assert_eq!(add(1, 2), ahead(3));
        // another file, and a place elsewhere
        assert_eq!(add(2, 3), None);
        assert_eq!(add(1, 9), None);
        assert_eq!(add(1, 10), ahead(2));
        // what was found out shortly before
        assert_eq!(files.add(1, 11 * UNIT, UNIT / 2), None);
    }

    #[test]
    fn requests_that_overtake_each_other_are_in_turn() {
        let files = FileReaders::default();
        let mut due = 0;
        for at in [0, 1, 3, 2, 4, 6, 5, 7] {
            due += usize::from(files.add(1, at * UNIT, UNIT).is_some());
        }
        assert!(due >= 5, "{due}");
    }

    #[test]
    fn what_is_kept_is_limited_for_all_together() {
        let files = FileReaders::default();
        let needs = [1, 2, 3].map(|key| Need { key, end: 5 });
        for file in [1, 2] {
            for at in [0, 1] {
                let _ = files.add(file, at * UNIT, UNIT);
            }
        }
        let nothing = |_| None;
        assert_eq!(files.plan(1, &needs, (4, 8), nothing), needs[..2]);
        assert_eq!(files.plan(2, &needs, (4, 12), nothing), needs[..1]);
        let busy = files.begin(1, 1).unwrap();
        assert!(files.begin(1, 1).is_none() && files.begin(1, 9).is_none());
        assert_eq!(files.plan(1, &needs, (4, 12), nothing), needs[1..2]);
        drop(busy);
        assert_eq!(files.plan(1, &needs, (4, 12), nothing), needs[..2]);
        // what fails is not tried again
        files.leave(1, 1);
        assert!(files.begin(1, 1).is_none());
        assert_eq!(files.plan(1, &needs, (4, 12), nothing), needs[1..2]);
        // blocks of another image are larger
        assert!(files.plan(2, &needs, (9, 12), nothing).is_empty());
        // a reader that needs none of them any more
        assert!(files.plan(1, &[], (4, 12), nothing).is_empty());
        assert_eq!(files.plan(2, &needs, (4, 12), nothing), needs);
    }
}
