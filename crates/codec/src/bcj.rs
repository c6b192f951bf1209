//! The branch converters of .xz: names, and which to try.

use std::fmt;

use sinterfs_model::Machine;

/// A branch converter, by the machine code that it converts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bcj {
    /// x86 and x86-64.
    X86,
    /// Big-endian PowerPC.
    PowerPc,
    /// Itanium.
    Ia64,
    /// Little-endian 32-bit ARM.
    Arm,
    /// Little-endian ARM-Thumb.
    ArmThumb,
    /// ARM64; needs liblzma 5.4 to read.
    Arm64,
    /// RISC-V; needs liblzma 5.6 to read.
    RiscV,
    /// SPARC.
    Sparc,
}

impl Bcj {
    /// All converters by their names.
    pub const NAMES: [(&'static str, Self); 8] = [
        ("x86", Self::X86),
        ("powerpc", Self::PowerPc),
        ("ia64", Self::Ia64),
        ("arm", Self::Arm),
        ("armthumb", Self::ArmThumb),
        ("arm64", Self::Arm64),
        ("riscv", Self::RiscV),
        ("sparc", Self::Sparc),
    ];

    /// Returns the converters that may help with the code of a machine.
    pub const fn of(machine: Machine) -> &'static [Self] {
        match machine {
            Machine::X86 | Machine::X86_64 => &[Self::X86],
            Machine::Arm => &[Self::Arm, Self::ArmThumb],
            Machine::Arm64 => &[Self::Arm64],
            Machine::PowerPc | Machine::PowerPc64 => &[Self::PowerPc],
            Machine::RiscV => &[Self::RiscV],
            Machine::Sparc => &[Self::Sparc],
            Machine::Ia64 => &[Self::Ia64],
            _ => &[],
        }
    }
}

impl fmt::Display for Bcj {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES
            .iter()
            .find(|(_, bcj)| bcj == self)
            .map_or("?", |(name, _)| name);
        f.write_str(name)
    }
}

/// Which branch converters to try; the best one is used if it makes the block smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binary {
    /// Those of the machine that the code is for, if known.
    Auto,
    /// This one.
    Only(Bcj),
}

impl Binary {
    #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
    pub(crate) const NAMES: [(&'static str, Self); 9] = {
        let mut names = [("auto", Self::Auto); 9];
        let mut index = 0;
        while index < Bcj::NAMES.len() {
            let (name, bcj) = Bcj::NAMES[index];
            names[index + 1] = (name, Self::Only(bcj));
            index += 1;
        }
        names
    };
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Only(bcj) => bcj.fmt(f),
        }
    }
}
