//! `--salvage` and `--damage-log` of `sinter mount`: which files of a damaged image cannot be read.

use std::path::PathBuf;

use sinterfs::mount::DamageLog;

use crate::messages;

/// The handling of damage.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Damaged images")]
pub struct DamageArgs {
    /// Mount a damaged image: readable parts are shown, and reading the rest is an error (EIO). The
    /// end of a DwarFS image may be lost, after the metadata. With -f each file that could not be
    /// read is named; `sinter check --deep` lists all of them.
    #[arg(long)]
    pub salvage: bool,

    /// Write to this file which files could not be read, one line with path and reason for each,
    /// each when it is read for the first time.
    #[arg(long, value_name = "FILE")]
    pub damage_log: Option<PathBuf>,
}

impl DamageArgs {
    /// Returns where damage is logged: in the file, or else by messages if `prints`.
    pub fn log(&self, prints: bool) -> Option<DamageLog> {
        let by_messages = || prints.then_some(DamageLog::Lines(print));
        let file = self.damage_log.clone().map(DamageLog::File);
        file.or_else(by_messages)
    }
}

fn print(line: &str) {
    messages::line(format_args!("sinter: {line}"));
}
