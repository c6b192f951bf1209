//! Inodes: their two forms, as one.
//!
//! In: the number of an inode. Out: `Node`, in plain numbers.
//!
//! **Invariant:** a node's type, layout and time are known to make sense, and its extended
//! attributes lie behind it; whether its content does, its map tells.

use sinterfs_model::{Error, FileType, Rdev, Result, Time};

use super::Erofs;
use super::metadata::{Area, Spot};
use crate::layout::{InodeCompact, InodeExtended, XATTR_WORD, XattrHeader, format, incompat};

/// How an inode's content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In one run of blocks.
    Plain,
    /// In clusters with an index of 8 bytes each, or in extents.
    CompressedFull,
    /// In one run of blocks, the end behind the inode.
    Inline,
    /// In clusters with packed indexes.
    CompressedCompact,
    /// In chunks of one size.
    Chunks,
}

impl Layout {
    fn from_bits(bits: u16) -> Option<Self> {
        Some(match bits {
            0 => Self::Plain,
            1 => Self::CompressedFull,
            2 => Self::Inline,
            3 => Self::CompressedCompact,
            4 => Self::Chunks,
            _ => return None,
        })
    }

    /// Returns the name that upstream's tools use.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "flat-plain",
            Self::CompressedFull => "compressed-full",
            Self::Inline => "flat-inline",
            Self::CompressedCompact => "compressed-compact",
            Self::Chunks => "chunk-based",
        }
    }
}

/// An inode.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) nid: u64,
    pub(crate) spot: Spot,
    pub(crate) extended: bool,
    pub(crate) kind: FileType,
    /// Permissions, set-id bits and the sticky bit.
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime: Time,
    pub(crate) nlink: u32,
    pub(crate) size: u64,
    pub(crate) layout: Layout,
    /// The first block, or stored blocks, or a device's number, or how chunks are kept.
    pub(crate) start: u32,
    /// High bits of the first block; `None` where addresses have 32 bits.
    pub(crate) start_high: Option<u16>,
    /// Bytes of extended attributes behind the inode.
    pub(crate) xattr_len: u64,
    pub(crate) dot_omitted: bool,
}

/// What both forms of an inode have.
struct Common {
    format: u16,
    xattr_count: u16,
    mode: u16,
    start: u32,
}

impl Erofs {
    /// Reads an inode. `NotFound` for a number beyond the metadata, `Corrupt` for what is no inode.
    pub(crate) fn node(&self, nid: u64) -> Result<Node> {
        let spot = self.spot_of(nid)?;
        if spot.at >= self.area_len(spot.area) {
            return Err(Error::not_found(format!("inode {nid:#x}")));
        }
        self.read_node(nid, spot)
            .map_err(|error| spot.locate(error, "inode"))
    }

    fn read_node(&self, nid: u64, spot: Spot) -> Result<Node> {
        let raw: InodeCompact = self.fetch(spot)?;
        if raw.format.get() & format::EXTENDED != 0 {
            return self.extended(nid, spot);
        }
        let common = Common {
            format: raw.format.get(),
            xattr_count: raw.xattr_count.get(),
            mode: raw.mode.get(),
            start: raw.start.get(),
        };
        let mut node = self.common(nid, spot, &common)?;
        let one_name = node.kind != FileType::Directory && raw.format.get() & format::ONE_NAME != 0;
        let offset = i64::from(raw.mtime.get());
        let secs = self.superblock.epoch.checked_add(offset);
        node.mtime = Time {
            secs: secs.ok_or_else(|| Error::corrupt("time of modification out of range"))?,
            nanos: self.superblock.fixed_nanos,
        };
        (node.uid, node.gid) = (u32::from(raw.uid.get()), u32::from(raw.gid.get()));
        node.size = u64::from(raw.size.get());
        (node.nlink, node.start_high) = if one_name {
            (1, self.high(raw.nlink.get()))
        } else {
            (u32::from(raw.nlink.get()), None)
        };
        Ok(node)
    }

    fn extended(&self, nid: u64, spot: Spot) -> Result<Node> {
        let raw: InodeExtended = self.fetch(spot)?;
        let common = Common {
            format: raw.format.get(),
            xattr_count: raw.xattr_count.get(),
            mode: raw.mode.get(),
            start: raw.start.get(),
        };
        let mut node = self.common(nid, spot, &common)?;
        let nanos = raw.mtime_nanos.get();
        if nanos >= 1_000_000_000 {
            return Err(Error::corrupt(format!("{nanos} nanoseconds")));
        }
        node.mtime = Time {
            secs: i64::from_le_bytes(raw.mtime.get().to_le_bytes()),
            nanos,
        };
        (node.uid, node.gid) = (raw.uid.get(), raw.gid.get());
        node.size = raw.size.get();
        node.nlink = raw.nlink.get();
        node.start_high = self.high(raw.start_high.get());
        Ok(node)
    }

    /// Returns the high bits of an address where the image has them.
    fn high(&self, bits: u16) -> Option<u16> {
        self.superblock.has(incompat::BIT48).then_some(bits)
    }

    fn common(&self, nid: u64, spot: Spot, common: &Common) -> Result<Node> {
        if common.format & !format::ALL != 0 {
            return Err(Error::unsupported(format!(
                "unknown bits of the format: {:#x}",
                common.format
            )));
        }
        let bits = common.format >> format::LAYOUT_SHIFT & format::LAYOUT_MASK;
        let layout = Layout::from_bits(bits)
            .ok_or_else(|| Error::unsupported(format!("unknown layout {bits} of data")))?;
        let kind = FileType::from_mode(u32::from(common.mode))
            .ok_or_else(|| Error::corrupt(format!("unknown type: mode {:o}", common.mode)))?;
        // the count is one more than the words behind the header
        let xattr_len = match common.xattr_count {
            0 => 0,
            count => size_of::<XattrHeader>() as u64 + u64::from(count - 1) * XATTR_WORD,
        };
        Ok(Node {
            nid,
            spot,
            extended: common.format & format::EXTENDED != 0,
            kind,
            mode: common.mode & 0o7777,
            uid: 0,
            gid: 0,
            mtime: Time::default(),
            nlink: 1,
            size: 0,
            layout,
            start: common.start,
            start_high: None,
            xattr_len,
            dot_omitted: kind == FileType::Directory && common.format & format::DOT_OMITTED != 0,
        })
    }

    /// Reads a special inode: a file whose number is in the superblock.
    pub(super) fn special(&self, nid: Option<u64>, name: &'static str) -> Result<Option<Node>> {
        let Some(nid) = nid else {
            return Ok(None);
        };
        let node = self.node(nid)?;
        if node.kind != FileType::File {
            return Err(node
                .spot
                .locate(Error::corrupt("not a file"), &format!("{name} {nid:#x}")));
        }
        Ok(Some(node))
    }
}

impl Node {
    /// Returns where the extended attributes begin.
    pub(crate) fn xattrs(&self) -> Spot {
        self.spot.skip(if self.extended {
            size_of::<InodeExtended>() as u64
        } else {
            size_of::<InodeCompact>() as u64
        })
    }

    /// Returns where the inode ends and what belongs to its content begins.
    pub(crate) fn end(&self) -> Spot {
        self.xattrs().skip(self.xattr_len)
    }

    /// Returns the first block; `None` for content that is a hole.
    pub(crate) fn first_block(&self) -> Option<u64> {
        let (block, hole) = match self.start_high {
            None => (u64::from(self.start), u64::from(u32::MAX)),
            Some(high) => (
                u64::from(self.start) | u64::from(high) << 32,
                (1_u64 << 48) - 1,
            ),
        };
        (block != hole).then_some(block)
    }

    /// Returns the device's number, as Linux packs it into 32 bits.
    pub(crate) fn rdev(&self) -> Rdev {
        match self.kind {
            FileType::CharDevice | FileType::BlockDevice => Rdev::from_dev_t(u64::from(self.start)),
            _ => Rdev::default(),
        }
    }

    /// Returns an error the inode's place.
    #[cold]
    pub(crate) fn locate(&self, error: Error) -> Error {
        match self.spot.area {
            Area::Image => error.at(format!("inode {:#x}", self.nid), self.spot.at),
            Area::Metabox => error.at(
                format!("inode {:#x} in the metabox", self.nid),
                self.spot.at,
            ),
        }
    }
}
