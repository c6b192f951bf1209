//! .xz streams of one block; with a branch converter if that makes the block smaller.

use liblzma::stream::{Check, Filters, Stream};
use sinterfs_model::Result;

use crate::bcj::Bcj;
use crate::lzma::{cannot_encode, finish, lzma_options};
use crate::lzma2;

/// Encodes into one stream; its dictionary is no longer than the block needs.
pub(super) fn encode(
    raw: &[u8],
    preset: u32,
    dictionary: u32,
    check: Check,
    converters: &[Bcj],
) -> Result<Vec<u8>> {
    let lzma = lzma_options(raw, preset, dictionary)?;
    let mut best = encode_with(raw, check, Filters::new().lzma2(&lzma))?;
    for &bcj in converters {
        if !lzma2::changes(bcj, raw) {
            continue;
        }
        let mut filters = Filters::new();
        let filters = chain(&mut filters, bcj).lzma2(&lzma);
        let filtered = encode_with(raw, check, filters)?;
        if filtered.len() < best.len() {
            best = filtered;
        }
    }
    Ok(best)
}

fn encode_with(raw: &[u8], check: Check, filters: &Filters) -> Result<Vec<u8>> {
    let encoder = Stream::new_stream_encoder(filters, check).map_err(cannot_encode)?;
    finish(encoder, raw)
}

/// Adds a branch converter to a chain.
fn chain(filters: &mut Filters, bcj: Bcj) -> &mut Filters {
    match bcj {
        Bcj::X86 => filters.x86(),
        Bcj::PowerPc => filters.powerpc(),
        Bcj::Ia64 => filters.ia64(),
        Bcj::Arm => filters.arm(),
        Bcj::ArmThumb => filters.arm_thumb(),
        Bcj::Arm64 => filters.arm64(),
        Bcj::RiscV => filters.riscv(),
        Bcj::Sparc => filters.sparc(),
    }
}
