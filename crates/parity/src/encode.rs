//! Computes the shards of parity of a file.
//!
//! In: the data, which is read twice: shard by shard for the checksums, then in windows, the same
//! bytes of all shards at once. Out: the shards of parity in a scratch file, one after the other,
//! and the checksums of all shards. **Invariant:** the result depends on data and layout alone.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use reed_solomon_simd::ReedSolomonEncoder;
use sinterfs_block::ReadAt;
use sinterfs_block::checksum::Xxh3;
use sinterfs_model::{Observer, Result, Stage, Tally};

use crate::layout::ParityLayout;
use crate::record::ParityRecord;
use crate::shards::{code_error, for_each, length, load, store, window};

/// Bytes that are hashed at once.
const STEP: u64 = 256 << 10;

/// Computes parity. `data` is the file without the frame; `scratch` is an empty file.
pub fn encode(
    data: &dyn ReadAt,
    layout: ParityLayout,
    scratch: File,
    threads: usize,
    observer: &dyn Observer,
) -> Result<ParityRecord> {
    observer.expect(Stage::Verify, Tally::bytes(layout.len.saturating_mul(2)));
    let sums: Vec<AtomicU64> = (0..layout.shards()).map(|_| AtomicU64::new(0)).collect();
    let keep = |index: usize, sum| {
        if let Some(place) = sums.get(index) {
            place.store(sum, Ordering::Relaxed);
        }
    };
    for_each(u64::from(layout.data), threads, observer, |index| {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let (start, len) = layout.data_range(index);
        let sum = sum_of(layout.shard, len, |at, part| data.read_at(start + at, part))?;
        keep(index as usize, sum);
        observer.advance(Stage::Verify, Tally::bytes(len));
        Ok(())
    })?;
    encode_windows(data, &layout, &scratch, threads, observer)?;
    for_each(u64::from(layout.parity), threads, observer, |index| {
        let start = index * layout.shard;
        let sum = sum_of(layout.shard, layout.shard, |at, part| {
            load(&scratch, part, start + at)
        })?;
        keep(layout.data as usize + length(index)?, sum);
        Ok(())
    })?;
    let sums = sums.into_iter().map(AtomicU64::into_inner).collect();
    Ok(ParityRecord::new(layout, sums, scratch))
}

fn encode_windows(
    data: &dyn ReadAt,
    layout: &ParityLayout,
    scratch: &File,
    threads: usize,
    observer: &dyn Observer,
) -> Result<()> {
    let (count, parity) = (layout.data as usize, layout.parity as usize);
    // the code rounds the shards up to a multiple of those of parity
    let step = window(layout.shard, count + 2 * parity.next_power_of_two());
    for_each(layout.shard.div_ceil(step), threads, observer, |index| {
        let start = index * step;
        let len = length(step.min(layout.shard - start))?;
        let mut code = ReedSolomonEncoder::new(count, parity, len).map_err(code_error)?;
        let mut part = vec![0; len];
        for shard in 0..layout.data {
            read_part(data, layout, shard, start, &mut part)?;
            code.add_original_shard(&part).map_err(code_error)?;
        }
        let made = code.encode().map_err(code_error)?;
        for (shard, bytes) in (0_u64..).zip(made.recovery_iter()) {
            store(scratch, bytes, shard * layout.shard + start)?;
        }
        observer.advance(Stage::Verify, Tally::bytes(len as u64 * count as u64));
        Ok(())
    })
}

/// Reads a part of a shard of data; what is after the end of the data is zero.
pub(crate) fn read_part(
    data: &dyn ReadAt,
    layout: &ParityLayout,
    shard: u32,
    start: u64,
    part: &mut [u8],
) -> Result<()> {
    let (offset, len) = layout.data_range(shard);
    let stored = length(len.saturating_sub(start).min(part.len() as u64))?;
    let (stored, rest) = part.split_at_mut(stored);
    rest.fill(0);
    match stored.is_empty() {
        true => Ok(()),
        false => data.read_at(offset + start, stored),
    }
}

/// Computes the checksum of a shard of which `len` bytes are stored and the rest are zeros.
pub(crate) fn sum_of(
    shard: u64,
    len: u64,
    read: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<u64> {
    let mut hash = Xxh3::default();
    let mut buf = vec![0; length(shard.min(STEP))?];
    let mut at = 0;
    while at < shard {
        let part = buf.split_at_mut(length((shard - at).min(STEP))?).0;
        let stored = length(len.saturating_sub(at).min(part.len() as u64))?;
        let (stored, rest) = part.split_at_mut(stored);
        rest.fill(0);
        if !stored.is_empty() {
            read(at, stored)?;
        }
        hash.update(part);
        at += part.len() as u64;
    }
    Ok(hash.digest())
}
