//! x86 and x86-64: E8 (call) and E9 (jump) with 32-bit offsets.
//!
//! An offset is taken for one if its highest byte is 00 or ff, and if no other E8 or E9 close
//! before makes it doubtful. The rule about those is the format's: a decoder sees the same bytes
//! there.

/// How far an opcode before may be to matter, in bytes.
const NEAR: u32 = 5;

/// Which of the last three bytes may be opcodes, as bits, if this one is to be converted.
const ALLOWED: [bool; 8] = [true, true, true, false, true, false, false, false];

/// The byte of the offset, counted from the highest, that an opcode before leaves in doubt.
const DOUBTFUL: [u32; 8] = [0, 1, 2, 2, 3, 3, 3, 3];

/// Returns whether a byte can be the highest of an offset.
fn is_sign(byte: u8) -> bool {
    byte == 0 || byte == 0xff
}

/// Converts the offsets.
pub(super) fn convert(block: &mut [u8]) {
    // bit n + 1: an opcode n bytes before the next one; 0x10 and above: its offset looked right
    let mut before = 0u32;
    let mut last = 0u32.wrapping_sub(NEAR);
    let mut position = 0;
    while let Some(&[opcode, a, b, c, d]) = block.get(position..).and_then(<[u8]>::first_chunk) {
        if opcode & 0xfe != 0xe8 {
            position += 1;
            continue;
        }
        let at = position as u32;
        let distance = at.wrapping_sub(last);
        last = at;
        before = if distance > NEAR {
            0
        } else {
            (0..distance).fold(before, |before, _| (before & 0x77) << 1)
        };
        let recent = (before >> 1) as usize;
        if is_sign(d) && recent < 0x10 && ALLOWED[recent & 7] {
            let offset = u32::from_le_bytes([a, b, c, d]);
            let target = absolute(offset, at.wrapping_add(5), before, recent);
            let [a, b, c, high] = target.to_le_bytes();
            let sign = 0u8.wrapping_sub(high & 1);
            block[position + 1..position + 5].copy_from_slice(&[a, b, c, sign]);
            position += 5;
            before = 0;
        } else {
            position += 1;
            before |= if is_sign(d) { 0x11 } else { 1 };
        }
    }
}

/// Makes an offset absolute. If a byte in doubt would look like a sign, what is below it is turned
/// over and converted again, until it does not.
fn absolute(mut offset: u32, from: u32, before: u32, recent: usize) -> u32 {
    loop {
        let target = offset.wrapping_add(from);
        if before == 0 {
            return target;
        }
        let shift = 8 * DOUBTFUL[recent & 7];
        if !is_sign((target >> (24 - shift)) as u8) {
            return target;
        }
        offset = target ^ (u32::MAX >> shift);
    }
}
