//! The words after `bench`: which sets, which parts, which peers.
//!
//! **Invariant:** a word that is not understood is an error, never passed over.

use std::path::PathBuf;

/// What can be measured of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Building images.
    Build,
    /// Extracting whole images.
    Extract,
    /// Mounting: the time to the first stat, then every file read in order.
    Mount,
    /// Cold reads of 4 KiB at random places of a mount.
    RandomRead,
    /// What programs do with a mount, by one and by two at once.
    Serve,
}

impl Part {
    /// All parts, in the order in which they are measured.
    pub const ALL: [Self; 5] = [
        Self::Build,
        Self::Extract,
        Self::Mount,
        Self::RandomRead,
        Self::Serve,
    ];

    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::Extract => "extract",
            Self::Mount => "mount",
            Self::RandomRead => "random-read",
            Self::Serve => "serve",
        }
    }
}

/// What `bench` was asked for.
#[derive(Debug)]
pub struct Options {
    /// Directories, or names of sets below `data`.
    pub sets: Vec<String>,
    /// Where sets are found by name.
    pub data: Option<PathBuf>,
    /// A directory whose `*/bin` directories hold peers.
    pub peers: Option<PathBuf>,
    /// How often each command is run.
    pub runs: usize,
    /// Threads for every tool that can be told; without, each tool's own choice.
    pub jobs: Option<usize>,
    /// The parts to measure; all if empty.
    pub only: Vec<Part>,
    /// The levels of ours and of mkdwarfs.
    pub levels: Option<Vec<u8>>,
    /// The peers to compare with, by name; all that are found if empty.
    pub peer: Vec<String>,
    /// Switch the stages of our pipeline off in turn.
    pub ablate: bool,
    /// Measure cost against input size.
    pub scale: bool,
    /// Sizes of input for `scale`, in MB.
    pub sizes: Vec<u64>,
    /// Whether `scale` is about a million small files, too.
    pub million: bool,
    /// Our own micro-benchmarks; what follows goes to them.
    pub micro: Option<Vec<String>>,
    /// Show earlier results (of the sets alone, if there are any), measure nothing.
    pub render: bool,
    /// Set earlier results aside.
    pub fresh: bool,
    /// Write docs/benchmarks.md and its plots.
    pub write: bool,
    /// Where images and extracted trees are put, in place of target/bench.
    pub work: Option<PathBuf>,
    /// A built `sinter`, in place of building one.
    pub sinter: Option<PathBuf>,
    /// Seconds after which one command is stopped.
    pub limit: u64,
    /// How many random reads.
    pub reads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sets: Vec::new(),
            data: None,
            peers: None,
            runs: 3,
            jobs: None,
            only: Vec::new(),
            levels: None,
            peer: Vec::new(),
            ablate: false,
            scale: false,
            sizes: vec![100, 250, 500, 1000, 2000, 4000],
            million: true,
            micro: None,
            render: false,
            fresh: false,
            write: false,
            work: None,
            sinter: None,
            limit: 7200,
            reads: 500,
        }
    }
}

/// Says how `bench` is called.
pub const USAGE: &str = "\
usage: cargo xtask bench [SET...] [OPTIONS]
       cargo xtask bench erofs ...      EROFS by the kernel's drivers (bench erofs --help)
       cargo xtask bench mounts ...     one image by all that mount it (bench mounts --help)

SET is a directory, or the name of one below --data. Without SETs: all known ones below --data.

  --data DIR            where sets are found by name
  --peers DIR           a directory with */bin of peers; PATH is searched, too
  --peer NAME,..        compare with these peers only (`sinter`: with none)
  --levels N,..         levels of ours and of mkdwarfs (default: all of ours, 1,3,5,7,9 of theirs)
  --only PART,..        build, extract, mount, random-read, serve (default: all)
  --runs N              how often each command runs, in turn with the others (default: 3)
  --jobs N              threads for every tool (default: each tool's own choice)
  --reads N             random reads of each mount (default: 500)
  --limit SECONDS       stop a command that takes longer (default: 7200)
  --ablate              instead: build with the stages of our pipeline switched off in turn
  --scale               instead: cost against input size, with growing parts of the SETs together
  --sizes MB,..         sizes for --scale; `million` is a million files of 1 KB
                        (default: 100,250,500,1000,2000,4000,million)
  --work DIR            where images and extracted trees go (default: target/bench); in memory
                        (/dev/shm), the disk and its file system do not blur what is measured
  --sinter FILE         measure this `sinter`, do not build one
  --write               write docs/benchmarks.md and its plots from all results so far
  --render              measure nothing: show (and with --write, write) what was measured before,
                        of the SETs alone if there are any
  --fresh               set earlier results aside, as results.jsonl.old
  --micro [ARGS]        instead: our own micro-benchmarks; ARGS go to them

Results of all calls add up in target/bench/results.jsonl.
";

/// Understands the words.
pub fn parse(words: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, attached) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || {
            attached
                .clone()
                .or_else(|| words.next().cloned())
                .ok_or_else(|| format!("{name} needs a value"))
        };
        match name {
            "--data" => options.data = Some(value()?.into()),
            "--peers" => options.peers = Some(value()?.into()),
            "--work" => options.work = Some(value()?.into()),
            "--sinter" => options.sinter = Some(value()?.into()),
            "--peer" => options.peer.extend(list(&value()?).map(str::to_owned)),
            "--levels" => options.levels = Some(numbers(name, &value()?)?),
            "--sizes" => {
                let value = value()?;
                options.million = list(&value).any(|word| word == "million");
                let sizes = list(&value).filter(|word| *word != "million");
                options.sizes = sizes
                    .map(|word| number(name, word))
                    .collect::<Result<_, _>>()?;
            }
            "--only" => {
                let value = value()?;
                options.only = list(&value).map(part).collect::<Result<_, _>>()?;
            }
            "--runs" => options.runs = number(name, &value()?)?,
            "--jobs" | "-j" => options.jobs = Some(number(name, &value()?)?),
            "--reads" => options.reads = number(name, &value()?)?,
            "--limit" => options.limit = number(name, &value()?)?,
            _ if attached.is_some() => return Err(format!("{word}: not an option\n\n{USAGE}")),
            "--ablate" => options.ablate = true,
            "--scale" => options.scale = true,
            "--render" => options.render = true,
            "--fresh" => options.fresh = true,
            "--write" => options.write = true,
            "--micro" => {
                options.micro = Some(words.cloned().collect());
                break;
            }
            _ if name.starts_with('-') => return Err(format!("{word}: not an option\n\n{USAGE}")),
            _ => options.sets.push(word.clone()),
        }
    }
    if options.runs == 0 || options.jobs == Some(0) || options.sizes.contains(&0) {
        return Err("--runs, --jobs and --sizes: at least 1".into());
    }
    Ok(options)
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|word| !word.is_empty())
}

fn number<N: std::str::FromStr>(name: &str, text: &str) -> Result<N, String> {
    text.parse()
        .map_err(|_| format!("{name}: `{text}` is no number"))
}

fn numbers<N: std::str::FromStr>(name: &str, text: &str) -> Result<Vec<N>, String> {
    list(text).map(|word| number(name, word)).collect()
}

fn part(name: &str) -> Result<Part, String> {
    Part::ALL
        .into_iter()
        .find(|part| part.name() == name)
        .ok_or_else(|| {
            let known = Part::ALL.map(Part::name).join(", ");
            format!("--only: `{name}` is none of {known}")
        })
}

impl Options {
    /// Returns whether a part is asked for.
    pub fn wants(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<Options, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn words_are_understood() {
        let options = words(
            "a --data d b --peers=p --levels 1,9 --only build,random-read --runs=5 --peer tar+xz --write",
        )
        .unwrap();
        assert_eq!(options.sets, ["a", "b"]);
        assert_eq!(options.data, Some("d".into()));
        assert_eq!(options.peers, Some("p".into()));
        assert_eq!(options.levels, Some(vec![1, 9]));
        assert_eq!(options.only, [Part::Build, Part::RandomRead]);
        assert_eq!((options.runs, options.jobs), (5, None));
        assert_eq!(options.peer, ["tar+xz"]);
        assert!(options.write && !options.render && !options.wants(Part::Mount));
        let options = words("--scale --sizes 10,million").unwrap();
        assert_eq!((options.sizes, options.million), (vec![10], true));
        assert!(!words("--sizes=10").unwrap().million);
        let micro = words("--micro -- sketch").unwrap().micro;
        assert_eq!(micro, Some(vec!["--".to_owned(), "sketch".to_owned()]));
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for bad in [
            "--nonsense",
            "--data",
            "--runs many",
            "--runs 0",
            "--only extraction",
            "--levels 1,x",
            "--write=yes",
        ] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }
}
