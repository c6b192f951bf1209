//! A tree of directories, laid out: its path tables, directories, then continuation areas.
//!
//! In: what records are made of, and the first sector. Out: sectors.
//!
//! **Invariant:** directories follow each other in the order of a walk by level, and continuation
//! areas follow them: bsdtar reads from front to back.

use sinterfs_model::{Error, Result};

use super::contents::ContentWriter;
use super::continuations::Continuations;
use super::descriptors::TreePlace;
use super::directories::{Directories, Placed, number};
use super::names::Identifiers;
use crate::layout::{SECTOR, SECTOR_LEN};

/// Bytes that are written at a time where they replace others.
const WRITE_LEN: usize = 1 << 20;

/// A tree that is laid out.
pub(super) struct TreeLayout {
    first: u64,
    table_len: u64,
    table_sectors: u64,
    pub(super) directories: Directories,
    continuations: Vec<u8>,
    /// The sector after the last one.
    pub(super) end: u64,
}

impl TreeLayout {
    /// Lays out a tree from a sector on.
    pub(super) fn new(placed: &Placed<'_>, kind: Identifiers, first: u64) -> Result<Self> {
        let mut continuations = Continuations::new(0);
        let mut directories = Directories::new(placed, kind, &mut continuations)?;
        let table_len = directories.path_table(true)?.len() as u64;
        let table_sectors = table_len.div_ceil(SECTOR);
        let end = directories.lay_out(first + 2 * table_sectors);
        if !continuations.is_empty() {
            // records name the sectors of areas, which are known now
            continuations = Continuations::new(number(end)?);
            directories = Directories::new(placed, kind, &mut continuations)?;
            directories.lay_out(first + 2 * table_sectors);
        }
        let continuations = continuations.into_bytes();
        Ok(Self {
            first,
            table_len,
            table_sectors,
            directories,
            end: end + continuations.len() as u64 / SECTOR,
            continuations,
        })
    }

    /// Writes the tree and returns its place.
    pub(super) fn write(&mut self, out: &mut TreeOut<'_>) -> Result<TreePlace> {
        for little in [true, false] {
            let mut table = self.directories.path_table(little)?;
            table.resize(table.len().next_multiple_of(SECTOR_LEN), 0);
            out.write(&table)?;
        }
        self.directories.encode(&mut |bytes| out.write(bytes))?;
        out.write(&self.continuations)?;
        let (root, root_len) = self.directories.root();
        Ok(TreePlace {
            sectors: 0,
            root: (number(root)?, number(root_len)?),
            table_len: number(self.table_len)?,
            tables: [
                number(self.first)?,
                number(self.first + self.table_sectors)?,
            ],
        })
    }
}

/// The place of trees: after the content, or in the space reserved before it.
pub(super) struct TreeOut<'a> {
    pub(super) contents: &'a mut ContentWriter,
    /// The position in the room; `None` after the content.
    pub(super) patches: Option<u64>,
    /// Bytes that are not written yet.
    pub(super) waiting: Vec<u8>,
}

impl TreeOut<'_> {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.patches.is_none() {
            return self.contents.write(bytes);
        }
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= WRITE_LEN {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what waits.
    pub(super) fn flush(&mut self) -> Result<()> {
        let Some(at) = self.patches else {
            return Ok(());
        };
        let patched = self.contents.out.patch(at, &self.waiting);
        patched.map_err(|error| Error::io("cannot write the image", error))?;
        self.patches = Some(at + self.waiting.len() as u64);
        self.waiting.clear();
        Ok(())
    }
}
