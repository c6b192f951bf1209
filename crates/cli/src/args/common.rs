//! What every command that works for a while asks for: how many threads, how many words.

/// How many threads work.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct JobsArgs {
    /// How many threads work (default: one a processor).
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

impl JobsArgs {
    /// Returns how many threads to use.
    pub fn threads(&self) -> usize {
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(processors, usize::from)
    }
}

/// How much is said, and how.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct VerbosityArgs {
    /// Show warnings and errors only; what is not kept is a warning.
    #[arg(short, long)]
    pub quiet: bool,

    /// Print the result as JSON on standard output.
    #[arg(long)]
    pub json: bool,
}

/// Whether it is told how long each stage took.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = crate::args::GENERAL)]
pub struct StageTimingArgs {
    /// Tell when each stage began and ended; --json always does.
    #[arg(short, long)]
    pub verbose: bool,
}

impl VerbosityArgs {
    /// Returns whether progress is shown.
    pub fn show(self) -> crate::progress::Show {
        if self.quiet || self.json {
            crate::progress::Show::Warnings
        } else {
            crate::progress::Show::Progress
        }
    }
}
