//! Identifiers of ISO 9660 and of Joliet for names of files.
//!
//! In: names of a directory. Out: identifiers, unique in the directory.
//!
//! **Invariant:** an identifier depends on the names of its directory and their order alone.
//! ECMA-119, section 7.5; Joliet, "Character set".

use std::collections::HashSet;

/// The most bytes of a name and its extension together.
const PLAIN_MAX: usize = 30;

/// The most characters of a Joliet name.
const JOLIET_MAX: usize = 64;

/// The most that programs agree on instead, by which a record stays below 255 bytes.
const JOLIET_LONG_MAX: usize = 103;

/// Which identifiers are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Identifiers {
    /// Capital letters, digits and underscores; up to 31 characters.
    Plain,
    /// UCS-2, big-endian.
    Joliet {
        /// Whether names may be longer than Joliet says.
        is_long: bool,
    },
}

impl Identifiers {
    /// Returns the most characters of an identifier without version and dot of its own.
    fn most(self) -> usize {
        match self {
            Self::Plain => PLAIN_MAX,
            Self::Joliet { is_long: false } => JOLIET_MAX,
            Self::Joliet { is_long: true } => JOLIET_LONG_MAX,
        }
    }
}

/// Makes the identifiers of one directory.
#[derive(Debug)]
pub(super) struct IdentifierMaker {
    kind: Identifiers,
    taken: HashSet<Vec<u16>>,
}

impl IdentifierMaker {
    pub(super) fn new(kind: Identifiers) -> Self {
        Self {
            kind,
            taken: HashSet::new(),
        }
    }

    /// Makes the identifier of a name.
    pub(super) fn identifier(&mut self, name: &[u8], is_directory: bool) -> Vec<u8> {
        let (stem, extension) = match self.kind {
            Identifiers::Plain => plain_parts(name, is_directory),
            Identifiers::Joliet { .. } => joliet_parts(name, is_directory),
        };
        let most = self.kind.most();
        let mut number = 0u64;
        loop {
            let suffix: Vec<u16> = match number {
                0 => Vec::new(),
                number => number.to_string().encode_utf16().collect(),
            };
            let dot = usize::from(self.kind != Identifiers::Plain && !extension.is_empty());
            let room = most.saturating_sub(extension.len() + dot + suffix.len());
            let mut unique = stem
                .get(..room.min(stem.len()))
                .unwrap_or_default()
                .to_vec();
            // half of a pair means nothing
            unique.pop_if(|unit| (0xd800..0xdc00).contains(unit));
            unique.extend(&suffix);
            let has_dot =
                !extension.is_empty() || (self.kind == Identifiers::Plain && !is_directory);
            if has_dot {
                unique.push(u16::from(b'.'));
            }
            unique.extend(&extension);
            if self.taken.insert(unique.clone()) {
                return self.encode(&unique, is_directory);
            }
            number += 1;
        }
    }

    fn encode(&self, units: &[u16], is_directory: bool) -> Vec<u8> {
        let version = if is_directory { "" } else { ";1" };
        let units = units.iter().copied().chain(version.encode_utf16());
        match self.kind {
            Identifiers::Plain => units
                .map(|unit| u8::try_from(unit).unwrap_or(b'_'))
                .collect(),
            Identifiers::Joliet { .. } => units.flat_map(u16::to_be_bytes).collect(),
        }
    }
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

fn plain_parts(name: &[u8], is_directory: bool) -> (Vec<u16>, Vec<u16>) {
    let allowed = |byte: &u8| match byte.to_ascii_uppercase() {
        byte @ (b'A'..=b'Z' | b'0'..=b'9' | b'_') => u16::from(byte),
        _ => u16::from(b'_'),
    };
    let (stem, extension) = split(name, is_directory);
    // what is long is no extension
    let (stem, extension) = if extension.len() > 8 {
        (name, &b""[..])
    } else {
        (stem, extension)
    };
    (
        stem.iter().map(allowed).collect(),
        extension.iter().map(allowed).collect(),
    )
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
