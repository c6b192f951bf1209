//! `sinter completions`: prints completion scripts for shells.

use std::process::ExitCode;

use clap_complete::Shell;
use sinterfs::Result;

use crate::text;

/// Print the completion script of a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  sinter completions bash > /etc/bash_completion.d/sinter")]
pub struct Args {
    /// The shell.
    shell: Shell,
}

/// Prints the completions.
pub fn run(args: &Args, definitions: clap::Command) -> Result<ExitCode> {
    let mut command = definitions;
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "sinter", &mut text);
    text::print(&String::from_utf8_lossy(&text))?;
    Ok(ExitCode::SUCCESS)
}
