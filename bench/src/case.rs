//! A kind of measurement: what it needs, how it is taken, and how its results are shown.

use crate::bench::Bench;
use crate::harness::sets::Set;
use crate::options::BenchOptions;
use crate::runner::{Measurement, in_turn};
use crate::tables::cells::SetCells;
use crate::tables::plot::Plot;

/// One kind of measurement. All that are measured of one set take turns.
pub trait Case: Sync {
    /// Returns the name in results and for `--only`.
    fn name(&self) -> &'static str;

    /// Returns the heading of its tables.
    fn title(&self) -> &'static str;

    /// Returns the names of the sets that it is measured on unless others are asked for.
    fn usual_sets(&self) -> &'static [&'static str] {
        &[
            "perl-installs",
            "py-versions",
            "git-heads",
            "debian-rootfs",
            "debian-desktop",
            "tensorflow-rootfs",
            "media-mix",
        ]
    }

    /// Returns whether it mounts by the kernel's drivers.
    fn needs_root(&self) -> bool {
        false
    }

    /// Returns how often each measurement is taken.
    fn rounds(&self, options: &BenchOptions) -> usize {
        options.runs
    }

    /// Makes what is needed and not measured, and returns the measurements of one set.
    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String>;

    /// Takes all measurements of each set, in turn, and stores their results.
    fn run(&self, bench: &Bench<'_>, sets: &[Set]) -> Result<(), String> {
        for set in sets {
            let (files, megabytes) = (set.files.len(), set.bytes as f64 / 1e6);
            println!(
                "\n== {} of {}: {files} files, {megabytes:.1} MB",
                self.name(),
                set.name
            );
            let measurements = self.prepare(bench, set)?;
            let failed = in_turn(&measurements, self.rounds(bench.options), bench.store)?;
            bench.note_failures(failed);
        }
        Ok(())
    }

    /// Returns the tables of one set as Markdown, if there are results.
    fn rows(&self, cells: &SetCells<'_>) -> Option<String>;

    /// Returns the plots of one set, with the names of their files.
    fn plots(&self, _cells: &SetCells<'_>) -> Vec<(String, Plot)> {
        Vec::new()
    }
}
