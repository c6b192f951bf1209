//! The commands: one file each, with its flags, its help and one call of the facade.

mod archive;
#[cfg(all(feature = "browse", target_os = "linux"))]
mod browse;
mod build;
#[cfg(feature = "remote")]
mod cache;
mod cat;
mod check;
mod cloop;
mod completions;
mod convert;
mod diff;
mod digest;
mod du;
mod extract;
mod find;
mod grep;
mod info;
mod keygen;
mod ls;
mod make_image;
mod man;
mod merge;
#[cfg(target_os = "linux")]
mod mount;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(not(target_os = "linux"))]
mod no_mounts;
mod oci;
mod parity;
mod pseudo_file;
#[cfg(feature = "remote")]
mod pull;
#[cfg(feature = "remote")]
mod push;
mod recompress;
mod repair;
mod sign;
mod stat;
mod tree;
#[cfg(target_os = "linux")]
mod umount;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;
use sinterfs::Result;

use crate::args::extract::ExtractArgs;
use crate::exit;
#[cfg(not(target_os = "linux"))]
use no_mounts::{self as mount, self as mounts, self as umount};

/// The commands of `sinter`.
#[derive(Debug, Subcommand)]
pub enum Command {
    Build(Box<build::Args>),
    Convert(Box<convert::Args>),
    Recompress(Box<recompress::Args>),
    Merge(Box<merge::Args>),
    Cloop(cloop::Args),
    Mount(mount::Args),
    Mounts(mounts::Args),
    Umount(umount::Args),
    Extract(ExtractArgs),
    Ls(ls::Args),
    Tree(tree::Args),
    Find(find::Args),
    Grep(Box<grep::Args>),
    Du(du::Args),
    #[cfg(all(feature = "browse", target_os = "linux"))]
    Browse(browse::Args),
    Stat(stat::Args),
    Cat(cat::Args),
    Info(info::Args),
    Check(check::Args),
    Diff(diff::Args),
    Digest(digest::Args),
    Keygen(keygen::Args),
    Sign(sign::Args),
    Parity(parity::Args),
    Repair(repair::Args),
    #[cfg(feature = "remote")]
    Push(push::Args),
    #[cfg(feature = "remote")]
    Pull(pull::Args),
    #[cfg(feature = "remote")]
    Cache(cache::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// Runs a command and returns the exit code of a run without error.
///
/// `words` is the command line that was parsed, for a command that starts the program again;
/// `definitions` returns the whole program's definitions, for commands about the program itself.
pub fn run(
    command: Command,
    words: &[OsString],
    definitions: fn() -> clap::Command,
) -> Result<ExitCode> {
    let is_search = matches!(command, Command::Grep(_));
    let code = dispatch(command, words, definitions)?;
    Ok(exit::of_command(code, is_search))
}

fn dispatch(
    command: Command,
    words: &[OsString],
    definitions: fn() -> clap::Command,
) -> Result<ExitCode> {
    match command {
        Command::Build(args) => build::run(*args),
        Command::Convert(args) => convert::run(*args),
        Command::Recompress(args) => recompress::run(*args),
        Command::Merge(args) => merge::run(*args),
        Command::Cloop(args) => cloop::run(&args),
        #[cfg(target_os = "linux")]
        Command::Mount(args) => mount::run(&args, words),
        #[cfg(not(target_os = "linux"))]
        Command::Mount(args) => {
            // a mount would start the program again by these
            let _ = words;
            mount::run(&args)
        }
        Command::Mounts(args) => mounts::run(&args),
        Command::Umount(args) => umount::run(&args),
        Command::Extract(args) => extract::run(&args),
        Command::Ls(args) => ls::run(&args),
        Command::Tree(args) => tree::run(&args),
        Command::Find(args) => find::run(&args),
        Command::Grep(args) => grep::run(&args),
        Command::Du(args) => du::run(&args),
        #[cfg(all(feature = "browse", target_os = "linux"))]
        Command::Browse(args) => browse::run(&args),
        Command::Stat(args) => stat::run(&args),
        Command::Cat(args) => cat::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Digest(args) => digest::run(&args),
        Command::Keygen(args) => keygen::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Parity(args) => parity::run(&args),
        Command::Repair(args) => repair::run(&args),
        #[cfg(feature = "remote")]
        Command::Push(args) => push::run(&args),
        #[cfg(feature = "remote")]
        Command::Pull(args) => pull::run(&args),
        #[cfg(feature = "remote")]
        Command::Cache(args) => cache::run(&args),
        Command::Completions(args) => completions::run(&args, definitions()),
        Command::Man(args) => man::run(&args, definitions()),
    }
}
