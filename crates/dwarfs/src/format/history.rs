//! The run that an image records, with the options of the format.
//!
//! **Invariant:** the words of the command line are bytes of images: a change of them changes every
//! DwarFS image.

use sinterfs_format::{CreateOptions, RunWords, recorded_purpose::PURPOSE};

use crate::write::{DwarfsOptions, HistoryInfo, TimeResolution};

impl DwarfsOptions {
    /// Returns the record of the run that makes an image.
    pub(super) fn recorded(&self, options: &CreateOptions, unit: TimeResolution) -> HistoryInfo {
        let mut numbers = env!("CARGO_PKG_VERSION")
            .split(['.', '-'])
            .map(|part| part.parse().unwrap_or(0));
        HistoryInfo {
            version: std::array::from_fn(|_| numbers.next().unwrap_or(0)),
            system_id: std::env::consts::OS.to_owned(),
            compiler_id: "rustc".to_owned(),
            arguments: self.words(&options.run, unit),
            timestamp: options.create_timestamp,
            library_versions: vec![concat!("sinterfs-", env!("CARGO_PKG_VERSION")).to_owned()],
            former: options.former.of(),
        }
    }

    /// Returns the command line that the image records.
    fn words(&self, run: &RunWords, time_resolution: TimeResolution) -> Vec<String> {
        let mut words = run.command.clone();
        if let Some(settings) = &run.settings {
            words.push(format!("{PURPOSE}{}", self.purpose.unwrap_or_default()));
            words.extend_from_slice(settings);
            words.push(format!("--time-resolution={time_resolution}"));
        }
        let rules = self.by_category.iter();
        words.extend(rules.map(|(category, codec)| format!("--compression={category}::{codec}")));
        words.extend_from_slice(&run.more);
        if run.settings.is_some() {
            words.extend(self.base.iter().map(|_| "--base".to_owned()));
            words.extend(self.lookback.map(|blocks| format!("--lookback={blocks}")));
            words.extend(self.read_cost.map(|cost| format!("--read-cost={cost}")));
        }
        words
    }
}
