//! Images of all formats: opened, walked and read with the assertions of the mutation test.
//!
//! In: bytes, of which the checksums of metadata are made right first, so that mutations reach what
//! lies behind them.

#![no_main]

#[path = "../../crates/sinterfs/tests/harness/mod.rs"]
mod harness;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: Vec<u8>| {
    let mut image = bytes;
    if image.len() >= 16 {
        harness::reseal(&mut image);
        // an error is as good as success
        let _ = harness::read_everything(image);
    }
});
