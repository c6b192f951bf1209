//! Reads inodes of both forms.
//!
//! In: the number of an inode. Out: `ErofsInode`, in plain numbers.
//!
//! **Invariant:** the type, layout and time of a node are valid; its attributes and its map are
//! checked when they are read.

use sinterfs_model::{Error, FileType, Kind, Result, Time};

use super::erofs::Erofs;
use super::meta_offset::MetaOffset;
use super::node::ErofsInode;
use crate::layout::{
    DataLayout, InodeCompact, InodeExtended, XATTR_WORD, XattrHeader, format, incompat,
};

/// The fields that both forms of an inode have.
struct Common {
    format: u16,
    xattr_count: u16,
    mode: u16,
    start: u32,
}

impl Erofs {
    /// Reads an inode. Fails with `NotFound` for a number beyond the metadata, with `Corrupt` for
    /// what is not an inode.
    pub(crate) fn node(&self, nid: u64) -> Result<ErofsInode> {
        let meta = self.meta_offset_of(nid)?;
        if meta.at >= self.area_len(meta.area) {
            return Err(self.inode_behind_end(nid, meta));
        }
        self.read_node(nid, meta)
            .map_err(|error| meta.locate(error, "inode"))
    }

    /// Returns the error for an inode past the end of its area. Without the root there is nothing
    /// to read; other numbers may be ones that the caller has made up.
    #[cold]
    fn inode_behind_end(&self, nid: u64, meta: MetaOffset) -> Error {
        if nid != self.superblock.root {
            return Error::no_inode(nid);
        }
        let what = "the root inode is past the end of the image, which may have been cut";
        meta.locate(Error::corrupt(what), "inode")
    }

    fn read_node(&self, nid: u64, meta: MetaOffset) -> Result<ErofsInode> {
        let raw: InodeCompact = self.fetch(meta)?;
        if raw.format.get() & format::EXTENDED != 0 {
            return self.extended(nid, meta);
        }
        let common = Common {
            format: raw.format.get(),
            xattr_count: raw.xattr_count.get(),
            mode: raw.mode.get(),
            start: raw.start.get(),
        };
        let mut node = self.common(nid, meta, &common)?;
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

    fn extended(&self, nid: u64, meta: MetaOffset) -> Result<ErofsInode> {
        let raw: InodeExtended = self.fetch(meta)?;
        let common = Common {
            format: raw.format.get(),
            xattr_count: raw.xattr_count.get(),
            mode: raw.mode.get(),
            start: raw.start.get(),
        };
        let mut node = self.common(nid, meta, &common)?;
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

    fn common(&self, nid: u64, meta: MetaOffset, common: &Common) -> Result<ErofsInode> {
        if common.format & !format::ALL != 0 {
            return Err(Error::unsupported(format!(
                "unknown bits of the format: {:#x}",
                common.format
            )));
        }
        let bits = common.format >> format::LAYOUT_SHIFT & format::LAYOUT_MASK;
        let layout = DataLayout::from_bits(bits)
            .ok_or_else(|| Error::unsupported(format!("unknown layout {bits} of data")))?;
        let kind = FileType::from_mode(u32::from(common.mode))
            .ok_or_else(|| Error::corrupt(format!("unknown type: mode {:o}", common.mode)))?;
        // the count is one more than the words after the header
        let xattr_len = match common.xattr_count {
            0 => 0,
            count => size_of::<XattrHeader>() as u64 + u64::from(count - 1) * XATTR_WORD,
        };
        Ok(ErofsInode {
            nid,
            meta,
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
    pub(super) fn special(
        &self,
        nid: Option<u64>,
        name: &'static str,
    ) -> Result<Option<ErofsInode>> {
        let Some(nid) = nid else {
            return Ok(None);
        };
        let node = self.node(nid).map_err(|error| match error.kind() {
            Kind::NotFound => {
                let what = format!(
                    "the {name} {nid:#x} is past the end of the image, which may have been cut"
                );
                Error::corrupt(what).within("superblock")
            }
            _ => error,
        })?;
        if node.kind != FileType::File {
            return Err(node
                .meta
                .locate(Error::corrupt("not a file"), &format!("{name} {nid:#x}")));
        }
        Ok(Some(node))
    }
}
