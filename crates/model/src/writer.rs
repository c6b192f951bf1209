//! The exit of the writing side: the writer that lays out blocks and metadata of one image.
//!
//! **Invariant:** content is cut first and encoded later. The segment stage numbers blocks and
//! records where every file's bytes are before any of them is encoded, so a `ContentMap` describes
//! only decoded bytes; only the writer knows where they are stored in the image. `docs/adr/0001`
//! reports how SquashFS and EROFS were tried on these traits.

use std::fmt;
use std::sync::Arc;

use crate::{
    Base, Block, ContentMap, Error, Geometry, Observer, Result, SegmentEncoder, Setting, Tree,
};

/// The most paths that a loss names.
const NAMED_MAX: usize = 10_000;

/// The most bytes of these paths.
const NAMED_BYTES_MAX: usize = 16 << 20;

/// Something of the tree that the format could not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The loss, in words that follow a number: `hard links of symlinks ...`; of times what they
    /// lost of their precision: `fractions of a second`.
    pub what: &'static str,
    /// The number of losses.
    pub count: u64,
    /// Whose loss it is.
    pub kind: LossKind,
    /// The paths of lost entries, as far as they are named: at most 10,000, and 16 MiB of them.
    pub paths: Vec<Vec<u8>>,
    path_bytes: usize,
}

/// The kind of the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LossKind {
    /// Entries, or parts of them that the format has in general, but not of that size or form. The
    /// image is not complete.
    Entries,
    /// Metadata that the format does not have for any entry, or stores in another way.
    Metadata,
    /// What one of two trees of the image lacks, for readers that know only that one; the other
    /// tree keeps it.
    OneTree,
    /// The precision of times, which were rounded down.
    Precision {
        /// The option that keeps them, if there is one, and its value.
        kept_by: Option<(Setting, &'static str)>,
    },
}

impl Loss {
    /// Makes the loss of metadata that the format does not have.
    pub const fn new(what: &'static str, count: u64) -> Self {
        Self::of(what, count, LossKind::Metadata)
    }

    /// Makes a loss of entries, to which [`Loss::add`] adds.
    pub const fn entries(what: &'static str) -> Self {
        Self::of(what, 0, LossKind::Entries)
    }

    /// Makes the loss of what one of two trees lacks, to which [`Loss::add`] adds.
    pub const fn of_one_tree(what: &'static str) -> Self {
        Self::of(what, 0, LossKind::OneTree)
    }

    const fn of(what: &'static str, count: u64, kind: LossKind) -> Self {
        Self {
            what,
            count,
            kind,
            paths: Vec::new(),
            path_bytes: 0,
        }
    }

    /// Counts one more, and names it unless too many are named already.
    pub fn add(&mut self, path: impl FnOnce() -> Vec<u8>) {
        self.count = self.count.saturating_add(1);
        if self.paths.len() < NAMED_MAX && self.path_bytes < NAMED_BYTES_MAX {
            self.name(path());
        }
    }

    /// Adds the count and the paths of another loss of the same kind.
    pub fn merge(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        for path in other.paths {
            if self.paths.len() < NAMED_MAX {
                self.name(path);
            }
        }
    }

    fn name(&mut self, path: Vec<u8>) {
        self.path_bytes = self.path_bytes.saturating_add(path.len());
        if self.path_bytes <= NAMED_BYTES_MAX {
            self.paths.push(path);
        }
    }

    /// Returns whether the image lacks a part of the tree that is more than metadata which the
    /// format does not have.
    pub const fn is_of_entries(&self) -> bool {
        matches!(self.kind, LossKind::Entries)
    }

    /// Makes the loss of the precision of times; `None` if no time lost any.
    pub fn precision(
        what: &'static str,
        count: u64,
        kept_by: Option<(Setting, &'static str)>,
    ) -> Option<Self> {
        let kind = LossKind::Precision { kept_by };
        (count > 0).then_some(Self::of(what, count, kind))
    }

    /// Makes a list of those that happened, which are all that have a count above 0.
    pub fn counted(losses: impl IntoIterator<Item = (&'static str, u64)>) -> Vec<Self> {
        let some = losses.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(what, count)| Self::new(what, count)).collect()
    }

    /// Makes a list of those that happened, to which entries were added.
    pub fn happened(losses: impl IntoIterator<Item = Self>) -> Vec<Self> {
        losses.into_iter().filter(|loss| loss.count > 0).collect()
    }

    /// Returns whether all that is lost is the precision of times, which is so with nearly every
    /// tree that is in use.
    pub const fn is_precision(&self) -> bool {
        matches!(self.kind, LossKind::Precision { .. })
    }

    /// Returns the options that its text refers to.
    pub fn settings(&self) -> impl Iterator<Item = Setting> + use<> {
        let limit = Setting("max_zeros");
        let option = match self.kind {
            LossKind::Precision { kept_by } => kept_by.map(|(option, _)| option),
            LossKind::Entries | LossKind::Metadata | LossKind::OneTree => {
                self.what.contains(&limit.to_string()).then_some(limit)
            }
        };
        option.into_iter()
    }
}

impl fmt::Display for Loss {
    /// Writes what was lost and how often: `5 POSIX ACLs`, `fractions of a second of 5 times`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what, count, kind, ..
        } = self;
        let LossKind::Precision { kept_by } = kind else {
            return write!(f, "{count} {what}");
        };
        let times = if *count == 1 { "time" } else { "times" };
        write!(f, "{what} of {count} {times}")?;
        match kept_by {
            Some((option, value)) => write!(f, " ({option} {value} keeps them)"),
            None => Ok(()),
        }
    }
}

/// The sizes and properties of a finished image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Summary {
    /// Bytes of the whole image.
    pub image_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Bytes of blocks before encoding.
    pub raw_bytes: u64,
    /// Bytes of blocks as stored.
    pub block_bytes: u64,
    /// Bytes of metadata as stored.
    pub metadata_bytes: u64,
    /// The root digest, if the image contains digests of its bytes.
    pub root_digest: Option<[u8; 32]>,
    /// Metadata of the tree that the image does not store; empty if it stores everything.
    pub losses: Vec<Loss>,
}

/// Lays out one image. Called strictly in this order: `geometry`, `base`, `encoder`, `begin` at
/// most once, `put` for every block in sequence, `put_base_blocks` if there is a base, `finish`
/// once.
pub trait ImageWriter: Send {
    /// Returns how content may be cut.
    fn geometry(&self) -> Geometry;

    /// Returns the encoder, which the worker threads share.
    fn encoder(&self) -> Arc<dyn SegmentEncoder>;

    /// Receives the tree before the first block, as it was scanned: names stay as they are, sizes
    /// and attributes may still change. A writer may reserve room for metadata then.
    fn begin(&mut self, _tree: &Tree) -> Result<()> {
        Ok(())
    }

    /// Appends a block; blocks come in sequence, and their `BlockId` is that sequence. The writer
    /// records what is needed to find the block again (position, stored size).
    fn put(&mut self, block: Block) -> Result<()>;

    /// Returns the base image, whose stored blocks this one may reuse, if there is one.
    fn base(&self) -> Option<Arc<dyn Base>> {
        None
    }

    /// Appends stored blocks of the base, given their numbers there. Their `BlockId`s continue
    /// after the blocks that were put.
    ///
    /// # Errors
    /// `Corrupt`, with the place in the image, if a block is damaged; `Invalid` if there is no
    /// base.
    fn put_base_blocks(&mut self, _blocks: &[u32], _: &dyn Observer) -> Result<()> {
        Err(Error::invalid("the image has no base"))
    }

    /// Returns the bytes of memory that reading the tree and writing the metadata take for each
    /// inode at most, in addition to the pipeline's own count, without names.
    fn memory_of_inode(&self) -> u64 {
        750
    }

    /// Writes the metadata and completes the image. The caller makes it durable.
    fn finish(self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_in_words() {
        let shown = |loss: Loss| loss.to_string();
        assert_eq!(shown(Loss::new("POSIX ACLs", 3)), "3 POSIX ACLs");
        let lost = |count, kept_by| Loss::precision("fractions of a second", count, kept_by);
        assert_eq!(lost(0, None), None);
        let text = "fractions of a second of 155 times";
        assert_eq!(lost(155, None).map(shown).as_deref(), Some(text));
        let kept = lost(1, Some((Setting("time_resolution"), "1ns")));
        let mut left_out = Loss::entries("files of 16 MiB or more");
        left_out.add(|| b"a".to_vec());
        left_out.add(|| vec![0; NAMED_BYTES_MAX]);
        left_out.merge(left_out.clone());
        assert_eq!((left_out.count, left_out.paths.len()), (4, 1));
        assert!(left_out.is_of_entries() && Loss::happened([left_out]).len() == 1);
        let text = "fractions of a second of 1 time (`time_resolution` 1ns keeps them)";
        assert_eq!(kept.map(shown).as_deref(), Some(text));
    }
}
