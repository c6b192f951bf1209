//! The XML data of a file with one image.
//!
//! In: the name and the counts of the image. Out: UTF-16 with a byte order mark.

/// The facts about an image in the XML data.
#[derive(Debug)]
pub(super) struct ImageFacts<'a> {
    pub(super) name: &'a str,
    pub(super) directories: u64,
    pub(super) files: u64,
    /// Bytes of all files, hard links each time.
    pub(super) bytes: u64,
    /// Bytes of hard links beyond the first.
    pub(super) link_bytes: u64,
    /// The time of creation, in units of 100 ns since 1601.
    pub(super) created: u64,
    /// Bytes of the file before the XML data.
    pub(super) file_bytes: u64,
}

/// Makes the XML data.
pub(super) fn make(facts: &ImageFacts<'_>) -> Vec<u8> {
    let name = match facts.name {
        "" => String::new(),
        name => format!("<NAME>{}</NAME>", escape(name)),
    };
    let (high, low) = (facts.created >> 32, facts.created & 0xffff_ffff);
    let time = format!("<HIGHPART>0x{high:08X}</HIGHPART><LOWPART>0x{low:08X}</LOWPART>");
    let ImageFacts {
        directories,
        files,
        bytes,
        link_bytes,
        file_bytes,
        ..
    } = facts;
    let text = format!(
        "\u{feff}<WIM><IMAGE INDEX=\"1\">{name}<DIRCOUNT>{directories}</DIRCOUNT>\
         <FILECOUNT>{files}</FILECOUNT><TOTALBYTES>{bytes}</TOTALBYTES>\
         <HARDLINKBYTES>{link_bytes}</HARDLINKBYTES><CREATIONTIME>{time}</CREATIONTIME>\
         <LASTMODIFICATIONTIME>{time}</LASTMODIFICATIONTIME></IMAGE>\
         <TOTALBYTES>{file_bytes}</TOTALBYTES></WIM>"
    );
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // XML has no others below the space
            '\0'..=' ' if !matches!(character, ' ' | '\t' | '\n' | '\r') => {
                escaped.push('\u{fffd}');
            }
            _ => escaped.push(character),
        }
    }
    escaped
}
