//! Files that are damaged at random and restored from their parity: up to the bound the very bytes
//! come back, beyond it there is an error. `SINTER_PARITY_RUNS` sets the number of damages.

#![allow(clippy::unwrap_used, reason = "this is a test")]

use std::fs::File;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Error, Kind, Quiet, Result};
use sinterfs_parity::{ParityLayout, encode, examine, find, restore};
use sinterfs_testkit::{Random, noise};

fn scratch() -> Result<File> {
    tempfile::tempfile().map_err(|error| Error::io("scratch", error))
}

/// A file with its record.
struct Protected {
    layout: ParityLayout,
    file: Vec<u8>,
    record: Vec<u8>,
}

impl Protected {
    fn new(data: &[u8], percent: u8) -> Self {
        let layout = ParityLayout::new(data.len() as u64, percent).unwrap();
        let source = MemorySource(data.to_vec());
        let made = encode(&source, layout, scratch().unwrap(), 2, &Quiet).unwrap();
        let mut record = Vec::new();
        made.for_each_part(|part| {
            record.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        assert_eq!(record.len() as u64, layout.record_len());
        let file = data.to_vec();
        Self {
            layout,
            file,
            record,
        }
    }

    /// Restores damaged bytes, and compares the result with what was there.
    fn repair(&self, file: &[u8], record: &[u8]) -> Result<()> {
        let (file, record) = (MemorySource(file.to_vec()), MemorySource(record.to_vec()));
        let found = find(&record)?.ok_or_else(|| Error::not_found("no record"))?;
        let examined = examine(&file, &record, found, 2, &Quiet)?;
        let (data, made) = restore(&file, &record, &examined, scratch, 2, &Quiet)?;
        assert_eq!(found.layout, self.layout);
        assert_eq!(*data.read(0, data.len())?, self.file[..], "other bytes");
        let mut bytes = Vec::new();
        made.for_each_part(|part| {
            bytes.extend_from_slice(part);
            Ok(())
        })?;
        assert!(self.record == bytes, "another record");
        Ok(())
    }
}

fn runs() -> usize {
    let runs = std::env::var("SINTER_PARITY_RUNS").ok();
    runs.and_then(|runs| runs.parse().ok()).unwrap_or(250)
}

/// Files of several lengths.
fn files() -> Vec<Protected> {
    let lengths = [1, 1000, 1024, 5000, 70_001, 300_000];
    let mut files = Vec::new();
    for (index, len) in lengths.into_iter().enumerate() {
        let data = noise(index as u64, len);
        files.extend([5, 30].map(|percent| Protected::new(&data, percent)));
    }
    files
}

/// One kind of damage; `units` is how many shards it may reach.
fn damage(kind: usize, bytes: &mut Vec<u8>, units: usize, shard: usize, random: &mut Random) {
    let reach = units.saturating_sub(3) * shard;
    let at = random.below(bytes.len());
    let end = (at + random.below(reach + 1)).min(bytes.len());
    match kind {
        0 => {
            for _ in 0..units {
                let at = random.below(bytes.len());
                bytes[at] ^= 1 << random.below(8);
            }
        }
        1 => bytes[at..end].fill(random.number() as u8),
        2 => drop(bytes.drain(at..end)),
        3 => bytes.truncate(bytes.len() - random.below(reach.min(bytes.len() - 1) + 1)),
        _ => {
            let more = noise(random.number(), random.below(reach + 1));
            bytes.splice(at..at, more);
        }
    }
}

#[test]
fn damage_up_to_the_bound_is_repaired() {
    let mut random = Random(20_261_123);
    let files = files();
    for kind in 0..5 {
        let mut damaged = 0;
        for run in 0..runs() {
            let file = &files[random.below(files.len())];
            let (units, shard) = (file.layout.parity as usize, file.layout.shard as usize);
            let (mut bytes, mut record) = (file.file.clone(), file.record.clone());
            // the shards of the record count, too
            let some = match random.below(2) {
                0 => random.below(units + 1),
                _ => units,
            };
            damage(kind, &mut bytes, some, shard, &mut random);
            if some < units {
                damage(
                    random.below(5),
                    &mut record,
                    units - some,
                    shard,
                    &mut random,
                );
            }
            damaged += usize::from(bytes != file.file || record != file.record);
            let repaired = file.repair(&bytes, &record);
            assert!(
                repaired.is_ok(),
                "{kind} {run}: {:?} {repaired:?}",
                file.layout
            );
        }
        assert!(damaged > runs() / 4, "{kind}: only {damaged} were damaged");
    }
}

#[test]
fn damage_beyond_the_bound_is_an_error() {
    let mut random = Random(5);
    let file = Protected::new(&noise(9, 60_000), 10);
    let (parity, shard) = (file.layout.parity as usize, file.layout.shard as usize);
    for more in 1..40 {
        let mut bytes = file.file.clone();
        for number in 0..(parity + more).min(48) {
            bytes[number * shard + random.below(shard)] ^= 0x10;
        }
        let error = file.repair(&bytes, &file.record).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        assert!(error.to_string().contains("too few"), "{error}");
    }
}

#[test]
fn a_record_of_another_file_restores_nothing() {
    let a = Protected::new(&noise(1, 50_000), 5);
    let b = Protected::new(&noise(2, 50_000), 5);
    assert!(a.repair(&a.file, &b.record).is_err());
    let none = find(&MemorySource(noise(3, 3 << 20))).unwrap();
    assert!(none.is_none());
}

#[test]
fn no_change_of_a_record_harms() {
    let file = Protected::new(&noise(4, 20_000), 20);
    let mut random = Random(77);
    let (mut repaired, mut refused) = (0, 0);
    for _ in 0..runs() {
        let (mut bytes, mut record) = (file.file.clone(), file.record.clone());
        bytes[random.below(20_000)] ^= 0x20;
        let most = 1 << random.below(9);
        for _ in 0..=random.below(most) {
            let at = random.below(record.len());
            record[at] = random.number() as u8;
        }
        // either it is good enough, which compares the bytes, or there is an error
        match file.repair(&bytes, &record) {
            Ok(()) => repaired += 1,
            Err(error) => {
                assert!(
                    [Kind::Corrupt, Kind::NotFound].contains(&error.kind()),
                    "{error}"
                );
                refused += 1;
            }
        }
    }
    let few = runs() / 10;
    assert!(repaired > few && refused > few, "{repaired}, {refused}");
}

/// Data of which a byte changes after some reads of it.
struct Changing {
    data: Vec<u8>,
    at: u64,
    /// How often it is read before.
    sound: usize,
    reads: AtomicUsize,
}

impl ReadAt for Changing {
    fn len(&self) -> u64 {
        self.data.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let start = offset as usize;
        buf.copy_from_slice(&self.data[start..start + buf.len()]);
        if (offset..offset + buf.len() as u64).contains(&self.at)
            && self.reads.fetch_add(1, Ordering::Relaxed) >= self.sound
        {
            buf[(self.at - offset) as usize] ^= 1;
        }
        Ok(())
    }
}

#[test]
fn data_that_changes_meanwhile_is_an_error() {
    for len in [1, 1000, 70_000, 5 << 20] {
        let layout = ParityLayout::new(len, 20).unwrap();
        for at in [0, len / 2, len - 1] {
            let data = Changing {
                data: noise(len, len as usize),
                at,
                sound: 1,
                reads: AtomicUsize::new(0),
            };
            let made = encode(&data, layout, scratch().unwrap(), 2, &Quiet);
            let error = made.map(drop).unwrap_err();
            assert!(error.to_string().contains("changed while"), "{error}");
        }
    }
}

#[test]
fn copied_shards_were_verified() {
    let file = Protected::new(&noise(3, 300_000), 5);
    let record = MemorySource(file.record.clone());
    let found = find(&record).unwrap().unwrap();
    let mut bytes = file.file.clone();
    bytes[77] ^= 1;
    // one byte of a sound shard: once to examine it, once to decode, twice to encode
    for (sound, is_right) in [(4, false), (5, true)] {
        let data = Changing {
            data: bytes.clone(),
            at: 200_000,
            sound,
            reads: AtomicUsize::new(0),
        };
        let examined = examine(&data, &record, found, 1, &Quiet).unwrap();
        let (data, made) = restore(&data, &record, &examined, scratch, 1, &Quiet).unwrap();
        let mut copy = Vec::new();
        let copied = data.for_each_part(&made, |part| {
            copy.extend_from_slice(part);
            Ok(())
        });
        assert_eq!(copied.is_ok(), is_right, "{copied:?}");
        assert!(!is_right || copy == file.file);
    }
}

/// Bytes of which a range cannot be read.
struct Unreadable(Vec<u8>, Range<u64>);

impl ReadAt for Unreadable {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let end = offset + buf.len() as u64;
        if offset < self.1.end && self.1.start < end {
            let error = std::io::Error::from_raw_os_error(5);
            return Err(Error::io("cannot read", error));
        }
        buf.copy_from_slice(&self.0[offset as usize..end as usize]);
        Ok(())
    }
}

#[test]
fn an_unreadable_sector_costs_only_its_shards() {
    // a record of 5 % and one that is longer than what is searched at once
    for (len, percent) in [(700_000, 5), (3 << 20, 60)] {
        let file = Protected::new(&noise(12, len), percent);
        let record = file.record.clone();
        let mut bytes = file.file.clone();
        bytes[5000] ^= 1;
        let data = MemorySource(bytes);
        let sectors = record.len().div_ceil(4096);
        for sector in (0..sectors).filter(|at| at % 37 == 0 || *at + 2 >= sectors) {
            let range = sector as u64 * 4096..(sector as u64 + 1) * 4096;
            let record = Unreadable(record.clone(), range);
            let found = find(&record).unwrap().expect("a header");
            let examined = examine(&data, &record, found, 2, &Quiet).unwrap();
            let (restored, _) = restore(&data, &record, &examined, scratch, 2, &Quiet).unwrap();
            assert!(*restored.read(0, len as u64).unwrap() == file.file[..]);
        }
    }
}

#[test]
fn the_record_depends_on_the_file_alone() {
    let data = noise(8, 5 << 20);
    let layout = ParityLayout::new(data.len() as u64, 5).unwrap();
    let source = MemorySource(data);
    let mut known = None;
    for threads in [1, 2, 5] {
        let made = encode(&source, layout, scratch().unwrap(), threads, &Quiet).unwrap();
        let mut record = Vec::new();
        made.for_each_part(|part| {
            record.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        assert!(*known.get_or_insert(record.clone()) == record);
    }
}
