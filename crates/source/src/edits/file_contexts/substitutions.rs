//! Path substitutions: FILE.subs and FILE.subs_dist of libselinux.
//!
//! Enters lines of two paths; leaves paths in which the first is replaced by the second. Sources:
//! file_contexts.subs(5), and the behaviour of libselinux (label_file.c).
//! **Invariant:** at most one substitution applies; later lines come first; a line without two
//! paths is ignored.

use std::borrow::Cow;

/// Lines of two paths.
#[derive(Debug, Clone, Default)]
pub(super) struct Substitutions {
    /// The last line first.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Substitutions {
    /// Parses the lines of a file.
    pub(super) fn parse(text: &[u8]) -> Self {
        let pair = |line: &[u8]| {
            let line = line.trim_ascii();
            let words = line.split(u8::is_ascii_whitespace);
            let mut words = words.filter(|word| !word.is_empty());
            let first = words.next().filter(|word| !word.starts_with(b"#"))?;
            Some((first.to_vec(), words.next()?.to_vec()))
        };
        let mut pairs: Vec<_> = text.split(|&byte| byte == b'\n').filter_map(pair).collect();
        pairs.reverse();
        Self { pairs }
    }

    /// Replaces the beginning of a path if a line matches.
    pub(super) fn apply<'a>(&self, path: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        for (from, to) in &self.pairs {
            let Some(rest) = path.strip_prefix(&**from) else {
                continue;
            };
            let rest = match (rest.first(), &**to) {
                (None, _) => rest,
                (Some(b'/'), b"/") => rest.get(1..).unwrap_or_default(),
                (Some(b'/'), _) => rest,
                _ => continue,
            };
            return Cow::Owned([to, rest].concat());
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_are_replaced_once() {
        let list = Substitutions::parse(
            b"# x\n/lib64 /lib\n /run /var/run \n/sysroot /\n/run/a /b\n/one\n",
        );
        for (path, expected) in [
            ("/lib64", "/lib"),
            ("/lib64/x", "/lib/x"),
            ("/lib645", "/lib645"),
            ("/run/b", "/var/run/b"),
            ("/run/a/c", "/b/c"),
            ("/sysroot/etc", "/etc"),
            ("/sysroot", "/"),
            ("/one", "/one"),
        ] {
            let found = list.apply(Cow::Borrowed(path.as_bytes()));
            assert_eq!(&*found, expected.as_bytes(), "{path}");
        }
    }
}
