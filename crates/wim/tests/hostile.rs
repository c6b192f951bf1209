//! Images that no tool writes: each is made here, and is refused or read within bounds.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use sinterfs_model::{Image, Quiet};
use sinterfs_wim::check::check;
use support::{Made, directory, file, open, options, solid, source};

#[test]
fn sizes_that_exceed_64_bits_are_no_panic() {
    let mut made = Made::default();
    // each chunk takes 5 stored bytes at least, so that this is 2^50 bytes
    let chunks = 1 << 20;
    let resource = made.resource(&solid(chunks << 30, 1 << 30, 5 * chunks as usize));
    made.solid_resource(resource);
    let contents: Vec<_> = (0..1 << 14)
        .map(|_| made.solid_blob(0, chunks << 30))
        .collect();
    let names = (0..).map(|number: u32| number.to_string());
    let files = contents.iter().zip(names);
    let files: Vec<_> = files.map(|(blob, name)| file(&name, *blob)).collect();
    let bytes = made.finish(&directory(&files));
    let image = open(&bytes).unwrap();
    assert_eq!(image.info().totals.bytes, Some(u64::MAX));
    assert_eq!(image.decoded_bytes(), u64::MAX);
    let report = check(source(&bytes), &options(), false, &Quiet).unwrap();
    assert!(report.findings.is_sound(), "{:?}", report.findings);
}
