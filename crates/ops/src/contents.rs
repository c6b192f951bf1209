//! Reads many files of an image in the order of their blocks.
//!
//! Enters an image and a selection of paths; leaves the content of each regular file, whole and
//! from front to back, on several threads. **Invariant:** an inode of several names is read once,
//! under the first of them; what fails for one file is reported to the observer and counted.
//! Memory is some 100 bytes for each selected entry.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{
    Error, ExtentSource, FileType, Image, Ino, Kind, Observer, Result, Stage, Tally,
};

use sinterfs_platform::names;

use crate::find::Names;
use crate::{select, workers};

/// Which files are read, and by how many threads.
#[derive(Debug, Clone, Default)]
pub struct ContentsOptions {
    /// Paths, each with everything below it; nothing means everything.
    pub paths: Vec<PathBuf>,
    /// Patterns of which one must match: the name, or with a slash the path from the root; nothing
    /// means any.
    pub names: Vec<String>,
    /// Threads; 0 means one for each processor.
    pub threads: usize,
}

/// The bytes that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ContentsReport {
    /// Files that were read.
    pub files: u64,
    /// Paths that are not there, and files that could not be read; each was reported.
    pub failed: u64,
}

/// The content of one file.
#[derive(Debug)]
#[non_exhaustive]
pub struct OpenedContent<'a> {
    /// The position among all files, in the order of the image.
    pub index: usize,
    /// The path from the root.
    pub path: &'a [u8],
    /// The content, from front to back.
    pub reader: ContentReader<'a>,
}

/// Reads a file from front to back.
pub struct ContentReader<'a> {
    image: &'a dyn Image,
    ino: Ino,
    at: u64,
}

impl std::fmt::Debug for ContentReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ContentReader")
            .field("ino", &self.ino)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

impl Read for ContentReader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        let read = self.image.read_at(self.ino, self.at, buf);
        let count = read.map_err(std::io::Error::other)?;
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

/// A file, and where its content begins.
struct FilePlace {
    leaf: u32,
    block: u64,
    offset: u64,
}

/// Shows the content of the selected files; `visit` is called once for each, by many threads, and
/// also for those that turn out to be damaged while it reads: it returns the error.
pub fn contents(
    image: &dyn Image,
    options: &ContentsOptions,
    observer: &dyn Observer,
    visit: &(dyn Fn(OpenedContent<'_>) -> Result<()> + Sync),
) -> Result<ContentsReport> {
    let selection = select::Selection::new(&options.paths, &[])?;
    let names = Names::new(&options.names, false)?;
    let (plan, refused) = select::plan(image, &selection, 0)?;
    let failed = AtomicU64::new(0);
    let fail = |error: &Error| {
        failed.fetch_add(1, Ordering::Relaxed);
        observer.warn(error);
    };
    for error in refused.into_iter().chain(selection.unmatched()) {
        fail(&error);
    }
    let mut places = Vec::new();
    let mut expected = Tally::default();
    for (leaf, item) in (0_u32..).zip(&plan.leaves) {
        let named = item.name_ref;
        let is_asked = || names.matches(plan.name(named), || plan.path_bytes(named));
        if item.kind == FileType::File && is_asked() {
            let (block, offset) = first_block(image, item.ino);
            places.push(FilePlace {
                leaf,
                block,
                offset,
            });
            let size = image.inode(item.ino).map_or(0, |inode| inode.size);
            expected.bytes = expected.bytes.saturating_add(size);
        }
    }
    expected.items = places.len() as u64;
    places.sort_by_key(|place| (place.block, place.offset));
    let jobs: Vec<(usize, FilePlace)> = places.into_iter().enumerate().collect();
    observer.expect(Stage::Verify, expected);
    workers::run(
        options.threads,
        &jobs,
        |(_, a), (_, b)| a.block == b.block,
        observer,
        || (),
        |(), (index, place)| {
            let item = plan.leaf(place.leaf);
            let path = plan.path_bytes(item.name_ref);
            let size = image.inode(item.ino).map_or(0, |inode| inode.size);
            let file = OpenedContent {
                index: *index,
                path: &path,
                reader: ContentReader {
                    image,
                    ino: item.ino,
                    at: 0,
                },
            };
            match visit(file) {
                Err(error) if matches!(error.kind(), Kind::Corrupt | Kind::Unsupported) => {
                    fail(&error.path(names::path(&path)));
                }
                done => done?,
            }
            observer.advance(Stage::Verify, Tally::new(1, size, 0));
            Ok(())
        },
    )?;
    Ok(ContentsReport {
        files: jobs.len() as u64,
        failed: failed.into_inner(),
    })
}

/// Returns where the data of a file begins; what cannot be listed comes first, and fails when it is
/// read.
fn first_block(image: &dyn Image, ino: Ino) -> (u64, u64) {
    let mut first = (0, 0);
    let _ = image.extents(ino, 0, &mut |extent| match extent.source {
        ExtentSource::Hole => ControlFlow::Continue(()),
        ExtentSource::Block { block, offset } => {
            first = (block, offset);
            ControlFlow::Break(())
        }
    });
    first
}
