//! `bodies/digest.rs`, led by coverage.

#![no_main]

#[path = "../bodies/digest.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| body::run(bytes));
