//! Names and messages as lines of text: control characters and invalid UTF-8 are escaped.

use std::borrow::Cow;

/// Returns a name or path for people: UTF-8 unchanged, control characters and other bytes as
/// `\xNN`, a backslash doubled.
pub fn shown_name(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        if !chunk.valid().bytes().any(may_be_escaped) {
            shown.push_str(chunk.valid());
            shown.extend(chunk.invalid().iter().copied().map(escaped));
            continue;
        }
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown.push_str("\\\\"),
                '\n' => shown.push_str("\\n"),
                '\t' => shown.push_str("\\t"),
                c if c.is_control() => shown.extend(c.to_string().bytes().map(escaped)),
                c => shown.push(c),
            }
        }
        shown.extend(chunk.invalid().iter().copied().map(escaped));
    }
    shown
}

/// Returns whether a byte of UTF-8 begins a character that may need an escape: a backslash or a
/// control character, of which U+0080 to U+009F begin with `c2`.
fn may_be_escaped(byte: u8) -> bool {
    byte.is_ascii_control() || matches!(byte, b'\\' | 0xc2)
}

/// Returns a byte as `\xNN`.
pub fn escaped(byte: u8) -> String {
    format!("\\x{byte:02x}")
}

/// Returns a message on one line: white space that begins with the end of a line or with a tab
/// becomes one space, other control characters `?`.
pub fn one_line(message: &str) -> Cow<'_, str> {
    if !message.contains(char::is_control) {
        return message.into();
    }
    let lines = message.split(['\n', '\t']).map(str::trim);
    let words: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    let joined = words.join(" ");
    joined.replace(char::is_control, "?").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_line() {
        assert_eq!(one_line("a: b"), "a: b");
        assert_eq!(one_line("a:\n    b\r\n\tc\n"), "a: b c");
        assert_eq!(one_line("a\x1b[1m"), "a?[1m");
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(shown_name("Grüße".as_bytes()), "Grüße");
        assert_eq!(shown_name(b"a\nb\xff\\"), "a\\nb\\xff\\\\");
        assert_eq!(shown_name(b"\x1b[31m"), "\\x1b[31m");
    }
}
