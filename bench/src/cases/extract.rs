//! Extraction of whole images by all tools that read them.

use std::path::Path;

use crate::bench::{Bench, Label, remove};
use crate::case::Case;
use crate::harness::sets::Set;
use crate::harness::trees;
use crate::runner::{Measurement, Outcome, Round};
use crate::tables::cells::{Column, Counterpart, SetCells, Unit};
use crate::tools::command::{fill, quoted};

/// The case `extract`.
pub struct Extract;

const NAME: &str = "extract";

const COLUMNS: &[Column] = &[
    Column::new("wall", "wall", Unit::Seconds),
    Column::new("CPU", "cpu", Unit::Seconds),
    Column::new("peak", "peak", Unit::Megabytes),
];

impl Case for Extract {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Extracting"
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let out = bench.work.join("extracted");
        let mut all = Vec::new();
        for (builder, image) in bench.images(set)? {
            for reader in bench.readers(builder.tool, |tool| tool.extract) {
                let places = [("image", &*quoted(&image)), ("out", &quoted(&out))];
                let command = fill(reader.extract, &places, bench.options.jobs);
                let out = out.clone();
                let label = Label {
                    part: NAME,
                    tool: reader.name,
                    image: builder.name(),
                    command: reader.extract,
                    args: builder.variant.args,
                    made_by: &[builder.tool.build],
                    version_of: reader.name,
                };
                all.push(Measurement {
                    record: bench.record(set, label),
                    run: Box::new(move |round| extract(bench, set, &command, &out, round)),
                });
            }
        }
        Ok(all)
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        cells.compared("extracted by", NAME, COLUMNS, Counterpart::SameImage)
    }
}

fn extract(
    bench: &Bench<'_>,
    set: &Set,
    command: &str,
    out: &Path,
    round: Round,
) -> Result<Outcome, String> {
    remove(out);
    let cost = bench.shell().run(command)?;
    let figures = [("wall", cost.wall), ("cpu", cost.cpu), ("peak", cost.peak)];
    let mut outcome = Outcome::of(&figures);
    if round == Round::First {
        outcome.wrong = trees::equal(&set.dir, out).err();
    }
    remove(out);
    Ok(outcome)
}
