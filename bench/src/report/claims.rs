//! What the project claims, against what was measured.
//!
//! Each claim is a ratio, ours to theirs, with the most that it may be. A claim whose figures were
//! not measured is not listed; one that does not hold is, with its figure.

use crate::cases::scale;
use crate::report::table::table;
use crate::results::Cell;
use crate::tools::peers::{DEFAULT_LEVEL, OURS, STRONGEST_LEVEL};

/// Sets that hold many versions of the same things.
const REDUNDANT: &[&str] = &["perl-installs", "py-versions", "git-heads"];

/// A ratio and its bound.
#[derive(Debug, PartialEq)]
pub struct Claim {
    pub set: String,
    pub what: String,
    pub ratio: f64,
    pub bound: f64,
}

/// Finds all claims that the cells say something about.
pub fn claims(cells: &[Cell]) -> Vec<Claim> {
    let mut sets: Vec<&str> = cells.iter().map(|cell| &*cell.subject.set).collect();
    sets.dedup();
    let mut found = Vec::new();
    for set in sets {
        let of_set = Set {
            cells,
            name: set,
            redundant: REDUNDANT.contains(&set),
        };
        of_set.levels(&mut found);
        of_set.front(&mut found);
        of_set.reading(&mut found);
    }
    found.extend(scale::claims(cells));
    found
}

/// Shows claims, those that do not hold marked.
pub fn show(claims: &[Claim]) -> String {
    let rows: Vec<Vec<String>> = claims
        .iter()
        .map(|claim| {
            let holds = claim.ratio <= claim.bound;
            vec![
                claim.set.clone(),
                claim.what.clone(),
                format!("{:.3}", claim.ratio),
                format!("{:.2}", claim.bound),
                if holds { "yes" } else { "**no**" }.to_owned(),
            ]
        })
        .collect();
    table(&["set", "claim", "measured", "at most", "holds"], &rows)
}

/// The cells of one set.
struct Set<'a> {
    cells: &'a [Cell],
    name: &'a str,
    redundant: bool,
}

impl Set<'_> {
    fn median(&self, part: &str, tool: &str, image: &str, figure: &str) -> Option<f64> {
        let cell = self.cells.iter().find(|cell| {
            let subject = &cell.subject;
            subject.set == self.name
                && subject.part == part
                && subject.tool == tool
                && subject.image == image
        })?;
        cell.wrong().is_none().then(|| cell.median(figure))?
    }

    fn built(&self, image: &str, figure: &str) -> Option<f64> {
        self.median("build", image.split(' ').next()?, image, figure)
    }

    fn claim(
        &self,
        what: String,
        ours: Option<f64>,
        theirs: Option<f64>,
        bound: f64,
    ) -> Option<Claim> {
        let (ours, theirs) = (ours?, theirs?);
        (theirs > 0.0).then(|| Claim {
            set: self.name.to_owned(),
            what,
            ratio: ours / theirs,
            bound,
        })
    }

    /// The default and the strongest level against theirs.
    fn levels(&self, found: &mut Vec<Claim>) {
        let size = |redundant, other| if self.redundant { redundant } else { other };
        let pairs = [
            ("default", DEFAULT_LEVEL, "7", size(0.80, 0.96), Some(0.5)),
            ("strongest", STRONGEST_LEVEL, "9", size(0.95, 0.98), None),
        ];
        for (name, ours, theirs, size, wall) in pairs {
            let (ours, theirs) = (format!("{OURS} {ours}"), format!("mkdwarfs {theirs}"));
            let bounds = [
                ("size", Some(size)),
                ("cpu", Some(0.5)),
                ("wall", wall),
                ("peak", Some(1.0)),
            ];
            for (figure, bound) in bounds {
                let what = format!("{name} ({ours}) to {theirs}: {}", words(figure));
                let (a, b) = (self.built(&ours, figure), self.built(&theirs, figure));
                found.extend(bound.and_then(|bound| self.claim(what, a, b, bound)));
            }
        }
        let what = format!("default to mkdwarfs --categorize: {}", words("size"));
        let ours = self.built(&format!("{OURS} {DEFAULT_LEVEL}"), "size");
        let theirs = self.built("mkdwarfs 7 categorize", "size");
        found.extend(self.claim(what, ours, theirs, 1.0));
    }

    /// Our levels as a front of size and CPU time that no level of theirs is ahead of.
    fn front(&self, found: &mut Vec<Claim>) {
        let points = |tool: &str| -> Vec<(String, f64, f64)> {
            let is_built = |cell: &&Cell| {
                let subject = &cell.subject;
                subject.set == self.name && subject.part == "build" && subject.tool == tool
            };
            self.cells
                .iter()
                .filter(is_built)
                .filter_map(|cell| {
                    let name = cell.subject.image.clone();
                    Some((name, cell.median("size")?, cell.median("cpu")?))
                })
                .collect()
        };
        let (ours, theirs) = (points(OURS), points("mkdwarfs"));
        for (their, size, cpu) in &theirs {
            // how near one of ours comes to being no larger and no slower; at most 1: it is
            let nearest = ours
                .iter()
                .map(|(name, own_size, own_cpu)| ((own_size / size).max(own_cpu / cpu), name))
                .min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((ratio, name)) = nearest {
                found.push(Claim {
                    set: self.name.to_owned(),
                    what: format!("{name} is no larger and takes no more CPU time than {their}"),
                    ratio,
                    bound: 1.0,
                });
            }
            if self.redundant && their == "mkdwarfs 7" {
                let fast = ours
                    .iter()
                    .filter(|(_, own_size, _)| own_size <= size)
                    .min_by(|a, b| a.2.total_cmp(&b.2));
                if let Some((name, _, own_cpu)) = fast {
                    let what = format!("fast ({name}), no larger than {their}: CPU time");
                    found.extend(self.claim(what, Some(*own_cpu), Some(*cpu), 0.1));
                }
            }
        }
    }

    /// Extraction of the same image, random reads of each tool's own image.
    fn reading(&self, found: &mut Vec<Claim>) {
        let mut images: Vec<&str> = self.cells.iter().map(|cell| &*cell.subject.image).collect();
        images.sort_unstable();
        images.dedup();
        for image in images {
            let wall = |tool| self.median("extract", tool, image, "wall");
            let what = format!("extracting {image} to dwarfsextract: wall time");
            found.extend(self.claim(what, wall(OURS), wall("mkdwarfs"), 0.8));
        }
        let default = format!("{OURS} {DEFAULT_LEVEL}");
        let what = format!("extracting {default} to unsquashfs of squashfs zstd: wall time");
        let ours = self.median("extract", OURS, &default, "wall");
        let theirs = self.median("extract", "squashfs", "squashfs zstd", "wall");
        found.extend(self.claim(what, ours, theirs, 1.0));
        let read = |tool: &str, image: String| self.median("random-read", tool, &image, "mean");
        let ours = read(OURS, default);
        let theirs = read("mkdwarfs", "mkdwarfs 7".into());
        let what = "cold random read of the default to theirs of mkdwarfs 7: mean time".to_owned();
        found.extend(self.claim(what, ours, theirs, 1.0));
    }
}

/// Says a figure in words.
pub fn words(figure: &str) -> &str {
    match figure {
        "cpu" => "CPU time",
        "wall" => "wall time",
        "peak" => "memory",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cells;
    use crate::results::tests::record;

    fn find<'a>(claims: &'a [Claim], what: &str) -> &'a Claim {
        let mut found = claims.iter().filter(|claim| claim.what.contains(what));
        let first = found
            .next()
            .unwrap_or_else(|| panic!("{what}: {claims:#?}"));
        assert!(found.next().is_none(), "{what}: {claims:#?}");
        first
    }

    #[test]
    fn ratios_and_bounds() {
        let built = |image: &str, size: f64, cpu: f64| {
            record("git-heads", "build", image, &[("size", size), ("cpu", cpu)])
        };
        let mut records = vec![
            built("sinter 3", 98.0, 5.0),
            built("sinter 7", 75.0, 20.0),
            built("mkdwarfs 7", 100.0, 100.0),
            built("mkdwarfs 9", 60.0, 90.0),
            record("git-heads", "extract", "mkdwarfs 7", &[("wall", 4.0)]),
        ];
        let mut ours = record("git-heads", "extract", "mkdwarfs 7", &[("wall", 2.0)]);
        ours.subject.tool = "sinter".into();
        records.push(ours);
        let claims = claims(&cells(&records));
        let size = find(&claims, "default (sinter 7) to mkdwarfs 7: size");
        assert_eq!((size.ratio, size.bound), (0.75, 0.8));
        assert_eq!(find(&claims, "fast (sinter 3)").ratio, 0.05);
        assert_eq!(find(&claims, "extracting mkdwarfs 7").ratio, 0.5);
        // of ours, 7 comes nearest, and is 1.25 times larger
        assert_eq!(
            find(
                &claims,
                "sinter 7 is no larger and takes no more CPU time than mkdwarfs 9"
            )
            .ratio,
            1.25
        );
        assert!(!claims.iter().any(|claim| claim.what.contains("strongest")));
        let shown = show(&claims);
        assert!(shown.contains("**no**") && shown.contains("0.750"));
    }

    #[test]
    fn a_wrong_result_counts_for_nothing() {
        let good = record("s", "extract", "mkdwarfs 7", &[("wall", 4.0)]);
        let mut wrong = good.clone();
        wrong.subject.tool = "sinter".into();
        wrong.wrong = Some("differs".into());
        assert!(claims(&cells(&[good, wrong])).is_empty());
    }
}
