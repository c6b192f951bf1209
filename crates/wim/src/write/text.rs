//! Names and targets of links in UTF-16.
//!
//! **Invariant:** what the reader makes of the result is the name again.

/// Converts a name to UTF-16: UTF-8, in which half a pair of surrogates may have three bytes, too.
/// `None` for other bytes.
pub(super) fn to_utf16(name: &[u8]) -> Option<Vec<u8>> {
    let mut units: Vec<u16> = Vec::with_capacity(name.len());
    let mut rest = name;
    while !rest.is_empty() {
        let (valid, behind) = match std::str::from_utf8(rest) {
            Ok(text) => (text, &[][..]),
            Err(error) => {
                let (valid, behind) = rest.split_at_checked(error.valid_up_to())?;
                (std::str::from_utf8(valid).ok()?, behind)
            }
        };
        units.extend(valid.encode_utf16());
        rest = match behind {
            [] => behind,
            [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, behind @ ..] => {
                let low = (u16::from(*second & 0x3f) << 6) | u16::from(*third & 0x3f);
                units.push(0xd000 | low);
                behind
            }
            _ => return None,
        };
    }
    // halves that stand side by side would be read as a whole pair
    let bytes: Vec<u8> = units.into_iter().flat_map(u16::to_le_bytes).collect();
    let same = crate::read::to_bytes(&bytes) == name;
    same.then_some(bytes)
}
