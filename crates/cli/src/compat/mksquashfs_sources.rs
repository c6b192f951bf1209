//! The sources of mksquashfs: a directory, files and directories below their names or paths, or an
//! archive.
//!
//! In: the operands before the image, and the paths to exclude. Out: the command of ours with its
//! sources, and patterns that start at the root of the image. **Invariant:** no source has the name
//! of another one or of what an image has that is appended to: as in mksquashfs, later ones get a
//! number.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::mksquashfs_append::FormerImage;
use super::parsed::{Parsed, with_value};
use super::values;

/// The sources of an image.
pub(super) enum Sources {
    /// A directory, whose root becomes the root of the image.
    Directory(OsString),
    /// Files and directories with their names in the root.
    Below(Vec<(Vec<u8>, OsString)>),
    /// Paths below a directory, which lead to the same paths of the image, and whether each is
    /// taken with what is below it.
    Listed(&'static str, Vec<(OsString, bool)>),
    /// An archive: a file, or `-` for standard input.
    Archive(OsString),
    /// Nothing: pseudo definitions make all, also the root.
    Definitions,
}

impl Sources {
    /// Returns the sources; `former` is the image that is appended to.
    pub(super) fn of(
        parsed: &Parsed,
        sources: Vec<OsString>,
        former: Option<&FormerImage>,
    ) -> Result<Self> {
        if parsed.is_given("-zip") {
            let [source] = &sources[..] else {
                return Err(Error::invalid("with -zip one source is taken, an archive"));
            };
            if former.is_some() {
                let what = "-zip: nothing is appended: -noappend replaces the image";
                return Err(Error::unsupported(what));
            }
            return Ok(Self::Archive(source.clone()));
        }
        let styles = ["-tar", "-cpiostyle", "-cpiostyle0"];
        if let Some(style) = styles.into_iter().find(|style| parsed.is_given(style)) {
            if sources != ["-"] {
                let what = format!("with {style} the source is -, standard input");
                return Err(Error::invalid(what));
            }
            if former.is_some() {
                let what = format!("{style}: nothing is appended: -noappend replaces the image");
                return Err(Error::unsupported(what));
            }
            return match style {
                "-tar" => Ok(Self::Archive("-".into())),
                "-cpiostyle" => Self::listed(names_of_stdin(b'\n')?, false),
                _ => Self::listed(names_of_stdin(0)?, false),
            };
        }
        if sources == ["-"] && former.is_none() && defines_root(parsed)? {
            return Ok(Self::Definitions);
        }
        let mut kinds = Vec::new();
        for source in &sources {
            if source == "-" {
                let what = "- is a source only with -tar, -cpiostyle and -cpiostyle0, or where -p \
                            or -pf defines the root";
                return Err(Error::invalid(what));
            }
            // one that is missing is reported when it is read
            let found = Path::new(source).symlink_metadata();
            kinds.push(found.map_or(true, |found| found.is_dir()));
        }
        if parsed.is_given("-no-strip") {
            if former.is_some() {
                let what = "-no-strip: nothing is appended: -noappend replaces the image";
                return Err(Error::unsupported(what));
            }
            return Self::listed(sources, true);
        }
        let mut taken = former.map_or_else(BTreeSet::new, |former| former.taken.clone());
        let whole = matches!(kinds[..], [true]) && !parsed.is_given("-keep-as-directory");
        match (&sources[..], former) {
            ([one], None) if whole => Ok(Self::Directory(one.clone())),
            ([one], Some(_)) if whole => Self::below(entries(one)?, &mut taken),
            _ => Self::below(sources, &mut taken),
        }
    }

    /// Puts sources below their names; taken ones get a number.
    fn below(sources: Vec<OsString>, taken: &mut BTreeSet<Vec<u8>>) -> Result<Self> {
        let mut below = Vec::new();
        for source in sources {
            let name = name_of(&source)?;
            let numbers = std::iter::once(Vec::new())
                .chain((1_u64..).map(|number| format!("_{number}").into_bytes()));
            let mut names = numbers.map(|number| [&*name, &*number].concat());
            let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
            taken.insert(free.clone());
            below.push((free, source));
        }
        Ok(Self::Below(below))
    }

    /// Keeps the paths of sources, which are all relative or all absolute.
    fn listed(paths: Vec<OsString>, with_below: bool) -> Result<Self> {
        let is_absolute = |path: &OsString| names::bytes(path).starts_with(b"/");
        let absolute = paths.iter().filter(|path| is_absolute(path)).count();
        let base = match absolute {
            _ if paths.is_empty() => return Err(Error::invalid("no source is named")),
            0 => ".",
            all if all == paths.len() => "/",
            _ => {
                let what = "absolute paths and relative ones cannot be mixed here: give all as \
                            absolute ones";
                return Err(Error::unsupported(what));
            }
        };
        let paths = paths.into_iter().map(|path| (path, with_below));
        Ok(Self::Listed(base, paths.collect()))
    }

    /// Returns the command, and the options for the sources.
    pub(super) fn command(&self) -> (&'static str, Vec<OsString>) {
        let file = |(name, source): &(Vec<u8>, OsString)| {
            let place = [name, b"=".as_slice(), &names::bytes(source)].concat();
            with_value("--file", &values::os_string(place))
        };
        let only = |(path, with_below): &(OsString, bool)| {
            let option = if *with_below {
                "--only"
            } else {
                "--only-itself"
            };
            with_value(option, path)
        };
        match self {
            Self::Directory(source) => ("build", vec!["--".into(), source.clone()]),
            Self::Below(sources) => ("merge", sources.iter().map(file).collect()),
            Self::Listed(base, paths) => {
                let mut words: Vec<OsString> = paths.iter().map(only).collect();
                words.extend(["--".into(), OsString::from(base)]);
                ("build", words)
            }
            Self::Archive(file) => ("build", vec!["--".into(), file.clone()]),
            Self::Definitions => ("merge", vec!["--from-nothing".into()]),
        }
    }

    /// Returns the paths below which a path to exclude may be, each with the path of the image.
    fn roots(&self) -> Vec<(&[u8], &OsStr)> {
        match self {
            Self::Directory(source) => vec![(b"", source)],
            Self::Listed(base, _) => vec![(b"", OsStr::new(base))],
            Self::Below(sources) => {
                let named = sources.iter();
                named.map(|(name, source)| (&**name, &**source)).collect()
            }
            Self::Archive(_) | Self::Definitions => Vec::new(),
        }
    }

    /// Returns the patterns for a path that is excluded: none for one outside of all sources.
    pub(super) fn exclude(&self, path: &[u8]) -> Result<Vec<Vec<u8>>> {
        let roots = self.roots();
        if roots.is_empty() {
            let what = "with -tar, paths to exclude are globs: add -wildcards";
            return Err(Error::unsupported(what));
        }
        // a path counts from each of them, one of the system is below one
        let each = roots.into_iter().filter_map(|(name, source)| {
            let path = in_source(path, source).ok()?;
            let slash: &[u8] = if name.is_empty() { b"" } else { b"/" };
            Some(values::literal_pattern(&[name, slash, &path].concat()))
        });
        Ok(each.collect())
    }
}

/// Returns whether pseudo definitions make the root.
fn defines_root(parsed: &Parsed) -> Result<bool> {
    let is_root = |line: &[u8]| {
        let rest = line.trim_ascii_start().strip_prefix(b"/ ");
        rest.is_some_and(|rest| matches!(rest.trim_ascii_start(), [b'd' | b'D', b' ', ..]))
    };
    for word in &parsed.translated {
        let word = names::bytes(word);
        if word.strip_prefix(b"--pseudo=").is_some_and(is_root) {
            return Ok(true);
        }
        let Some(path) = word.strip_prefix(b"--pseudo-file=") else {
            continue;
        };
        let path = values::os_string(path.to_vec());
        let failed = |error| Error::io("cannot read", error).path(&path);
        let mut file = BufReader::new(File::open(&path).map_err(failed)?);
        let mut line = Vec::new();
        while file.read_until(b'\n', &mut line).map_err(failed)? > 0 {
            if is_root(&line) {
                return Ok(true);
            }
            if line.starts_with(b"# START OF DATA") {
                break;
            }
            line.clear();
        }
    }
    Ok(false)
}

/// Returns the paths of what a directory holds, sorted.
fn entries(dir: &OsStr) -> Result<Vec<OsString>> {
    let failed = |error| Error::io("cannot read the source", error).path(dir);
    let listed = std::fs::read_dir(dir).map_err(failed)?;
    let paths = listed.map(|entry| entry.map(|entry| entry.path().into_os_string()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    paths.sort();
    Ok(paths)
}

/// Reads the names that standard input lists.
fn names_of_stdin(end: u8) -> Result<Vec<OsString>> {
    let mut text = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut text);
    read.map_err(|error| Error::io("cannot read standard input", error))?;
    let names = text.split(|&byte| byte == end);
    let names = names.filter(|name| !name.is_empty());
    Ok(names.map(|name| values::os_string(name.to_vec())).collect())
}

/// Returns the name of a source in the root of the image.
fn name_of(source: &OsStr) -> Result<Vec<u8>> {
    let path = Path::new(source);
    let resolved = match path.file_name() {
        Some(_) => path.to_owned(),
        None => std::fs::canonicalize(path)
            .map_err(|error| Error::io("cannot find the source", error).path(path))?,
    };
    match resolved.file_name().map(names::bytes).as_deref() {
        Some(name) if !name.contains(&b'=') => Ok(name.to_vec()),
        Some(_) => Err(Error::unsupported("a name with = is not taken here").path(path)),
        None => Err(Error::invalid("the source has no name").path(path)),
    }
}

/// Returns a path below a source: it counts from there, unless it is one of the system.
fn in_source(path: &[u8], source: &OsStr) -> Result<Vec<u8>> {
    let starts = [&b"/"[..], b"./", b"../"];
    if starts.iter().any(|start| path.starts_with(start)) {
        values::relative_to(Path::new(source), &values::os_string(path.to_vec()))
    } else {
        Ok(path.to_vec())
    }
}

/// Translates expressions of names, which start at the root unless `... ` is before them.
pub(super) fn expressions(path: &[u8]) -> Result<OsString> {
    let rooted = |path: &[u8], slash: &str| {
        let text = String::from_utf8(path.to_vec());
        let text = text.map_err(|_| Error::unsupported("an expression has to be UTF-8"))?;
        Ok(format!("{slash}{}", text.trim_matches('/')).into())
    };
    match path.strip_prefix(b"... ") {
        Some(anywhere) => rooted(anywhere, ""),
        None => rooted(path, "/"),
    }
}

/// Translates a glob of mksquashfs, which starts at the root unless `... ` is before it.
pub(super) fn glob(path: &[u8]) -> Result<Vec<u8>> {
    if path
        .windows(2)
        .any(|two| two[1] == b'(' && b"?*+@!".contains(&two[0]))
    {
        let text = String::from_utf8_lossy(path);
        let what = format!(
            "{text}: extended globs are not supported; give one pattern for each alternative"
        );
        return Err(Error::unsupported(what));
    }
    let escaped = |path: &[u8]| -> Vec<u8> {
        let escape = |&byte: &u8| match byte {
            b'{' | b'}' => vec![b'\\', byte],
            byte => vec![byte],
        };
        path.iter().flat_map(escape).collect()
    };
    match path.strip_prefix(b"... ") {
        // a name at any depth, or with a slash a path below any directory
        Some(name) if name.contains(&b'/') => Ok([b"/**/".as_slice(), &escaped(name)].concat()),
        Some(name) => Ok(escaped(name)),
        None => Ok([b"/".as_slice(), &escaped(path)].concat()),
    }
}
