//! File headers: fields, name, and where the content starts.
//!
//! In: a window of the image and a position. Out: `HeaderFields`, and the name.
//!
//! **Invariant:** the header is within the image; what is wrong with a name is an error beside it,
//! so that the next header is known. Content is checked when it is read. Format:
//! `docs/formats/romfs.md`, "File headers".

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Result};

/// The alignment of headers and content in bytes.
pub(crate) const ALIGN: u64 = 16;

/// The bytes of a header before the name.
pub(crate) const HEADER_LEN: u64 = 16;

/// The longest name in bytes.
const NAME_MAX: usize = 255;

/// The fields of a file header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeaderFields {
    /// The position of the next header of the directory; 0 after the last.
    pub(crate) next: u32,
    /// The type: 0 hard link, 1 directory, 2 file, 3 symlink, 4 block device, 5 character device, 6
    /// socket, 7 fifo.
    pub(crate) kind: u32,
    /// Whether it may be executed.
    pub(crate) executable: bool,
    /// The header that a hard link refers to, the first header of a directory, or the number of a
    /// device.
    pub(crate) info: u32,
    /// Bytes of content.
    pub(crate) size: u32,
    /// The position of the content; the largest number where it is unknown.
    pub(crate) content: u32,
}

/// Reads the header at a position, and its name; fails with `Corrupt` if the header is not within
/// the image.
pub(crate) fn header(window: &Window, at: u32) -> Result<(HeaderFields, Result<Vec<u8>>)> {
    let mut words = [0; 16];
    window.read_at(at.into(), &mut words)?;
    let [a, b, c, d, e, f, g, h, i, j, k, l, ..] = words;
    let word = |bytes| u32::from_be_bytes(bytes);
    let (next, info, size) = (word([a, b, c, d]), word([e, f, g, h]), word([i, j, k, l]));
    let name = name(window, u64::from(at) + HEADER_LEN);
    let content = name.as_ref().ok().and_then(|name| {
        let end = u64::from(at) + HEADER_LEN + name.len() as u64 + 1;
        u32::try_from(end.next_multiple_of(ALIGN)).ok()
    });
    let fields = HeaderFields {
        next: next & !0xf,
        kind: next & 7,
        executable: next & 8 != 0,
        info,
        size,
        content: content.unwrap_or(u32::MAX),
    };
    Ok((fields, name))
}

/// Reads a name up to its NUL.
pub(crate) fn name(window: &Window, at: u64) -> Result<Vec<u8>> {
    let mut name = Vec::new();
    let mut piece = [0; 16];
    loop {
        window.read_at(at + name.len() as u64, &mut piece)?;
        let end = piece.iter().position(|byte| *byte == 0);
        name.extend_from_slice(piece.get(..end.unwrap_or(piece.len())).unwrap_or_default());
        if name.len() > NAME_MAX {
            return Err(Error::corrupt("a name of more than 255 bytes"));
        }
        if end.is_some() {
            return Ok(name);
        }
    }
}

/// Returns whether big-endian words add up to zero.
pub(crate) fn adds_up(bytes: &[u8]) -> bool {
    let (words, _) = bytes.as_chunks::<4>();
    let add = |sum: u32, word: &[u8; 4]| sum.wrapping_add(u32::from_be_bytes(*word));
    words.iter().fold(0, add) == 0
}
