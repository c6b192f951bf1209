//! `bench erofs`: EROFS images of ours and mkfs.erofs, by the kernel's drivers: sizes, cold reads, listings.
//!
//! Enters: sets and tools as for all of `bench`. Leaves: tables on the terminal and in target/bench/erofs.md.
//! **Invariant:** every image is mounted read-only behind a loop device of its own, whatever was in memory is
//! dropped before a cold figure, and all mounts are gone at the end. Needs root.

mod images;
mod kernel;
mod listing;
mod reads;
mod sizes;

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::measure::Shell;
use super::options::{self, Options};
use super::sets::{self, Set};
use super::tools::Tools;
use super::{interrupt, machine};
use crate::run::{self as commands, Outcome};

/// Says how `bench erofs` is called.
const USAGE: &str = "\
usage: cargo xtask bench erofs [SET...] [--data DIR] [--peers DIR] [--work DIR] [--runs N] [--reads N]
                               [--sinter FILE] [--limit SECONDS]

Sizes and cold reads of each SET (default: debian-rootfs below --data), listings of each (default:
tensorflow-rootfs), by the kernel's drivers. Needs root and loop devices.
";

/// The sets of each part unless others are named.
const READ: &str = "debian-rootfs";
const LISTED: &str = "tensorflow-rootfs";

/// What all parts share.
struct Context<'a> {
    options: &'a Options,
    shell: Shell<'a>,
    tools: &'a Tools,
    work: PathBuf,
}

impl Context<'_> {
    /// Runs a command line with what stands for its places.
    fn run(&self, command: &str, places: &[(&str, &str)]) -> Result<(), String> {
        interrupt::check()?;
        let filled = super::peers::fill(command, places, None);
        let ran = self.shell.run(&filled);
        ran.map(drop).map_err(|said| format!("{filled}: {said}"))
    }
}

/// Measures and shows.
pub fn bench(words: &[String]) -> Outcome {
    if words.iter().any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return Ok(());
    }
    let options = understood(words)?;
    let process = std::fs::metadata("/proc/self").map_err(|e| format!("/proc/self: {e}"))?;
    if process.uid() != 0 {
        return Err("only root may mount images with the kernel's drivers".into());
    }
    let results = commands::target().join("bench");
    let work = options.work.clone().unwrap_or_else(|| results.clone());
    let work = work.join("erofs");
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
    let log = work.join("last.log");
    let context = Context {
        options: &options,
        shell: Shell {
            path: &tools.path,
            log: &log,
            limit: options.limit,
        },
        tools: &tools,
        work: work.clone(),
    };
    let mut text = format!("Measured on {}.\n", machine::describe());
    let measured = measure(&context, &mut text);
    super::parts::remove(&work);
    let page = results.join("erofs.md");
    std::fs::write(&page, &text).map_err(|e| format!("{}: {e}", page.display()))?;
    println!("\n{text}\nwritten: {}", page.display());
    measured
}

/// Understands the words that mean something here; others are an error.
fn understood(words: &[String]) -> Result<Options, String> {
    const KNOWN: [&str; 7] = [
        "--data", "--peers", "--work", "--runs", "--reads", "--sinter", "--limit",
    ];
    let name = |word: &String| word.split('=').next().unwrap_or_default().to_owned();
    let mut flags = words.iter().filter(|word| word.starts_with('-')).map(name);
    match flags.find(|flag| !KNOWN.contains(&&**flag)) {
        Some(flag) => Err(format!("{flag} means nothing here\n\n{USAGE}")),
        None => options::parse(words),
    }
}

/// Adds the tables of all parts to a text, as far as they come.
fn measure(context: &Context<'_>, text: &mut String) -> Outcome {
    for set in found(context.options, READ)? {
        *text += &sizes::table(context, &set)?;
        *text += &reads::table(context, &set)?;
    }
    for set in found(context.options, LISTED)? {
        *text += &listing::table(context, &set)?;
    }
    Ok(())
}

/// Finds the sets that are asked for, or else one.
fn found(options: &Options, usual: &str) -> Result<Vec<Set>, String> {
    let mut names = Options {
        data: options.data.clone(),
        sets: options.sets.clone(),
        ..Options::default()
    };
    if names.sets.is_empty() {
        names.sets = vec![usual.to_owned()];
    }
    sets::find(&names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_means_nothing_is_refused() {
        let words = |text: &str| -> Vec<String> { text.split(' ').map(str::to_owned).collect() };
        let options = understood(&words("a --data d --runs=5 --reads 7")).unwrap();
        assert_eq!((options.runs, options.reads), (5, 7));
        for bad in ["--write", "--levels=7", "--nonsense", "-j 2"] {
            assert!(understood(&words(bad)).is_err(), "{bad}");
        }
    }
}
