//! Names of files on Windows.
//!
//! In: the name of a file in an image. Out: a name that Windows takes and that leads to no device,
//! no stream and no other name; and back. Characters that Windows does not accept become one
//! private character, as in Cygwin and WSL: U+F000 plus the byte. **Invariant:**
//! `decode(encode(name)) == name`, unless the name itself has characters from U+F001 to U+F0FF.

/// The base to which a byte is added.
const PRIVATE: u16 = 0xF000;

/// Names that are devices in every directory, with any text after their first dot.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Returns the name of a file for a name of an image, and whether they differ.
pub(crate) fn encode(name: &[u8]) -> (Vec<u16>, bool) {
    let mut wide: Vec<u16> = Vec::with_capacity(name.len());
    let mut differs = false;
    for chunk in name.utf8_chunks() {
        for unit in chunk.valid().encode_utf16() {
            let is_refused = is_refused(unit);
            differs |= is_refused;
            wide.push(if is_refused { PRIVATE + unit } else { unit });
        }
        differs |= !chunk.invalid().is_empty();
        wide.extend(
            chunk
                .invalid()
                .iter()
                .map(|&byte| PRIVATE + u16::from(byte)),
        );
    }
    let is_device = is_device(name);
    if let Some(first) = wide.first_mut().filter(|_| is_device) {
        *first += PRIVATE;
        differs = true;
    }
    // dots and spaces at the end are dropped by the system
    if let Some(last) = wide.last_mut().filter(|last| [0x2E, 0x20].contains(*last)) {
        *last += PRIVATE;
        differs = true;
    }
    (wide, differs)
}

/// Returns the name in an image for the name of a file. Surrogates without their pairs become three
/// bytes each (WTF-8).
#[cfg_attr(not(windows), allow(dead_code, reason = "tested everywhere"))]
pub(crate) fn decode(name: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    for found in char::decode_utf16(name.iter().copied()) {
        match found {
            Ok(char) => match u8::try_from(u32::from(char).wrapping_sub(PRIVATE.into())) {
                Ok(byte) if byte != 0 => bytes.push(byte),
                _ => bytes.extend(char.encode_utf8(&mut [0; 4]).as_bytes()),
            },
            Err(error) => bytes.extend(wtf8(error.unpaired_surrogate())),
        }
    }
    bytes
}

/// Returns the three bytes of a surrogate.
pub(crate) fn wtf8(surrogate: u16) -> [u8; 3] {
    let [high, low] = surrogate.to_be_bytes();
    [
        0xE0 | high >> 4,
        0x80 | (high & 0xF) << 2 | low >> 6,
        0x80 | low & 0x3F,
    ]
}

fn is_refused(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte < 0x20 || b"\"*:<>?|\\".contains(&byte))
}

fn is_device(name: &[u8]) -> bool {
    let stem = name.split(|&byte| byte == b'.' || byte == b':').next();
    let Some(Ok(stem)) = stem.map(std::str::from_utf8) else {
        return false;
    };
    let stem = stem.trim_end_matches(' ');
    if DEVICES
        .iter()
        .any(|device| device.eq_ignore_ascii_case(stem))
    {
        return true;
    }
    // serial and parallel ports, whose numbers may be superscripts
    let mut chars = stem.chars().rev();
    let is_port = chars
        .next()
        .is_some_and(|last| last.is_ascii_digit() || "\u{b9}\u{b2}\u{b3}".contains(last));
    let rest: String = chars.rev().collect();
    is_port
        && ["COM", "LPT"]
            .iter()
            .any(|port| port.eq_ignore_ascii_case(&rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &[u8]) -> String {
        String::from_utf16(&encode(name).0).unwrap()
    }

    #[test]
    fn names_that_windows_refuses_round_trip() {
        for (name, file) in [
            (&b"plain.txt"[..], "plain.txt"),
            ("gr\u{fc}n".as_bytes(), "gr\u{fc}n"),
            (b"a:b", "a\u{f03a}b"),
            (
                b"a\\b\"*<>?|",
                "a\u{f05c}b\u{f022}\u{f02a}\u{f03c}\u{f03e}\u{f03f}\u{f07c}",
            ),
            (b"end.", "end\u{f02e}"),
            (b"end ", "end\u{f020}"),
            (b"...", "..\u{f02e}"),
            (b"\x01\x1f", "\u{f001}\u{f01f}"),
            (b"caf\xe9", "caf\u{f0e9}"),
            (b"NUL", "\u{f04e}UL"),
            (b"con.txt", "\u{f063}on.txt"),
            (b"aux .c", "\u{f061}ux .c"),
            (b"Com1", "\u{f043}om1"),
            ("lpt\u{b2}.x".as_bytes(), "\u{f06c}pt\u{b2}.x"),
            (b"COM10", "COM10"),
            (b"console", "console"),
            (b"COM", "COM"),
            (b".nul", ".nul"),
        ] {
            assert_eq!(shown(name), file);
            let wide: Vec<u16> = file.encode_utf16().collect();
            assert_eq!(decode(&wide), name);
            assert_eq!(encode(name).1, name != file.as_bytes());
        }
    }

    #[test]
    fn unpaired_surrogates_are_three_bytes() {
        assert_eq!(decode(&[0x61, 0xD800]), b"a\xed\xa0\x80");
        assert_eq!(decode(&[0xD83D, 0xDE00]), "\u{1f600}".as_bytes());
    }
}
