//! The header of tar: 512 bytes before each member, and its numbers.
//!
//! Enters a block of the archive, leaves a typed view of it; or the other way round. Spec:
//! POSIX.1-2024 pax, "ustar Interchange Format"; base-256 numbers and `star`'s and GNU's fields:
//! GNU tar's manual.

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The unit of a tar: headers are as long, and content is padded to it.
pub const BLOCK: usize = 512;

/// The header of a member.
#[derive(Debug, Clone, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct UstarHeader {
    /// The path, or its end; NUL-padded, not terminated when full.
    pub name: [u8; 100],
    /// Permissions, octal.
    pub mode: [u8; 8],
    /// The owner.
    pub uid: [u8; 8],
    /// The group.
    pub gid: [u8; 8],
    /// The length of the data after the header.
    pub size: [u8; 12],
    /// Seconds since 1970.
    pub mtime: [u8; 12],
    /// The sum of all bytes of the header, these eight taken as spaces.
    pub checksum: [u8; 8],
    /// The type of the member.
    pub typeflag: u8,
    /// The target of a link.
    pub linkname: [u8; 100],
    /// `ustar\0` and `00`, or GNU's `ustar  \0`.
    pub magic: [u8; 8],
    /// The owner's name.
    pub uname: [u8; 32],
    /// The group's name.
    pub gname: [u8; 32],
    /// The major number of a device.
    pub dev_major: [u8; 8],
    /// The minor number of a device.
    pub dev_minor: [u8; 8],
    /// The path before `name` and a slash (ustar); times and a map of holes (GNU).
    pub prefix: [u8; 155],
    /// Unused.
    pub padding: [u8; 12],
}

const _: () = assert!(size_of::<UstarHeader>() == BLOCK);

/// `magic` of ustar and of PAX.
pub const USTAR: [u8; 8] = *b"ustar\x0000";
/// `magic` of GNU's older form.
pub const GNU: [u8; 8] = *b"ustar  \0";

/// Values of `typeflag`.
pub mod typeflag {
    /// A regular file.
    pub const FILE: u8 = b'0';
    /// A regular file in archives older than ustar.
    pub const OLD_FILE: u8 = 0;
    /// A hard link to a member before it.
    pub const LINK: u8 = b'1';
    /// A symbolic link.
    pub const SYMLINK: u8 = b'2';
    /// A character device.
    pub const CHAR_DEVICE: u8 = b'3';
    /// A block device.
    pub const BLOCK_DEVICE: u8 = b'4';
    /// A directory.
    pub const DIRECTORY: u8 = b'5';
    /// A named pipe.
    pub const FIFO: u8 = b'6';
    /// A file that was contiguous on its disk.
    pub const CONTIGUOUS: u8 = b'7';
    /// PAX records for the next member.
    pub const PAX: u8 = b'x';
    /// PAX records for all following members.
    pub const PAX_GLOBAL: u8 = b'g';
    /// GNU: the content is the target of the next member.
    pub const GNU_LONG_LINK: u8 = b'K';
    /// GNU: the content is the name of the next member.
    pub const GNU_LONG_NAME: u8 = b'L';
    /// GNU: a file with holes, its map in the header.
    pub const GNU_SPARSE: u8 = b'S';
    /// GNU: a directory and the names in it, as of an incremental dump.
    pub const GNU_DUMP_DIRECTORY: u8 = b'D';
    /// GNU: a piece of a file that began on another volume.
    pub const GNU_CONTINUED: u8 = b'M';
    /// GNU: the name of the volume.
    pub const GNU_VOLUME: u8 = b'V';
    /// Solaris: extended records, like PAX.
    pub const SOLARIS: u8 = b'X';
}

/// Sums a header's bytes the way its checksum does.
pub fn checksum(header: &UstarHeader) -> u32 {
    let all: u32 = header.as_bytes().iter().map(|&b| u32::from(b)).sum();
    let own: u32 = header.checksum.iter().map(|&b| u32::from(b)).sum();
    all - own + 8 * u32::from(b' ')
}

/// Reads a number: octal digits between spaces and a NUL, or base 256 where the first bit is set.
///
/// An empty field is 0. `None` for anything else, and for numbers that 64 signed bits do not hold.
pub fn number(field: &[u8]) -> Option<i64> {
    let (&first, rest) = field.split_first()?;
    if first & 0x80 != 0 {
        // two's complement of 7 bits and the rest's
        let high = i64::from(first & 0x3f) - i64::from(first & 0x40);
        return rest.iter().try_fold(high, |value, &byte| {
            value.checked_mul(256)?.checked_add(i64::from(byte))
        });
    }
    let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
    let digits = field.get(..end)?.trim_ascii();
    digits.iter().try_fold(0_i64, |value, &byte| {
        let digit = char::from(byte).to_digit(8)?;
        value.checked_mul(8)?.checked_add(i64::from(digit))
    })
}

/// Writes a number as octal digits and a NUL; false, with the field untouched, if it does not fit.
pub fn set_octal(field: &mut [u8], value: u64) -> bool {
    let Some((last, digits)) = field.split_last_mut() else {
        return false;
    };
    let bits = 3 * digits.len();
    if bits < 64 && value >> bits != 0 {
        return false;
    }
    *last = 0;
    for (place, digit) in digits.iter_mut().rev().enumerate() {
        let shift = u32::try_from(3 * place).unwrap_or(u32::MAX);
        *digit = b'0' + (value.checked_shr(shift).unwrap_or(0) & 7).to_le_bytes()[0];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_numbers_come_back() {
        let mut field = [b'x'; 8];
        for value in [0, 7, 8, 0o777_7777] {
            assert!(set_octal(&mut field, value));
            assert_eq!(number(&field), i64::try_from(value).ok());
        }
        assert!(!set_octal(&mut field, 0o1000_0000));
        assert_eq!(&field, b"7777777\0");
    }

    #[test]
    fn numbers_of_old_and_large_files() {
        assert_eq!(number(b"   644 \0"), Some(0o644));
        assert_eq!(number(b"        "), Some(0));
        assert_eq!(number(b"77777777"), Some(0o7777_7777));
        assert_eq!(number(b"12x\0"), None);
        assert_eq!(number(b"\x80\0\0\0\0\0\x01\x02"), Some(0x102));
        assert_eq!(number(b"\xff\xff\xff\xff\xff\xff\xff\xfe"), Some(-2));
        let too_large = b"\x80\0\0\x80\0\0\0\0\0\0\0\0";
        assert_eq!(number(too_large), None);
    }
}
