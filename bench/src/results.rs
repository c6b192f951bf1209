//! Results of single runs, kept as one line of JSON each, and their grouping into cells.
//!
//! Enters one record a run, appended as soon as it is measured; leaves cells: all runs of one
//! command on one input. **Invariant:** runs that differ in the program's bytes, the command line
//! or the input never share a cell; where they follow each other, the latest ones count.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::harness::statistics::median;

/// Named figures of one run: seconds and bytes, unless the name says otherwise.
pub type Figures = BTreeMap<String, f64>;

/// What was measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subject {
    /// The input's name.
    pub set: String,
    /// The name of the case.
    pub part: String,
    /// The tool that was measured.
    pub tool: String,
    /// The image that was built or read: its builder and variant.
    pub image: String,
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    pub subject: Subject,
    /// Differs where the program, the command line or the input does.
    pub identity: String,
    /// The command line with placeholders for paths.
    pub command: String,
    /// The tool's version.
    pub version: String,
    /// The machine that it ran on.
    pub machine: String,
    /// The input: files and their bytes.
    pub files: u64,
    pub bytes: u64,
    /// When its call of `bench` began, in seconds since 1970.
    pub call: u64,
    pub figures: Figures,
    /// What was wrong with the result, if anything: its figures are not used then.
    pub wrong: Option<String>,
}

/// All runs of one subject by the same program on the same input.
#[derive(Debug, Clone)]
pub struct Cell {
    pub subject: Subject,
    pub runs: Vec<Record>,
}

impl Cell {
    /// Returns the median of a figure, if any run has it.
    pub fn median(&self, figure: &str) -> Option<f64> {
        let values: Vec<f64> = self
            .runs
            .iter()
            .filter_map(|run| run.figures.get(figure).copied())
            .collect();
        median(&values)
    }

    /// Returns the last run.
    pub fn last(&self) -> Option<&Record> {
        self.runs.last()
    }

    /// Returns what was wrong with a result, if anything.
    pub fn wrong(&self) -> Option<&str> {
        self.runs.iter().find_map(|run| run.wrong.as_deref())
    }
}

/// The file of results.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
}

impl Store {
    /// Names the file; the first result creates it.
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Appends a result.
    pub fn add(&self, record: &Record) -> Result<(), String> {
        let error = |e: std::io::Error| format!("{}: {e}", self.path.display());
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(error)?;
        file.write_all(format!("{}\n", as_json(record)).as_bytes())
            .map_err(error)
    }

    /// Reads all results so far.
    pub fn load(&self) -> Result<Vec<Record>, String> {
        load_file(&self.path)
    }

    /// Renames the file, so that the next result begins a new one.
    pub fn set_aside(&self) -> Result<(), String> {
        match std::fs::rename(&self.path, self.path.with_extension("jsonl.old")) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(format!("{}: {e}", self.path.display()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reads a file of results, none if it does not exist. A line that a crash cut short is skipped.
pub fn load_file(path: &Path) -> Result<Vec<Record>, String> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(text.lines().filter_map(from_line).collect()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(format!("{}: {e}", path.display())),
    }
}

/// Returns the records of both; one that is in both, since a rendering has taken it over, once.
pub fn merged(kept: Vec<Record>, own: &[Record]) -> Vec<Record> {
    let is_new = |run: &&Record| !kept.contains(run);
    let new: Vec<Record> = own.iter().filter(is_new).cloned().collect();
    [kept, new].concat()
}

/// Returns the text of a file of results with all runs of cells.
pub fn to_lines(cells: &[Cell]) -> String {
    let runs = cells.iter().flat_map(|cell| &cell.runs);
    runs.map(|run| format!("{}\n", as_json(run))).collect()
}

/// Groups records: for each subject those with the identity of its latest one.
pub fn cells(records: &[Record]) -> Vec<Cell> {
    let mut groups: BTreeMap<&Subject, Vec<&Record>> = BTreeMap::new();
    for record in records {
        groups.entry(&record.subject).or_default().push(record);
    }
    let newest = |runs: Vec<&Record>| -> Vec<Record> {
        let identity = runs.last().map(|run| run.identity.clone());
        runs.into_iter()
            .filter(|run| Some(&run.identity) == identity.as_ref())
            .cloned()
            .collect()
    };
    groups
        .into_iter()
        .map(|(subject, runs)| Cell {
            subject: subject.clone(),
            runs: newest(runs),
        })
        .collect()
}

fn as_json(record: &Record) -> Value {
    json!({
        "set": record.subject.set,
        "part": record.subject.part,
        "tool": record.subject.tool,
        "image": record.subject.image,
        "identity": record.identity,
        "command": record.command,
        "version": record.version,
        "machine": record.machine,
        "files": record.files,
        "bytes": record.bytes,
        "call": record.call,
        "figures": record.figures,
        "wrong": record.wrong,
    })
}

fn from_line(line: &str) -> Option<Record> {
    let value: Value = serde_json::from_str(line).ok()?;
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let number = |name: &str| value[name].as_u64();
    Some(Record {
        subject: Subject {
            set: text("set")?,
            part: text("part")?,
            tool: text("tool")?,
            image: text("image")?,
        },
        identity: text("identity")?,
        command: text("command")?,
        version: text("version")?,
        machine: text("machine")?,
        files: number("files")?,
        bytes: number("bytes")?,
        call: number("call")?,
        figures: value["figures"]
            .as_object()?
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), value.as_f64()?)))
            .collect(),
        wrong: text("wrong"),
    })
}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used, reason = "a test's own functions")]

    use super::*;

    /// Makes a record as a run of a tool would.
    pub fn record(set: &str, part: &str, image: &str, figures: &[(&str, f64)]) -> Record {
        Record {
            subject: Subject {
                set: set.into(),
                part: part.into(),
                tool: image.split(' ').next().unwrap().into(),
                image: image.into(),
            },
            identity: "1".into(),
            command: format!("{image} DIR"),
            version: "1.0".into(),
            machine: "2 cores".into(),
            files: 10,
            bytes: 1_000_000,
            call: 1,
            figures: figures
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            wrong: None,
        }
    }

    #[test]
    fn stored_results_are_loaded_again() {
        let path = crate::workspace::target().join(format!("records-{}.jsonl", std::process::id()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let store = Store::new(path.clone());
        assert!(store.load().unwrap().is_empty());
        let mut first = record("s", "build", "sinter 7", &[("wall", 1.5)]);
        first.wrong = Some("not \"equal\"\n".into());
        store.add(&first).unwrap();
        store.add(&record("s", "build", "mkdwarfs 7", &[])).unwrap();
        std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap()
            .write_all(b"{\"set\":\"cut sh")
            .unwrap();
        let loaded = store.load().unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(loaded.len(), 2);
        assert_eq!(loaded[0].subject, first.subject);
        assert_eq!(loaded[0].figures, first.figures);
        assert_eq!(loaded[0].wrong, first.wrong);
        assert_eq!(loaded[1].wrong, None);
    }

    #[test]
    fn runs_add_up_until_the_program_changes() {
        let mut runs = vec![
            record("s", "build", "sinter 7", &[("wall", 1.0)]),
            record("s", "build", "sinter 7", &[("wall", 2.0)]),
            record("s", "build", "mkdwarfs 7", &[("wall", 9.0)]),
        ];
        assert_eq!(cells(&runs).len(), 2);
        assert_eq!(cells(&runs)[1].median("wall"), Some(1.5));
        for wall in [5.0, 7.0, 6.0] {
            let mut newer = record("s", "build", "sinter 7", &[("wall", wall)]);
            newer.identity = "2".into();
            runs.push(newer);
        }
        assert_eq!(cells(&runs)[1].median("wall"), Some(6.0));
        assert_eq!(cells(&runs)[1].median("size"), None);
        assert_eq!(cells(&runs)[0].median("wall"), Some(9.0));
    }

    #[test]
    fn a_run_that_was_taken_over_is_not_taken_again() {
        let odd = [("wall", 0.1 + 0.2), ("cpu", 1.0 / 3.0)];
        let runs = [
            record("s", "build", "sinter 7", &odd),
            record("s", "build", "sinter 7", &[("wall", 2.0)]),
        ];
        let kept: Vec<_> = to_lines(&cells(&runs))
            .lines()
            .filter_map(from_line)
            .collect();
        let newer = record("s", "build", "sinter 7", &[("wall", 3.0)]);
        let own = [runs.as_slice(), &[newer]].concat();
        assert_eq!(merged(kept, &own), own);
    }
}
