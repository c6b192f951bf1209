//! Long work on a thread of its own, while the calling one shows progress and takes signals.
//!
//! **Invariant:** the callback runs in the calling thread; if it fails, or a signal handler does,
//! the work is asked to stop and awaited before the exception is raised. The work waits until its
//! first step was shown, so that a callback that fails at once stops it, however short it is.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use sinterfs::model::{Stage, Tally};
use sinterfs::{Error, Observer};

use crate::error::{panicked, raised};

/// Time between two looks at signals and progress.
const TICK: Duration = Duration::from_millis(50);
/// The same before the first step, which waits to be shown.
const FIRST_TICK: Duration = Duration::from_millis(1);

/// Collects progress and warnings.
#[derive(Default)]
pub struct ObservedWork {
    stages: Mutex<BTreeMap<Stage, (Tally, Tally)>>,
    warnings: Mutex<Vec<String>>,
    stopped: AtomicBool,
    begun: AtomicBool,
    /// Whether the first step was shown.
    is_shown: Mutex<bool>,
    shown: Condvar,
}

impl Observer for ObservedWork {
    fn expect(&self, stage: Stage, total: Tally) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.entry(stage).or_default().1 = total;
        drop(stages);
        self.await_first_showing();
    }

    fn advance(&self, stage: Stage, done: Tally) {
        let mut stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = &mut stages.entry(stage).or_default().0;
        sum.items = sum.items.saturating_add(done.items);
        sum.bytes = sum.bytes.saturating_add(done.bytes);
        sum.stored = sum.stored.saturating_add(done.stored);
        drop(stages);
        self.await_first_showing();
    }

    fn warn(&self, warning: &Error) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.push(warning.to_string());
    }

    fn cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl ObservedWork {
    /// Waits in the first step until it was shown.
    fn await_first_showing(&self) {
        if self.begun.swap(true, Ordering::Release) {
            return;
        }
        let mut is_shown = self.is_shown.lock().unwrap_or_else(PoisonError::into_inner);
        while !*is_shown {
            let woken = self.shown.wait(is_shown);
            is_shown = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets the work go on after its first step.
    fn go_on(&self) {
        *self.is_shown.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shown.notify_all();
    }

    fn stages(&self) -> BTreeMap<Stage, (Tally, Tally)> {
        let stages = self.stages.lock().unwrap_or_else(PoisonError::into_inner);
        stages.clone()
    }

    fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut warnings)
    }
}

/// Does work; returns its result and the warnings. The callback gets stage, items and bytes done,
/// and items and bytes expected (0 if that is not known).
pub fn observed<T: Send + 'static>(
    py: Python<'_>,
    callback: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&ObservedWork) -> sinterfs::Result<T> + Send + 'static,
) -> PyResult<(T, Vec<String>)> {
    let progress = Arc::new(ObservedWork::default());
    let (sender, receiver) = channel();
    let theirs = Arc::clone(&progress);
    let thread = thread::Builder::new()
        .name("sinterfs".to_owned())
        .spawn(move || {
            // a receiver that is gone waits for nothing
            let _ = sender.send(work(&theirs));
        });
    let thread = thread.map_err(|error| raised(py, &Error::io("no thread", error)))?;
    let receiver = Mutex::new(receiver);
    let mut shown = Shown::default();
    let mut stop = None;
    let mut is_first = true;
    let result = loop {
        let wait = if is_first { FIRST_TICK } else { TICK };
        let tick = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv_timeout(wait)
        });
        // a step that waits is among those that are shown now
        let waits = progress.begun.load(Ordering::Acquire);
        if stop.is_none() {
            let look = py
                .check_signals()
                .and_then(|()| shown.show(&progress, callback))
                // the callback may have been interrupted
                .and_then(|()| py.check_signals());
            stop = look.err();
            progress.stopped.store(stop.is_some(), Ordering::Relaxed);
        }
        if waits && is_first {
            progress.go_on();
            is_first = false;
        }
        match tick {
            Ok(result) => break Some(result),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break None,
        }
    };
    // the thread has nothing left to do but to end
    let joined = py.detach(|| thread.join());
    match (stop, result) {
        (Some(stop), _) => Err(stop),
        (None, Some(Ok(value))) if joined.is_ok() => Ok((value, progress.warnings())),
        (None, Some(Err(error))) => Err(raised(py, &error)),
        (None, _) => Err(panicked()),
    }
}

/// What the callback was told last.
#[derive(Default)]
struct Shown(BTreeMap<Stage, (Tally, Tally)>);

impl Shown {
    /// Calls the callback for each stage that changed.
    fn show(
        &mut self,
        progress: &ObservedWork,
        callback: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let Some(callback) = callback else {
            return Ok(());
        };
        for (stage, now) in progress.stages() {
            if self.0.insert(stage, now) != Some(now) {
                let name = format!("{stage:?}").to_lowercase();
                let (done, total) = now;
                callback.call1((name, done.items, done.bytes, total.items, total.bytes))?;
            }
        }
        Ok(())
    }
}
