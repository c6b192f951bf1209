//! Values as other programs write them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use sinterfs::{Error, Result};

/// Reads a number of bytes: digits, and k, m or g, with or without `b` or `bytes`, for 1024 and its powers.
pub(super) fn bytes(spelled: &str, text: &str) -> Result<u64> {
    let wrong = || Error::invalid(format!("{spelled}: `{text}` is no number of bytes"));
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("bytes").unwrap_or(&unit);
    let shift = match unit.strip_suffix('b').unwrap_or(unit) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// Reads a number that fits into 32 bits, as those of owners do.
pub(super) fn number<'a>(spelled: &str, text: &'a str) -> Result<&'a str> {
    let wrong = || {
        let what = format!("{spelled}: `{text}` is no number, and names are not looked up");
        Error::unsupported(what)
    };
    text.parse::<u32>().map(|_| text).map_err(|_| wrong())
}

/// Reads a time: seconds since 1970, or `now`.
pub(super) fn time<'a>(spelled: &str, text: &'a str) -> Result<&'a str> {
    if text == "now" || text.parse::<u64>().is_ok() {
        return Ok(text);
    }
    Err(Error::unsupported(format!(
        "{spelled}: `{text}` is neither seconds since 1970 nor `now`; `date +%s -d TIME` tells these"
    )))
}

/// Makes the pattern of a path below the source and of nothing else.
pub(super) fn literal(path: &[u8]) -> Vec<u8> {
    let mut pattern = Vec::from(b"/");
    for &byte in path {
        if b"\\*?[]{}!".contains(&byte) {
            pattern.push(b'\\');
        }
        pattern.push(byte);
    }
    pattern
}

/// Returns a path as it is below the source.
pub(super) fn below(source: &Path, path: &OsStr) -> Result<Vec<u8>> {
    let whole = |path: &Path| {
        std::path::absolute(path).map_err(|error| Error::io("no path", error).path(path))
    };
    let (from, to) = (whole(source)?, whole(Path::new(path))?);
    let below = to.strip_prefix(&from).ok();
    let below = below.map(|path| path.as_os_str().as_bytes().to_vec());
    below.filter(|path| !path.is_empty()).ok_or_else(|| {
        Error::invalid(format!(
            "{} is not below {}: only what is there can be left out",
            Path::new(path).display(),
            source.display()
        ))
    })
}

/// Makes text of bytes as the system has them.
pub(super) fn system(bytes: Vec<u8>) -> OsString {
    OsString::from_vec(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, expected) in [
            ("4096", 4096),
            ("128K", 131_072),
            ("1M", 1 << 20),
            ("64kb", 65_536),
            ("1Mbytes", 1 << 20),
            ("2G", 2 << 30),
        ] {
            assert_eq!(bytes("-b", text).unwrap(), expected, "{text}");
        }
        for wrong in ["", "K", "1x", "-1", "99999999999G", "1.5M"] {
            assert!(bytes("-b", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn patterns_of_paths() {
        assert_eq!(literal(b"a*b/[c]"), b"/a\\*b/\\[c\\]");
        let source = Path::new("/src");
        assert_eq!(below(source, OsStr::new("/src/a/b")).unwrap(), b"a/b");
        for wrong in ["/src", "/srcs/a", "/other"] {
            assert!(below(source, OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }
}
