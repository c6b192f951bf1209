//! ARM: BL of 32 bits, BL of Thumb (a pair of 16 bits), BL and ADRP of ARM64.

use super::words::each_word;

/// Converts BL: 24 bits of words, from two words on.
pub(super) fn convert_arm(block: &mut [u8]) {
    each_word::<4>(block, |word, position| {
        let [a, b, c, 0xeb] = *word else { return };
        let target = u32::from_le_bytes([a, b, c, 0]).wrapping_add((position + 8) >> 2);
        let [a, b, c, _] = target.to_le_bytes();
        *word = [a, b, c, 0xeb];
    });
}

/// Converts BL: 11 bits in each half, of halfwords, from two halfwords on.
pub(super) fn convert_thumb(block: &mut [u8]) {
    let mut position = 0;
    while let Some(&[a, b, c, d]) = block[position..].first_chunk() {
        let (high, low) = (u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]));
        if high >> 11 != 0b11110 || low >> 11 != 0b11111 {
            position += 2;
            continue;
        }
        let offset = u32::from(high & 0x7ff) << 11 | u32::from(low & 0x7ff);
        let target = offset.wrapping_add((position as u32 + 4) >> 1);
        let high = 0b11110 << 11 | (target >> 11) as u16 & 0x7ff;
        let low = 0b11111 << 11 | target as u16 & 0x7ff;
        block[position..position + 2].copy_from_slice(&high.to_le_bytes());
        block[position + 2..position + 4].copy_from_slice(&low.to_le_bytes());
        position += 4;
    }
}

/// Converts BL (26 bits of words) and ADRP (21 bits of pages, if they are within 512 MiB).
pub(super) fn convert_arm64(block: &mut [u8]) {
    const ADRP_IMMEDIATE: u32 = 0x60ff_ffe0;
    each_word::<4>(block, |word, position| {
        let code = u32::from_le_bytes(*word);
        let converted = if code >> 26 == 0b100101 {
            let target = code.wrapping_add(position >> 2) & 0x03ff_ffff;
            0b100101 << 26 | target
        } else if code & 0x9f00_0000 == 0x9000_0000 {
            let pages = (code >> 29) & 3 | (code >> 3) & 0x001f_fffc;
            if pages.wrapping_add(1 << 17) & 0x001c_0000 != 0 {
                return;
            }
            let target = pages.wrapping_add(position >> 12);
            // 18 bits are kept, the highest of them as the sign
            let sign = if target & 1 << 17 == 0 {
                0
            } else {
                0x001c_0000
            };
            let target = target & 0x0003_ffff | sign;
            code & !ADRP_IMMEDIATE | (target & 3) << 29 | (target & 0x001f_fffc) << 3
        } else {
            return;
        };
        *word = converted.to_le_bytes();
    });
}
