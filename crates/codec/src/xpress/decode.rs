//! Decodes XPRESS ([MS-XCA] 2.2.4).
//!
//! **Invariant:** words are taken as soon as less than 16 bits are left, because the bytes of long
//! lengths stand between the words.

use sinterfs_model::{Error, Result};

use super::{MIN_MATCH, SYMBOLS};
use crate::prefix_code::{DecodeTable, WordReader, copy_match, put};

/// Decodes a stream to exactly as many bytes as `output` has.
///
/// Fails with `Corrupt` for a damaged stream.
pub fn decode(stream: &[u8], output: &mut [u8]) -> Result<()> {
    let (packed, stream) = stream
        .split_at_checked(SYMBOLS / 2)
        .ok_or_else(|| Error::corrupt("an XPRESS stream without its code"))?;
    let mut lengths = [0; SYMBOLS];
    let (pairs, _) = lengths.as_chunks_mut::<2>();
    for (pair, byte) in pairs.iter_mut().zip(packed) {
        *pair = [byte & 15, byte >> 4];
    }
    let mut table = DecodeTable::new();
    table.build(&lengths)?;
    let mut reader = WordReader::<false>::new(stream);
    reader.ensure(32);
    let mut at = 0;
    while at < output.len() {
        let symbol = table.decode(&mut reader)?;
        reader.ensure(16);
        if let Ok(literal) = u8::try_from(symbol) {
            put(output, &mut at, literal)?;
            continue;
        }
        let len = match usize::from(symbol & 15) {
            15 => long_length(&mut reader)?,
            len => len,
        };
        let bits = u32::from((symbol >> 4) & 15);
        let low = if bits == 0 { 0 } else { reader.peek(bits) };
        reader.skip(bits);
        reader.ensure(16);
        let distance = (1_usize << bits) + low as usize;
        copy_match(output, &mut at, distance, len.saturating_add(MIN_MATCH))?;
    }
    reader.finish()
}

/// Reads a length above the shortest one that does not fit into the symbol.
fn long_length(reader: &mut WordReader<'_, false>) -> Result<usize> {
    let [byte] = reader.bytes()?;
    if byte < 255 {
        return Ok(usize::from(byte) + 15);
    }
    let mut len = u32::from(u16::from_le_bytes(reader.bytes()?));
    if len == 0 {
        len = u32::from_le_bytes(reader.bytes()?);
    }
    if len < 15 {
        return Err(Error::corrupt("a long match that is short"));
    }
    Ok(usize::try_from(len).unwrap_or(usize::MAX))
}
