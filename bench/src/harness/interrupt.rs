//! Remembers SIGINT, SIGTERM and SIGHUP, so that a run ends in order and leaves no mount behind.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Begins to remember signals instead of ending at once.
pub fn catch() -> Result<(), String> {
    let flag = Arc::clone(ASKED.get_or_init(Arc::default));
    for signal in [
        signal_hook::consts::SIGINT,
        signal_hook::consts::SIGTERM,
        signal_hook::consts::SIGHUP,
    ] {
        signal_hook::flag::register(signal, Arc::clone(&flag)).map_err(|e| e.to_string())?;
    }
    Ok(())
}

/// Returns whether a signal asked to end.
pub fn asked() -> bool {
    ASKED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Fails if a signal asked to end.
pub fn check() -> Result<(), String> {
    if asked() {
        return Err("interrupted; results so far are kept".into());
    }
    Ok(())
}
