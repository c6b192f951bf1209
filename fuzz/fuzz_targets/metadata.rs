//! `bodies/metadata.rs`, led by coverage.

#![no_main]

#[path = "../bodies/metadata.rs"]
mod body;
#[path = "../../crates/sinterfs/tests/harness/mod.rs"]
mod harness;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
