//! Progress as people see it: bars on a terminal, a plain line now and then elsewhere, warnings
//! above them. Implements `Observer` with counters and a stopwatch; one thread draws.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use sinterfs::model::{Stage, Tally};
use sinterfs::{Error, Observer};

use crate::interrupt::Interrupt;
use crate::messages;
use crate::size::human;
use crate::timings::{self, Stopwatch, Timings};

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

/// The number of stages that run in sequence before the others run concurrently.
const READING: usize = 3;

/// How many warnings are printed before the rest is only counted.
const MAX_WARNINGS: u64 = 100;

#[derive(Debug, Default)]
struct Counters {
    items: AtomicU64,
    bytes: AtomicU64,
    stored: AtomicU64,
    expected_bytes: AtomicU64,
}

/// Counts the progress of stages, prints warnings, and stops the stages on a signal.
#[derive(Debug)]
pub struct Progress {
    counters: [Counters; STAGES.len()],
    warnings: AtomicU64,
    bar: Mutex<Option<ProgressBar>>,
    interrupt: Interrupt,
    stopwatch: Stopwatch,
    done: AtomicBool,
}

/// Draws progress until it is dropped.
#[derive(Debug)]
pub struct Display {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Bars or lines.
    Progress,
    /// Warnings only.
    Warnings,
}

impl Display {
    /// Starts to show progress on standard error.
    pub fn start(show: Show) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (show == Show::Progress && terminal).then(spinner);
        let progress = Arc::new(Progress {
            counters: Default::default(),
            warnings: AtomicU64::new(0),
            bar: Mutex::new(bar),
            interrupt: Interrupt::watch(),
            stopwatch: Stopwatch::start(),
            done: AtomicBool::new(false),
        });
        let drawn = (show == Show::Progress).then(|| Arc::clone(&progress));
        let thread = drawn.and_then(|progress| {
            // where there can't be a thread, nothing is drawn
            let draw = move || progress.draw(terminal);
            std::thread::Builder::new()
                .name("progress".into())
                .spawn(draw)
                .ok()
        });
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
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
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

    fn draw(&self, terminal: bool) {
        let pause = if terminal {
            Duration::from_millis(100)
        } else {
            Duration::from_secs(10)
        };
        while !self.done.load(Ordering::Relaxed) {
            std::thread::park_timeout(pause);
            if self.done.load(Ordering::Relaxed) {
                return;
            }
            let line = self.line();
            match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
                Some(bar) => {
                    bar.set_message(line);
                    bar.tick();
                }
                None => messages::line(line),
            }
        }
    }

    /// Describes the work: `12s 84% 3s left | segment 102 MB 28 MB/s | compress 67 MB -> 17 MB
    /// (25%)`.
    fn line(&self) -> String {
        let seconds = self.stopwatch.elapsed().as_secs_f64();
        let begun = |counters: &Counters| counters.items.load(Ordering::Relaxed) > 0;
        // scan and dedupe are over when the next stage has begun
        let last = self.counters.iter().rposition(begun).unwrap_or(0);
        let over = |index: usize| index < last && index < READING;
        let shown: Vec<_> = STAGES
            .iter()
            .zip(&self.counters)
            .enumerate()
            // bytes written are those after compression
            .filter(|(index, (stage, _))| !over(*index) && **stage != Stage::Commit)
            .map(|(_, stage)| stage)
            .collect();
        let left = shown
            .iter()
            .find_map(|(_, counters)| counters.left(seconds));
        let stages = shown
            .iter()
            .filter_map(|(stage, counters)| counters.describe(**stage, seconds));
        let head = format!("{seconds:.0}s{}", left.unwrap_or_default());
        std::iter::once(head)
            .chain(stages)
            .collect::<Vec<_>>()
            .join(" | ")
    }
}

impl Counters {
    /// Returns how much of a stage is done and how long the rest will take, where that is known.
    fn left(&self, seconds: f64) -> Option<String> {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (done, all) = (get(&self.bytes), get(&self.expected_bytes));
        if done == 0 || done >= all {
            return None;
        }
        let percent = (done as f64 * 100.0 / all as f64) as u64;
        let known = done > all / 50 && seconds > 2.0;
        let rest = || format!(" {:.0}s left", seconds * (all - done) as f64 / done as f64);
        Some(format!(
            " {percent}%{}",
            if known { rest() } else { String::new() }
        ))
    }

    fn describe(&self, stage: Stage, seconds: f64) -> Option<String> {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (items, bytes, stored) = (get(&self.items), get(&self.bytes), get(&self.stored));
        if items == 0 && bytes == 0 {
            return None;
        }
        let mut text = format!("{} {items}", timings::name(stage));
        if bytes > 0 {
            text += &format!(
                " {} {}/s",
                human(bytes),
                human((bytes as f64 / seconds) as u64)
            );
        }
        if stored > 0 && bytes > 0 {
            text += &format!(
                " -> {} ({:.0}%)",
                human(stored),
                stored as f64 * 100.0 / bytes as f64
            );
        }
        Some(text)
    }
}

impl Observer for Progress {
    fn expect(&self, stage: Stage, total: Tally) {
        self.stopwatch.begins(stage);
        if let Some(counters) = self.counters(stage) {
            counters
                .expected_bytes
                .store(total.bytes, Ordering::Relaxed);
        }
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.stopwatch.advances(stage);
        if let Some(counters) = self.counters(stage) {
            counters.items.fetch_add(done.items, Ordering::Relaxed);
            counters.bytes.fetch_add(done.bytes, Ordering::Relaxed);
            counters.stored.fetch_add(done.stored, Ordering::Relaxed);
        }
    }

    fn warn(&self, warning: &Error) {
        let before = self.warnings.fetch_add(1, Ordering::Relaxed);
        let message = match before {
            n if n < MAX_WARNINGS => {
                format!(
                    "sinter: warning: {}",
                    crate::text::one_line(&crate::flags::message(warning))
                )
            }
            MAX_WARNINGS => "sinter: warning: further warnings are only counted".to_owned(),
            _ => return,
        };
        match &*self.bar.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(bar) => bar.suspend(|| messages::line(message)),
            None => messages::line(message),
        }
    }

    fn cancelled(&self) -> bool {
        self.interrupt.requested()
    }
}
