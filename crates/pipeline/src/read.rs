//! Second read of a content: its pieces in order, and the proof that its duplicates are equal.
//!
//! Enters a content with the files that probably share it; leaves data and holes for a sink, then
//! how it ended. Each duplicate is read along in the same pieces and compared; one that differs,
//! cannot be read or changed is rejected and becomes content of its own.
//! **Invariant:** what the sink got is what is stored: at most the scanned size, less if the file
//! ended or failed earlier. ReadProblems is told to the observer once for each file.

use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{
    Category, Error, Extent, ExtentSource, FileContent, NodeId, Observer, Result, Source, Tree,
};

use crate::anchors::{Anchor, Finder, Spacing};
use crate::classify::{self, Categorizers, Head, Spans};
use crate::paths;

/// The largest piece in bytes: large enough that a system call costs nothing by comparison, small
/// enough for the processor's cache.
pub(crate) const READ_SIZE: usize = 1 << 20;

/// Duplicates that stay open while a content of several pieces is read; more are opened anew for
/// each piece, so that the number of open files is bounded.
const KEPT_OPEN: usize = 32;

/// What the second read gives for a content.
#[derive(Debug)]
pub(crate) enum ContentItem {
    /// Bytes of one category, in whole grains of it.
    Data {
        bytes: Vec<u8>,
        anchors: Vec<Anchor>,
        category: Category,
    },
    /// So many zeros that are not stored.
    Hole(u64),
    /// Nothing follows.
    End {
        /// Duplicates that turned out not to be equal.
        rejected: Vec<NodeId>,
    },
}

impl ContentItem {
    /// Returns the bytes of memory a piece holds.
    pub fn held(&self) -> u64 {
        match self {
            Self::Data { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}

/// Says that nobody takes pieces any more.
#[derive(Debug)]
pub(crate) struct SinkClosed;

/// Where pieces go.
pub(crate) trait ContentSink {
    /// Waits until there is room for so many bytes.
    fn reserve(&mut self, bytes: u64) -> std::result::Result<(), SinkClosed>;
    /// Returns whether nobody takes pieces any more.
    fn is_closed(&self) -> bool;
    /// Takes a piece for which there is room.
    fn push(&mut self, piece: ContentItem) -> std::result::Result<(), SinkClosed>;
}

/// Counts files that gave problems.
#[derive(Debug, Default)]
pub(crate) struct ReadProblems {
    /// Files of which nothing or only a beginning could be read.
    pub unreadable: AtomicU64,
    /// Files that were not as the scan found them.
    pub changed: AtomicU64,
}

/// Reads contents of one source.
pub(crate) struct ContentReader<'a> {
    pub source: &'a dyn Source,
    pub tree: &'a Tree,
    pub observer: &'a dyn Observer,
    pub problems: &'a ReadProblems,
    /// How far the anchors are apart; `None` if nobody looks for repeats.
    pub spacing: Option<Spacing>,
    /// What is told apart.
    pub categorizers: Categorizers,
}

/// A content to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadRequest<'a> {
    /// The file that is read.
    pub file: NodeId,
    /// What it is, if that is known.
    pub category: Option<Category>,
    /// Whether it probably is one of the base's, so that nobody looks for repeats in it.
    pub known: bool,
    /// The files that probably are equal.
    pub duplicates: &'a [NodeId],
}

impl Default for ReadRequest<'_> {
    fn default() -> Self {
        Self {
            file: NodeId::ROOT,
            category: None,
            known: false,
            duplicates: &[],
        }
    }
}

/// Why reading stopped early.
enum ReadStop {
    SinkClosed,
    Failed(Error),
}

impl From<SinkClosed> for ReadStop {
    fn from(_: SinkClosed) -> Self {
        Self::SinkClosed
    }
}

impl From<Error> for ReadStop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// How a content was read to its end.
struct ReadOutcome {
    /// It has as many bytes as the scan found.
    whole: bool,
    /// It is as the scan found it.
    unchanged: bool,
}

impl ContentReader<'_> {
    /// Reads a content once and gives its pieces to the sink.
    pub fn read(
        &self,
        wanted: &ReadRequest<'_>,
        sink: &mut dyn ContentSink,
    ) -> std::result::Result<(), SinkClosed> {
        let &ReadRequest {
            file, duplicates, ..
        } = wanted;
        let mut twins = DuplicateCheck::new(self, file, duplicates);
        let ended = match self.source.open(self.tree, file) {
            Ok(content) => self.copy(wanted, &*content, &mut twins, sink),
            Err(error) => Err(ReadStop::Failed(error)),
        };
        let whole = match ended {
            Ok(ended) => {
                if !ended.unchanged {
                    let what = "changed while it was packed, stored as it was read then";
                    self.observer
                        .warn(&Error::invalid(what).path(self.path(file)));
                    self.problems.changed.fetch_add(1, Ordering::Relaxed);
                }
                ended.whole
            }
            Err(ReadStop::Failed(error)) => {
                self.observer.warn(&error.path(self.path(file)));
                self.problems.unreadable.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(ReadStop::SinkClosed) => return Err(SinkClosed),
        };
        let rejected = if whole {
            twins.rejected
        } else {
            duplicates.to_vec()
        };
        sink.push(ContentItem::End { rejected })
    }

    fn copy(
        &self,
        wanted: &ReadRequest<'_>,
        content: &dyn FileContent,
        twins: &mut DuplicateCheck<'_>,
        sink: &mut dyn ContentSink,
    ) -> std::result::Result<ReadOutcome, ReadStop> {
        let file = wanted.file;
        let size = paths::size(self.tree, file);
        let extents = clip(content.extents()?, size);
        let mut rest: u64 = extents.iter().filter(|e| !is_hole(e)).map(|e| e.len).sum();
        if rest == 0 {
            let (first, last) = (true, true);
            let step = ReadRange {
                extents: &extents,
                at: 0,
                bytes: &[],
                first,
                last,
            };
            twins.compare(&step, sink)?;
        }
        // where parts differ, the beginning tells them again
        let known = wanted.category.filter(|&main| !classify::has_parts(main));
        let mut spans = known.map(Spans::whole);
        let spacing = self.spacing.filter(|_| !wanted.known);
        let mut finder = spacing.map(Finder::new);
        let mut first = true;
        for extent in &extents {
            if is_hole(extent) {
                if let Some(finder) = &mut finder {
                    finder.restart();
                }
                sink.push(ContentItem::Hole(extent.len))?;
                continue;
            }
            let (mut at, end) = (extent.offset, extent.offset + extent.len);
            while at < end {
                let most = end.min(at + READ_SIZE as u64);
                let stop = spans
                    .as_ref()
                    .map_or(most, |spans| spans.piece_end(at, most));
                sink.reserve(stop - at)?;
                let mut bytes = vec![0; (stop - at) as usize];
                let got = content.read_at(at, &mut bytes)?;
                bytes.truncate(got);
                let spans = spans.get_or_insert_with(|| {
                    let head = Head {
                        offset: at,
                        bytes: &bytes,
                    };
                    classify::classify(head, size, content, self.categorizers)
                });
                // the beginning may turn out to be too long only when it is known
                let len = spans.piece_end(at, stop) - at;
                let short = (got as u64) < stop - at;
                bytes.truncate(if short { got } else { len as usize });
                rest -= len;
                if !short {
                    let last = rest == 0;
                    let step = ReadRange {
                        extents: &extents,
                        at,
                        bytes: &bytes,
                        first,
                        last,
                    };
                    twins.compare(&step, sink)?;
                }
                push(bytes, at, spans, &mut finder, sink)?;
                if short {
                    return Ok(ReadOutcome {
                        whole: false,
                        unchanged: false,
                    });
                }
                (at, first) = (at + len, false);
            }
        }
        let end = extents.last().map_or(0, |last| last.offset + last.len);
        let unchanged = self.is_unchanged(file, content).unwrap_or(false);
        Ok(ReadOutcome {
            whole: end == size,
            unchanged: unchanged && end == size,
        })
    }

    /// Returns whether an open file has the size and time that the scan found.
    fn is_unchanged(&self, file: NodeId, content: &dyn FileContent) -> Result<bool> {
        let scanned = self.tree.node(file).meta.times.modified;
        let time = content.modified()?;
        Ok(content.len()? == paths::size(self.tree, file)
            && time.is_none_or(|time| time == scanned))
    }

    fn path(&self, file: NodeId) -> std::path::PathBuf {
        use std::os::unix::ffi::OsStringExt;
        std::ffi::OsString::from_vec(self.tree.path(file)).into()
    }
}

/// Returns bytes that were read at an offset to the sink, those of each category for themselves.
fn push(
    bytes: Vec<u8>,
    at: u64,
    spans: &Spans,
    finder: &mut Option<Finder>,
    sink: &mut dyn ContentSink,
) -> std::result::Result<(), SinkClosed> {
    let mut find = |bytes: &[u8]| match finder {
        Some(finder) => finder.find(bytes),
        None => Vec::new(),
    };
    let runs = spans.cut(at, at + bytes.len() as u64);
    if let [(_, category)] = *runs {
        let anchors = find(&bytes);
        return sink.push(ContentItem::Data {
            bytes,
            anchors,
            category,
        });
    }
    let mut rest = bytes.as_slice();
    let mut start = at;
    for (end, category) in runs {
        let (run, after) = rest.split_at((end - start) as usize);
        (rest, start) = (after, end);
        sink.push(ContentItem::Data {
            bytes: run.to_vec(),
            anchors: find(run),
            category,
        })?;
    }
    Ok(())
}

/// A piece of a content that its duplicates are compared with.
struct ReadRange<'a> {
    /// All extents of the content.
    extents: &'a [Extent],
    at: u64,
    bytes: &'a [u8],
    first: bool,
    last: bool,
}

/// The duplicates of a content while it is read.
struct DuplicateCheck<'a> {
    reader: &'a ContentReader<'a>,
    original: NodeId,
    equal: Vec<(NodeId, Option<Box<dyn FileContent>>)>,
    rejected: Vec<NodeId>,
    buffer: Vec<u8>,
}

impl<'a> DuplicateCheck<'a> {
    fn new(reader: &'a ContentReader<'a>, original: NodeId, duplicates: &[NodeId]) -> Self {
        let equal = duplicates.iter().map(|&file| (file, None)).collect();
        Self {
            reader,
            original,
            equal,
            rejected: Vec::new(),
            buffer: Vec::new(),
        }
    }

    /// Compares a piece of the content with the same range of each duplicate.
    fn compare(
        &mut self,
        step: &ReadRange<'_>,
        sink: &dyn ContentSink,
    ) -> std::result::Result<(), SinkClosed> {
        let keep = self.equal.len() <= KEPT_OPEN && !step.last;
        for (file, open) in std::mem::take(&mut self.equal) {
            if sink.is_closed() {
                return Err(SinkClosed);
            }
            match self.read_same(file, open, step) {
                Ok(Some(content)) => self.equal.push((file, Some(content).filter(|_| keep))),
                Ok(None) | Err(_) => self.rejected.push(file),
            }
        }
        Ok(())
    }

    /// Returns a duplicate back, open, if it has the same bytes as the piece; its own reading tells
    /// what is wrong with one that cannot be read.
    fn read_same(
        &mut self,
        file: NodeId,
        open: Option<Box<dyn FileContent>>,
        step: &ReadRange<'_>,
    ) -> Result<Option<Box<dyn FileContent>>> {
        let ContentReader { source, tree, .. } = self.reader;
        let content = match open {
            Some(content) => content,
            None => source.open(tree, file)?,
        };
        let size = paths::size(tree, self.original);
        if step.first && !is_same_layout(step.extents, &clip(content.extents()?, size)) {
            return Ok(None);
        }
        self.buffer.resize(step.bytes.len(), 0);
        let got = content.read_at(step.at, &mut self.buffer)?;
        if got != step.bytes.len() || self.buffer != step.bytes {
            return Ok(None);
        }
        if step.last && !self.reader.is_unchanged(file, &*content)? {
            return Ok(None);
        }
        Ok(Some(content))
    }
}

fn is_hole(extent: &Extent) -> bool {
    extent.source == ExtentSource::Hole
}

fn is_same_layout(a: &[Extent], b: &[Extent]) -> bool {
    let part = |extent: &Extent| (extent.offset, extent.len, is_hole(extent));
    a.iter().map(part).eq(b.iter().map(part))
}

/// Cuts extents at a size.
fn clip(mut extents: Vec<Extent>, size: u64) -> Vec<Extent> {
    extents.retain_mut(|extent| {
        extent.len = extent.len.min(size.saturating_sub(extent.offset));
        extent.len > 0
    });
    extents
}
