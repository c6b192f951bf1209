//! The XML data: names of images.
//!
//! In: UTF-16 text. Out: the text, and the name of each image.
//!
//! **Invariant:** text that is no XML has no names, which is not an error: nothing but names comes
//! from it.

use std::collections::BTreeMap;

/// Decodes the text, without its byte order mark.
pub(super) fn decode(bytes: &[u8]) -> String {
    let (units, _) = bytes.as_chunks::<2>();
    let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
    let text: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.trim_start_matches('\u{feff}').to_owned()
}

/// Returns the names of images by their numbers.
pub(super) fn names(text: &str) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    for image in text.split("<IMAGE").skip(1) {
        let image = image.split("</IMAGE").next().unwrap_or_default();
        let (attributes, content) = image.split_once('>').unwrap_or_default();
        let index = between(attributes, "INDEX=\"", "\"").and_then(|index| index.parse().ok());
        let name = between(content, "<NAME>", "</NAME>");
        if let (Some(index), Some(name)) = (index, name) {
            names.entry(index).or_insert_with(|| unescape(name));
        }
    }
    names
}

/// Returns the text of an element of an image, the first one of that name.
pub(super) fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(found, _)| found)
}

fn unescape(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(';').unwrap_or((part, ""));
        match character(name) {
            Some(character) => {
                plain.push(character);
                plain.push_str(rest);
            }
            None => {
                plain.push('&');
                plain.push_str(part);
            }
        }
    }
    plain
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images() {
        let text = "<WIM><IMAGE INDEX=\"2\"><NAME>a &amp; b&#x21;</NAME></IMAGE>\
                    <IMAGE INDEX=\"1\"><DIRCOUNT>1</DIRCOUNT></IMAGE></WIM>";
        let found = names(text);
        assert_eq!(found.get(&2).map(String::as_str), Some("a & b!"));
        assert_eq!(found.len(), 1);
        assert!(names("<IMAGE<IMAGE INDEX=\"x\"><NAME>").is_empty());
    }
}
