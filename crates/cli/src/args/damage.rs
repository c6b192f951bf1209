//! `--salvage` and `--damage-log` of `sinter mount`: which files of a damaged image cannot be read.

use std::path::PathBuf;

use sinterfs::mount::DamageLog;

use crate::messages;

/// What becomes of damage.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Damaged images")]
pub struct DamageArgs {
    /// Mount an image although it is damaged: what can be read is shown, reading the rest is an
    /// error (EIO). Of a DwarFS image the end may be lost, behind the metadata. With -f each file
    /// that could not be read is named; `sinter check --deep` lists all of them.
    #[arg(long)]
    pub salvage: bool,

    /// Write to this file what could not be read, a path and the reason a line, each when it is
    /// read for the first time.
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
