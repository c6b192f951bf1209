//! All results as one text, for the terminal and for docs/benchmarks.md with its plots.
//!
//! **Invariant:** of docs/benchmarks.md only what follows the mark is written; what people wrote
//! above it stays.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cases::ablate;
use crate::cases::scale;
use crate::report::claims;
use crate::report::comparison::Comparison;
use crate::report::plot::Plot;
use crate::report::table::table;
use crate::results::{Cell, Record};

/// Where the written part of the document begins.
const MARK: &str = "<!-- What follows is written by `cargo xtask bench --write`. -->";

/// What stands above the mark where there is no document yet.
const HEAD: &str = "# Benchmarks\n";

/// A text and the plots that it shows, by file name.
#[derive(Debug)]
pub struct Report {
    pub text: String,
    pub plots: Vec<(String, String)>,
}

/// Shows all cells.
pub fn report(cells: &[Cell]) -> Report {
    let mut report = Report {
        text: String::new(),
        plots: Vec::new(),
    };
    report.text += &about(cells);
    let claims = claims::claims(cells);
    if !claims.is_empty() {
        report.text += "\n## What is claimed\n\nOurs divided by theirs.\n\n";
        report.text += &claims::show(&claims);
    }
    let mut sets: Vec<&str> = cells
        .iter()
        .filter(|cell| cell.subject.part != scale::PART)
        .map(|cell| &*cell.subject.set)
        .collect();
    sets.dedup();
    for set in sets {
        report.set(cells, set);
    }
    if let Some(shown) = scale::show(cells) {
        report.text += "\n## Cost against input size\n\n";
        for (name, plot) in scale::plots(cells) {
            report.plot(name, &plot);
        }
        report.text += &shown;
    }
    report
}

impl Report {
    fn set(&mut self, cells: &[Cell], set: &str) {
        let comparison = Comparison::of(cells, set);
        let of_set = cells.iter().filter(|cell| cell.subject.set == set);
        let last = of_set.filter_map(Cell::last).max_by_key(|run| run.call);
        let (files, bytes) = last.map_or((0, 0), |run| (run.files, run.bytes));
        self.text += &format!(
            "\n## {set}: {:.1} MB in {files} files\n\n",
            bytes as f64 / 1e6
        );
        self.plot(format!("{set}.svg"), &comparison.pareto(set));
        let tables = [
            ("Building", comparison.builds()),
            ("Extracting", comparison.extractions()),
            ("Mounting and reading every file", comparison.mounts()),
            ("Cold random reads of 4 KiB", comparison.random_reads()),
            ("What programs do with a cold mount", comparison.served()),
            (
                "The pipeline with its stages switched off in turn",
                ablate::show(cells, set),
            ),
        ];
        for (title, table) in tables {
            if let Some(table) = table {
                self.text += &format!("### {title}\n\n{table}\n");
            }
        }
        let wrong = comparison.wrong().concat();
        if !wrong.is_empty() {
            self.text += &format!("### Wrong results, not counted\n\n{wrong}\n");
        }
        self.text.truncate(self.text.trim_end().len());
        self.text += "\n";
    }

    fn plot(&mut self, name: String, plot: &Plot) {
        if let Some(svg) = plot.draw() {
            self.text += &format!("![{}](benchmarks/{name})\n\n", plot.title);
            self.plots.push((name, svg));
        }
    }

    /// Writes the document and its plots below a `docs` directory.
    pub fn write(&self, docs: &Path) -> Result<(), String> {
        let document = docs.join("benchmarks.md");
        let old = std::fs::read_to_string(&document).unwrap_or_else(|_| HEAD.to_owned());
        let head = old.split(MARK).next().unwrap_or_default().trim_end();
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
        };
        let dir = docs.join("benchmarks");
        std::fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        for (name, svg) in &self.plots {
            write(&dir.join(name), svg)?;
        }
        write(&document, &format!("{head}\n\n{MARK}\n{}", self.text))
    }
}

/// Returns the machine, the tools and their command lines.
fn about(cells: &[Cell]) -> String {
    let runs = || cells.iter().filter_map(Cell::last);
    let mut machines: Vec<&str> = runs().map(|run| &*run.machine).collect();
    machines.sort_unstable();
    machines.dedup();
    let mut versions: BTreeMap<&str, &str> = BTreeMap::new();
    let mut commands: BTreeMap<(&str, &str, &str), &Record> = BTreeMap::new();
    for run in runs() {
        let subject = &run.subject;
        versions.insert(&subject.tool, &run.version);
        match &*subject.part {
            "build" => {
                commands.insert((&subject.tool, "build", &subject.image), run);
            }
            // the same for all images
            "extract" => {
                commands.insert((&subject.tool, "extract", "any"), run);
            }
            "mount" | "random-read" | "serve" => {
                commands.insert((&subject.tool, "mount", "any"), run);
            }
            _ => {}
        }
    }
    let most = cells.iter().map(|cell| cell.runs.len()).max().unwrap_or(0);
    let versions: Vec<String> = versions
        .iter()
        .map(|(tool, version)| format!("{tool} {version}"))
        .collect();
    let mut text = format!(
        "\n## How it was measured\n\n\
         Medians of up to {most} runs, commands in turn. Machine: {}.\n\
         Versions: {}.\n\
         MB and GB are 10^6 and 10^9 bytes; CPU is user and system time of all processes of a\n\
         command, peak the resident memory of its biggest one. Ratios are ours divided by theirs:\n\
         below 1, ours is better. Mounts are read by one thread (where two are not named), after the page\n\
         cache was dropped.\n",
        machines.join("; "),
        versions.join(", ")
    );
    if !commands.is_empty() {
        let row = |((tool, part, _), run): (&(&str, &str, &str), &&Record)| {
            let command = run.command.replace('|', "\\|");
            vec![
                (*tool).to_owned(),
                (*part).to_owned(),
                format!("`{command}`"),
            ]
        };
        let rows: Vec<Vec<String>> = commands.iter().map(row).collect();
        text += &format!("\n{}", table(&["tool", "part", "command"], &rows));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::cells;
    use crate::results::tests::record;

    #[test]
    fn the_head_of_the_document_stays() {
        let docs = crate::workspace::target().join(format!("docs-{}", std::process::id()));
        std::fs::create_dir_all(&docs).unwrap();
        let cells = cells(&[
            record("s", "build", "sinter 7", &[("size", 1e6), ("cpu", 2.0)]),
            record("s", "build", "tar+xz 6", &[("size", 2e6), ("cpu", 3.0)]),
        ]);
        let report = report(&cells);
        report.write(&docs).unwrap();
        let document = docs.join("benchmarks.md");
        let text = std::fs::read_to_string(&document).unwrap();
        assert!(text.starts_with("# Benchmarks\n\n<!--"), "{text}");
        assert!(text.contains("## s: 1.0 MB in 10 files"));
        assert!(docs.join("benchmarks/s.svg").exists());
        let edited = text.replace("# Benchmarks\n", "# Benchmarks\n\nBy hand.\n");
        std::fs::write(&document, edited).unwrap();
        report.write(&docs).unwrap();
        let again = std::fs::read_to_string(&document).unwrap();
        assert!(again.contains("By hand."));
        assert_eq!(again.matches(MARK).count(), 1);
        std::fs::remove_dir_all(docs).unwrap();
    }
}
