//! Bytes as words of composefs-dump(5), and back.
//!
//! **Invariant:** a word has no space and no newline, and reading it gives the bytes that it was
//! made of.

use std::io::{self, Write};

use sinterfs_model::{Error, Result};

/// Writes bytes as a word. `special` are further characters that are escaped.
pub(super) fn write_escaped(bytes: &[u8], special: &[u8], out: &mut dyn Write) -> io::Result<()> {
    for &byte in bytes {
        match byte {
            b'\\' => out.write_all(b"\\\\")?,
            b'\n' => out.write_all(b"\\n")?,
            b'\r' => out.write_all(b"\\r")?,
            b'\t' => out.write_all(b"\\t")?,
            _ if byte.is_ascii_graphic() && !special.contains(&byte) => out.write_all(&[byte])?,
            _ => write!(out, "\\x{byte:02x}")?,
        }
    }
    Ok(())
}

/// Writes an optional field: `-` if absent; a value that reads the same is escaped.
pub(super) fn write_optional(bytes: Option<&[u8]>, out: &mut dyn Write) -> io::Result<()> {
    match bytes {
        None => out.write_all(b"-"),
        Some(b"-") => out.write_all(b"\\x2d"),
        Some(bytes) => write_escaped(bytes, b"", out),
    }
}

/// Reads a word.
pub(super) fn unescape(word: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.iter();
    while let Some(&byte) = rest.next() {
        bytes.push(match byte {
            b'\\' => escape(&mut rest)?,
            _ => byte,
        });
    }
    Ok(bytes)
}

/// Decodes the characters after a backslash.
fn escape(rest: &mut std::slice::Iter<'_, u8>) -> Result<u8> {
    let digit = |digit: Option<&u8>| {
        let value = digit.and_then(|&digit| char::from(digit).to_digit(16));
        let value = value.and_then(|value| u8::try_from(value).ok());
        value.ok_or_else(|| Error::invalid("\\x needs two hexadecimal digits"))
    };
    Ok(match rest.next() {
        Some(b'\\') => b'\\',
        Some(b'n') => b'\n',
        Some(b'r') => b'\r',
        Some(b't') => b'\t',
        Some(b'x') => {
            let (high, low) = (digit(rest.next())?, digit(rest.next())?);
            high << 4 | low
        }
        Some(other) => {
            let other = other.escape_ascii();
            return Err(Error::invalid(format!("unknown escape \\{other}")));
        }
        None => return Err(Error::invalid("a backslash at the end of a field")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut word = Vec::new();
        write_escaped(&bytes, b"=", &mut word).unwrap();
        assert!(word.iter().all(u8::is_ascii_graphic) && !word.contains(&b'='));
        assert_eq!(unescape(&word).unwrap(), bytes);
        let mut field = Vec::new();
        write_optional(Some(b"-"), &mut field).unwrap();
        assert_eq!(unescape(&field).unwrap(), b"-");
        assert_ne!(field, b"-");
    }

    #[test]
    fn wrong_escapes_are_errors() {
        for word in ["\\", "\\q", "\\x", "\\x1", "\\xg0", "\\x1g"] {
            assert!(unescape(word.as_bytes()).is_err(), "{word}");
        }
    }
}
