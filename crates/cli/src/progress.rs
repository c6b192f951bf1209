//! Progress as people and programs see it: a line with a bar on a terminal, a plain line now and
//! then elsewhere, JSON lines if requested, warnings above them. Implements `Observer` with
//! counters and a stopwatch; one thread draws.
//!
//! SIGUSR1 prints a plain line in every mode.

mod growth;
mod line;
mod overall;

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use sinterfs::model::{Stage, Tally};
use sinterfs::{Error, Observer};

use crate::interrupt::Interrupt;
use crate::messages;
use crate::timings::{Stopwatch, Timings};
use growth::Growth;
use line::Moment;
use overall::{Rounds, StageState, Stages};

const STAGES: [Stage; 9] = [
    Stage::Scan,
    Stage::Base,
    Stage::Dedupe,
    Stage::Segment,
    Stage::Compress,
    Stage::Commit,
    Stage::Finish,
    Stage::Extract,
    Stage::Verify,
];

/// How many warnings are printed before the rest is only counted.
const MAX_WARNINGS: u64 = 100;

/// How often a bar is drawn.
const DRAW: Duration = Duration::from_millis(100);

/// How often a plain line and a line of JSON are printed.
const PLAIN: Duration = Duration::from_secs(10);
const JSON: Duration = Duration::from_secs(1);

/// The width of plain lines.
const WIDE: usize = 200;

#[derive(Debug, Default)]
struct Counters {
    items: AtomicU64,
    bytes: AtomicU64,
    stored: AtomicU64,
    expected_items: AtomicU64,
    expected_bytes: AtomicU64,
    /// When the stage began, in nanoseconds since the start and one more; zero before.
    began: AtomicU64,
}

/// Counts the progress of stages, prints warnings, and stops the stages on a signal.
#[derive(Debug)]
pub struct Progress {
    counters: [Counters; STAGES.len()],
    warnings: AtomicU64,
    bar: Mutex<Option<ProgressBar>>,
    form: ProgressForm,
    interrupt: Interrupt,
    stopwatch: Stopwatch,
    /// How often verification has begun, and how often it will.
    rounds: (AtomicU32, u32),
    growth: Mutex<Growth>,
    asked: Arc<AtomicBool>,
    done: AtomicBool,
}

/// Draws progress until it is dropped.
#[derive(Debug)]
pub struct Display {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

/// The display while work is done, apart from warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// A bar on a terminal, lines elsewhere.
    Progress,
    /// Warnings only.
    Warnings,
    /// This form, wherever it goes.
    Always(ProgressForm),
}

/// The form of progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressForm {
    /// A line that is drawn again and again.
    Bar,
    /// A line now and then.
    Plain,
    /// A line of JSON each second; warnings are JSON, too.
    Json,
    /// Nothing.
    Nothing,
}

impl Show {
    fn form(self) -> ProgressForm {
        match self {
            Self::Always(form) => form,
            Self::Warnings => ProgressForm::Nothing,
            Self::Progress => {
                let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
                if std::io::stderr().is_terminal() && !dumb {
                    ProgressForm::Bar
                } else {
                    ProgressForm::Plain
                }
            }
        }
    }
}

impl Display {
    /// Starts to show progress on standard error.
    pub fn start(show: Show) -> Self {
        Self::of_rounds(show, 1)
    }

    /// Starts to show the progress of a verification that reads an image several times.
    pub fn of_rounds(show: Show, rounds: u32) -> Self {
        let form = show.form();
        let asked = Arc::new(AtomicBool::new(false));
        // where it cannot be watched, the signal keeps its meaning; Windows has none
        #[cfg(unix)]
        let _ = signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&asked));
        let progress = Arc::new(Progress {
            counters: Default::default(),
            warnings: AtomicU64::new(0),
            bar: Mutex::new((form == ProgressForm::Bar).then(spinner)),
            form,
            interrupt: Interrupt::watch(),
            stopwatch: Stopwatch::start(),
            rounds: (AtomicU32::new(0), rounds),
            growth: Mutex::default(),
            asked,
            done: AtomicBool::new(false),
        });
        let drawn = Arc::clone(&progress);
        // where there can't be a thread, nothing is drawn
        let thread = std::thread::Builder::new()
            .name("progress".into())
            .spawn(move || drawn.draw())
            .ok();
        Self { progress, thread }
    }

    /// Returns the observer to hand to the facade.
    pub fn observer(&self) -> &Progress {
        &self.progress
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.progress.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
        let mut bar = self
            .progress
            .bar
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn spinner() -> ProgressBar {
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{wide_msg}") {
        bar.set_style(style);
    }
    bar
}

impl Progress {
    /// Returns how many warnings there were.
    pub fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::Relaxed)
    }

    /// Returns how long the work has taken.
    pub fn elapsed(&self) -> Duration {
        self.stopwatch.elapsed()
    }

    /// Returns the times of its stages; called at the end, by the thread that started the work.
    pub fn timings(&self) -> Timings {
        self.stopwatch.timings()
    }

    fn counters(&self, stage: Stage) -> Option<&Counters> {
        STAGES
            .iter()
            .position(|&s| s == stage)
            .and_then(|index| self.counters.get(index))
    }

    fn draw(&self) {
        let pause = match self.form {
            ProgressForm::Bar => DRAW,
            _ => DRAW * 2,
        };
        let mut printed = Instant::now();
        while !self.done.load(Ordering::Relaxed) {
            std::thread::park_timeout(pause);
            if self.done.load(Ordering::Relaxed) {
                return;
            }
            if self.asked.swap(false, Ordering::Relaxed) {
                self.print_line(&match self.form {
                    ProgressForm::Json => self.moment().json(),
                    _ => format!("sinter: {}", self.moment().line(WIDE, false)),
                });
            }
            match self.form {
                ProgressForm::Nothing => {}
                ProgressForm::Bar => {
                    let columns = usize::from(console::Term::stderr().size().1);
                    if let Some(bar) = &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
                        bar.set_message(self.moment().line(columns, true));
                        bar.tick();
                    }
                }
                ProgressForm::Plain if printed.elapsed() >= PLAIN => {
                    printed = Instant::now();
                    messages::line(self.moment().line(WIDE, false));
                }
                ProgressForm::Json if printed.elapsed() >= JSON => {
                    printed = Instant::now();
                    messages::line(self.moment().json());
                }
                ProgressForm::Plain | ProgressForm::Json => {}
            }
        }
    }

    /// Prints a line above what is drawn.
    fn print_line(&self, line: &str) {
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(|| messages::line(line)),
            None => messages::line(line),
        }
    }

    /// Returns what is known now.
    fn moment(&self) -> Moment {
        let seconds = self.stopwatch.elapsed().as_secs_f64();
        let of = |stage| {
            self.counters(stage)
                .map(Counters::state)
                .unwrap_or_default()
        };
        let stages = Stages {
            scan: of(Stage::Scan),
            base: of(Stage::Base),
            dedupe: of(Stage::Dedupe),
            segment: of(Stage::Segment),
            compress: of(Stage::Compress),
            commit: of(Stage::Commit),
            finish: of(Stage::Finish),
            extract: of(Stage::Extract),
            verify: of(Stage::Verify),
        };
        let rounds = Rounds {
            done: self.rounds.0.load(Ordering::Relaxed).saturating_sub(1),
            all: self.rounds.1,
        };
        let mut overall = stages.overall(seconds, rounds);
        let mut growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        growth.apply(&mut overall, seconds);
        drop(growth);
        // of a build, what is cut into segments is what people wait for
        let counted = match overall.stage {
            Stage::Compress if stages.segment.began.is_some() => stages.segment,
            stage => of(stage),
        };
        let encoded = stages.compress;
        Moment {
            seconds,
            overall,
            items: (counted.items, counted.expected_items),
            bytes: (counted.bytes, counted.expected_bytes),
            image: (encoded.stored > 0).then_some((encoded.stored, encoded.bytes)),
            saved: saved(&stages),
            warnings: self.warnings(),
        }
    }
}

/// Returns how many bytes were found equal to others: of whole files, and within files.
fn saved(stages: &Stages) -> u64 {
    let segment = &stages.segment;
    if segment.began.is_none() || segment.expected_bytes == 0 {
        return 0;
    }
    let files = stages.scan.bytes.saturating_sub(segment.expected_bytes);
    // without what fills the next segment
    let cut = match segment.stored {
        0 => 0,
        stored => segment.bytes.saturating_sub(stored),
    };
    files.saturating_add(cut)
}

impl Counters {
    fn state(&self) -> StageState {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let began = get(&self.began).checked_sub(1);
        StageState {
            items: get(&self.items),
            bytes: get(&self.bytes),
            stored: get(&self.stored),
            expected_items: get(&self.expected_items),
            expected_bytes: get(&self.expected_bytes),
            began: began.map(|nanos| nanos as f64 / 1e9),
        }
    }

    fn begin(&self, since: Duration) {
        let now = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX - 1) + 1;
        let _ = self
            .began
            .compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl Observer for Progress {
    fn expect(&self, stage: Stage, total: Tally) {
        self.stopwatch.begins(stage);
        if stage == Stage::Verify {
            self.rounds.0.fetch_add(1, Ordering::Relaxed);
        }
        if let Some(counters) = self.counters(stage) {
            counters.begin(self.stopwatch.elapsed());
            // a stage that comes again counts from the beginning
            counters.items.store(0, Ordering::Relaxed);
            counters.bytes.store(0, Ordering::Relaxed);
            let (items, bytes) = (&counters.expected_items, &counters.expected_bytes);
            items.store(total.items, Ordering::Relaxed);
            bytes.store(total.bytes, Ordering::Relaxed);
        }
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.stopwatch.advances(stage);
        if let Some(counters) = self.counters(stage) {
            counters.begin(self.stopwatch.elapsed());
            counters.items.fetch_add(done.items, Ordering::Relaxed);
            counters.bytes.fetch_add(done.bytes, Ordering::Relaxed);
            counters.stored.fetch_add(done.stored, Ordering::Relaxed);
        }
    }

    fn warn(&self, warning: &Error) {
        let before = self.warnings.fetch_add(1, Ordering::Relaxed);
        let message = match before {
            n if n < MAX_WARNINGS => {
                crate::text::one_line(&crate::flags::message(warning)).into_owned()
            }
            MAX_WARNINGS => "further warnings are only counted".to_owned(),
            _ => return,
        };
        match self.form {
            ProgressForm::Json => {
                let line = json!({"message_type": "warning", "message": message});
                messages::line(line);
            }
            _ => self.print_line(&format!("sinter: warning: {message}")),
        }
    }

    fn cancelled(&self) -> bool {
        self.interrupt.requested()
    }
}
