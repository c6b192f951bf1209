//! An allocator for libraries in other programs' processes: large pieces of memory are separate
//! mappings, and go back to the system when they are freed.
//!
//! In: what `GlobalAlloc` asks for. Out: memory, of the system's allocator below [`LARGE`] bytes.
//! glibc keeps freed blocks for each thread: eight readers of blocks of 128 KiB through a cache of
//! 64 MiB held 260 MB and more. A library must not change settings of the whole program (`mallopt`,
//! ADR 0033). **Invariants:** at most [`MAX_FREED`] freed pieces of at most [`LONGEST_KEPT`] bytes
//! are kept for the next request, since the first touch of new memory takes up to two fifths of the
//! time of a read; nothing here waits for a lock, so that a child of `fork` never waits here for a
//! thread that it lacks.

#![allow(
    unsafe_code,
    reason = "an allocator hands out memory by pointers, and maps it by system calls"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use rustix::mm::{self, Advice, MapFlags, MremapFlags, ProtFlags};

/// The shortest piece that is a mapping.
const LARGE: usize = 128 << 10;

/// The longest piece that is kept when it is freed.
const LONGEST_KEPT: usize = 1 << 20;

/// The number of freed pieces that are kept.
const MAX_FREED: usize = 16;

/// The alignment of mappings on every system.
const PAGE: usize = 4 << 10;

/// The distance to a multiple of its double at which a large piece begins that is not a mapping,
/// for want of one: no mapping begins there.
const OFFSET: usize = 64;

/// Allocates by the system's allocator, and pieces of 128 KiB and more by mapping memory.
#[derive(Debug, Default, Clone, Copy)]
pub struct LargePiecesMapped;

/// Freed pieces. The first word of each is its length.
static FREED: [AtomicPtr<u8>; MAX_FREED] = [const { AtomicPtr::new(null_mut()) }; MAX_FREED];

/// The place for the next freed piece.
static NEXT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: each piece comes from the system's allocator, or is a mapping that nobody else has: what
// `dealloc` and `realloc` find out of the layout and the address is what `alloc` decided by them.
unsafe impl GlobalAlloc for LargePiecesMapped {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc(layout) };
        }
        let len = mapped_len(layout.size());
        let found = take(len).or_else(|| map(len));
        found.unwrap_or_else(|| unmapped(layout))
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_large(layout) {
            // SAFETY: the caller's promise.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let len = mapped_len(layout.size());
        let used = take(len);
        let Some(found) = used.or_else(|| map(len)) else {
            return zeroed(unmapped(layout), layout.size());
        };
        match used {
            Some(_) => zeroed(found, layout.size()),
            None => found,
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if is_mapped(start, layout) {
            free(start, mapped_len(layout.size()));
        } else if is_large(layout) {
            if let Some(whole) = with_offset(layout) {
                // SAFETY: `unmapped` allocated that much that far before.
                unsafe { System.dealloc(start.sub(OFFSET), whole) }
            }
        } else {
            // SAFETY: `alloc` had it from there.
            unsafe { System.dealloc(start, layout) }
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, len: usize) -> *mut u8 {
        // SAFETY: the caller's promise: the length, rounded up, does not overflow.
        let new = unsafe { Layout::from_size_align_unchecked(len, layout.align()) };
        if !is_large(layout) && !is_large(new) {
            // SAFETY: `alloc` had it from there.
            return unsafe { System.realloc(start, layout, len) };
        }
        if is_mapped(start, layout) && is_large(new) {
            let (from, to) = (mapped_len(layout.size()), mapped_len(len));
            if from == to {
                return start;
            }
            // SAFETY: the mapping belongs to the caller, which uses the returned address from now
            // on.
            let moved = unsafe { mm::mremap(start.cast(), from, to, MremapFlags::MAYMOVE) };
            if let Ok(moved) = moved {
                return moved.cast();
            }
        }
        // SAFETY: both pieces have at least the copied length, and do not overlap.
        unsafe {
            let to = self.alloc(new);
            if !to.is_null() {
                ptr::copy_nonoverlapping(start, to, layout.size().min(len));
                self.dealloc(start, layout);
            }
            to
        }
    }
}

/// Returns whether a piece is to be a mapping.
fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= OFFSET
}

/// Returns whether a piece is a mapping.
fn is_mapped(start: *mut u8, layout: Layout) -> bool {
    is_large(layout) && start.addr().is_multiple_of(PAGE)
}

/// Returns the length of the mapping for this number of bytes: up to an eighth more, so that pieces
/// of about the same length can take each other's place.
fn mapped_len(len: usize) -> usize {
    let step = (len.checked_ilog2()).map_or(PAGE, |bits| 1 << (bits - 3));
    len.checked_next_multiple_of(step).unwrap_or(usize::MAX)
}

/// Maps memory of zeros.
fn map(len: usize) -> Option<*mut u8> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping at an address of the system's choice touches no other memory.
    let found = unsafe { mm::mmap_anonymous(null_mut(), len, access, MapFlags::PRIVATE) };
    found.ok().map(<*mut _>::cast)
}

/// Keeps a mapping for the next request, in place of the one that was kept the longest.
fn free(start: *mut u8, len: usize) {
    if len > LONGEST_KEPT {
        return unmap(start, len);
    }
    // SAFETY: a mapping is aligned and has room for the word, and nobody else has it.
    unsafe { start.cast::<usize>().write(len) };
    let slot = NEXT.fetch_add(1, Ordering::Relaxed) % MAX_FREED;
    let old = FREED
        .get(slot)
        .map(|slot| slot.swap(start, Ordering::AcqRel));
    if let Some(old) = old.filter(|old| !old.is_null()) {
        unmap(old, kept_len(old));
    }
}

/// Returns a mapping of this length that was freed.
fn take(len: usize) -> Option<*mut u8> {
    if len > LONGEST_KEPT {
        return None;
    }
    for slot in &FREED {
        if slot.load(Ordering::Relaxed).is_null() {
            continue;
        }
        let found = slot.swap(null_mut(), Ordering::AcqRel);
        if found.is_null() {
            continue;
        }
        if kept_len(found) == len {
            return Some(found);
        }
        let back = slot.compare_exchange(null_mut(), found, Ordering::AcqRel, Ordering::Relaxed);
        if back.is_err() {
            unmap(found, kept_len(found));
        }
    }
    None
}

/// Returns the length of a mapping that was freed and that only the caller has.
fn kept_len(start: *mut u8) -> usize {
    // SAFETY: `free` wrote the word, and let others have the mapping after that.
    unsafe { start.cast::<usize>().read() }
}

/// Returns a mapping to the system.
fn unmap(start: *mut u8, len: usize) {
    // SAFETY: nobody has this memory any more.
    unsafe {
        // fails in the middle of other mappings if the system allows no more of them: then only its
        // pages are freed
        if mm::munmap(start.cast(), len).is_err() {
            let _ = mm::madvise(start.cast(), len, Advice::LinuxDontNeed);
        }
    }
}

/// Allocates a large piece by the system's allocator, when the system allows no more mappings.
fn unmapped(layout: Layout) -> *mut u8 {
    let Some(whole) = with_offset(layout) else {
        return null_mut();
    };
    // SAFETY: the length is not zero, and the offset is within it.
    unsafe {
        let start = System.alloc(whole);
        if start.is_null() {
            start
        } else {
            start.add(OFFSET)
        }
    }
}

/// Returns the layout of a large piece with its offset.
fn with_offset(layout: Layout) -> Option<Layout> {
    let len = layout.size().checked_add(OFFSET)?;
    Layout::from_size_align(len, 2 * OFFSET).ok()
}

/// Fills memory with zeros, unless there is none.
fn zeroed(start: *mut u8, len: usize) -> *mut u8 {
    if !start.is_null() {
        // SAFETY: `alloc` returned this number of bytes to this caller.
        unsafe { start.write_bytes(0, len) }
    }
    start
}

#[cfg(test)]
mod tests;
