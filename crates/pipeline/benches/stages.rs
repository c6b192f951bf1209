//! How fast single stages of the pipeline are, by bytes a second.

#![allow(clippy::unwrap_used, reason = "a benchmark")]

use divan::Bencher;
use divan::counter::BytesCount;
use sinterfs_pipeline::bench_hooks;
use sinterfs_testkit::noise;

fn main() {
    divan::main();
}

/// Makes versions of one content: each has a kilobyte changed in each 64.
fn versions(count: u64) -> Vec<Vec<u8>> {
    let first = noise(1, 4 << 20);
    let version = |number: u64| {
        let mut content = first.clone();
        for (index, part) in content.chunks_mut(64 << 10).enumerate() {
            let changed = noise((number << 32) | (index as u64 + 1), 1 << 10);
            part[..changed.len()].copy_from_slice(&changed);
        }
        content
    };
    (1..=count).map(version).collect()
}

#[divan::bench]
fn gear_pass(bencher: Bencher<'_, '_>) {
    let content = noise(1, 8 << 20);
    bencher
        .counter(BytesCount::of_slice(&content))
        .bench(|| bench_hooks::anchors(divan::black_box(&content)));
}

#[divan::bench]
fn sketch(bencher: Bencher<'_, '_>) {
    let content = noise(1, 8 << 20);
    bencher
        .counter(BytesCount::of_slice(&content))
        .bench(|| bench_hooks::sketch(divan::black_box(&content)));
}

/// Content without repeats: all anchors are looked up in vain.
#[divan::bench]
fn segment_new(bencher: Bencher<'_, '_>) {
    let content = noise(1, 16 << 20);
    bencher
        .counter(BytesCount::of_slice(&content))
        .bench(|| bench_hooks::segment(&[&content]).unwrap());
}

/// Versions of one content: nearly all of it is found.
#[divan::bench]
fn segment_versions(bencher: Bencher<'_, '_>) {
    let contents = versions(4);
    let slices: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
    let total: usize = contents.iter().map(Vec::len).sum();
    assert!(bench_hooks::segment(&slices).unwrap() > (total / 2) as u64);
    bencher
        .counter(BytesCount::new(total))
        .bench(|| bench_hooks::segment(&slices).unwrap());
}
