//! Names and messages for a terminal, with control characters and invalid UTF-8 escaped.

use std::io::Write;

use serde_json::json;
use sinterfs::build::Loss;
use sinterfs::model::escaped;
pub use sinterfs::model::{one_line, shown_name as name};
use sinterfs::{Error, Result};

use crate::{flags, messages, standard_files};

/// Shows a name or path in JSON: a backslash doubled, bytes that are not UTF-8 as `\\xNN`; what
/// JSON escapes itself is left to it. No two names look the same.
pub fn json_name(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(&chunk.valid().replace('\\', "\\\\"));
        shown.extend(chunk.invalid().iter().copied().map(escaped));
    }
    shown
}

/// Formats a number of things: `1 file`, `2 files`, `2 directories`.
pub fn count(number: u64, what: &str) -> String {
    match (number, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (_, Some(stem)) => format!("{number} {stem}ies"),
        _ => format!("{number} {what}s"),
    }
}

/// Formats the nonzero ones of several numbers, with commas.
pub fn counts(numbers: &[(u64, &str)]) -> String {
    let some = numbers.iter().filter(|(number, _)| *number > 0);
    let some: Vec<String> = some.map(|(number, what)| count(*number, what)).collect();
    if some.is_empty() {
        "nothing".to_owned()
    } else {
        some.join(", ")
    }
}

/// Prints text to standard output; fails if not all of it can be written.
pub fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

/// Prints bytes to standard output; fails if not all of them can be written.
pub fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = standard_files::output();
    out.write_all(bytes)
        .and_then(|()| out.flush())
        .map_err(|e| Error::io("cannot write to standard output", e))
}

/// Prints a warning.
pub fn warn(message: &str) {
    messages::line(format_args!("sinter: warning: {}", one_line(message)));
}

/// The most paths that are printed of one loss; JSON reports list more.
const NAMED: usize = 100;

/// Formats losses as warnings; `--quiet` suppresses only the loss of precision of times.
pub fn losses(format: &str, losses: &[Loss], quiet: bool) {
    named_losses(format, losses);
    for loss in losses.iter().filter(|loss| !(quiet && loss.is_precision())) {
        let named = flags::named(loss.to_string(), loss.settings());
        messages::line(format_args!("sinter: not kept by {format}: {named}"));
    }
}

/// Prints the path of each entry that was lost, and what is lost with it.
pub fn named_losses(format: &str, losses: &[Loss]) {
    for loss in losses {
        let what = flags::named(loss.what.to_owned(), loss.settings());
        for path in loss.paths.iter().take(NAMED) {
            messages::line(format_args!(
                "sinter: {}: not kept by {format}: {what}",
                name(path),
            ));
        }
        let named = loss.paths.len().min(NAMED) as u64;
        let more = loss.count.saturating_sub(named);
        if more > 0 && !loss.paths.is_empty() {
            messages::line(format_args!(
                "sinter: {more} further {what} (--json lists more)"
            ));
        }
    }
}

/// Returns losses as reports in JSON have them.
pub fn losses_as_json(losses: &[Loss]) -> serde_json::Value {
    let one = |loss: &Loss| {
        let mut one = json!({ "what": loss.what, "count": loss.count });
        if !loss.paths.is_empty() {
            let paths = loss.paths.iter().map(|path| json_name(path));
            one["paths"] = paths.collect::<Vec<_>>().into();
        }
        one
    };
    losses.iter().map(one).collect::<Vec<_>>().into()
}

/// Writes bytes as base64 (RFC 4648), with padding.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            // a group of n bytes has n + 1 letters
            let letter = if place <= group.len() {
                LETTERS[(bits >> (18 - 6 * place) & 63) as usize]
            } else {
                b'='
            };
            text.push(char::from(letter));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
