//! A symbol table: symbol search, encoding, and the stored form.
//!
//! In: symbols. Out: encoded strings, and the table as stored. **Invariant:** an encoded string has
//! the fewest bytes that the table allows.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "tables are indexed by bytes and their pairs; there are at most 255 symbols"
)]

use super::ESCAPE;

/// The longest symbol in bytes.
pub(super) const MAX_SYMBOL_LEN: usize = 8;

/// A string of 1 to 8 bytes with a code; bytes beyond the length are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol {
    /// The bytes, the first one lowest.
    pub(super) bytes: u64,
    /// The length in bytes.
    pub(super) len: u8,
}

impl Symbol {
    /// Makes the symbol of one byte.
    pub(super) fn byte(byte: u8) -> Self {
        Self {
            bytes: u64::from(byte),
            len: 1,
        }
    }

    /// Concatenates two symbols; `None` if the result is too long.
    pub(super) fn join(self, other: Self) -> Option<Self> {
        let len = self.len + other.len;
        (usize::from(len) <= MAX_SYMBOL_LEN).then(|| Self {
            bytes: self.bytes | other.bytes << (8 * self.len),
            len,
        })
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - 8 * u32::from(self.len))
    }

    fn prefix(self) -> usize {
        usize::from((self.bytes & 0xffff) as u16)
    }
}

/// Symbols, and an index of them by their first two bytes.
#[derive(Debug, Clone)]
pub(in crate::write) struct SymbolTable {
    /// Symbols of two and more bytes, sorted by first two bytes and length; then single bytes.
    symbols: Vec<Symbol>,
    /// The code of each symbol.
    codes: Vec<u8>,
    /// The first symbol for each pair of first bytes, and the end.
    starts: Vec<u8>,
    /// The code of each single byte, `ESCAPE` without one.
    single: [u8; 256],
}

/// One code of an encoded string.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodedSymbol {
    /// The code; `ESCAPE` for a byte without one.
    pub(super) code: u8,
    /// The symbol, or the escaped byte as one.
    pub(super) symbol: Symbol,
}

impl CodedSymbol {
    /// Returns the encoded length in bytes.
    fn cost(self) -> u32 {
        1 + u32::from(self.code == ESCAPE)
    }
}

impl SymbolTable {
    /// Makes a table of up to 255 different symbols. Codes are in upstream's order: by length, 2 to
    /// 8 bytes, then 1; by bytes within a length.
    pub(super) fn new(mut symbols: Vec<Symbol>) -> Self {
        debug_assert!(symbols.len() <= usize::from(ESCAPE));
        symbols.sort_unstable_by_key(|symbol| ((symbol.len + 6) % 8, symbol.bytes.swap_bytes()));
        let mut coded: Vec<(Symbol, u8)> = symbols.into_iter().zip(0..ESCAPE).collect();
        let mut single = [ESCAPE; 256];
        for (symbol, code) in coded.iter().filter(|(symbol, _)| symbol.len == 1) {
            single[usize::from(symbol.bytes as u8)] = *code;
        }
        coded.sort_unstable_by_key(|(symbol, _)| (symbol.len == 1, symbol.prefix(), symbol.len));
        let longer = coded.iter().filter(|(symbol, _)| symbol.len > 1).count();
        let starts = (0..=0x1_0000_usize)
            .scan(0, |at, prefix| {
                while *at < longer && coded[*at].0.prefix() < prefix {
                    *at += 1;
                }
                Some(*at as u8)
            })
            .collect();
        let (symbols, codes) = coded.into_iter().unzip();
        Self {
            symbols,
            codes,
            starts,
            single,
        }
    }

    /// Returns the symbols, ordered by code.
    pub(super) fn by_code(&self) -> Vec<Symbol> {
        let mut symbols = vec![Symbol::byte(0); self.symbols.len()];
        for (symbol, code) in self.symbols.iter().zip(&self.codes) {
            symbols[usize::from(*code)] = *symbol;
        }
        symbols
    }

    /// Calls `call` with every possible first step of a string, an escape only if the byte has no
    /// code. The string must not be empty.
    fn steps(&self, rest: &[u8], mut call: impl FnMut(CodedSymbol)) {
        let byte = rest[0];
        call(CodedSymbol {
            code: self.single[usize::from(byte)],
            symbol: Symbol::byte(byte),
        });
        let Some(&second) = rest.get(1) else { return };
        let word = load(rest);
        let prefix = usize::from(u16::from_le_bytes([byte, second]));
        let range = usize::from(self.starts[prefix])..usize::from(self.starts[prefix + 1]);
        for (symbol, &code) in self.symbols[range.clone()].iter().zip(&self.codes[range]) {
            if usize::from(symbol.len) <= rest.len() && word & symbol.mask() == symbol.bytes {
                call(CodedSymbol {
                    code,
                    symbol: *symbol,
                });
            }
        }
    }

    /// Cuts a string into the steps with the fewest encoded bytes; among equals, into those that
    /// begin with the longest symbols.
    pub(super) fn cut(&self, string: &[u8], cuts: &mut Cuts) {
        let Cuts { best, steps } = cuts;
        best.clear();
        best.resize(
            string.len() + 1,
            (
                0,
                CodedSymbol {
                    code: ESCAPE,
                    symbol: Symbol::byte(0),
                },
            ),
        );
        for at in (0..string.len()).rev() {
            let mut least: Option<(u32, CodedSymbol)> = None;
            self.steps(&string[at..], |step| {
                let cost = step.cost() + best[at + usize::from(step.symbol.len)].0;
                if least.is_none_or(|(other, _)| cost <= other) {
                    least = Some((cost, step));
                }
            });
            best[at] = least.unwrap_or(best[at]);
        }
        steps.clear();
        let mut at = 0;
        while at < string.len() {
            let step = best[at].1;
            steps.push(step);
            at += usize::from(step.symbol.len);
        }
    }

    /// Appends a string in encoded form.
    pub(in crate::write) fn encode(&self, string: &[u8], cuts: &mut Cuts, out: &mut Vec<u8>) {
        self.cut(string, cuts);
        for step in &cuts.steps {
            out.push(step.code);
            if step.code == ESCAPE {
                out.push(step.symbol.bytes as u8);
            }
        }
    }

    /// Returns the table as stored in the metadata.
    pub(in crate::write) fn stored(&self) -> Vec<u8> {
        let symbols = self.by_code();
        let mut out = vec![
            0x01,
            symbols.len() as u8,
            0,
            0,
            0x0a,
            0x14,
            0x34,
            0x01,
            0x00,
        ];
        for len in 1..=MAX_SYMBOL_LEN {
            out.push(
                symbols
                    .iter()
                    .filter(|symbol| usize::from(symbol.len) == len)
                    .count() as u8,
            );
        }
        for symbol in symbols {
            out.extend_from_slice(&symbol.bytes.to_le_bytes()[..usize::from(symbol.len)]);
        }
        out
    }
}

/// Loads up to eight bytes, the first one lowest.
fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = bytes.len().min(8);
    word[..len].copy_from_slice(&bytes[..len]);
    u64::from_le_bytes(word)
}

/// The buffers of `cut`, and its result.
#[derive(Debug, Default)]
pub(in crate::write) struct Cuts {
    best: Vec<(u32, CodedSymbol)>,
    /// The string in steps.
    pub(super) steps: Vec<CodedSymbol>,
}
