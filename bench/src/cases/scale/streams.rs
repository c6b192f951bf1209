//! Builds from generated tar streams of many small files: what a file takes, whatever it holds.

use crate::bench::{Bench, remove};
use crate::harness::sets::Set;
use crate::harness::tar_stream;
use crate::results::Cell;
use crate::runner::Measurement;
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, table};
use crate::tools::command::{fill, quoted};
use crate::tools::ours::DEFAULT_LEVEL;
use crate::tools::tool::Builder;

use super::results::{NAME, builder, bytes};

/// The name of the set in results.
pub const STREAMS: &str = "tar streams of small files";

/// Returns the builds of one stream: by our default level, or by the levels that are asked for.
pub fn builds<'a>(bench: &'a Bench<'a>, count: u64) -> Result<Vec<Measurement<'a>>, String> {
    let set = Set {
        name: STREAMS.into(),
        dir: "-".into(),
        files: Vec::new(),
        bytes: count * tar_stream::FILE_BYTES as u64,
    };
    let writer = std::env::current_exe().map_err(|e| e.to_string())?;
    let writer = format!("{} {} {count}", quoted(&writer), tar_stream::CHILD);
    let image = bench.work.join("scale.image");
    let mut builders = bench.builders(&set, true);
    builders.retain(|builder| {
        let is_level = bench.options.levels.is_some() || builder.variant.label == DEFAULT_LEVEL;
        builder.tool.is_sinter() && is_level
    });
    let measurement = |builder: Builder| {
        let places = [
            ("args", builder.variant.args),
            ("dir", "-"),
            ("image", &quoted(&image)),
        ];
        let build = fill(builder.tool.build, &places, bench.options.jobs);
        let (command, image) = (format!("{writer} | {build}"), image.clone());
        let mut record = bench.build_record(&set, NAME, builder);
        record.subject.image = format!("{} at {count} files", builder.name());
        record.files = count;
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

/// Shows what a file takes at each count.
pub fn rows(cells: &SetCells<'_>) -> Option<String> {
    let mut cells: Vec<&Cell> = cells.part(NAME).collect();
    cells.sort_by_key(|cell| bytes(cell) as u64);
    let row = |cell: &&Cell| {
        let files = cell.last().map_or(0.0, |run| run.files as f64);
        let of_file = |name: &str, unit: f64| {
            figure(cell.median(name).map(|value| value * unit / files.max(1.0)))
        };
        vec![
            builder(cell).to_owned(),
            format!("{files}"),
            of_file("wall", 1e6),
            of_file("cpu", 1e6),
            of_file("size", 1.0),
            of_file("peak", 1.0),
            figure(cell.median("peak").map(|peak| peak / 1e6)),
        ]
    };
    let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
    let header = [
        "built by",
        "files",
        "wall µs/file",
        "CPU µs/file",
        "image bytes/file",
        "peak bytes/file",
        "peak MB",
    ];
    (!rows.is_empty()).then(|| table(&header, &rows))
}
