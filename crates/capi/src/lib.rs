//! The C interface of SinterFS: images opened, listed and read by programs in any language.
//!
//! Enter pointers, whose contracts the functions' documentation gives; leave opaque handles, plain
//! structures and bytes. **Invariants:** no panic passes a function of this crate; a failure is an
//! `errno` with a message, kept for the thread that called; what the header declares changes only
//! with the number in the library's name (`libsinterfs.so.0`).

#![allow(
    unsafe_code,
    reason = "pointers of C programs are read and written; each function has its contract"
)]

mod attributes;
mod boundary;
mod failure;
mod file;
mod image;
mod list;
#[cfg(target_os = "linux")]
mod mount;
mod options;
mod xattrs;

/// Memory of blocks goes back to the system when it is freed, with any allocator of the program.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: sinterfs_platform::LargePiecesMapped = sinterfs_platform::LargePiecesMapped;
