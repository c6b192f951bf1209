//! Cost against input size, with parts of sets that grow, with a million files, and with tar
//! streams of as many as asked for.
//!
//! All sets form one input. Its name joins theirs; images are named after their builder and the
//! size of the part: `sinter 7 at 500 MB`.

mod inputs;
mod results;
mod streams;

pub use results::{NAME, bytes};

use inputs::{link_part, million_files};
use results::builder;
use streams::STREAMS;

use crate::bench::{Bench, remove};
use crate::case::Case;
use crate::harness::sets::Set;
use crate::results::Cell;
use crate::runner::{Measurement, in_turn};
use crate::tables::cells::SetCells;
use crate::tables::plot::{Plot, Point, Series};
use crate::tables::table::{figure, table};
use crate::tools::catalog;
use crate::tools::ours::DEFAULT_LEVEL;
use crate::tools::tool::Builder;

/// The case `scale`.
pub struct Scale;

/// The name of the set of a million small files.
pub const MILLION: &str = "a million files of 1 KB";

impl Case for Scale {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "Cost against input size"
    }

    /// Returns builds of one part with the default levels, or with what is asked for.
    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let is_wanted = |builder: &Builder| {
            let is_dwarfs = builder.tool.format == "dwarfs";
            let is_named = bench
                .options
                .tools
                .iter()
                .any(|name| name == builder.tool.name);
            let is_level = bench.options.levels.is_some() || builder.variant.label == DEFAULT_LEVEL;
            (is_dwarfs && is_level) || is_named
        };
        let image = bench.work.join("scale.image");
        let mut builders = bench.builders(set, true);
        builders.retain(is_wanted);
        let measurement = |builder| {
            let command = bench.build_command(set, builder, &image);
            let image = image.clone();
            let mut record = bench.build_record(set, NAME, builder);
            if let Some((names, size)) = set.name.split_once(" @") {
                names.clone_into(&mut record.subject.set);
                record.subject.image = format!("{} at {size}", builder.name());
            }
            Measurement {
                record,
                run: Box::new(move |_| {
                    let outcome = bench.build_once(&command, &image);
                    remove(&image);
                    outcome
                }),
            }
        };
        Ok(builders.into_iter().map(measurement).collect())
    }

    /// Measures parts of all sets together, then a million small files, then streams.
    fn run(&self, bench: &Bench<'_>, sets: &[Set]) -> Result<(), String> {
        let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
        let names = names.join("+");
        let measure = |set: Set| {
            let all = self.prepare(bench, &set)?;
            in_turn(&all, self.rounds(bench.options), bench.store).map(drop)
        };
        let dir = bench.work.join("scale").join("part");
        for &megabytes in &bench.options.sizes {
            remove(&dir);
            let total = link_part(sets, megabytes * 1_000_000, &dir)?;
            if total < megabytes * 900_000 {
                println!("{names}: less than {megabytes} MB, left out");
                continue;
            }
            measure(Set::open(format!("{names} @{megabytes} MB"), &dir)?)?;
        }
        remove(&dir);
        if bench.options.million {
            let dir = bench.work.join("scale").join("million");
            million_files(&dir)?;
            measure(Set::open(MILLION.into(), &dir)?)?;
        }
        for &count in &bench.options.files {
            let all = streams::builds(bench, count)?;
            in_turn(&all, self.rounds(bench.options), bench.store)?;
        }
        Ok(())
    }

    /// Shows cost per GB of input at each size.
    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        if cells.set == STREAMS {
            return streams::rows(cells);
        }
        let mut cells: Vec<&Cell> = cells.part(NAME).collect();
        cells.sort_by_key(|cell| (bytes(cell) as u64, catalog::rank(builder(cell))));
        let row = |cell: &&Cell| {
            vec![
                builder(cell).to_owned(),
                figure(Some(bytes(cell) / 1e6)),
                figure(cell.median("size").map(|size| size / 1e6)),
                figure(per_gb(cell, "wall")),
                figure(per_gb(cell, "cpu")),
                figure(cell.median("peak").map(|peak| peak / 1e6)),
            ]
        };
        let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
        let header = [
            "built by",
            "MB",
            "image MB",
            "wall s/GB",
            "CPU s/GB",
            "peak MB",
        ];
        (!rows.is_empty()).then(|| table(&header, &rows))
    }

    /// Draws cost against input size, a plot for each figure.
    fn plots(&self, cells: &SetCells<'_>) -> Vec<(String, Plot)> {
        let figures = [
            ("cpu", "CPU time of building", "CPU seconds", 1.0),
            ("wall", "wall time of building", "seconds", 1.0),
            ("peak", "memory of building", "peak memory in MB", 1e6),
        ];
        let groups = growing(cells);
        let plot = |(name, title, y_label, unit): (&str, &str, &'static str, f64)| {
            let point = |cell: &&Cell| {
                Some(Point {
                    x: bytes(cell) / 1e9,
                    y: cell.median(name)? / unit,
                    label: String::new(),
                })
            };
            let series = groups.iter().map(|(builder, group)| Series {
                name: builder.clone(),
                joined: true,
                points: group.iter().filter_map(point).collect(),
            });
            let plot = Plot {
                title: format!("{}: {title} against input size", cells.set),
                x_label: "input in GB",
                y_label,
                logarithmic: false,
                series: series.collect(),
            };
            (format!("{}-scale-{name}", cells.set), plot)
        };
        if groups.is_empty() {
            return Vec::new();
        }
        figures.into_iter().map(plot).collect()
    }
}

/// Returns the cells of growing parts of one input: by builder, each by size.
pub fn growing<'a>(cells: &SetCells<'a>) -> Vec<(String, Vec<&'a Cell>)> {
    let mut groups: Vec<(String, Vec<&Cell>)> = Vec::new();
    let grows = |cell: &&Cell| ![MILLION, STREAMS].contains(&&*cell.subject.set);
    for cell in cells.part(NAME).filter(grows) {
        match groups.iter_mut().find(|(name, _)| name == builder(cell)) {
            Some((_, group)) => group.push(cell),
            None => groups.push((builder(cell).to_owned(), vec![cell])),
        }
    }
    groups.sort_by_key(|(name, _)| catalog::rank(name));
    for (_, group) in &mut groups {
        group.sort_by_key(|cell| bytes(cell) as u64);
    }
    groups
}

/// Returns a figure for each GB of input.
pub fn per_gb(cell: &Cell, name: &str) -> Option<f64> {
    Some(cell.median(name)? / (bytes(cell) / 1e9))
}
