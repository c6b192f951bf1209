//! What mksquashfs packs: a directory, several of them below their names, or an archive.
//!
//! In: the operands before the image, and the paths to exclude. Out: the command of ours with its
//! sources, and patterns that start at the root of the image. **Invariant:** no source has the name
//! of another one: as in mksquashfs, later ones get a number.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::values;

/// The sources of an image.
pub(super) enum Sources {
    /// A directory, whose root is that of the image.
    Directory(OsString),
    /// Directories with their names in the root.
    Below(Vec<(Vec<u8>, OsString)>),
    /// An archive from standard input.
    Archive,
}

impl Sources {
    /// Returns the sources; fails for files, which mksquashfs packs as they are.
    pub(super) fn of(parsed: &Parsed, sources: Vec<OsString>) -> Result<Self> {
        if parsed.is_given("-tar") {
            return match &sources[..] {
                [one] if one == "-" => Ok(Self::Archive),
                _ => Err(Error::invalid("with -tar the source is -, standard input")),
            };
        }
        for source in &sources {
            if source == "-" {
                return Err(Error::invalid("- is a source with -tar alone"));
            }
            let found = Path::new(source).metadata();
            if found.is_ok_and(|found| !found.is_dir()) {
                let what = "only directories are taken here: copy the file into one (`sinter \
                            build` unpacks archives and images)";
                return Err(Error::unsupported(what).path(source));
            }
        }
        if let ([_], false) = (&sources[..], parsed.is_given("-keep-as-directory")) {
            return Ok(Self::Directory(sources.into_iter().collect()));
        }
        let mut taken = BTreeSet::new();
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

    /// Returns the command, and the options for the sources.
    pub(super) fn command(&self) -> (&'static str, Vec<OsString>) {
        let at = |(name, source): &(Vec<u8>, OsString)| {
            let place = [name, b"=".as_slice(), &names::bytes(source)].concat();
            with_value("--at", &values::os_string(place))
        };
        match self {
            Self::Directory(source) => ("build", vec!["--".into(), source.clone()]),
            Self::Below(sources) => ("merge", sources.iter().map(at).collect()),
            Self::Archive => ("build", vec!["--".into(), "-".into()]),
        }
    }

    /// Returns the patterns for a path that is excluded, or for a glob.
    pub(super) fn exclude(&self, path: &[u8], globs: bool) -> Result<Vec<Vec<u8>>> {
        match self {
            _ if globs => Ok(vec![glob(path)?]),
            Self::Directory(source) => Ok(vec![values::literal_pattern(&in_source(path, source)?)]),
            // a path counts from each of them, one of the system is below one
            Self::Below(sources) => {
                let each = sources.iter().map(|(name, source)| {
                    let path = in_source(path, source)?;
                    let path = [name, b"/".as_slice(), &path].concat();
                    Ok(values::literal_pattern(&path))
                });
                let (good, bad): (Vec<_>, Vec<_>) = each.partition(Result::is_ok);
                match (good.is_empty(), bad.into_iter().next()) {
                    (true, Some(error)) => error.map(|pattern| vec![pattern]),
                    _ => good.into_iter().collect(),
                }
            }
            Self::Archive => {
                let what = "with -tar, paths to exclude are globs: add -wildcards";
                Err(Error::unsupported(what))
            }
        }
    }
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
