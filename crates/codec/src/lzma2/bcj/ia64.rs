//! Itanium: calls in bundles of three instructions of 41 bits after a template of 5.

use super::words::each_word;

/// For each template the slots that may hold a branch, as bits.
const BRANCHES: [u8; 32] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 6, 6, 0, 0, 7, 7, 4, 4, 0, 0, 4, 4, 0, 0,
];

const INSTRUCTION: u32 = 41;

/// Converts `br.call`: 20 bits and a sign, of bundles.
pub(super) fn convert(block: &mut [u8]) {
    each_word::<16>(block, |word, position| {
        let mut bundle = u128::from_le_bytes(*word);
        let slots = BRANCHES[bundle as usize & 31];
        for slot in (0..3).filter(|slot| slots >> slot & 1 != 0) {
            let shift = 5 + slot * INSTRUCTION;
            let code = (bundle >> shift) as u64;
            if code >> 37 & 15 != 5 || code >> 9 & 7 != 0 {
                continue;
            }
            let offset = (code >> 13 & 0x000f_ffff) as u32 | ((code >> 36 & 1) as u32) << 20;
            let target = u128::from(offset.wrapping_add(position >> 4));
            let field = 0x000f_ffff_u128 << 13 | 1 << 36;
            let value = (target & 0x000f_ffff) << 13 | (target >> 20 & 1) << 36;
            bundle = bundle & !(field << shift) | value << shift;
        }
        *word = bundle.to_le_bytes();
    });
}
