//! Flags of commands that take a while: the number of threads, and how much is printed.

use crate::progress::{ProgressForm, Show};

/// The number of threads.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct JobsArgs {
    /// The number of threads (default: one per processor).
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArgs {
    /// Returns the number of threads to use.
    pub fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(processors, usize::from)
    }
}

/// How much is printed, and in which form.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct VerbosityArgs {
    /// Show only warnings and errors. A loss of information is a warning, but for fractions of
    /// seconds, which nearly every tree has.
    #[arg(short, long)]
    pub quiet: bool,

    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,

    /// How to show progress on standard error: auto is a bar on a terminal, else a line each 10
    /// seconds, and nothing with -q or --json; json is a line with `message_type` each second. The
    /// signal USR1 always prints a line.
    #[arg(
        long,
        value_enum,
        value_name = "FORM",
        default_value_t = ProgressArg::Auto,
        hide_default_value = true
    )]
    progress: ProgressArg,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ProgressArg {
    Auto,
    Bar,
    Plain,
    Json,
    None,
}

/// Whether the time of each stage is printed.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct StageTimingArgs {
    /// Show when each stage began and ended; --json always includes it.
    #[arg(short, long)]
    pub verbose: bool,
}

impl VerbosityArgs {
    /// Returns the state of the display.
    pub fn show(self) -> Show {
        match self.progress {
            ProgressArg::Auto if self.quiet || self.json => Show::Warnings,
            ProgressArg::Auto => Show::Progress,
            ProgressArg::Bar => Show::Always(ProgressForm::Bar),
            ProgressArg::Plain => Show::Always(ProgressForm::Plain),
            ProgressArg::Json => Show::Always(ProgressForm::Json),
            ProgressArg::None => Show::Always(ProgressForm::Nothing),
        }
    }
}
