//! Continuation areas: what does not fit in the records of directories.
//!
//! In: entries of system use areas. Out: sectors, and where each record continues.
//!
//! **Invariant:** no area crosses the end of a sector, as Linux demands. SUSP, section 5.1.

use sinterfs_model::{Error, Result};

use crate::layout::{SECTOR_LEN, both32, signature};

/// The length of a CE entry in bytes.
const CE_LEN: usize = 28;

/// The sectors of continuation areas.
#[derive(Debug)]
pub(super) struct Continuations {
    first: u32,
    bytes: Vec<u8>,
}

/// Makes an entry of a system use area.
pub(super) fn entry(signature: [u8; 2], version: u8, data: &[u8]) -> Vec<u8> {
    let len = u8::try_from(data.len() + 4).unwrap_or(u8::MAX);
    let [a, b] = signature;
    [&[a, b, len, version], data].concat()
}

fn ce(sector: u32, offset: usize, len: usize) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let numbers = [sector, number(offset), number(len)];
    entry(signature::CE, 1, &numbers.map(both32).concat())
}

impl Continuations {
    /// Starts at a sector.
    pub(super) fn new(first: u32) -> Self {
        Self {
            first,
            bytes: Vec::new(),
        }
    }

    /// Returns whether there are no areas.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the bytes of all areas, a multiple of a sector.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        let len = self.bytes.len().next_multiple_of(SECTOR_LEN);
        self.bytes.resize(len, 0);
        self.bytes
    }

    /// Returns the system use area of a record with at most `room` bytes for it: as many entries as
    /// fit, the rest in continuation areas.
    pub(super) fn area(&mut self, entries: &[Vec<u8>], room: usize) -> Result<Vec<u8>> {
        let taken = fitting(entries, room);
        let (here, rest) = entries.split_at(taken);
        let mut area = here.concat();
        if !rest.is_empty() {
            area.extend(self.push(rest)?);
        }
        Ok(area)
    }

    /// Stores entries and returns the CE entry that leads to them.
    fn push(&mut self, mut entries: &[Vec<u8>]) -> Result<Vec<u8>> {
        let mut first: Option<Vec<u8>> = None;
        // where the entry that leads to the next area is
        let mut open: Option<usize> = None;
        while !entries.is_empty() {
            let sector_len = SECTOR_LEN;
            let offset = self.bytes.len() % sector_len;
            let taken = fitting(entries, sector_len - offset);
            if taken == 0 {
                if offset == 0 {
                    return Err(Error::invalid("an entry of a system use area is too long"));
                }
                let len = self.bytes.len().next_multiple_of(sector_len);
                self.bytes.resize(len, 0);
                continue;
            }
            let (here, rest) = entries.split_at(taken);
            let start = self.bytes.len();
            self.bytes.extend(here.concat());
            let own = self.bytes.len();
            if !rest.is_empty() {
                self.bytes.resize(own + CE_LEN, 0);
            }
            let sectors = u32::try_from(start / sector_len).unwrap_or(u32::MAX);
            let sector = self.first.saturating_add(sectors);
            let lead = ce(sector, offset, self.bytes.len() - start);
            match open
                .take()
                .and_then(|at| self.bytes.get_mut(at..at + CE_LEN))
            {
                Some(place) => place.copy_from_slice(&lead),
                None => first = Some(lead),
            }
            open = (!rest.is_empty()).then_some(own);
            entries = rest;
        }
        Ok(first.unwrap_or_default())
    }
}

/// Returns how many entries fit in an area, with one that leads to the others.
fn fitting(entries: &[Vec<u8>], room: usize) -> usize {
    let total: usize = entries.iter().map(Vec::len).sum();
    if total <= room {
        return entries.len();
    }
    let mut used = CE_LEN;
    let fits = |entry: &&Vec<u8>| {
        used += entry.len();
        used <= room
    };
    entries.iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_do_not_cross_sectors() {
        let mut all = Continuations::new(50);
        let entries: Vec<_> = (0..40).map(|i| entry(*b"NM", 1, &[i; 200])).collect();
        for room in [0, 27, 28, 100, 300] {
            let area = all.area(&entries, room.max(28)).unwrap();
            assert!(area.len() <= room.max(28));
        }
        let short = all.area(&entries[..1], 204).unwrap();
        assert_eq!(short, entries[0]);
        let bytes = all.into_bytes();
        assert!(bytes.len().is_multiple_of(2048));
    }
}
