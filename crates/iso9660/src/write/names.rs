//! Identifiers of ISO 9660 and of Joliet for names of files.
//!
//! In: names of a directory. Out: identifiers, unique in the directory.
//!
//! **Invariant:** an identifier depends only on the names of its directory and their order.
//! ECMA-119, section 7.5; Joliet, "Character set".

use std::collections::{HashMap, HashSet};

use super::level::InterchangeLevel;

/// The most bytes of a name and of its extension at level 1.
const SHORT_MAX: [usize; 2] = [8, 3];

/// The most bytes of a name and its extension together.
const PLAIN_MAX: usize = 30;

/// The most bytes of a name of ISO 9660:1999 that leave room for where Rock Ridge continues.
const ENHANCED_MAX: usize = 193;

/// The most characters of a Joliet name.
const JOLIET_MAX: usize = 64;

/// The most that programs agree on instead, by which a record stays below 255 bytes.
const JOLIET_LONG_MAX: usize = 103;

/// Which identifiers are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identifiers {
    /// Capital letters, digits and underscores; 8 characters and 3 of an extension.
    Short,
    /// The same; up to 31 characters.
    Plain,
    /// The names as they are; up to 193 bytes.
    Enhanced,
    /// UCS-2, big-endian.
    Joliet {
        /// Whether names may be longer than Joliet says.
        is_long: bool,
    },
}

impl Identifiers {
    /// Returns the identifiers of the primary tree.
    pub(super) fn of(level: InterchangeLevel) -> Self {
        match level {
            InterchangeLevel::One => Self::Short,
            InterchangeLevel::Two | InterchangeLevel::Three => Self::Plain,
            InterchangeLevel::Four => Self::Enhanced,
        }
    }

    /// Returns whether these are identifiers of the primary tree, not of Joliet.
    pub(super) fn is_primary(self) -> bool {
        !matches!(self, Self::Joliet { .. })
    }

    /// Returns whether identifiers of files have a version, and a dot in any case.
    fn is_plain(self) -> bool {
        matches!(self, Self::Short | Self::Plain)
    }

    /// Returns the most characters of a name with an extension of a length.
    fn room(self, extension: usize) -> usize {
        let dot = usize::from(!self.is_plain() && extension > 0);
        let most = match self {
            Self::Short => return SHORT_MAX[0],
            Self::Plain => PLAIN_MAX,
            Self::Enhanced => ENHANCED_MAX,
            Self::Joliet { is_long: false } => JOLIET_MAX,
            Self::Joliet { is_long: true } => JOLIET_LONG_MAX,
        };
        most.saturating_sub(extension + dot)
    }

    fn parts(self, name: &[u8], is_directory: bool) -> (Vec<u16>, Vec<u16>) {
        match self {
            Self::Short => {
                let (stem, mut extension) = plain_parts(name, is_directory, usize::MAX);
                extension.truncate(SHORT_MAX[1]);
                (stem, extension)
            }
            Self::Plain => plain_parts(name, is_directory, 8),
            Self::Enhanced => enhanced_parts(name, is_directory),
            Self::Joliet { .. } => joliet_parts(name, is_directory),
        }
    }

    /// Returns how much of a name is taken: half of a character means nothing.
    fn cut(self, stem: &[u16], room: usize) -> &[u16] {
        let end = room.min(stem.len());
        let later = match self {
            Self::Short | Self::Plain => 0..0,
            Self::Enhanced => 0x80..0xc0,
            Self::Joliet { .. } => 0xdc00..0xe000,
        };
        let is_cut = |end: usize| stem.get(end).is_some_and(|unit| later.contains(unit));
        // what is no UTF-8 is cut anywhere
        let mut ends = (end.saturating_sub(3)..=end).rev();
        let end = ends.find(|end| !is_cut(*end)).unwrap_or(end);
        stem.get(..end).unwrap_or_default()
    }
}

/// Makes the identifiers of one directory.
#[derive(Debug)]
pub(super) struct IdentifierMaker {
    kind: Identifiers,
    taken: HashSet<Vec<u16>>,
    /// The numbers below which all are taken, by what is numbered: its name as far as it is taken,
    /// and its extension.
    numbers: HashMap<(Vec<u16>, Vec<u16>), u64>,
}

impl IdentifierMaker {
    pub(super) fn new(kind: Identifiers) -> Self {
        Self {
            kind,
            taken: HashSet::new(),
            numbers: HashMap::new(),
        }
    }

    /// Makes the identifier of a name.
    pub(super) fn identifier(&mut self, name: &[u8], is_directory: bool) -> Vec<u8> {
        let (stem, extension) = self.kind.parts(name, is_directory);
        let room = self.kind.room(extension.len());
        let mut unique = self.kind.cut(&stem, room).to_vec();
        self.end(&mut unique, &extension, is_directory);
        if !self.taken.insert(unique.clone()) {
            unique = self.numbered(&stem, &extension, is_directory);
        }
        self.encode(&unique, is_directory)
    }

    /// Returns a name with the first number that makes it unique.
    fn numbered(&mut self, stem: &[u16], extension: &[u16], is_directory: bool) -> Vec<u16> {
        let kind = self.kind;
        let room = kind.room(extension.len());
        let (mut first, mut digits) = (1_u64, 1_usize);
        loop {
            let start = kind.cut(stem, room.saturating_sub(digits)).to_vec();
            let end = first.saturating_mul(10);
            let key = (start.clone(), extension.to_vec());
            let mut number = self.numbers.get(&key).copied().unwrap_or(first).max(first);
            while number < end {
                let mut unique = start.clone();
                unique.extend(number.to_string().encode_utf16());
                self.end(&mut unique, extension, is_directory);
                number += 1;
                if self.taken.insert(unique.clone()) {
                    self.numbers.insert(key, number);
                    return unique;
                }
            }
            self.numbers.insert(key, number);
            (first, digits) = (end, digits + 1);
        }
    }

    /// Adds dot and extension.
    fn end(&self, unique: &mut Vec<u16>, extension: &[u16], is_directory: bool) {
        if !extension.is_empty() || (self.kind.is_plain() && !is_directory) {
            unique.push(u16::from(b'.'));
        }
        unique.extend(extension);
    }

    fn encode(&self, units: &[u16], is_directory: bool) -> Vec<u8> {
        let has_version = !is_directory && self.kind != Identifiers::Enhanced;
        let version = if has_version { ";1" } else { "" };
        let units = units.iter().copied().chain(version.encode_utf16());
        if self.kind.is_primary() {
            units
                .map(|unit| u8::try_from(unit).unwrap_or(b'_'))
                .collect()
        } else {
            units.flat_map(u16::to_be_bytes).collect()
        }
    }
}

/// Returns whether an identifier of Joliet is the whole name, with the version of a file.
pub(super) fn is_whole(identifier: &[u8], name: &[u8], is_directory: bool) -> bool {
    let version = if is_directory { "" } else { ";1" };
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    let units = name.encode_utf16().chain(version.encode_utf16());
    units
        .flat_map(u16::to_be_bytes)
        .eq(identifier.iter().copied())
}

fn split(name: &[u8], is_directory: bool) -> (&[u8], &[u8]) {
    let dot = name.iter().rposition(|byte| *byte == b'.');
    match dot.filter(|at| *at > 0 && !is_directory) {
        Some(at) => {
            let (stem, extension) = name.split_at(at);
            (stem, extension.get(1..).unwrap_or_default())
        }
        None => (name, b""),
    }
}

fn plain_parts(name: &[u8], is_directory: bool, longest: usize) -> (Vec<u16>, Vec<u16>) {
    let allowed = |byte: &u8| match byte.to_ascii_uppercase() {
        byte @ (b'A'..=b'Z' | b'0'..=b'9' | b'_') => u16::from(byte),
        _ => u16::from(b'_'),
    };
    let (stem, extension) = split(name, is_directory);
    // what is long is no extension
    let (stem, extension) = if extension.len() > longest {
        (name, &b""[..])
    } else {
        (stem, extension)
    };
    (
        stem.iter().map(allowed).collect(),
        extension.iter().map(allowed).collect(),
    )
}

fn enhanced_parts(name: &[u8], is_directory: bool) -> (Vec<u16>, Vec<u16>) {
    let units = |bytes: &[u8]| -> Vec<u16> {
        let allowed = |byte: &u8| if *byte < b' ' { b'_' } else { *byte };
        bytes.iter().map(|byte| u16::from(allowed(byte))).collect()
    };
    let (stem, extension) = split(name, is_directory);
    if extension.len() > 16 {
        return (units(name), Vec::new());
    }
    (units(stem), units(extension))
}

fn joliet_parts(name: &[u8], is_directory: bool) -> (Vec<u16>, Vec<u16>) {
    let units = |bytes: &[u8]| -> Vec<u16> {
        let text = String::from_utf8_lossy(bytes);
        let allowed = |character: char| match character {
            '*' | '/' | ':' | ';' | '?' | '\\' | '\u{fffd}' | '\0'..='\x1f' => '_',
            other => other,
        };
        text.chars()
            .map(allowed)
            .collect::<String>()
            .encode_utf16()
            .collect()
    };
    let (stem, extension) = split(name, is_directory);
    let (stem, extension) = if extension.len() > 16 {
        (name, &b""[..])
    } else {
        (stem, extension)
    };
    (units(stem), units(extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(names: &[&str]) -> Vec<String> {
        let mut maker = IdentifierMaker::new(Identifiers::Plain);
        let made = names
            .iter()
            .map(|name| maker.identifier(name.as_bytes(), false));
        made.map(|bytes| String::from_utf8(bytes).unwrap())
            .collect()
    }

    #[test]
    fn plain_identifiers_are_unique() {
        assert_eq!(
            plain(&["readme.txt", "README.TXT", "a", ".bashrc", "x.tar.gz", "ü"]),
            [
                "README.TXT;1",
                "README1.TXT;1",
                "A.;1",
                "_BASHRC.;1",
                "X_TAR.GZ;1",
                "__.;1"
            ]
        );
        let long = "l".repeat(255);
        let made = plain(&[&long, &long]);
        assert_eq!(made[0].len(), PLAIN_MAX + 3);
        assert!(made[0] != made[1] && made[1].ends_with("1.;1"));
        let mut maker = IdentifierMaker::new(Identifiers::Plain);
        assert_eq!(maker.identifier(b"a.d", true), b"A_D");
        for _ in 0..1000 {
            assert!(maker.identifier(&[b'x'; 40], false).len() <= PLAIN_MAX + 3);
        }
    }

    #[test]
    fn levels_have_names_of_their_own() {
        let made = |kind, names: &[&str]| {
            let mut maker = IdentifierMaker::new(kind);
            let made = names
                .iter()
                .map(|name| maker.identifier(name.as_bytes(), false));
            made.map(|bytes| String::from_utf8(bytes).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            made(
                Identifiers::Short,
                &[
                    "index.html",
                    "index.htmx",
                    "indexindex.html",
                    "noextension",
                    ".a",
                    "x.tar.gz"
                ]
            ),
            [
                "INDEX.HTM;1",
                "INDEX1.HTM;1",
                "INDEXIND.HTM;1",
                "NOEXTENS.;1",
                "_A.;1",
                "X_TAR.GZ;1"
            ]
        );
        let long = ["ü".repeat(100), "ü".repeat(101)];
        let long = long.each_ref().map(String::as_str);
        assert_eq!(
            made(
                Identifiers::Enhanced,
                &["Grün;1.txt", "a b", "a\tb", long[0], long[1]]
            ),
            [
                "Grün;1.txt",
                "a b",
                "a_b",
                &"ü".repeat(96),
                &format!("{}1", "ü".repeat(96))
            ]
        );
        let mut maker = IdentifierMaker::new(Identifiers::Enhanced);
        assert_eq!(maker.identifier(&[0x80; 255], false), [0x80; 193]);
    }

    #[test]
    fn many_names_that_begin_alike_are_numbered_at_once() {
        let mut maker = IdentifierMaker::new(Identifiers::Short);
        let mut found = HashSet::new();
        for number in 0..120_000 {
            let name = format!("a very long name {number}.txt");
            let made = maker.identifier(name.as_bytes(), false);
            assert!(made.len() <= 14 && found.insert(made));
        }
        assert!(found.contains(&b"A_V99999.TXT;1"[..]));
    }

    #[test]
    fn joliet_identifiers_keep_letters() {
        let mut maker = IdentifierMaker::new(Identifiers::Joliet { is_long: false });
        let mut made = |name: &str| {
            let bytes = maker.identifier(name.as_bytes(), false);
            let units: Vec<u16> = bytes
                .chunks(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
                .collect();
            String::from_utf16(&units).unwrap()
        };
        assert_eq!(made("Grün:1.txt"), "Grün_1.txt;1");
        assert_eq!(made("Grün;1.txt"), "Grün_11.txt;1");
        let long = made(&"𝄞".repeat(40));
        assert_eq!(long, format!("{};1", "𝄞".repeat(32)));
        assert_eq!(made(&"𝄞".repeat(40)), format!("{}1;1", "𝄞".repeat(31)));
    }
}
