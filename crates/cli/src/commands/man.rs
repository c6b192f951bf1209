//! `sinter man`: shows or writes manual pages, which are generated from the definitions of
//! `--help`.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use sinterfs::{Error, Result};

use crate::text;

/// Show the manual page of a command, or write all pages to a directory.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  sinter man build
      Show the manual page of a command.
  sinter man -o /usr/local/share/man/man1
      Write all pages to a directory.

On a terminal, man(1) shows the page if it is installed; otherwise its source or text is printed.")]
pub struct Args {
    /// The command (default: the program as a whole).
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Option<String>,

    /// Write sinter.1, sinter-build.1, ... to this directory.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Shows a page, or writes a page per command.
pub fn run(args: &Args, definitions: clap::Command) -> Result<ExitCode> {
    let definitions = with_versions(definitions);
    if let Some(output) = &args.output {
        std::fs::create_dir_all(output)
            .and_then(|()| clap_mangen::generate_to(definitions, output))
            .map_err(|e| Error::io("cannot write the manual", e).path(output))?;
        return Ok(ExitCode::SUCCESS);
    }
    let command = match &args.command {
        None => definitions,
        Some(name) => command(definitions, name)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Error::io("cannot render the page", e))?;
    if std::io::stdout().is_terminal() && is_shown_by_man(&page) {
        return Ok(ExitCode::SUCCESS);
    }
    text::print(&String::from_utf8_lossy(&page))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the definitions with the version of the program at each command, which pages show.
fn with_versions(mut definitions: clap::Command) -> clap::Command {
    for command in definitions.get_subcommands_mut() {
        let versioned = std::mem::take(command);
        *command = versioned
            .version(env!("CARGO_PKG_VERSION"))
            .disable_version_flag(true);
    }
    definitions
}

/// Finds a command by its name or an alias; its page is the page of `sinter COMMAND`.
fn command(definitions: clap::Command, name: &str) -> Result<clap::Command> {
    let mut program = definitions;
    program.build();
    let found = program.find_subcommand(name).cloned();
    let found = found.ok_or_else(|| {
        let names: Vec<_> = program
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        let names = names.join(", ");
        Error::invalid(format!(
            "`{name}` is not a command; the commands are {names}"
        ))
    })?;
    // the definitions keep names that live as long as the program
    let full: &'static str = format!("sinter-{}", found.get_name()).leak();
    Ok(found.name(full))
}

/// Passes a page to man(1); returns whether it was shown.
fn is_shown_by_man(page: &[u8]) -> bool {
    let started = Command::new("man")
        .args(["-l", "-"])
        .stdin(Stdio::piped())
        .spawn();
    let Ok(mut man) = started else { return false };
    if let Some(mut input) = man.stdin.take() {
        // a pager that is left early closes it
        let _ = input.write_all(page);
    }
    man.wait().is_ok_and(|status| status.success())
}
