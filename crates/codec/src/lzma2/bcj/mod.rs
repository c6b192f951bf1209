//! Branch converters: the targets of calls as absolute addresses, so that calls of one function
//! from many places look alike (tukaani.org/xz/xz-file-format.txt, section 5.3.2, and what
//! liblzma's decoders take back).
//!
//! In: machine code. Out: as many bytes, of which some are changed in place.
//!
//! **Invariant:** the decoder's converter, started at position 0, gives the same bytes back,
//! for any input.

mod arm;
mod big_endian;
mod ia64;
mod riscv;
mod words;
mod x86;

use crate::Bcj;

/// Converts a block in place.
pub(super) fn convert(bcj: Bcj, block: &mut [u8]) {
    match bcj {
        Bcj::X86 => x86::convert(block),
        Bcj::PowerPc => big_endian::convert_powerpc(block),
        Bcj::Ia64 => ia64::convert(block),
        Bcj::Arm => arm::convert_arm(block),
        Bcj::ArmThumb => arm::convert_thumb(block),
        Bcj::Arm64 => arm::convert_arm64(block),
        Bcj::RiscV => riscv::convert(block),
        Bcj::Sparc => big_endian::convert_sparc(block),
    }
}

/// Returns the id of a filter in a block header.
pub(super) fn id(bcj: Bcj) -> u8 {
    match bcj {
        Bcj::X86 => 4,
        Bcj::PowerPc => 5,
        Bcj::Ia64 => 6,
        Bcj::Arm => 7,
        Bcj::ArmThumb => 8,
        Bcj::Sparc => 9,
        Bcj::Arm64 => 10,
        Bcj::RiscV => 11,
    }
}
