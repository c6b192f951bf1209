//! Restores the damaged shards of a file from the intact ones and from parity.
//!
//! In: a file that was examined. Out: the data as a source, and the record as it was.
//! **Invariant:** the checksum of all checksums is compared after everything was computed again, so
//! what is returned is what the record was made of, or an error.

use std::fmt;
use std::fs::File;

use reed_solomon_simd::ReedSolomonDecoder;
use sinterfs_block::ReadAt;
use sinterfs_block::checksum::Xxh3;
use sinterfs_model::{Error, Observer, Result};

use crate::encode::{encode, read_part};
use crate::examine::Examined;
use crate::layout::ParityLayout;
use crate::record::ParityRecord;
use crate::shards::{code_error, for_each, length, load, store, window};

/// Bytes that are passed on at once.
const STEP: u64 = 1 << 20;

/// The data of a file, of which some shards were restored.
pub struct Restored<'a> {
    file: &'a dyn ReadAt,
    layout: ParityLayout,
    places: Vec<Shard>,
    scratch: File,
}

/// The place of a shard of data.
#[derive(Debug, Clone, Copy)]
enum Shard {
    /// In the file, from this offset on.
    File(u64),
    /// In the scratch file, as the shard of this number.
    Scratch(u64),
}

/// Restores everything. `scratch` makes empty files. `Corrupt` if more is damaged than can be
/// restored.
pub fn restore<'a>(
    file: &'a dyn ReadAt,
    record: &dyn ReadAt,
    examined: &Examined,
    scratch: impl Fn() -> Result<File>,
    threads: usize,
    observer: &dyn Observer,
) -> Result<(Restored<'a>, ParityRecord)> {
    let layout = examined.layout;
    if !examined.is_repairable() {
        let damage = examined.damage;
        return Err(Error::corrupt(format!(
            "{} shards of {} bytes are damaged, and {} of {} shards of parity are intact: too few",
            damage.data,
            layout.shard,
            layout.parity as usize - damage.parity,
            layout.parity
        )));
    }
    let mut missing = 0;
    let places = examined.places.iter().take(layout.data as usize);
    let places = places.map(|place| match place {
        Some(at) => Shard::File(*at),
        None => {
            missing += 1;
            Shard::Scratch(missing - 1)
        }
    });
    let places: Vec<Shard> = places.collect();
    let restored = Restored {
        file,
        layout,
        places,
        scratch: scratch()?,
    };
    if missing > 0 {
        restored.decode(record, examined, threads, observer)?;
    }
    let made = encode(&restored, layout, scratch()?, threads, observer)?;
    let known = examined.sums.iter().zip(made.sums());
    let differ = known.filter(|(known, made)| known.is_some_and(|known| known != **made));
    if made.set() != examined.set || differ.count() > 0 {
        return Err(Error::corrupt(
            "the restored file is not the file that the parity was made from",
        ));
    }
    Ok((restored, made))
}

impl Restored<'_> {
    /// Passes the data to `out`, in order, each byte read once more and compared with the checksums
    /// of `record`. `Io` if it is not what it was when the record was computed: what was passed on
    /// must not be used then.
    pub fn for_each_part(
        &self,
        record: &ParityRecord,
        mut out: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let shard = self.layout.shard;
        let mut buf = vec![0; length(shard.min(STEP))?];
        for (index, expected) in (0..self.layout.data).zip(record.sums()) {
            let (offset, stored) = self.layout.data_range(index);
            let (mut sum, mut at) = (Xxh3::default(), 0);
            while at < shard {
                let part = buf.split_at_mut(length((shard - at).min(STEP))?).0;
                read_part(self, &self.layout, index, at, part)?;
                sum.update(part);
                let data = length(stored.saturating_sub(at).min(part.len() as u64))?;
                out(part.split_at(data).0)?;
                at += part.len() as u64;
            }
            if sum.digest() != *expected {
                let what = format!("the file changed while it was read, near byte {offset}");
                let changed = std::io::Error::other("it has other bytes when read again");
                return Err(Error::io(what, changed));
            }
        }
        Ok(())
    }

    /// Computes the missing shards, in windows, on several threads.
    fn decode(
        &self,
        record: &dyn ReadAt,
        examined: &Examined,
        threads: usize,
        observer: &dyn Observer,
    ) -> Result<()> {
        let layout = self.layout;
        let (count, parity) = (layout.data as usize, layout.parity as usize);
        let all = count + 2 * parity.next_power_of_two();
        let step = window(layout.shard, all.next_power_of_two());
        for_each(layout.shard.div_ceil(step), threads, observer, |index| {
            let start = index * step;
            let len = length(step.min(layout.shard - start))?;
            let mut code = ReedSolomonDecoder::new(count, parity, len).map_err(code_error)?;
            let mut part = vec![0; len];
            for (shard, place) in self.places.iter().enumerate() {
                if let Shard::File(_) = place {
                    let number = u32::try_from(shard).unwrap_or(u32::MAX);
                    read_part(self, &layout, number, start, &mut part)?;
                    code.add_original_shard(shard, &part).map_err(code_error)?;
                }
            }
            let intact = examined.places.iter().skip(count).enumerate();
            let intact = intact.filter_map(|(shard, place)| Some((shard, (*place)?)));
            for (shard, place) in intact.take(examined.damage.data) {
                record.read_at(place.saturating_add(start), &mut part)?;
                code.add_recovery_shard(shard, &part).map_err(code_error)?;
            }
            let decoded = code.decode().map_err(code_error)?;
            for (shard, bytes) in decoded.restored_original_iter() {
                if let Some(Shard::Scratch(slot)) = self.places.get(shard) {
                    store(&self.scratch, bytes, slot * layout.shard + start)?;
                }
            }
            Ok(())
        })
    }
}

impl fmt::Debug for Restored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Restored({} bytes)", self.layout.len)
    }
}

impl ReadAt for Restored<'_> {
    fn len(&self) -> u64 {
        self.layout.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let (mut at, mut rest) = (offset, buf);
        while !rest.is_empty() {
            let index = at / self.layout.shard;
            let place = usize::try_from(index)
                .ok()
                .and_then(|index| self.places.get(index));
            let place = *place.ok_or_else(|| Error::corrupt("read after the end of the data"))?;
            let within = at % self.layout.shard;
            let len = (self.layout.shard - within).min(rest.len() as u64);
            let (part, after) = rest.split_at_mut(length(len)?);
            match place {
                Shard::File(start) => {
                    self.file.read_at(start.saturating_add(within), part)?;
                }
                Shard::Scratch(slot) => {
                    load(&self.scratch, part, slot * self.layout.shard + within)?;
                }
            }
            at += len;
            rest = after;
        }
        Ok(())
    }
}
