//! The tables of one set: builds, extractions and mounts, each of theirs against ours.
//!
//! A ratio is ours divided by theirs: below 1, ours is better. A build is compared with our level
//! of nearest size; a reader with ours on the same image, or else on our image of nearest size.

use crate::cases::served::WORKLOADS;
use crate::report::plot::{Axis, Plot, Point, Series};
use crate::report::table::{figure, megabytes, ratio, table};
use crate::results::Cell;
use crate::tools::peers::{OURS, OURS_SQUASHFS, PEERS, rank};

/// The cells of one set, in the order of tables.
#[derive(Debug)]
pub struct Comparison<'a> {
    cells: Vec<&'a Cell>,
}

impl<'a> Comparison<'a> {
    /// Picks the cells of a set.
    pub fn of(cells: &'a [Cell], set: &str) -> Self {
        let mut cells: Vec<&Cell> = cells
            .iter()
            .filter(|cell| cell.subject.set == set)
            .collect();
        cells.sort_by_key(|cell| {
            let subject = &cell.subject;
            (
                rank(&subject.image),
                subject.image.clone(),
                rank(&subject.tool),
            )
        });
        Self { cells }
    }

    fn part(&self, part: &str) -> impl Iterator<Item = &'a Cell> {
        let part = part.to_owned();
        self.cells
            .iter()
            .copied()
            .filter(move |cell| cell.subject.part == part)
    }

    fn find(&self, part: &str, tool: &str, image: &str) -> Option<&'a Cell> {
        self.part(part)
            .find(|cell| cell.subject.tool == tool && cell.subject.image == image)
    }

    /// Shows sizes and what building took.
    pub fn builds(&self) -> Option<String> {
        let row = |cell: &Cell| {
            let mut row = vec![
                cell.subject.image.clone(),
                megabytes(cell.median("size")),
                figure(cell.median("cpu")),
                figure(cell.median("wall")),
                megabytes(cell.median("peak")),
            ];
            if let Some(ours) = self.nearest(cell) {
                row.push(ours.subject.image.clone());
                row.extend(ratios(ours, cell, &["size", "cpu", "wall", "peak"]));
            }
            row
        };
        let header = [
            "built by", "size MB", "CPU s", "wall s", "peak MB", "ours", "size", "CPU", "wall",
            "peak",
        ];
        self.table(&header, "build", row)
    }

    /// Shows what extraction took.
    pub fn extractions(&self) -> Option<String> {
        let row = |cell: &Cell| {
            let mut row = vec![
                reader(cell),
                cell.subject.image.clone(),
                figure(cell.median("wall")),
                figure(cell.median("cpu")),
                megabytes(cell.median("peak")),
            ];
            if let Some(ours) = self.counterpart(cell) {
                row.push(ours.subject.image.clone());
                row.extend(ratios(ours, cell, &["wall", "cpu", "peak"]));
            }
            row
        };
        let header = [
            "extracted by",
            "image",
            "wall s",
            "CPU s",
            "peak MB",
            "ours on",
            "wall",
            "CPU",
            "peak",
        ];
        self.table(&header, "extract", row)
    }

    /// Shows what mounting and reading everything took.
    pub fn mounts(&self) -> Option<String> {
        let row = |cell: &Cell| {
            let mut row = vec![
                reader(cell),
                cell.subject.image.clone(),
                figure(cell.median("ready").map(|ready| ready * 1e3)),
                figure(cell.median("wall")),
                figure(cell.median("cpu")),
                megabytes(cell.median("peak")),
            ];
            if let Some(ours) = self.counterpart(cell) {
                row.push(ours.subject.image.clone());
                row.extend(ratios(ours, cell, &["ready", "wall", "cpu", "peak"]));
            }
            row
        };
        let header = [
            "mounted by",
            "image",
            "ready ms",
            "read all s",
            "CPU s",
            "peak MB",
            "ours on",
            "ready",
            "read all",
            "CPU",
            "peak",
        ];
        self.table(&header, "mount", row)
    }

    /// Shows cold random reads.
    pub fn random_reads(&self) -> Option<String> {
        let milliseconds = |cell: &Cell, name: &str| figure(cell.median(name).map(|s| s * 1e3));
        let row = |cell: &Cell| {
            let mut row = vec![
                reader(cell),
                cell.subject.image.clone(),
                cell.median("reads").map_or("-".into(), |n| n.to_string()),
                milliseconds(cell, "mean"),
                milliseconds(cell, "median"),
                milliseconds(cell, "p95"),
                figure(cell.median("cpu")),
                megabytes(cell.median("peak")),
            ];
            if let Some(ours) = self.counterpart(cell) {
                row.push(ours.subject.image.clone());
                row.extend(ratios(ours, cell, &["mean", "p95", "cpu", "peak"]));
            }
            row
        };
        let header = [
            "mounted by",
            "image",
            "reads",
            "mean ms",
            "median ms",
            "p95 ms",
            "CPU s",
            "peak MB",
            "ours on",
            "mean",
            "p95",
            "CPU",
            "peak",
        ];
        self.table(&header, "random-read", row)
    }

    /// Shows what programs do with a mount, in seconds.
    pub fn served(&self) -> Option<String> {
        let names = || WORKLOADS.iter().map(|(name, _)| *name);
        let row = |cell: &Cell| {
            let mut row = vec![reader(cell), cell.subject.image.clone()];
            row.extend(names().map(|name| figure(cell.median(name))));
            if let Some(ours) = self.counterpart(cell) {
                row.push(ours.subject.image.clone());
                row.extend(names().map(|name| ratio(ours.median(name), cell.median(name))));
            }
            row
        };
        let seconds: Vec<String> = names().map(|name| format!("{name} s")).collect();
        let mut header = vec!["mounted by", "image"];
        header.extend(seconds.iter().map(String::as_str));
        header.push("ours on");
        header.extend(names());
        self.table(&header, "serve", row)
    }

    fn table(
        &self,
        header: &[&str],
        part: &str,
        row: impl Fn(&Cell) -> Vec<String>,
    ) -> Option<String> {
        let rows: Vec<Vec<String>> = self
            .part(part)
            .filter(|cell| cell.wrong().is_none())
            .map(row)
            .collect();
        (!rows.is_empty()).then(|| table(header, &rows))
    }

    /// Lists results that were wrong.
    pub fn wrong(&self) -> Vec<String> {
        let line = |cell: &&Cell| {
            let subject = &cell.subject;
            let wrong = cell.wrong()?;
            Some(format!(
                "- {} by {} of {}: {wrong}\n",
                subject.part,
                reader(cell),
                subject.image
            ))
        };
        self.cells.iter().filter_map(line).collect()
    }

    /// Finds our image of the same format and variant as that of another tool, or else our level whose
    /// image is nearest in size.
    fn nearest(&self, theirs: &Cell) -> Option<&'a Cell> {
        let builder = theirs.subject.image.split(' ').next();
        if [Some(OURS), Some(OURS_SQUASHFS)].contains(&builder) {
            return None;
        }
        if let Some(("squashfs", label)) = theirs.subject.image.split_once(' ')
            && let Some(same) =
                self.find("build", OURS_SQUASHFS, &format!("{OURS_SQUASHFS} {label}"))
        {
            return Some(same);
        }
        let size = self.find("build", builder?, &theirs.subject.image)?;
        let size = size.median("size")?;
        let distance = |cell: &Cell| {
            let ratio = cell.median("size").unwrap_or(f64::INFINITY) / size;
            ratio.ln().abs()
        };
        self.part("build")
            .filter(|cell| cell.subject.tool == OURS)
            .min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Finds what of ours a reading is compared with.
    fn counterpart(&self, theirs: &Cell) -> Option<&'a Cell> {
        let subject = &theirs.subject;
        if subject.tool == OURS {
            return None;
        }
        let sound = |cell: &&'a Cell| cell.wrong().is_none();
        let same = self.find(&subject.part, OURS, &subject.image);
        same.filter(sound).or_else(|| {
            let read = |cell: &&'a Cell| {
                cell.subject.tool == OURS && cell.subject.image.starts_with(OURS) && sound(cell)
            };
            let builder = subject.image.split(' ').next()?;
            let size = self
                .find("build", builder, &subject.image)?
                .median("size")?;
            let distance = |cell: &Cell| {
                let own = self.find("build", OURS, &cell.subject.image);
                let own = own.and_then(|own| own.median("size"));
                (own.unwrap_or(f64::INFINITY) / size).ln().abs()
            };
            self.part(&subject.part)
                .filter(read)
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        })
    }

    /// Draws size against what building takes.
    pub fn pareto(&self, set: &str) -> Plot {
        let series = PEERS.iter().map(|peer| {
            let point = |cell: &Cell| {
                Some(Point {
                    x: cell.median("cpu")?,
                    y: cell.median("size")? / 1e6,
                    label: cell.subject.image.split_once(' ')?.1.to_owned(),
                })
            };
            Series {
                name: peer.name.to_owned(),
                joined: peer.format == "dwarfs",
                points: self
                    .part("build")
                    .filter(|cell| cell.subject.tool == peer.name)
                    .filter_map(point)
                    .collect(),
            }
        });
        Plot {
            title: format!("{set}: size of the image against what building it takes"),
            x: Axis {
                label: "CPU seconds",
                logarithmic: true,
            },
            y: Axis {
                label: "size in MB",
                logarithmic: true,
            },
            series: series.filter(|series| !series.points.is_empty()).collect(),
        }
    }
}

fn ratios(ours: &Cell, theirs: &Cell, figures: &[&str]) -> Vec<String> {
    figures
        .iter()
        .map(|name| ratio(ours.median(name), theirs.median(name)))
        .collect()
}

/// Names the program that reads, which may have another name than the one that builds.
fn reader(cell: &Cell) -> String {
    let program = cell.last().and_then(|run| {
        crate::tools::peers::programs(&run.command)
            .into_iter()
            .find(|p| *p != "mkdir")
    });
    match program {
        Some(program) if cell.subject.tool == "mkdwarfs" => program.to_owned(),
        _ => cell.subject.tool.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cells;
    use crate::results::tests::record;

    #[test]
    fn theirs_stand_against_our_nearest() {
        let built = |image: &str, size: f64, cpu: f64| {
            let figures = [("size", size), ("cpu", cpu), ("wall", cpu), ("peak", 1e8)];
            record("s", "build", image, &figures)
        };
        let read = |tool: &str, image: &str, wall: f64| {
            let mut record = record("s", "extract", image, &[("wall", wall)]);
            record.subject.tool = tool.into();
            record
        };
        let cells = cells(&[
            built("sinter 5", 40e6, 1.0),
            built("sinter 7", 30e6, 4.0),
            built("mkdwarfs 7", 31e6, 8.0),
            read("sinter", "mkdwarfs 7", 3.0),
            read("mkdwarfs", "mkdwarfs 7", 4.0),
            read("sinter", "sinter 5", 1.0),
            read("squashfs", "squashfs xz", 9.0),
        ]);
        let comparison = Comparison::of(&cells, "s");
        let builds = comparison.builds().unwrap();
        let line = builds.lines().last().unwrap();
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(words[1..3], ["mkdwarfs 7", "31.00"]);
        assert_eq!(words[6..11], ["sinter 7", "0.97", "0.50", "0.50", "1.00"]);
        let extractions = comparison.extractions().unwrap();
        let theirs = extractions
            .lines()
            .find(|line| line.contains("4.00"))
            .unwrap();
        assert!(theirs.contains("0.75"), "{extractions}");
        assert!(comparison.mounts().is_none());
        let plot = comparison.pareto("s");
        assert_eq!(plot.series.len(), 2);
        assert_eq!(plot.series[0].points.len(), 2);
        assert!(plot.draw().is_some());
    }

    #[test]
    fn wrong_results_are_listed_and_not_in_tables() {
        let mut wrong = record("s", "extract", "mkdwarfs 7", &[("wall", 1.0)]);
        wrong.wrong = Some("the mode differs".into());
        let cells = cells(&[wrong]);
        let comparison = Comparison::of(&cells, "s");
        assert!(comparison.extractions().is_none());
        assert_eq!(comparison.wrong().len(), 1);
    }
}
