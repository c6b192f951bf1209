//! How much of all work is done and how long the rest takes, over all stages.
//!
//! Enters what each stage has done and has to do; leaves seconds. **Invariant:** the share that is
//! shown never goes back, and is whole only when the work has ended. The work of a stage is weighed
//! by the rate measured in this run; one that has not begun by the rate of the one before it.

use sinterfs::model::Stage;

/// How many times longer than comparing files it takes to pack the same bytes, until that has been
/// measured.
const PACKING: f64 = 4.0;

/// The share that is shown until the work has ended.
const ALMOST: f64 = 0.99;

/// The progress of one stage, in bytes, or in items if the stage counts no bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct StageState {
    /// Files, blocks or entries.
    pub items: u64,
    /// Bytes before encoding.
    pub bytes: u64,
    /// Bytes that the stage has finished.
    pub stored: u64,
    /// The expected total; zero if it is not known.
    pub expected_items: u64,
    /// Bytes that there will be.
    pub expected_bytes: u64,
    /// When the stage began, in seconds since the start of the work.
    pub began: Option<f64>,
}

impl StageState {
    /// Returns which part of the stage is done, from 0 to 1.
    fn share(&self) -> Option<f64> {
        let of = |done: u64, all: u64| (all > 0).then(|| (done as f64 / all as f64).min(1.0));
        of(self.bytes, self.expected_bytes).or_else(|| of(self.items, self.expected_items))
    }
}

/// All stages at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stages {
    pub scan: StageState,
    pub base: StageState,
    pub dedupe: StageState,
    pub segment: StageState,
    pub compress: StageState,
    pub commit: StageState,
    pub finish: StageState,
    pub extract: StageState,
    pub verify: StageState,
}

/// The work as a whole at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Overall {
    /// The stage that most work is done in.
    pub stage: Stage,
    /// The part that is done, from 0 to 1, if that can be said.
    pub share: Option<f64>,
    /// Seconds that the rest will take, if that can be said.
    pub left: Option<f64>,
}

impl Stages {
    /// Estimates the rest of the work; `seconds` is the time since the start.
    pub fn overall(&self, seconds: f64, rounds: Rounds) -> Overall {
        let (stage, left) = if self.finish.began.is_some() {
            (Stage::Finish, Some(seconds * 0.01))
        } else if self.extract.began.is_some() {
            (Stage::Extract, self.rest(&self.extract, seconds))
        } else if self.verify.began.is_some() {
            (Stage::Verify, self.rest_of_rounds(seconds, rounds))
        } else if self.segment.began.is_some() {
            (Stage::Compress, self.rest_of_packing(seconds))
        } else if self.dedupe.began.is_some() {
            let comparing = self.rest(&self.dedupe, seconds);
            (
                Stage::Dedupe,
                comparing.map(|left| left + self.packing(seconds, left)),
            )
        } else if self.commit.began.is_some() {
            // formats that read each file once, or copy blocks
            (Stage::Commit, self.rest(&self.commit, seconds))
        } else if self.compress.began.is_some() {
            (Stage::Compress, self.rest(&self.compress, seconds))
        } else if self.base.began.is_some() {
            (Stage::Base, None)
        } else {
            (Stage::Scan, None)
        };
        let share = left.map(|left| (seconds / (seconds + left).max(1e-9)).min(ALMOST));
        Overall { stage, share, left }
    }

    /// Returns how long the rest of a stage takes at its rate so far.
    fn rest(&self, stage: &StageState, seconds: f64) -> Option<f64> {
        rest_at(stage.share()?, seconds - stage.began.unwrap_or(0.0))
    }

    fn rest_of_rounds(&self, seconds: f64, rounds: Rounds) -> Option<f64> {
        let before = rounds.done.min(rounds.all.saturating_sub(1));
        let share = self.verify.share().unwrap_or(0.0);
        let share = (f64::from(before) + share) / f64::from(rounds.all.max(1));
        rest_at(share, seconds)
    }

    /// Guesses how long packing takes that has not begun.
    fn packing(&self, seconds: f64, left: f64) -> f64 {
        let compared = seconds - self.dedupe.began.unwrap_or(0.0) + left;
        let bytes = self.dedupe.expected_bytes.max(1) as f64;
        compared * PACKING * (self.scan.bytes as f64 / bytes).clamp(0.01, 100.0)
    }

    /// Returns how long it takes until all segments are encoded.
    fn rest_of_packing(&self, seconds: f64) -> Option<f64> {
        let cut = self.segment.bytes as f64;
        // those being encoded count by half
        let waiting = self.segment.stored.saturating_sub(self.compress.bytes) as f64;
        let encoded = self.compress.bytes as f64 + waiting / 2.0;
        let kept = (self.segment.stored as f64 / cut.max(1.0)).min(1.0);
        let to_cut = self
            .segment
            .expected_bytes
            .saturating_sub(self.segment.bytes) as f64;
        let all = self.segment.stored as f64 + to_cut * kept;
        let share = if all > 0.0 {
            (encoded / all).min(1.0)
        } else {
            self.segment.share()? / 2.0
        };
        rest_at(share, seconds - self.segment.began.unwrap_or(0.0))
    }
}

/// How often an image is read while it is verified.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rounds {
    /// Rounds that have ended.
    pub done: u32,
    /// Rounds that there will be.
    pub all: u32,
}

/// Returns how long the rest takes if a share of the work took some seconds; nothing as long as
/// that says little.
fn rest_at(share: f64, took: f64) -> Option<f64> {
    (share > 0.005).then(|| took * (1.0 - share) / share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(bytes: u64, expected_bytes: u64, began: f64) -> StageState {
        StageState {
            items: 1,
            bytes,
            expected_bytes,
            began: Some(began),
            ..StageState::default()
        }
    }

    #[test]
    fn a_stage_alone_goes_on_at_its_rate() {
        let stages = Stages {
            extract: state(250, 1000, 0.0),
            ..Stages::default()
        };
        let overall = stages.overall(10.0, Rounds::default());
        assert_eq!((overall.share, overall.left), (Some(0.25), Some(30.0)));
        let again = Rounds { done: 1, all: 2 };
        let stages = Stages {
            verify: state(500, 1000, 0.0),
            ..Stages::default()
        };
        assert_eq!(stages.overall(30.0, again).share, Some(0.75));
    }

    #[test]
    fn comparing_is_not_all_of_a_build() {
        let scan = state(1000, 0, 0.0);
        let dedupe = state(1000, 1000, 0.0);
        let stages = Stages {
            scan,
            dedupe,
            ..Stages::default()
        };
        let overall = stages.overall(10.0, Rounds::default());
        assert_eq!((overall.share, overall.left), (Some(0.2), Some(40.0)));
        // half of what is to be packed is packed, and half of that was found to be repeats
        let mut segment = state(400, 800, 10.0);
        segment.stored = 200;
        let compress = state(200, 0, 11.0);
        let stages = Stages {
            scan,
            dedupe,
            segment,
            compress,
            ..Stages::default()
        };
        let overall = stages.overall(30.0, Rounds::default());
        assert_eq!((overall.share, overall.left), (Some(0.6), Some(20.0)));
    }

    #[test]
    fn nothing_is_whole_before_the_end() {
        let stages = Stages {
            extract: state(1000, 1000, 0.0),
            ..Stages::default()
        };
        assert_eq!(stages.overall(10.0, Rounds::default()).share, Some(0.99));
        let scanning = Stages::default().overall(1.0, Rounds::default());
        assert_eq!((scanning.share, scanning.left), (None, None));
    }
}
