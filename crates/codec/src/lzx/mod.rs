//! LZX as chunks of WIM files have it: [MS-PATCH] 2 without deltas, and what differs from it in
//! `docs/formats/wim.md`.
//!
//! In: a stream without a header. Out: exactly the bytes that the caller asks for, at most 2 MiB.
//!
//! **Invariant:** streams are independent. The window is the chunk size of the resource, a power
//! of two, also for its last chunk. Calls of x86 code are always translated, with 12,000,000 as the
//! file size.

mod calls;
mod decode;
#[allow(
    clippy::indexing_slicing,
    reason = "indexes come from the items being encoded"
)]
mod encode;
mod items;
mod lengths;
#[allow(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "indexes and costs come from the items being encoded"
)]
mod split;

use sinterfs_model::{Error, Result};

pub use decode::decode;
pub use encode::LzxEncoder;

/// The most bytes of content.
pub const MAX_CONTENT: usize = 1 << 21;

/// Symbols of the code of lengths.
const LENGTH_SYMBOLS: usize = 249;

/// Symbols of the code for the low bits of distances.
const ALIGNED_SYMBOLS: usize = 8;

/// Symbols of the code in which lengths of codewords are stored.
const PRETREE_SYMBOLS: usize = 20;

/// The shortest match in bytes.
const MIN_MATCH: usize = 2;

/// Lengths that the symbol of a match has, of which the last one stands for all longer ones.
const SHORT_LENGTHS: usize = 8;

/// Slots of distances for the smallest and the largest window; the first three repeat distances.
const MAX_SLOTS: usize = 50;

/// Bytes of a block whose length is not stored.
const USUAL_BLOCK: usize = 32768;

/// A window: how large distances may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LzxWindow {
    order: u32,
}

impl LzxWindow {
    /// Makes the window for a chunk size in bytes: a power of two from 32 KiB to 2 MiB, the next
    /// larger one for other sizes. Fails with `Unsupported` above.
    pub fn for_chunk(size: usize) -> Result<Self> {
        if size > MAX_CONTENT {
            let what = format!("LZX with chunks of {size} bytes");
            return Err(Error::unsupported(what));
        }
        let order = size.next_power_of_two().trailing_zeros().max(15);
        Ok(Self { order })
    }

    /// Returns the number of slots of distances.
    fn slots(self) -> usize {
        match self.order {
            ..=19 => self.order as usize * 2,
            20 => 42,
            _ => MAX_SLOTS,
        }
    }

    /// Returns the number of symbols of the main code.
    fn main_symbols(self) -> usize {
        256 + self.slots() * SHORT_LENGTHS
    }

    /// Returns whether the length of a block takes 24 bits instead of 16.
    fn has_long_blocks(self) -> bool {
        self.order >= 16
    }
}

/// Returns the number of bits that follow a slot, and the first distance of the slot plus 2.
fn slot_base(slot: usize) -> (u32, u32) {
    let slot = u32::try_from(slot).unwrap_or(0);
    match slot {
        0..=3 => (0, slot),
        4..=35 => (slot / 2 - 1, (2 + slot % 2) << (slot / 2 - 1)),
        _ => (17, (slot - 34) << 17),
    }
}

/// Returns the slot of a number: 0 to 2 for one of the latest distances, or a distance plus 2.
#[inline(always)]
fn number_slot(number: u32) -> usize {
    let slot = match number {
        0..=3 => number,
        4..0x40000 => {
            let order = number.ilog2();
            2 * order + ((number >> (order - 1)) & 1)
        }
        _ => (number >> 17) + 34,
    };
    slot as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_follow_each_other() {
        for slot in 3..MAX_SLOTS {
            let (bits, base) = slot_base(slot);
            assert_eq!(number_slot(base), slot);
            assert_eq!(number_slot(base + (1 << bits) - 1), slot);
        }
    }
}
