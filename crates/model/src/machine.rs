//! The machines that code is compiled for, as far as compression distinguishes them.
//!
//! **Invariant:** the order of the variants is the order of their streams in an image.

/// A kind of processor: instruction set, width and byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Machine {
    /// 32-bit x86.
    X86,
    /// 64-bit x86.
    X86_64,
    /// 32-bit ARM, little-endian, Thumb or not.
    Arm,
    /// 64-bit ARM, little-endian.
    Arm64,
    /// 32-bit MIPS, big-endian.
    Mips,
    /// 32-bit MIPS, little-endian.
    MipsEl,
    /// 64-bit MIPS, big-endian.
    Mips64,
    /// 64-bit MIPS, little-endian.
    Mips64El,
    /// 32-bit PowerPC, big-endian.
    PowerPc,
    /// 64-bit PowerPC, big-endian.
    PowerPc64,
    /// 64-bit PowerPC, little-endian.
    PowerPc64El,
    /// RISC-V of any width.
    RiscV,
    /// IBM S/390 and z/Architecture.
    S390,
    /// SPARC of any width.
    Sparc,
    /// Itanium.
    Ia64,
    /// LoongArch of any width.
    LoongArch,
    /// Any other.
    Other,
}

impl Machine {
    /// All machines, in the order of their streams.
    pub const ALL: [Self; 17] = [
        Self::X86,
        Self::X86_64,
        Self::Arm,
        Self::Arm64,
        Self::Mips,
        Self::MipsEl,
        Self::Mips64,
        Self::Mips64El,
        Self::PowerPc,
        Self::PowerPc64,
        Self::PowerPc64El,
        Self::RiscV,
        Self::S390,
        Self::Sparc,
        Self::Ia64,
        Self::LoongArch,
        Self::Other,
    ];

    /// Returns the name of the category of its code.
    pub const fn name(self) -> &'static str {
        match self {
            Self::X86 => "code/x86",
            Self::X86_64 => "code/x86-64",
            Self::Arm => "code/arm",
            Self::Arm64 => "code/arm64",
            Self::Mips => "code/mips",
            Self::MipsEl => "code/mipsel",
            Self::Mips64 => "code/mips64",
            Self::Mips64El => "code/mips64el",
            Self::PowerPc => "code/powerpc",
            Self::PowerPc64 => "code/powerpc64",
            Self::PowerPc64El => "code/powerpc64el",
            Self::RiscV => "code/riscv",
            Self::S390 => "code/s390",
            Self::Sparc => "code/sparc",
            Self::Ia64 => "code/ia64",
            Self::LoongArch => "code/loongarch",
            Self::Other => "code/other",
        }
    }
}
