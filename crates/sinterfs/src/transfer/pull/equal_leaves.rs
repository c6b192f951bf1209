//! The leaves of a remote image that an older one has, found by the digests of the remote one.
//!
//! In: both images, and the digests. Out: the parts that need not be fetched. Where content of both
//! images is stored says where equal leaves may be: what files of one name begin with, and stored
//! blocks of one length. Of a format whose blocks have numbers in place of offsets, they may be
//! where they were. **Invariant:** what is taken from the older image has the SHA-256 that the
//! digests name; wherever else it came from is a guess. Spec: docs/formats/digest.md.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use sinterfs_block::ReadAt;
use sinterfs_block::digest::Digests;
use sinterfs_format::OlderPart;
use sinterfs_model::{Ino, Result};

use crate::image::Image;

/// Places of the older image that are tried for one leaf.
const TRIES: usize = 8;

/// Stored blocks of one length that are tried.
const OF_A_LENGTH: usize = 4;

/// The distance by which something has moved.
type Shift = i128;

/// A stored block of a file.
struct StoredAt {
    at: u64,
    len: u64,
    /// The file, by its number in the walk.
    file: usize,
}

/// A stored block of the new image.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NewBlock {
    at: u64,
    len: u64,
    /// How far the beginning of its file is from where it was.
    of_file: Option<Shift>,
}

/// Where the older image has content that the new one may have.
#[derive(Default)]
pub(crate) struct OlderContent {
    /// The first stored block of each file.
    by_path: HashMap<PathBuf, u64>,
    by_len: HashMap<u64, Vec<u64>>,
}

/// Lists the blocks that the files of an image are stored as; also returns the paths of the files.
fn stored(image: &Image) -> Result<(Vec<StoredAt>, Vec<PathBuf>)> {
    let mut found = Vec::new();
    let mut paths = Vec::new();
    let handle = image.handle();
    if !handle.blocks_are_offsets() {
        return Ok((found, paths));
    }
    let start = handle.offset();
    for entry in image.walk() {
        let entry = entry?;
        if !entry.is_file() {
            continue;
        }
        let file = paths.len();
        paths.push(entry.path().to_owned());
        let ino = Ino(entry.metadata()?.ino());
        handle.stored_blocks(Some(ino), &mut |block| {
            let (at, len) = (start.saturating_add(block.block), block.stored);
            found.push(StoredAt { at, len, file });
        })?;
    }
    Ok((found, paths))
}

impl OlderContent {
    /// Lists the content of an older image.
    pub(crate) fn of(image: &Image) -> Result<Self> {
        let (found, paths) = stored(image)?;
        let mut all = Self::default();
        for block in &found {
            if let Some(path) = paths.get(block.file) {
                all.by_path.entry(path.clone()).or_insert(block.at);
            }
            let same = all.by_len.entry(block.len).or_default();
            if same.len() < OF_A_LENGTH && !same.contains(&block.at) {
                same.push(block.at);
            }
        }
        Ok(all)
    }
}

/// Lists the blocks of the new image by their offsets: once, however many files share one.
fn new_blocks(new: &Image, older: &OlderContent) -> Result<Vec<NewBlock>> {
    let (blocks, paths) = stored(new)?;
    // files begin where their first block is, which comes first in the list
    let mut begins: HashMap<&Path, Shift> = HashMap::new();
    for block in &blocks {
        let path = paths.get(block.file).map(PathBuf::as_path);
        let before = path.and_then(|path| Some((path, *older.by_path.get(path)?)));
        if let Some((path, before)) = before {
            let shift = Shift::from(before) - Shift::from(block.at);
            begins.entry(path).or_insert(shift);
        }
    }
    let of_file: Vec<Option<Shift>> = paths
        .iter()
        .map(|path| begins.get(path.as_path()).copied())
        .collect();
    let with_shift = |block: StoredAt| NewBlock {
        at: block.at,
        len: block.len,
        of_file: of_file.get(block.file).copied().flatten(),
    };
    let mut all: Vec<_> = blocks.into_iter().map(with_shift).collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Finds the leaves that an older image has. `digests` cover the new one from `start` on.
///
/// # Errors
/// Those of reading the new image, and those of reading the older one with its path.
pub(crate) fn equal_leaves(
    new: &Image,
    (digests, start): (&Digests, u64),
    older: &OlderContent,
    (source, path): (&dyn ReadAt, &Path),
) -> Result<Vec<OlderPart>> {
    let blocks = new_blocks(new, older)?;
    let mut search = LeafSearch {
        digests,
        start,
        source,
        last: 0,
        parts: Vec::new(),
    };
    let size = digests.leaf_size();
    let mut first = 0;
    for leaf in 0..digests.covered().div_ceil(size) {
        let begin = start.saturating_add(leaf.saturating_mul(size));
        let end = begin.saturating_add(size);
        let ends_before = |block: &NewBlock| block.at.saturating_add(block.len) <= begin;
        while blocks.get(first).is_some_and(ends_before) {
            first = first.saturating_add(1);
        }
        let within = blocks.iter().skip(first).take_while(|block| block.at < end);
        let shifts = shifts(search.last, within, older);
        let found = search.find(leaf, &shifts);
        found.map_err(|error| error.path(path))?;
    }
    Ok(search.parts)
}

/// Lists how far from their place some blocks may have been, `last` first.
fn shifts<'a>(
    last: Shift,
    blocks: impl Iterator<Item = &'a NewBlock>,
    older: &OlderContent,
) -> Vec<Shift> {
    let mut shifts = vec![last];
    for block in blocks {
        let of_len = older.by_len.get(&block.len).into_iter().flatten();
        let of_len = of_len.map(|&before| Shift::from(before) - Shift::from(block.at));
        for shift in block.of_file.into_iter().chain(of_len) {
            if shifts.len() == TRIES {
                return shifts;
            }
            if !shifts.contains(&shift) {
                shifts.push(shift);
            }
        }
    }
    shifts
}

/// The search for leaves in the older image.
struct LeafSearch<'a> {
    digests: &'a Digests,
    start: u64,
    source: &'a dyn ReadAt,
    /// What was right last.
    last: Shift,
    parts: Vec<OlderPart>,
}

impl LeafSearch<'_> {
    /// Looks for a leaf in some places, and notes the one that has it.
    fn find(&mut self, leaf: u64, shifts: &[Shift]) -> Result<()> {
        let size = self.digests.leaf_size();
        let begin = leaf.saturating_mul(size);
        let len = self.digests.covered().saturating_sub(begin).min(size);
        let begin = self.start.saturating_add(begin);
        for &shift in shifts {
            let Ok(at) = u64::try_from(Shift::from(begin) + shift) else {
                continue;
            };
            let is_inside = at
                .checked_add(len)
                .is_some_and(|end| end <= self.source.len());
            if !is_inside || !self.digests.matches(leaf, &self.source.read(at, len)?) {
                continue;
            }
            self.last = shift;
            let range = begin..begin.saturating_add(len);
            let follows = |part: &&mut OlderPart| {
                let before = part.range.end.saturating_sub(part.range.start);
                part.range.end == begin && part.at.saturating_add(before) == at
            };
            match self.parts.last_mut().filter(follows) {
                Some(part) => part.range.end = range.end,
                None => self.parts.push(OlderPart {
                    range,
                    head: Vec::new(),
                    at,
                }),
            }
            return Ok(());
        }
        Ok(())
    }
}
