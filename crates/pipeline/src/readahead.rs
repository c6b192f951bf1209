//! Reads contents ahead of the segment stage, in storage order, within a budget of bytes.
//!
//! Enters the contents in their final order; leaves their items in exactly that order. Reader
//! threads claim the next contents (several small ones at once) and put their items into slots; the
//! consumer takes items from the first slot.
//! **Invariant:** at most `BUDGET` bytes and two buffers wait in the slots. A reader of the content
//! that the consumer waits for never waits for space, so the two cannot block each other.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sinterfs_model::{Category, Error, Kind, Observer, Result, Tally};
use sinterfs_workers::{catch_panic, lock};

use crate::dedupe::Contents;
use crate::paths;
use crate::read::{ContentItem, ContentReader, ContentSink, READ_SIZE, ReadRequest, SinkClosed};

/// The most bytes that wait for the consumer.
pub(crate) const BUDGET: u64 = 32 << 20;

/// Bytes of small contents that a reader claims at once, to lock less often.
const CLAIM_BYTES: u64 = 256 << 10;

/// The most contents that a reader claims at once.
const CLAIM_ITEMS: usize = 64;

/// The most contents claimed ahead of the consumer, a few dozen bytes each.
const SLOTS: usize = 1 << 14;

/// The contents to read, in order.
pub(crate) struct ReadPlan<'a> {
    pub contents: &'a Contents,
    pub order: &'a [u32],
    /// Whether contents of one category are adjacent.
    pub grouped: bool,
    pub reader: ContentReader<'a>,
}

impl ReadPlan<'_> {
    /// Returns the category whose last content is right before a position, if there is one.
    pub fn category_done_before(&self, position: usize) -> Option<Category> {
        let category = |position: usize| {
            let content = *self.order.get(position)?;
            self.contents.items[content as usize].category
        };
        let before = category(position.checked_sub(1)?)?;
        let together = self.grouped || before == Category::Hot;
        (together && category(position) != Some(before)).then_some(before)
    }

    /// Returns the number of contents and of their bytes, holes included.
    pub fn total(&self) -> Tally {
        let sizes = (0..self.order.len()).map(|position| self.size(position));
        Tally {
            items: self.order.len() as u64,
            bytes: sizes.fold(0, u64::saturating_add),
            stored: 0,
        }
    }

    fn size(&self, position: usize) -> u64 {
        let item = &self.contents.items[self.order[position] as usize];
        paths::size(self.reader.tree, item.original)
    }

    /// Returns the contents to claim from a position on, one large or several small, and their
    /// bytes.
    fn claim(&self, from: usize) -> (Range<usize>, u64) {
        let mut bytes = self.size(from);
        let mut to = from + 1;
        while to < self.order.len() && to - from < CLAIM_ITEMS && bytes < CLAIM_BYTES {
            let more = self.size(to);
            if bytes + more > CLAIM_BYTES {
                break;
            }
            (bytes, to) = (bytes + more, to + 1);
        }
        (from..to, bytes)
    }

    fn read(
        &self,
        position: usize,
        sink: &mut dyn ContentSink,
    ) -> std::result::Result<(), SinkClosed> {
        let item = &self.contents.items[self.order[position] as usize];
        let request = ReadRequest {
            file: item.original,
            category: item.category,
            known: item.known.is_some(),
            duplicates: self.contents.duplicates(item),
        };
        self.reader.read(&request, sink)
    }
}

/// Items read ahead.
pub(crate) struct Readahead {
    state: Mutex<State>,
    space: Condvar,
    ready: Condvar,
}

struct State {
    /// The first position not claimed yet.
    next: usize,
    /// The position whose items the consumer takes, which is the first slot's.
    head: usize,
    /// Bytes that wait for the consumer or are being read.
    used: u64,
    slots: VecDeque<VecDeque<ContentItem>>,
    /// Readers that wait for space.
    waiting: usize,
    closed: bool,
    failure: Option<Error>,
}

impl State {
    /// Returns whether to wake waiting readers: the consumer may wait for one of them, or there is
    /// space for much more than one buffer.
    fn has_much_space(&self) -> bool {
        self.slots.front().is_none_or(VecDeque::is_empty)
            || (self.used <= BUDGET / 2 && self.slots.len() <= SLOTS / 2)
    }
}

impl Readahead {
    pub fn new() -> Self {
        let state = State {
            next: 0,
            head: 0,
            used: 0,
            slots: VecDeque::new(),
            waiting: 0,
            closed: false,
            failure: None,
        };
        Self {
            state: Mutex::new(state),
            space: Condvar::new(),
            ready: Condvar::new(),
        }
    }

    /// Reads contents until none is left or the consumer is gone. The body of each reader thread.
    pub fn fill(&self, plan: &ReadPlan<'_>) {
        let result = catch_panic("read", || {
            while let Some((range, bytes)) = self.claim(plan) {
                let read = if bytes > CLAIM_BYTES {
                    plan.read(range.start, &mut Streaming::new(self, range.start))
                } else {
                    self.fill_small(plan, range, bytes)
                };
                if read.is_err() {
                    break;
                }
            }
            Ok(())
        });
        if let Err(error) = result {
            lock(&self.state).failure.get_or_insert(error);
            self.close();
        }
    }

    /// Returns the next item of the content at the head; `End` makes the next content the head.
    pub fn take(&self, observer: &dyn Observer) -> Result<ContentItem> {
        let mut state = lock(&self.state);
        loop {
            if let Some(error) = state.failure.take() {
                return Err(error);
            }
            if let Some(item) = state.slots.front_mut().and_then(VecDeque::pop_front) {
                state.used -= item.held();
                if matches!(item, ContentItem::End { .. }) {
                    state.slots.pop_front();
                    state.head += 1;
                }
                let wake = state.waiting > 0 && state.has_much_space();
                drop(state);
                if wake {
                    self.space.notify_all();
                }
                return Ok(item);
            }
            if state.closed {
                return Err(Error::new(Kind::Cancelled, "reading ended early"));
            }
            let wait = self.ready.wait_timeout(state, Duration::from_millis(200));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            observer.check_cancelled()?;
        }
    }

    /// Stops all readers.
    pub fn close(&self) {
        lock(&self.state).closed = true;
        self.space.notify_all();
        self.ready.notify_all();
    }

    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        state = self
            .space
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Claims contents; space for the bytes of small ones is reserved.
    fn claim(&self, plan: &ReadPlan<'_>) -> Option<(Range<usize>, u64)> {
        let mut state = lock(&self.state);
        loop {
            if state.closed || state.next >= plan.order.len() {
                return None;
            }
            let (range, bytes) = plan.claim(state.next);
            let small = bytes <= CLAIM_BYTES;
            let space =
                state.used + bytes.min(READ_SIZE as u64) <= BUDGET && state.slots.len() < SLOTS;
            if space || state.next == state.head {
                state.next = range.end;
                state.slots.extend(range.clone().map(|_| VecDeque::new()));
                if small {
                    state.used += bytes;
                }
                return Some((range, bytes));
            }
            state = self.wait(state);
        }
    }

    /// Reads small contents whose space is reserved and puts them into their slots together.
    fn fill_small(
        &self,
        plan: &ReadPlan<'_>,
        range: Range<usize>,
        reserved: u64,
    ) -> std::result::Result<(), SinkClosed> {
        let mut batch: Vec<Vec<ContentItem>> = Vec::with_capacity(range.len());
        for position in range.clone() {
            let items = Vec::with_capacity(2);
            let mut gathering = Gathering { ahead: self, items };
            plan.read(position, &mut gathering)?;
            batch.push(gathering.items);
        }
        let held: u64 = batch.iter().flatten().map(ContentItem::held).sum();
        let mut state = lock(&self.state);
        if state.closed {
            return Err(SinkClosed);
        }
        state.used = (state.used - reserved) + held;
        let first = range.start - state.head;
        for (slot, items) in state.slots.range_mut(first..).zip(batch) {
            slot.extend(items);
        }
        drop(state);
        self.ready.notify_one();
        Ok(())
    }
}

/// Collects the items of a small content, whose space is reserved.
struct Gathering<'a> {
    ahead: &'a Readahead,
    items: Vec<ContentItem>,
}

impl ContentSink for Gathering<'_> {
    fn reserve(&mut self, _: u64) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn is_closed(&self) -> bool {
        lock(&self.ahead.state).closed
    }

    fn push(&mut self, item: ContentItem) -> std::result::Result<(), SinkClosed> {
        self.items.push(item);
        Ok(())
    }
}

/// Passes on the items of a large content one by one.
struct Streaming<'a> {
    ahead: &'a Readahead,
    position: usize,
    /// Bytes reserved for the next item.
    reserved: u64,
}

impl<'a> Streaming<'a> {
    fn new(ahead: &'a Readahead, position: usize) -> Self {
        Self {
            ahead,
            position,
            reserved: 0,
        }
    }
}

impl ContentSink for Streaming<'_> {
    fn reserve(&mut self, bytes: u64) -> std::result::Result<(), SinkClosed> {
        let mut state = lock(&self.ahead.state);
        loop {
            if state.closed {
                return Err(SinkClosed);
            }
            let starving =
                self.position == state.head && state.slots.front().is_some_and(VecDeque::is_empty);
            if starving || state.used + bytes <= BUDGET {
                state.used += bytes;
                self.reserved += bytes;
                return Ok(());
            }
            state = self.ahead.wait(state);
        }
    }

    fn is_closed(&self) -> bool {
        lock(&self.ahead.state).closed
    }

    fn push(&mut self, item: ContentItem) -> std::result::Result<(), SinkClosed> {
        let mut state = lock(&self.ahead.state);
        if state.closed {
            return Err(SinkClosed);
        }
        // an item may be shorter than reserved, or never come
        state.used = state.used - std::mem::take(&mut self.reserved) + item.held();
        let at = self.position - state.head;
        if let Some(slot) = state.slots.get_mut(at) {
            slot.push_back(item);
        }
        drop(state);
        if at == 0 {
            self.ahead.ready.notify_one();
        }
        Ok(())
    }
}
