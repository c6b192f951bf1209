//! The browser on a terminal.
//!
//! In: an opened image. Out: nothing but what the user extracts. **Invariant:** the terminal is as
//! it was when this returns, when a thread panics (before its message), and after SIGTERM, SIGHUP
//! and SIGINT, which end the program; an extraction that the end of the program stops is an error.

use std::io::IsTerminal;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use ratatui::DefaultTerminal;
use ratatui::crossterm::event;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use sinterfs::model::Ino;
use sinterfs::platform::inherited::heeded;
use sinterfs::{Error, Image, Kind, Result};

use super::draw::{Look, draw};
use super::keys::key;
use super::state::{Browser, BrowserJob};
use super::work::{Done, Workers};
use crate::{exit, text};

/// How long the program may take to end after a signal.
const SOON: Duration = Duration::from_secs(1);

/// How long a key is waited for before results and signals are looked at.
const PATIENCE: Duration = Duration::from_millis(50);

/// Shows a directory of an image, with the directories on the way to it, until the user ends it.
pub fn browse(image: &Image, name: &Path, way: &[(Vec<u8>, Ino)]) -> Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let what = "the browser needs a terminal; `sinter ls`, `tree` and `du` do not";
        return Err(Error::unsupported(what));
    }
    if std::env::var_os("TERM").is_none_or(|term| term == "dumb") {
        let what = "the browser needs a terminal with a cursor (TERM)";
        return Err(Error::unsupported(what));
    }
    let title = name.file_name().unwrap_or(name.as_os_str());
    let title = text::name(title.as_bytes());
    let browser = Browser::new(Arc::clone(image.raw()), title, way)?;
    let is_over = end_on_signals()?;
    let (workers, results) = Workers::start(image)?;
    let restore = RestoreTerminal;
    let terminal = ratatui::try_init().map_err(failed)?;
    let mut running = Running {
        terminal,
        browser,
        workers,
        results,
        look: Look {
            has_color: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        },
    };
    let ended = running.run(&is_over);
    drop(restore);
    running.workers.end();
    if running.browser.is_extracting() {
        let what = "an extraction was stopped; what was complete is kept";
        return ended.and(Err(Error::new(Kind::Cancelled, what)));
    }
    ended
}

/// Starts a thread that notes a signal to end. If the program has not ended soon after one, as when
/// the terminal is gone, whose events are waited for without an end, the thread ends it.
fn end_on_signals() -> Result<Arc<AtomicBool>> {
    let signals = Signals::new(heeded(&[SIGTERM, SIGHUP, SIGINT]));
    let mut signals = signals.map_err(|error| Error::io("cannot wait for signals", error))?;
    let is_over = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&is_over);
    let wait = move || {
        if signals.forever().next().is_some() {
            noted.store(true, Ordering::Relaxed);
            std::thread::sleep(SOON);
            // nobody would see the error
            let _ = ratatui::try_restore();
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
    };
    let thread = std::thread::Builder::new()
        .name("signals".into())
        .spawn(wait);
    thread.map_err(|error| Error::io("cannot start a thread", error))?;
    Ok(is_over)
}

fn failed(error: std::io::Error) -> Error {
    Error::io("the terminal failed", error)
}

/// Restores the terminal when it is dropped.
struct RestoreTerminal;

impl Drop for RestoreTerminal {
    fn drop(&mut self) {
        // nobody would see the error
        let _ = ratatui::try_restore();
    }
}

struct Running {
    terminal: DefaultTerminal,
    browser: Browser,
    workers: Workers,
    results: Receiver<Done>,
    look: Look,
}

impl Running {
    fn run(&mut self, is_over: &AtomicBool) -> Result<()> {
        if let Some(job) = self.browser.measure() {
            self.workers.give(job)?;
        }
        let mut is_new = true;
        loop {
            if is_over.load(Ordering::Relaxed) {
                return Err(Error::new(Kind::Cancelled, "interrupted"));
            }
            is_new |= self.take_results()?;
            if is_new {
                let (browser, look) = (&mut self.browser, self.look);
                let drawn = self.terminal.draw(|frame| draw(frame, browser, look));
                drawn.map_err(failed)?;
            }
            is_new = false;
            if !event::poll(PATIENCE).map_err(failed)? {
                continue;
            }
            is_new = true;
            let pressed = match event::read().map_err(failed)? {
                event::Event::Key(pressed) => key(pressed),
                _ => None,
            };
            match pressed.and_then(|key| self.browser.press(key)) {
                Some(BrowserJob::Quit) => return Ok(()),
                Some(BrowserJob::Suspend) => self.suspend()?,
                Some(job) => self.workers.give(job)?,
                None => {}
            }
        }
    }

    /// Shows what became of jobs; returns whether there was anything.
    fn take_results(&mut self) -> Result<bool> {
        let mut is_new = false;
        loop {
            match self.results.try_recv() {
                Ok(Done::Measured { sizes, all }) => self.browser.sized(sizes, all),
                Ok(Done::Read { ino, offset, bytes }) => self.browser.read(ino, offset, bytes),
                Ok(Done::Failed(message)) => self.browser.message = message,
                Ok(Done::Extracted(message)) => self.browser.extracted(message),
                Err(TryRecvError::Empty) => return Ok(is_new),
                Err(TryRecvError::Disconnected) => {
                    return Err(Error::new(
                        Kind::Io,
                        "the threads of the browser have failed",
                    ));
                }
            }
            is_new = true;
        }
    }

    /// Stops the process as Ctrl-Z does, and then takes over the terminal again.
    fn suspend(&mut self) -> Result<()> {
        ratatui::try_restore().map_err(failed)?;
        let stopped =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP);
        self.terminal = ratatui::try_init().map_err(failed)?;
        stopped.map_err(|errno| Error::io("cannot stop", errno))
    }
}
