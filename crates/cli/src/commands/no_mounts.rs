//! `sinter mount`, `mounts` and `umount` where there are no mounts: only Linux has them.
//!
//! In: any words. Out: an error that says so, with what can be done instead.

use std::ffi::OsString;
use std::process::ExitCode;

use sinterfs::{Error, Result};

/// Not on this system: only Linux mounts images.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub struct Args {
    /// Any words.
    #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Fails.
pub fn run(_args: &Args) -> Result<ExitCode> {
    let what = "there are no mounts on this system: `sinter extract`, `cat`, `ls` and `grep` read \
                images without one";
    Err(Error::unsupported(what))
}
