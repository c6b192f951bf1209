//! The sources of mkisofs: directories, whose content goes to the root or to a graft point, and
//! files.
//!
//! In: the operands, the operands in `-path-list`, and the patterns to exclude. Out: the command of
//! ours with its sources, patterns that start at the root of the image, and the files that paths of
//! the image are. **Invariant:** as in the programs themselves, a pattern without a slash is of
//! names, one with a slash of paths of the system.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use globset::GlobBuilder;
use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::values;

/// The meaning of the directory of a graft point for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlashAtEnd {
    /// `x/=file` is `x/file`, as in genisoimage.
    Below,
    /// `x/=file` is `x`, as in xorrisofs.
    Same,
}

/// A file or a directory, and its path in the image.
#[derive(Debug, PartialEq, Eq)]
struct PathSpec {
    /// Without slashes at its ends; empty for the root.
    target: Vec<u8>,
    source: OsString,
    is_directory: bool,
}

/// All that is packed, in order.
#[derive(Debug)]
pub(super) struct PathSpecs(Vec<PathSpec>);

impl PathSpecs {
    /// Reads the operands, and the lines of `-path-list`.
    pub(super) fn of(parsed: &mut Parsed, slash: SlashAtEnd) -> Result<Self> {
        let mut words = std::mem::take(&mut parsed.operands);
        for list in parsed.values("-path-list") {
            words.extend(lines(list)?);
        }
        if words.is_empty() {
            return Err(Error::invalid("the directory is missing"));
        }
        let has_points = parsed.is_given("-graft-points");
        let specs = words.iter().map(|word| {
            if has_points {
                grafted(word, slash)
            } else {
                plain(&names::bytes(word))
            }
        });
        specs.collect::<Result<_>>().map(Self)
    }

    /// Returns the command, and the words that name the sources.
    pub(super) fn command(&self) -> (&'static str, Vec<OsString>) {
        if let [one] = &*self.0
            && one.is_directory
            && one.target.is_empty()
        {
            return ("build", vec!["--".into(), one.source.clone()]);
        }
        let place = |spec: &PathSpec| {
            let option = if spec.is_directory { "--at" } else { "--file" };
            let escape = |&byte: &u8| match byte {
                b'=' => vec![b'\\', b'='],
                byte => vec![byte],
            };
            let mut rule = b"/".to_vec();
            rule.extend(spec.target.iter().flat_map(escape));
            rule.push(b'=');
            rule.extend_from_slice(&names::bytes(&spec.source));
            with_value(option, &values::os_string(rule))
        };
        ("merge", self.0.iter().map(place).collect())
    }

    /// Returns the file of the system that a path of the image is.
    pub(super) fn source_of(&self, path: &OsStr) -> PathBuf {
        let path = names::bytes(path);
        let path = trimmed(&path);
        let below = |spec: &PathSpec| {
            let rest = path.strip_prefix(&*spec.target)?;
            if !spec.is_directory {
                return rest.is_empty().then(|| PathBuf::from(&spec.source));
            }
            let rest = match (spec.target.is_empty(), rest) {
                (true, rest) | (false, [b'/', rest @ ..]) => rest,
                _ => return None,
            };
            Some(Path::new(&spec.source).join(values::os_string(rest.to_vec())))
        };
        // the last one that has it, as in the image
        let mut found: Vec<PathBuf> = self.0.iter().filter_map(below).collect();
        let there = found.iter().rposition(|path| path.exists());
        match there.or(found.len().checked_sub(1)) {
            Some(index) => found.swap_remove(index),
            None => PathBuf::from(values::os_string(path.to_vec())),
        }
    }

    /// Returns the patterns of ours for one of theirs: none if it is of no source.
    pub(super) fn exclude(&self, pattern: &OsStr) -> Result<Vec<String>> {
        let not_utf8 = || Error::unsupported("a pattern to exclude has to be UTF-8");
        let text = pattern.to_str().ok_or_else(not_utf8)?;
        if !text.contains('/') {
            return Ok(vec![own_glob(text)]);
        }
        let absolute = |path: &Path| {
            std::path::absolute(path)
                .map_err(|error| Error::io("cannot resolve the path", error).path(path))
        };
        let pattern = absolute(Path::new(text))?;
        let parts: Vec<&str> = pattern.iter().filter_map(OsStr::to_str).collect();
        let mut found = Vec::new();
        for spec in &self.0 {
            let source = absolute(Path::new(&spec.source))?;
            let of_source: Vec<_> = source.iter().collect();
            let Some((start, rest)) = parts.split_at_checked(of_source.len()) else {
                continue;
            };
            let mut pairs = start.iter().zip(of_source);
            if !pairs.all(|(glob, name)| matches(glob, name)) {
                continue;
            }
            let target = String::from_utf8(spec.target.clone()).map_err(|_| not_utf8())?;
            let target = values::literal_pattern(target.as_bytes());
            let target = String::from_utf8_lossy(&target).into_owned();
            let rest: String = rest
                .iter()
                .map(|part| format!("/{}", own_glob(part)))
                .collect();
            match format!("{}{rest}", target.trim_end_matches('/')) {
                // the root cannot be left out
                whole if whole.is_empty() => {}
                whole => found.push(whole),
            }
        }
        Ok(found)
    }
}

/// Returns whether a pattern matches one name.
fn matches(glob: &str, name: &OsStr) -> bool {
    let built = GlobBuilder::new(&own_glob(glob))
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    let is_match = built.map(|built| built.compile_matcher().is_match(name));
    name == glob || is_match.unwrap_or(false)
}

/// Translates a pattern of names, to which braces mean nothing and two stars are one.
fn own_glob(glob: &str) -> String {
    let mut own = String::new();
    for letter in glob.chars() {
        match letter {
            '{' | '}' => own.extend(['\\', letter]),
            '*' if own.ends_with('*') && !own.ends_with("\\*") => {}
            letter => own.push(letter),
        }
    }
    own
}

/// Reads the lines of a list; `-` is standard input.
pub(super) fn lines(list: &OsStr) -> Result<Vec<OsString>> {
    let mut text = Vec::new();
    let failed = |error| Error::io("cannot read the list", error).path(list);
    if list == "-" {
        std::io::stdin()
            .lock()
            .read_to_end(&mut text)
            .map_err(failed)?;
    } else {
        text = std::fs::read(list).map_err(failed)?;
    }
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    Ok(lines.map(|line| values::os_string(line.to_vec())).collect())
}

/// Reads an operand that is a path of the system.
fn plain(source: &[u8]) -> Result<PathSpec> {
    let source = values::os_string(source.to_vec());
    let path = Path::new(&source);
    // what is missing is reported when it is read
    let is_directory = path.is_dir() || path.symlink_metadata().is_err();
    let target = if is_directory {
        Vec::new()
    } else {
        name_of(path)?
    };
    Ok(PathSpec {
        target,
        source,
        is_directory,
    })
}

/// Reads an operand that may have a graft point: `PATH=SOURCE`, where backslashes escape `=`.
fn grafted(word: &OsStr, slash: SlashAtEnd) -> Result<PathSpec> {
    let bytes = names::bytes(word);
    let (mut target, mut rest) = (Vec::new(), &*bytes);
    loop {
        match rest {
            [] => return plain(&target),
            [b'=', source @ ..] => {
                let spec = plain(source)?;
                let is_below = target.ends_with(b"/") && slash == SlashAtEnd::Below;
                let mut place = clean(&target, word)?;
                if !spec.is_directory && (is_below || place.is_empty()) {
                    let slash: &[u8] = if place.is_empty() { b"" } else { b"/" };
                    place.extend_from_slice(&[slash, &spec.target].concat());
                }
                return Ok(PathSpec {
                    target: place,
                    ..spec
                });
            }
            [b'\\', byte, others @ ..] | [byte, others @ ..] => {
                target.push(*byte);
                rest = others;
            }
        }
    }
}

/// Returns a path of the image without what means nothing in it.
fn clean(target: &[u8], word: &OsStr) -> Result<Vec<u8>> {
    let parts = target.split(|&byte| byte == b'/');
    let parts: Vec<&[u8]> = parts.filter(|part| !matches!(*part, b"" | b".")).collect();
    if parts.contains(&&b".."[..]) {
        let what = format!("{}: `..` in a graft point", word.to_string_lossy());
        return Err(Error::invalid(what));
    }
    Ok(parts.join(&b'/'))
}

fn name_of(path: &Path) -> Result<Vec<u8>> {
    let name = path.file_name().map(names::bytes);
    let name = name.ok_or_else(|| Error::invalid("the source has no name").path(path))?;
    Ok(name.into_owned())
}

fn trimmed(mut path: &[u8]) -> &[u8] {
    while let [b'/', rest @ ..] | [b'.', b'/', rest @ ..] = path {
        path = rest;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(word: &str, slash: SlashAtEnd) -> (String, String) {
        let spec = grafted(OsStr::new(word), slash).unwrap();
        let target = String::from_utf8(spec.target).unwrap();
        (target, spec.source.into_string().unwrap())
    }

    #[test]
    fn graft_points_have_escapes() {
        let file = "/etc/passwd";
        for (word, target) in [
            ("x=/etc/passwd", "x"),
            ("/x//y/./z=/etc/passwd", "x/y/z"),
            ("x/=/etc/passwd", "x/passwd"),
            ("=/etc/passwd", "passwd"),
            ("/=/etc/passwd", "passwd"),
            ("a\\=b\\\\c=/etc/passwd", "a=b\\c"),
            ("/etc/passwd", "passwd"),
            ("/etc/pass\\wd", "passwd"),
        ] {
            let found = spec(word, SlashAtEnd::Below);
            assert_eq!(found, (target.to_owned(), file.to_owned()), "{word}");
        }
        assert_eq!(spec("x/=/etc/passwd", SlashAtEnd::Same).0, "x");
        assert_eq!(spec("x/=/", SlashAtEnd::Below).0, "x");
        assert_eq!(spec("x=y=z", SlashAtEnd::Same).1, "y=z");
        assert!(grafted(OsStr::new("a/../b=c"), SlashAtEnd::Same).is_err());
    }

    #[test]
    fn patterns_count_from_the_sources() {
        let one = |target: &str, source: &str| PathSpec {
            target: target.into(),
            source: source.into(),
            is_directory: true,
        };
        let specs = PathSpecs(vec![one("", "tree"), one("opt/x", "/srv/d[1]")]);
        let excluded = |pattern: &str| specs.exclude(OsStr::new(pattern)).unwrap();
        assert_eq!(excluded("*.o"), ["*.o"]);
        assert_eq!(excluded("{a}**"), ["\\{a\\}*"]);
        assert_eq!(excluded("tree/a/*.o"), ["/a/*.o"]);
        assert_eq!(excluded("./tree//a/"), ["/a"]);
        assert_eq!(excluded("*/a"), ["/a"]);
        assert_eq!(excluded("/srv/*/b"), ["/opt/x/b"]);
        assert_eq!(excluded("/srv/d[1]/b"), ["/opt/x/b"]);
        assert_eq!(excluded("/srv/d[1]"), ["/opt/x"]);
        assert!(excluded("./tree").is_empty());
        assert!(excluded("a/b").is_empty());
    }
}
