//! Detects the machine of a program or library by its header: ELF (gABI chapter 4), PE (the COFF
//! file header), Mach-O (`mach_header`). The members of `ar` archives are not inspected.
//!
//! Enters the first bytes of a file; leaves the machine, or `None` for other files. **Invariant:**
//! depends only on the given bytes; a wrong header costs density, never bytes.

use sinterfs_model::Machine;

/// The offset of the position of the PE header.
const PE_POINTER: usize = 0x3c;

/// Returns the machine of a program that begins with `head`.
pub(crate) fn machine(head: &[u8]) -> Option<Machine> {
    elf(head).or_else(|| pe(head)).or_else(|| mach_o(head))
}

fn elf(head: &[u8]) -> Option<Machine> {
    let header: &[u8; 20] = head.first_chunk()?;
    let [0x7f, b'E', b'L', b'F', class, order, ..] = *header else {
        return None;
    };
    let wide = class == 2;
    let (big, number) = match order {
        2 => (true, u16::from_be_bytes([header[18], header[19]])),
        _ => (false, u16::from_le_bytes([header[18], header[19]])),
    };
    Some(match (number, wide, big) {
        (3 | 6, ..) => Machine::X86,
        (62, ..) => Machine::X86_64,
        (40, _, false) => Machine::Arm,
        (183, _, false) => Machine::Arm64,
        (8 | 10, false, true) => Machine::Mips,
        (8 | 10, false, false) => Machine::MipsEl,
        (8 | 10, true, true) => Machine::Mips64,
        (8 | 10, true, false) => Machine::Mips64El,
        (20, ..) => Machine::PowerPc,
        (21, _, true) => Machine::PowerPc64,
        (21, _, false) => Machine::PowerPc64El,
        (243, ..) => Machine::RiscV,
        (22, ..) => Machine::S390,
        (2 | 18 | 43, ..) => Machine::Sparc,
        (50, ..) => Machine::Ia64,
        (258, ..) => Machine::LoongArch,
        _ => Machine::Other,
    })
}

fn pe(head: &[u8]) -> Option<Machine> {
    let rest = head.strip_prefix(b"MZ")?;
    let pointer = rest.get(PE_POINTER - 2..)?.first_chunk()?;
    let at = usize::try_from(u32::from_le_bytes(*pointer)).ok()?;
    let header: &[u8; 6] = head.get(at..)?.first_chunk()?;
    let [b'P', b'E', 0, 0, low, high] = *header else {
        return None;
    };
    Some(match u16::from_le_bytes([low, high]) {
        0x14c => Machine::X86,
        0x8664 => Machine::X86_64,
        0x1c0 | 0x1c2 | 0x1c4 => Machine::Arm,
        0xaa64 => Machine::Arm64,
        0x200 => Machine::Ia64,
        0x5032 | 0x5064 => Machine::RiscV,
        0x6232 | 0x6264 => Machine::LoongArch,
        _ => Machine::Other,
    })
}

fn mach_o(head: &[u8]) -> Option<Machine> {
    let header: &[u8; 8] = head.first_chunk()?;
    let [m0, m1, m2, m3, c0, c1, c2, c3] = *header;
    let number = match [m0, m1, m2, m3] {
        [0xce | 0xcf, 0xfa, 0xed, 0xfe] => u32::from_le_bytes([c0, c1, c2, c3]),
        [0xfe, 0xed, 0xfa, 0xce | 0xcf] => u32::from_be_bytes([c0, c1, c2, c3]),
        _ => return None,
    };
    Some(match number {
        7 => Machine::X86,
        0x0100_0007 => Machine::X86_64,
        12 => Machine::Arm,
        0x0100_000c => Machine::Arm64,
        18 => Machine::PowerPc,
        0x0100_0012 => Machine::PowerPc64,
        _ => Machine::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf_of(class: u8, order: u8, number: [u8; 2]) -> Option<Machine> {
        let mut head = [0; 64];
        head[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
        head[18..20].copy_from_slice(&number);
        machine(&head)
    }

    #[test]
    fn elf_names_machine_width_and_order() {
        assert_eq!(elf_of(2, 1, [62, 0]), Some(Machine::X86_64));
        assert_eq!(elf_of(1, 1, [3, 0]), Some(Machine::X86));
        assert_eq!(elf_of(1, 2, [0, 8]), Some(Machine::Mips));
        assert_eq!(elf_of(2, 1, [8, 0]), Some(Machine::Mips64El));
        assert_eq!(elf_of(2, 1, [21, 0]), Some(Machine::PowerPc64El));
        assert_eq!(elf_of(2, 2, [0, 22]), Some(Machine::S390));
        assert_eq!(elf_of(1, 2, [0, 40]), Some(Machine::Other));
        assert_eq!(machine(b"\x7fELF\x02\x01"), None);
    }

    #[test]
    fn pe_and_mach_o_are_known_and_pointers_are_checked() {
        let mut head = vec![0; 0x80];
        head[..2].copy_from_slice(b"MZ");
        assert_eq!(machine(&head), None);
        head[0x3c] = 0x70;
        head[0x70..0x76].copy_from_slice(b"PE\0\0\x64\x86");
        assert_eq!(machine(&head), Some(Machine::X86_64));
        head[0x3f] = 0xff;
        assert_eq!(machine(&head), None);
        assert_eq!(machine(b"MZ"), None);
        let arm = b"\xcf\xfa\xed\xfe\x0c\0\0\x01";
        assert_eq!(machine(arm), Some(Machine::Arm64));
        assert_eq!(
            machine(b"\xfe\xed\xfa\xce\0\0\0\x12"),
            Some(Machine::PowerPc)
        );
    }
}
