//! The parts of a comparison as cases: building, extracting, mounting, random reads.
//!
//! Enters a set and the tools at hand; leaves results in the store and images in the work
//! directory, which later parts (and later calls, as long as nothing changed) read.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use crate::cases::served;
use crate::harness::interrupt;
use crate::harness::mounted::{self, Mounted};
use crate::harness::sets::{self, Set};
use crate::harness::shell::Shell;
use crate::harness::trees;
use crate::options::{Options, Part};
use crate::results::{Figures, Record, Store, Subject};
use crate::runner::{Case, Once, Outcome, in_turn};
use crate::tools::installed::Tools;
use crate::tools::peers::{Peer, Variant, fill, quoted};

/// All that a measurement needs.
#[derive(Debug)]
pub struct Bench<'a> {
    pub options: &'a Options,
    pub tools: &'a Tools,
    pub store: &'a Store,
    /// Where images and extracted trees go.
    pub work: PathBuf,
    /// What the last command said.
    pub log: PathBuf,
    /// When this call began.
    pub call: u64,
    pub machine: String,
}

/// One way to build: a tool and its variant.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    pub peer: &'static Peer,
    pub variant: &'static Variant,
}

impl Builder {
    /// Names it as results do.
    pub fn name(self) -> String {
        format!("{} {}", self.peer.name, self.variant.label)
    }
}

impl Bench<'_> {
    /// Measures the parts that are asked for on one set.
    pub fn measure(&self, set: &Set) -> Result<(), String> {
        println!(
            "\n== {}: {} files, {:.1} MB",
            set.name,
            set.files,
            set.bytes as f64 / 1e6
        );
        let mut failed = Vec::new();
        if self.options.wants(Part::Build) {
            failed = self.build(set, &self.builders(set, true))?;
        }
        let reads = [Part::Extract, Part::Mount, Part::RandomRead, Part::Serve];
        if !reads.into_iter().any(|part| self.options.wants(part)) {
            return Ok(());
        }
        let images = self.images(set, &failed)?;
        if self.options.wants(Part::Extract) {
            self.extract(set, &images)?;
        }
        if self.options.wants(Part::Mount) {
            self.mount(set, &images, Part::Mount)?;
        }
        if self.options.wants(Part::RandomRead) {
            self.mount(set, &images, Part::RandomRead)?;
        }
        if self.options.wants(Part::Serve) {
            self.mount(set, &images, Part::Serve)?;
        }
        Ok(())
    }

    /// Lists the ways to build that are asked for.
    pub fn builders(&self, set: &Set, all_of_ours: bool) -> Vec<Builder> {
        let of = |peer: &&'static Peer| -> Vec<Builder> {
            let peer: &'static Peer = peer;
            peer.chosen(self.options, &set.name, all_of_ours)
                .into_iter()
                .map(|variant| Builder { peer, variant })
                .collect()
        };
        self.tools.found.iter().flat_map(of).collect()
    }

    /// Measures builds in turn; the images stay. Tells which failed.
    fn build(&self, set: &Set, builders: &[Builder]) -> Result<Vec<String>, String> {
        let case = |builder: &Builder| {
            let image = self.image(set, *builder);
            let command = self.build_command(set, *builder, &image);
            Case {
                record: self.record(set, Part::Build.name(), builder.peer, *builder),
                run: Box::new(move |_| self.build_once(&command, &image)),
            }
        };
        let cases: Vec<Case<'_>> = builders.iter().map(case).collect();
        let failed = in_turn(&cases, self.options.runs, self.store)?;
        Ok(failed
            .into_iter()
            .map(|index| builders[index].name())
            .collect())
    }

    /// Builds an image once and takes its size.
    pub fn build_once(&self, command: &str, image: &Path) -> Result<Outcome, String> {
        remove(image);
        let cost = self.shell().run(command).inspect_err(|_| remove(image))?;
        let size = fs::metadata(image).map_err(|e| format!("{}: {e}", image.display()))?;
        Ok(Outcome::of(&[
            ("wall", cost.wall),
            ("cpu", cost.cpu),
            ("peak", cost.peak),
            ("size", size.len() as f64),
        ]))
    }

    /// Fills in the command line that builds an image.
    pub fn build_command(&self, set: &Set, builder: Builder, image: &Path) -> String {
        let places = [
            ("args", builder.variant.args),
            ("dir", &quoted(&set.dir)),
            ("image", &quoted(image)),
        ];
        fill(builder.peer.build, &places, self.options.jobs)
    }

    /// Lists the images to read, building those that are not there yet.
    fn images(&self, set: &Set, failed: &[String]) -> Result<Vec<(Builder, PathBuf)>, String> {
        let mut images = Vec::new();
        for builder in self.builders(set, false) {
            if failed.contains(&builder.name()) {
                continue;
            }
            interrupt::check()?;
            let image = self.image(set, builder);
            if !image.exists() {
                println!("{} {}: its image is built first", set.name, builder.name());
                let command = self.build_command(set, builder, &image);
                if let Err(why) = self.build_once(&command, &image) {
                    println!("{}: FAILED, left out: {why}", builder.name());
                    continue;
                }
            }
            images.push((builder, image));
        }
        Ok(images)
    }

    /// Measures extraction of each image by all that read its format.
    fn extract(&self, set: &Set, images: &[(Builder, PathBuf)]) -> Result<(), String> {
        let out = self.work.join("extracted");
        let mut cases = Vec::new();
        for (builder, image) in images {
            for reader in self.readers(builder.peer, |peer| peer.extract) {
                let places = [("image", &*quoted(image)), ("out", &quoted(&out))];
                let command = fill(reader.extract, &places, self.options.jobs);
                let out = out.clone();
                cases.push(Case {
                    record: self.record(set, Part::Extract.name(), reader, *builder),
                    run: Box::new(move |once| self.extract_once(set, &command, &out, once)),
                });
            }
        }
        let result = in_turn(&cases, self.options.runs, self.store);
        remove(&out);
        result.map(drop)
    }

    fn extract_once(
        &self,
        set: &Set,
        command: &str,
        out: &Path,
        once: Once,
    ) -> Result<Outcome, String> {
        remove(out);
        let cost = self.shell().run(command)?;
        let mut outcome =
            Outcome::of(&[("wall", cost.wall), ("cpu", cost.cpu), ("peak", cost.peak)]);
        if once == Once::Now {
            outcome.wrong = trees::equal(&set.dir, out).err();
        }
        remove(out);
        Ok(outcome)
    }

    /// Measures mounts of each image by all drivers of its format.
    fn mount(&self, set: &Set, images: &[(Builder, PathBuf)], part: Part) -> Result<(), String> {
        let files = sets::files(&set.dir)?;
        let Some(first) = files.first().map(|file| file.path.clone()) else {
            println!("{}: no files to read", set.name);
            return Ok(());
        };
        let at = self.work.join("mnt");
        let mut cases = Vec::new();
        for (builder, image) in images {
            for reader in self.readers(builder.peer, |peer| peer.mount) {
                let places = [("image", &*quoted(image)), ("at", &quoted(&at))];
                let command = fill(reader.mount, &places, self.options.jobs);
                let (at, first, files) = (at.clone(), first.clone(), &files);
                cases.push(Case {
                    record: self.record(set, part.name(), reader, *builder),
                    run: Box::new(move |_| {
                        self.warm(reader);
                        if part == Part::Serve {
                            let start = || {
                                mounted::make_cold(image);
                                Mounted::start(&self.shell(), &command, &at, &first)
                            };
                            return served::measure(start, files, self.options.reads);
                        }
                        mounted::make_cold(image);
                        let (mount, ready) = Mounted::start(&self.shell(), &command, &at, &first)?;
                        self.read(set, &mount, ready, files, part)
                    }),
                });
            }
        }
        let result = in_turn(&cases, self.options.runs, self.store);
        mounted::unmount(&at);
        result.map(drop)
    }

    fn read(
        &self,
        set: &Set,
        mount: &Mounted,
        ready: f64,
        files: &[sets::File],
        part: Part,
    ) -> Result<Outcome, String> {
        let mut figures = Vec::new();
        if part == Part::Mount {
            figures.push(("ready", ready));
            let start = std::time::Instant::now();
            let bytes = mount.read_all(files)?;
            figures.push(("wall", start.elapsed().as_secs_f64()));
            if bytes != set.bytes {
                return Err(format!("{bytes} bytes in place of {}", set.bytes));
            }
        } else {
            let seconds = mount.read_at_random(&set.dir, files, self.options.reads)?;
            figures.extend(mounted::latencies(&seconds));
        }
        figures.extend([("cpu", mount.cpu()), ("peak", mount.peak())]);
        Ok(Outcome::of(&figures))
    }

    /// Lists the tools that can read what a tool builds, that tool first.
    fn readers(&self, builder: &Peer, does: fn(&Peer) -> &'static str) -> Vec<&'static Peer> {
        let reads = |peer: &&&'static Peer| peer.reads(builder) && self.tools.can(does(peer));
        self.tools.found.iter().filter(reads).copied().collect()
    }

    /// Has a tool's programs read from the disk before its images are measured cold.
    fn warm(&self, peer: &Peer) {
        let _ = self.shell().run(&format!("{} || true", peer.version));
    }

    /// Returns the place of an image; it changes with everything that the image depends on.
    fn image(&self, set: &Set, builder: Builder) -> PathBuf {
        let dir = self.work.join("images").join(&set.name);
        let _ = fs::create_dir_all(&dir);
        let stem = format!("{}-", builder.name().replace(' ', "-"));
        let identity = self.identity(set, builder.peer, builder.peer.build, builder);
        let image = dir.join(format!("{stem}{identity}.image"));
        // what an earlier program built is of no more use
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let rest = name
                .strip_prefix(&stem)
                .and_then(|rest| rest.strip_suffix(".image"));
            let is_old =
                rest.is_some_and(|id| id != identity && id.len() == 16 && !id.contains('-'));
            if is_old {
                let _ = fs::remove_file(entry.path());
            }
        }
        image
    }

    /// Makes a record without figures: a tool that works on the image of a builder.
    pub fn record(&self, set: &Set, part: &str, tool: &Peer, builder: Builder) -> Record {
        let line = match part {
            "extract" => tool.extract,
            "mount" | "random-read" | "serve" => tool.mount,
            _ => tool.build,
        };
        let shown = [
            ("args", builder.variant.args),
            ("dir", "DIR"),
            ("image", "IMAGE"),
            ("out", "OUT"),
            ("at", "MNT"),
        ];
        Record {
            subject: Subject {
                set: set.name.clone(),
                part: part.to_owned(),
                tool: tool.name.to_owned(),
                image: builder.name(),
            },
            identity: self.identity(set, tool, line, builder),
            command: fill(line, &shown, self.options.jobs),
            version: self.tools.version(tool).to_owned(),
            machine: self.machine.clone(),
            files: set.files,
            bytes: set.bytes,
            call: self.call,
            figures: Figures::new(),
            wrong: None,
        }
    }

    /// Returns apart everything that a result depends on.
    fn identity(&self, set: &Set, tool: &Peer, line: &str, builder: Builder) -> String {
        let mut hasher = DefaultHasher::new();
        (line, self.options.jobs, set.files, set.bytes).hash(&mut hasher);
        for tool in [tool, builder.peer] {
            self.tools.fingerprint(tool).hash(&mut hasher);
        }
        (builder.peer.build, builder.variant.args).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Where commands run.
    pub fn shell(&self) -> Shell<'_> {
        Shell {
            path: &self.tools.path,
            log: &self.log,
            limit: self.options.limit,
        }
    }
}

/// Removes a file or a tree, if it is there.
pub fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}
