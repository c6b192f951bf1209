//! Differences between operating systems, behind functions that are the same on all of them.
//!
//! In: names and paths as bytes, as images have them. Out: open files and directories, and their
//! status. **Invariant:** below an open [`Directory`] no symlink is followed, on any system. ADR
//! 0030 lists other code of the library that depends on the system: `mount`, which is only for
//! Linux, and parts of `remote` and of the facade. The allocator of the Python package and of the C
//! library on Linux is here, too, and what populates memory with pages.

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod directory;
pub mod files;
#[cfg(unix)]
pub mod inherited;
#[cfg(target_os = "linux")]
mod large_pieces;
pub mod memory;
pub mod names;
#[cfg(windows)]
#[path = "windows/nt.rs"]
mod nt;
pub mod process;
#[cfg(feature = "range-locks")]
pub mod range_locks;
mod scratch;
mod status;
pub mod xattrs;

pub use directory::{Directory, OpenFor};
pub use files::FileAt;
#[cfg(target_os = "linux")]
pub use large_pieces::LargePiecesMapped;
pub use scratch::Scratch;
pub use status::{Identity, Status};

/// The attributes that files keep on this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keeps {
    /// Owner and group.
    pub owners: bool,
    /// Permission bits, beyond whether a file may be written.
    pub modes: bool,
    /// Extended attributes, as Linux names them.
    pub xattrs: bool,
    /// Devices, fifos and sockets.
    pub specials: bool,
}

/// The attributes that files keep on this system.
pub const KEEPS: Keeps = Keeps {
    owners: cfg!(unix),
    modes: cfg!(unix),
    xattrs: cfg!(any(target_os = "linux", target_vendor = "apple")),
    specials: cfg!(target_os = "linux"),
};

/// Whether names in images may differ from names of files here: see [`names::is_kept`].
pub const NAMES_DIFFER: bool = cfg!(windows);

/// Whether a symlink to a directory differs from one to a file.
pub const SYMLINKS_HAVE_KINDS: bool = cfg!(windows);

/// Whether a directory is renamed although it, or something in it, is open.
pub const RENAMES_OPEN_DIRS: bool = cfg!(unix);

/// Whether names that differ only in case may be one file: to be found out for each directory.
pub const MAY_FOLD_CASE: bool = cfg!(any(windows, target_vendor = "apple"));
