//! `--ablate`: our pipeline with its stages switched off in turn, each by explicit options.

use crate::cases::parts::{Bench, Builder, remove};
use crate::harness::sets::Set;
use crate::report::table::{figure, megabytes, table};
use crate::results::Cell;
use crate::runner::{Case, in_turn};
use crate::tools::peers::{self, DEFAULT_LEVEL, OURS, Variant, fill, quoted};

/// The part's name in results.
pub const PART: &str = "ablate";

/// The pipeline as the level has it.
const WHOLE: &str = "all stages";

/// What is changed: a name and the options that follow the level's. A row is all that another
/// variant needs.
const VARIANTS: &[(&str, &str)] = &[
    (WHOLE, ""),
    ("order by path", "--order path"),
    ("order by path backwards", "--order revpath"),
    ("order as found", "--order none"),
    ("repeats in the open block alone", "--lookback 0"),
    ("repeats one block back", "--lookback 1"),
    ("one stream for all content", "--no-categorize"),
    ("one gigabyte of memory", "--memory 1g"),
    ("blocks of 4 MiB", "--block-size 4m"),
    ("blocks of 16 MiB", "--block-size 16m"),
    ("no branch converters", "--compression lzma2:level=6"),
    ("liblzma", "--compression lzma:level=6:dict=26"),
    ("zstd 9", "--compression zstd:level=9:window=26:long"),
    ("zstd 19", "--compression zstd:level=19:window=26"),
];

/// Measures builds of one set with each variant in turn.
pub fn measure(bench: &Bench<'_>, set: &Set) -> Result<(), String> {
    let ours = peers::named(OURS).ok_or("no row for ours")?;
    let image = bench.work.join("ablate.image");
    let wanted = |level: &&Variant| match &bench.options.levels {
        Some(levels) => level.level.is_some_and(|level| levels.contains(&level)),
        None => level.label == DEFAULT_LEVEL,
    };
    for level in ours.variants.iter().filter(wanted) {
        let case = |(name, more): &(&str, &str)| {
            let builder = Builder {
                peer: ours,
                variant: level,
            };
            let args = format!("{} {more}", level.args);
            let places = [
                ("args", &*args),
                ("dir", &quoted(&set.dir)),
                ("image", &quoted(&image)),
            ];
            let command = fill(ours.build, &places, bench.options.jobs);
            let mut record = bench.record(set, PART, ours, builder);
            record.subject.image = format!("{}: {name}", builder.name());
            record.identity += more;
            record.command = fill(
                ours.build,
                &[("args", &*args), ("dir", "DIR"), ("image", "IMAGE")],
                bench.options.jobs,
            );
            let image = &image;
            Case {
                record,
                run: Box::new(move |_| {
                    let outcome = bench.build_once(&command, image);
                    remove(image);
                    outcome
                }),
            }
        };
        let cases: Vec<Case<'_>> = VARIANTS.iter().map(case).collect();
        in_turn(&cases, bench.options.runs, bench.store)?;
    }
    Ok(())
}

/// Shows, for one set, what each stage saves and costs: the whole pipeline against the variant.
pub fn show(cells: &[Cell], set: &str) -> Option<String> {
    let of_set = |cell: &&Cell| cell.subject.part == PART && cell.subject.set == set;
    let find = |level: &str, name: &str| {
        let image = format!("{level}: {name}");
        cells
            .iter()
            .filter(of_set)
            .find(|cell| cell.subject.image == image)
    };
    let mut levels: Vec<&str> = cells
        .iter()
        .filter(of_set)
        .filter_map(|cell| Some(cell.subject.image.split_once(": ")?.0))
        .collect();
    levels.dedup();
    let mut rows = Vec::new();
    for level in levels {
        let whole = find(level, WHOLE)?;
        for (name, args) in VARIANTS {
            let Some(cell) = find(level, name) else {
                continue;
            };
            let difference = |figure: &str| Some((cell.median(figure)?, whole.median(figure)?));
            let bytes = difference("size").map(|(with, whole)| (with - whole) / 1e6);
            let share = difference("size").map(|(with, whole)| (with / whole - 1.0) * 100.0);
            let cpu = difference("cpu").map(|(with, whole)| whole - with);
            rows.push(vec![
                format!("{level}: {name}"),
                format!("`{args}`").replace("``", ""),
                megabytes(cell.median("size")),
                figure(cell.median("cpu")),
                figure(cell.median("peak").map(|peak| peak / 1e6)),
                signed(bytes),
                signed(share),
                signed(cpu),
            ]);
        }
    }
    let header = [
        "variant",
        "options",
        "size MB",
        "CPU s",
        "peak MB",
        "the whole saves MB",
        "%",
        "and costs CPU s",
    ];
    (!rows.is_empty()).then(|| table(&header, &rows))
}

fn signed(value: Option<f64>) -> String {
    value.map_or("-".into(), |value| format!("{value:+.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cells;
    use crate::results::tests::record;

    #[test]
    fn what_a_stage_saves_and_costs() {
        let run = |name: &str, size: f64, cpu: f64| {
            let image = format!("sinter 7: {name}");
            record("s", PART, &image, &[("size", size), ("cpu", cpu)])
        };
        let records = [run(WHOLE, 80e6, 30.0), run("order by path", 100e6, 25.0)];
        let shown = show(&cells(&records), "s").unwrap();
        let line = shown.lines().last().unwrap();
        for part in ["`--order path`", "+20.00", "+25.00", "+5.00"] {
            assert!(line.contains(part), "{part}: {shown}");
        }
        assert!(show(&cells(&records), "t").is_none());
    }

    #[test]
    fn variants_have_names_of_their_own() {
        let mut names: Vec<_> = VARIANTS.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIANTS.len());
    }
}
