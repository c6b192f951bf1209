//! The results of one set, and tables that set each tool beside ours.
//!
//! A ratio is ours divided by theirs: below 1, ours is better. A build is compared with our level
//! of nearest size; a reader with ours on the same image, or else on our image of nearest size.

use crate::results::Cell;
use crate::tools::catalog::rank;
use crate::tools::command::programs;
use crate::tools::ours::{SINTER, SINTER_SQUASHFS};

use super::table::{figure, megabytes, ratio, table};

/// The name of the case whose results have the sizes of images.
const BUILD: &str = "build";

/// The cells of one set, in the order of tables.
#[derive(Debug)]
pub struct SetCells<'a> {
    pub set: &'a str,
    cells: Vec<&'a Cell>,
}

/// How a figure is shown.
#[derive(Debug, Clone, Copy)]
pub enum Unit {
    Seconds,
    Milliseconds,
    Megabytes,
    Count,
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    pub title: &'static str,
    /// The name of the figure in results.
    pub figure: &'static str,
    unit: Unit,
    /// Whether the ratio to ours is shown, too.
    is_compared: bool,
}

/// Which result of ours is compared with that of another tool.
#[derive(Debug, Clone, Copy)]
pub enum Counterpart {
    /// A build of nearest size; for SquashFS, of the same variant.
    NearestSize,
    /// The same image, or else our image of nearest size.
    SameImage,
}

impl Column {
    /// Makes a column with ratios.
    pub const fn new(title: &'static str, figure: &'static str, unit: Unit) -> Self {
        Self {
            title,
            figure,
            unit,
            is_compared: true,
        }
    }

    /// Makes a column without ratios.
    pub const fn alone(title: &'static str, figure: &'static str, unit: Unit) -> Self {
        Self {
            is_compared: false,
            ..Self::new(title, figure, unit)
        }
    }

    fn header(&self) -> String {
        let unit = match self.unit {
            Unit::Seconds => " s",
            Unit::Milliseconds => " ms",
            Unit::Megabytes => " MB",
            Unit::Count => "",
        };
        format!("{}{unit}", self.title)
    }

    fn show(&self, cell: &Cell) -> String {
        let value = cell.median(self.figure);
        match self.unit {
            Unit::Seconds => figure(value),
            Unit::Milliseconds => figure(value.map(|seconds| seconds * 1e3)),
            Unit::Megabytes => megabytes(value),
            Unit::Count => value.map_or("-".into(), |count| count.to_string()),
        }
    }
}

impl<'a> SetCells<'a> {
    /// Selects the cells of a set.
    pub fn of(cells: &'a [Cell], set: &'a str) -> Self {
        let of_set = cells.iter().filter(|cell| cell.subject.set == set);
        let mut cells: Vec<&Cell> = of_set.collect();
        cells.sort_by_key(|cell| {
            let subject = &cell.subject;
            (
                rank(&subject.image),
                subject.image.clone(),
                rank(&subject.tool),
            )
        });
        Self { set, cells }
    }

    /// Returns the cells of a case.
    pub fn part(&self, part: &str) -> impl Iterator<Item = &'a Cell> {
        let part = part.to_owned();
        let cells = self.cells.iter().copied();
        cells.filter(move |cell| cell.subject.part == part)
    }

    /// Finds one cell.
    pub fn find(&self, part: &str, tool: &str, image: &str) -> Option<&'a Cell> {
        let is_wanted = |cell: &&Cell| cell.subject.tool == tool && cell.subject.image == image;
        self.part(part).find(is_wanted)
    }

    /// Returns the table of a case: each tool's figures, then the ratios of ours to them.
    pub fn compared(
        &self,
        by: &str,
        part: &str,
        columns: &[Column],
        counterpart: Counterpart,
    ) -> Option<String> {
        let is_build = part == BUILD;
        let row =
            |cell: &Cell| {
                let mut row = vec![cell.subject.image.clone()];
                if !is_build {
                    row.insert(0, reader(cell));
                }
                row.extend(columns.iter().map(|column| column.show(cell)));
                let ours = match counterpart {
                    Counterpart::NearestSize => self.nearest_build(cell),
                    Counterpart::SameImage => self.same_image(cell),
                };
                if let Some(ours) = ours {
                    row.push(ours.subject.image.clone());
                    let compared = columns.iter().filter(|column| column.is_compared);
                    row.extend(compared.map(|column| {
                        ratio(ours.median(column.figure), cell.median(column.figure))
                    }));
                }
                row
            };
        let sound = self.part(part).filter(|cell| cell.wrong().is_none());
        let rows: Vec<Vec<String>> = sound.map(row).collect();
        let headers: Vec<String> = columns.iter().map(Column::header).collect();
        let mut header = vec![by];
        header.extend((!is_build).then_some("image"));
        header.extend(headers.iter().map(String::as_str));
        header.push(if is_build { "ours" } else { "ours on" });
        let compared = columns.iter().filter(|column| column.is_compared);
        header.extend(compared.map(|column| column.title));
        (!rows.is_empty()).then(|| table(&header, &rows))
    }

    /// Returns results that were wrong, a line each.
    pub fn wrong(&self) -> Vec<String> {
        let line = |cell: &&Cell| {
            let subject = &cell.subject;
            let (part, image) = (&subject.part, &subject.image);
            Some(format!(
                "- {part} by {} of {image}: {}\n",
                reader(cell),
                cell.wrong()?
            ))
        };
        self.cells.iter().filter_map(line).collect()
    }

    fn nearest_build(&self, theirs: &Cell) -> Option<&'a Cell> {
        let image = &theirs.subject.image;
        let (builder, label) = image.split_once(' ')?;
        if [SINTER, SINTER_SQUASHFS].contains(&builder) {
            return None;
        }
        let variant = format!("{SINTER_SQUASHFS} {label}");
        let same = self.find(BUILD, SINTER_SQUASHFS, &variant);
        same.filter(|_| builder == "squashfs").or_else(|| {
            let ours = self.part(BUILD).filter(|cell| cell.subject.tool == SINTER);
            self.nearest(ours, image)
        })
    }

    fn same_image(&self, theirs: &Cell) -> Option<&'a Cell> {
        let subject = &theirs.subject;
        if subject.tool == SINTER {
            return None;
        }
        let is_sound = |cell: &&'a Cell| cell.wrong().is_none();
        let same = self.find(&subject.part, SINTER, &subject.image);
        same.filter(is_sound).or_else(|| {
            let is_own = |cell: &&'a Cell| {
                cell.subject.tool == SINTER && cell.subject.image.starts_with(SINTER)
            };
            let ours = self.part(&subject.part).filter(is_own).filter(is_sound);
            self.nearest(ours, &subject.image)
        })
    }

    /// Finds the one of our cells whose image is nearest in size to that of another tool.
    fn nearest(&self, ours: impl Iterator<Item = &'a Cell>, image: &str) -> Option<&'a Cell> {
        let size_of = |image: &str| {
            self.find(BUILD, image.split(' ').next()?, image)?
                .median("size")
        };
        let size = size_of(image)?;
        let distance = |cell: &Cell| {
            let own = size_of(&cell.subject.image).unwrap_or(f64::INFINITY);
            (own / size).ln().abs()
        };
        ours.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }
}

/// Returns the name of the program that reads, which may differ from that of the builder.
fn reader(cell: &Cell) -> String {
    let run = cell.last().filter(|_| cell.subject.tool == "mkdwarfs");
    let program = run.and_then(|run| {
        let mut programs = programs(&run.command).into_iter();
        programs.find(|program| *program != "mkdir")
    });
    program.unwrap_or(&cell.subject.tool).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cells;
    use crate::results::tests::record;

    const WALL: &[Column] = &[Column::new("wall", "wall", Unit::Seconds)];

    #[test]
    fn tools_are_compared_with_our_nearest() {
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
        let set = SetCells::of(&cells, "s");
        let columns = [
            Column::new("size", "size", Unit::Megabytes),
            Column::new("CPU", "cpu", Unit::Seconds),
        ];
        let builds = set.compared("built by", "build", &columns, Counterpart::NearestSize);
        let builds = builds.unwrap();
        let line = builds.lines().last().unwrap();
        let words: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(
            words[1..7],
            ["mkdwarfs 7", "31.00", "8.00", "sinter 7", "0.97", "0.50"]
        );
        let table = set.compared("extracted by", "extract", WALL, Counterpart::SameImage);
        let table = table.unwrap();
        let theirs = table.lines().find(|line| line.contains("4.00")).unwrap();
        assert!(theirs.contains("0.75"), "{table}");
        assert!(
            set.compared("mounted by", "mount", WALL, Counterpart::SameImage)
                .is_none()
        );
    }

    #[test]
    fn wrong_results_are_listed_and_not_in_tables() {
        let mut wrong = record("s", "extract", "mkdwarfs 7", &[("wall", 1.0)]);
        wrong.wrong = Some("the mode differs".into());
        let cells = cells(&[wrong]);
        let set = SetCells::of(&cells, "s");
        assert!(
            set.compared("by", "extract", WALL, Counterpart::SameImage)
                .is_none()
        );
        assert_eq!(set.wrong().len(), 1);
    }
}
