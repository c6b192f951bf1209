//! Reading side: the operations of an opened image of any format.
//!
//! **Invariant:** an `Image` has validated all that it read when it was opened. Its methods fail
//! only for wrong arguments (`NotFound`, `Invalid`), for damage in what is read later (`Corrupt`,
//! with the place: blocks, and the metadata of formats that load it on demand) and for I/O errors.

use std::ops::ControlFlow;

use crate::{FileType, Meta, Rdev, Result};

/// An inode number of one image; the format assigns it, and it is stable for the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u64);

/// A position in a directory from which to continue; `Cursor::START` is the first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub u64);

impl Cursor {
    /// The first entry of every directory.
    pub const START: Self = Self(0);
}

/// One directory entry, as `read_dir` passes it to the visitor; never `.` or `..`.
#[derive(Debug, Clone, Copy)]
pub struct Dirent<'a> {
    /// The name: bytes without NUL and `/`, 1 to 255 of them.
    pub name: &'a [u8],
    /// The inode of the entry.
    pub ino: Ino,
    /// The inode's type.
    pub kind: FileType,
    /// The position after this entry; always above the entry's own position.
    pub next: Cursor,
}

/// The fields of `stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inode {
    /// The inode's number.
    pub ino: Ino,
    /// Its type.
    pub kind: FileType,
    /// Permissions, owner, times.
    pub meta: Meta,
    /// The number of names; for a directory two plus its subdirectories.
    pub nlink: u32,
    /// Bytes of content: the length of a file, the target length of a symlink, zero for special
    /// files; of a directory the format's own measure (entries or bytes), not comparable.
    pub size: u64,
    /// Bytes that are not in holes.
    pub allocated: u64,
    /// The device number of a device.
    pub rdev: Rdev,
}

/// The source of a range of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtentSource {
    /// Zeros that are not stored.
    Hole,
    /// Decoded bytes of a block. Block numbers grow along the image, and may have gaps in formats
    /// that identify blocks by their position.
    Block {
        /// The block.
        block: u64,
        /// The offset in bytes in the decoded block.
        offset: u64,
    },
}

/// A range of a file with one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The offset in the file in bytes.
    pub offset: u64,
    /// The length in bytes, above zero.
    pub len: u64,
    /// The source of the bytes.
    pub source: ExtentSource,
}

/// Extended attributes of an inode: full names (`user.x`) and values, sorted by name.
pub type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// The features that a format or an image can store; consumers and tests use it instead of naming
/// formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// Extended attributes.
    pub xattrs: bool,
    /// Several names of one symlink, device, fifo or socket.
    pub special_hard_links: bool,
    /// Holes are distinct from zeros.
    pub holes: bool,
    /// Times of access and of inode change are stored; if not, they equal the time of modification.
    pub all_times: bool,
    /// The unit of the times in nanoseconds (1 = nanoseconds, 10^9 = seconds).
    pub time_unit: u64,
}

/// The totals that `statfs` and `info` report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FsInfo {
    /// Inodes of every type.
    pub inodes: u64,
    /// Bytes of all files, holes included, hard links once; `None` if only a walk could count them.
    pub bytes: Option<u64>,
    /// Bytes of the image.
    pub stored: u64,
    /// The block size in bytes.
    pub block_size: u64,
}

/// The facts about an image as a whole.
#[derive(Debug, Clone)]
pub struct ImageInfo {
    /// The format's short name, for example `dwarfs`.
    pub format: &'static str,
    /// The format's version, for example `2.5`.
    pub version: String,
    /// The root directory.
    pub root: Ino,
    /// Totals.
    pub totals: FsInfo,
    /// The features that the image can store.
    pub capability: Capability,
    /// Whether content is compared with digests only where a file is read from its first byte to
    /// its last in order: reading parts in any other order returns damage without an error.
    pub checked_in_order: bool,
}

/// A read-only file system in an image file; may be used by many threads at once.
pub trait Image: Send + Sync {
    /// Returns what is known of the image as a whole.
    fn info(&self) -> &ImageInfo;

    /// Returns the fields of `stat`. `NotFound` if there is no inode of that number.
    fn inode(&self, ino: Ino) -> Result<Inode>;

    /// Visits the entries of a directory in bytewise order of their names, from `from` on, until
    /// the visitor breaks. `Invalid` if `dir` is not a directory.
    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Returns the inode of a name in a directory; `None` if there is no such name.
    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>>;

    /// Returns the parent of a directory; the root is its own parent.
    fn parent(&self, dir: Ino) -> Result<Ino>;

    /// Returns the target of a symlink.
    fn read_link(&self, ino: Ino) -> Result<Vec<u8>>;

    /// Visits the extents of a file from byte `from` on, in order and without gaps, until the
    /// visitor breaks. The first may begin before `from`.
    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Reads bytes of a file from `offset` on; fewer than requested only at the end of the file.
    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize>;

    /// Hints that a block (numbered as in extents) will not be read soon, so that caches may drop
    /// it. Results do not depend on the hint.
    fn release(&self, block: u64) {
        let _ = block;
    }

    /// Returns the extended attributes; none if the format does not store them.
    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let _ = ino;
        Ok(Xattrs::new())
    }
}
