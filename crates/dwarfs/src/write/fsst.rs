//! FSST, writing side: a table of up to 255 symbols of 1 to 8 bytes, and strings encoded with it.
//!
//! In: all strings of a string table. Out: the symbol table as upstream stores it, and the encoded
//! strings one after the other. **Invariant:** the same strings give the same bytes; each string
//! is decodable on its own. Format: "Names and Symlinks String Table Packing" of upstream's
//! dwarfs-format(5). Strings are cut into the fewest codes, not greedily: that is what makes up
//! for the time a decoder does not lose.

mod table;
#[cfg(test)]
mod tests;
mod train;

pub(super) use table::Cuts;
pub(super) use train::train;

/// The code that says that the next byte stands for itself.
const ESCAPE: u8 = 255;
