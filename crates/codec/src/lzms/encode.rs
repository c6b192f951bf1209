//! Encodes LZMS.
//!
//! In: content of up to 64 MiB. Out: a stream.
//!
//! **Invariant:** the stream depends only on the content and the level. Further memory: the
//! content once more, 5 bytes for each of its bytes, and some 4 MiB.

use sinterfs_model::{Error, Result};
use sinterfs_workers::WorkerPermits;

use super::coder::Coder;
use super::targets;
use super::way::{Effort, Input, Parser};
use crate::match_finder::{MAX_COVER, NOISE_PIECE, SLICE, Search, Slice, Slicer, is_noise};
use crate::parse_window::Symbol;

/// The most bytes that are encoded to one stream.
pub const MAX_ENCODED: usize = MAX_COVER;

/// Encodes content; keeps its memory between streams.
#[derive(Debug)]
pub struct LzmsEncoder {
    content: Vec<u8>,
    slicer: Slicer,
    parser: Parser,
    symbols: Vec<Symbol>,
}

impl Default for LzmsEncoder {
    fn default() -> Self {
        Self {
            content: Vec::new(),
            slicer: Slicer::new(MAX_COVER, SLICE),
            parser: Parser::new(),
            symbols: Vec::new(),
        }
    }
}

impl LzmsEncoder {
    /// Encodes content with a level from 1 to 9; idle threads help to find matches. `Invalid` for
    /// more than [`MAX_ENCODED`] bytes.
    pub fn encode(
        &mut self,
        content: &[u8],
        level: u8,
        permits: &WorkerPermits,
    ) -> Result<Vec<u8>> {
        if content.len() > MAX_ENCODED {
            let what = format!("LZMS: {} bytes in one stream", content.len());
            return Err(Error::invalid(what));
        }
        self.content.clear();
        self.content.extend_from_slice(content);
        targets::make_absolute(&mut self.content);
        let effort = effort(level);
        let search = Search {
            depth: effort.depth,
            reach: self.content.len(),
        };
        let slice = self.slicer.whole(&self.content, search, permits);
        let mut coder = Coder::new(self.content.len());
        self.parser.start(self.content.len(), effort);
        self.symbols.clear();
        encode_all(slice, &mut coder, &mut self.parser, &mut self.symbols);
        self.slicer.shrink();
        Ok(coder.finish())
    }
}

fn encode_all(
    Slice { block, table, .. }: Slice<'_>,
    coder: &mut Coder,
    parser: &mut Parser,
    symbols: &mut Vec<Symbol>,
) {
    let input = Input {
        content: block,
        table,
    };
    let mut at = 0;
    let mut looked_at = 0;
    while at < block.len() {
        if at >= looked_at {
            looked_at = at + NOISE_PIECE;
            if is_noise(block, at, table) {
                let end = block.len().min(looked_at);
                parser.finder.skip(block, at..end);
                for byte in block.get(at..end).unwrap_or_default() {
                    coder.encode(Symbol::literal(), *byte);
                }
                at = end;
                continue;
            }
        }
        parser.parse(input, coder, at, symbols);
        while let Some(symbol) = symbols.pop() {
            coder.encode(symbol, block.get(at).copied().unwrap_or(0));
            at += symbol.length as usize;
        }
    }
}

fn effort(level: u8) -> Effort {
    let (depth, nice) = match level {
        0..=1 => (18, 20),
        2 => (22, 24),
        3 => (26, 32),
        4 => (34, 40),
        5 => (34, 48),
        6 => (42, 64),
        7 => (50, 80),
        8 => (63, 128),
        _ => (63, 273),
    };
    Effort {
        depth,
        nice,
        deltas: level > 2,
    }
}

#[cfg(test)]
mod tests {
    use sinterfs_testkit::noise;

    use super::*;
    use crate::lzms::decode;
    use crate::shapes::prose;

    /// Numbers that grow evenly, 4 bytes each.
    fn table(step: u32, rows: u32) -> Vec<u8> {
        (0..rows)
            .flat_map(|row| (7 + row * step).to_le_bytes())
            .collect()
    }

    #[test]
    fn streams_come_back() {
        let mut encoder = LzmsEncoder::default();
        let mut code = noise(3, 70_000);
        for at in (0..code.len() - 5).step_by(23) {
            code[at] = 0xe8;
            let target = (at as u32 % 1000) << 3;
            code[at + 1..at + 5].copy_from_slice(&target.to_le_bytes());
        }
        let contents = [
            vec![],
            vec![7],
            b"ab".to_vec(),
            vec![0; 300_000],
            b"abc".repeat(30_000),
            prose(300_000, 5),
            noise(9, 140_000),
            [prose(33_000, 1), noise(2, 5_000), prose(33_000, 1)].concat(),
            [table(40, 9_000), prose(9_000, 2), table(4096, 9_000)].concat(),
            code,
        ];
        for (index, content) in contents.iter().enumerate() {
            for level in [1, 4, 9] {
                let stream = encoder
                    .encode(content, level, &WorkerPermits::default())
                    .unwrap();
                let mut decoded = vec![1; content.len()];
                if !content.is_empty() {
                    decode(&stream, &mut decoded).unwrap();
                }
                assert!(decoded == *content, "content {index}, level {level}");
            }
        }
    }

    #[test]
    fn streams_are_small() {
        let mut encoder = LzmsEncoder::default();
        let mut len = |content: &[u8]| {
            let stream = encoder.encode(content, 6, &WorkerPermits::default());
            stream.unwrap().len()
        };
        assert!(len(&vec![0; 1 << 20]) < 40);
        // each row differs from the one before by the same
        assert!(
            len(&table(40, 20_000)) < 1000,
            "{}",
            len(&table(40, 20_000))
        );
        let text = prose(300_000, 5);
        assert!(len(&text) * 100 < text.len() * 40);
        let random = noise(1, 200_000);
        assert!(len(&random) < random.len() * 102 / 100);
    }
}
