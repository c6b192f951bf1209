//! The words after `bench`: which suite, which sets, which cases, which tools.
//!
//! **Invariant:** an unknown word is an error, never ignored.

use std::path::PathBuf;

/// What is measured, with which options.
#[derive(Debug)]
pub struct BenchOptions {
    /// The first word, if it names one; otherwise `compare`.
    pub suite: String,
    /// Directories, or names of sets below `data`.
    pub sets: Vec<String>,
    /// Where sets are found by name.
    pub data: Option<PathBuf>,
    /// A directory whose `*/bin` directories hold programs of rivals.
    pub peers: Option<PathBuf>,
    /// How often each command is run.
    pub runs: usize,
    /// Threads for every tool that takes a number; without, each tool's own choice.
    pub jobs: Option<usize>,
    /// The cases of the suite to measure, by name; all if empty.
    pub only: Vec<String>,
    /// The levels of `sinter` and of mkdwarfs.
    pub levels: Option<Vec<u8>>,
    /// The variants of all tools to build with, by their labels in tables; all if empty.
    pub variants: Vec<String>,
    /// The tools to compare with, by name; all that are found if empty.
    pub tools: Vec<String>,
    /// Sizes of input for `scale`, in MB.
    pub sizes: Vec<u64>,
    /// Whether `scale` measures a million small files, too.
    pub million: bool,
    /// Numbers of files of the tar streams of `scale`.
    pub files: Vec<u64>,
    /// Move earlier results aside.
    pub fresh: bool,
    /// Write docs/benchmarks.md, its plots and its data.
    pub write: bool,
    /// Where images and extracted trees are put instead of target/bench.
    pub work: Option<PathBuf>,
    /// A built `sinter` to measure.
    pub sinter: Option<PathBuf>,
    /// Seconds after which one command is stopped.
    pub limit: u64,
    /// Number of random reads.
    pub reads: usize,
    /// The rows of `mounts`, by how their names begin; all if empty.
    pub rows: Vec<String>,
    /// Do not repeat each row of `mounts` on the mount that is warm then.
    pub cold: bool,
}

impl Default for BenchOptions {
    fn default() -> Self {
        Self {
            suite: "compare".into(),
            sets: Vec::new(),
            data: None,
            peers: None,
            runs: 3,
            jobs: None,
            only: Vec::new(),
            levels: None,
            variants: Vec::new(),
            tools: Vec::new(),
            sizes: vec![100, 250, 500, 1000, 2000, 4000],
            million: true,
            files: vec![1_000_000],
            fresh: false,
            write: false,
            work: None,
            sinter: None,
            limit: 7200,
            reads: 500,
            rows: Vec::new(),
            cold: false,
        }
    }
}

/// The first words that choose what is measured.
pub const SUITES: [&str; 7] = [
    "compare", "ablate", "scale", "erofs", "mounts", "formats", "render",
];

/// The text of `bench --help`.
pub const USAGE: &str = "\
usage: cargo xtask bench [compare] [SET...] [OPTIONS]   builds, extractions and mounts of all tools
       cargo xtask bench ablate [SET...]    the stages of our pipeline switched off in turn
       cargo xtask bench scale SET...       cost against input size: growing parts of all SETs
       cargo xtask bench erofs [SET...]     sizes and reads of EROFS by the kernel; needs root
       cargo xtask bench mounts [SET...]    default images in their own drivers; needs root
       cargo xtask bench formats [SET...]   every format that is written, beside its tools
       cargo xtask bench render [SET...]    measures nothing: shows earlier results (of the SETs)
       cargo xtask bench micro [ARGS]       our own micro-benchmarks; ARGS go to them

SET is a directory, or the name of one below --data. Without SETs: those usual for the suite.

  --data DIR            where sets are found by name
  --peers DIR           a directory with */bin of other tools; PATH is searched, too
  --tools NAME,..       compare with these tools only (`sinter`: with none)
  --levels N,..         levels of sinter and mkdwarfs (default: all of ours, 1,3,5,7,9 of theirs)
  --variants LABEL,..   ways to build, as tables name them: `7` is the default of ours and mkdwarfs,
                        without `--for archive` (default: all that --levels leaves)
  --only CASE,..        of compare: build, extract, mount, random-read, serve;
                        of erofs: sizes, reads, listing (default: all)
  --rows NAME,..        of mounts: the rows whose names begin so (default: all)
  --cold                of mounts: do not repeat each row on its mount, now warm
  --runs N              how often each command runs, in turn with the others (default: 3)
  --jobs N              threads for every tool (default: each tool's own choice)
  --reads N             random reads of each mount (default: 500)
  --limit SECONDS       stop a command that takes longer (default: 7200)
  --sizes MB,..         sizes for scale; `million` is a million files of 1 KB
                        (default: 100,250,500,1000,2000,4000,million)
  --files N,..          files of the tar streams of scale (default: 1000000)
  --work DIR            where images and extracted trees go (default: target/bench); in memory
                        (/dev/shm) the disk and its file system do not blur the results
  --sinter FILE         measure this `sinter`, do not build one
  --write               write docs/benchmarks.md, its plots and its data from all results so far
  --fresh               first move earlier results to results.jsonl.old

Results of all calls add up in target/bench/results.jsonl.
";

/// Parses the words.
pub fn parse(words: &[String]) -> Result<BenchOptions, String> {
    let mut options = BenchOptions::default();
    let mut words = words.iter().peekable();
    if let Some(suite) = words.next_if(|word| SUITES.contains(&word.as_str())) {
        options.suite.clone_from(suite);
    }
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
            "--tools" => options.tools.extend(list(&value()?).map(str::to_owned)),
            "--only" => options.only.extend(list(&value()?).map(str::to_owned)),
            "--levels" => options.levels = Some(numbers(name, list(&value()?))?),
            "--sizes" => {
                let value = value()?;
                options.million = list(&value).any(|word| word == "million");
                options.sizes = numbers(name, list(&value).filter(|word| *word != "million"))?;
            }
            "--variants" => options.variants.extend(list(&value()?).map(str::to_owned)),
            "--rows" => options.rows.extend(list(&value()?).map(str::to_owned)),
            "--cold" if attached.is_none() => options.cold = true,
            "--files" => options.files = numbers(name, list(&value()?))?,
            "--runs" => options.runs = number(name, &value()?)?,
            "--jobs" | "-j" => options.jobs = Some(number(name, &value()?)?),
            "--reads" => options.reads = number(name, &value()?)?,
            "--limit" => options.limit = number(name, &value()?)?,
            "--fresh" if attached.is_none() => options.fresh = true,
            "--write" if attached.is_none() => options.write = true,
            _ if name.starts_with('-') => return Err(format!("{word}: no option\n\n{USAGE}")),
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
    let parsed = text.parse();
    parsed.map_err(|_| format!("{name}: `{text}` is not a number"))
}

fn numbers<'a, N: std::str::FromStr>(
    name: &str,
    words: impl Iterator<Item = &'a str>,
) -> Result<Vec<N>, String> {
    words.map(|word| number(name, word)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Result<BenchOptions, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn options_are_parsed() {
        let line = "a --data d b --peers=p --levels 1,9 --only build,mount --runs=5 --tools tar+xz";
        let options = words(line).unwrap();
        assert_eq!(options.suite, "compare");
        assert_eq!(options.sets, ["a", "b"]);
        assert_eq!(options.data, Some("d".into()));
        assert_eq!(options.peers, Some("p".into()));
        assert_eq!(options.levels, Some(vec![1, 9]));
        assert_eq!(options.only, ["build", "mount"]);
        assert_eq!((options.runs, options.jobs), (5, None));
        assert_eq!(options.tools, ["tar+xz"]);
        let options = words("scale x --sizes 10,million --write").unwrap();
        assert_eq!(
            (&*options.suite, options.sets),
            ("scale", vec!["x".to_owned()])
        );
        assert_eq!((options.sizes, options.million), (vec![10], true));
        assert!(options.write && !words("--sizes=10").unwrap().million);
        let options = words("mounts x --rows tar,500 --cold --files 7 --variants 7").unwrap();
        assert_eq!((options.rows.len(), options.cold), (2, true));
        assert_eq!((options.files, options.variants.len()), (vec![7], 1));
    }

    #[test]
    fn unknown_words_are_errors() {
        for bad in [
            "--nonsense",
            "--data",
            "--runs many",
            "--runs 0",
            "--levels 1,x",
            "--write=yes",
        ] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }
}
