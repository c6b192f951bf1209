//! Long work on a thread of its own, while the calling one shows progress and takes signals.
//!
//! **Invariant:** the callback runs in the calling thread; if it fails, or a signal handler does,
//! the work is asked to stop and awaited before the exception is raised. The work waits until its
//! first step was shown, so that a callback that fails at once stops it, however short it is.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
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

/// What the work sends to the thread that waits for it.
enum Message<T> {
    /// The first step waits to be shown.
    Begun,
    /// The work has ended, or panicked.
    Done(thread::Result<sinterfs::Result<T>>),
}

/// Collects progress and warnings.
pub struct ObservedWork {
    stages: Mutex<BTreeMap<Stage, (Tally, Tally)>>,
    warnings: Mutex<Vec<String>>,
    stopped: AtomicBool,
    has_begun: AtomicBool,
    /// Sends that the first step waits.
    begin: Box<dyn Fn() + Send + Sync>,
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
    fn new(begin: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            stages: Mutex::default(),
            warnings: Mutex::default(),
            stopped: AtomicBool::new(false),
            has_begun: AtomicBool::new(false),
            begin: Box::new(begin),
            is_shown: Mutex::new(false),
            shown: Condvar::new(),
        }
    }

    /// Waits in the first step until it was shown.
    fn await_first_showing(&self) {
        if self.has_begun.swap(true, Ordering::Relaxed) {
            return;
        }
        (self.begin)();
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
    let (sender, receiver) = channel();
    let begun = sender.clone();
    let progress = Arc::new(ObservedWork::new(move || {
        // the receiver is there as long as the work
        let _ = begun.send(Message::Begun);
    }));
    let theirs = Arc::clone(&progress);
    let thread = thread::Builder::new()
        .name("sinterfs".to_owned())
        .spawn(move || {
            let result = panic::catch_unwind(AssertUnwindSafe(|| work(&theirs)));
            // a receiver that is gone waits for nothing
            let _ = sender.send(Message::Done(result));
        });
    let thread = thread.map_err(|error| raised(py, &Error::io("no thread", error)))?;
    let receiver = Mutex::new(receiver);
    let mut shown = Shown::default();
    let mut stop = None;
    let result = loop {
        let message = py.detach(|| {
            let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
            receiver.recv_timeout(TICK)
        });
        if stop.is_none() {
            let look = py
                .check_signals()
                .and_then(|()| shown.show(&progress, callback))
                // the callback may have been interrupted
                .and_then(|()| py.check_signals());
            stop = look.err();
            progress.stopped.store(stop.is_some(), Ordering::Relaxed);
        }
        match message {
            Ok(Message::Begun) => progress.go_on(),
            Ok(Message::Done(result)) => break result,
            // both senders are held until the work has sent its result
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    };
    // the thread has nothing left to do but to end
    let _ = py.detach(|| thread.join());
    match (stop, result) {
        (Some(stop), _) => Err(stop),
        (None, Ok(Ok(value))) => Ok((value, progress.warnings())),
        (None, Ok(Err(error))) => Err(raised(py, &error)),
        (None, Err(_)) => Err(panicked()),
    }
}

/// What the callback got last.
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
