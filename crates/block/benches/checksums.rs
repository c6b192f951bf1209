//! How fast checksums are, by bytes a second.

use divan::Bencher;
use divan::counter::BytesCount;
use sinterfs_block::checksum;

fn main() {
    divan::main();
}

/// Bytes that are summed.
const BLOCK: usize = 4 << 20;

fn bytes() -> Vec<u8> {
    (0..BLOCK).map(|at| ((at * at) >> 7) as u8).collect()
}

#[divan::bench]
fn xxh3(bencher: Bencher<'_, '_>) {
    let raw = bytes();
    let bencher = bencher.counter(BytesCount::new(BLOCK));
    bencher.bench(|| checksum::xxh3_64(divan::black_box(&raw)));
}

#[divan::bench]
fn sha512_256(bencher: Bencher<'_, '_>) {
    let raw = bytes();
    let bencher = bencher.counter(BytesCount::new(BLOCK));
    bencher.bench(|| checksum::sha512_256(divan::black_box(&raw)));
}
