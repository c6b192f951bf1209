//! First read of the files: finds equal files and computes sketches of the others.
//!
//! Enters a tree; leaves the distinct contents in path order, each with the files that probably
//! share it, and a similarity sketch of each if the order needs sketches. Files are equal if size,
//! XXH3-128 of the data and the layout of holes are equal; the second read (`read`) proves it byte
//! by byte. A file of unique size is read here only for its sketch, and then not beyond its first
//! buffer if it is already compressed. **Invariant:** every file is read at most once, in buffers
//! of `READ_SIZE` bytes; holes are not read. A file that cannot be read becomes a separate content
//! and its error is kept; the second read reports its own error, or the kept one.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinterfs_model::{
    Categorizers, Category, ExtentSource, FileContent, NodeId, Observer, Result, Source, Stage,
    Tally, Tree,
};
use sinterfs_platform::Scratch;
use sinterfs_workers::{lock, run_fallible};

use crate::base::BaseContents;
use crate::classify;
use crate::fingerprint::{Hasher, Run};
use crate::paths;
use crate::read::{READ_SIZE, ReadProblems};
use crate::sketch::{Sketch, Sketcher};
use crate::sketches::Sketches;

/// Files from this size on are read first, the largest first, so that no thread is left with a
/// large file at the end.
const LARGE: u64 = 64 << 20;

/// The distinct contents of all files.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The distinct contents, by the path of their first file.
    pub items: Vec<DistinctContent>,
    /// The sketches, by `DistinctContent::file`.
    pub sketches: Sketches,
    /// The files that share a content with an earlier file; see `DistinctContent::duplicates`.
    pub duplicates: Vec<NodeId>,
    /// The files without bytes.
    pub empty: Vec<NodeId>,
}

/// One distinct content.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DistinctContent {
    /// The first file that has it.
    pub original: NodeId,
    /// The number of that file among non-empty files.
    pub file: u32,
    /// Its category, if it was read.
    pub category: Option<Category>,
    /// The list of the base with probably the same content.
    pub known: Option<u32>,
    /// Whether it should begin a block.
    pub begins_block: bool,
    first_duplicate: u32,
    duplicate_count: u32,
}

impl Contents {
    /// Returns the files that probably share a content with its original.
    pub fn duplicates(&self, content: &DistinctContent) -> &[NodeId] {
        let first = content.first_duplicate as usize;
        &self.duplicates[first..first + content.duplicate_count as usize]
    }

    /// Returns the number of bytes in contents that the base probably does not have.
    pub fn new_bytes(&self, tree: &Tree) -> u64 {
        let new = self.items.iter().filter(|content| content.known.is_none());
        new.map(|content| paths::size(tree, content.original))
            .fold(0, u64::saturating_add)
    }
}

/// The settings of the first read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstRead<'a> {
    /// Whether equal files are searched.
    pub duplicates: bool,
    /// Files below this size are sketched.
    pub similar_below: u64,
    pub categorizers: Categorizers,
    /// Where failures are kept.
    pub problems: &'a ReadProblems,
    /// The contents of the base image.
    pub base: Option<&'a BaseContents>,
    pub threads: usize,
}

/// The identity of the content of a file.
#[derive(Debug, Clone, Copy)]
struct Fingerprint {
    hash: u128,
    category: Category,
}

/// Reads the files and groups equal ones.
pub(crate) fn dedupe(
    source: &dyn Source,
    tree: &Tree,
    first: &FirstRead<'_>,
    scratch: &Scratch,
    observer: &dyn Observer,
) -> Result<Contents> {
    let (files, empty): (Vec<_>, Vec<_>) = paths::files(tree)
        .into_iter()
        .partition(|&file| paths::size(tree, file) > 0);
    let unique_size = if first.duplicates {
        unique_size(tree, &files, first.base)
    } else {
        vec![true; files.len()]
    };
    let sketched = |index: u32| paths::size(tree, files[index as usize]) < first.similar_below;
    let skip = |index: &u32| unique_size[*index as usize] && !sketched(*index);
    let wanted = (0..files.len() as u32).filter(|index| !skip(index));
    let wanted = by_turn(source, tree, &files, wanted.collect());
    let bytes = wanted
        .iter()
        .map(|&index| paths::size(tree, files[index as usize]))
        .fold(0, u64::saturating_add);
    observer.expect(
        Stage::Dedupe,
        Tally {
            items: wanted.len() as u64,
            bytes,
            stored: 0,
        },
    );

    let table = Findings {
        prints: Mutex::new(vec![None; files.len()]),
        sketches: match first.similar_below {
            0 => Sketches::Absent,
            _ => Sketches::new(files.len(), scratch)?,
        },
    };
    let next = AtomicUsize::new(0);
    run_fallible("dedupe", first.threads, || {
        let mut reader = FirstReader {
            buffer: Vec::new(),
            first,
            observer,
            done: 0,
        };
        let result = loop {
            let Some(&index) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break Ok(());
            };
            let file = files[index as usize];
            match reader.read(source, tree, file, unique_size[index as usize]) {
                Ok(Some((print, sketch))) => {
                    lock(&table.prints)[index as usize] = Some(print);
                    if let Err(error) = table.sketches.set(index as usize, &sketch) {
                        break Err(error);
                    }
                }
                Ok(None) => {}
                Err(error) => break Err(error),
            }
        };
        if result.is_err() {
            next.store(wanted.len(), Ordering::Relaxed);
        }
        result
    })?;
    Ok(group(tree, &files, empty, table, first))
}

/// Sorts the files to read, given as indices, into the order in which threads read them.
pub(crate) fn by_turn(
    source: &dyn Source,
    tree: &Tree,
    files: &[NodeId],
    mut wanted: Vec<u32>,
) -> Vec<u32> {
    let size = |index: u32| paths::size(tree, files[index as usize]);
    wanted.sort_unstable_by_key(|&index| {
        let size = size(index);
        (
            std::cmp::Reverse(if size >= LARGE { size } else { 0 }),
            source.rank(tree, files[index as usize]),
            index,
        )
    });
    wanted
}

/// Returns for each file whether its size is unique, in the tree and in the base.
fn unique_size(tree: &Tree, files: &[NodeId], known: Option<&BaseContents>) -> Vec<bool> {
    let size = |index: u32| paths::size(tree, files[index as usize]);
    let mut by_size: Vec<u32> = (0..files.len() as u32).collect();
    by_size.sort_unstable_by_key(|&index| size(index));
    let mut unique_size = vec![false; files.len()];
    for same in by_size.chunk_by(|&a, &b| size(a) == size(b)) {
        let is_known = known.is_some_and(|known| known.has_size(size(same[0])));
        unique_size[same[0] as usize] = same.len() == 1 && !is_known;
    }
    unique_size
}

/// The results of all threads.
struct Findings {
    prints: Mutex<Vec<Option<Fingerprint>>>,
    sketches: Sketches,
}

/// The state of one reading thread.
struct FirstReader<'a> {
    buffer: Vec<u8>,
    first: &'a FirstRead<'a>,
    observer: &'a dyn Observer,
    /// Bytes of the current file that were reported as progress.
    done: u64,
}

impl FirstReader<'_> {
    /// Reads a file; `None` if it cannot be read or its length changed.
    fn read(
        &mut self,
        source: &dyn Source,
        tree: &Tree,
        file: NodeId,
        unique_size: bool,
    ) -> Result<Option<(Fingerprint, Sketch)>> {
        self.observer.check_cancelled()?;
        let size = paths::size(tree, file);
        self.done = 0;
        let found = match source.open(tree, file) {
            Ok(content) => self.print(&*content, size, unique_size),
            Err(error) => Err(error),
        };
        self.advance(1, size - self.done);
        match found {
            Err(error) if error.kind() == sinterfs_model::Kind::Cancelled => Err(error),
            Err(error) => {
                self.first.problems.failed_once(file, error);
                Ok(None)
            }
            Ok(found) => Ok(found),
        }
    }

    fn advance(&mut self, items: u64, bytes: u64) {
        self.done += bytes;
        let tally = Tally {
            items,
            bytes,
            stored: 0,
        };
        self.observer.advance(Stage::Dedupe, tally);
    }

    fn print(
        &mut self,
        content: &dyn FileContent,
        size: u64,
        unique_size: bool,
    ) -> Result<Option<(Fingerprint, Sketch)>> {
        let extents = content.extents()?;
        if extents
            .last()
            .is_none_or(|last| last.offset + last.len != size)
        {
            return Ok(None);
        }
        let mut hash = Hasher::default();
        let mut sketcher = Sketcher::new();
        let mut category = None;
        'data: for extent in &extents {
            if extent.source == ExtentSource::Hole {
                continue;
            }
            let end = extent.offset + extent.len;
            let mut at = extent.offset;
            while at < end {
                let len = (end - at).min(READ_SIZE as u64) as usize;
                if self.buffer.len() < len {
                    self.buffer.resize(len, 0);
                }
                let piece = &mut self.buffer[..len];
                if content.read_at(at, piece)? < len {
                    return Ok(None);
                }
                hash.update(piece);
                let head = classify::Head {
                    offset: at,
                    bytes: piece,
                };
                let wanted = self.first.categorizers;
                let main = match category {
                    Some(main) => main,
                    None => classify::classify(head, size, content, wanted)?.main(),
                };
                category = Some(main);
                if !classify::gains_from_order(main) {
                    if unique_size {
                        // neither equal nor similar to another file
                        break 'data;
                    }
                } else if size < self.first.similar_below {
                    sketcher.update(piece);
                }
                at += len as u64;
                if len == READ_SIZE {
                    self.advance(0, READ_SIZE as u64);
                }
                self.observer.check_cancelled()?;
            }
        }
        let runs = extents.iter().map(|extent| Run {
            hole: extent.source == ExtentSource::Hole,
            len: extent.len,
        });
        let category = category.unwrap_or_default();
        Ok(Some((
            Fingerprint {
                hash: hash.finish(runs),
                category,
            },
            sketcher.finish(),
        )))
    }
}

/// Groups files of equal size and fingerprint.
fn group(
    tree: &Tree,
    files: &[NodeId],
    empty: Vec<NodeId>,
    table: Findings,
    first: &FirstRead<'_>,
) -> Contents {
    let prints = table
        .prints
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let key = |index: u32| {
        let print = prints[index as usize]?;
        Some((paths::size(tree, files[index as usize]), print.hash))
    };
    let mut by_key: Vec<u32> = (0..files.len() as u32)
        .filter(|&i| first.duplicates && key(i).is_some())
        .collect();
    by_key.sort_unstable_by_key(|&index| (key(index), index));

    // the original of each file, itself for most
    let mut original: Vec<u32> = (0..files.len() as u32).collect();
    for same in by_key.chunk_by(|&a, &b| key(a) == key(b)) {
        for &index in same {
            original[index as usize] = same[0];
        }
    }
    // contents in path order, their duplicates in path order too
    let mut duplicates: Vec<u32> = (0..files.len() as u32)
        .filter(|&index| original[index as usize] != index)
        .collect();
    duplicates.sort_unstable_by_key(|&index| (original[index as usize], index));
    let mut items = Vec::with_capacity(files.len() - duplicates.len());
    let mut rest = &duplicates[..];
    for index in 0..files.len() as u32 {
        if original[index as usize] != index {
            continue;
        }
        let same = rest
            .iter()
            .take_while(|&&other| original[other as usize] == index);
        let count = same.count();
        items.push(DistinctContent {
            original: files[index as usize],
            file: index,
            category: prints[index as usize].map(|print| print.category),
            known: first
                .base
                .and_then(|known| key(index).and_then(|(size, hash)| known.list(size, hash))),
            begins_block: false,
            first_duplicate: (duplicates.len() - rest.len()) as u32,
            duplicate_count: count as u32,
        });
        rest = &rest[count..];
    }
    let duplicates = duplicates
        .iter()
        .map(|&index| files[index as usize])
        .collect();
    Contents {
        items,
        sketches: table.sketches,
        duplicates,
        empty,
    }
}

/// Creates one content for each file of a tree, with the given sketches in path order.
#[cfg(test)]
pub(crate) fn dedupe_for_tests(tree: &Tree, sketches: Vec<Sketch>) -> Contents {
    let items = (0..)
        .zip(paths::files(tree))
        .map(|(file, original)| DistinctContent {
            original,
            file,
            category: None,
            known: None,
            begins_block: false,
            first_duplicate: 0,
            duplicate_count: 0,
        });
    Contents {
        items: items.collect(),
        sketches: Sketches::Memory(Mutex::new(sketches)),
        ..Contents::default()
    }
}
