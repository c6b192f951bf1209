//! What of a source goes into an image, by rules in the order of the command line, and what is made besides.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use sinterfs::{BuildRequest, Choice, Result, XattrFilter};

/// What is left out, what stays, and what is made.
#[derive(Debug)]
pub struct FilterArgs {
    choices: Vec<Choice>,
    pseudo: Vec<OsString>,
    pseudo_files: Vec<PathBuf>,
    xattrs_include: Vec<String>,
    xattrs_exclude: Vec<String>,
    file_contexts: Option<PathBuf>,
}

/// The flags; their order is not kept here.
#[derive(Debug, Args)]
#[command(next_help_heading = "Files and extended attributes")]
struct FilterFlags {
    /// Leave out what matches: a name anywhere, or, with a slash, a path from the source's root on. Of several
    /// --exclude and --include the first that matches decides, in the order given.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    exclude: Vec<String>,

    /// Keep what matches, whatever a later --exclude says.
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    include: Vec<String>,

    /// Leave out what matches a line of a file; empty lines and lines with # are comments, lines that
    /// begin with `+ ` are for --include.
    #[arg(long, value_name = "FILE")]
    exclude_from: Vec<PathBuf>,

    /// Keep what matches a line of a file; lines that begin with `- ` are for --exclude.
    #[arg(long, value_name = "FILE")]
    include_from: Vec<PathBuf>,

    /// Make or change a file, in the words of mksquashfs' -p: `PATH d MODE UID GID` (a directory), m (change
    /// what is there), c and b (devices, with MAJOR MINOR), i (with s a socket, with f a FIFO), s (a symlink,
    /// with its target), D, M, C, B, I and S (with a time before the mode), `PATH l FILE` (a file of the
    /// system; h follows symlinks), `PATH L PATH` (a hard link), `PATH x NAME=VALUE` (an extended attribute).
    #[arg(long, value_name = "DEFINITION")]
    pseudo: Vec<OsString>,

    /// Make or change files as the lines of a file say.
    #[arg(long, value_name = "FILE")]
    pseudo_file: Vec<PathBuf>,

    /// Keep only extended attributes of the source of which the name (as in user.x) matches a regular expression,
    /// or one of several.
    #[arg(
        long,
        value_name = "REGEX",
        allow_hyphen_values = true,
        conflicts_with = "no_xattrs"
    )]
    xattrs_include: Vec<String>,

    /// Leave out extended attributes of the source of which the name matches a regular expression, whatever
    /// --xattrs-include says. What definitions and contexts set stays.
    #[arg(
        long,
        value_name = "REGEX",
        allow_hyphen_values = true,
        conflicts_with = "no_xattrs"
    )]
    xattrs_exclude: Vec<String>,

    /// Give every file the SELinux label that a file of contexts tells, and no other: lines of an expression, a
    /// type and a label, as setfiles and mkfs.erofs read them. FILE.homedirs, FILE.local, FILE.subs and
    /// FILE.subs_dist count, too, where they are.
    #[arg(long, value_name = "FILE", conflicts_with = "no_xattrs")]
    file_contexts: Option<PathBuf>,
}

impl FilterArgs {
    /// Adds what was asked to a request.
    pub fn apply(self, request: &mut BuildRequest) -> Result<()> {
        request.choices = self.choices;
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
        let mut placed = Vec::new();
        let flags = FilterFlags::from_arg_matches(matches)?;
        let indices = |id: &str| matches.indices_of(id).into_iter().flatten();
        placed.extend(indices("exclude").zip(flags.exclude.into_iter().map(Choice::Exclude)));
        placed.extend(indices("include").zip(flags.include.into_iter().map(Choice::Include)));
        let files = flags.exclude_from.into_iter().map(Choice::ExcludeFrom);
        placed.extend(indices("exclude_from").zip(files));
        let files = flags.include_from.into_iter().map(Choice::IncludeFrom);
        placed.extend(indices("include_from").zip(files));
        placed.sort_by_key(|(index, _)| *index);
        let choices = placed.into_iter().map(|(_, choice)| choice).collect();
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
