//! `--scale`: cost against input size, with parts of sets that grow, and with a million files.
//!
//! A part is made of hard links to files picked by a hash of their path: the mixture is the same
//! at each size. Results are named after the sets and the part: `a+b @500 MB`.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::cases::parts::{Bench, Builder, remove};
use crate::harness::interrupt;
use crate::harness::sets::{self, Set};
use crate::report::claims::{Claim, words};
use crate::report::plot::{Axis, Plot, Point, Series};
use crate::report::table::{figure, table};
use crate::results::Cell;
use crate::runner::{Case, in_turn};
use crate::tools::peers::{self, DEFAULT_LEVEL, OURS};

/// The part's name in results.
pub const PART: &str = "scale";

/// The set of a million small files.
const MILLION: &str = "a million files of 1 KB";

/// From this many MB on, cost must grow as the input does.
const FROM: f64 = 450e6;

/// Measures builds of growing parts of all sets together, then of a million small files.
pub fn measure(bench: &Bench<'_>, sets: &[Set]) -> Result<(), String> {
    let names: Vec<&str> = sets.iter().map(|set| &*set.name).collect();
    let names = names.join("+");
    for &megabytes in &bench.options.sizes {
        let dir = bench.work.join("scale").join("part");
        remove(&dir);
        let total = take(sets, megabytes * 1_000_000, &dir)?;
        if total < megabytes * 900_000 {
            println!("{names}: less than {megabytes} MB, left out");
            continue;
        }
        let part = Set::open(format!("{names} @{megabytes} MB"), &dir)?;
        build(bench, &part)?;
    }
    remove(&bench.work.join("scale").join("part"));
    if !bench.options.million {
        return Ok(());
    }
    let dir = bench.work.join("scale").join("million");
    million(&dir)?;
    build(bench, &Set::open(MILLION.into(), &dir)?)
}

/// Builds with our default level and theirs, or with the levels that are asked for.
fn build(bench: &Bench<'_>, set: &Set) -> Result<(), String> {
    let image = bench.work.join("scale.image");
    let wanted = |builder: &Builder| {
        let is_dwarfs = builder.peer.format == "dwarfs";
        let by_name = bench
            .options
            .peer
            .iter()
            .any(|name| name == builder.peer.name);
        let by_level = bench.options.levels.is_some() || builder.variant.label == DEFAULT_LEVEL;
        (is_dwarfs && by_level) || by_name
    };
    let mut builders = bench.builders(set, true);
    builders.retain(wanted);
    let case = |builder: &Builder| {
        let command = bench.build_command(set, *builder, &image);
        let image = &image;
        Case {
            record: bench.record(set, PART, builder.peer, *builder),
            run: Box::new(move |_| {
                let outcome = bench.build_once(&command, image);
                remove(image);
                outcome
            }),
        }
    };
    let cases: Vec<Case<'_>> = builders.iter().map(case).collect();
    in_turn(&cases, bench.options.runs, bench.store).map(drop)
}

/// Links files of all sets, picked by a hash of their path, into a directory until there are so
/// many bytes; tells how many there are.
fn take(sets: &[Set], bytes: u64, dir: &Path) -> Result<u64, String> {
    let mut files = Vec::new();
    for set in sets {
        for file in sets::files(&set.dir)? {
            let mut hasher = DefaultHasher::new();
            (&set.name, &file.path).hash(&mut hasher);
            files.push((hasher.finish(), set, file));
        }
    }
    files.sort_by_key(|(hash, ..)| *hash);
    let mut total = 0;
    for (_, set, file) in files {
        interrupt::check()?;
        if total > bytes / 100 * 98 {
            break;
        }
        if total + file.size > bytes {
            continue;
        }
        let from = set.dir.join(&file.path);
        let to = dir.join(&set.name).join(&file.path);
        let error = |e: std::io::Error| format!("{}: {e}", to.display());
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(error)?;
        }
        if fs::hard_link(&from, &to).is_err() {
            fs::copy(&from, &to).map_err(error)?;
        }
        total += file.size;
    }
    Ok(total)
}

/// Makes a million files of 1 KB of words, if they are not there.
fn million(dir: &Path) -> Result<(), String> {
    let done = dir.with_extension("done");
    if done.exists() {
        return Ok(());
    }
    println!("making a million files");
    remove(dir);
    let error = |e: std::io::Error| format!("{}: {e}", dir.display());
    for sub in 0..1000_u32 {
        interrupt::check()?;
        let sub_dir = dir.join(format!("{sub:03}"));
        fs::create_dir_all(&sub_dir).map_err(error)?;
        for file in 0..1000_u32 {
            let text = small_text(u64::from(sub * 1000 + file));
            fs::write(sub_dir.join(format!("{file:03}.txt")), text).map_err(error)?;
        }
    }
    fs::write(done, "").map_err(error)
}

/// Makes 1000 bytes of made-up words, other ones for each seed.
fn small_text(seed: u64) -> Vec<u8> {
    const SYLLABLES: &[&str] = &[
        "ba", "co", "du", "fe", "gi", "ha", "jo", "ku", "le", "mi", "na", "po", "ru", "se", "ti",
        "va",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = Vec::with_capacity(1008);
    while text.len() < 1000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for n in 0..=(state >> 60) % 4 {
            let syllable = (state >> (8 + 4 * n)) % SYLLABLES.len() as u64;
            text.extend_from_slice(SYLLABLES[syllable as usize].as_bytes());
        }
        text.push(if state.is_multiple_of(11) {
            b'\n'
        } else {
            b' '
        });
    }
    text.truncate(1000);
    text
}

/// Groups cells of growing parts: by sets and builder, each by size.
fn growing(cells: &[Cell]) -> Vec<(String, String, Vec<&Cell>)> {
    let mut groups: Vec<(String, String, Vec<&Cell>)> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.subject.part == PART) {
        let Some((names, _)) = cell.subject.set.split_once(" @") else {
            continue;
        };
        let image = &cell.subject.image;
        match groups.iter_mut().find(|(n, i, _)| n == names && i == image) {
            Some((.., group)) => group.push(cell),
            None => groups.push((names.to_owned(), image.clone(), vec![cell])),
        }
    }
    groups.sort_by_key(|(names, image, _)| (names.clone(), peers::rank(image)));
    for (.., group) in &mut groups {
        group.sort_by_key(|cell| bytes(cell) as u64);
    }
    groups
}

fn bytes(cell: &Cell) -> f64 {
    cell.last().map_or(0.0, |run| run.bytes as f64)
}

/// Returns a figure for each GB of input.
fn per_gb(cell: &Cell, name: &str) -> Option<f64> {
    Some(cell.median(name)? / (bytes(cell) / 1e9))
}

/// Finds what is claimed of growth: the largest input against that of some 500 MB.
pub fn claims(cells: &[Cell]) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (names, image, group) in growing(cells) {
        let first = group.iter().find(|cell| bytes(cell) >= FROM);
        let (Some(first), Some(last)) = (first, group.last()) else {
            continue;
        };
        if image.split(' ').next() != Some(OURS) || bytes(first) * 2.0 > bytes(last) {
            continue;
        }
        for name in ["wall", "cpu", "peak"] {
            if let (Some(small), Some(large)) = (per_gb(first, name), per_gb(last, name)) {
                claims.push(Claim {
                    set: names.clone(),
                    what: format!(
                        "{image}: {} per GB at {:.1} GB to that at {:.1} GB",
                        words(name),
                        bytes(last) / 1e9,
                        bytes(first) / 1e9
                    ),
                    ratio: large / small,
                    bound: 1.15,
                });
            }
        }
    }
    let million = |image: String| {
        let of = |cell: &&Cell| cell.subject.set == MILLION && cell.subject.image == image;
        cells.iter().find(of)?.median("wall")
    };
    let ours = million(format!("{OURS} {DEFAULT_LEVEL}"));
    if let (Some(ours), Some(theirs)) = (ours, million("mkdwarfs 7".into())) {
        claims.push(Claim {
            set: MILLION.into(),
            what: "default to mkdwarfs 7: wall time".into(),
            ratio: ours / theirs,
            bound: 1.0,
        });
    }
    claims
}

/// Shows cost per GB of input at each size.
pub fn show(cells: &[Cell]) -> Option<String> {
    let mut cells: Vec<&Cell> = cells
        .iter()
        .filter(|cell| cell.subject.part == PART)
        .collect();
    let order = |cell: &Cell| {
        let names = cell.subject.set.split(" @").next().map(str::to_owned);
        (names, bytes(cell) as u64, peers::rank(&cell.subject.image))
    };
    cells.sort_by_key(|cell| order(cell));
    let row = |cell: &&Cell| {
        let size = cell.median("size").map(|size| size / 1e6);
        vec![
            cell.subject.set.clone(),
            cell.subject.image.clone(),
            figure(Some(bytes(cell) / 1e6)),
            figure(size),
            figure(per_gb(cell, "wall")),
            figure(per_gb(cell, "cpu")),
            figure(cell.median("peak").map(|peak| peak / 1e6)),
        ]
    };
    let rows: Vec<Vec<String>> = cells.iter().map(row).collect();
    let header = [
        "input",
        "tool",
        "MB",
        "image MB",
        "wall s/GB",
        "CPU s/GB",
        "peak MB",
    ];
    (!rows.is_empty()).then(|| table(&header, &rows))
}

/// Draws cost against input size: a plot for each figure, with its file name.
pub fn plots(cells: &[Cell]) -> Vec<(String, Plot)> {
    let groups = growing(cells);
    let figures = [
        (
            "cpu",
            "CPU time of building against input size",
            "CPU seconds",
            1.0,
        ),
        (
            "wall",
            "Wall time of building against input size",
            "seconds",
            1.0,
        ),
        (
            "peak",
            "Memory of building against input size",
            "peak memory in MB",
            1e6,
        ),
    ];
    let plot = |(name, title, label, unit): (&str, &str, &'static str, f64)| {
        let series = groups.iter().map(|(names, image, group)| {
            Series {
                name: image.clone(),
                joined: true,
                points: group
                    .iter()
                    .filter_map(|cell| {
                        Some(Point {
                            x: bytes(cell) / 1e9,
                            y: cell.median(name)? / unit,
                            label: String::new(),
                        })
                    })
                    .collect(),
            }
            .named(names, &groups)
        });
        let plot = Plot {
            title: title.to_owned(),
            x: Axis {
                label: "input in GB",
                logarithmic: false,
            },
            y: Axis {
                label,
                logarithmic: false,
            },
            series: series.collect(),
        };
        (format!("scale-{name}.svg"), plot)
    };
    figures.into_iter().map(plot).collect()
}

impl Series {
    /// Says which sets it is of, where there are several.
    fn named(mut self, names: &str, groups: &[(String, String, Vec<&Cell>)]) -> Self {
        if groups.iter().any(|(other, ..)| other != names) {
            self.name = format!("{} ({names})", self.name);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cells;
    use crate::results::tests::record;

    fn part(image: &str, megabytes: u64, cpu: f64) -> crate::results::Record {
        let mut record = record(
            &format!("a+b @{megabytes} MB"),
            PART,
            image,
            &[("cpu", cpu)],
        );
        record.bytes = megabytes * 1_000_000;
        record
    }

    #[test]
    fn growth_from_half_a_gigabyte_on() {
        let records = [
            part("sinter 7", 100, 900.0),
            part("sinter 7", 500, 10.0),
            part("sinter 7", 4000, 88.0),
            part("mkdwarfs 7", 500, 10.0),
        ];
        let cells = cells(&records);
        let claims = claims(&cells);
        assert_eq!(claims.len(), 1);
        assert!((claims[0].ratio - 1.1).abs() < 1e-9, "{claims:?}");
        let shown = show(&cells).unwrap();
        let (first, last) = (
            shown.find("@100 MB").unwrap(),
            shown.find("@4000 MB").unwrap(),
        );
        assert!(first < last);
        let plots = plots(&cells);
        assert_eq!(plots[0].1.series.len(), 2);
        assert!(plots[0].1.draw().is_some());
    }

    #[test]
    fn small_texts_differ() {
        let (a, b) = (small_text(1), small_text(2));
        assert_eq!((a.len(), b.len()), (1000, 1000));
        assert_ne!(a, b);
        assert_eq!(a, small_text(1));
    }
}
