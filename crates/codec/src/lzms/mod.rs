//! LZMS, the codec of solid resources of WIM files; `docs/formats/wim.md` describes the stream.
//!
//! In: a stream without a header. Out: exactly the bytes that the caller asks for. And back.
//!
//! **Invariant:** streams are independent. Decisions are coded in words from its start by a range
//! coder whose probabilities adapt; symbols and bits of numbers in words from its end by prefix
//! codes that adapt. Targets of x86 code are translated in the whole content.

mod adaptive;
mod coder;
mod decode;
mod deltas;
mod encode;
mod prices;
mod range;
mod recent;
mod slots;
mod targets;
mod way;

pub use decode::decode;
pub use encode::{LzmsEncoder, MAX_ENCODED};

/// How many of the latest distances, and of the latest deltas, an item can refer to.
const REPEATS: usize = 3;

/// The states of each kind of decision: what the latest decisions of that kind were.
mod states {
    pub(super) const MAIN: usize = 16;
    pub(super) const MATCH: usize = 32;
    pub(super) const REPEAT: usize = 64;
}

/// Symbols of the codes that do not depend on the size of the content, and after how many symbols
/// each code adapts.
mod codes {
    pub(super) const LITERALS: (usize, u32) = (256, 1024);
    pub(super) const LENGTHS: (usize, u32) = (54, 512);
    pub(super) const POWERS: (usize, u32) = (8, 512);
    /// Symbols after which codes of distances adapt.
    pub(super) const DISTANCES_ADAPT: u32 = 1024;
}
