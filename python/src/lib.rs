//! The Python package's extension module, below the classes that users see (`package/sinterfs`).
//!
//! Enter paths, file objects and options; leave plain tuples, bytes and errors. **Invariants:** the
//! interpreter is released while anything is read, decoded or built; after a fork no handle of the
//! parent is used or dropped; errors are `OSError` with an `errno`.

#![allow(
    missing_debug_implementations,
    reason = "no Rust program sees these types"
)]
#![allow(
    clippy::needless_pass_by_value,
    reason = "arguments come from the interpreter by value"
)]

mod check;
mod descriptor;
mod diff;
mod error;
mod extract;
mod file;
mod image;
mod info;
#[cfg_attr(not(target_os = "linux"), path = "no_mount.rs")]
mod mount;
mod new_bytes;
mod observed;
mod options;
mod parts;
mod read_many;
mod shared_image;
mod signals;
mod source;
mod stat;
mod walk;
mod write;

/// Memory of blocks goes back to the system when it is freed, whatever the program's allocator
/// does.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: sinterfs_platform::LargePiecesMapped = sinterfs_platform::LargePiecesMapped;

/// The extension module.
#[pyo3::pymodule]
mod _sinterfs {
    #[pymodule_export]
    use super::check::check;
    #[pymodule_export]
    use super::diff::diff;
    #[pymodule_export]
    use super::extract::extract;
    #[pymodule_export]
    use super::file::RawFile;
    #[pymodule_export]
    use super::image::{RawImage, is_url};
    #[pymodule_export]
    use super::mount::mount;
    #[pymodule_export]
    use super::walk::RawWalk;
    #[pymodule_export]
    use super::write::{build, formats};
}
