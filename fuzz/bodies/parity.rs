//! Parity of a small file, of which both are changed: the very bytes come back, or an error.

use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Error, Quiet, Result};
use sinterfs_parity::{ParityLayout, encode, examine, find, restore};

/// Bytes of the file.
const LEN: usize = 20_000;

fn scratch() -> Result<std::fs::File> {
    tempfile::tempfile().map_err(|error| Error::io("scratch", error))
}

/// Splits off a part: a byte with its length, then the part.
fn parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some((len, rest)) = bytes.split_first() else {
        return (&[], &[]);
    };
    rest.split_at(usize::from(*len).min(rest.len()))
}

/// Applies changes of 4 bytes each: two for the place, a kind, a value.
fn change(bytes: &mut Vec<u8>, changes: &[u8]) {
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len().max(1);
        let end = (at + usize::from(change[3]) * 16).min(bytes.len());
        match change[2] % 4 {
            0 if at < bytes.len() => bytes[at] ^= change[3],
            1 => bytes[at..end].fill(change[3]),
            2 => drop(bytes.drain(at..end)),
            _ => bytes.truncate(end),
        }
    }
}

fn repair(file: &dyn ReadAt, record: &dyn ReadAt) -> Result<Vec<u8>> {
    let found = find(record)?.ok_or_else(|| Error::not_found("a record"))?;
    let examined = examine(file, record, found, 1, &Quiet)?;
    let (data, _) = restore(file, record, &examined, scratch, 1, &Quiet)?;
    Ok(data.read(0, data.len())?.to_vec())
}

/// Damages and repairs as one input says.
pub fn run(bytes: &[u8]) {
    let Some((seed, bytes)) = bytes.split_first() else {
        return;
    };
    let (of_file, of_record) = parts(bytes);
    let step = usize::from(*seed) | 1;
    let file: Vec<u8> = (0..LEN).map(|at| ((at * step) >> 3) as u8).collect();
    let layout = ParityLayout::new(LEN as u64, 10).expect("a layout");
    let source = MemorySource(file.clone());
    let made = encode(&source, layout, scratch().expect("a file"), 1, &Quiet).expect("parity");
    let mut record = Vec::new();
    let part = |part: &[u8]| {
        record.extend_from_slice(part);
        Ok(())
    };
    made.for_each_part(part).expect("a record");
    let mut changed = file.clone();
    change(&mut changed, of_file);
    change(&mut record, of_record);
    if let Ok(restored) = repair(&MemorySource(changed), &MemorySource(record)) {
        assert!(restored == file, "other bytes");
    }
}
