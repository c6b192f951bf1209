//! The header of a frame (RFC 8878, section 3.1.1.1).

const MAGIC: u32 = 0xfd2f_b528;

/// The frame is decoded into one buffer: its window is as long as its content.
const SINGLE_SEGMENT: u8 = 1 << 5;

/// The smallest window, as a power of two.
const MIN_WINDOW: u32 = 10;

/// Starts a frame of `len` bytes whose matches reach back `1 << window` bytes at most.
pub(super) fn start(len: usize, window: u32) -> Vec<u8> {
    let len = len as u64;
    let single = len <= 1 << window;
    let (flag, size) = match len {
        ..256 if single => (0, 1),
        256..0x1_0100 => (1, 2),
        ..0x1_0000_0000 => (2, 4),
        _ => (3, 8),
    };
    let mut out = MAGIC.to_le_bytes().to_vec();
    out.push(flag << 6 | if single { SINGLE_SEGMENT } else { 0 });
    if !single {
        out.push(((window - MIN_WINDOW) << 3) as u8);
    }
    let shown = if size == 2 { len - 256 } else { len };
    out.extend(&shown.to_le_bytes()[..size]);
    out
}

/// The header of an empty block that ends a frame.
pub(super) const EMPTY_END: [u8; 3] = [1, 0, 0];
