//! The interface of one format: one trait, which each format implements.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Observer, Result, Setting};

use crate::check::{CheckOptions, CheckReport};
use crate::handle::Handle;
use crate::parts::{Digested, Mendable, Provable, Sectioned, Surveyed};
use crate::read_options::ReadOptions;

/// How sure a format is that an image is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bid {
    /// Not its own.
    No,
    /// Its own, after this many bytes of something else.
    Behind(u64),
    /// Its own from the first byte on.
    Certain,
}

impl Bid {
    /// Returns the bid of a format whose images begin where they are looked for.
    pub fn if_certain(is_image: bool) -> Self {
        if is_image { Self::Certain } else { Self::No }
    }

    /// Returns whether this bid is better: of two images after something else, the one that
    /// starts first can hold the other, not the reverse.
    pub fn beats(self, other: Self) -> bool {
        match (self, other) {
            (Self::No, _) | (_, Self::Certain) => false,
            (_, Self::No) | (Self::Certain, _) => true,
            (Self::Behind(this), Self::Behind(that)) => this < that,
        }
    }
}

/// What people are shown about a format when they build an image.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// The name in running text.
    pub title: &'static str,
    /// The codecs, each a name with its options.
    pub codecs: &'static [&'static str],
    /// What else to know before an image is built.
    pub notes: &'static str,
}

/// One format.
pub trait Format: Sync {
    /// Returns the name of the format, as users give it.
    fn name(&self) -> &'static str;
    /// Returns the extensions of image files, without the dot.
    fn extensions(&self) -> &'static [&'static str];
    /// Returns how sure the format is that an image is its own.
    fn bid(&self, source: &Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Bid>;
    /// Returns whether images are found after any number of other bytes.
    fn is_found_behind_header(&self) -> bool {
        false
    }
    /// Returns whether a boot loader or the firmware of a machine reads such images: on a disk with
    /// images of other formats, these are meant.
    fn is_for_boot(&self) -> bool {
        false
    }
    /// Returns the options of opening that readers of some formats only have, and this one, too.
    fn reader_options(&self) -> &'static [Setting] {
        &[]
    }
    /// Opens an image.
    fn open(&self, source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Box<dyn Handle>>;
    /// Verifies an image's own checksums and structure, with `deep` every block.
    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &ReadOptions,
        depth: CheckOptions,
        observer: &dyn Observer,
    ) -> Result<CheckReport>;
    /// Returns what people are shown about the format when they build an image.
    fn about(&self) -> About {
        About {
            title: self.name(),
            codecs: &[],
            notes: "",
        }
    }

    /// Returns the reader of an image's own digests.
    fn digested(&self) -> Option<&dyn Digested> {
        None
    }
    /// Returns the survey of damaged images.
    fn surveyed(&self) -> Option<&dyn Surveyed> {
        None
    }
    /// Returns what tells which parts of an image are as they were written.
    fn provable(&self) -> Option<&dyn Provable> {
        None
    }
    /// Returns the restorer of parts that an image has copies of.
    fn mendable(&self) -> Option<&dyn Mendable> {
        None
    }
    /// Returns the comparison of a new image with an older one.
    fn sectioned(&self) -> Option<&dyn Sectioned> {
        None
    }
}
