//! The identity of a volume and its device: UUID, label, device name.
//!
//! In: words of a user. Out: fields of the superblock and of the device table, padded with zeros.
//! **Invariant:** what does not fit is an error, never cut.

use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// The UUID of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uuid(pub [u8; 16]);

impl FromStr for Uuid {
    type Err = Error;

    /// Parses `01234567-89ab-cdef-0123-456789abcdef`.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            Error::invalid(format!(
                "`{text}` is not a UUID, for example 01234567-89ab-cdef-0123-456789abcdef"
            ))
        };
        let groups = text.split('-').map(str::len);
        let digits = text.replace('-', "");
        // a sign would be read, too
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !groups.eq([8, 4, 4, 4, 12]) || !is_hex {
            return Err(wrong());
        }
        let uuid = u128::from_str_radix(&digits, 16).map_err(|_| wrong())?;
        Ok(Self(uuid.to_be_bytes()))
    }
}

/// The name of a further device: 1 to 64 bytes without a zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceName(pub(super) [u8; 64]);

impl DeviceName {
    /// Checks a name. Fails with `Invalid` if it is empty, too long or has a zero.
    pub fn new(name: &[u8]) -> Result<Self> {
        let bytes = padded(name).filter(|_| !name.is_empty());
        bytes.map(Self).ok_or_else(|| {
            Error::invalid(format!(
                "`{}`: the name of a device has 1 to 64 bytes",
                String::from_utf8_lossy(name)
            ))
        })
    }
}

/// The label of a volume: at most 16 bytes without a zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Label(pub(super) [u8; 16]);

impl FromStr for Label {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || format!("label `{text}`: at most 16 bytes, none of them zero");
        let bytes = padded(text.as_bytes()).map(Self);
        bytes.ok_or_else(|| Error::invalid(wrong()))
    }
}

/// Pads bytes with zeros; `None` if they are too many or one of them is zero.
fn padded<const LEN: usize>(text: &[u8]) -> Option<[u8; LEN]> {
    let mut bytes = [0; LEN];
    let room = bytes.get_mut(..text.len())?;
    room.copy_from_slice(text);
    (!text.contains(&0)).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_and_labels_are_read() {
        let uuid: Uuid = "01234567-89ab-cdef-0123-456789ABCDEF".parse().unwrap();
        assert_eq!(uuid.0[..5], [0x01, 0x23, 0x45, 0x67, 0x89]);
        assert_eq!(uuid.0[15], 0xef);
        for wrong in [
            "",
            "0123456789abcdef0123456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "01234567-89ab-cdef-0123-456789abcde\u{e9}",
        ] {
            assert!(wrong.parse::<Uuid>().is_err(), "{wrong}");
        }
        assert_eq!("ab".parse::<Label>().unwrap().0[..3], *b"ab\0");
        assert!("0123456789abcdef".parse::<Label>().is_ok());
        assert!("0123456789abcdefg".parse::<Label>().is_err());
        assert!("a\0b".parse::<Label>().is_err());
    }

    #[test]
    fn devices_have_short_names() {
        assert_eq!(DeviceName::new(b"a.blob").unwrap().0[..7], *b"a.blob\0");
        assert!(DeviceName::new(&[b'n'; 64]).is_ok());
        for wrong in [&b""[..], b"a\0b", &[b'n'; 65]] {
            assert!(DeviceName::new(wrong).is_err());
        }
    }
}
