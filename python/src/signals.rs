//! Signals that arrive while content is read: Ctrl-C ends a long read as it ends Python's own.
//!
//! In: looks between parts of the work, in the thread that Python called, with the interpreter
//! released. Out: whether to go on. **Invariant:** after an exception of a signal handler the
//! answer is no, and `finish` raises it.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Time between two looks: each waits for the interpreter.
const TICK: Duration = Duration::from_millis(50);

/// Looks at signals now and then.
pub struct SignalWatch {
    looked: Instant,
    raised: Option<PyErr>,
}

impl SignalWatch {
    /// Makes a watch whose first look is due after a while: short reads take none.
    pub fn new() -> Self {
        Self {
            looked: Instant::now(),
            raised: None,
        }
    }

    /// Returns whether to go on.
    pub fn goes_on(&mut self) -> bool {
        if self.raised.is_none() && self.looked.elapsed() >= TICK {
            Python::attach(|py| self.raised = py.check_signals().err());
            self.looked = Instant::now();
        }
        self.raised.is_none()
    }

    /// Fails with the exception of a signal handler, if there was one.
    pub fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
