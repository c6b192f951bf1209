//! The tokens of a list: values of keywords, and names in the encoding of vis(3).
//!
//! Enters bytes; leaves numbers, times, types, names. **Invariant:** a token is parsed as a whole
//! or refused.

use std::str::FromStr;

use sinterfs_model::{Error, FileType, Rdev, Result, Time};

use super::entry::Algorithm;

/// Reads a type.
pub(super) fn kind(word: &[u8]) -> Result<FileType> {
    Ok(match word {
        b"dir" => FileType::Directory,
        b"file" => FileType::File,
        b"link" => FileType::Symlink,
        b"char" => FileType::CharDevice,
        b"block" => FileType::BlockDevice,
        b"fifo" => FileType::Fifo,
        b"socket" => FileType::Socket,
        _ => {
            let what = "there are block, char, dir, fifo, file, link and socket";
            return Err(Error::invalid(what));
        }
    })
}

/// Reads a decimal number.
pub(super) fn number<T: FromStr>(word: &[u8]) -> Result<T> {
    let text = std::str::from_utf8(word).unwrap_or_default();
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| Error::invalid(format!("`{text}` is not a number in range")))
}

/// Parses permissions; the type bits that some writers add are ignored.
pub(super) fn mode(word: &[u8]) -> Result<u16> {
    let text = std::str::from_utf8(word).unwrap_or_default();
    let octal = !text.is_empty() && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    let bits = u16::from_str_radix(text, 8).ok().filter(|_| octal);
    let wrong = || Error::invalid(format!("`{text}` is not an octal number of 16 bits"));
    Ok(bits.ok_or_else(wrong)? & 0o7777)
}

/// Parses seconds since 1970, and after a point the number of nanoseconds, not a fraction: `1.5`
/// has 5 nanoseconds.
pub(super) fn time(word: &[u8]) -> Result<Time> {
    let text = std::str::from_utf8(word).unwrap_or_default();
    let (secs, nanos) = text.split_once('.').unwrap_or((text, "0"));
    let wrong = || Error::invalid(format!("`{text}` is not a time"));
    let digits = secs.strip_prefix('-').unwrap_or(secs);
    number::<u64>(digits.as_bytes()).map_err(|_| wrong())?;
    let nanos: u32 = number(nanos.as_bytes()).map_err(|_| wrong())?;
    if nanos >= 1_000_000_000 {
        return Err(wrong());
    }
    Ok(Time {
        secs: secs.parse().map_err(|_| wrong())?,
        nanos,
    })
}

/// Parses a device number: the name of a system with major and minor, or one number in the packing
/// of Linux.
pub(super) fn rdev(word: &[u8]) -> Result<Rdev> {
    let text = std::str::from_utf8(word).unwrap_or_default();
    let parts: Vec<&str> = text.split(',').collect();
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number(text.as_bytes()).ok(),
    };
    let found = match parts[..] {
        [packed] => number(packed).map(Rdev::from_dev_t),
        [_, major, minor] => number(major).zip(number(minor)).and_then(|(major, minor)| {
            Some(Rdev {
                major: u32::try_from(major).ok()?,
                minor: u32::try_from(minor).ok()?,
            })
        }),
        _ => None,
    };
    let wrong = || {
        Error::invalid(format!(
            "`{text}` is neither SYSTEM,MAJOR,MINOR nor a number"
        ))
    };
    found.ok_or_else(wrong)
}

/// Reads hexadecimal digits.
pub(super) fn digest(algorithm: Algorithm, word: &[u8]) -> Result<Vec<u8>> {
    let len = match algorithm {
        Algorithm::Sha256 => 32,
        Algorithm::Sha384 => 48,
        Algorithm::Sha512 => 64,
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let bytes: Option<Vec<u8>> = word
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? << 4 | digit(*low)?).ok(),
            _ => None,
        })
        .collect();
    let bytes = bytes.filter(|bytes| bytes.len() == len);
    bytes.ok_or_else(|| Error::invalid(format!("no {} hexadecimal digits", 2 * len)))
}

/// Reads a name: three octal digits after a backslash, or the escapes of vis(3).
pub(super) fn escaped(word: &[u8]) -> Result<Vec<u8>> {
    let mut name = Vec::with_capacity(word.len());
    let mut rest = word;
    while let [byte, after @ ..] = rest {
        rest = after;
        if *byte != b'\\' {
            name.push(*byte);
            continue;
        }
        let (byte, after) = escape(rest).ok_or_else(|| {
            let shown = String::from_utf8_lossy(word).into_owned();
            Error::invalid(format!("an unknown escape in `{shown}`"))
        })?;
        name.push(byte);
        rest = after;
    }
    Ok(name)
}

/// Decodes the characters after a backslash.
fn escape(rest: &[u8]) -> Option<(u8, &[u8])> {
    let digits = rest.iter().take(3);
    let digits = digits
        .take_while(|byte| (b'0'..=b'7').contains(byte))
        .count();
    if digits > 0 {
        let (octal, after) = rest.split_at(digits);
        let octal = octal
            .iter()
            .fold(0_u32, |sum, digit| sum << 3 | u32::from(digit - b'0'));
        return Some((u8::try_from(octal).ok()?, after));
    }
    let (&letter, after) = rest.split_first()?;
    let byte = match letter {
        b'a' => 7,
        b'b' => 8,
        b't' => 9,
        b'n' => 10,
        b'v' => 11,
        b'f' => 12,
        b'r' => 13,
        b'E' => 27,
        b's' => b' ',
        b'^' => return control(after),
        b'M' => {
            let (&kind, after) = after.split_first()?;
            let (byte, after) = match kind {
                b'-' => after.split_first().map(|(&byte, after)| (byte, after))?,
                b'^' => control(after)?,
                _ => return None,
            };
            return Some((byte | 0x80, after));
        }
        byte if byte.is_ascii_punctuation() => byte,
        _ => return None,
    };
    Some((byte, after))
}

/// Reads the letter of a control character.
fn control(rest: &[u8]) -> Option<(u8, &[u8])> {
    let (&letter, after) = rest.split_first()?;
    match letter {
        b'?' => Some((127, after)),
        letter => Some((letter & 0x1f, after)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_vis() {
        for (word, expected) in [
            ("a\\040b", &b"a b"[..]),
            ("\\s\\n\\t\\\\\\#", b" \n\t\\#"),
            ("\\M-a\\M^A\\^A\\^?", b"\xe1\x81\x01\x7f"),
            ("\\3771", b"\xff1"),
            ("\\0a", b"\0a"),
        ] {
            assert_eq!(escaped(word.as_bytes()).unwrap(), expected, "{word}");
        }
        for wrong in ["\\", "\\q", "\\777", "\\M", "\\Mx", "\\^"] {
            assert!(escaped(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_and_devices() {
        assert_eq!(time(b"5.1").unwrap(), Time { secs: 5, nanos: 1 });
        assert_eq!(time(b"-7").unwrap(), Time { secs: -7, nanos: 0 });
        for wrong in [
            "",
            "-",
            "1.",
            ".5",
            "1.1000000000",
            "+1",
            "99999999999999999999",
        ] {
            assert!(time(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert_eq!(rdev(b"linux,1,2").unwrap(), Rdev { major: 1, minor: 2 });
        assert_eq!(rdev(b"2049").unwrap(), Rdev { major: 8, minor: 1 });
        assert_eq!(rdev(b"0x801").unwrap(), Rdev { major: 8, minor: 1 });
        for wrong in [
            "",
            "a,1,2",
            "native,1",
            "native,1,2,3",
            "native,4294967296,0",
        ] {
            assert!(
                rdev(wrong.as_bytes()).is_err() || wrong == "a,1,2",
                "{wrong}"
            );
        }
    }
}
