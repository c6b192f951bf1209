//! `sinter merge`: packs several images, archives and directories into one image.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::build::{Input, MergePart};
use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::make_image::MakeImageArgs;
use crate::args::remote::RemoteArgs;
use crate::size::parse as size;

/// Combine several images, archives and directories into one image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter merge jan.dwarfs feb.dwarfs -o both.dwarfs
      Combine two images, below /jan and /feb.
  sinter merge --overlay base.dwarfs update.dwarfs -o new.dwarfs
      Put one image on top of another.
  sinter merge base.dwarfs --at opt=tool.dwarfs --at etc=DIR -o all.dwarfs
      Put sources at chosen paths.
  sinter merge base.dwarfs --file etc/motd=motd -o new.dwarfs
      Put a file, as it is, at a chosen path.

Data that several sources share is stored once. Each source is placed below a directory with its \
name (without extension), with --overlay at the root, with --at at the given path. Directories \
of the same path are merged, and the last source determines their attributes (in the order of \
the command line, those of --at last). Of other files with the same path that of the last source \
is stored; this is reported, and an error with --strict.

Times, holes, hard links and owners are kept. A damaged image is an error. SOURCE_DATE_EPOCH, if \
set, is recorded as the time of creation, and no file gets a later time.")]
pub struct Args {
    /// The images, archives and directories to combine.
    #[arg(
        value_name = "SOURCE",
        required_unless_present_any = ["at", "placed_file", "from_nothing"]
    )]
    sources: Vec<PathBuf>,

    /// Place a source at this path of the image, in which `\=` means `=`. Can be repeated.
    #[arg(long, value_name = "PATH=SOURCE")]
    at: Vec<OsString>,

    /// Place a file or directory unchanged at this path of the image: even an archive or image is a
    /// file here. Can be repeated.
    #[arg(long = "file", value_name = "PATH=FILE")]
    placed_file: Vec<OsString>,

    /// Begin with a root that holds nothing: pseudo definitions make all.
    #[arg(long, hide = true)]
    from_nothing: bool,

    /// Place all sources at the root, later ones on top of earlier ones.
    #[arg(long)]
    overlay: bool,

    /// The size of the cache of decoded blocks, at least two for each thread; further blocks are
    /// kept in temporary files.
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size)]
    cache_size: u64,

    #[command(flatten)]
    remote: RemoteArgs,

    #[command(flatten)]
    make: MakeImageArgs,
}

/// Merges.
pub fn run(args: Args) -> Result<ExitCode> {
    let input = Input::Merge {
        parts: parts(args.sources, &args.at, &args.placed_file, args.overlay)?,
        layers: None,
        cache_bytes: args.cache_size,
    };
    let open = args.remote.open_options();
    args.make.run(input, |request, _| request.open = open)
}

/// Returns the sources with their paths in the image; fails if two have the same path.
fn parts(
    sources: Vec<PathBuf>,
    at: &[OsString],
    files: &[OsString],
    overlay: bool,
) -> Result<Vec<MergePart>> {
    let mut parts = Vec::new();
    let mut named: BTreeMap<Vec<u8>, PathBuf> = BTreeMap::new();
    for path in sources {
        let at = if overlay { Vec::new() } else { name_of(&path)? };
        if !overlay && let Some(other) = named.insert(at.clone(), path.clone()) {
            return Err(Error::invalid(format!(
                "{} has the same name; use --at PATH=SOURCE or --overlay",
                other.display()
            ))
            .path(path));
        }
        parts.push(MergePart::whole(path, at));
    }
    for rule in at {
        let (place, source) = placed("--at", rule)?;
        parts.push(MergePart::whole(source, place));
    }
    for rule in files {
        let (place, file) = placed("--file", rule)?;
        let (Some(name), Some(dir)) = (file.file_name(), file.parent()) else {
            let what = "--file takes a path that ends in a name; use --at to place the contents \
                        of a directory";
            return Err(Error::invalid(what).path(file));
        };
        let here = dir.as_os_str().is_empty();
        let dir = if here { Path::new(".") } else { dir };
        let pick = (names::bytes(name).into_owned(), place);
        // names of one directory that are one file stay that
        match parts
            .last_mut()
            .filter(|last| last.path == dir && !last.picks.is_empty())
        {
            Some(last) => last.picks.push(pick),
            None => parts.push(MergePart {
                picks: vec![pick],
                ..MergePart::whole(dir, Vec::new())
            }),
        }
    }
    Ok(parts)
}

/// Splits `PATH=SOURCE`.
fn placed(option: &str, rule: &OsString) -> Result<(Vec<u8>, PathBuf)> {
    let bytes = names::bytes(rule);
    let (mut place, mut rest) = (Vec::new(), &*bytes);
    loop {
        match rest {
            [] => {
                let rule = rule.to_string_lossy();
                let what = format!("{option} {rule}: expected PATH=SOURCE");
                return Err(Error::invalid(what));
            }
            [b'=', source @ ..] => {
                let source = names::path_buf(source.to_vec());
                return Ok((trimmed(&place).to_vec(), source));
            }
            [b'\\', byte @ b'=', others @ ..] | [byte, others @ ..] => {
                place.push(*byte);
                rest = others;
            }
        }
    }
}

/// Removes slashes at both ends of a path.
fn trimmed(mut path: &[u8]) -> &[u8] {
    while let [b'/', rest @ ..] | [rest @ .., b'/'] = path {
        path = rest;
    }
    path
}

/// Returns the name of the directory of a source: its file name, of an image without extension.
fn name_of(path: &Path) -> Result<Vec<u8>> {
    let resolved = match path.file_name() {
        Some(_) => path.to_owned(),
        // `.` and `..` have names once they are resolved
        None => std::fs::canonicalize(path)
            .map_err(|error| Error::io("cannot find the source", error).path(path))?,
    };
    let name = if resolved.is_dir() {
        resolved.file_name()
    } else {
        resolved.file_stem()
    };
    let name = name
        .ok_or_else(|| Error::invalid("the source has no name; use --at PATH=SOURCE").path(path))?;
    Ok(names::bytes(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(sources: &[&str], at: &[&str], overlay: bool) -> Result<Vec<String>> {
        let sources = sources.iter().map(PathBuf::from).collect();
        let at: Vec<OsString> = at.iter().map(OsString::from).collect();
        let parts = parts(sources, &at, &[], overlay)?;
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
        assert_eq!(
            places(&[], &["a\\=b\\c=x=y"], false).unwrap(),
            ["a=b\\c<x=y"]
        );
    }

    #[test]
    fn files_of_one_directory_are_one_part() {
        let files = ["a=d/x", "b/c=d/y", "e=z", "f=./d/x"].map(OsString::from);
        let parts = parts(Vec::new(), &[], &files, false).unwrap();
        let picks: Vec<_> = parts
            .iter()
            .map(|part| (&*part.path, part.picks.len()))
            .collect();
        let expected = [("d", 2), (".", 1), ("./d", 1)];
        assert_eq!(picks, expected.map(|(dir, count)| (Path::new(dir), count)));
        assert_eq!(parts[0].picks[1], (b"y".to_vec(), b"b/c".to_vec()));
        for wrong in ["a=/", "a=d/..", "a"] {
            assert!(super::parts(Vec::new(), &[], &[wrong.into()], false).is_err());
        }
    }
}
