//! Decodes the next fragment block while the content of the previous one is used.
//!
//! In: the indexes of the fragment blocks that are read. Out: the next one, in the cache. Writers
//! usually store small files in fragment blocks in the order of the tree, and most programs read
//! them in that order.
//! **Invariant:** at most one block at a time, on a separate thread, and only after two blocks were
//! read in order; a failure is ignored, as reading the block repeats it. A block that is elsewhere
//! is only announced.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use crate::layout::NO_FRAGMENT;

/// The block read last, and whether a block is being decoded ahead.
#[derive(Debug)]
pub(crate) struct Ahead {
    last: AtomicU32,
    busy: Arc<AtomicBool>,
}

impl Ahead {
    pub(crate) fn new() -> Self {
        Self {
            last: AtomicU32::new(NO_FRAGMENT),
            busy: Arc::default(),
        }
    }

    /// Records that a fragment block is read; returns the next one if blocks are read in order.
    pub(crate) fn next(&self, index: u32) -> Option<u32> {
        if self.last.load(Ordering::Relaxed) == index {
            return None;
        }
        let before = self.last.swap(index, Ordering::Relaxed);
        (before.checked_add(1) == Some(index)).then_some(index.saturating_add(1))
    }

    /// Runs `work` on another thread, unless other work is running.
    pub(crate) fn start(&self, work: impl FnOnce() + Send + 'static) {
        if self.busy.swap(true, Ordering::Acquire) {
            return;
        }
        let running = Running(Arc::clone(&self.busy));
        // if no thread can be started, the block is decoded when it is read
        let _ = thread::Builder::new().name("ahead".into()).spawn(move || {
            let _running = running;
            work();
        });
    }
}

/// Clears `busy` when dropped, even if the work panics or never starts.
struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_second_in_order_is_followed() {
        let ahead = Ahead::new();
        let next = [0, 0, 1, 1, 2, 7, 6, 7].map(|index| ahead.next(index));
        assert_eq!(
            next,
            [None, None, Some(2), None, Some(3), None, None, Some(8)]
        );
    }

    #[test]
    fn one_works_at_a_time_and_a_panic_ends_it() {
        let ahead = Ahead::new();
        let (send, receive) = std::sync::mpsc::channel::<()>();
        ahead.start(move || {
            let _ = receive.recv();
        });
        ahead.start(|| unreachable!("another works"));
        drop(send);
        while ahead.busy.load(Ordering::Acquire) {
            thread::yield_now();
        }
        ahead.start(|| panic!("on purpose"));
        while ahead.busy.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let (send, receive) = std::sync::mpsc::channel();
        ahead.start(move || send.send(7).unwrap());
        assert_eq!(receive.recv(), Ok(7));
    }
}
