//! `sinter grep`: searches the content of the files of an image, with ripgrep's crates.
//!
//! **Invariant:** files are read in the order of their blocks, each block once; the output is in
//! that order, too, for any number of threads.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use grep_printer::{ColorSpecs, JSONBuilder, StandardBuilder, SummaryBuilder, SummaryKind};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use sinterfs::ops::{ContentsOptions, OpenedContent, Unread, contents, expand};
use sinterfs::platform::names;
use sinterfs::{Error, Result};
use termcolor::{Ansi, NoColor, WriteColor};

use crate::args::input::ImageArgs;
use crate::args::run::JobsArgs;
use crate::exit;
use crate::progress::{Display, Show};
use crate::rows::trimmed;
use crate::standard_files;
use crate::{size, text};

/// The longest line in bytes that is searched.
const LONGEST_LINE: usize = 64 << 20;

/// Search the files of an image for lines that match a regular expression.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    after_help = "\
Examples:
  sinter grep 'TODO|FIXME' image.dwarfs
      Search all files.
  sinter grep -i error image.dwarfs var/log
      Search below a directory, regardless of case.
  sinter grep -l -g '**/*.h' 'struct inode' src.squashfs
      Print the names of the headers that match.
  sinter grep -c -F '[main]' image.dwarfs 'etc/*.conf'
      Count the lines with a text that is no expression.

Expressions are those of ripgrep. Files are read in the order of the image, each block once; \
binary files are searched until their first NUL byte unless -a is given. A file with several names \
is searched once. The exit code is 0 if something matched, 1 if nothing did, and that of the error \
otherwise."
)]
pub struct Args {
    /// The regular expression; `--` goes before one that begins with a dash.
    #[arg(value_name = "PATTERN")]
    pattern: String,

    #[command(flatten)]
    image: ImageArgs,

    /// The files and directories to search (default: everything); patterns are expanded.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Search only paths that match; `*` matches within a name, `**` across slashes.
    #[arg(short, long, value_name = "GLOB")]
    glob: Vec<String>,

    /// Ignore case.
    #[arg(short, long)]
    ignore_case: bool,

    /// Ignore case unless the pattern has an upper-case letter.
    #[arg(short = 'S', long, conflicts_with = "ignore_case")]
    smart_case: bool,

    /// The pattern is a text, not an expression.
    #[arg(short = 'F', long)]
    fixed_strings: bool,

    /// Match only whole words.
    #[arg(short, long)]
    word_regexp: bool,

    /// Print lines that do not match.
    #[arg(short = 'v', long)]
    invert_match: bool,

    /// Print only the names of files that match.
    #[arg(short = 'l', long, conflicts_with_all = ["count", "json"])]
    files_with_matches: bool,

    /// Print only the number of lines that match in each file.
    #[arg(short, long, conflicts_with = "json")]
    count: bool,

    /// Print only the parts of lines that match.
    #[arg(short, long)]
    only_matching: bool,

    /// Do not print the numbers of lines.
    #[arg(short = 'N', long)]
    no_line_number: bool,

    /// Do not print the names of files.
    #[arg(short = 'h', long)]
    no_filename: bool,

    /// Print this number of lines after each match.
    #[arg(short = 'A', long, value_name = "N", default_value_t = 0)]
    after_context: usize,

    /// Print this number of lines before each match.
    #[arg(short = 'B', long, value_name = "N", default_value_t = 0)]
    before_context: usize,

    /// Print this number of lines before and after each match.
    #[arg(short = 'C', long, value_name = "N")]
    context: Option<usize>,

    /// Stop reading a file after this number of lines that match.
    #[arg(short, long, value_name = "N")]
    max_count: Option<u64>,

    /// Treat binary files as text.
    #[arg(short = 'a', long)]
    text: bool,

    /// Print unescaped names, each ended by NUL (for xargs -0).
    #[arg(short = '0', long, conflicts_with = "json")]
    null: bool,

    /// Print nothing; the exit code says whether something matched.
    #[arg(short, long)]
    quiet: bool,

    /// Print JSON lines in the form of `rg --json`.
    #[arg(long)]
    json: bool,

    /// When to use colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = Colour::Auto)]
    color: Colour,

    #[command(flatten)]
    jobs: JobsArgs,

    /// Print help.
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Colour {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    Always,
    Never,
}

/// Searches.
pub fn run(args: &Args) -> Result<ExitCode> {
    let matcher = matcher(args)?;
    let opened = args.image.open_tree()?;
    let image = &**opened.raw();
    let mut paths = Vec::new();
    let mut unread = Unread::default();
    for path in &args.paths {
        let found = expand(image, trimmed(&names::bytes(path)), &mut unread)?;
        paths.extend(found.iter().map(|path| names::path_buf(path.clone())));
    }
    let options = ContentsOptions {
        paths,
        names: args.glob.clone(),
        threads: args.jobs.threads(),
    };
    let search = Search {
        args,
        matcher,
        output: Mutex::default(),
        found: AtomicBool::new(false),
        colours: has_colours(args),
    };
    let display = Display::start(Show::Warnings);
    let report = contents(image, &options, display.observer(), &|file| {
        search.file(file)
    })?;
    drop(display);
    let all_read = report.failed == 0 && unread.is_empty();
    exit::unread(unread);
    let code = match (search.found.into_inner(), all_read) {
        (true, true) => 0,
        (false, true) => exit::PARTIAL,
        // something could not be searched
        _ => exit::DAMAGED,
    };
    Ok(ExitCode::from(code))
}

fn matcher(args: &Args) -> Result<RegexMatcher> {
    let built = RegexMatcherBuilder::new()
        .case_insensitive(args.ignore_case)
        .case_smart(args.smart_case)
        .fixed_strings(args.fixed_strings)
        .word(args.word_regexp)
        .line_terminator(Some(b'\n'))
        .build(&args.pattern);
    built.map_err(|error| Error::invalid(error.to_string()))
}

fn has_colours(args: &Args) -> bool {
    let wanted = || std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    match args.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => std::io::stdout().is_terminal() && wanted(),
    }
}

/// A search of many files.
struct Search<'a> {
    args: &'a Args,
    matcher: RegexMatcher,
    output: Mutex<Output>,
    found: AtomicBool,
    colours: bool,
}

/// The matches of files after one that is still being searched.
#[derive(Default)]
struct Output {
    next: usize,
    waiting: BTreeMap<usize, Vec<u8>>,
}

impl Search<'_> {
    /// Searches one file, and prints its matches when it is its turn.
    fn file(&self, file: OpenedContent<'_>) -> Result<()> {
        let index = file.index;
        if self.args.quiet && self.found.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut found = Vec::new();
        let searched = if self.colours {
            self.search(file, Ansi::new(&mut found))
        } else {
            self.search(file, NoColor::new(&mut found))
        };
        if self.args.quiet {
            found.clear();
        }
        self.print(index, found)?;
        if searched.map_err(not_searched)? {
            self.found.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Searches into a buffer; returns whether something matched.
    fn search(&self, file: OpenedContent<'_>, out: impl WriteColor) -> std::io::Result<bool> {
        let (args, matcher, reader) = (self.args, &self.matcher, file.reader);
        let raw = names::path(file.path);
        let escaped = text::name(file.path);
        let path = if args.json || args.null {
            &*raw
        } else {
            Path::new(&escaped)
        };
        let terminator = args.null.then_some(0);
        let mut searcher = self.searcher();
        if args.json {
            let mut printer = JSONBuilder::new().build(out);
            let mut sink = printer.sink_with_path(matcher, path);
            searcher.search_reader(matcher, reader, &mut sink)?;
            return Ok(sink.has_match());
        }
        let named = (!args.no_filename).then_some(path);
        if args.files_with_matches || args.count || args.quiet {
            let kind = match (args.count, args.quiet) {
                (_, true) => SummaryKind::QuietWithMatch,
                (true, _) => SummaryKind::Count,
                _ => SummaryKind::PathWithMatch,
            };
            let mut printer = SummaryBuilder::new()
                .kind(kind)
                .path(!args.no_filename || args.files_with_matches)
                .path_terminator(terminator)
                .color_specs(ColorSpecs::default_with_color())
                .build(out);
            let mut sink = printer.sink_with_path(matcher, path);
            searcher.search_reader(matcher, reader, &mut sink)?;
            return Ok(sink.has_match());
        }
        let mut printer = StandardBuilder::new()
            .only_matching(args.only_matching)
            .path_terminator(terminator)
            .color_specs(ColorSpecs::default_with_color())
            .build(out);
        match named {
            Some(path) => {
                let mut sink = printer.sink_with_path(matcher, path);
                searcher.search_reader(matcher, reader, &mut sink)?;
                Ok(sink.has_match())
            }
            None => {
                let mut sink = printer.sink(matcher);
                searcher.search_reader(matcher, reader, &mut sink)?;
                Ok(sink.has_match())
            }
        }
    }

    fn searcher(&self) -> Searcher {
        let args = self.args;
        let binary = if args.text {
            BinaryDetection::none()
        } else {
            BinaryDetection::quit(0)
        };
        SearcherBuilder::new()
            .binary_detection(binary)
            .invert_match(args.invert_match)
            .line_number(!args.no_line_number)
            .before_context(args.context.unwrap_or(args.before_context))
            .after_context(args.context.unwrap_or(args.after_context))
            .max_matches(args.max_count)
            .heap_limit(Some(LONGEST_LINE))
            .build()
    }

    /// Prints the matches of a file, after the matches of all files before it.
    fn print(&self, index: usize, found: Vec<u8>) -> Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        output.waiting.insert(index, found);
        let mut out = standard_files::output();
        loop {
            let next = output.next;
            let Some(found) = output.waiting.remove(&next) else {
                return Ok(());
            };
            output.next += 1;
            if !found.is_empty() {
                let written = out.write_all(&found).and_then(|()| out.flush());
                written.map_err(|error| Error::io("cannot print the lines", error))?;
            }
        }
    }
}

/// Returns the error of a search that failed: reading the image, or a line that does not fit, which
/// the system did not cause.
fn not_searched(error: std::io::Error) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) if error.raw_os_error().is_none() => {
            let longest = size::human(LONGEST_LINE as u64);
            Error::unsupported(format!("a line of more than {longest} is not searched"))
        }
        Err(error) => Error::io("cannot search the file", error),
    }
}
