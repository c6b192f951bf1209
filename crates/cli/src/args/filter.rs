//! Flags that select files and extended attributes of a source, and that add files.
//!
//! **Invariant:** rules to include and exclude keep the order of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use sinterfs::Result;
use sinterfs::build::{BuildRequest, Filter, XattrFilter};

/// Rules that select files, and definitions of additional ones.
#[derive(Debug)]
pub struct FilterArgs {
    choices: Vec<Filter>,
    pseudo: Vec<OsString>,
    pseudo_files: Vec<PathBuf>,
    xattrs_include: Vec<String>,
    xattrs_exclude: Vec<String>,
    file_contexts: Option<PathBuf>,
}

/// The flags as clap parses them, which loses the order among different flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files and extended attributes")]
struct FilterFlags {
    /// Exclude files that match: a name at any depth, or with a slash a path from the root of the
    /// source. The first --exclude or --include that matches decides, in the order given.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    exclude: Vec<String>,

    /// Include files that match, even if a later --exclude matches.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    include: Vec<String>,

    /// Exclude files in whose path from the root (`usr/bin/a`) a regular expression matches, even
    /// if --include matches. Can be repeated.
    #[arg(long, value_name = "REGEX", allow_hyphen_values = true)]
    exclude_regex: Vec<String>,

    /// Exclude files that match a line of this file. Empty lines and lines that begin with # are
    /// ignored; lines that begin with `+ ` include.
    #[arg(long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,

    /// Include files that match a line of this file; lines that begin with `- ` exclude.
    #[arg(long, value_name = "FILE")]
    include_from: Vec<PathBuf>,

    /// Add or change a file, in the notation of mksquashfs -p: `PATH d MODE UID GID` (a directory),
    /// m (changes an existing file), c and b (devices, with MAJOR MINOR), i (with s a socket, with
    /// f a FIFO), s (a symlink, with its target), D, M, C, B, I and S (with a time before the
    /// mode), `PATH l FILE` (a file of the system; h follows symlinks), `PATH L PATH` (a hard
    /// link), `PATH x NAME=VALUE` (an extended attribute).
    #[arg(long, value_name = "DEFINITION")]
    pseudo: Vec<OsString>,

    /// Add or change files by the definitions in a file, one per line.
    #[arg(long, value_name = "FILE")]
    pseudo_file: Vec<PathBuf>,

    /// Keep only extended attributes of the source whose name (as in user.x) matches a regular
    /// expression. Can be repeated.
    #[arg(
        long,
        value_name = "REGEX",
        allow_hyphen_values = true,
        conflicts_with = "no_xattrs"
    )]
    xattrs_include: Vec<String>,

    /// Drop extended attributes of the source whose name matches a regular expression, even if
    /// --xattrs-include matches. Attributes set by --pseudo and --file-contexts stay.
    #[arg(
        long,
        value_name = "REGEX",
        allow_hyphen_values = true,
        conflicts_with = "no_xattrs"
    )]
    xattrs_exclude: Vec<String>,

    /// Set the SELinux labels of all files by a file_contexts(5) file, as setfiles(8) and
    /// mkfs.erofs do; other labels are dropped. FILE.homedirs, FILE.local, FILE.subs and
    /// FILE.subs_dist are read, too, if they exist.
    #[arg(long, value_name = "FILE", conflicts_with = "no_xattrs")]
    file_contexts: Option<PathBuf>,
}

impl FilterArgs {
    /// Sets these options in a request.
    pub fn apply(self, request: &mut BuildRequest) -> Result<()> {
        request.filters = self.choices;
        request.pseudo = self.pseudo;
        request.pseudo_files = self.pseudo_files;
        request.xattrs = XattrFilter::of(&self.xattrs_include, &self.xattrs_exclude)?;
        request.file_contexts = self.file_contexts;
        Ok(())
    }
}

impl Args for FilterArgs {
    fn augment_args(command: Command) -> Command {
        FilterFlags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        FilterFlags::augment_args_for_update(command)
    }
}

impl FromArgMatches for FilterArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut rules = Vec::new();
        let flags = FilterFlags::from_arg_matches(matches)?;
        let indices = |id: &str| matches.indices_of(id).into_iter().flatten();
        rules.extend(indices("exclude").zip(flags.exclude.into_iter().map(Filter::Exclude)));
        rules.extend(indices("include").zip(flags.include.into_iter().map(Filter::Include)));
        let expressions = flags.exclude_regex.into_iter();
        rules.extend(indices("exclude_regex").zip(expressions.map(Filter::ExcludeRegex)));
        let files = flags.exclude_from.into_iter().map(Filter::ExcludeFrom);
        rules.extend(indices("exclude_from").zip(files));
        let files = flags.include_from.into_iter().map(Filter::IncludeFrom);
        rules.extend(indices("include_from").zip(files));
        rules.sort_by_key(|(index, _)| *index);
        let choices = rules.into_iter().map(|(_, choice)| choice).collect();
        Ok(Self {
            choices,
            pseudo: flags.pseudo,
            pseudo_files: flags.pseudo_file,
            xattrs_include: flags.xattrs_include,
            xattrs_exclude: flags.xattrs_exclude,
            file_contexts: flags.file_contexts,
        })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
