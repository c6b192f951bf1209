//! The terminal browser of `sinter browse`: what it knows, how keys change that, how it looks.
//!
//! In: an image and keys. Out: frames, and jobs for other threads. **Invariant:** `state` and
//! `preview` know no terminal, so that tests drive them; `draw` changes nothing but how far lists
//! are scrolled; only `terminal` touches the terminal and always gives it back.

mod draw;
mod entries;
mod keys;
mod preview;
mod state;
mod terminal;
mod work;

pub use terminal::browse;

#[cfg(test)]
mod tests;
