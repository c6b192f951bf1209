//! Numbers: little-endian ones, and those that are stored in both byte orders.
//!
//! In: bytes and an offset. Out: the number; zero past the end of the bytes. Of two orders the
//! little-endian half counts, as some writers left the other one empty. ECMA-119, section 7.

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let found = bytes.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().unwrap_or([0; N])
}

/// Decodes two bytes at an offset.
pub fn le16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array(bytes, at))
}

/// Decodes four bytes at an offset.
pub fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

/// Decodes eight bytes at an offset.
pub fn le64(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// Encodes a number in both byte orders.
pub fn both16(number: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (number.to_le_bytes(), number.to_be_bytes());
    [a, b, c, d]
}

/// Encodes a number in both byte orders.
pub fn both32(number: u32) -> [u8; 8] {
    let ([a, b, c, d], [e, f, g, h]) = (number.to_le_bytes(), number.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}
