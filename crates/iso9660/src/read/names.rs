//! Names of files in trees without Rock Ridge.
//!
//! In: the identifier of a record. Out: a name of bytes, and the version that it had.

use sinterfs_model::{Error, Result};

use crate::layout::CharacterSet;

/// A name and its version, with the semicolon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VersionedName {
    pub(super) name: Vec<u8>,
    pub(super) version: Vec<u8>,
}

/// Decodes an identifier. Versions are cut from files, unless the volume is one of ISO 9660:1999.
pub(super) fn decode(
    identifier: &[u8],
    characters: CharacterSet,
    is_file: bool,
    is_enhanced: bool,
) -> VersionedName {
    let mut name = match characters {
        CharacterSet::Bytes => identifier.to_vec(),
        CharacterSet::Joliet(_) => utf8(identifier),
    };
    // some writers pad names with NUL
    while name.pop_if(|byte| *byte == 0).is_some() {}
    let mut version = Vec::new();
    if is_file && !is_enhanced {
        let at = name.iter().rposition(|byte| *byte == b';').filter(|at| {
            let digits = name.get(at + 1..).unwrap_or_default();
            *at > 0 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        });
        if let Some(at) = at {
            version = name.split_off(at);
        }
        if characters == CharacterSet::Bytes && name.len() > 1 {
            // a dot that separates no extension
            name.pop_if(|byte| *byte == b'.');
        }
    }
    VersionedName { name, version }
}

/// Converts UCS-2 or UTF-16, big-endian; a surrogate without another becomes three bytes.
fn utf8(identifier: &[u8]) -> Vec<u8> {
    let (pairs, _) = identifier.as_chunks::<2>();
    let units = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    let mut name = Vec::with_capacity(identifier.len());
    for unit in char::decode_utf16(units) {
        match unit {
            Ok(character) => name.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
            Err(error) => {
                let [high, low] = error.unpaired_surrogate().to_be_bytes();
                let middle = 0x80 | ((high & 0x0f) << 2) | (low >> 6);
                name.extend([0xe0 | (high >> 4), middle, 0x80 | (low & 0x3f)]);
            }
        }
    }
    name
}

/// Fails with `Corrupt` for a name that no file has, or that the one before has.
pub(super) fn check(name: &[u8], before: Option<&[u8]>) -> Result<()> {
    let shown = || String::from_utf8_lossy(name).into_owned();
    if matches!(name, b"" | b"." | b"..") || name.iter().any(|b| matches!(b, 0 | b'/')) {
        return Err(Error::corrupt(format!("the name {:?}", shown())));
    }
    if name.len() > 255 {
        return Err(Error::corrupt(format!(
            "the name {:?} of more than 255 bytes",
            shown()
        )));
    }
    if before == Some(name) {
        return Err(Error::corrupt(format!(
            "the name {:?} occurs twice",
            shown()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_cut() {
        let plain = |identifier: &[u8], is_file| {
            decode(identifier, CharacterSet::Bytes, is_file, false).name
        };
        assert_eq!(plain(b"README.TXT;1", true), b"README.TXT");
        assert_eq!(plain(b"README.;1", true), b"README");
        assert_eq!(plain(b"A;B", true), b"A;B");
        assert_eq!(plain(b";1", true), b";1");
        assert_eq!(plain(b"DIR.;1", false), b"DIR.;1");
        let enhanced = decode(b"a.;1", CharacterSet::Bytes, true, true);
        assert_eq!(enhanced.name, b"a.;1");
    }

    #[test]
    fn joliet_names_become_utf8() {
        let text = "grün ☃ 𝄞;1";
        let mut units: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let found = decode(&units, CharacterSet::Joliet(3), true, false);
        assert_eq!(found.name, "grün ☃ 𝄞".as_bytes());
        assert_eq!(found.version, b";1");
        units = vec![0xd8, 0x34, 0, b'x', 0, 0];
        let found = decode(&units, CharacterSet::Joliet(1), true, false);
        assert_eq!(found.name, b"\xed\xa0\xb4x");
    }
}
