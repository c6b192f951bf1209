//! Which files are excluded, included and added.
//!
//! In: patterns, definitions and files of them, in the order in which they were given. Out:
//! `sinterfs_pipeline::source::Exclude` and `Definition`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_model::{Error, Result, Setting};
use sinterfs_pipeline::source::{Definition, Exclude, FileContexts, Rule};
use sinterfs_platform::names;

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
    /// Excludes names that match a line of a file, unless the line negates it.
    ExcludeFrom(PathBuf),
    /// Includes names that match a line of a file, unless the line negates it.
    IncludeFrom(PathBuf),
}

/// Compiles the rules.
pub(crate) fn exclude(choices: &[Filter]) -> Result<Exclude> {
    let mut rules = Vec::new();
    let mut expressions = Vec::new();
    for choice in choices {
        match choice {
            Filter::Exclude(pattern) => rules.push(Rule::exclude(pattern)),
            Filter::Include(pattern) => rules.push(Rule::include(pattern)),
            Filter::ExcludeRegex(text) => expressions.push(text.clone()),
            Filter::ExcludeFrom(file) => rules.extend(Rule::from_file(file, false)?),
            Filter::IncludeFrom(file) => rules.extend(Rule::from_file(file, true)?),
        }
    }
    Exclude::from_rules(rules)?.with_expressions(&expressions)
}

/// Reads definitions of files, and files of such definitions.
pub(crate) fn pseudo(texts: &[OsString], files: &[PathBuf]) -> Result<Vec<Definition>> {
    let given = texts
        .iter()
        .map(|text| Definition::parse(&names::bytes(text)));
    let mut all = given.collect::<Result<Vec<_>>>()?;
    for path in files {
        let text = std::fs::read(path).map_err(|e| Error::io("cannot read", e).path(path))?;
        all.extend(Definition::parse_all(&text).map_err(|error| error.path(path))?);
    }
    Ok(all)
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
    let option = Setting::OneFileSystem;
    let what = format!("{option} is for directories: {what} cannot hold other file systems");
    Err(Error::invalid(what).about([option]))
}
