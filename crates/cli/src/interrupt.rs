//! Ctrl-C and SIGTERM: the first asks the work to stop cleanly, the second ends the process. A
//! signal that was ignored when the program was started, as by nohup(1), stays ignored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGINT, SIGTERM};

/// The signals that ask to stop.
const SIGNALS: &[i32] = &[
    SIGINT,
    SIGTERM,
    #[cfg(unix)]
    signal_hook::consts::SIGHUP,
];

/// Whether a signal came, once somebody has begun to watch.
static CAME: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Remembers whether a signal requested a stop.
#[derive(Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Starts to watch for signals.
    pub fn watch() -> Self {
        Self(Arc::clone(CAME.get_or_init(|| watched(true))))
    }

    /// Returns whether a signal came.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Notes signals so that waits for servers end, for a process that handles them by other means
/// besides: none ends it.
pub fn note() {
    CAME.get_or_init(|| watched(false));
}

fn watched(ends: bool) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    let signals = sinterfs::platform::inherited::heeded(SIGNALS);
    #[cfg(not(unix))]
    let signals = SIGNALS.to_vec();
    for signal in signals {
        // order matters: the second signal finds the flag set and ends the process
        if ends {
            let ends = Arc::clone(&flag);
            let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, ends);
        }
        let _ = signal_hook::flag::register(signal, Arc::clone(&flag));
    }
    flag
}

/// Returns whether a signal came while somebody watches: waits for a server end then.
pub fn requested() -> bool {
    CAME.get().is_some_and(|came| came.load(Ordering::Relaxed))
}
