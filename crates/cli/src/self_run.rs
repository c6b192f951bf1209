//! The program with an image appended to its own file (`--self-mount`).
//!
//! In: the words of the command line. Out: words of a command of `sinter` about that image; or the
//! program in the image, which takes the place of this process. **Invariant:** the image stays
//! mounted as long as the program in it or any process that it started has the descriptor that it
//! inherits, or anything in the mount is in use; then the mount and its directory are removed. The
//! server is not a child of the program, which may wait for all of its children.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::FdFlags;
use rustix::pipe::PipeFlags;
use sinterfs::mount::daemon;
use sinterfs::ops::{Follow, resolve};
use sinterfs::self_mount::{self, SelfMount};
use sinterfs::{Error, OpenOptions, Result};

use crate::temporary_directory::TemporaryDirectory;

/// The file of this program.
pub const OWN_FILE: &str = "/proc/self/exe";

/// The word that makes the following ones a command line of `sinter`.
pub const AS_SINTER: &str = "--sinter";

/// The prefix of all our words; other words are for the program in the image.
const OURS: &[u8] = b"--sinter-";

/// The program that AppImages run.
const APP_RUN: &str = "AppRun";

/// Something else to do than what the words say.
pub enum SelfRun {
    /// A command of `sinter`.
    Words(Vec<OsString>),
    /// The same, and a directory to remove after it.
    Temporary(Vec<OsString>, TemporaryDirectory),
    /// A text to print.
    Text(String),
}

/// Returns whether an image is appended to this program.
pub fn is_in_image() -> bool {
    self_mount::of_file(OWN_FILE).is_ok_and(|found| found.is_some())
}

/// Returns the action if an image is appended to this program; `None` if there is none. Does not
/// return if a program in the image runs.
pub fn plan(words: &[OsString]) -> Result<Option<SelfRun>> {
    // without /proc, this program is what it is
    let Ok(Some(own)) = self_mount::of_file(OWN_FILE) else {
        return Ok(None);
    };
    let mut given = words.iter().skip(1);
    let first = given.next();
    if first.is_some_and(|word| word == AS_SINTER) {
        let rest = given.cloned();
        return Ok(Some(SelfRun::Words(
            std::iter::once("sinter".into()).chain(rest).collect(),
        )));
    }
    let file = std::env::current_exe();
    let file = file.map_err(|error| Error::io("cannot find the file of this program", error))?;
    let image = ImageFile { file, own };
    let name = words.first().map(OsString::as_os_str).unwrap_or_default();
    let entry = image.entry()?;
    let ours = first.and_then(|word| verb(word, entry.is_none()));
    match (ours, first, entry) {
        (Some(verb), ..) => image.plan(&verb, &mut given, name).map(Some),
        (None, _, Some(entry)) => Err(image.run(&entry, words)?),
        (None, None, None) => image.plan("mount", &mut given, name).map(Some),
        (None, Some(word), None) => {
            let word = word.to_string_lossy();
            let what = format!("`{word}`: the image runs no program; --help says what it does");
            Err(Error::invalid(what))
        }
    }
}

/// Returns what a word of ours asks for. Without a program in the image, no words are left for it,
/// and the short ones are ours, too.
fn verb(word: &OsStr, short: bool) -> Option<String> {
    let bytes = word.as_bytes();
    let verb = match bytes.strip_prefix(OURS) {
        Some(verb) => verb,
        None if short && bytes == b"-h" => b"help",
        None if short => bytes.strip_prefix(b"--")?,
        None => return None,
    };
    Some(String::from_utf8_lossy(verb).into_owned())
}

/// This file, with an image in it.
struct ImageFile {
    file: PathBuf,
    own: SelfMount,
}

impl ImageFile {
    fn options(&self) -> OpenOptions {
        OpenOptions {
            offset: Some(self.own.offset),
            ..OpenOptions::default()
        }
    }

    /// Returns the path in the image of the program that runs.
    fn entry(&self) -> Result<Option<PathBuf>> {
        let chosen = &self.own.entry;
        if !chosen.is_empty() {
            return Ok(Some(Path::new(OsStr::from_bytes(chosen)).to_owned()));
        }
        let image = sinterfs::open_with(&self.file, &self.options())?;
        let found = resolve(&**image.raw(), APP_RUN.as_bytes(), Follow::Parents);
        Ok(found.is_ok().then(|| APP_RUN.into()))
    }

    /// Returns what a word of ours asks for.
    fn plan<'a>(
        &self,
        verb: &str,
        given: &mut impl Iterator<Item = &'a OsString>,
        name: &OsStr,
    ) -> Result<SelfRun> {
        let operand = given.next();
        if let Some(more) = given.next() {
            let more = more.to_string_lossy();
            return Err(Error::invalid(format!("`{more}`: one argument too many")));
        }
        match (verb, operand) {
            ("help", _) => Ok(SelfRun::Text(help(name))),
            ("offset", None) => Ok(SelfRun::Text(format!("{}\n", self.own.offset))),
            ("mount", Some(dir)) => {
                let words = self.words(&["mount"], &[]);
                Ok(SelfRun::Words(with_operands(
                    words,
                    &[self.file.as_ref(), dir],
                )))
            }
            ("mount", None) => {
                let dir = self.temporary()?;
                crate::text::print(&format!("{}\n", dir.path().display()))?;
                let words = self.words(&["mount", "--foreground"], &[]);
                let words = with_operands(words, &[self.file.as_ref(), dir.path().as_ref()]);
                Ok(SelfRun::Temporary(words, dir))
            }
            ("extract", Some(dir)) => {
                let words = self.words(&["extract"], &["--output".into(), dir.clone()]);
                Ok(SelfRun::Words(with_operands(words, &[self.file.as_ref()])))
            }
            ("extract", None) => Err(Error::invalid("the directory to extract to is missing")),
            _ => Err(Error::invalid(format!(
                "unknown option; `{} --sinter-help` has those that there are",
                name.to_string_lossy()
            ))),
        }
    }

    /// Returns the words of a command about the image, up to its operands.
    fn words(&self, verb: &[&str], more: &[OsString]) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["sinter".into()];
        words.extend(verb.iter().map(OsString::from));
        words.extend(["--offset".into(), self.own.offset.to_string().into()]);
        words.extend(more.iter().cloned());
        words
    }

    /// Makes a directory to mount on.
    fn temporary(&self) -> Result<TemporaryDirectory> {
        let name = self.file.file_name().unwrap_or_default();
        TemporaryDirectory::new(&name.to_string_lossy())
    }

    /// Mounts the image and becomes a program in it; returns why it did not.
    fn run(&self, entry: &Path, words: &[OsString]) -> Result<Error> {
        let dir = self.temporary()?;
        let open = self.serve(dir.path()).map_err(|error| {
            let what = format!("{error}; --sinter-extract DIR unpacks the image without a mount");
            Error::new(error.kind(), what)
        })?;
        // the server removes it
        let dir = dir.leave();
        let program = dir.join(entry);
        let mut command = Command::new(&program);
        command.args(words.iter().skip(1));
        if entry == Path::new(APP_RUN) {
            let here = std::env::current_dir().unwrap_or_default();
            command.env("APPDIR", &dir).env("APPIMAGE", &self.file);
            command.env(
                "ARGV0",
                words.first().map(OsString::as_os_str).unwrap_or_default(),
            );
            command.env("OWD", here);
        }
        rustix::io::fcntl_setfd(&open, FdFlags::empty())
            .map_err(|errno| Error::io("cannot pass on a descriptor", errno))?;
        let error = command.exec();
        let entry = entry.to_string_lossy();
        Ok(Error::io(
            format!("cannot run `{entry}` of the image"),
            error,
        ))
    }

    /// Starts the server of a mount, by a process that ends then; returns a descriptor that keeps
    /// it.
    fn serve(&self, dir: &Path) -> Result<OwnedFd> {
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (theirs, ours) = pipe.map_err(|errno| Error::io("cannot make a pipe", errno))?;
        let words = self.words(&["mount", "--while-open"], &[]);
        let words = with_operands(words, &[self.file.as_ref(), dir.as_ref()]);
        let mut command = Command::new(OWN_FILE);
        command.arg(AS_SINTER).args(words.iter().skip(1));
        daemon::start_apart(command.stdin(Stdio::from(theirs)))?;
        Ok(ours)
    }
}

/// Adds operands, which may begin with a dash.
fn with_operands(mut words: Vec<OsString>, operands: &[&OsStr]) -> Vec<OsString> {
    words.push("--".into());
    words.extend(operands.iter().map(|word| (*word).to_owned()));
    words
}

fn help(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    format!(
        "\
Usage: {name} [ARGUMENT]...

Mounts the file system image in this file on a temporary directory, and runs
a program in it with the arguments; if it has none, waits until it is
unmounted. These arguments are not passed on:

  --sinter-mount [DIR]    Mount the image; without a directory on a temporary
                          one, which is printed, until Ctrl-C.
  --sinter-extract DIR    Unpack the image.
  --sinter-offset         Print where the image begins in the file.
  --sinter-help           Print this help.
  --sinter COMMAND ...    Be the program sinter (`--sinter --help`).

If the image has no program to run, --mount, --extract, --offset and --help
are the same. Ordinary users need fusermount3 (package fuse3) for mounts.
"
    )
}
