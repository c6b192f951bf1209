//! A bytes object of Python that is filled where it lies: content is neither copied nor held twice.
//!
//! In: a length, then the content, part by part, by one thread or by several. Out: the object.
//! **Invariants:** memory is taken when a part is filled, not when the object is made, so that a
//! length that nothing vouches for takes none; Python never sees an object before every byte of it
//! was set, which is counted.
#![allow(
    unsafe_code,
    reason = "only the C interface makes a bytes object without setting all of it first, which \
              touched the memory of a file twice"
)]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rustix::mm::{Advice, madvise};

/// The size of a large page of the usual processors, in bytes.
const LARGE_PAGE: usize = 2 << 20;

/// A bytes object whose content is not set yet.
pub struct NewBytes<'py> {
    object: Bound<'py, PyBytes>,
    len: usize,
    /// How many bytes were set.
    set: AtomicUsize,
}

/// A part of a [`NewBytes`], which any thread may fill.
pub struct NewPart<'a> {
    room: &'a mut [MaybeUninit<u8>],
    set: &'a AtomicUsize,
}

impl<'py> NewBytes<'py> {
    /// Makes an object of a length. A `MemoryError` of Python if that is too much.
    pub fn new(py: Python<'py>, len: usize) -> PyResult<Self> {
        let size = ffi::Py_ssize_t::try_from(len).unwrap_or(ffi::Py_ssize_t::MAX);
        // SAFETY: without a source this returns a new reference to an object of `size` bytes that
        // are not set, or null with an error set, which is what `from_owned_ptr_or_err` takes.
        let object = unsafe {
            let made = ffi::PyBytes_FromStringAndSize(std::ptr::null(), size);
            Bound::from_owned_ptr_or_err(py, made)?
        };
        let mut object = object.cast_into::<PyBytes>()?;
        use_large_pages(room(&mut object, len));
        let set = AtomicUsize::new(0);
        Ok(Self { object, len, set })
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns all parts, in order; all but the last one have so many bytes. To be called once.
    pub fn parts(&mut self, size: usize) -> impl Iterator<Item = NewPart<'_>> + Send {
        let set = &self.set;
        let parts = room(&mut self.object, self.len).chunks_mut(size.max(1));
        parts.map(move |room| NewPart { room, set })
    }

    /// Returns the object; `None` if not every byte was set.
    pub fn finish(self) -> Option<Bound<'py, PyBytes>> {
        (self.set.into_inner() == self.len).then_some(self.object)
    }
}

/// Returns the place of the content of an object of `len` bytes that nobody else knows.
fn room<'a>(object: &'a mut Bound<'_, PyBytes>, len: usize) -> &'a mut [MaybeUninit<u8>] {
    // SAFETY: both callers made the object, of this length; no other reference to it exists before
    // `finish`, for which this borrow has to end. `MaybeUninit` need not be set.
    unsafe {
        let start = ffi::PyBytes_AsString(object.as_ptr());
        std::slice::from_raw_parts_mut(start.cast(), len)
    }
}

/// Asks the system for large pages for the memory of a large object, all of which will be touched.
fn use_large_pages(room: &mut [MaybeUninit<u8>]) {
    let unaligned = room.as_ptr().align_offset(LARGE_PAGE);
    let Some(aligned) = room.get_mut(unaligned..) else {
        return;
    };
    let len = aligned.len() / LARGE_PAGE * LARGE_PAGE;
    if len > 0 {
        let start = aligned.as_mut_ptr().cast::<c_void>();
        // SAFETY: the range is of whole pages of this borrow, and the advice changes no content.
        // Without it, pages are small.
        let _ = unsafe { madvise(start, len, Advice::LinuxHugepage) };
    }
}

impl<'a> NewPart<'a> {
    /// Sets the part to zero and returns it.
    pub fn zeroed(self) -> &'a mut [u8] {
        self.room.fill(MaybeUninit::new(0));
        self.set.fetch_add(self.room.len(), Ordering::Relaxed);
        let (start, len) = (self.room.as_mut_ptr(), self.room.len());
        // SAFETY: all bytes of the part have just been set, and the borrow of them goes on.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), len) }
    }
}
