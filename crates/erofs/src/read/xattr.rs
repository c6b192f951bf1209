//! Extended attributes: after the inode, shared ones by number, names with long prefixes.
//!
//! In: a node. Out: full names and values, sorted by name.
//!
//! **Invariant:** memory is bounded by the format: a quarter of a megabyte after an inode and 255
//! shared attributes of 64 KiB. Of two attributes of one name the first one counts, as for the
//! kernel.

use sinterfs_model::{Error, Result, Xattrs};
use zerocopy::{FromBytes, IntoBytes};

use super::erofs::Erofs;
use super::meta_offset::{Area, MetaOffset};
use super::node::ErofsInode;
use super::prefix::Prefix;
use crate::layout::{NAME_MAX, XATTR_WORD, XattrEntry, XattrHeader, compat, xattr_prefix};

impl Erofs {
    /// Returns the long prefixes of names of extended attributes, each with the short one that it
    /// begins with.
    pub fn xattr_prefixes(&self) -> Vec<Vec<u8>> {
        let prefixes = self.prefixes.iter();
        let full = prefixes.map(|prefix| {
            let base = xattr_prefix(prefix.base).unwrap_or_default();
            [base.as_bytes(), &prefix.infix].concat()
        });
        full.collect()
    }

    /// Reads the extended attributes of an inode, sorted by name.
    pub(crate) fn xattrs_of(&self, node: &ErofsInode) -> Result<Xattrs> {
        let mut all = self.xattrs_as_stored(node)?;
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|second, first| second.0 == first.0);
        Ok(all)
    }

    /// Reads the extended attributes of an inode: its own, then the shared ones.
    pub(crate) fn xattrs_as_stored(&self, node: &ErofsInode) -> Result<Xattrs> {
        let mut all = Xattrs::new();
        if node.xattr_len == 0 {
            return Ok(all);
        }
        let mut bytes = vec![0; usize::try_from(node.xattr_len).unwrap_or(0)];
        let meta = node.xattrs();
        let located = |error: Error| meta.locate(error, "extended attributes");
        self.read_metadata(meta, &mut bytes).map_err(located)?;
        let short = || Error::corrupt("shorter than their header");
        let (header, rest) = XattrHeader::ref_from_prefix(&bytes).map_err(|_| located(short()))?;
        let shared = usize::from(header.shared_count) * 4;
        let (shared, mut rest) = rest
            .split_at_checked(shared)
            .ok_or_else(|| located(short()))?;
        while !rest.is_empty() {
            // room that is not used: mkfs.erofs reserves some on demand, and Linux passes over it
            if let Some(after) = rest.strip_prefix(&[0; size_of::<XattrEntry>()]) {
                rest = after;
                continue;
            }
            let (name, value, len) = self.entry(rest).map_err(located)?;
            all.push((name, value.to_vec()));
            rest = rest.get(len..).unwrap_or_default();
        }
        for number in shared.as_chunks::<4>().0 {
            all.extend(self.shared_xattr(u32::from_le_bytes(*number))?);
        }
        Ok(all)
    }

    /// Reads the first attribute: its name, its value, and its length with padding.
    fn entry<'b>(&self, bytes: &'b [u8]) -> Result<(Vec<u8>, &'b [u8], usize)> {
        let bad = || Error::corrupt("an attribute runs past the end");
        let (entry, rest) = XattrEntry::ref_from_prefix(bytes).map_err(|_| bad())?;
        let (name, rest) = rest
            .split_at_checked(usize::from(entry.name_len))
            .ok_or_else(bad)?;
        let value = rest
            .get(..usize::from(entry.value_size.get()))
            .ok_or_else(bad)?;
        let len = size_of::<XattrEntry>() + name.len() + value.len();
        let name = self.full_name(entry.name_index, name)?;
        Ok((name, value, len.next_multiple_of(4)))
    }

    fn full_name(&self, index: u8, name: &[u8]) -> Result<Vec<u8>> {
        let unknown = || Error::corrupt(format!("an attribute has the unknown prefix {index:#x}"));
        let (base, infix) = match index & XattrEntry::LONG_PREFIX {
            0 => (index, &[][..]),
            bit => {
                let number = usize::from(index & !bit);
                let prefix = self.prefixes.get(number).ok_or_else(unknown)?;
                (prefix.base, &prefix.infix[..])
            }
        };
        let base = xattr_prefix(base).ok_or_else(unknown)?;
        let full = [base.as_bytes(), infix, name].concat();
        if full.is_empty() || full.len() > NAME_MAX || full.contains(&0) {
            return Err(Error::corrupt(
                "an attribute's name is empty, too long or has a zero",
            ));
        }
        Ok(full)
    }

    /// Reads a shared attribute; `None` for zeros, which are none.
    fn shared_xattr(&self, number: u32) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
        let in_metabox = self.superblock.compat & compat::SHARED_EA_IN_METABOX != 0;
        let area = if in_metabox && self.metabox.is_some() {
            Area::Metabox
        } else {
            Area::Image
        };
        let start = self.superblock.xattr_start;
        let at = start.saturating_add(u64::from(number) * XATTR_WORD);
        let meta = MetaOffset { area, at };
        let located = |error: Error| meta.locate(error, "shared extended attribute");
        let head: XattrEntry = self.fetch(meta).map_err(located)?;
        if head.as_bytes().iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let len = size_of::<XattrEntry>()
            + usize::from(head.name_len)
            + usize::from(head.value_size.get());
        let mut bytes = vec![0; len];
        self.read_metadata(meta, &mut bytes).map_err(located)?;
        let (name, value, _) = self.entry(&bytes).map_err(located)?;
        Ok(Some((name, value.to_vec())))
    }

    /// Reads the long prefixes. They are in the packed inode, or else in the metabox, unless a
    /// feature places them in the image.
    pub(super) fn read_prefixes(&self) -> Result<Vec<Prefix>> {
        let (count, mut at) = self.superblock.prefixes;
        let plain = self.superblock.compat & compat::PLAIN_XATTR_PFX != 0;
        let home = if plain {
            None
        } else {
            self.packed.as_ref().or(self.metabox.as_ref())
        };
        let mut prefixes = Vec::with_capacity(usize::from(count));
        for number in 0..count {
            let bad = |error: Error| error.at(format!("long prefix {number}"), at);
            let read = |at: u64, buf: &mut [u8]| match home {
                Some(node) => self.read_exactly(node, at, buf),
                None => self.read_metadata(MetaOffset::image(at), buf),
            };
            let mut len = [0; 2];
            read(at, &mut len).map_err(bad)?;
            let len = usize::from(u16::from_le_bytes(len));
            if !(1..=1 + NAME_MAX).contains(&len) {
                return Err(bad(Error::corrupt(format!("{len} bytes"))));
            }
            let mut bytes = vec![0; len];
            read(at.saturating_add(2), &mut bytes).map_err(bad)?;
            let infix = bytes.split_off(1);
            let base = bytes.first().copied().unwrap_or(0);
            prefixes.push(Prefix { base, infix });
            at = at.saturating_add(2 + len as u64).next_multiple_of(4);
        }
        Ok(prefixes)
    }
}
