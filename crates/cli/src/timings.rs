//! How long each stage of the work takes, by the clock.
//!
//! Enters the progress of stages; leaves a row for each. **Invariant:** no thread waits here.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sinterfs::model::Stage;

/// The rows, in their order. Without a separate stage: deciding the order of files, and making the
/// image durable.
const ROWS: [&str; 11] = [
    "scan", "base", "dedupe", "order", "segment", "compress", "write", "finish", "extract",
    "verify", "sync",
];

const SCAN: usize = 0;
const ORDER: usize = 3;
const SEGMENT: usize = 4;
const COMPRESS: usize = 5;
const WRITE: usize = 6;
const FINISH: usize = 7;
const SYNC: usize = 10;

/// Measures while work is done.
#[derive(Debug)]
pub struct Stopwatch {
    start: Instant,
    rows: [TimingRow; ROWS.len()],
}

/// Nanoseconds since the start, and the work done.
#[derive(Debug)]
struct TimingRow {
    first: AtomicU64,
    last: AtomicU64,
}

/// The measurements.
#[derive(Debug, Clone, Default)]
pub struct Timings {
    /// How long all of it took.
    pub wall: Duration,
    /// The stages that there were.
    pub stages: Vec<StageTime>,
}

/// A stage.
#[derive(Debug, Clone)]
pub struct StageTime {
    pub name: &'static str,
    /// When it began and ended, from the start of the work.
    pub from: Duration,
    pub to: Duration,
}

impl Stopwatch {
    /// Starts the measurement.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            rows: std::array::from_fn(|_| TimingRow {
                first: AtomicU64::new(u64::MAX),
                last: AtomicU64::new(0),
            }),
        }
    }

    /// Returns how long the work has taken.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Notes that a stage begins.
    pub fn begins(&self, stage: Stage) {
        let Some(index) = row(stage) else { return };
        let now = self.now();
        if stage == Stage::Segment {
            // the step before it reports nothing, and began when the last stage ended
            let ended = self.rows.iter().take(ORDER).map(|row| get(&row.last));
            let ended = ended.max().unwrap_or(0);
            self.record(ORDER, now);
            self.rows[ORDER].first.store(ended, Ordering::Relaxed);
        }
        self.rows[index].first.fetch_min(now, Ordering::Relaxed);
    }

    /// Notes that a stage has done something.
    pub fn advances(&self, stage: Stage) {
        if let Some(index) = row(stage) {
            self.record(index, self.now());
        }
    }

    fn record(&self, index: usize, now: u64) {
        let row = &self.rows[index];
        row.first.fetch_min(now, Ordering::Relaxed);
        row.last.fetch_max(now, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the measurements, at the end of the work.
    pub fn timings(&self) -> Timings {
        let now = self.now();
        let has = |index: usize| get(&self.rows[index].last) > 0;
        if has(FINISH) {
            let finished = get(&self.rows[FINISH].last);
            self.record(SYNC, now);
            self.rows[SYNC].first.store(finished, Ordering::Relaxed);
        }
        let segmenting = get(&self.rows[SEGMENT].first);
        let stage = |index: usize| {
            let row = &self.rows[index];
            let first = match index {
                // opening the source is part of it
                SCAN => 0,
                // blocks are encoded and written as soon as there are some
                COMPRESS | WRITE => get(&row.first).min(segmenting),
                _ => get(&row.first),
            };
            StageTime {
                name: ROWS[index],
                from: Duration::from_nanos(first),
                to: Duration::from_nanos(get(&row.last)),
            }
        };
        Timings {
            wall: Duration::from_nanos(now),
            stages: (0..ROWS.len())
                .filter(|index| has(*index))
                .map(stage)
                .collect(),
        }
    }
}

impl Timings {
    /// Returns the timings as JSON.
    pub fn as_json(&self) -> serde_json::Value {
        let stage = |stage: &StageTime| {
            json!({
                "stage": stage.name,
                "from": stage.from.as_secs_f64(),
                "to": stage.to.as_secs_f64(),
            })
        };
        json!({
            "seconds": self.wall.as_secs_f64(),
            "stages": self.stages.iter().map(stage).collect::<Vec<_>>(),
        })
    }

    /// Returns the timings as a table.
    pub fn as_text(&self) -> String {
        let mut text = "stage       from       to     wall  (seconds)\n".to_owned();
        for StageTime { name, from, to } in &self.stages {
            let numbers = [*from, *to, to.saturating_sub(*from)];
            let numbers = numbers.map(|time| format!(" {:>8.2}", time.as_secs_f64()));
            text += &format!("{name:<8}{}\n", numbers.concat());
        }
        text
    }
}

/// Returns the row of a stage.
fn row(stage: Stage) -> Option<usize> {
    let name = name(stage);
    ROWS.iter().position(|row| *row == name)
}

/// Returns the displayed name of a stage.
pub const fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Scan => "scan",
        Stage::Base => "base",
        Stage::Dedupe => "dedupe",
        Stage::Segment => "segment",
        Stage::Compress => "compress",
        Stage::Commit => "write",
        Stage::Finish => "finish",
        Stage::Extract => "extract",
        Stage::Verify => "verify",
        _ => "work",
    }
}

fn get(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}
