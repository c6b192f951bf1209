//! PAX records: `LENGTH KEY=VALUE\n`, where the length counts all of it.
//!
//! **Invariant:** records are in the order in which they are added, but for the word on the
//! charset, which comes first. Spec: POSIX.1-2024 pax, "pax Extended Header".

/// The records of one member.
#[derive(Debug, Default)]
pub(super) struct Records {
    bytes: Vec<u8>,
    /// Whether names are raw bytes, of no character set.
    binary: bool,
}

impl Records {
    /// Adds a record.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        append(&mut self.bytes, key, value);
    }

    /// Adds a record whose value is a name.
    pub(super) fn text(&mut self, key: &[u8], value: &[u8]) {
        self.binary |= !value.is_ascii();
        self.add(key, value);
    }

    /// Adds a record for an extended attribute.
    pub(super) fn xattr(&mut self, name: &[u8], value: &[u8]) {
        let key = [b"SCHILY.xattr.".as_slice(), &escaped(name)].concat();
        self.add(&key, value);
    }

    /// Returns all records; none if there are none.
    pub(super) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.binary {
            append(&mut bytes, b"hdrcharset", b"BINARY");
        }
        bytes.extend_from_slice(&self.bytes);
        bytes
    }
}

fn append(bytes: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    // a space, an equals sign and a line feed
    let rest = key.len() + value.len() + 3;
    let mut len = rest;
    while rest + len.to_string().len() != len {
        len = rest + len.to_string().len();
    }
    bytes.extend_from_slice(format!("{len} ").as_bytes());
    bytes.extend_from_slice(key);
    bytes.push(b'=');
    bytes.extend_from_slice(value);
    bytes.push(b'\n');
}

/// Escapes the name of an attribute as GNU tar does, if it has to be: an equals sign would end the
/// key. Other names stay as they are, since bsdtar knows no escapes.
fn escaped(name: &[u8]) -> Vec<u8> {
    let escape = |&byte: &u8| match byte {
        b'%' => b"%25".to_vec(),
        b'=' => b"%3D".to_vec(),
        byte => vec![byte],
    };
    let looks_escaped = |three: &[u8]| three == b"%3D" || three == b"%25";
    if name.contains(&b'=') || name.windows(3).any(looks_escaped) {
        name.iter().flat_map(escape).collect()
    } else {
        name.to_vec()
    }
}

/// Makes the name under which readers without PAX support see the records: the end of the path, in
/// ASCII.
pub(super) fn placeholder(path: &[u8]) -> Vec<u8> {
    named(b"PaxHeaders/", path)
}

/// Makes a name in a separate directory from the end of a path.
pub(super) fn named(dir: &[u8], path: &[u8]) -> Vec<u8> {
    const END: usize = 80;
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or_default();
    let from = name.len().saturating_sub(END);
    let plain = |&byte: &u8| if byte.is_ascii_graphic() { byte } else { b'_' };
    let end = name.iter().skip(from).map(plain);
    dir.iter().copied().chain(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut records = Records::default();
        records.add(key, value);
        records.bytes()
    }

    #[test]
    fn the_length_counts_itself() {
        assert_eq!(one(b"mtime", b"1.5"), b"13 mtime=1.5\n");
        // one digit more makes the length one digit longer
        assert_eq!(one(b"k", b"123"), b"8 k=123\n");
        assert_eq!(one(b"k", b"12345"), b"11 k=12345\n");
        // with two digits it would be 100 bytes long, which has three
        let (long, longer) = (one(b"k", &[b'v'; 93]), one(b"k", &[b'v'; 94]));
        assert!(long.starts_with(b"99 k=") && longer.starts_with(b"101 k="));
        for record in [long, longer] {
            let text = String::from_utf8(record).unwrap();
            let len: usize = text.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(len, text.len());
        }
    }

    #[test]
    fn names_outside_ascii_get_a_charset_record_first() {
        let mut records = Records::default();
        records.add(b"uid", b"4000000");
        records.text(b"path", b"\xff");
        let expected = b"21 hdrcharset=BINARY\n15 uid=4000000\n9 path=\xff\n";
        assert_eq!(records.bytes(), expected);
    }

    #[test]
    fn only_names_that_would_be_misread_are_escaped() {
        for (name, key) in [
            ("user.plain", "user.plain"),
            ("user.100%", "user.100%"),
            ("user.a=b%", "user.a%3Db%25"),
            ("user.%3D", "user.%253D"),
        ] {
            assert_eq!(escaped(name.as_bytes()), key.as_bytes());
        }
    }
}
