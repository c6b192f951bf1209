//! Decodes FSST: strings in which frequent substrings of 1 to 8 bytes are single bytes.
//!
//! In: the symbol table in `string_table.symtab`; encoded strings. Out: strings.
//!
//! **Invariant:** an output is at most eight times as long as its input.
//! Spec: dwarfs-format(5), "Names and Symlinks String Table Packing".

use sinterfs_model::{Error, Result};

/// The code that precedes a literal byte.
const ESCAPE: u8 = 255;

/// The magic number in bytes 4 to 7 of a symbol table.
const MAGIC: [u8; 4] = [0x0a, 0x14, 0x34, 0x01];

/// The length of header, zero-termination flag and histogram of lengths in bytes.
const HEADER: usize = 17;

/// The symbols of one string table.
pub(crate) struct Fsst {
    symbols: [[u8; 8]; 256],
    lens: [u8; 256],
}

impl Fsst {
    /// Decodes a symbol table.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        let bad = |what: &'static str| Error::corrupt(what).within("FSST symbol table");
        let (head, mut symbols) = bytes
            .split_at_checked(HEADER)
            .ok_or_else(|| bad("shorter than its header"))?;
        let [
            version,
            count,
            _,
            _,
            m0,
            m1,
            m2,
            m3,
            zero_terminated,
            histogram @ ..,
        ] = head
        else {
            return Err(bad("shorter than its header"));
        };
        if *version != 1 || [*m0, *m1, *m2, *m3] != MAGIC {
            return Err(bad("unknown version"));
        }
        let mut histogram: [usize; 8] = <[u8; 8]>::try_from(histogram)
            .map_err(|_| bad("shorter than its header"))?
            .map(usize::from);
        if histogram.iter().sum::<usize>() != usize::from(*count) {
            return Err(bad("the lengths do not add up to the number of symbols"));
        }
        let mut table = Self {
            symbols: [[0; 8]; 256],
            lens: [0; 256],
        };
        let mut code = 0;
        match zero_terminated {
            0 => {}
            1 => {
                // code 0 is the byte 0: counted, but not stored
                let [ones, ..] = &mut histogram;
                *ones = ones
                    .checked_sub(1)
                    .ok_or_else(|| bad("no symbol for the byte zero"))?;
                table.set(0, &[0])?;
                code = 1;
            }
            _ => return Err(bad("unknown kind of termination")),
        }
        // in the order of codes: symbols of 2 to 8 bytes, then of one
        for len in [2, 3, 4, 5, 6, 7, 8, 1_usize] {
            let number = histogram.get(len - 1).copied().unwrap_or(0);
            for _ in 0..number {
                let (symbol, rest) = symbols
                    .split_at_checked(len)
                    .ok_or_else(|| bad("symbols are missing"))?;
                table.set(code, symbol)?;
                code += 1;
                symbols = rest;
            }
        }
        Ok(table)
    }

    fn set(&mut self, code: usize, symbol: &[u8]) -> Result<()> {
        let slot = self.symbols.get_mut(code).zip(self.lens.get_mut(code));
        let target = slot.and_then(|(bytes, len)| {
            *len = u8::try_from(symbol.len()).ok()?;
            bytes.get_mut(..symbol.len())
        });
        match target {
            Some(target) if code < usize::from(ESCAPE) => {
                target.copy_from_slice(symbol);
                Ok(())
            }
            _ => Err(Error::corrupt("more than 255 symbols").within("FSST symbol table")),
        }
    }

    /// Decodes a string into `scratch`. `None` if it contains an unknown code or ends in an escape.
    pub(crate) fn decode<'s>(
        &self,
        encoded: &[u8],
        scratch: &'s mut FsstScratch,
    ) -> Option<&'s [u8]> {
        let out = &mut scratch.0;
        // every symbol is written as eight bytes; the next one overwrites the excess
        let bound = encoded.len().checked_mul(8)?.checked_add(8)?;
        if out.len() < bound {
            out.resize(bound, 0);
        }
        let mut end = 0_usize;
        let mut codes = encoded.iter();
        while let Some(code) = codes.next() {
            if *code == ESCAPE {
                *out.get_mut(end)? = *codes.next()?;
                end += 1;
                continue;
            }
            let len = usize::from(*self.lens.get(usize::from(*code))?);
            let symbol = self.symbols.get(usize::from(*code))?;
            if len == 0 {
                return None;
            }
            *out.get_mut(end..)?.first_chunk_mut::<8>()? = *symbol;
            end += len;
        }
        out.get(..end)
    }
}

/// A reusable buffer for decoded strings.
#[derive(Debug, Default)]
pub(crate) struct FsstScratch(Vec<u8>);

impl std::fmt::Debug for Fsst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.lens.iter().filter(|len| **len > 0).count();
        write!(f, "Fsst({count} symbols)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(table: &[u8], encoded: &[u8]) -> Option<Vec<u8>> {
        let mut scratch = FsstScratch(b"left over".to_vec());
        let table = Fsst::parse(table).unwrap();
        table.decode(encoded, &mut scratch).map(<[u8]>::to_vec)
    }

    #[rustfmt::skip]
    const EXAMPLE: &[u8] = &[
        1, 4, 0, 0, 0x0a, 0x14, 0x34, 0x01, // version, 4 symbols, encoder's parameters, magic
        0,                                  // not zero-terminated
        2, 1, 1, 0, 0, 0, 0, 0,             // two of 1 byte, one of 2, one of 3
        b'F', b'S',                         // code 0
        b'w', b'a', b'r',                   // code 1
        b'!',                               // code 2
        b'D',                               // code 3
    ];

    #[test]
    fn the_example_of_the_format_description() {
        assert_eq!(decode(EXAMPLE, &[3, 1, 0, 2]).unwrap(), b"DwarFS!");
    }

    #[test]
    fn escapes_stand_for_themselves() {
        assert_eq!(
            decode(EXAMPLE, &[255, 255, 1, 255, 0]).unwrap(),
            b"\xffwar\0"
        );
        assert_eq!(decode(EXAMPLE, &[]).unwrap(), b"");
    }

    #[test]
    fn unknown_codes_and_a_lone_escape_are_refused() {
        assert!(decode(EXAMPLE, &[4]).is_none());
        assert!(decode(EXAMPLE, &[1, 255]).is_none());
    }

    #[test]
    fn the_zero_terminated_variant_has_a_symbol_for_zero() {
        let mut table = EXAMPLE.to_vec();
        table[1] = 5;
        table[8] = 1;
        table[9] = 3;
        assert_eq!(decode(&table, &[4, 2, 3, 0]).unwrap(), b"Dwar!\0");
    }

    #[test]
    fn broken_tables_are_refused() {
        for at in [0, 1, 4, 5, 6, 7, 8, 9] {
            let mut table = EXAMPLE.to_vec();
            table[at] ^= 0x80;
            assert!(Fsst::parse(&table).is_err(), "byte {at}");
        }
        for len in 0..EXAMPLE.len() {
            assert!(Fsst::parse(&EXAMPLE[..len]).is_err(), "{len} bytes");
        }
    }
}
