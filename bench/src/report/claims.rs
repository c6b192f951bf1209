//! What the project claims, against what was measured.
//!
//! Each claim is a ratio, ours to theirs, with an upper bound. A claim without results is not
//! listed; one that does not hold is. A ratio in [`Ratio`] takes the place of the quotient of two
//! results: it was measured with the commands in turn, under conditions that its note describes.

use std::collections::BTreeSet;

use crate::cases::scale::{MILLION, bytes, growing, per_gb};
use crate::results::Cell;
use crate::tools::ours::{ARCHIVE, DEFAULT_LEVEL, SINTER, STRONGEST_LEVEL};

use crate::tables::cells::SetCells;
use crate::tables::table::table;

/// Sets that hold many versions of the same things.
const REDUNDANT: &[&str] = &["perl-installs", "py-versions", "git-heads"];

/// From this input on, cost must grow as the input does.
const GROWTH_FROM: f64 = 450e6;

/// A ratio and its bound.
#[derive(Debug, PartialEq)]
pub struct Claim {
    pub set: String,
    pub what: String,
    pub ratio: f64,
    pub bound: f64,
}

/// A ratio of two builds that was measured itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratio {
    pub set: String,
    /// Names of the images: tool and variant.
    pub ours: String,
    pub theirs: String,
    pub figure: String,
    pub ratio: f64,
}

/// Returns all claims that have results.
pub fn claims(cells: &[Cell], ratios: &[Ratio]) -> Vec<Claim> {
    let of_cells = cells.iter().map(|cell| &*cell.subject.set);
    let of_ratios = ratios.iter().map(|ratio| &*ratio.set);
    let sets: BTreeSet<&str> = of_cells.chain(of_ratios).collect();
    let mut found = Vec::new();
    for name in sets {
        let claims = SetClaims::of(cells, ratios, name);
        claims.levels(&mut found);
        claims.front(&mut found);
        claims.reading(&mut found);
        claims.growth(&mut found);
    }
    found
}

impl Claim {
    /// Returns whether the ratio is within the bound.
    pub fn holds(&self) -> bool {
        self.ratio <= self.bound
    }
}

/// Returns claims as a table, which marks the ones that do not hold.
pub fn show<'a>(claims: impl Iterator<Item = &'a Claim>) -> String {
    let row = |claim: &Claim| {
        vec![
            claim.set.clone(),
            claim.what.clone(),
            format!("{:.3}", claim.ratio),
            format!("{:.2}", claim.bound),
            if claim.holds() { "yes" } else { "**no**" }.to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = claims.map(row).collect();
    table(&["set", "claim", "measured", "at most", "holds"], &rows)
}

/// The claims about one set.
pub struct SetClaims<'a> {
    pub cells: SetCells<'a>,
    ratios: &'a [Ratio],
    is_redundant: bool,
}

impl<'a> SetClaims<'a> {
    /// Selects what was measured of a set.
    pub fn of(cells: &'a [Cell], ratios: &'a [Ratio], set: &'a str) -> Self {
        Self {
            cells: SetCells::of(cells, set),
            ratios,
            is_redundant: REDUNDANT.contains(&set),
        }
    }

    /// Returns the median of a figure of a result that is not wrong.
    pub fn median(&self, part: &str, tool: &str, image: &str, figure: &str) -> Option<f64> {
        let cell = self.cells.find(part, tool, image)?;
        cell.wrong().is_none().then(|| cell.median(figure))?
    }

    /// Returns the ratio of two builds.
    pub fn builds(&self, ours: &str, theirs: &str, figure: &str) -> Option<f64> {
        let is_same = |ratio: &&Ratio| {
            let names = [&*ratio.set, &*ratio.ours, &*ratio.theirs, &*ratio.figure];
            names == [self.cells.set, ours, theirs, figure]
        };
        let measured = self.ratios.iter().find(is_same).map(|ratio| ratio.ratio);
        let built = |image: &str| self.median("build", image.split(' ').next()?, image, figure);
        measured.or_else(|| quotient(built(ours), built(theirs)))
    }

    fn claim(&self, what: String, ratio: Option<f64>, bound: f64) -> Option<Claim> {
        Some(Claim {
            set: self.cells.set.to_owned(),
            what,
            ratio: ratio?,
            bound,
        })
    }

    /// The default, the profile of small images and the strongest level against theirs.
    fn levels(&self, found: &mut Vec<Claim>) {
        let size = |redundant, other| if self.is_redundant { redundant } else { other };
        let pairs = [
            ("default", DEFAULT_LEVEL, "7", 0.96, Some(0.5)),
            ("smaller", ARCHIVE, "7", size(0.80, 0.96), Some(0.5)),
            ("strongest", STRONGEST_LEVEL, "9", size(0.95, 0.98), None),
        ];
        for (name, ours, theirs, size, wall) in pairs {
            let (ours, theirs) = (format!("{SINTER} {ours}"), format!("mkdwarfs {theirs}"));
            let bounds = [
                ("size", Some(size)),
                ("cpu", Some(0.5)),
                ("wall", wall),
                ("peak", Some(1.0)),
            ];
            for (figure, bound) in bounds {
                let what = format!("{name} ({ours}) to {theirs}: {}", words(figure));
                let ratio = self.builds(&ours, &theirs, figure);
                found.extend(bound.and_then(|bound| self.claim(what, ratio, bound)));
            }
        }
        let what = format!("default to mkdwarfs --categorize: {}", words("size"));
        let ours = format!("{SINTER} {DEFAULT_LEVEL}");
        let ratio = self.builds(&ours, "mkdwarfs 7 categorize", "size");
        found.extend(self.claim(what, ratio, 1.0));
    }

    /// Our levels as a front of size and CPU time: no level of theirs is better in both.
    fn front(&self, found: &mut Vec<Claim>) {
        let images = |tool: &str| -> Vec<&str> {
            let tool = tool.to_owned();
            let builds = self.cells.part("build");
            let own = builds.filter(move |cell| cell.subject.tool == tool);
            own.map(|cell| &*cell.subject.image).collect()
        };
        let (ours, rivals) = (images(SINTER), images("mkdwarfs"));
        for theirs in &rivals {
            // size and CPU time of each of ours, divided by theirs
            let both = |own: &&str| {
                let size = self.builds(own, theirs, "size")?;
                Some((size, self.builds(own, theirs, "cpu")?, (*own).to_owned()))
            };
            let beside: Vec<(f64, f64, String)> = ours.iter().filter_map(both).collect();
            let worse = |(size, cpu, _): &(f64, f64, String)| size.max(*cpu);
            let nearest = beside.iter().min_by(|a, b| worse(a).total_cmp(&worse(b)));
            if let Some(nearest) = nearest {
                let name = &nearest.2;
                let what = format!("{name} is no larger and takes no more CPU time than {theirs}");
                found.extend(self.claim(what, Some(worse(nearest)), 1.0));
            }
            if self.is_redundant && *theirs == "mkdwarfs 7" {
                let small = beside.iter().filter(|(size, ..)| *size <= 1.0);
                let fastest = small.min_by(|a, b| a.1.total_cmp(&b.1));
                if let Some((_, cpu, name)) = fastest {
                    let what = format!("fast ({name}), no larger than {theirs}: CPU time");
                    found.extend(self.claim(what, Some(*cpu), 0.1));
                }
            }
        }
    }

    /// Extraction of the same image, random reads of each tool's own image.
    fn reading(&self, found: &mut Vec<Claim>) {
        let mut images: Vec<&str> = Vec::new();
        images.extend(self.cells.part("extract").map(|cell| &*cell.subject.image));
        images.dedup();
        for image in images {
            let wall = |tool| self.median("extract", tool, image, "wall");
            let what = format!("extracting {image} to dwarfsextract: wall time");
            found.extend(self.claim(what, quotient(wall(SINTER), wall("mkdwarfs")), 0.8));
        }
        let default = format!("{SINTER} {DEFAULT_LEVEL}");
        let what = format!("extracting {default} to unsquashfs of squashfs zstd: wall time");
        let ours = self.median("extract", SINTER, &default, "wall");
        let theirs = self.median("extract", "squashfs", "squashfs zstd", "wall");
        found.extend(self.claim(what, quotient(ours, theirs), 1.0));
        let read = |tool: &str, image: &str| self.median("random-read", tool, image, "mean");
        for ours in [default, format!("{SINTER} {ARCHIVE}")] {
            let ratio = quotient(read(SINTER, &ours), read("mkdwarfs", "mkdwarfs 7"));
            let what = format!("cold random read of {ours} to theirs of mkdwarfs 7: mean time");
            found.extend(self.claim(what, ratio, 1.0));
        }
    }

    /// Cost per GB of the largest input against that of some 500 MB.
    fn growth(&self, found: &mut Vec<Claim>) {
        for (builder, group) in growing(&self.cells) {
            let first = group.iter().find(|cell| bytes(cell) >= GROWTH_FROM);
            let (Some(first), Some(last)) = (first, group.last()) else {
                continue;
            };
            if builder.split(' ').next() != Some(SINTER) || bytes(first) * 2.0 > bytes(last) {
                continue;
            }
            for name in ["wall", "cpu", "peak"] {
                let what = format!(
                    "{builder}: {} per GB at {:.1} GB to that at {:.1} GB",
                    words(name),
                    bytes(last) / 1e9,
                    bytes(first) / 1e9
                );
                let ratio = quotient(per_gb(last, name), per_gb(first, name));
                found.extend(self.claim(what, ratio, 1.15));
            }
        }
        if self.cells.set == MILLION {
            let wall = |tool: &str, label: &str| {
                self.median("scale", tool, &format!("{tool} {label}"), "wall")
            };
            let ratio = quotient(wall(SINTER, DEFAULT_LEVEL), wall("mkdwarfs", "7"));
            found.extend(self.claim("default to mkdwarfs 7: wall time".into(), ratio, 1.0));
        }
    }
}

fn quotient(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    whole
        .filter(|whole| *whole > 0.0)
        .and_then(|whole| Some(part? / whole))
}

/// Returns the words for a figure.
fn words(figure: &str) -> &str {
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
        let claims = claims(&cells(&records), &[]);
        let size = find(&claims, "default (sinter 7) to mkdwarfs 7: size");
        assert_eq!((size.ratio, size.bound), (0.75, 0.96));
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
        let shown = show(claims.iter());
        assert!(shown.contains("**no**") && shown.contains("0.750"));
    }

    #[test]
    fn a_measured_ratio_takes_precedence() {
        let built = |image: &str| record("s", "build", image, &[("cpu", 9.0)]);
        let cells = cells(&[built("sinter 7"), built("mkdwarfs 7")]);
        let ratio = Ratio {
            set: "s".into(),
            ours: "sinter 7".into(),
            theirs: "mkdwarfs 7".into(),
            figure: "cpu".into(),
            ratio: 0.4,
        };
        let claims = claims(&cells, &[ratio]);
        assert_eq!(
            find(&claims, "default (sinter 7) to mkdwarfs 7: CPU").ratio,
            0.4
        );
    }

    #[test]
    fn growth_from_half_a_gigabyte_on() {
        let part = |image: &str, megabytes: u64, cpu: f64| {
            let image = format!("{image} at {megabytes} MB");
            let mut record = record("a+b", "scale", &image, &[("cpu", cpu)]);
            record.bytes = megabytes * 1_000_000;
            record
        };
        let cells = cells(&[
            part("sinter 7", 100, 900.0),
            part("sinter 7", 500, 10.0),
            part("sinter 7", 4000, 88.0),
            part("mkdwarfs 7", 500, 10.0),
        ]);
        let claims = claims(&cells, &[]);
        assert_eq!(claims.len(), 1, "{claims:?}");
        assert!((claims[0].ratio - 1.1).abs() < 1e-9, "{claims:?}");
    }

    #[test]
    fn wrong_results_are_not_used() {
        let good = record("s", "extract", "mkdwarfs 7", &[("wall", 4.0)]);
        let mut wrong = good.clone();
        wrong.subject.tool = "sinter".into();
        wrong.wrong = Some("differs".into());
        assert!(claims(&cells(&[good, wrong]), &[]).is_empty());
    }
}
