//! Decodes LZX.
//!
//! **Invariant:** lengths of codewords continue from block to block of a stream, and so do the
//! three latest distances; a stream starts with lengths of 0 and distances of 1.

use sinterfs_model::{Error, Result};

use super::calls;
use super::{
    ALIGNED_SYMBOLS, LENGTH_SYMBOLS, LzxWindow, MAX_SLOTS, MIN_MATCH, PRETREE_SYMBOLS,
    SHORT_LENGTHS, USUAL_BLOCK, slot_base,
};
use crate::prefix_code::{DecodeTable, WordReader, copy_match, put};

/// Symbols of the main code of the largest window.
const MAX_MAIN: usize = 256 + MAX_SLOTS * SHORT_LENGTHS;

/// Decodes a stream to exactly as many bytes as `output` has.
///
/// Fails with `Corrupt` for a damaged stream.
pub fn decode(stream: &[u8], window: LzxWindow, output: &mut [u8]) -> Result<()> {
    let mut decoder = Decoder {
        stream,
        reader: WordReader::new(stream),
        window,
        lengths: Lengths {
            main: [0; MAX_MAIN],
            length: [0; LENGTH_SYMBOLS],
        },
        main: DecodeTable::new(),
        length: DecodeTable::new(),
        aligned: DecodeTable::new(),
        recent: [1; 3],
    };
    let mut at = 0;
    while at < output.len() {
        decoder.block(output, &mut at)?;
    }
    decoder.reader.finish()?;
    calls::make_relative(output);
    Ok(())
}

struct Decoder<'a> {
    stream: &'a [u8],
    reader: WordReader<'a, false>,
    window: LzxWindow,
    lengths: Lengths,
    main: DecodeTable,
    length: DecodeTable,
    aligned: DecodeTable,
    /// The latest distances, the newest first.
    recent: [u32; 3],
}

/// The lengths of the codewords of the latest block.
struct Lengths {
    main: [u8; MAX_MAIN],
    length: [u8; LENGTH_SYMBOLS],
}

impl Decoder<'_> {
    fn block(&mut self, output: &mut [u8], at: &mut usize) -> Result<()> {
        let kind = self.reader.take(3);
        let len = self.block_len();
        let end = at.checked_add(len).filter(|end| *end <= output.len());
        let (Some(end), true) = (end, len > 0) else {
            return Err(Error::corrupt(format!("a block of {len} bytes")));
        };
        match kind {
            1 => self.read_codes()?,
            2 => {
                let mut lengths = [0; ALIGNED_SYMBOLS];
                for len in &mut lengths {
                    *len = u8::try_from(self.reader.take(3)).unwrap_or(0);
                }
                self.aligned.build(&lengths)?;
                self.read_codes()?;
            }
            3 => return self.stored(output.get_mut(*at..end).unwrap_or_default(), at),
            _ => return Err(Error::corrupt(format!("a block of type {kind}"))),
        }
        let room = output.get_mut(..end).unwrap_or_default();
        if kind == 2 {
            self.matches::<true>(room, at)
        } else {
            self.matches::<false>(room, at)
        }
    }

    fn block_len(&mut self) -> usize {
        if self.reader.take(1) == 1 {
            return USUAL_BLOCK;
        }
        let bits = if self.window.has_long_blocks() {
            24
        } else {
            16
        };
        self.reader.take(bits) as usize
    }

    fn read_codes(&mut self) -> Result<()> {
        let symbols = self.window.main_symbols();
        let main = self.lengths.main.get_mut(..symbols).unwrap_or_default();
        let (literals, matches) = main.split_at_mut(256);
        read_lengths(&mut self.reader, literals)?;
        read_lengths(&mut self.reader, matches)?;
        read_lengths(&mut self.reader, &mut self.lengths.length)?;
        self.reader.finish()?;
        let main = self.lengths.main.get(..symbols).unwrap_or_default();
        self.main.build(main)?;
        self.length.build(&self.lengths.length)
    }

    /// Decodes a block with codes up to the end of `output`.
    fn matches<const ALIGNED: bool>(&mut self, output: &mut [u8], at: &mut usize) -> Result<()> {
        while *at < output.len() {
            self.reader.ensure(16);
            let symbol = self.main.decode(&mut self.reader)?;
            if let Ok(literal) = u8::try_from(symbol) {
                put(output, at, literal)?;
                continue;
            }
            let symbol = usize::from(symbol) - 256;
            let mut len = symbol % SHORT_LENGTHS;
            if len == SHORT_LENGTHS - 1 {
                self.reader.ensure(16);
                len += usize::from(self.length.decode(&mut self.reader)?);
            }
            let distance = self.distance::<ALIGNED>(symbol / SHORT_LENGTHS)?;
            copy_match(output, at, distance as usize, len + MIN_MATCH)?;
        }
        self.reader.finish()
    }

    fn distance<const ALIGNED: bool>(&mut self, slot: usize) -> Result<u32> {
        let [newest, second, _] = self.recent;
        if let Some(recent) = self.recent.get_mut(slot) {
            // it changes places with the newest one
            let distance = std::mem::replace(recent, newest);
            let [first, ..] = &mut self.recent;
            *first = distance;
            return Ok(distance);
        }
        let (bits, base) = slot_base(slot);
        let low = if ALIGNED && bits >= 3 {
            let high = self.reader.take(bits - 3) << 3;
            self.reader.ensure(16);
            high + u32::from(self.aligned.decode(&mut self.reader)?)
        } else {
            self.reader.take(bits)
        };
        let distance = base + low - 2;
        self.recent = [distance, newest, second];
        Ok(distance)
    }

    /// Copies a block without codes.
    fn stored(&mut self, room: &mut [u8], at: &mut usize) -> Result<()> {
        let mut rest = self.reader.stop_at_word(self.stream)?;
        let ends_early = || Error::corrupt("a stored block past the end of the stream");
        for recent in &mut self.recent {
            let (distance, behind) = rest.split_first_chunk().ok_or_else(ends_early)?;
            *recent = u32::from_le_bytes(*distance);
            rest = behind;
        }
        let (content, behind) = rest.split_at_checked(room.len()).ok_or_else(ends_early)?;
        room.copy_from_slice(content);
        *at += room.len();
        let padding = room.len() % 2;
        self.stream = behind.get(padding..).unwrap_or_default();
        self.reader.resume(self.stream);
        Ok(())
    }
}

/// Reads the lengths of codewords, which are stored as changes.
fn read_lengths(reader: &mut WordReader<'_, false>, lengths: &mut [u8]) -> Result<()> {
    let mut pretree = [0; PRETREE_SYMBOLS];
    for len in &mut pretree {
        *len = u8::try_from(reader.take(4)).unwrap_or(0);
    }
    let mut table = DecodeTable::new();
    table.build(&pretree)?;
    let mut rest = lengths;
    while let Some(&first) = rest.first() {
        reader.ensure(16);
        let (len, count) = match table.decode(reader)? {
            17 => (0, 4 + reader.take(4)),
            18 => (0, 20 + reader.take(5)),
            19 => {
                let count = 4 + reader.take(1);
                reader.ensure(16);
                (changed(first, table.decode(reader)?)?, count)
            }
            change => (changed(first, change)?, 1),
        };
        let (now, later) = rest
            .split_at_mut_checked(count as usize)
            .ok_or_else(|| Error::corrupt("more lengths of codewords than symbols"))?;
        now.fill(len);
        rest = later;
    }
    Ok(())
}

/// Returns a length after a change.
fn changed(len: u8, change: u16) -> Result<u8> {
    if change > 16 {
        return Err(Error::corrupt(format!("{change} as a change of a length")));
    }
    let len = (u16::from(len) + 17 - change) % 17;
    Ok(u8::try_from(len).unwrap_or(0))
}
