//! The metadata of a file in every format: type, permissions, owner, times.
//!
//! **Invariant:** plain values as in `stat`.

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileType {
    /// A directory.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// A named pipe.
    Fifo,
    /// A UNIX domain socket.
    Socket,
}

impl FileType {
    /// The bits of `st_mode` that hold the type.
    pub const MASK: u32 = 0o170_000;

    /// Returns the type's bits of `st_mode`.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Fifo => 0o010_000,
            Self::CharDevice => 0o020_000,
            Self::Directory => 0o040_000,
            Self::BlockDevice => 0o060_000,
            Self::File => 0o100_000,
            Self::Symlink => 0o120_000,
            Self::Socket => 0o140_000,
        }
    }

    /// Returns the type in `st_mode`; `None` if the bits are no type.
    pub const fn from_mode(mode: u32) -> Option<Self> {
        Some(match mode & Self::MASK {
            0o010_000 => Self::Fifo,
            0o020_000 => Self::CharDevice,
            0o040_000 => Self::Directory,
            0o060_000 => Self::BlockDevice,
            0o100_000 => Self::File,
            0o120_000 => Self::Symlink,
            0o140_000 => Self::Socket,
            _ => return None,
        })
    }

    /// Returns the letter of the type in `ls -l`.
    pub const fn letter(self) -> char {
        match self {
            Self::Directory => 'd',
            Self::File => '-',
            Self::Symlink => 'l',
            Self::CharDevice => 'c',
            Self::BlockDevice => 'b',
            Self::Fifo => 'p',
            Self::Socket => 's',
        }
    }
}

/// A point in time: seconds since 1970 (negative before) and nanoseconds below 10^9.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time {
    /// Seconds since 1970-01-01 00:00 UTC.
    pub secs: i64,
    /// Nanoseconds after that second, below 10^9.
    pub nanos: u32,
}

/// The times of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Times {
    /// Last change of the content.
    pub modified: Time,
    /// Last access.
    pub accessed: Time,
    /// Last change of the inode.
    pub changed: Time,
}

impl Times {
    /// Makes times that are all equal.
    pub const fn all(time: Time) -> Self {
        Self {
            modified: time,
            accessed: time,
            changed: time,
        }
    }
}

/// A device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Rdev {
    /// The number of the driver.
    pub major: u32,
    /// The number of the device among the driver's devices.
    pub minor: u32,
}

impl Rdev {
    /// Packs the number as Linux's 64-bit `dev_t` (glibc's `makedev`).
    pub const fn to_dev_t(self) -> u64 {
        let (major, minor) = (self.major as u64, self.minor as u64);
        ((major & 0xffff_f000) << 32)
            | ((major & 0xfff) << 8)
            | ((minor & 0xffff_ff00) << 12)
            | (minor & 0xff)
    }

    /// Unpacks Linux's 64-bit `dev_t`.
    #[allow(clippy::cast_possible_truncation, reason = "the masks leave 32 bits")]
    pub const fn from_dev_t(dev: u64) -> Self {
        Self {
            major: (((dev >> 32) & 0xffff_f000) | ((dev >> 8) & 0xfff)) as u32,
            minor: (((dev >> 12) & 0xffff_ff00) | (dev & 0xff)) as u32,
        }
    }
}

/// The metadata of an inode, apart from its type and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Meta {
    /// Permission bits, set-id bits and the sticky bit: the low 12 bits of `st_mode`.
    pub mode: u16,
    /// The user ID of the owner.
    pub uid: u32,
    /// The group ID.
    pub gid: u32,
    /// The times.
    pub times: Times,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dev_t_keeps_large_numbers() {
        for (major, minor) in [
            (0, 0),
            (8, 1),
            (259, 70_000),
            (0xfff, 0xff),
            (0xffff_ffff, 0xffff_ffff),
        ] {
            let rdev = Rdev { major, minor };
            assert_eq!(Rdev::from_dev_t(rdev.to_dev_t()), rdev);
        }
        assert_eq!(Rdev { major: 8, minor: 1 }.to_dev_t(), 0x801);
    }

    #[test]
    fn mode_bits_round_trip() {
        for kind in [
            FileType::Directory,
            FileType::File,
            FileType::Symlink,
            FileType::CharDevice,
            FileType::BlockDevice,
            FileType::Fifo,
            FileType::Socket,
        ] {
            assert_eq!(FileType::from_mode(kind.bits() | 0o644), Some(kind));
        }
        assert_eq!(FileType::from_mode(0o644), None);
    }
}
