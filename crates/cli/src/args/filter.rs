//! Flags that select files and extended attributes of a source, and that add files.
//!
//! **Invariant:** rules to include and exclude keep the order of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use sinterfs::build::{Action, BuildRequest, Filter, IdsByName, LayerMarks, XattrFilter};
use sinterfs::{Error, Result};

use crate::owners;

/// Rules that select files, and definitions of additional ones.
#[derive(Debug)]
pub struct FilterArgs {
    choices: Vec<Filter>,
    actions: Vec<ActionText>,
    flags: FilterFlags,
}

/// Actions as they are given.
#[derive(Debug)]
enum ActionText {
    One(String),
    File(PathBuf),
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

    /// Pack only this path of the directory, with everything below it, and otherwise only the paths
    /// of further --only and --files-from. Directories that lead to it are packed, too.
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    only: Vec<OsString>,

    /// Pack only the paths that a file lists, one a line, as find(1) prints them; `-` is standard
    /// input. Of a directory that is listed nothing else is packed.
    #[arg(long, value_name = "FILE")]
    files_from: Vec<PathBuf>,

    /// As a line of --files-from.
    #[arg(long, hide = true, value_name = "PATH", allow_hyphen_values = true)]
    only_itself: Vec<OsString>,

    /// Exclude paths by regular expressions of their names, with slashes between them.
    #[arg(long, hide = true, value_name = "REGEX/..", allow_hyphen_values = true)]
    exclude_names: Vec<String>,

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

    /// Make directories that definitions lead through and that do not exist, with these attributes:
    /// `d MODE UID GID` or `D TIME MODE UID GID` (default: they are an error).
    #[arg(long, value_name = "ATTRIBUTES")]
    pseudo_dir: Option<OsString>,

    /// Keep the owners of definitions where --set-owner, --set-group or --all-root is given.
    #[arg(long)]
    pseudo_override: bool,

    /// Do something to the files for which an expression is true, in the notation of mksquashfs:
    /// `ACTION@EXPRESSION`, as in `chmod(go-w)@type(f) && !name(*.sh)`. The actions are exclude,
    /// prune, empty, uid, gid, guid, chmod, uncompressed, xattrs-include, xattrs-exclude and
    /// xattrs-add; of SquashFS also fragments, no-fragments, tailend, no-tailend and align(SIZE).
    /// Can be repeated.
    #[arg(long, value_name = "ACTION")]
    action: Vec<String>,

    /// Do the actions of a file, one a line.
    #[arg(long, value_name = "FILE")]
    action_file: Vec<PathBuf>,

    /// Store each name of a hard-linked file as a separate file; their content is stored once.
    #[arg(long)]
    no_hardlinks: bool,

    /// Do not store extended attributes.
    #[arg(long, visible_alias = "skip-xattrs")]
    no_xattrs: bool,

    /// Add an extended attribute to all files, of `user.` to regular files and directories. The
    /// value may be octal (0t), hexadecimal (0x) or base64 (0s). Can be repeated.
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "no_xattrs")]
    xattrs_add: Vec<OsString>,

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

    /// Match file contexts with paths below this one, for other programs' options.
    #[arg(long, hide = true, value_name = "DIR", requires = "file_contexts")]
    mount_point: Option<OsString>,

    /// Make whiteouts of overlayfs of those of aufs, for other programs' options.
    #[arg(long, hide = true)]
    aufs: bool,

    /// Leave out whiteouts and attributes of overlayfs, for other programs' options.
    #[arg(long, hide = true)]
    ovlfs_strip: bool,
}

impl FilterArgs {
    /// Sets these options in a request.
    pub fn apply(self, request: &mut BuildRequest) -> Result<()> {
        let flags = self.flags;
        request.filters = self.choices;
        request.actions = actions(self.actions)?;
        request.pseudo = flags.pseudo;
        request.pseudo_files = flags.pseudo_file;
        request.pseudo_dir = flags.pseudo_dir;
        request.pseudo_override = flags.pseudo_override;
        request.xattrs_add = flags.xattrs_add;
        request.separate_links = flags.no_hardlinks;
        request.keep_xattrs = !flags.no_xattrs;
        request.xattrs = XattrFilter::of(&flags.xattrs_include, &flags.xattrs_exclude)?;
        request.file_contexts = flags.file_contexts;
        request.mount_point = flags.mount_point;
        request.marks = LayerMarks {
            from_aufs: flags.aufs,
            stripped: flags.ovlfs_strip,
        };
        Ok(())
    }
}

/// Parses actions.
fn actions(texts: Vec<ActionText>) -> Result<Vec<Action>> {
    let ids = IdsByName {
        user: &owners::user,
        group: &owners::group,
    };
    let mut all = Vec::new();
    for text in texts {
        match text {
            ActionText::One(text) => all.push(Action::parse(&text, &ids)?),
            ActionText::File(file) => {
                let text = std::fs::read_to_string(&file);
                let text = text.map_err(|e| Error::io("cannot read", e).path(&file))?;
                let parsed = Action::parse_all(&text, &ids);
                all.extend(parsed.map_err(|error| error.path(&file))?);
            }
        }
    }
    Ok(all)
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
        let mut flags = FilterFlags::from_arg_matches(matches)?;
        let indices = |id: &str| matches.indices_of(id).into_iter().flatten();
        rules.extend(indices("exclude").zip(take(&mut flags.exclude).map(Filter::Exclude)));
        rules.extend(indices("include").zip(take(&mut flags.include).map(Filter::Include)));
        let expressions = take(&mut flags.exclude_regex);
        rules.extend(indices("exclude_regex").zip(expressions.map(Filter::ExcludeRegex)));
        let names = take(&mut flags.exclude_names);
        rules.extend(indices("exclude_names").zip(names.map(Filter::ExcludeNames)));
        rules.extend(indices("only").zip(take(&mut flags.only).map(Filter::Only)));
        let listed = take(&mut flags.only_itself).map(Filter::OnlyItself);
        rules.extend(indices("only_itself").zip(listed));
        let lists = take(&mut flags.files_from).map(Filter::FilesFrom);
        rules.extend(indices("files_from").zip(lists));
        let files = take(&mut flags.exclude_from).map(Filter::ExcludeFrom);
        rules.extend(indices("exclude_from").zip(files));
        let files = take(&mut flags.include_from).map(Filter::IncludeFrom);
        rules.extend(indices("include_from").zip(files));
        let mut actions = Vec::new();
        let texts = take(&mut flags.action).map(ActionText::One);
        actions.extend(indices("action").zip(texts));
        let files = take(&mut flags.action_file).map(ActionText::File);
        actions.extend(indices("action_file").zip(files));
        actions.sort_by_key(|(index, _)| *index);
        rules.sort_by_key(|(index, _)| *index);
        let choices = rules.into_iter().map(|(_, choice)| choice).collect();
        Ok(Self {
            choices,
            actions: actions.into_iter().map(|(_, action)| action).collect(),
            flags,
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

fn take<T>(list: &mut Vec<T>) -> std::vec::IntoIter<T> {
    std::mem::take(list).into_iter()
}
