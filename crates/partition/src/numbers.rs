//! Little-endian numbers in fixed structures.
//!
//! In: the bytes of a structure. Out: its fields; zero where a structure is too short, which its
//! readers exclude.

pub(crate) fn le32(bytes: &[u8], at: usize) -> u32 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u32::from_le_bytes(*field))
}

pub(crate) fn le64(bytes: &[u8], at: usize) -> u64 {
    let field = bytes.get(at..).and_then(|rest| rest.first_chunk());
    field.map_or(0, |field| u64::from_le_bytes(*field))
}
