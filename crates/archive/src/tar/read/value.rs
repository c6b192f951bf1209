//! Words of PAX records: numbers, times, and the two escapes of names and values.
//!
//! **Invariant:** `None` for anything that is not wholly of the form.

use sinterfs_model::Time;

/// Reads a decimal number.
pub(super) fn decimal(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}

/// Reads a decimal number that is not negative.
pub(super) fn length(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    text.parse().ok()
}

/// Reads seconds with a fraction; digits beyond nanoseconds are cut off, towards the past.
pub(super) fn time(text: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let negative = whole.starts_with('-');
    let secs = match whole {
        "" | "-" => 0,
        whole => whole.parse::<i64>().ok()?,
    };
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut nanos = 0_u32;
    for place in 0..9 {
        let digit = fraction.as_bytes().get(place).map_or(0, |byte| byte - b'0');
        nanos = nanos * 10 + u32::from(digit);
    }
    let more = fraction.bytes().skip(9).any(|byte| byte != b'0');
    if !negative || (nanos == 0 && !more) {
        return Some(Time { secs, nanos });
    }
    let past = nanos + u32::from(more);
    Some(Time {
        secs: secs.checked_sub(1)?,
        nanos: 1_000_000_000 - past,
    })
}

/// Undoes `%25` and `%3D` in a name, all that GNU tar escapes.
pub(super) fn gnu_name(name: &[u8]) -> Vec<u8> {
    unescape(name, |byte| matches!(byte, b'%' | b'='))
}

/// Decodes every `%XX` of a name: libarchive escapes bytes that are not plain ASCII.
pub(super) fn url_name(name: &[u8]) -> Vec<u8> {
    unescape(name, |_| true)
}

fn unescape(name: &[u8], is_escaped: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        let byte = escaped.map(|(high, low)| high << 4 | low);
        match byte.filter(|&byte| is_escaped(byte)) {
            Some(byte) => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    out
}

fn hex(digit: u8) -> Option<u8> {
    let digit = char::from(digit).to_digit(16)?;
    u8::try_from(digit).ok()
}

/// Decodes base 64; padding may be missing, line ends are passed over.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 3);
    let (mut bits, mut count) = (0_u32, 0);
    for &byte in text {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            b'\n' | b'\r' => continue,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(six)) & 0x3fff;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count).to_le_bytes()[0]);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_fractions_on_both_sides_of_1970() {
        let at = |secs, nanos| Some(Time { secs, nanos });
        assert_eq!(time(b"12"), at(12, 0));
        assert_eq!(time(b"12.5"), at(12, 500_000_000));
        assert_eq!(time(b"12.1234567899"), at(12, 123_456_789));
        assert_eq!(time(b"-1.25"), at(-2, 750_000_000));
        assert_eq!(time(b"-0.000000001"), at(-1, 999_999_999));
        assert_eq!(time(b"-0.0000000001"), at(-1, 999_999_999));
        assert_eq!(time(b"-7.000"), at(-7, 0));
        assert_eq!(time(b"1.x"), None);
        assert_eq!(time(b"noon"), None);
        assert_eq!(time(b"-9223372036854775808.5"), None);
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(gnu_name(b"user.a%3Db%25%41"), b"user.a=b%%41");
        assert_eq!(url_name(b"user.%41%zz%4"), b"user.A%zz%4");
        assert_eq!(base64(b"aGk").unwrap(), b"hi");
        assert_eq!(base64(b"aGk=").unwrap(), b"hi");
        assert_eq!(base64(b"AP8/").unwrap(), b"\0\xff?");
        assert_eq!(base64(b"a b"), None);
    }
}
