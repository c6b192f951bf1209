//! Decodes blocks ahead of the thread that writes, in the order in which it needs them.
//!
//! Enters the order of contents; leaves blocks in the image's cache of them. **Invariant:** no more than
//! a window of decoded bytes is ahead, and nothing depends on it but the time. Memory is 48 bytes a block.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use model::{ExtentSource, Image, Ino, Result};

use super::sequence::{Sequence, spot};
use crate::plan::Plan;

/// All blocks that are needed, in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    blocks: Vec<Need>,
}

/// A block and what is needed of it. Positions count bytes of data from the start of the archive.
#[derive(Debug, Clone, Copy)]
struct Need {
    /// A file that needs the most of it, and where in the file the last byte of that is.
    ino: Ino,
    at: u64,
    /// How many bytes from its start are needed.
    len: u64,
    first: u64,
    last: u64,
    /// Bytes of all blocks before this one.
    before: u64,
}

impl Schedule {
    /// Finds out which blocks are needed when.
    pub(super) fn new(image: &dyn Image, plan: &Plan, sequence: &Sequence) -> Result<Self> {
        let mut blocks: Vec<Need> = Vec::new();
        let mut known: HashMap<u64, usize> = HashMap::new();
        let mut position = 0_u64;
        for &name in &sequence.names {
            let Some(leaf) = sequence.content_of(plan, name) else {
                continue;
            };
            let ino = plan.leaf(leaf).ino;
            let mut add = |block, need: Need| {
                let index = *known.entry(block).or_insert(blocks.len());
                match blocks.get_mut(index) {
                    Some(known) => known.widen(need),
                    None => blocks.push(need),
                }
            };
            let listed = image.extents(ino, 0, &mut |extent| {
                if let ExtentSource::Block { block, offset } = extent.source {
                    let need = Need {
                        ino,
                        at: extent.offset.saturating_add(extent.len).saturating_sub(1),
                        len: offset.saturating_add(extent.len),
                        first: position,
                        last: position,
                        before: 0,
                    };
                    add(block, need);
                    position = position.saturating_add(extent.len);
                }
                ControlFlow::Continue(())
            });
            listed.map_err(|error| error.path(plan.path(spot(plan, name))))?;
        }
        let mut before = 0_u64;
        for need in &mut blocks {
            need.before = before;
            before = before.saturating_add(need.len);
        }
        Ok(Self { blocks })
    }

    /// Tells how many bytes lie between first and last use at most.
    pub(super) fn bytes_at_once(&self) -> u64 {
        let mut ends: Vec<(u64, u64)> = self
            .blocks
            .iter()
            .map(|need| (need.last, need.len))
            .collect();
        ends.sort_unstable();
        let mut ends = ends.into_iter().peekable();
        let (mut now, mut most) = (0_u64, 0_u64);
        for need in &self.blocks {
            while let Some((_, len)) = ends.next_if(|(last, _)| *last < need.first) {
                now = now.saturating_sub(len);
            }
            now = now.saturating_add(need.len);
            most = most.max(now);
        }
        most
    }

    /// Runs work while so many threads decode ahead of it, by no more than `window` bytes.
    pub(super) fn run<T>(
        &self,
        image: &dyn Image,
        threads: usize,
        window: u64,
        work: impl FnOnce(&mut Position<'_>) -> T,
    ) -> T {
        let race = Race {
            schedule: self,
            window,
            next: AtomicUsize::new(0),
            state: Mutex::default(),
            moved: Condvar::new(),
        };
        let mut position = Position {
            race: &race,
            passed: 0,
        };
        if threads <= 1 || self.blocks.is_empty() {
            return work(&mut position);
        }
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.blocks.len()) {
                scope.spawn(|| race.decode(image));
            }
            // dropped at the end of the work, even by a panic: then the threads end
            let mut position = position;
            work(&mut position)
        })
    }
}

impl Need {
    /// Counts another use of the same block.
    fn widen(&mut self, other: Self) {
        self.last = other.last;
        if other.len > self.len {
            (self.ino, self.at, self.len) = (other.ino, other.at, other.len);
        }
    }
}

/// What the threads share.
struct Race<'a> {
    schedule: &'a Schedule,
    window: u64,
    next: AtomicUsize,
    state: Mutex<State>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Bytes of blocks whose first use is over.
    passed: u64,
    stop: bool,
}

impl Race<'_> {
    fn decode(&self, image: &dyn Image) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(need) = self.schedule.blocks.get(index) else {
                return;
            };
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            let too_far = |state: &mut State| {
                !state.stop && need.before >= state.passed.saturating_add(self.window)
            };
            let state = self.moved.wait_while(state, too_far);
            let state = state.unwrap_or_else(PoisonError::into_inner);
            if state.stop {
                return;
            }
            drop(state);
            // the last byte: all before it is decoded on the way. An error is for who needs the bytes.
            let _ = image.read_at(need.ino, need.at, &mut [0]);
        }
    }
}

/// Where the work is; ends the race when dropped.
pub(super) struct Position<'a> {
    race: &'a Race<'a>,
    /// How many blocks the work has come to.
    passed: usize,
}

impl Position<'_> {
    /// Tells that so many bytes of data have been written in all.
    pub(super) fn reached(&mut self, bytes: u64) {
        let blocks = &self.race.schedule.blocks;
        let before = self.passed;
        while blocks
            .get(self.passed)
            .is_some_and(|need| need.first < bytes)
        {
            self.passed += 1;
        }
        if self.passed > before {
            let passed = blocks.get(self.passed).map_or(u64::MAX, |need| need.before);
            self.tell(|state| state.passed = passed);
        }
    }

    fn tell(&self, change: impl FnOnce(&mut State)) {
        change(
            &mut self
                .race
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        );
        self.race.moved.notify_all();
    }
}

impl Drop for Position<'_> {
    fn drop(&mut self) {
        self.tell(|state| state.stop = true);
    }
}
