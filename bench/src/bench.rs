//! What all cases share: options, tools, the place to work in, records and images of sets.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::harness::interrupt;
use crate::harness::machine;
use crate::harness::sets::Set;
use crate::harness::shell::Shell;
use crate::options::BenchOptions;
use crate::results::{Figures, Record, Store, Subject};
use crate::runner::Outcome;
use crate::tools::command::{fill, quoted};
use crate::tools::installed::Installed;
use crate::tools::tool::{Builder, Tool};
use crate::workspace;

/// Seconds that making an image may take which is not measured itself.
const PREPARATION_LIMIT: u64 = 7200;

/// One call of `bench`.
#[derive(Debug)]
pub struct Bench<'a> {
    pub options: &'a BenchOptions,
    pub installed: Installed,
    pub store: &'a Store,
    /// Where images and extracted trees go.
    pub work: PathBuf,
    /// Where images go that are removed at the end.
    pub made: PathBuf,
    /// The output of the last command.
    log: PathBuf,
    /// When this call began, in seconds since 1970.
    call: u64,
    machine: String,
    /// Builds that failed: their images are not tried again for reading.
    failed: RefCell<BTreeSet<String>>,
}

impl Drop for Bench<'_> {
    fn drop(&mut self) {
        remove(&self.made);
    }
}

/// What a measurement is recorded under, and what its result depends on.
pub struct Label<'a> {
    pub part: &'a str,
    pub tool: &'a str,
    pub image: String,
    /// The command line with its places, and the value of `{args}`.
    pub command: &'a str,
    pub args: &'a str,
    /// Command lines that made the image.
    pub made_by: &'a [&'a str],
    /// The name of the tool whose version is recorded.
    pub version_of: &'a str,
}

impl<'a> Bench<'a> {
    /// Finds the tools and makes the place to work in.
    pub fn new(options: &'a BenchOptions, sinter: &Path, store: &'a Store) -> Result<Self, String> {
        let target = workspace::target().join("bench");
        let work = options.work.clone().unwrap_or(target);
        let made = work.join("made");
        fs::create_dir_all(&made).map_err(|e| format!("{}: {e}", made.display()))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Ok(Self {
            options,
            installed: Installed::find(options, sinter)?,
            store,
            log: work.join("last.log"),
            work,
            made,
            call: since.map_or(0, |since| since.as_secs()),
            machine: machine::describe(),
            failed: RefCell::default(),
        })
    }

    /// Returns where commands run.
    pub fn shell(&self) -> Shell<'_> {
        Shell {
            path: &self.installed.path,
            log: &self.log,
            limit: self.options.limit,
        }
    }

    /// Runs a command line that is not measured.
    pub fn prepare(&self, command: &str, places: &[(&str, &str)]) -> Result<(), String> {
        interrupt::check()?;
        let filled = fill(command, places, None);
        let shell = Shell {
            limit: PREPARATION_LIMIT,
            ..self.shell()
        };
        let ran = shell.run(&filled);
        ran.map(drop).map_err(|why| format!("{filled}: {why}"))
    }

    /// Makes a record without figures.
    pub fn record(&self, set: &Set, label: Label<'_>) -> Record {
        let mut hasher = DefaultHasher::new();
        let inputs = (set.files.len(), set.bytes);
        (label.command, label.args, self.options.jobs, inputs).hash(&mut hasher);
        for command in label.made_by.iter().chain([&label.command]) {
            (command, self.installed.fingerprint(command)).hash(&mut hasher);
        }
        let shown = [
            ("args", label.args),
            ("dir", "DIR"),
            ("image", "IMAGE"),
            ("out", "OUT"),
            ("mountpoint", "MNT"),
        ];
        Record {
            subject: Subject {
                set: set.name.clone(),
                part: label.part.to_owned(),
                tool: label.tool.to_owned(),
                image: label.image,
            },
            identity: format!("{:016x}", hasher.finish()),
            command: fill(label.command, &shown, self.options.jobs),
            version: self.installed.version(label.version_of).to_owned(),
            machine: self.machine.clone(),
            files: set.files.len() as u64,
            bytes: set.bytes,
            call: self.call,
            figures: Figures::new(),
            wrong: None,
        }
    }

    /// Returns the ways to build that the options ask for.
    pub fn builders(&self, set: &Set, all_of_ours: bool) -> Vec<Builder> {
        let with_variants = |tool: &&'static Tool| {
            let tool: &'static Tool = tool;
            let variants = tool.chosen(self.options, &set.name, all_of_ours);
            variants
                .into_iter()
                .map(|variant| Builder { tool, variant })
                .collect::<Vec<_>>()
        };
        self.installed
            .found
            .iter()
            .flat_map(with_variants)
            .collect()
    }

    /// Makes the record of a build without figures.
    pub fn build_record(&self, set: &Set, part: &str, builder: Builder) -> Record {
        let label = Label {
            part,
            tool: builder.tool.name,
            image: builder.name(),
            command: builder.tool.build,
            args: builder.variant.args,
            made_by: &[],
            version_of: builder.tool.name,
        };
        self.record(set, label)
    }

    /// Builds an image once and measures its size.
    pub fn build_once(&self, command: &str, image: &Path) -> Result<Outcome, String> {
        remove(image);
        let cost = self.shell().run(command).inspect_err(|_| remove(image))?;
        Ok(Outcome::of(&[
            ("wall", cost.wall),
            ("cpu", cost.cpu),
            ("peak", cost.peak),
            ("size", length(image)?),
        ]))
    }

    /// Returns the command line that builds an image.
    pub fn build_command(&self, set: &Set, builder: Builder, image: &Path) -> String {
        let places = [
            ("args", builder.variant.args),
            ("dir", &quoted(&set.dir)),
            ("image", &quoted(image)),
        ];
        fill(builder.tool.build, &places, self.options.jobs)
    }

    /// Returns the images to read, after building those that are missing.
    pub fn images(&self, set: &Set) -> Result<Vec<(Builder, PathBuf)>, String> {
        let mut images = Vec::new();
        for builder in self.builders(set, false) {
            let image = self.built(set, builder)?;
            images.extend(image.map(|image| (builder, image)));
        }
        Ok(images)
    }

    /// Returns the image of a builder, after building it if it is missing; nothing, with a message,
    /// if that fails.
    pub fn built(&self, set: &Set, builder: Builder) -> Result<Option<PathBuf>, String> {
        let name = format!("{}: {}", set.name, builder.name());
        if self.failed.borrow().contains(&name) {
            return Ok(None);
        }
        interrupt::check()?;
        let image = self.image(set, builder);
        if !image.exists() {
            println!("{name}: building its image first");
            let command = self.build_command(set, builder, &image);
            if let Err(why) = self.build_once(&command, &image) {
                println!("{name}: FAILED, left out: {why}");
                self.failed.borrow_mut().insert(name);
                return Ok(None);
            }
        }
        Ok(Some(image))
    }

    /// Keeps images that could not be built from being read.
    pub fn note_failures(&self, failed: BTreeSet<String>) {
        self.failed.borrow_mut().extend(failed);
    }

    /// Returns the path of an image, which changes with everything that the image depends on, and
    /// removes those of earlier programs.
    pub fn image(&self, set: &Set, builder: Builder) -> PathBuf {
        let dir = self.work.join("images").join(&set.name);
        let _ = fs::create_dir_all(&dir);
        let stem = format!("{}-", builder.name().replace(' ', "-"));
        let identity = self.build_record(set, "image", builder).identity;
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let other = name
                .strip_prefix(&stem)
                .and_then(|rest| rest.strip_suffix(".image"));
            let is_old = |id: &str| id != identity && id.len() == 16 && !id.contains('-');
            if other.is_some_and(is_old) {
                let _ = fs::remove_file(entry.path());
            }
        }
        dir.join(format!("{stem}{identity}.image"))
    }

    /// Returns the installed tools that do something with the images of a builder.
    pub fn readers(
        &self,
        builder: &Tool,
        command: fn(&Tool) -> &'static str,
    ) -> Vec<&'static Tool> {
        let reads =
            |tool: &&&'static Tool| tool.reads(builder) && self.installed.can_run(command(tool));
        self.installed.found.iter().filter(reads).copied().collect()
    }
}

/// Removes a file or a tree, if it exists.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

/// Returns the length of a file.
pub fn length(file: &Path) -> Result<f64, String> {
    let status = fs::metadata(file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(status.len() as f64)
}
