//! Reading side: what any opened image answers, whatever its format.
//!
//! What an `Image` has read when it was opened it has validated: afterwards its methods fail only
//! for arguments that do not fit (`NotFound`, `Invalid`), for what is read later and is damaged
//! (`Corrupt`, with its place: blocks, and the metadata of formats that load it on demand) and
//! for I/O.

use std::ops::ControlFlow;

use crate::{FileType, Meta, Rdev, Result};

/// Names an inode of one image; the number is the format's own and stable for the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ino(pub u64);

/// Says where in a directory to go on; `Cursor::START` is the first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub u64);

impl Cursor {
    /// The first entry of every directory.
    pub const START: Self = Self(0);
}

/// One name in a directory, as `read_dir` shows it; never `.` or `..`.
#[derive(Debug, Clone, Copy)]
pub struct Dirent<'a> {
    /// The name: bytes without NUL and `/`, 1 to 255 of them.
    pub name: &'a [u8],
    /// The inode it names.
    pub ino: Ino,
    /// The inode's type.
    pub kind: FileType,
    /// Where to go on after this entry; always above the entry's own position.
    pub next: Cursor,
}

/// All that `stat` tells.
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
    /// Bytes of content: a file's length, a symlink's target length, zero for special files; a
    /// directory's is the format's own measure (entries or bytes), never to be compared.
    pub size: u64,
    /// Bytes that are not in holes.
    pub allocated: u64,
    /// The device number of a device.
    pub rdev: Rdev,
}

/// Where a range of a file comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtentSource {
    /// Zeros that are not stored.
    Hole,
    /// Decoded bytes of a block; `block` names it and grows along the image, with gaps where a
    /// format knows blocks by their position only.
    Block {
        /// The block.
        block: u64,
        /// The offset in the decoded block in bytes.
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
    /// Where the bytes are.
    pub source: ExtentSource,
}

/// Extended attributes of an inode: full names (`user.x`) and values, sorted by name.
pub type Xattrs = Vec<(Vec<u8>, Vec<u8>)>;

/// What a format or an image can keep; consumers and tests ask instead of naming formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// Extended attributes.
    pub xattrs: bool,
    /// Several names of one symlink, device, fifo or socket.
    pub special_hard_links: bool,
    /// Holes are told from zeros.
    pub holes: bool,
    /// Times of access and of inode change are kept; where they are not, all are that of
    /// modification.
    pub all_times: bool,
    /// The unit of the times in nanoseconds (1 = nanoseconds, 10^9 = seconds).
    pub time_unit: u64,
}

/// The totals that `statfs` and `info` report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FsInfo {
    /// Inodes of every type.
    pub inodes: u64,
    /// Bytes of all files, holes included, hard links once; `None` where only a walk could tell.
    pub bytes: Option<u64>,
    /// Bytes of the image.
    pub stored: u64,
    /// The block size in bytes.
    pub block_size: u64,
}

/// What is known of an image as a whole.
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
    /// What the image can tell.
    pub capability: Capability,
}

/// A read-only file system in an image file. Many threads may ask at once.
pub trait Image: Send + Sync {
    /// Returns what is known of the image as a whole.
    fn info(&self) -> &ImageInfo;

    /// Returns what `stat` tells. `NotFound` for a number that names no inode.
    fn inode(&self, ino: Ino) -> Result<Inode>;

    /// Shows the entries of a directory in bytewise order of their names, from `from` on, until
    /// the visitor breaks. `Invalid` for what is no directory.
    fn read_dir(
        &self,
        dir: Ino,
        from: Cursor,
        visit: &mut dyn FnMut(Dirent<'_>) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Finds a name in a directory; `None` if it is not there.
    fn lookup(&self, dir: Ino, name: &[u8]) -> Result<Option<Ino>>;

    /// Returns the directory that holds a directory; the root holds itself.
    fn parent(&self, dir: Ino) -> Result<Ino>;

    /// Returns a symlink's target.
    fn read_link(&self, ino: Ino) -> Result<Vec<u8>>;

    /// Shows a file's extents from byte `from` on, in order and without gaps, until the visitor
    /// breaks. The first may begin before `from`.
    fn extents(
        &self,
        ino: Ino,
        from: u64,
        visit: &mut dyn FnMut(Extent) -> ControlFlow<()>,
    ) -> Result<()>;

    /// Reads a file's bytes from `offset` on; fewer than asked only at the end of the file.
    fn read_at(&self, ino: Ino, offset: u64, buf: &mut [u8]) -> Result<usize>;

    /// Takes note that nobody is going to read a block soon, which is named as extents name it: what is kept of
    /// it may be forgotten. Answers do not depend on it.
    fn release(&self, block: u64) {
        let _ = block;
    }

    /// Returns the extended attributes; none where the format has none.
    fn xattrs(&self, ino: Ino) -> Result<Xattrs> {
        let _ = ino;
        Ok(Xattrs::new())
    }
}
