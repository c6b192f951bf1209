//! PowerPC and SPARC: calls in big-endian words.

use super::words::each_word;

/// Converts `bl` with a relative target: 24 bits of words.
pub(super) fn convert_powerpc(block: &mut [u8]) {
    each_word::<4>(block, |word, position| {
        let code = u32::from_be_bytes(*word);
        if code & 0xfc00_0003 == 0x4800_0001 {
            let target = code.wrapping_add(position) & 0x03ff_fffc;
            *word = (0x4800_0001 | target).to_be_bytes();
        }
    });
}

/// Converts `call` if its target is within 16 MiB: 22 bits of words and the sign.
pub(super) fn convert_sparc(block: &mut [u8]) {
    each_word::<4>(block, |word, position| {
        let code = u32::from_be_bytes(*word);
        let far = code >> 22;
        if far == 0b01_0000_0000 || far == 0b01_1111_1111 {
            let target = code.wrapping_add(position >> 2);
            let sign = if target & 1 << 22 == 0 {
                0
            } else {
                0x3fc0_0000
            };
            *word = (0x4000_0000 | sign | target & 0x003f_ffff).to_be_bytes();
        }
    });
}
