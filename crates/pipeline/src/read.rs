//! Second read of a content: its data in order, and the proof that its duplicates are equal.
//!
//! Enters a content with the files that probably share it; leaves data and holes for a sink, then
//! the duplicates that differ. Each duplicate is read along in the same buffers and compared; one
//! that differs, cannot be read or changed is rejected and becomes a separate content.
//! **Invariant:** what the sink received is what is stored: at most the scanned size, less if the
//! file ended or failed earlier. The observer is warned once for each file with problems.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{
    Categorizers, Category, Error, Extent, ExtentSource, FileContent, FileLayout, NodeId, Observer,
    Result, Source, Tree,
};
use sinterfs_workers::lock;

use crate::anchors::{Anchor, Finder, Spacing};
use crate::classify::{self, Head, Spans};
use crate::paths;

/// Bytes of one read: large enough to amortise the system call, small enough for the CPU's cache.
pub(crate) const READ_SIZE: usize = 1 << 20;

/// Duplicates that stay open while a content of several buffers is read; further ones are reopened
/// for each buffer, so that the number of open files is bounded.
const KEPT_OPEN: usize = 32;

/// An item of the content stream that the second read produces.
#[derive(Debug)]
pub(crate) enum ContentItem {
    /// Bytes of one category, in whole grains.
    Data {
        bytes: Vec<u8>,
        anchors: Vec<Anchor>,
        category: Category,
    },
    /// A hole of the given length.
    Hole(u64),
    /// The layout options of the file; before its data.
    Layout(FileLayout),
    /// The end of the content.
    End {
        /// Duplicates that are not equal.
        rejected: Vec<NodeId>,
    },
}

impl ContentItem {
    /// Returns the bytes of memory that an item holds.
    pub fn held(&self) -> u64 {
        match self {
            Self::Data { bytes, .. } => bytes.len() as u64,
            _ => 0,
        }
    }
}

/// The receiver of items is gone.
#[derive(Debug)]
pub(crate) struct SinkClosed;

/// The receiver of items.
pub(crate) trait ContentSink {
    /// Waits until `bytes` bytes may be pushed.
    fn reserve(&mut self, bytes: u64) -> std::result::Result<(), SinkClosed>;
    /// Returns whether the receiver is gone.
    fn is_closed(&self) -> bool;
    /// Pushes an item whose bytes were reserved.
    fn push(&mut self, piece: ContentItem) -> std::result::Result<(), SinkClosed>;
}

/// Counts files that gave problems.
#[derive(Debug, Default)]
pub(crate) struct ReadProblems {
    /// Files that could not be read to their end.
    pub unreadable: AtomicU64,
    /// Files that changed after the scan.
    pub changed: AtomicU64,
    /// Files that could be read at a later attempt only.
    pub retried: AtomicU64,
    /// The errors of files that are to be read again.
    failed_once: Mutex<HashMap<NodeId, Error>>,
}

impl ReadProblems {
    /// Keeps the error of a file that will be read again.
    pub fn failed_once(&self, file: NodeId, error: Error) {
        lock(&self.failed_once).insert(file, error);
    }

    /// Reports the error of an earlier attempt to read a file, which was now read whole.
    fn report_retried(&self, file: NodeId, observer: &dyn Observer, path: PathBuf) {
        if let Some(error) = lock(&self.failed_once).remove(&file) {
            let what = format!("read whole at another attempt only, {error}");
            observer.warn(&Error::new(error.kind(), what).path(path));
            self.retried.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Reads contents of one source.
pub(crate) struct ContentReader<'a> {
    pub source: &'a dyn Source,
    pub tree: &'a Tree,
    pub observer: &'a dyn Observer,
    pub problems: &'a ReadProblems,
    /// The spacing of anchors; `None` if matches are not searched.
    pub spacing: Option<Spacing>,
    /// The kinds of content that are recognised.
    pub categorizers: Categorizers,
}

/// A content to be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadRequest<'a> {
    /// The file that is read.
    pub file: NodeId,
    /// Its category, if known.
    pub category: Option<Category>,
    /// Whether the base probably has it, so that matches are not searched in it.
    pub known: bool,
    /// The files that are probably equal.
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

/// How the reading of a content ended.
struct ReadOutcome {
    /// It has as many bytes as the scan found.
    whole: bool,
    /// It is as the scan found it.
    unchanged: bool,
}

impl ContentReader<'_> {
    /// Reads a content once and pushes its items to the sink.
    pub fn read(
        &self,
        request: &ReadRequest<'_>,
        sink: &mut dyn ContentSink,
    ) -> std::result::Result<(), SinkClosed> {
        let &ReadRequest {
            file, duplicates, ..
        } = request;
        let mut duplicate_check = DuplicateCheck::new(self, file, duplicates);
        let ended = match self.source.open(self.tree, file) {
            Ok(content) => self.copy(request, &*content, &mut duplicate_check, sink),
            Err(error) => Err(ReadStop::Failed(error)),
        };
        let whole = match ended {
            Ok(ended) => {
                if !ended.unchanged {
                    let what = "changed while it was packed, stored as it was read then";
                    self.observer
                        .warn(&Error::invalid(what).path(self.path(file)));
                    self.problems.changed.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.problems
                        .report_retried(file, self.observer, self.path(file));
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
            duplicate_check.rejected
        } else {
            duplicates.to_vec()
        };
        sink.push(ContentItem::End { rejected })
    }

    fn copy(
        &self,
        request: &ReadRequest<'_>,
        content: &dyn FileContent,
        duplicate_check: &mut DuplicateCheck<'_>,
        sink: &mut dyn ContentSink,
    ) -> std::result::Result<ReadOutcome, ReadStop> {
        let file = request.file;
        let size = paths::size(self.tree, file);
        let layout = content.layout();
        if layout != FileLayout::default() {
            sink.push(ContentItem::Layout(layout))?;
        }
        let extents = clip(content.extents()?, size);
        let mut rest: u64 = extents.iter().filter(|e| !is_hole(e)).map(|e| e.len).sum();
        if rest == 0 {
            let (first, last) = (true, true);
            let range = ReadRange {
                extents: &extents,
                at: 0,
                bytes: &[],
                first,
                last,
            };
            duplicate_check.compare(&range, sink)?;
        }
        // a content of several categories is classified again
        let known = request.category.filter(|&main| !classify::has_parts(main));
        let mut spans = known.map(Spans::whole);
        let spacing = self.spacing.filter(|_| !request.known);
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
                    .map_or(most, |spans| spans.buffer_end(at, most));
                sink.reserve(stop - at)?;
                let mut bytes = vec![0; (stop - at) as usize];
                let got = content.read_at(at, &mut bytes)?;
                bytes.truncate(got);
                let spans = match &mut spans {
                    Some(spans) => spans,
                    None => {
                        let head = Head {
                            offset: at,
                            bytes: &bytes,
                        };
                        let found = classify::classify(head, size, content, self.categorizers)?;
                        spans.insert(found)
                    }
                };
                // only the classified beginning shows where the buffer has to end
                let len = spans.buffer_end(at, stop) - at;
                let short = (got as u64) < stop - at;
                bytes.truncate(if short { got } else { len as usize });
                rest -= len;
                if !short {
                    let last = rest == 0;
                    let range = ReadRange {
                        extents: &extents,
                        at,
                        bytes: &bytes,
                        first,
                        last,
                    };
                    duplicate_check.compare(&range, sink)?;
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

    /// Returns whether an open file has the size and time found by the scan.
    fn is_unchanged(&self, file: NodeId, content: &dyn FileContent) -> Result<bool> {
        let scanned = self.tree.node(file).meta.times.modified;
        let time = content.modified()?;
        Ok(content.len()? == paths::size(self.tree, file)
            && time.is_none_or(|time| time == scanned))
    }

    fn path(&self, file: NodeId) -> PathBuf {
        sinterfs_platform::names::path_buf(self.tree.path(file))
    }
}

/// Pushes bytes that were read at an offset, one item for each run of one category.
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

/// A range of a content, to be compared with its duplicates.
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

    /// Compares a range of the content with the same range of each duplicate.
    fn compare(
        &mut self,
        range: &ReadRange<'_>,
        sink: &dyn ContentSink,
    ) -> std::result::Result<(), SinkClosed> {
        let keep = self.equal.len() <= KEPT_OPEN && !range.last;
        for (file, open) in std::mem::take(&mut self.equal) {
            if sink.is_closed() {
                return Err(SinkClosed);
            }
            match self.read_same(file, open, range) {
                Ok(Some(content)) => self.equal.push((file, Some(content).filter(|_| keep))),
                Ok(None) => self.rejected.push(file),
                Err(error) => {
                    self.reader.problems.failed_once(file, error);
                    self.rejected.push(file);
                }
            }
        }
        Ok(())
    }

    /// Returns the open duplicate if it has the same bytes in the range. Errors are reported
    /// when the rejected file is read on its own.
    fn read_same(
        &mut self,
        file: NodeId,
        open: Option<Box<dyn FileContent>>,
        range: &ReadRange<'_>,
    ) -> Result<Option<Box<dyn FileContent>>> {
        let ContentReader { source, tree, .. } = self.reader;
        let content = match open {
            Some(content) => content,
            None => source.open(tree, file)?,
        };
        let size = paths::size(tree, self.original);
        if range.first && !is_same_layout(range.extents, &clip(content.extents()?, size)) {
            return Ok(None);
        }
        self.buffer.resize(range.bytes.len(), 0);
        let got = content.read_at(range.at, &mut self.buffer)?;
        if got != range.bytes.len() || self.buffer != range.bytes {
            return Ok(None);
        }
        if range.last && !self.reader.is_unchanged(file, &*content)? {
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
