//! The table of a record: the checksums of all shards, in groups that have checksums themselves.
//!
//! In: checksums, or copies of a table of which parts may be damaged. Out: the bytes of a table, or
//! the checksums of all groups of which one copy is intact. Spec: `docs/formats/parity.md`,
//! "Table".

use sinterfs_block::checksum::{Xxh3, xxh3_64};

use crate::layout::{GROUP, GROUP_BYTES};

/// Returns the checksum of all checksums, which identifies a record.
pub(crate) fn set_of(sums: &[u64]) -> u64 {
    let mut hash = Xxh3::default();
    for sum in sums {
        hash.update(&sum.to_le_bytes());
    }
    hash.digest()
}

/// Writes the groups of a table.
pub(crate) fn write(sums: &[u64], set: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(sums.len().div_ceil(GROUP) * GROUP_BYTES);
    for (index, group) in sums.chunks(GROUP).enumerate() {
        let start = bytes.len();
        for place in 0..GROUP {
            let sum = group.get(place).copied().unwrap_or(0);
            bytes.extend_from_slice(&sum.to_le_bytes());
        }
        let own = own_sum(bytes.get(start..).unwrap_or_default(), index, set);
        bytes.extend_from_slice(&own.to_le_bytes());
    }
    bytes
}

/// Reads a group; `None` if it is damaged, or is of another record or place.
pub(crate) fn read_group(bytes: &[u8], index: usize, set: u64) -> Option<[u64; GROUP]> {
    let (sums, own) = bytes.split_at_checked(GROUP * 8)?;
    if own != own_sum(sums, index, set).to_le_bytes() {
        return None;
    }
    let mut group = [0; GROUP];
    for (sum, bytes) in group.iter_mut().zip(sums.chunks_exact(8)) {
        *sum = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(group)
}

/// Returns the checksum of a group, which depends on its place and its record.
fn own_sum(sums: &[u8], index: usize, set: u64) -> u64 {
    let place = [(index as u64).to_le_bytes(), set.to_le_bytes()].concat();
    xxh3_64(&[&place, sums].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_back_where_they_were_written_and_nowhere_else() {
        let sums: Vec<u64> = (0..37)
            .map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        let bytes = write(&sums, 5);
        assert_eq!(bytes.len(), 3 * GROUP_BYTES);
        for (index, group) in bytes.chunks(GROUP_BYTES).enumerate() {
            let read = read_group(group, index, 5).unwrap();
            let expected: Vec<u64> = sums
                .iter()
                .copied()
                .skip(index * GROUP)
                .take(GROUP)
                .collect();
            assert_eq!(read[..expected.len()], expected);
            assert!(read_group(group, index + 1, 5).is_none());
            assert!(read_group(group, index, 6).is_none());
            for at in 0..GROUP_BYTES {
                let mut other = group.to_vec();
                other[at] ^= 0x40;
                assert!(read_group(&other, index, 5).is_none());
            }
        }
    }
}
