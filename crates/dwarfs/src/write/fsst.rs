//! Encodes FSST: a table of up to 255 symbols of 1 to 8 bytes, and strings encoded with it.
//!
//! In: all strings of a string table. Out: the symbol table in upstream's form, and the encoded
//! strings one after the other. **Invariant:** the same strings give the same bytes; each string is
//! decodable on its own. Format: "Names and Symlinks String Table Packing" of upstream's
//! dwarfs-format(5). Strings are cut into the fewest codes instead of greedily: smaller, slower to
//! encode, and no slower to decode.

mod table;
#[cfg(test)]
mod tests;
mod train;

pub(super) use table::Cuts;
pub(super) use train::train;

/// The code that precedes a literal byte.
const ESCAPE: u8 = 255;
