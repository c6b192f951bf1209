//! `sinter cat`: writes files of an image to standard output.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use sinterfs::model::Image;
use sinterfs::ops::{Follow, Unread, cat, expand, resolve};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Kind, Result};

use crate::args::input::ImageArgs;
use crate::args::run::JobsArgs;
use crate::flags::message;
use crate::standard_files;
use crate::unsquashfs_paths::PathArgs;
use crate::{exit, messages};

/// Print files of an image.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter cat image.dwarfs etc/os-release
      Print a file.
  sinter cat image.dwarfs 'etc/*.conf'
      Print the files that match; directories among them are left out.")]
pub struct Args {
    #[command(flatten)]
    image: ImageArgs,

    /// The files to print; symlinks are followed within the image, and patterns are expanded: `*`
    /// matches within a name, `**` across slashes.
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<OsString>,

    /// Go on after a path that cannot be printed.
    #[arg(long, hide = true)]
    go_on: bool,

    #[command(flatten)]
    chosen: PathArgs,

    #[command(flatten)]
    jobs: JobsArgs,
}

/// Prints the files in the order given.
pub fn run(args: &Args) -> Result<ExitCode> {
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let mut out = standard_files::output();
    let mut code = ExitCode::SUCCESS;
    let mut unread = Unread::default();
    let mut failed = |error: Error| {
        if !args.go_on || error.kind() == Kind::Io {
            return Err(error);
        }
        messages::line(format_args!("sinter: {}", message(&error)));
        code = ExitCode::from(exit::PARTIAL);
        Ok(())
    };
    if args.chosen.names.is_some() {
        let left_out = args.chosen.left_out(image, &mut unread)?;
        // path by path: what is printed first is what was typed first
        for typed in &args.paths {
            let typed = std::slice::from_ref(typed);
            let (found, missing) = args.chosen.chosen(image, typed, &mut unread)?;
            missing.into_iter().try_for_each(&mut failed)?;
            for path in found.iter().filter(|path| !is_below(path, &left_out)) {
                print(args, image, &names::bytes(path), &mut out).or_else(&mut failed)?;
            }
        }
    } else {
        for path in &args.paths {
            expanded(args, image, path, &mut unread, &mut out).or_else(&mut failed)?;
        }
    }
    out.flush()
        .map_err(|e| Error::io("cannot write the content", e))?;
    let is_complete = unread.is_empty();
    let incomplete = exit::unread(unread);
    Ok(if is_complete { code } else { incomplete })
}

/// Returns whether a path is one of those left out, or below one.
fn is_below(path: &OsStr, left_out: &[OsString]) -> bool {
    let path = Path::new(path);
    left_out.iter().any(|above| path.starts_with(above))
}

/// Prints the files of a path or a pattern; directories among several are left out.
fn expanded(
    args: &Args,
    image: &dyn Image,
    path: &OsStr,
    unread: &mut Unread,
    out: &mut dyn Write,
) -> Result<()> {
    let path = names::bytes(path);
    for found in expand(image, &path, unread)? {
        let is_match = found != *path;
        if is_match {
            let ino = resolve(image, &found, Follow::All)?;
            if image.inode(ino)?.kind == FileType::Directory {
                continue;
            }
        }
        print(args, image, &found, out)?;
    }
    Ok(())
}

fn print(args: &Args, image: &dyn Image, path: &[u8], out: &mut dyn Write) -> Result<()> {
    let located = |error: Error| error.path(names::path(path));
    let ino = resolve(image, path, Follow::All).map_err(located)?;
    cat(image, ino, args.jobs.threads(), out).map_err(located)?;
    Ok(())
}
