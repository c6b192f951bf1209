//! RISC-V: JAL that links, and AUIPC with the instruction that uses its register.
//!
//! The pair of AUIPC and the other is stored as an AUIPC to x2 that holds the low half of the
//! other, and the absolute address, big-endian. Real ones to x2 (or x0) that look like that are
//! stored as the bytes that the decoder turns into them.

/// The opcode of AUIPC.
const AUIPC: u32 = 0x17;

/// Converts jumps and addresses.
pub(super) fn convert(block: &mut [u8]) {
    let mut position = 0;
    while let Some(&bytes) = block.get(position..).and_then(<[u8]>::first_chunk::<8>) {
        let (converted, step) = convert_at(bytes, position as u32);
        if let Some(bytes) = converted {
            block[position..position + 8].copy_from_slice(&bytes);
        }
        position += step;
    }
}

/// Converts the instruction at a position, with the four bytes after it. Gives the new bytes, if
/// any, and how far the next instruction is.
fn convert_at(bytes: [u8; 8], position: u32) -> (Option<[u8; 8]>, usize) {
    let [a, b, c, d, e, f, g, h] = bytes;
    if a == 0xef {
        if b & 0x0d != 0 {
            return (None, 2);
        }
        let [b, c, d] = jump([b, c, d], position);
        return (Some([a, b, c, d, e, f, g, h]), 4);
    }
    if a & 0x7f != AUIPC as u8 {
        return (None, 2);
    }
    let first = u32::from_le_bytes([a, b, c, d]);
    let second = u32::from_le_bytes([e, f, g, h]);
    if first & 0xe80 != 0 {
        // the other must be a load, store or sum (opcode bits 11) by the register that is set
        if (first << 8 ^ second.wrapping_sub(3)) & 0x000f_8003 != 0 {
            return (None, 6);
        }
        let low = (second >> 20).wrapping_sub(second >> 19 & 0x1000);
        let address = (first & 0xffff_f000)
            .wrapping_add(low)
            .wrapping_add(position);
        let stored = AUIPC | 2 << 7 | second << 12;
        return (Some(join(stored.to_le_bytes(), address.to_be_bytes())), 8);
    }
    let register = first >> 27;
    if first.wrapping_sub(0x3117) << 18 >= register & 0x1d {
        return (None, 4);
    }
    let other = first >> 12 | second << 20;
    let stored = AUIPC | register << 7 | second & 0xffff_f000;
    (Some(join(stored.to_le_bytes(), other.to_le_bytes())), 8)
}

/// Makes the offset of a JAL absolute, in the bytes after the opcode; its bits 1 to 20 are stored
/// from the highest.
fn jump([b, c, d]: [u8; 3], position: u32) -> [u8; 3] {
    let [b32, c32, d32] = [b, c, d].map(u32::from);
    let offset = (b32 & 0xf0) << 8
        | (c32 & 0x0f) << 16
        | (c32 & 0x10) << 7
        | (c32 & 0xe0) >> 4
        | (d32 & 0x7f) << 4
        | (d32 & 0x80) << 13;
    let target = offset.wrapping_add(position);
    [
        b & 0x0f | (target >> 13) as u8 & 0xf0,
        (target >> 9) as u8,
        (target >> 1) as u8,
    ]
}

fn join([a, b, c, d]: [u8; 4], [e, f, g, h]: [u8; 4]) -> [u8; 8] {
    [a, b, c, d, e, f, g, h]
}
