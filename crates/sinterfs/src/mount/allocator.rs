//! What the allocator does with memory that is freed, for processes that live long.
//!
//! glibc keeps freed memory for later, by default pieces of up to 32 MiB. Measured with eight
//! readers of 100 MB through caches of 24 MiB: 150 to 160 MB at the peak in blocks of 8 MiB, and 57
//! to 75 where freed pieces of 1 MiB and more go back at once. And of an emptied cache of small
//! blocks, 92 of 93 MB stayed without [`trim`], 33 with it. **Invariant:** nothing but time depends
//! on it; where the allocator is another one nothing is done.

#![allow(
    unsafe_code,
    reason = "mallopt(3) and malloc_trim(3) have no safe wrappers; they take numbers alone"
)]

/// The shortest pieces that go back to the system as soon as they are freed, in bytes. Shorter ones
/// would cost more time than the memory is worth.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 1 << 20;

/// Makes the allocator give large pieces back as soon as they are freed.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: mallopt may be called at any time; the parameter is one that it knows, with a number
    // in its range.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns back what the allocator keeps of freed memory.
pub(crate) fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim may be called at any time, from any thread, and takes no pointers.
    unsafe {
        libc::malloc_trim(0);
    }
}
