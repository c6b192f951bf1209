//! Passes encoded blocks to the writer in sequence.
//!
//! Enters blocks in the order in which workers finish; the writer receives them by number.
//! **Invariant:** one thread calls the writer. Each block that it took frees a permit for a
//! segment, so the permits bound the blocks that wait here.

use std::collections::BTreeMap;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use sinterfs_model::{Block, Error, ImageWriter, Observer, Result, Stage, Tally};

/// The interval at which a waiting stage checks whether to stop.
pub(crate) const POLL: Duration = Duration::from_millis(100);

/// Writes blocks until no worker is left and returns their number.
pub(crate) fn commit(
    writer: &mut dyn ImageWriter,
    blocks: &Receiver<Result<Block>>,
    permits: &Sender<()>,
    observer: &dyn Observer,
) -> Result<u32> {
    let mut early: BTreeMap<u32, Block> = BTreeMap::new();
    let mut written = 0;
    loop {
        observer.check_cancelled()?;
        let block = match blocks.recv_timeout(POLL) {
            Ok(block) => block?,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        early.insert(block.sequence, block);
        while let Some(block) = early.remove(&written) {
            let tally = Tally {
                items: 1,
                bytes: u64::from(block.decoded_len),
                stored: block.bytes.len() as u64,
            };
            writer.put(block)?;
            written += 1;
            observer.advance(Stage::Commit, tally);
            // the segment stage may have ended
            let _ = permits.send(());
        }
    }
    if !early.is_empty() {
        return Err(Error::invalid("a worker ended without its block"));
    }
    Ok(written)
}
