//! What verbs that are crates of their own share with those of xtask: running commands, by
//! wine where needed, and the Python package.
//!
//! **Invariant:** nothing here knows a verb.

#![allow(clippy::print_stdout, reason = "what is run is shown on the terminal")]

pub mod python;
pub mod run;
pub mod wine;
