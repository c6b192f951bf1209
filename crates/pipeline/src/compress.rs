//! Encodes segments on worker threads, which share the work on expensive blocks.
//!
//! Enters segments in any order; leaves encoded blocks, or the first error, for `commit`.
//! **Invariant:** a worker ends when there are no more segments, when the receiver of blocks is
//! gone, or after an error; a panic of the encoder becomes an error.

use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, Sender};
use sinterfs_model::{Block, Error, Observer, Result, Segment, SegmentEncoder, Stage, Tally};
use sinterfs_workers::{WorkerPermits, catch_panic};

/// Encodes segments until there are none. The body of each worker thread.
pub(crate) fn encode(
    encoder: &dyn SegmentEncoder,
    segments: &Receiver<Segment>,
    permits: &WorkerPermits,
    blocks: &Sender<Result<Block>>,
    stop: &AtomicBool,
    observer: &dyn Observer,
) {
    while let Ok(segment) = permits.while_idle(|| segments.recv()) {
        if stop.load(Ordering::Relaxed) {
            return encoder.abandon();
        }
        let result = catch_panic("compress", || {
            encode_one(encoder, &segment, permits, observer)
        });
        let failed = result.is_err();
        drop(segment);
        if blocks.send(result).is_err() || failed {
            return encoder.abandon();
        }
    }
    permits.retire();
}

fn encode_one(
    encoder: &dyn SegmentEncoder,
    segment: &Segment,
    permits: &WorkerPermits,
    observer: &dyn Observer,
) -> Result<Block> {
    let block = encoder.encode(segment, permits)?;
    if block.sequence != segment.sequence || block.decoded_len as usize != segment.data.len() {
        return Err(Error::invalid(
            "the encoder returned another block than it was given",
        ));
    }
    let (bytes, stored) = (segment.data.len() as u64, block.bytes.len() as u64);
    observer.advance(
        Stage::Compress,
        Tally {
            items: 1,
            bytes,
            stored,
        },
    );
    Ok(block)
}
