//! `sinter`: flags to one facade call to text. Nothing here knows a format or does the work.

mod args;
mod build_report;
mod calendar;
mod commands;
mod compat;
mod exit;
mod flags;
mod interrupt;
mod messages;
mod page;
mod progress;
mod size;
mod text;
mod timings;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use sinterfs::{Error, Result};

use commands::Command;
use compat::Invocation;

/// Packs trees of files into read-only images, and mounts, reads and checks them.
#[derive(Debug, Parser)]
#[command(
    name = "sinter",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(after_help = "\
Examples:
  sinter build /usr/share/doc -o doc.dwarfs    pack a directory
  sinter mount doc.dwarfs /mnt                 mount it (sinter umount /mnt ends that)
  sinter ls -l doc.dwarfs gzip                 list a directory in it
  sinter extract doc.dwarfs -o out             unpack it
  sinter check --deep doc.dwarfs               verify every byte

Exit codes: 0 done; 1 done, but something was left out, changed or is damaged; 2 wrong use;
3 corrupt image; 4 unsupported; 5 not found; 6 over a limit; 7 the system refused; 130 interrupted.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let args = std::env::args_os().collect();
    let done = compat::invocation(args).and_then(|invocation| match invocation {
        Invocation::Own(words) => match Cli::try_parse_from(words) {
            Ok(cli) => commands::run(cli.command, Cli::command),
            Err(answer) => show(&answer),
        },
        Invocation::Translated(translated) => match Cli::try_parse_from(&translated.words) {
            Ok(cli) => commands::run(cli.command, Cli::command),
            Err(error) => Err(translated.error(&error)),
        },
        Invocation::Text(text) => text::print(&text).map(|()| ExitCode::SUCCESS),
    });
    match done {
        Ok(code) => code,
        Err(error) => exit::report(&error),
    }
}

/// Prints what the parser has to say: help that was asked for, which is a result, or what is wrong.
fn show(answer: &clap::Error) -> Result<ExitCode> {
    let printed = answer.print();
    if !answer.use_stderr() {
        printed
            .and_then(|()| std::io::stdout().flush())
            .map_err(|e| Error::io("cannot write to standard output", e))?;
    }
    let code = u8::try_from(answer.exit_code()).unwrap_or(exit::USAGE);
    Ok(ExitCode::from(code))
}
