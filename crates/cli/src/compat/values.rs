//! Parsing of values in the notation of other programs.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

pub(super) use crate::shell_pattern::literal_pattern;

/// Parses a size in bytes: digits, optionally followed by k, m or g (powers of 1024) and by `b` or
/// `bytes`. Fails if it is anything else or exceeds 64 bits; messages name `option`.
pub(super) fn bytes(option: &str, text: &str) -> Result<u64> {
    let invalid = || Error::invalid(format!("{option}: `{text}` is not a size in bytes"));
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.to_ascii_lowercase();
    let unit = unit.strip_suffix("bytes").unwrap_or(&unit);
    let shift = match unit.strip_suffix('b').unwrap_or(unit) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(invalid()),
    };
    let number: u64 = digits.parse().map_err(|_| invalid())?;
    number.checked_mul(1 << shift).ok_or_else(invalid)
}

/// Returns a share of a size in percent; fails for what is not between 1 and 100.
pub(super) fn share(option: &str, percent: &str, of: u64) -> Result<u64> {
    let percent: Option<u64> = percent.parse().ok();
    let percent = percent.filter(|percent| (1..=100).contains(percent));
    let percent = percent
        .ok_or_else(|| Error::invalid(format!("{option}: a share is a number from 1 to 100")))?;
    // never more than `of`
    Ok(u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(of))
}

/// Returns the bytes of memory of the machine.
pub(super) fn all_memory() -> Result<u64> {
    let file = "/proc/meminfo";
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| Error::io("cannot read", error).path(file))?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kilobytes = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let bytes = kilobytes.and_then(|kilobytes| kilobytes.checked_mul(1024));
    bytes.ok_or_else(|| Error::unsupported("the memory of the machine is not known").path(file))
}

/// Returns a numeric user or group ID unchanged; fails if it is not a 32-bit number.
pub(super) fn id<'a>(option: &str, text: &'a str) -> Result<&'a str> {
    let name = || {
        let what = format!("{option}: `{text}` is not a number, and names are not looked up");
        Error::unsupported(what)
    };
    text.parse::<u32>().map(|_| text).map_err(|_| name())
}

/// Returns a time as seconds since 1970, or as `now`. Other values are passed to date(1), as the
/// programs themselves do; fails if date rejects them.
pub(super) fn time(option: &str, text: &str) -> Result<String> {
    if text == "now" || text.parse::<u64>().is_ok() {
        return Ok(text.to_owned());
    }
    let mut date = Command::new("date");
    let printed = date.args(["+%s", "-d", text]).output();
    let printed = printed.ok().filter(|output| output.status.success());
    let seconds = printed.and_then(|output| String::from_utf8(output.stdout).ok());
    let seconds = seconds.and_then(|seconds| seconds.trim().parse::<u64>().ok());
    seconds.map(|seconds| seconds.to_string()).ok_or_else(|| {
        Error::invalid(format!(
            "{option}: `{text}` is neither seconds since 1970 nor a time that date(1) knows"
        ))
    })
}

/// Returns a path of the system relative to the source; fails if it is not below the source.
pub(super) fn relative_to(source: &Path, path: &OsStr) -> Result<Vec<u8>> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Error::io("cannot resolve the path", error).path(path))
    };
    let (from, to) = (absolute(source)?, absolute(Path::new(path))?);
    let below = to.strip_prefix(&from).ok();
    let below = below.map(|path| names::bytes(path).into_owned());
    below.filter(|path| !path.is_empty()).ok_or_else(|| {
        Error::invalid(format!(
            "{} is not below {}: only files of the source can be excluded",
            Path::new(path).display(),
            source.display()
        ))
    })
}

/// Returns the lines of a file that are neither empty nor comments.
pub(super) fn lines_of(file: &Path) -> Result<Vec<Vec<u8>>> {
    let text = std::fs::read(file);
    let text = text.map_err(|error| Error::io("cannot read", error).path(file))?;
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.map(<[u8]>::trim_ascii_start);
    let named = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    Ok(named.map(<[u8]>::to_vec).collect())
}

/// Returns bytes as a string of the system.
pub(super) fn os_string(bytes: Vec<u8>) -> OsString {
    names::os_string(bytes)
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
    fn shares() {
        assert_eq!(share("-Xdict-size", "100", 1 << 20).unwrap(), 1 << 20);
        assert_eq!(share("-Xdict-size", "75", 1 << 20).unwrap(), 786_432);
        assert_eq!(
            share("-mem-percent", "99", u64::MAX).unwrap(),
            18_262_276_632_972_456_098
        );
        for wrong in ["0", "101", "", "x", "-1", "1.5"] {
            assert!(share("-mem-percent", wrong, 1).is_err(), "{wrong}");
        }
        assert!(all_memory().is_ok_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn patterns_of_paths() {
        assert_eq!(literal_pattern(b"a*b/[c]"), b"/a\\*b/\\[c\\]");
        let source = Path::new("/src");
        assert_eq!(relative_to(source, OsStr::new("/src/a/b")).unwrap(), b"a/b");
        for wrong in ["/src", "/srcs/a", "/other"] {
            assert!(relative_to(source, OsStr::new(wrong)).is_err(), "{wrong}");
        }
    }
}
