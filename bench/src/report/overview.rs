//! What a reader takes in at once: one table of all sets, and one picture of one set.
//!
//! Enters cells and ratios; leaves Markdown and SVG. **Invariant:** the picture has no background,
//! and its colours are readable on white and on black, since a page does not say which it is on.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::cases::mounts;
use crate::results::Cell;
use crate::tools::ours::{DEFAULT_LEVEL, SINTER};

use super::claims::{Ratio, SetClaims};
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, ratio, table};

/// The workload whose cold time stands for reading: all files in the order of their names.
const READING: &str = "tar";

/// The set of the picture: the one whose images for the kernel's own drivers have a size.
pub const PICTURED: &str = "debian-rootfs";

/// The file name of the picture, without its extension.
pub const PICTURE: &str = "size-and-cold-read";

/// Returns the table of all sets: the default image beside mkdwarfs' default.
pub fn show(cells: &[Cell], ratios: &[Ratio]) -> Option<String> {
    let sets: BTreeSet<&str> = cells.iter().map(|cell| &*cell.subject.set).collect();
    let rows: Vec<Vec<String>> = sets
        .iter()
        .filter_map(|set| row(&SetClaims::of(cells, ratios, set)))
        .collect();
    let header = [
        "set", "MB", "files", "size", "CPU", "wall", "memory", "kernel", "FUSE",
    ];
    (!rows.is_empty()).then(|| table(&header, &rows))
}

fn row(set: &SetClaims<'_>) -> Option<Vec<String>> {
    let (ours, theirs) = (format!("{SINTER} {DEFAULT_LEVEL}"), "mkdwarfs 7");
    let built = |name: &str| set.builds(&ours, theirs, name);
    let size = built("size")?;
    let input = set.cells.find("build", SINTER, &ours)?.last()?;
    let read = |driver: &str| set.median("mounts", driver, READING, "cold");
    let mut row = vec![
        set.cells.set.to_owned(),
        figure(Some(input.bytes as f64 / 1e6)),
        input.files.to_string(),
        figure_of(Some(size)),
    ];
    row.extend(["cpu", "wall", "peak"].map(|name| figure_of(built(name))));
    row.extend(
        ["sinter, kernel", "sinter, FUSE"].map(|driver| ratio(read(driver), read("dwarfs"))),
    );
    Some(row)
}

fn figure_of(quotient: Option<f64>) -> String {
    quotient.map_or("-".into(), |quotient| format!("{quotient:.2}"))
}

/// A tool in the picture.
struct Marker {
    name: &'static str,
    label: Label,
    is_ours: bool,
    seconds: f64,
    megabytes: f64,
}

/// Where the name of a marker is, so that names do not overlap.
#[derive(Clone, Copy)]
enum Label {
    AboveLeft,
    AboveRight,
    BelowRight,
}

/// Draws size against the time of a cold read of all files; nothing if fewer than two are known.
pub fn picture(cells: &[Cell]) -> Option<String> {
    let set = SetCells::of(cells, PICTURED);
    let built = |tool: &str, level: &str| set.find("build", tool, &format!("{tool} {level}"));
    let (ours, theirs) = (built(SINTER, DEFAULT_LEVEL), built("mkdwarfs", "7"));
    let native = |driver: &str| set.find("mounts", driver, mounts::IMAGE);
    let markers = [
        (
            "sinter (DwarFS), kernel",
            Label::AboveLeft,
            "sinter, kernel",
            ours,
        ),
        (
            "sinter (DwarFS), FUSE",
            Label::BelowRight,
            "sinter, FUSE",
            ours,
        ),
        ("mkdwarfs and dwarfs", Label::AboveLeft, "dwarfs", theirs),
        (
            "SquashFS zstd, kernel",
            Label::AboveRight,
            "SquashFS",
            native("SquashFS"),
        ),
        (
            "EROFS lz4hc, kernel",
            Label::AboveRight,
            "EROFS",
            native("EROFS"),
        ),
    ];
    let marker = |(name, label, driver, image): (_, _, &str, Option<&Cell>)| {
        Some(Marker {
            name,
            label,
            is_ours: driver.starts_with(SINTER),
            seconds: set.find("mounts", driver, READING)?.median("cold")?,
            megabytes: image?.median("size")? / 1e6,
        })
    };
    let markers: Vec<Marker> = markers.into_iter().filter_map(marker).collect();
    (markers.len() > 1).then(|| draw(&markers))
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 330.0;
/// Where the axes meet, and where they end.
const ORIGIN: (f64, f64) = (64.0, 282.0);
const END: (f64, f64) = (700.0, 44.0);

/// Readable on white and on black.
const GREY: &str = "#808891";
const BLUE: &str = "#2f81f7";
const ORANGE: &str = "#d9730d";

fn draw(markers: &[Marker]) -> String {
    let (step_x, end_x) = scale(markers.iter().map(|marker| marker.seconds));
    let (step_y, end_y) = scale(markers.iter().map(|marker| marker.megabytes));
    let x = |value: f64| ORIGIN.0 + (END.0 - ORIGIN.0) * value / end_x;
    let y = |value: f64| ORIGIN.1 - (ORIGIN.1 - END.1) * value / end_y;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         width=\"{WIDTH}\" height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" \
         fill=\"{GREY}\">\n"
    );
    let mut add = |line: String| {
        let _ = writeln!(svg, "{line}");
    };
    let title = "image size in MB; lower and further left is better";
    add(format!("<text x=\"12\" y=\"22\">{title}</text>"));
    let (x0, y0) = ORIGIN;
    for tick in ticks(step_y, end_y) {
        let at = y(tick);
        add(format!(
            "<path d=\"M{x0} {at:.1}H{:.1}\" stroke=\"{GREY}\" stroke-opacity=\"0.25\"/>",
            END.0
        ));
        add(format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.0}</text>",
            x0 - 8.0,
            at + 4.0
        ));
    }
    for tick in ticks(step_x, end_x) {
        let at = x(tick);
        add(format!(
            "<text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick:.1}</text>",
            y0 + 18.0
        ));
    }
    add(format!(
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">seconds to read all files of a cold \
         mount</text>",
        END.0,
        y0 + 38.0
    ));
    for marker in markers {
        let (at_x, at_y) = (x(marker.seconds), y(marker.megabytes));
        let colour = if marker.is_ours { BLUE } else { ORANGE };
        add(format!(
            "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"6\" fill=\"{colour}\"/>"
        ));
        let (anchor, label_y) = match marker.label {
            Label::AboveLeft => ("end", at_y - 12.0),
            Label::AboveRight => ("start", at_y - 12.0),
            Label::BelowRight => ("start", at_y + 22.0),
        };
        add(format!(
            "<text x=\"{at_x:.1}\" y=\"{label_y:.1}\" text-anchor=\"{anchor}\" \
             fill=\"{colour}\">{}</text>",
            marker.name
        ));
    }
    svg + "</svg>\n"
}

/// Returns the distance of ticks and the end of an axis from 0: at most six round steps.
fn scale(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let largest = values.fold(0.0, f64::max);
    let power = 10f64.powf((largest / 6.0).max(1e-9).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps
        .into_iter()
        .find(|step| largest / step <= 6.0)
        .unwrap_or(10.0 * power);
    (step, (largest / step + 0.2).ceil() * step)
}

fn ticks(step: f64, end: f64) -> impl Iterator<Item = f64> {
    (0u32..)
        .map(move |number| f64::from(number) * step)
        .take_while(move |tick| *tick <= end + step / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::record;
    use crate::results::{Record, cells};

    fn mounted(driver: &str, row: &str, figures: &[(&str, f64)]) -> Record {
        let mut record = record(PICTURED, "mounts", row, figures);
        record.subject.tool = driver.into();
        record
    }

    #[test]
    fn the_table_and_the_picture_have_each_tool_once() {
        let built = |image: &str, size: f64| {
            let figures = [("size", size), ("cpu", 2.0), ("wall", 1.0), ("peak", 1e8)];
            record(PICTURED, "build", image, &figures)
        };
        let cells = cells(&[
            built("sinter 7", 30e6),
            built("mkdwarfs 7", 40e6),
            mounted("sinter, kernel", READING, &[("cold", 0.5)]),
            mounted("sinter, FUSE", READING, &[("cold", 0.8)]),
            mounted("dwarfs", READING, &[("cold", 1.0)]),
            mounted("EROFS", READING, &[("cold", 0.3)]),
            mounted("EROFS", mounts::IMAGE, &[("size", 50e6)]),
        ]);
        let text = show(&cells, &[]).unwrap();
        let row = text.lines().last().unwrap();
        let words: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(words[1..5], [PICTURED, "1.00", "10", "0.75"]);
        assert_eq!(words[8..10], ["0.50", "0.80"]);
        let svg = picture(&cells).unwrap();
        // SquashFS was not measured
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(svg.contains("EROFS lz4hc") && !svg.contains("SquashFS"));
        assert!(picture(&[]).is_none() && show(&[], &[]).is_none());
    }

    #[test]
    fn axes_end_above_the_largest_value_at_a_round_step() {
        for (largest, expected) in [(1.1, (0.2, 1.2)), (44.0, (10.0, 50.0)), (6.0, (1.0, 7.0))] {
            let (step, end) = scale([largest].into_iter());
            assert!((step - expected.0).abs() < 1e-9 && (end - expected.1).abs() < 1e-9);
        }
    }
}
