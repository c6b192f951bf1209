//! Computes the shards of parity of a file.
//!
//! In: the data, which is read twice: shard by shard for the checksums, then in windows, the same
//! bytes of all shards at once. Out: the shards of parity in a scratch file, one after the other,
//! and the checksums of all shards. **Invariant:** the result depends only on data and layout, and
//! checksums and parity are of the same bytes: both passes are compared.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};

use reed_solomon_simd::ReedSolomonEncoder;
use sinterfs_block::ReadAt;
use sinterfs_block::checksum::{Xxh3, xxh3_64};
use sinterfs_model::{Error, Observer, Result, Stage, Tally};

use crate::layout::ParityLayout;
use crate::record::ParityRecord;
use crate::shards::{code_error, for_each, length, load, store, window};

/// Bytes that are hashed at once.
const STEP: u64 = 256 << 10;

/// Computes parity. `scratch` is an empty file. `Io` if the data changes meanwhile.
pub fn encode(
    data: &dyn ReadAt,
    layout: ParityLayout,
    scratch: File,
    threads: usize,
    observer: &dyn Observer,
) -> Result<ParityRecord> {
    observer.expect(Stage::Verify, Tally::bytes(layout.len.saturating_mul(2)));
    let sums: Vec<AtomicU64> = (0..layout.shards()).map(|_| AtomicU64::new(0)).collect();
    let seen: Vec<AtomicU64> = (0..layout.data).map(|_| AtomicU64::new(0)).collect();
    let keep = |index: usize, sum| {
        if let Some(place) = sums.get(index) {
            place.store(sum, Ordering::Relaxed);
        }
    };
    let step = window_of(&layout);
    for_each(u64::from(layout.data), threads, observer, |index| {
        let index = u32::try_from(index).unwrap_or(u32::MAX);
        let (sum, pieces) = read_shard(data, &layout, index, step)?;
        keep(index as usize, sum);
        add(&seen, index, pieces);
        observer.advance(Stage::Verify, Tally::bytes(layout.data_range(index).1));
        Ok(())
    })?;
    let again: Vec<AtomicU64> = (0..layout.data).map(|_| AtomicU64::new(0)).collect();
    encode_windows(data, &layout, (&scratch, &again), threads, observer)?;
    let pairs = seen.into_iter().zip(again);
    let mut pairs = pairs.map(|(a, b)| (a.into_inner(), b.into_inner()));
    if let Some(index) = pairs.position(|(first, second)| first != second) {
        let offset = layout
            .data_range(u32::try_from(index).unwrap_or(u32::MAX))
            .0;
        let changed = std::io::Error::other("it has other bytes when read again");
        let what = format!("the file changed while it was read, near byte {offset}");
        return Err(Error::io(what, changed));
    }
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

/// Returns how many bytes of each shard are coded at once.
fn window_of(layout: &ParityLayout) -> u64 {
    let (count, parity) = (layout.data as usize, layout.parity as usize);
    // the code rounds the shards up to a multiple of the parity shards
    window(layout.shard, count + 2 * parity.next_power_of_two())
}

/// Reads a shard of data in pieces as long as a window. Returns its checksum, and the sum of its
/// pieces' checksums, which does not depend on their order.
fn read_shard(
    data: &dyn ReadAt,
    layout: &ParityLayout,
    shard: u32,
    step: u64,
) -> Result<(u64, u64)> {
    let (mut whole, mut pieces) = (Xxh3::default(), 0_u64);
    // few large reads, each of them whole pieces
    let most = (STEP / step).max(1) * step;
    let mut buf = vec![0; length(layout.shard.min(most))?];
    let mut at = 0;
    while at < layout.shard {
        let part = buf.split_at_mut(length((layout.shard - at).min(most))?).0;
        read_part(data, layout, shard, at, part)?;
        whole.update(part);
        for piece in part.chunks(length(step)?) {
            pieces = pieces.wrapping_add(piece_sum(at, piece));
            at += piece.len() as u64;
        }
    }
    Ok((whole.digest(), pieces))
}

/// Returns the checksum of a piece of a shard, which depends on its place.
fn piece_sum(start: u64, piece: &[u8]) -> u64 {
    xxh3_64(&[start.to_le_bytes(), xxh3_64(piece).to_le_bytes()].concat())
}

fn add(sums: &[AtomicU64], shard: u32, sum: u64) {
    if let Some(place) = sums.get(shard as usize) {
        place.fetch_add(sum, Ordering::Relaxed);
    }
}

fn encode_windows(
    data: &dyn ReadAt,
    layout: &ParityLayout,
    (scratch, seen): (&File, &[AtomicU64]),
    threads: usize,
    observer: &dyn Observer,
) -> Result<()> {
    let (count, parity) = (layout.data as usize, layout.parity as usize);
    let step = window_of(layout);
    for_each(layout.shard.div_ceil(step), threads, observer, |index| {
        let start = index * step;
        let len = length(step.min(layout.shard - start))?;
        let mut code = ReedSolomonEncoder::new(count, parity, len).map_err(code_error)?;
        let mut part = vec![0; len];
        for shard in 0..layout.data {
            read_part(data, layout, shard, start, &mut part)?;
            add(seen, shard, piece_sum(start, &part));
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
    if stored.is_empty() {
        Ok(())
    } else {
        data.read_at(offset + start, stored)
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
