//! Pieces of all lengths and alignments are allocated, resized and freed, by threads, too.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use super::*;

const LAYOUTS: [(usize, usize); 8] = [
    (1, 1),
    (LARGE - 1, 8),
    (LARGE, 1),
    (LARGE + 1, 64),
    (LARGE, 128),
    (3 * LARGE + 7, 4096),
    (LONGEST_KEPT, 16),
    (LONGEST_KEPT * 3 + 5, 16),
];

fn layouts() -> impl Iterator<Item = Layout> {
    LAYOUTS
        .into_iter()
        .map(|(len, align)| Layout::from_size_align(len, align).unwrap())
}

/// A piece that is freed when it is dropped.
struct Piece(*mut u8, Layout);

impl Piece {
    fn new(start: *mut u8, layout: Layout) -> Self {
        assert!(!start.is_null());
        assert!(start.addr().is_multiple_of(layout.align()), "{layout:?}");
        Self(start, layout)
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: it was allocated with that length, and filled.
        unsafe { std::slice::from_raw_parts_mut(self.0, self.1.size()) }
    }

    fn resize(&mut self, len: usize) {
        // SAFETY: it was allocated with that layout.
        let start = unsafe { LargePiecesMapped.realloc(self.0, self.1, len) };
        let layout = Layout::from_size_align(len, self.1.align()).unwrap();
        assert!(!start.is_null() && start.addr().is_multiple_of(layout.align()));
        (self.0, self.1) = (start, layout);
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        // SAFETY: it was allocated with that layout.
        unsafe { LargePiecesMapped.dealloc(self.0, self.1) }
    }
}

/// Allocates, and fills with a byte.
fn filled(layout: Layout, byte: u8) -> Piece {
    // SAFETY: no layout is empty.
    let start = unsafe { LargePiecesMapped.alloc(layout) };
    let mut piece = Piece::new(zeroed(start, layout.size()), layout);
    piece.bytes().fill(byte);
    piece
}

#[test]
fn pieces_that_were_used_before_are_zeros_when_zeros_are_asked_for() {
    for layout in layouts().chain(layouts()) {
        drop(filled(layout, 0xff));
        // SAFETY: no layout is empty.
        let mut piece = Piece::new(unsafe { LargePiecesMapped.alloc_zeroed(layout) }, layout);
        assert!(piece.bytes().iter().all(|&byte| byte == 0), "{layout:?}");
    }
}

#[test]
fn resizing_keeps_the_bytes() {
    for layout in layouts() {
        for other in layouts() {
            let mut piece = filled(layout, 7);
            piece.resize(other.size());
            let kept = layout.size().min(other.size());
            assert!(piece.bytes().iter().take(kept).all(|&byte| byte == 7));
            piece.bytes().fill(9);
            piece.resize(layout.size());
            assert!(piece.bytes().iter().take(kept).all(|&byte| byte == 9));
        }
    }
}

#[test]
fn without_mappings_the_allocator_of_the_system_is_used() {
    for layout in layouts().filter(|layout| is_large(*layout)) {
        let mut piece = Piece::new(zeroed(unmapped(layout), layout.size()), layout);
        assert!(!is_mapped(piece.0, layout));
        piece.bytes().fill(3);
        piece.resize(layout.size() * 2);
        let kept = piece.bytes().iter().take(layout.size());
        assert!(kept.copied().all(|byte| byte == 3));
        // a piece of the system's allocator is freed by it, too
        drop(Piece::new(unmapped(layout), layout));
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn more_than_any_address_space_is_refused() {
    let all = Layout::from_size_align(isize::MAX as usize - 63, 64).unwrap();
    // SAFETY: the layout is not empty.
    assert!(unsafe { LargePiecesMapped.alloc(all) }.is_null());
}

#[test]
fn lengths_of_mappings_are_few_and_not_much_longer() {
    let mut lengths = std::collections::BTreeSet::new();
    for len in (LARGE..=LONGEST_KEPT).step_by(999) {
        let mapped = mapped_len(len);
        assert!(mapped >= len && mapped <= len + len / 8 && mapped.is_multiple_of(PAGE));
        lengths.insert(mapped);
    }
    assert!(lengths.len() <= 25, "{lengths:?}");
}

#[test]
fn threads_never_share_a_piece() {
    std::thread::scope(|scope| {
        for thread in 0..4_u8 {
            scope.spawn(move || {
                let mut kept = Vec::new();
                for round in 0..2000_usize {
                    let len = LARGE + (round * 7919 + usize::from(thread) * 31) % LONGEST_KEPT;
                    let layout = Layout::from_size_align(len, 8).unwrap();
                    // SAFETY: the layout is not empty.
                    let start = unsafe { LargePiecesMapped.alloc(layout) };
                    let piece = Piece::new(start, layout);
                    // SAFETY: both are within the piece.
                    unsafe {
                        start.write(thread);
                        start.add(len - 1).write(thread);
                    }
                    kept.push(piece);
                    if kept.len() > 8 {
                        let old = kept.swap_remove(round % 8);
                        // SAFETY: both were written.
                        let ends = unsafe { (old.0.read(), old.0.add(old.1.size() - 1).read()) };
                        assert_eq!(ends, (thread, thread));
                    }
                }
            });
        }
    });
}
