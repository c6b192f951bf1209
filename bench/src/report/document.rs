//! All results as one text, for the terminal and for docs/benchmarks.md with its plots.
//!
//! Enters cells and notes; leaves text and pictures. **Invariant:** docs/benchmarks.md holds
//! nothing else: a test compares it with what its data gives.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cases;
use crate::results::{Cell, to_lines};

use super::claims::{self, Claim, Ratio};
use super::overview;
use crate::tables::cells::SetCells;
use crate::tables::table::table;

/// The results that docs/benchmarks.md shows, relative to `docs`.
pub const DATA: &str = "benchmarks/results.jsonl";

/// Measurements that no suite takes, relative to `docs`.
const NOTES: &str = "benchmarks/notes.json";

const HEAD: &str = "# Benchmarks\n\n\
What `sinter` and other tools need for the same data, and which claims of ours the figures support.\n\
`cargo xtask bench render --write` writes this page from docs/benchmarks (CONTRIBUTING.md,\n\
\"Measuring\"). Compare only commands that ran in turn on one machine; differences of time below\n\
10 % or so mean little, sizes are exact. docs/benchmarks has the conditions of every row.\n";

const OVERVIEW: &str = "The default image of each tool, ours divided by theirs: `sinter build` by \
    `mkdwarfs`. Size, CPU time, wall time and peak memory are of the build; `kernel` and `FUSE` \
    are cold reads of all files by tar through `sinter mount`, divided by the same through \
    `dwarfs`.";

/// Measurements that no suite takes: ratios of builds, and tables. The file has the conditions of
/// each, too, which the page leaves out.
#[derive(Debug, Default)]
pub struct Notes {
    /// The table that README has, too.
    summary: Option<NoteTable>,
    ratios: Vec<Ratio>,
    tables: Vec<NoteTable>,
}

#[derive(Debug)]
struct NoteTable {
    title: String,
    text: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A text and the plots that it shows, by file name.
#[derive(Debug, Default)]
pub struct Report {
    pub text: String,
    pub plots: Vec<(String, String)>,
}

/// Reads the notes; none if there is no such file.
pub fn notes(docs: &Path) -> Result<Notes, String> {
    let path = docs.join(NOTES);
    let text = match fs::read_to_string(&path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Notes::default()),
        text => text.map_err(|e| format!("{}: {e}", path.display()))?,
    };
    let parsed = serde_json::from_str(&text).map_err(|e| e.to_string());
    let notes = parsed.and_then(|value| Notes::parse(&value).ok_or("a field is missing".into()));
    notes.map_err(|e| format!("{}: {e}", path.display()))
}

impl Notes {
    fn parse(value: &Value) -> Option<Self> {
        let ratio = |value: &Value| {
            let text = |name: &str| value[name].as_str().map(str::to_owned);
            Some(Ratio {
                set: text("set")?,
                ours: text("ours")?,
                theirs: text("theirs")?,
                figure: text("figure")?,
                ratio: value["ratio"].as_f64()?,
            })
        };
        let table = |value: &Value| {
            let rows = value["rows"].as_array()?.iter().map(strings);
            Some(NoteTable {
                title: value["title"].as_str()?.to_owned(),
                text: value["text"].as_str()?.to_owned(),
                header: strings(&value["header"])?,
                rows: rows.collect::<Option<_>>()?,
            })
        };
        Some(Self {
            summary: Some(table(&value["summary"])?),
            ratios: value["ratios"]
                .as_array()?
                .iter()
                .map(ratio)
                .collect::<Option<_>>()?,
            tables: value["tables"]
                .as_array()?
                .iter()
                .map(table)
                .collect::<Option<_>>()?,
        })
    }
}

fn strings(value: &Value) -> Option<Vec<String>> {
    let words = value.as_array()?.iter();
    words.map(|word| word.as_str().map(str::to_owned)).collect()
}

/// Returns the report of all cells.
pub fn report(cells: &[Cell], notes: &Notes) -> Report {
    let mut report = Report {
        text: notes
            .summary
            .as_ref()
            .map_or(String::new(), NoteTable::show),
        plots: Vec::new(),
    };
    report.overview(cells, &notes.ratios);
    let claims = claims::claims(cells, &notes.ratios);
    report.text += &broken_claims(&claims);
    report.text += &about(cells);
    let mut sets: Vec<&str> = cells.iter().map(|cell| &*cell.subject.set).collect();
    sets.dedup();
    for set in sets {
        report.set(&SetCells::of(cells, set), &last_input(cells, set));
    }
    for note in &notes.tables {
        report.text += &note.show();
    }
    if !claims.is_empty() {
        let table = claims::show(claims.iter());
        report.text += &format!("\n## All claims\n\nOurs divided by theirs.\n\n{table}");
    }
    report
}

/// Returns how many claims hold, and the table of the others.
fn broken_claims(claims: &[Claim]) -> String {
    let broken: Vec<&Claim> = claims.iter().filter(|claim| !claim.holds()).collect();
    if broken.is_empty() {
        return String::new();
    }
    let text = format!(
        "{} of {} claims hold (the last section lists them all). These do not:",
        claims.len() - broken.len(),
        claims.len()
    );
    let table = claims::show(broken.into_iter());
    format!(
        "\n## Claims that do not hold\n\n{}\n\n{table}",
        wrapped(&text)
    )
}

impl NoteTable {
    fn show(&self) -> String {
        let text = format!("\n## {}\n\n{}\n", self.title, wrapped(&self.text));
        if self.rows.is_empty() {
            text
        } else {
            format!("{text}\n{}", self.rows_alone())
        }
    }

    fn rows_alone(&self) -> String {
        let header: Vec<&str> = self.header.iter().map(String::as_str).collect();
        table(&header, &self.rows)
    }
}

/// Describes the input of a set; nothing for one that has only been measured in parts.
fn last_input(cells: &[Cell], set: &str) -> String {
    let of_set = cells.iter().filter(|cell| cell.subject.set == set);
    let whole = of_set.filter(|cell| cell.subject.part != cases::scale::NAME);
    let last = whole.filter_map(Cell::last).max_by_key(|run| run.call);
    last.map_or(String::new(), |run| {
        format!(": {:.1} MB in {} files", run.bytes as f64 / 1e6, run.files)
    })
}

impl Report {
    /// Adds the picture of one set and the table of all.
    fn overview(&mut self, cells: &[Cell], ratios: &[Ratio]) {
        if let Some(svg) = overview::picture(cells) {
            let name = format!("{}.svg", overview::PICTURE);
            let title = format!("{}: size against cold read time", overview::PICTURED);
            self.text += &format!("\n![{title}](benchmarks/{name})\n");
            self.plots.push((name, svg));
        }
        if let Some(table) = overview::show(cells, ratios) {
            let text = wrapped(OVERVIEW);
            self.text += &format!("\n## All sets\n\n{text}\n\n{table}");
        }
    }

    fn set(&mut self, cells: &SetCells<'_>, input: &str) {
        self.text += &format!("\n## {}{input}\n", cells.set);
        for case in cases::ALL {
            let Some(rows) = case.rows(cells) else {
                continue;
            };
            self.text += &format!("\n### {}\n\n", case.title());
            for (name, plot) in case.plots(cells) {
                if let Some(svg) = plot.draw() {
                    self.text += &format!("![{}](benchmarks/{name}.svg)\n\n", plot.title);
                    self.plots.push((format!("{name}.svg"), svg));
                }
            }
            self.text += &rows;
        }
        let wrong = cells.wrong().concat();
        if !wrong.is_empty() {
            self.text += &format!("\n### Wrong results, not used\n\n{wrong}");
        }
    }

    /// Returns the text of docs/benchmarks.md.
    fn page(&self) -> String {
        format!("{HEAD}{}", self.text)
    }

    /// Writes the page, its plots and its data below a `docs` directory.
    pub fn write(&self, docs: &Path, cells: &[Cell]) -> Result<(), String> {
        let write = |path: &Path, text: &str| {
            fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
        };
        let data = docs.join(DATA);
        let dir = data.parent().unwrap_or(docs);
        fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for (name, svg) in &self.plots {
            write(&dir.join(name), svg)?;
        }
        write(&data, &to_lines(cells))?;
        write(&docs.join("benchmarks.md"), &self.page())
    }
}

/// Breaks a paragraph into lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    // a number stays with its percent sign
    let bound = text.replace(" %", "\u{a0}%");
    for word in bound.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 100 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n").replace('\u{a0}', " ")
}

/// Describes the machine, the tools and their command lines.
fn about(cells: &[Cell]) -> String {
    let runs = || cells.iter().filter_map(Cell::last);
    let machines: BTreeSet<&str> = runs().map(|run| &*run.machine).collect();
    let machines: Vec<&str> = machines.into_iter().collect();
    let mut versions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut commands: BTreeSet<(&str, &str, &str)> = BTreeSet::new();
    for run in runs() {
        let subject = &run.subject;
        // the drivers of `mounts` belong to tools that build
        if !run.version.is_empty() && subject.part != "mounts" {
            versions.insert(&subject.tool, &run.version);
        }
        match &*subject.part {
            // their tables name the options
            "ablate" | "scale" => {}
            "mount" | "random-read" | "serve" => {
                commands.insert((&subject.tool, "mount", &run.command));
            }
            part => {
                commands.insert((&subject.tool, part, &run.command));
            }
        }
    }
    let versions: Vec<String> = versions
        .iter()
        .map(|(tool, version)| format!("{tool} {version}"))
        .collect();
    let about = format!(
        "{}, commands in turn. Machine: {}. Versions: {}. MB and GB are 10^6 and 10^9 bytes; CPU \
         is user and system time of all processes of a command, peak the resident memory of its \
         largest one. Ratios are ours divided by theirs: below 1, ours is better. Mounts are read \
         by one thread (unless the row names more) after the page cache was dropped.",
        repetitions(cells),
        machines.join("; "),
        versions.join(", ")
    );
    let mut text = format!("\n## How it was measured\n\n{}\n", wrapped(&about));
    let row = |(tool, part, command): &(&str, &str, &str)| {
        let command = command.replace('|', "\\|");
        vec![
            (*tool).to_owned(),
            (*part).to_owned(),
            format!("`{command}`"),
        ]
    };
    let rows: Vec<Vec<String>> = commands
        .iter()
        .filter(|(.., command)| !command.is_empty())
        .map(row)
        .collect();
    if !rows.is_empty() {
        text += &format!("\n{}", table(&["tool", "part", "command"], &rows));
    }
    text
}

/// Describes how often commands were run.
fn repetitions(cells: &[Cell]) -> String {
    let runs = || cells.iter().map(|cell| cell.runs.len());
    match (runs().min().unwrap_or(0), runs().max().unwrap_or(0)) {
        (_, 0) => "No runs".into(),
        (_, 1) => "Single runs".into(),
        (least, most) if least == most => format!("Medians of {most} runs"),
        (1, most) => format!("Single runs or medians of up to {most}"),
        (least, most) => format!("Medians of {least} to {most} runs"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::record;
    use crate::results::{cells, load_file};

    #[test]
    fn a_report_has_sets_plots_and_data() {
        let docs = crate::workspace::target().join(format!("docs-{}", std::process::id()));
        let built = |image: &str, size: f64| {
            record("s", "build", image, &[("size", size), ("cpu", size / 1e6)])
        };
        let cells = cells(&[built("sinter 7", 1e6), built("tar+xz 6", 2e6)]);
        let report = report(&cells, &Notes::default());
        report.write(&docs, &cells).unwrap();
        let text = fs::read_to_string(docs.join("benchmarks.md")).unwrap();
        assert!(text.starts_with("# Benchmarks\n"), "{text}");
        assert!(text.contains("## s: 1.0 MB in 10 files"), "{text}");
        assert!(text.contains("Single runs, commands in turn"), "{text}");
        assert!(docs.join("benchmarks/s.svg").exists());
        assert_eq!(load_file(&docs.join(DATA)).unwrap().len(), 2);
        fs::remove_dir_all(docs).unwrap();
    }

    #[test]
    fn runs_are_counted() {
        let run = |image: &str| record("s", "build", image, &[]);
        let [one, two] = [run("a"), run("b")];
        let text = |records: &[crate::results::Record]| repetitions(&cells(records));
        assert_eq!(text(std::slice::from_ref(&one)), "Single runs");
        assert_eq!(text(&[one.clone(), one.clone()]), "Medians of 2 runs");
        assert_eq!(
            text(&[one.clone(), one, two]),
            "Single runs or medians of up to 2"
        );
    }

    #[test]
    fn readme_has_the_summary() {
        let root = crate::workspace::root();
        let summary = notes(&root.join("docs")).unwrap().summary.unwrap();
        let readme = fs::read_to_string(root.join("README.md")).unwrap();
        let rows = summary.rows_alone();
        assert!(
            readme.contains(&rows),
            "README.md lacks this table:\n{rows}"
        );
    }

    /// Whoever edits docs/benchmarks.md by hand, or its data without the page, fails here.
    #[test]
    fn the_page_matches_its_data() {
        let docs = crate::workspace::root().join("docs");
        let cells = cells(&load_file(&docs.join(DATA)).unwrap());
        let report = report(&cells, &notes(&docs).unwrap());
        let committed = |name: &str| fs::read_to_string(docs.join(name)).unwrap();
        let hint = "run `cargo xtask bench render --write`";
        assert!(report.page() == committed("benchmarks.md"), "{hint}");
        for (name, svg) in &report.plots {
            assert!(
                *svg == committed(&format!("benchmarks/{name}")),
                "{name}: {hint}"
            );
        }
    }
}
