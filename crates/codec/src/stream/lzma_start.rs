//! Recognises .lzma files, which have no magic.
//!
//! Spec: lzma-file-format.txt of xz, 1.1. **Invariant:** a recognised file has the properties
//! that the kernel asks for (`lc=3 lp=0 pb=2`), a dictionary and a length as the xz program asks
//! for, and a first byte of content that LZMA always has.

/// The properties that all programs use without an option.
const PROPERTIES: u8 = 0x5d;

/// The longest content that is believed.
const CONTENT_MAX: u64 = 1 << 38;

/// Returns whether bytes begin an .lzma file.
pub(super) fn is_lzma(start: &[u8]) -> bool {
    // the range coder begins with a zero
    let &[PROPERTIES, a, b, c, d, e, f, g, h, i, j, k, l, 0, ..] = start else {
        return false;
    };
    let dictionary = u32::from_le_bytes([a, b, c, d]);
    let content = u64::from_le_bytes([e, f, g, h, i, j, k, l]);
    // 2^n, or 2^n + 2^(n-1)
    let top = dictionary.checked_ilog2().map_or(0, |log| 1 << log);
    let is_usual = a == 0 && (dictionary == top || dictionary == top | top >> 1);
    is_usual && dictionary != 0 && (content < CONTENT_MAX || content == u64::MAX)
}
