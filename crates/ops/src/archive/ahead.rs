//! Decodes blocks ahead of the thread that writes, in the order in which it needs them.
//!
//! Enters a schedule; leaves blocks in the image's cache of them, and bytes for much later in a
//! file. **Invariants:** no more than a window of decoded bytes is ahead; a block is released when
//! the thread that writes is past its last use and the one that decodes has what is kept of it, and
//! not before. Nothing depends on it but the time. Memory is 6 bytes a block on top of the
//! schedule.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use sinterfs_model::{Image, Ino, Result};

use super::schedule::{Need, Schedule};

/// A thread has taken it on to decode a block.
const TAKEN: u8 = 1;
/// That thread has done with the block.
const DECODED: u8 = 2;
/// The ranges of the block that are needed much later are in the file.
const SPILLED: u8 = 4;
/// The thread that writes has done with the block.
const PASSED: u8 = 8;

impl Schedule {
    /// Runs work while `threads` threads decode ahead of it, by no more than `window` bytes.
    pub(super) fn run<T>(
        &self,
        image: &dyn Image,
        threads: usize,
        window: u64,
        work: impl FnOnce(&mut Position<'_>) -> T,
    ) -> T {
        let shared = SharedState {
            schedule: self,
            image,
            window,
            next: AtomicUsize::new(0),
            done: self.blocks.iter().map(|_| AtomicU8::new(0)).collect(),
            state: Mutex::default(),
            moved: Condvar::new(),
        };
        let mut position = Position::new(&shared);
        if threads <= 1 || self.blocks.is_empty() {
            return work(&mut position);
        }
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.blocks.len()) {
                // where there is none, the work takes on all blocks itself
                if sinterfs_workers::spawn(scope, "decode", || shared.decode_all()).is_err() {
                    break;
                }
            }
            // dropped at the end of the work, even by a panic: then the threads end
            let mut position = position;
            work(&mut position)
        })
    }
}

/// The state that the threads share.
struct SharedState<'a> {
    schedule: &'a Schedule,
    image: &'a dyn Image,
    window: u64,
    next: AtomicUsize,
    /// The state of each block.
    done: Vec<AtomicU8>,
    state: Mutex<Progress>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Progress {
    /// Bytes of blocks whose first use is over.
    passed: u64,
    stop: bool,
}

/// Stops all threads if its thread panics, so that none waits for it.
struct Runner<'a>(&'a SharedState<'a>);

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.update(|state| state.stop = true);
        }
    }
}

impl SharedState<'_> {
    fn decode_all(&self) {
        let _runner = Runner(self);
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(need) = self.schedule.blocks.get(index) else {
                return;
            };
            let too_far = |state: &mut Progress| {
                !state.stop && need.before >= state.passed.saturating_add(self.window)
            };
            let state = self.moved.wait_while(self.lock(), too_far);
            if state.unwrap_or_else(PoisonError::into_inner).stop {
                return;
            }
            if self.take(index) {
                if !self.schedule.spill.has(index) {
                    // the last byte: all before it is decoded on the way. An error is reported
                    // where the bytes are needed.
                    let _ = self.image.read_at(need.ino, need.at, &mut [0]);
                }
                self.keep(index, need);
            }
        }
    }

    /// Takes a block on, if no other thread has.
    fn take(&self, index: usize) -> bool {
        let done = self.done.get(index);
        done.is_some_and(|done| done.fetch_or(TAKEN, Ordering::AcqRel) & TAKEN == 0)
    }

    /// Writes the ranges of a block that are needed much later to the file, and releases the block.
    fn keep(&self, index: usize, need: &Need) {
        if !self.schedule.spill.has(index) {
            return self.finish(index, need, DECODED);
        }
        let kept = self.schedule.spill.keep(self.image, index);
        self.finish(index, need, if kept { DECODED | SPILLED } else { DECODED });
        drop(self.lock());
        self.moved.notify_all();
    }

    /// Notes the end of a use of a block; the last use releases it.
    fn finish(&self, index: usize, need: &Need, what: u8) {
        const ALL: u8 = DECODED | PASSED;
        let Some(done) = self.done.get(index) else {
            return;
        };
        let before = done.fetch_or(what, Ordering::AcqRel);
        if before & ALL != ALL && (before | what) & ALL == ALL {
            self.image.release(need.block);
        }
    }

    /// Waits until a block has been decoded; returns whether its late ranges are in the file.
    fn wait_for(&self, index: usize) -> bool {
        let Some(done) = self.done.get(index) else {
            return false;
        };
        let is_open = || done.load(Ordering::Acquire) & DECODED == 0;
        if is_open() {
            let wait = |state: &mut Progress| !state.stop && is_open();
            drop(self.moved.wait_while(self.lock(), wait));
        }
        done.load(Ordering::Acquire) & SPILLED != 0
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.lock());
        self.moved.notify_all();
    }
}

/// The position of the work; stops the threads when dropped.
pub(super) struct Position<'a> {
    shared: &'a SharedState<'a>,
    at: u64,
    /// The number of blocks that the work has reached.
    passed: usize,
    /// The number of blocks it has looked at before.
    begun: usize,
    /// Blocks by the end of their last use, and how many of them are over.
    ending: Vec<u32>,
    over: usize,
    /// The number of contents that were written, and of far uses that are over.
    contents: usize,
    far: usize,
}

impl<'a> Position<'a> {
    fn new(shared: &'a SharedState<'a>) -> Self {
        let blocks = &shared.schedule.blocks;
        let mut ending: Vec<u32> = (0..).take(blocks.len()).collect();
        ending.sort_by_key(|index| blocks.get(*index as usize).map(|need| need.last));
        Self {
            shared,
            at: 0,
            passed: 0,
            begun: 0,
            ending,
            over: 0,
            contents: 0,
            far: 0,
        }
    }

    /// Reads the next bytes of data, which a file has at an offset; fewer than requested only at
    /// its end.
    pub(super) fn read(&mut self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let ahead = done as u64;
            let count = self.read_some(ino, offset + ahead, self.at + ahead, rest)?;
            if count == 0 {
                break;
            }
            done += count;
        }
        Ok(done)
    }

    /// Reads the bytes at a position that are stored contiguously.
    fn read_some(&mut self, ino: Ino, offset: u64, at: u64, buf: &mut [u8]) -> Result<usize> {
        let mut end = self.begin(at);
        let shared = self.shared;
        let spill = &shared.schedule.spill;
        match spill.next(&mut self.far, at) {
            Some(kept) if kept.position > at => end = end.min(kept.position),
            Some(kept) if shared.wait_for(kept.block) => {
                let skip = at - kept.position;
                let part = front(buf, kept.len - skip);
                spill.read(kept.place + skip, part)?;
                return Ok(part.len());
            }
            _ => {}
        }
        shared.image.read_at(ino, offset, front(buf, end - at))
    }

    /// Takes on the blocks that are needed now and that no thread has, so that none is missed;
    /// returns where the next one is needed.
    fn begin(&mut self, at: u64) -> u64 {
        while let Some(need) = self.shared.schedule.blocks.get(self.begun) {
            if need.first > at {
                return need.first;
            }
            if self.shared.take(self.begun) {
                self.shared.keep(self.begun, need);
            }
            self.begun += 1;
        }
        u64::MAX
    }

    /// Notes that `bytes` more bytes of data have been written.
    pub(super) fn advance(&mut self, bytes: u64) {
        self.reach(self.at.saturating_add(bytes));
    }

    /// Reports the end of a content, even if it was written only in part.
    pub(super) fn end_content(&mut self) {
        let end = self.shared.schedule.ends.get(self.contents);
        self.contents += 1;
        self.reach(end.map_or(self.at, |end| self.at.max(*end)));
    }

    fn reach(&mut self, at: u64) {
        self.at = at;
        let blocks = &self.shared.schedule.blocks;
        let before = self.passed;
        while blocks.get(self.passed).is_some_and(|need| need.first < at) {
            self.passed += 1;
        }
        while let Some(&index) = self.ending.get(self.over) {
            match blocks.get(index as usize) {
                Some(need) if need.last <= at => {
                    self.shared.finish(index as usize, need, PASSED);
                }
                _ => break,
            }
            self.over += 1;
        }
        if self.passed > before {
            let passed = blocks.get(self.passed).map_or(u64::MAX, |need| need.before);
            self.shared.update(|state| state.passed = passed);
        }
    }
}

impl Drop for Position<'_> {
    fn drop(&mut self) {
        self.shared.update(|state| state.stop = true);
    }
}

fn front(buf: &mut [u8], len: u64) -> &mut [u8] {
    let len = usize::try_from(len).map_or(buf.len(), |len| len.min(buf.len()));
    buf.split_at_mut(len).0
}
