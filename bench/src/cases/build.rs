//! Builds of images by all tools: cost and size.

use crate::bench::Bench;
use crate::case::Case;
use crate::harness::sets::Set;
use crate::runner::Measurement;
use crate::tables::cells::{Column, Counterpart, SetCells, Unit};
use crate::tables::plot::{Plot, Point, Series};
use crate::tools::catalog;

/// The case `build`.
pub struct Build;

/// The name of the case: what images are compared by their size refer to.
pub const NAME: &str = "build";

const COLUMNS: &[Column] = &[
    Column::new("size", "size", Unit::Megabytes),
    Column::new("CPU", "cpu", Unit::Seconds),
    Column::new("wall", "wall", Unit::Seconds),
    Column::new("peak", "peak", Unit::Megabytes),
];

impl Case for Build {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Building"
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let measurement = |builder| {
            let image = bench.image(set, builder);
            let command = bench.build_command(set, builder, &image);
            Measurement {
                record: bench.build_record(set, NAME, builder),
                run: Box::new(move |_| bench.build_once(&command, &image)),
            }
        };
        Ok(bench
            .builders(set, true)
            .into_iter()
            .map(measurement)
            .collect())
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        cells.compared("built by", NAME, COLUMNS, Counterpart::NearestSize)
    }

    /// Draws size against CPU time.
    fn plots(&self, cells: &SetCells<'_>) -> Vec<(String, Plot)> {
        let series = catalog::all().map(|tool| {
            let own = cells
                .part(NAME)
                .filter(|cell| cell.subject.tool == tool.name);
            let point = |cell: &crate::results::Cell| {
                Some(Point {
                    x: cell.median("cpu")?,
                    y: cell.median("size")? / 1e6,
                    label: cell.subject.image.split_once(' ')?.1.to_owned(),
                })
            };
            Series {
                name: tool.name.to_owned(),
                joined: tool.format == "dwarfs",
                points: own.filter_map(point).collect(),
            }
        });
        let plot = Plot {
            title: format!("{}: size against CPU time of building", cells.set),
            x_label: "CPU seconds",
            y_label: "size in MB",
            logarithmic: true,
            series: series.filter(|series| !series.points.is_empty()).collect(),
        };
        vec![(cells.set.to_owned(), plot)]
    }
}
