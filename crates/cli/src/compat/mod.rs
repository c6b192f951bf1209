//! The program under the names of others: run as `mksquashfs`, `mkfs.erofs`, `mkdwarfs` and the
//! like (through a symlink), it takes their options.
//!
//! In: the command line. Out: the command line of `sinter` that does the same. **Invariant:** an
//! option means the same here or is refused with a hint; none is ignored (checked by tests over all
//! tables). Nothing here decides what images contain: the result is parsed like any command line.

mod checkers;
mod composefs;
mod create_compressed_fs;
mod dump_erofs;
mod exit_codes;
mod mkdwarfs;
mod mkfs_cramfs;
mod mkfs_erofs;
mod mkfs_erofs_options;
mod mkisofs;
mod mkisofs_boot;
mod mkisofs_others;
mod mkisofs_sources;
mod mksquashfs;
mod mksquashfs_append;
mod mksquashfs_options;
mod mksquashfs_sources;
mod mounts;
mod parse;
mod parsed;
mod rdsquashfs;
mod readers;
#[cfg(test)]
mod real_options;
mod sqfsdiff;
mod sqfstar;
mod squashfs_ng;
mod table;
#[cfg(test)]
mod tests;
mod unsquashfs;
mod values;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use clap::error::{ContextKind, ContextValue};
use sinterfs::{Error, Result};

pub use exit_codes::ExitCodes;
use parse::Request;
use parsed::Typed;
use table::Tool;

use crate::messages;

/// The request of a command line.
#[derive(Debug)]
pub enum Invocation {
    /// To run this command line of `sinter`, the name of the program first.
    Own(Vec<OsString>),
    /// The same, translated from the arguments of another program.
    Translated(Translated),
    /// To print this text.
    Text(String),
}

/// The command line of another program as one of `sinter`.
#[derive(Debug)]
pub struct Translated {
    /// The command line, the name of the program first.
    pub words: Vec<OsString>,
    /// The name of the other program.
    name: &'static str,
    typed: Vec<Typed>,
    notes: Vec<String>,
}

const TOOLS: [&Tool; 33] = [
    &mksquashfs::TOOL,
    &mksquashfs::OPENWRT,
    &sqfstar::TOOL,
    &squashfs_ng::TAR2SQFS,
    &squashfs_ng::GENSQUASHFS,
    &mkfs_erofs::TOOL,
    &mkfs_cramfs::TOOL,
    &mkfs_cramfs::MKCRAMFS,
    &create_compressed_fs::TOOL,
    &mkisofs::MKISOFS,
    &mkisofs::GENISOIMAGE,
    &mkisofs::XORRISOFS,
    &mkisofs::XORRISO,
    &mkdwarfs::TOOL,
    &unsquashfs::TOOL,
    &readers::SQFSCAT,
    &readers::SQFS2TAR,
    &readers::DWARFSEXTRACT,
    &rdsquashfs::TOOL,
    &sqfsdiff::TOOL,
    &checkers::FSCK_EROFS,
    &checkers::DWARFSCK,
    &dump_erofs::TOOL,
    &composefs::MKCOMPOSEFS,
    &composefs::COMPOSEFS_INFO,
    &composefs::MOUNT_COMPOSEFS,
    &mounts::MOUNT_SINTER,
    &mounts::MOUNT_FUSE_SINTER,
    &mounts::MOUNT_DWARFS,
    &mounts::DWARFS,
    &mounts::SQUASHFUSE,
    &mounts::SQUASHFUSE_LL,
    &mounts::EROFSFUSE,
];

/// Returns the program whose name is in the first argument of a command line.
fn called(args: &[OsString]) -> Option<&'static Tool> {
    let name = Path::new(args.first()?).file_name()?;
    TOOLS.into_iter().find(|tool| name == OsStr::new(tool.name))
}

/// Returns the exit codes of a command line, by the program name in its first argument.
pub fn exit_codes(args: &[OsString]) -> ExitCodes {
    ExitCodes(called(args).map(|tool| tool.name))
}

/// Returns the request of a command line, by the program name in its first argument.
pub fn invocation(mut args: Vec<OsString>) -> Result<Invocation> {
    let Some(tool) = called(&args) else {
        return Ok(Invocation::Own(args));
    };
    let rest = args.split_off(1);
    let name = tool.name;
    if rest.is_empty() {
        let what = format!(
            "usage: {name} {}; `{name} --help` lists the options",
            tool.usage
        );
        return Err(Error::invalid(what));
    }
    let mut parsed = match parse::parse(tool, rest)? {
        Request::Run(parsed) => parsed,
        Request::Help => return Ok(Invocation::Text(tool.help_text())),
        Request::Version => {
            return Ok(Invocation::Text(tool.version_text()));
        }
    };
    let typed = std::mem::take(&mut parsed.typed);
    let notes = Rc::clone(&parsed.notes);
    let mut words = vec![OsString::from("sinter")];
    words.extend((tool.translate)(parsed)?);
    let notes = notes.take();
    Ok(Invocation::Translated(Translated {
        words,
        name,
        typed,
        notes,
    }))
}

impl Translated {
    /// Prints what is to be said about options, unless only errors are to be.
    pub fn print_notes(&self) {
        if !self.words.iter().any(|word| word == "--quiet") {
            for note in &self.notes {
                messages::line(format_args!("sinter: {note}"));
            }
        }
    }

    /// Returns the exit code of a run without an error that ends it: 0, whatever failed, where
    /// `-no-exit-code` asks for that.
    pub fn exit_code(&self, ours: ExitCode) -> ExitCode {
        let asks = |typed: &Typed| ["-no-exit", "-no-exit-code"].contains(&typed.spelling);
        if self.typed.iter().any(asks) {
            ExitCode::SUCCESS
        } else {
            ours
        }
    }

    /// Returns an error of the parser of `sinter` in the words of the other program: options are
    /// called as they were typed, and the usage of `sinter` is left out.
    pub fn error(&self, error: &clap::Error) -> Error {
        let rendered = error.render().to_string();
        let first = rendered.lines().next().unwrap_or_default();
        let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
        if let Some(ContextValue::Strings(missing)) = error.get(ContextKind::InvalidArg)
            && message.ends_with(':')
        {
            // the other lines name what is missing
            message = format!("{message} {}", missing.join(", "));
        }
        for kind in [ContextKind::InvalidArg, ContextKind::PriorArg] {
            if let Some(ContextValue::String(ours)) = error.get(kind)
                && let Some(typed) = self.typed_as(ours)
            {
                message = message.replace(&**ours, typed);
            }
        }
        Error::invalid(format!("{}: {message}", self.name))
    }

    /// Returns how an option of ours, as in `--jobs <N>`, was typed.
    fn typed_as(&self, ours: &str) -> Option<&'static str> {
        let flag = ours.split([' ', '=', '[']).next()?;
        let words = |text: &'static str| text.split([' ', ',', '=', ':', ';']);
        let last = self
            .typed
            .iter()
            .rfind(|typed| words(typed.becomes).any(|word| word == flag));
        last.map(|typed| typed.spelling)
    }
}
