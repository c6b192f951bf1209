//! Which files are chosen, excluded, included and added.
//!
//! In: patterns, definitions and files of them, in the order in which they were given. Out:
//! `sinterfs_source::Exclude` and `Definition`.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_model::{Error, Result, Setting};
use sinterfs_platform::{Directory, OpenFor, names};
use sinterfs_source::{
    AddedXattr, Definition, DirectoryAttributes, Exclude, FileContexts, Rule, plain_path,
};

use crate::write::input::kinds::Input;

/// A rule about the input; the first pattern that matches a name applies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// Excludes names that match a pattern.
    Exclude(String),
    /// Includes names that match a pattern.
    Include(String),
    /// Excludes paths in which a regular expression matches, whatever other rules say.
    ExcludeRegex(String),
    /// Excludes paths by regular expressions with slashes between them, one for each name: from the
    /// root if they begin with a slash, else at any depth.
    ExcludeNames(String),
    /// Takes only this path of a directory, with everything below it, and others named so.
    Only(OsString),
    /// Takes only this path of a directory, a directory without what is below it, and others named
    /// so.
    OnlyItself(OsString),
    /// Takes only the paths that a file lists, one a line; `-` is standard input. A directory is
    /// taken without what is below it.
    FilesFrom(PathBuf),
    /// Excludes names that match a line of a file, unless the line negates it.
    ExcludeFrom(PathBuf),
    /// Includes names that match a line of a file, unless the line negates it.
    IncludeFrom(PathBuf),
}

/// Compiles the rules.
pub(crate) fn exclude(choices: &[Filter]) -> Result<Exclude> {
    let mut rules = Vec::new();
    let (mut expressions, mut names) = (Vec::new(), Vec::new());
    for choice in choices {
        match choice {
            Filter::Exclude(pattern) => rules.push(Rule::exclude(pattern)),
            Filter::Include(pattern) => rules.push(Rule::include(pattern)),
            Filter::ExcludeRegex(text) => expressions.push(text.clone()),
            Filter::ExcludeNames(text) => names.push(text.clone()),
            Filter::ExcludeFrom(file) => rules.extend(Rule::from_file(file, false)?),
            Filter::IncludeFrom(file) => rules.extend(Rule::from_file(file, true)?),
            Filter::Only(_) | Filter::OnlyItself(_) | Filter::FilesFrom(_) => {}
        }
    }
    Exclude::from_rules(rules)?
        .with_expressions(&expressions)?
        .with_name_expressions(&names)
}

/// Returns the rules with the paths of a directory that alone are taken, if some are named. Fails
/// if one does not exist, and for an input that is no directory.
pub(crate) fn only(exclude: Exclude, choices: &[Filter], input: &Input) -> Result<Exclude> {
    let chooses = |choice: &Filter| {
        matches!(
            choice,
            Filter::Only(_) | Filter::OnlyItself(_) | Filter::FilesFrom(_)
        )
    };
    if !choices.iter().any(chooses) {
        return Ok(exclude);
    }
    let mut paths = Vec::new();
    for choice in choices {
        match choice {
            Filter::Only(path) => paths.push((names::bytes(path).into_owned(), true)),
            Filter::OnlyItself(path) => paths.push((names::bytes(path).into_owned(), false)),
            Filter::FilesFrom(file) => {
                let lines = lines_of(file)?;
                paths.extend(lines.into_iter().map(|line| (line, false)));
            }
            _ => {}
        }
    }
    let Input::Directory(dir) = input else {
        let what = "paths can be selected only from a directory: from an archive or image, \
                    exclude the rest";
        return Err(Error::invalid(what).about([Setting("filters")]));
    };
    let failed = |error, path: &Path| Error::io("cannot read the source", error).path(path);
    let root = Directory::open(dir, OpenFor::Walk).map_err(|error| failed(error, dir))?;
    for (path, _) in &paths {
        let plain = plain_path(path)?;
        let path = dir.join(names::path(&plain));
        match (status(&root, &plain), path.symlink_metadata()) {
            (Ok(()), _) => {}
            (Err(_), Ok(_)) => {
                let what = "the path leads through a symlink, and its target is not packed";
                return Err(Error::invalid(what).path(path));
            }
            (_, Err(error)) => return Err(failed(error, &path)),
        }
    }
    exclude.with_only(paths.iter().map(|(path, below)| (&**path, *below)))
}

/// Looks for a path below a directory, as a scan does: through no symlink.
fn status(root: &Directory, path: &[u8]) -> std::io::Result<()> {
    let slash = path.iter().rposition(|&byte| byte == b'/');
    let (parent, name) = match slash.map(|at| path.split_at(at)) {
        Some((parent, name)) => (parent, name.get(1..).unwrap_or_default()),
        None => (&[][..], path),
    };
    if name.is_empty() {
        return Ok(());
    }
    root.beneath(parent, OpenFor::Walk)?.status(name).map(drop)
}

/// Returns the lines of a file, or of standard input, that are not empty.
fn lines_of(file: &Path) -> Result<Vec<Vec<u8>>> {
    let mut text = Vec::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().read_to_end(&mut text).map(|_| text)
    } else {
        std::fs::read(file)
    };
    let text = read.map_err(|error| Error::io("cannot read", error).path(file))?;
    let lines = text.split(|&byte| byte == b'\n');
    let lines = lines.filter(|line| !line.is_empty());
    Ok(lines.map(<[u8]>::to_vec).collect())
}

/// Reads definitions of files, and files of such definitions.
pub(crate) fn pseudo(texts: &[OsString], files: &[PathBuf]) -> Result<Vec<Definition>> {
    let given = texts
        .iter()
        .map(|text| Definition::parse(&names::bytes(text)));
    let mut all = given.collect::<Result<Vec<_>>>()?;
    for path in files {
        all.extend(Definition::read_all(path)?);
    }
    Ok(all)
}

/// Reads the attributes of directories that definitions lead through.
pub(crate) fn pseudo_dir(text: Option<&OsStr>) -> Result<Option<DirectoryAttributes>> {
    text.map(|text| DirectoryAttributes::parse(&names::bytes(text)))
        .transpose()
}

/// Reads the extended attributes that all files get.
pub(crate) fn xattrs_to_add(texts: &[OsString]) -> Result<Vec<AddedXattr>> {
    let parsed = texts
        .iter()
        .map(|text| AddedXattr::parse(&names::bytes(text)));
    parsed.collect()
}

/// Reads which labels files get.
pub(crate) fn contexts(file: Option<&Path>) -> Result<Option<Arc<FileContexts>>> {
    let read = |path| FileContexts::read(path).map(Arc::new);
    file.map(read).transpose()
}

/// Fails for an input that cannot hold other file systems.
pub(crate) fn require_directory(input: &Input) -> Result<()> {
    let what = match input {
        Input::Directory(_) => return Ok(()),
        Input::Merge { parts, .. } if parts.iter().any(|part| part.path.is_dir()) => return Ok(()),
        Input::Archive(_) => "an archive",
        Input::Dump { .. } => "a dump",
        Input::Manifest(_) => "a list of files",
        Input::Image { .. } => "an image",
        Input::Merge { .. } => "archives and images",
    };
    let option = Setting("one_file_system");
    let what = format!("{option} is for directories: {what} cannot hold other file systems");
    Err(Error::invalid(what).about([option]))
}
