//! Stores all contents: read -> segment -> compress -> commit, which run at the same time.
//!
//! Enters the contents in order; leaves what the segment stage made of them. Threads: readers, one
//! that segments, workers that encode, and the caller, which commits.
//! **Invariant:** every wait ends when the other side is gone, so an error anywhere ends all
//! threads; at most `Budget::in_flight` segments are between segment and commit.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use sinterfs_model::{
    Error, ImageWriter, Kind, NodeId, Observer, Result, Segment, SegmentEncoder, Stage, Tally,
};
use sinterfs_workers::{WorkerPermits, catch_panic};

use crate::budget::Budget;
use crate::commit::{POLL, commit};
use crate::compress::encode;
use crate::paths;
use crate::read::{ContentItem, ContentSink, ReadRequest, SinkClosed};
use crate::readahead::{ReadPlan, Readahead};
use crate::segment::{SegmentOptions, Segmented, Segmenter};

/// Threads that read ahead: enough to fill the queue of a disk.
const READERS: usize = 4;

/// Where all content was stored.
pub(crate) struct StoredContents {
    /// The extents, by segment.
    pub segmented: Segmented,
    /// The owner of each list of extents, in order: a content, or a file that was stored separately
    /// after it.
    pub owners: Vec<Owner>,
}

/// The owner of a list of extents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A content, by its index, and its duplicates.
    Content(u32),
    /// A file that had the fingerprint of another content but different bytes.
    Rejected(NodeId),
}

/// Reads, cuts, encodes and writes all contents.
pub(crate) fn store(
    plan: &ReadPlan<'_>,
    writer: &mut dyn ImageWriter,
    encoder: &dyn SegmentEncoder,
    cut: &SegmentOptions,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<StoredContents> {
    let ahead = Readahead::new();
    let stop = AtomicBool::new(false);
    let (workers, in_flight) = (budget.workers, budget.in_flight);
    let permits = WorkerPermits::new(
        budget.threads.saturating_sub(workers),
        budget.memory_capacity,
    );
    std::thread::scope(|scope| {
        let (ahead, stop, permits) = (&ahead, &stop, &permits);
        let _stop_readers = OnDrop(|| {
            stop.store(true, Ordering::Relaxed);
            ahead.close();
        });
        let (segment_tx, segment_rx) = bounded(in_flight);
        let (block_tx, block_rx) = unbounded();
        let (permit_tx, permit_rx) = bounded(in_flight);
        for _ in 0..in_flight {
            let _ = permit_tx.send(());
        }
        let read = || move || ahead.fill(plan);
        let compress = || {
            let (segments, blocks) = (segment_rx.clone(), block_tx.clone());
            move || encode(encoder, &segments, permits, &blocks, stop, observer)
        };
        spawn(scope, "read", read())?;
        spawn(scope, "compress", compress())?;
        let segmenting = spawn(scope, "segment", move || {
            catch_panic("segment", move || {
                let out = SegmentSender {
                    segments: segment_tx,
                    permits: permit_rx,
                    observer,
                };
                let _close = OnDrop(|| ahead.close());
                let result = segment(plan, ahead, cut.clone(), &out, observer);
                if result.is_err() {
                    stop.store(true, Ordering::Relaxed);
                }
                result
            })
        })?;
        // with one thread each, all stages run: further ones are optional
        spawn_up_to(
            scope,
            "read",
            budget.threads.min(READERS).saturating_sub(1),
            read,
        );
        spawn_up_to(scope, "compress", workers.saturating_sub(1), compress);
        drop((segment_rx, block_tx));
        let committed = catch_panic("commit", || commit(writer, &block_rx, &permit_tx, observer));
        if committed.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        drop((block_rx, permit_tx));
        let segmented = segmenting
            .join()
            .unwrap_or_else(|_| Err(Error::invalid("the segment thread ended by a panic")));
        join(committed, segmented)
    })
}

/// Returns the most specific error: a stage whose neighbour failed only reports that it is gone.
fn join(
    committed: Result<u32>,
    segmented: Result<(Segmented, Vec<Owner>)>,
) -> Result<StoredContents> {
    match (committed, segmented) {
        (Ok(blocks), Ok((segmented, owners))) => {
            if blocks != segmented.segments {
                return Err(Error::invalid("a worker ended without its block"));
            }
            Ok(StoredContents { segmented, owners })
        }
        (Err(error), Ok(_)) => Err(error),
        (Ok(_), Err(error)) => Err(error),
        (Err(commit), Err(segment)) if commit.kind() == Kind::Cancelled => Err(segment),
        (Err(commit), Err(_)) => Err(commit),
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>> {
    sinterfs_workers::spawn(scope, name, work)
        .map_err(|error| Error::io("cannot start a thread", error))
}

/// Starts `count` threads, or fewer where the system starts no more.
fn spawn_up_to<'scope, W: FnOnce() + Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    count: usize,
    work: impl Fn() -> W,
) {
    for _ in 0..count {
        if spawn(scope, name, work()).is_err() {
            break;
        }
    }
}

/// Sends segments from the segment stage to the workers.
struct SegmentSender<'a> {
    segments: Sender<Segment>,
    permits: Receiver<()>,
    observer: &'a dyn Observer,
}

impl SegmentSender<'_> {
    fn send(&self, segment: Segment) -> Result<()> {
        let stored = segment.data.len() as u64;
        self.observer
            .advance(Stage::Segment, Tally::new(0, 0, stored));
        loop {
            self.observer.check_cancelled()?;
            match self.permits.recv_timeout(POLL) {
                Ok(()) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(channel_closed()),
            }
        }
        self.segments.send(segment).map_err(|_| channel_closed())
    }
}

#[cold]
fn channel_closed() -> Error {
    Error::new(Kind::Cancelled, "the stage that takes segments has ended")
}

/// Cuts all contents in order. The body of the segment thread.
fn segment(
    plan: &ReadPlan<'_>,
    ahead: &Readahead,
    cut: SegmentOptions,
    out: &SegmentSender<'_>,
    observer: &dyn Observer,
) -> Result<(Segmented, Vec<Owner>)> {
    let mut segmenter = Segmenter::new(cut, |segment| out.send(segment))?;
    if plan.contents.new_bytes(plan.reader.tree) > 0 {
        segmenter.note_base(observer)?;
    }
    let mut owners = Vec::with_capacity(plan.order.len());
    let advance = |items, bytes| {
        observer.advance(
            Stage::Segment,
            Tally {
                items,
                bytes,
                stored: 0,
            },
        );
    };
    for (position, &content) in plan.order.iter().enumerate() {
        if let Some(done) = plan.category_done_before(position) {
            segmenter.close(done)?;
        }
        let item = &plan.contents.items[content as usize];
        let len = paths::size(plan.reader.tree, item.original);
        segmenter.start(len, item.category.unwrap_or_default(), item.begins_block)?;
        if let Some(list) = item.known {
            segmenter.expect(list);
        }
        let mut rejected = Vec::new();
        loop {
            match ahead.take(observer)? {
                ContentItem::Data {
                    bytes: data,
                    anchors,
                    category,
                } => {
                    segmenter.data(&data, &anchors, category)?;
                    advance(0, data.len() as u64);
                    observer.check_cancelled()?;
                }
                ContentItem::Layout(layout) => segmenter.layout(layout),
                ContentItem::Hole(len) => {
                    segmenter.hole(len)?;
                    advance(0, len);
                }
                ContentItem::End { rejected: files } => {
                    rejected.extend(files);
                    break;
                }
            }
        }
        segmenter.end()?;
        owners.push(Owner::Content(content));
        advance(1, 0);
        for file in rejected {
            let mut direct = DirectSink {
                segmenter: &mut segmenter,
                failure: None,
            };
            let request = ReadRequest {
                file,
                ..ReadRequest::default()
            };
            let closed = plan.reader.read(&request, &mut direct);
            match (closed, direct.failure) {
                (Ok(()), None) => {}
                (_, failure) => return Err(failure.unwrap_or_else(channel_closed)),
            }
            segmenter.end()?;
            owners.push(Owner::Rejected(file));
        }
    }
    Ok((segmenter.finish()?, owners))
}

/// Feeds the segmenter from its own thread, for the rare file that was rejected as a duplicate.
struct DirectSink<'a, E> {
    segmenter: &'a mut Segmenter<E>,
    failure: Option<Error>,
}

impl<E: FnMut(Segment) -> Result<()>> ContentSink for DirectSink<'_, E> {
    fn reserve(&mut self, _: u64) -> std::result::Result<(), SinkClosed> {
        Ok(())
    }

    fn is_closed(&self) -> bool {
        false
    }

    fn push(&mut self, piece: ContentItem) -> std::result::Result<(), SinkClosed> {
        let result = match piece {
            ContentItem::Data {
                bytes,
                anchors,
                category,
            } => self.segmenter.data(&bytes, &anchors, category),
            ContentItem::Hole(len) => self.segmenter.hole(len),
            ContentItem::Layout(layout) => {
                self.segmenter.layout(layout);
                Ok(())
            }
            ContentItem::End { .. } => Ok(()),
        };
        result.map_err(|error| {
            self.failure = Some(error);
            SinkClosed
        })
    }
}

/// Calls a function when dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
