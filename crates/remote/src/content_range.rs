//! Which bytes of an object an answer has.
//!
//! In: `Content-Range`. Out: the first and the last byte, and the length of the object if the
//! server knows it. **Invariant:** the bytes are within that length. Spec: RFC 9110, section 14.4.

use http::{HeaderMap, header};

/// The part of an object that an answer has. It may be shorter than requested (RFC 9110, section
/// 15.3.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContentRange {
    pub(crate) first: u64,
    pub(crate) last: u64,
    /// The length of the object in bytes; `None` if the server does not know it (`*`).
    pub(crate) total: Option<u64>,
}

impl ContentRange {
    /// Reads the header of an answer; `None` if it is missing, twice there, or unsound.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut all = headers.get_all(header::CONTENT_RANGE).iter();
        let (only, more) = (all.next()?, all.next());
        more.is_none().then(|| Self::parse(only.to_str().ok()?))?
    }

    fn parse(text: &str) -> Option<Self> {
        let (unit, rest) = text.trim().split_once(' ')?;
        let (range, total) = rest.trim().split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().ok())?
        };
        let (first, last) = (number(first)?, number(last)?);
        let total = match total {
            "*" => None,
            total => Some(number(total)?),
        };
        let is_sound = first <= last && last < total.unwrap_or(u64::MAX);
        (unit.eq_ignore_ascii_case("bytes") && is_sound).then_some(Self { first, last, total })
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u64 {
        self.last.saturating_sub(self.first).saturating_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_or_refused() {
        let found = |first, last, total| Some(ContentRange { first, last, total });
        for (text, expected) in [
            ("bytes 0-9/10", found(0, 9, Some(10))),
            ("Bytes  3-3/*", found(3, 3, None)),
            ("bytes 0-10/10", None),
            ("bytes 9-2/10", None),
            ("bytes */10", None),
            ("bytes +1-2/10", None),
            ("bytes 0-18446744073709551615/*", None),
            ("bytes 0-1/", None),
            ("bytes", None),
            ("items 0-9/10", None),
        ] {
            assert_eq!(ContentRange::parse(text), expected, "{text}");
        }
        let mut headers = HeaderMap::new();
        headers.append(header::CONTENT_RANGE, "bytes 0-9/10".parse().unwrap());
        assert_eq!(ContentRange::of(&headers).unwrap().len(), 10);
        headers.append(header::CONTENT_RANGE, "bytes 0-8/10".parse().unwrap());
        assert_eq!(ContentRange::of(&headers), None);
    }
}
