//! What the benches of mounts share: the words, root's rights, tools, a place to work in, a page of results.
//!
//! **Invariant:** a word that means nothing is an error; what was measured before an error is written, too.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::cases::parts;
use crate::harness::interrupt;
use crate::harness::machine;
use crate::harness::sets::{self, Set};
use crate::harness::shell::Shell;
use crate::options::{self, Options};
use crate::tools::installed::Tools;
use crate::tools::peers;
use crate::workspace::{self as commands, Outcome};

/// Seconds that making an image may take, whatever the limit for what is measured of it.
const MAKING: u64 = 7200;

/// Where and with what is measured.
pub struct Setting {
    pub options: Options,
    pub tools: Tools,
    pub work: PathBuf,
    log: PathBuf,
    page: PathBuf,
}

/// Understands the words that mean something to a bench; others are an error, with its usage.
pub fn understood(words: &[String], usage: &str) -> Result<Options, String> {
    const KNOWN: [&str; 7] = [
        "--data", "--peers", "--work", "--runs", "--reads", "--sinter", "--limit",
    ];
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let mut flags = words.iter().filter(|word| word.starts_with('-')).map(name);
    match flags.find(|flag| !KNOWN.contains(&&**flag)) {
        Some(flag) => Err(format!("{flag} means nothing here\n\n{usage}")),
        None => options::parse(words),
    }
}

impl Setting {
    /// Prepares all that is needed; `name` is that of the page and of the directory for images.
    pub fn new(name: &str, options: Options) -> Result<Self, String> {
        let process = std::fs::metadata("/proc/self").map_err(|e| format!("/proc/self: {e}"))?;
        if process.uid() != 0 {
            return Err("only root may mount images with the kernel's drivers".into());
        }
        let results = commands::target().join("bench");
        let work = options.work.clone().unwrap_or_else(|| results.clone());
        let work = work.join(name);
        for dir in [&results, &work] {
            std::fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        let sinter = match &options.sinter {
            Some(sinter) => sinter
                .canonicalize()
                .map_err(|e| format!("{}: {e}", sinter.display()))?,
            None => commands::sinter()?,
        };
        let tools = Tools::find(&options, &sinter)?;
        interrupt::catch()?;
        Ok(Self {
            options,
            tools,
            log: work.join("last.log"),
            page: results.join(format!("{name}.md")),
            work,
        })
    }

    /// Measures, shows and writes the tables, and removes the images.
    pub fn measure(&self, work: impl FnOnce(&mut String) -> Outcome) -> Outcome {
        let mut text = format!("Measured on {}.\n", machine::describe());
        let measured = work(&mut text);
        parts::remove(&self.work);
        let page = self.page.display();
        std::fs::write(&self.page, &text).map_err(|e| format!("{page}: {e}"))?;
        println!("\n{text}\nwritten: {page}");
        measured
    }

    pub fn shell(&self) -> Shell<'_> {
        Shell {
            path: &self.tools.path,
            log: &self.log,
            limit: self.options.limit,
        }
    }

    /// Runs a command line that makes something, with what stands for its places.
    pub fn run(&self, command: &str, places: &[(&str, &str)]) -> Result<(), String> {
        interrupt::check()?;
        let filled = peers::fill(command, places, None);
        let shell = Shell {
            limit: MAKING,
            ..self.shell()
        };
        let ran = shell.run(&filled);
        ran.map(drop).map_err(|said| format!("{filled}: {said}"))
    }

    /// Returns a directory without anything in it.
    pub fn empty(&self) -> Result<PathBuf, String> {
        let empty = self.work.join("empty");
        let made = std::fs::create_dir_all(&empty);
        made.map_err(|e| format!("{}: {e}", empty.display()))?;
        Ok(empty)
    }

    /// Does something as often as runs are asked for, and tells how often; fewer times if it is interrupted after
    /// the first one.
    pub fn rounds(&self, mut round: impl FnMut() -> Outcome) -> Result<usize, String> {
        for run in 0..self.options.runs {
            match interrupt::check().and_then(|()| round()) {
                Err(said) if run == 0 => return Err(said),
                Err(said) => {
                    println!("{said}: these are the figures of {run} runs");
                    return Ok(run);
                }
                Ok(()) => {}
            }
        }
        Ok(self.options.runs)
    }

    /// Finds the sets that are asked for, or else the usual ones.
    pub fn sets(&self, usual: &[&str]) -> Result<Vec<Set>, String> {
        let mut names = Options {
            data: self.options.data.clone(),
            sets: self.options.sets.clone(),
            ..Options::default()
        };
        if names.sets.is_empty() {
            names.sets = usual.iter().map(|name| (*name).to_owned()).collect();
        }
        sets::find(&names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_is_refused() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let options = understood(&words("a --data d --runs=5 --reads 7"), "").unwrap();
        assert_eq!((options.runs, options.reads), (5, 7));
        for bad in ["--write", "--levels=7", "--nonsense", "-j 2"] {
            assert!(understood(&words(bad), "").is_err(), "{bad}");
        }
    }
}
