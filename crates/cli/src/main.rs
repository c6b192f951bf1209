//! `sinter`: parses the command line, calls the facade and prints the result.

mod args;
#[cfg(all(feature = "browse", target_os = "linux"))]
mod browse;
mod build_report;
mod calendar;
mod commands;
mod compat;
mod composefs_lines;
mod dump_erofs_lines;
mod exit;
mod facts;
mod flags;
mod format_flags;
mod help;
mod hidden_words;
mod hints;
mod interrupt;
mod messages;
mod mksquashfs_info_lines;
mod moment;
#[cfg_attr(not(target_os = "linux"), path = "mount_options/names.rs")]
mod mount_options;
mod owners;
mod page;
mod progress;
mod pseudo_file_lines;
mod rdsquashfs_rows;
mod rows;
#[cfg(target_os = "linux")]
mod self_run;
mod shell_pattern;
mod shorthand;
mod size;
mod sqfsdiff_lines;
mod standard_files;
#[cfg(target_os = "linux")]
mod temporary_directory;
mod text;
mod timings;
mod unsquashfs_paths;
mod unsquashfs_rows;
mod unsquashfs_superblock;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use sinterfs::{Error, Result};

use commands::Command;
use compat::Invocation;
#[cfg(target_os = "linux")]
use self_run::SelfRun;

/// Pack directory trees into read-only images, and mount, read and check them.
#[derive(Debug, Parser)]
#[command(
    name = "sinter",
    version = env!("CARGO_PKG_VERSION"),
    long_version = version::LONG.as_str(),
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(after_help = "\
Examples:
  sinter build /usr/share/doc -o doc.dwarfs
      Pack a directory.
  sinter mount doc.dwarfs /mnt
      Mount the image; `sinter umount /mnt` ends that.
  sinter ls -l doc.dwarfs gzip
      List a directory of the image.
  sinter extract doc.dwarfs -o out
      Unpack the image.
  sinter check --deep doc.dwarfs
      Verify all data.

Exit codes: 0 success, also if metadata that the output format does not have was reported as not \
kept (--strict makes that an error); 1 done, but a file or an attribute was left out, or a file \
changed while it was read or is damaged, or `diff` found differences, \
`grep` nothing; 2 wrong usage; 3 corrupt image; 4 unsupported; 5 not found; 6 limit exceeded; \
7 error of the system; 8 files were salvaged in part; 130 interrupted; \
141 the reader of a pipe ended.")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let hidden = std::env::var_os(hidden_words::VARIABLE);
    let args = hidden_words::restore(std::env::args_os().collect(), hidden);
    run_alone_or_of_image(args)
}

/// Runs the command line; an image after this program can change its meaning.
#[cfg(target_os = "linux")]
fn run_alone_or_of_image(args: Vec<OsString>) -> ExitCode {
    match self_run::plan(&args) {
        Ok(None) => run(args),
        Ok(Some(SelfRun::Words(words))) => run(words),
        Ok(Some(SelfRun::Temporary(words, dir))) => {
            let code = run(words);
            drop(dir);
            code
        }
        Ok(Some(SelfRun::Text(text))) => match text::print(&text) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => exit::report(&error).into(),
        },
        Err(error) => exit::report(&error).into(),
    }
}

/// Runs the command line.
#[cfg(not(target_os = "linux"))]
fn run_alone_or_of_image(args: Vec<OsString>) -> ExitCode {
    run(args)
}

fn run(args: Vec<OsString>) -> ExitCode {
    let codes = compat::exit_codes(&args);
    let done = compat::invocation(args).and_then(|invocation| match invocation {
        Invocation::Own(words) => {
            let words = shorthand::expand(words, &Cli::command())?;
            match parse(&words) {
                Ok(cli) => commands::run(cli.command, &words, definitions),
                Err(answer) => show(&answer, &words),
            }
        }
        Invocation::Translated(translated) => match parse(&translated.words) {
            Ok(cli) => {
                translated.print_notes();
                let code = commands::run(cli.command, &translated.words, definitions)?;
                Ok(translated.exit_code(code))
            }
            Err(error) => Err(translated.error(&error)),
        },
        Invocation::Text(text) => text::print(&text).map(|()| ExitCode::SUCCESS),
    });
    // what is still to be printed is part of the run
    let done = done.and_then(|code| standard_files::finish().map(|()| code));
    match done {
        Ok(code) => codes.of_run(code),
        Err(error) => ExitCode::from(codes.of_error(exit::report(&error))),
    }
}

/// Returns the definitions of the command line.
fn definitions() -> clap::Command {
    help::with_short_help(Cli::command())
}

fn parse(words: &[OsString]) -> std::result::Result<Cli, clap::Error> {
    let mut definitions = definitions();
    let matches = definitions.try_get_matches_from_mut(words);
    let matches = matches.map_err(|error| hints::without_hidden(error, &definitions))?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definitions))
}

/// Prints an answer of the parser to a command line: help and versions, which are results, or an
/// error.
fn show(answer: &clap::Error, words: &[OsString]) -> Result<ExitCode> {
    if !answer.use_stderr() {
        standard_files::require_output()?;
    }
    let printed = answer.print();
    if let Some(hint) = hints::hint(words, answer) {
        messages::line(format_args!("\n  tip: {hint}"));
    }
    if !answer.use_stderr() {
        printed.map_err(|e| Error::io("cannot write to standard output", e))?;
    }
    let code = u8::try_from(answer.exit_code()).unwrap_or(exit::USAGE);
    Ok(ExitCode::from(code))
}
