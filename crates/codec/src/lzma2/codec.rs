//! The options of our encoder of LZMA2.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use sinterfs_model::{Category, Machine, Result};
use sinterfs_workers::MemoryNeeds;

use super::encoder::{Lzma2Options, encode};
use crate::bcj::{Bcj, Binary};
use crate::codec::{Codec, Encode, Hints};
use crate::cost::{BASE, OWN_REACH, covered, own_needs};
use crate::options::Options;

/// The levels.
pub(crate) const LEVELS: RangeInclusive<i32> = 1..=9;
/// Dictionaries as powers of two.
const DICTIONARIES: RangeInclusive<u32> = 12..=OWN_REACH;
/// lc, lp and pb.
const BITS: RangeInclusive<u32> = 0..=4;
const LITERAL_BITS: u32 = 4;
const LC: u32 = 3;
const LP: u32 = 0;
const PB: u32 = 2;

/// Our encoder of LZMA2 in .xz streams, which the codec of .xz decodes: formats have
/// one id for both.
pub(crate) struct Lzma2Codec;

impl Codec for Lzma2Codec {
    fn parse(&self, options: &mut Options<'_>) -> Result<Arc<dyn Encode>> {
        let parsed = Lzma2 {
            options: Lzma2Options {
                level: options.level(LEVELS, 6)?.unsigned_abs(),
                dict: options.number(&["dict", "dict_size"], DICTIONARIES)?,
                lc: options.number(&["lc"], BITS)?.unwrap_or(LC),
                lp: options.number(&["lp"], BITS)?.unwrap_or(LP),
                pb: options.number(&["pb"], BITS)?.unwrap_or(PB),
            },
            binary: options.choice("binary", &Binary::NAMES)?,
        };
        if parsed.options.lc + parsed.options.lp <= LITERAL_BITS {
            return Ok(Arc::new(parsed));
        }
        Err(options.error(&format!("expected lc + lp of up to {LITERAL_BITS}")))
    }
}

/// Encodes nearly as small as liblzma, for less work.
#[derive(Debug)]
struct Lzma2 {
    options: Lzma2Options,
    /// The machine code to filter, where a quick trial says that it is smaller.
    binary: Option<Binary>,
}

impl Lzma2 {
    /// Returns the options for content of a category.
    fn options_for(&self, category: Category) -> Lzma2Options {
        let options = self.options;
        let is_chosen = (options.lc, options.lp, options.pb) != (LC, LP, PB);
        if is_chosen || self.binary != Some(Binary::Auto) {
            return options;
        }
        let (lc, lp, pb) = match category {
            Category::Text => (4, 0, 0),
            Category::Code(machine) => bits_of(machine),
            _ => (LC, LP, PB),
        };
        Lzma2Options {
            lc,
            lp,
            pb,
            ..options
        }
    }
}

impl Encode for Lzma2 {
    fn encode_with(&self, raw: &[u8], hints: Hints<'_>) -> Result<Vec<u8>> {
        let options = self.options_for(hints.category);
        match (&self.binary, hints.category) {
            (Some(Binary::Only(bcj)), _) => encode(raw, options, &[*bcj], hints.permits),
            (Some(Binary::Auto), Category::Code(machine)) => {
                encode(raw, options, Bcj::of(machine), hints.permits)
            }
            (Some(Binary::Auto) | None, _) => encode(raw, options, &[], hints.permits),
        }
    }

    fn level(&self) -> i32 {
        self.options.level.cast_signed()
    }

    fn memory(&self, _len: u32) -> u64 {
        BASE
    }

    fn memory_needs(&self, len: u32) -> Option<MemoryNeeds> {
        // a converted copy; the trial's memory is free before the stream is allocated
        let converted = u64::from(len) + covered(len) / 16;
        Some(own_needs(len, self.binary.map_or(0, |_| converted)))
    }

    fn window(&self) -> u64 {
        1 << self.options.dict.unwrap_or(OWN_REACH)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options;
        write!(f, ":level={}", options.level)?;
        if let Some(dict) = options.dict {
            write!(f, ":dict={dict}")?;
        }
        for (key, bits, usual) in [
            ("lc", options.lc, LC),
            ("lp", options.lp, LP),
            ("pb", options.pb, PB),
        ] {
            if bits != usual {
                write!(f, ":{key}={bits}")?;
            }
        }
        match self.binary {
            Some(binary) => write!(f, ":binary={binary}"),
            None => Ok(()),
        }
    }
}

/// Returns lc, lp and pb for the code of a machine: as its instructions are aligned.
const fn bits_of(machine: Machine) -> (u32, u32, u32) {
    match machine {
        // instructions of four bytes
        Machine::Arm
        | Machine::Arm64
        | Machine::Mips
        | Machine::MipsEl
        | Machine::Mips64
        | Machine::Mips64El
        | Machine::PowerPc
        | Machine::PowerPc64
        | Machine::PowerPc64El
        | Machine::Sparc
        | Machine::LoongArch => (2, 2, 2),
        // of two bytes or several of them
        Machine::RiscV | Machine::S390 => (3, 1, 1),
        _ => (LC, LP, PB),
    }
}
