//! `sinter merge`: several images and directories become one image.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::{Error, Input, MergePart, Result};

use super::make_image::MakeImageArgs;
use crate::size::parse as size;

/// Pack the trees of several images, archives and directories into one image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter merge jan.dwarfs feb.dwarfs -o both.dwarfs         below /jan and /feb
  sinter merge --overlay base.dwarfs update.dwarfs -o new.dwarfs
                                                            one on top of the other
  sinter merge base.dwarfs --at opt/tool=tool.dwarfs --at etc=DIR -o all.dwarfs
                                                            at places of your choice

What several sources have in common is stored once. Each source goes below a directory of its name
(without extension), with --overlay all go to the root; what --at names goes where it says. Where
directories meet they are merged, and the later one says what the directory looks like (sources in
the order of the command line, those of --at last). Where other things meet the later source's stays:
that is told and counted, and with --strict an error.

Times, holes, hard links and owners stay as they are in the images, and a damaged image is an error.
SOURCE_DATE_EPOCH, if set, is recorded as the time of creation, and no file gets a later time.")]
pub struct Args {
    /// Images, archives and directories.
    #[arg(value_name = "SOURCE", required_unless_present = "at")]
    sources: Vec<PathBuf>,

    /// Put a source at a path in the image.
    #[arg(long, value_name = "PATH=SOURCE")]
    at: Vec<OsString>,

    /// Put sources on top of each other instead of below directories of their own.
    #[arg(long)]
    overlay: bool,

    /// How much memory decoded blocks of the images may take, two for each thread at least; the
    /// others go to the scratch directory.
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size)]
    cache_size: u64,

    #[command(flatten)]
    make: MakeImageArgs,
}

/// Merges.
pub fn run(args: Args) -> Result<ExitCode> {
    let input = Input::Merge {
        parts: parts(args.sources, &args.at, args.overlay)?,
        layers: None,
        cache_bytes: args.cache_size,
    };
    args.make.run(input, |_| ())
}

/// Decides where each source goes.
fn parts(sources: Vec<PathBuf>, at: &[OsString], overlay: bool) -> Result<Vec<MergePart>> {
    let mut parts = Vec::new();
    let mut named: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
    for path in sources {
        let at = if overlay { Vec::new() } else { name_of(&path)? };
        if !overlay && let Some(other) = named.insert(at.clone(), path.clone()) {
            return Err(Error::invalid(format!(
                "{} would be at the same place; use --at PATH=SOURCE or --overlay",
                other.display()
            ))
            .path(path));
        }
        parts.push(MergePart { path, at });
    }
    for rule in at {
        let Some(equals) = rule.as_bytes().iter().position(|&byte| byte == b'=') else {
            let rule = rule.to_string_lossy();
            return Err(Error::invalid(format!("--at {rule}: expected PATH=SOURCE")));
        };
        let (place, source) = rule.as_bytes().split_at(equals);
        parts.push(MergePart {
            path: OsString::from_vec(source[1..].to_vec()).into(),
            at: trimmed(place).to_vec(),
        });
    }
    Ok(parts)
}

/// Takes the slashes off the ends of a path.
fn trimmed(mut path: &[u8]) -> &[u8] {
    while let [b'/', rest @ ..] | [rest @ .., b'/'] = path {
        path = rest;
    }
    path
}

/// Names the directory for a source: its file name, of an image without extension.
fn name_of(path: &Path) -> Result<Vec<u8>> {
    let resolved = match path.file_name() {
        Some(_) => path.to_owned(),
        // `.` and `..` have names, too
        None => std::fs::canonicalize(path)
            .map_err(|error| Error::io("cannot find the source", error).path(path))?,
    };
    let name = if resolved.is_dir() {
        resolved.file_name()
    } else {
        resolved.file_stem()
    };
    let name = name.ok_or_else(|| {
        Error::invalid("has no name for a directory; use --at PATH=SOURCE").path(path)
    })?;
    Ok(name.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(sources: &[&str], at: &[&str], overlay: bool) -> Result<Vec<String>> {
        let sources = sources.iter().map(PathBuf::from).collect();
        let at: Vec<OsString> = at.iter().map(OsString::from).collect();
        let parts = parts(sources, &at, overlay)?;
        Ok(parts
            .iter()
            .map(|part| {
                let at = String::from_utf8_lossy(&part.at);
                format!("{at}<{}", part.path.display())
            })
            .collect())
    }

    #[test]
    fn sources_go_below_their_names() {
        let found = places(&["a/x.y.dwarfs", "/nowhere/b"], &["/o/p/=q=r"], false).unwrap();
        assert_eq!(found, ["x.y<a/x.y.dwarfs", "b</nowhere/b", "o/p<q=r"]);
        assert_eq!(places(&["/"], &[], true).unwrap(), ["</"]);
        assert!(places(&["/"], &[], false).is_err());
        assert!(places(&["a/x.dwarfs", "b/x.img"], &[], false).is_err());
        assert_eq!(places(&["a/x.img", "b/x.img"], &[], true).unwrap().len(), 2);
        assert!(places(&[], &["opt"], false).is_err());
        assert_eq!(places(&[], &["/=x"], false).unwrap(), ["<x"]);
    }
}
