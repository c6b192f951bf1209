//! Compact indexes: 2 in 8 bytes, or 16 in 32, with one block number for all.
//!
//! In: the indexes of a file. Out: packs; `None` where these cannot express the map: pclusters of a
//! pack that are not in adjacent blocks or are referred to in part, or an offset in the packed
//! inode of 4 GiB or more.

use super::index::Index;
use crate::layout::compressed::{ClusterIndex, ClusterType, advise};

/// The indexes of a small pack, and the bytes of each.
const SMALL: (usize, u64) = (2, 4);

/// The indexes of a large pack, and the bytes of each.
const LARGE: (usize, u64) = (16, 2);

/// The alignment of large packs in bytes.
const LARGE_ALIGN: u64 = 32;

/// The bits of an index below its type.
const LOW_BITS: u32 = 12;

/// Makes the packs of a table of `count` indexes that begins at a multiple of 8, as short as
/// possible, and returns them with the flags for the header.
pub(super) fn packs<I: Iterator<Item = Index>>(
    indexes: &impl Fn() -> I,
    count: u64,
    table: u64,
    big: bool,
) -> Option<(u16, Vec<u8>)> {
    if count == 0 {
        return None;
    }
    let before = (table.next_multiple_of(LARGE_ALIGN) - table) / SMALL.1;
    let large = count.saturating_sub(before) / LARGE.0 as u64;
    let packed = |large| packs_of(indexes(), (before as usize, large), big);
    let with_large = (large > 0).then(|| packed(large as usize)).flatten();
    match with_large {
        Some(packs) => Some((advise::COMPACTED_2B, packs)),
        None => Some((0, packed(0)?)),
    }
}

/// Makes `large` large packs after `before` indexes in small packs, and small packs for the rest.
fn packs_of(
    mut indexes: impl Iterator<Item = Index>,
    (before, large): (usize, usize),
    big: bool,
) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut pack = Vec::with_capacity(LARGE.0);
    let first_large = before / SMALL.0;
    for number in 0.. {
        let is_large = (first_large..first_large + large).contains(&number);
        let (count, size) = if is_large { LARGE } else { SMALL };
        pack.clear();
        pack.extend(indexes.by_ref().take(count));
        if pack.is_empty() {
            break;
        }
        let base = base(&pack, big)?;
        write(&pack, count * size as usize, count, base, &mut bytes);
    }
    Some(bytes)
}

/// Returns the block from which readers count the blocks of a pack; `None` if there is none.
fn base(pack: &[Index], big: bool) -> Option<u32> {
    let mut base = None;
    // where all pclusters have one block, the base is the block before the first; what is not
    // stored in blocks comes last
    let mut counted = u32::from(!big);
    for (at, index) in pack.iter().enumerate() {
        match index {
            // the blocks of a head are in the next index, unless another head is there
            Index::Head { head, .. } => {
                let is_stored = head.blocks > 0;
                let own = head.block.checked_sub(counted);
                if is_stored && *base.get_or_insert(own?) != own? {
                    return None;
                }
                let has_count = matches!(pack.get(at + 1), Some(Index::Blocks { .. }));
                counted += u32::from(!has_count);
            }
            Index::Blocks { blocks, .. } => counted += u32::from(*blocks),
            Index::Behind { .. } => {}
        }
    }
    Some(base.unwrap_or(0))
}

/// Appends a pack of the given size.
fn write(pack: &[Index], len: usize, count: usize, base: u32, to: &mut Vec<u8>) {
    let width = (len - size_of::<u32>()) * 8 / count;
    let (mut bits, mut filled) = (0_u64, 0);
    let end = to.len() + len - size_of::<u32>();
    for (at, index) in pack.iter().enumerate() {
        let (kind, low) = match *index {
            Index::Head { offset, head } => (head.kind, offset),
            Index::Blocks { blocks, .. } => {
                (ClusterType::NonHead, blocks | ClusterIndex::BLOCK_COUNT)
            }
            Index::Behind { forth, .. } if at + 1 == count => (ClusterType::NonHead, forth),
            Index::Behind { back, .. } => (ClusterType::NonHead, back),
        };
        bits |= (u64::from(kind.bits()) << LOW_BITS | u64::from(low)) << filled;
        filled += width;
        while filled >= 8 {
            to.push(bits as u8);
            bits >>= 8;
            filled -= 8;
        }
    }
    // an odd number of indexes leaves half a pack empty
    to.resize(end, 0);
    to.extend_from_slice(&base.to_le_bytes());
}
