//! Our pipeline with its stages switched off in turn, each by explicit options.

use crate::bench::{Bench, Label, remove};
use crate::case::Case;
use crate::harness::sets::Set;
use crate::runner::Measurement;
use crate::tables::cells::SetCells;
use crate::tables::table::{figure, megabytes, table};
use crate::tools::command::{fill, quoted};
use crate::tools::ours::{DEFAULT_LEVEL, OURS, SINTER};
use crate::tools::tool::{Tool, Variant};

/// The case `ablate`.
pub struct Ablate;

const NAME: &str = "ablate";

/// The pipeline as the level has it.
const WHOLE: &str = "all stages";

/// The variants: a name, and options that follow those of the level.
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

impl Case for Ablate {
    fn name(&self) -> &'static str {
        NAME
    }

    fn title(&self) -> &'static str {
        "The pipeline with its stages switched off in turn"
    }

    fn prepare<'a>(
        &self,
        bench: &'a Bench<'a>,
        set: &'a Set,
    ) -> Result<Vec<Measurement<'a>>, String> {
        let sinter = OURS.first().ok_or("no row for ours")?;
        let is_wanted = |level: &&Variant| match &bench.options.levels {
            Some(levels) => level.level.is_some_and(|level| levels.contains(&level)),
            None => level.label == DEFAULT_LEVEL,
        };
        let mut all = Vec::new();
        for level in sinter.variants.iter().filter(is_wanted) {
            let variants = VARIANTS.iter();
            all.extend(variants.map(|variant| measurement(bench, set, sinter, level, variant)));
        }
        Ok(all)
    }

    fn rows(&self, cells: &SetCells<'_>) -> Option<String> {
        show(cells)
    }
}

fn measurement<'a>(
    bench: &'a Bench<'a>,
    set: &'a Set,
    sinter: &'static Tool,
    level: &Variant,
    (name, more): &(&str, &str),
) -> Measurement<'a> {
    let image = bench.work.join("ablate.image");
    let args = format!("{} {more}", level.args);
    let places = [
        ("args", &*args),
        ("dir", &quoted(&set.dir)),
        ("image", &quoted(&image)),
    ];
    let command = fill(sinter.build, &places, bench.options.jobs);
    let label = Label {
        part: NAME,
        tool: SINTER,
        image: format!("{SINTER} {}: {name}", level.label),
        command: sinter.build,
        args: &args,
        made_by: &[],
        version_of: SINTER,
    };
    Measurement {
        record: bench.record(set, label),
        run: Box::new(move |_| {
            let outcome = bench.build_once(&command, &image);
            remove(&image);
            outcome
        }),
    }
}

/// Shows what each stage saves and costs: the whole pipeline against the variant without it.
fn show(cells: &SetCells<'_>) -> Option<String> {
    let find = |level: &str, name: &str| {
        let image = format!("{level}: {name}");
        cells.part(NAME).find(|cell| cell.subject.image == image)
    };
    let mut levels: Vec<&str> = cells
        .part(NAME)
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
    fn savings_and_costs_of_a_stage() {
        let run = |name: &str, size: f64, cpu: f64| {
            let image = format!("sinter 7: {name}");
            record("s", NAME, &image, &[("size", size), ("cpu", cpu)])
        };
        let records = [run(WHOLE, 80e6, 30.0), run("order by path", 100e6, 25.0)];
        let shown = show(&SetCells::of(&cells(&records), "s")).unwrap();
        let line = shown.lines().last().unwrap();
        for part in ["`--order path`", "+20.00", "+25.00", "+5.00"] {
            assert!(line.contains(part), "{part}: {shown}");
        }
        assert!(show(&SetCells::of(&cells(&records), "t")).is_none());
    }

    #[test]
    fn variants_have_names_of_their_own() {
        let mut names: Vec<_> = VARIANTS.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), VARIANTS.len());
    }
}
