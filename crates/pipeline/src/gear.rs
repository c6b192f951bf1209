//! The gear hash: a rolling hash of one shift and one addition a byte.
//!
//! Bit `k` of the state depends on the last `k + 1` bytes, so a test of the top bits of a 64-bit
//! state covers 64 bytes, of a 32-bit state 32. **Invariant:** the table is a constant; results are
//! the same in every run and on every machine.

/// A random number for each byte value.
pub(crate) const GEAR: [u64; 256] = table();

const fn table() -> [u64; 256] {
    let mut table = [0; 256];
    let mut state: u64 = 0x5349_4e54_4552_4653;
    let mut index = 0;
    while index < 256 {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[index] = mixed ^ (mixed >> 31);
        index += 1;
    }
    table
}

/// Rolls a 64-bit state over one byte.
#[inline(always)]
pub(crate) fn roll(state: u64, byte: u8) -> u64 {
    (state << 1).wrapping_add(GEAR[usize::from(byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_forgets_after_64_bytes() {
        let tail = [7; 64];
        let hash = |head: &[u8]| {
            head.iter()
                .chain(&tail)
                .fold(0, |state, &byte| roll(state, byte))
        };
        assert_eq!(hash(b"one"), hash(b"something else"));
    }

    #[test]
    fn the_table_never_changes() {
        assert_eq!(GEAR[0], 0xfbbc0c776e188bf3);
        assert_eq!(
            GEAR.iter().fold(0u64, |sum, &x| sum.rotate_left(5) ^ x),
            0x41159bc5de46a628
        );
    }
}
