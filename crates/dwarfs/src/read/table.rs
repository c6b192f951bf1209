//! Tables of numbers, stored plain or packed.
//!
//! In: a list of the metadata. Out: its numbers by index.
//!
//! **Invariant:** the length of an unpacked table is bounded by what its numbers refer to.
//! Spec: dwarfs-format(5), "OPTIONALLY PACKED STRUCTURES".

use sinterfs_model::{Error, Result};

use crate::frozen::view::Ints;

/// Numbers by index, viewed in the metadata or unpacked from it.
#[derive(Debug)]
pub(crate) enum Table {
    /// Stored plain.
    View(Ints),
    /// Unpacked to memory.
    Owned(Vec<u32>),
}

impl Default for Table {
    fn default() -> Self {
        Self::View(Ints::default())
    }
}

impl Table {
    /// Returns the number of items.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::View(ints) => ints.len(),
            Self::Owned(numbers) => numbers.len() as u64,
        }
    }

    /// Returns an item; 0 past the end.
    #[inline]
    pub(crate) fn get(&self, data: &[u8], index: u64) -> u32 {
        match self {
            Self::View(ints) => ints.get_u32(data, index),
            Self::Owned(numbers) => {
                let index = usize::try_from(index).unwrap_or(usize::MAX);
                numbers.get(index).copied().unwrap_or(0)
            }
        }
    }

    /// Unpacks differences to their running sums. `Corrupt` if the last is above `bound`.
    pub(crate) fn from_differences(ints: &Ints, data: &[u8], bound: u64) -> Result<Vec<u32>> {
        let mut sums = Vec::with_capacity(capacity(ints.len())?);
        let mut sum = 0_u64;
        for difference in ints.iter(data) {
            sum = sum.saturating_add(difference);
            let number = u32::try_from(sum).ok().filter(|_| sum <= bound);
            sums.push(number.ok_or_else(|| {
                Error::corrupt(format!(
                    "a packed table reaches {sum}, above its bound of {bound}"
                ))
            })?);
        }
        Ok(sums)
    }

    /// Unpacks run lengths, stored minus two: repeats the index of each run by its length.
    /// `Corrupt` if the table becomes longer than `bound`.
    pub(crate) fn from_run_lengths(ints: &Ints, data: &[u8], bound: u64) -> Result<Vec<u32>> {
        let lens = || ints.iter(data).map(|len| len.saturating_add(2));
        let total = lens().fold(0_u64, u64::saturating_add);
        if total > bound {
            return Err(Error::corrupt(format!(
                "a packed table of {total} numbers, above its bound of {bound}"
            )));
        }
        let mut numbers = Vec::with_capacity(capacity(total)?);
        for (index, len) in (0_u32..).zip(lens()) {
            let end = numbers.len().saturating_add(capacity(len)?);
            numbers.resize(end, index);
        }
        Ok(numbers)
    }
}

fn capacity(count: u64) -> Result<usize> {
    usize::try_from(count).map_err(|_| Error::limit(format!("a table of {count} numbers")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frozen::schema::{Field, Layout, Schema};
    use crate::frozen::view::Node;

    /// A list of bytes: distance 2, count, then the bytes.
    fn bytes(numbers: &[u8]) -> (Ints, Vec<u8>) {
        let mut data = vec![2, numbers.len() as u8];
        data.extend(numbers);
        let byte = Layout {
            bits: 8,
            ..Layout::default()
        };
        let field = |offset| Field { layout: 0, offset };
        let fields = [(1, field(0)), (2, field(1)), (3, field(0))].into();
        let list = Layout {
            size: 2,
            bits: 16,
            fields,
        };
        let layouts = [(0, byte), (1, list)].into();
        let schema = Schema {
            layouts,
            root: 1,
            ..Schema::default()
        };
        let ints = Node::root(&schema, &data).list().unwrap().ints(32).unwrap();
        (ints, data)
    }

    #[test]
    fn the_example_of_packed_shared_files() {
        let (ints, data) = bytes(&[0, 3, 1, 0, 1]);
        let runs = Table::from_run_lengths(&ints, &data, 15).unwrap();
        assert_eq!(runs, [0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4]);
        assert!(Table::from_run_lengths(&ints, &data, 14).is_err());
    }

    #[test]
    fn differences_add_up() {
        let (ints, data) = bytes(&[0, 3, 0, 200]);
        assert_eq!(
            Table::from_differences(&ints, &data, 203).unwrap(),
            [0, 3, 3, 203]
        );
        assert!(Table::from_differences(&ints, &data, 202).is_err());
    }
}
