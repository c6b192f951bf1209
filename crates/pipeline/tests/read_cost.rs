//! A price for reads: what it changes, and what it must not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use sinterfs_model::MapExtent;
use sinterfs_pipeline::{Options, ReadCost};
use sinterfs_testkit::noise;
use support::packing::{BLOCK, mixed, options, pack};
use support::{Image, Mock, data};

fn priced(read_cost: ReadCost, threads: usize) -> Options {
    Options {
        read_cost,
        ..options(threads)
    }
}

/// Returns the blocks that a file uses, and how far each is decoded to read it.
fn decoded(image: &Image, path: &str) -> Vec<(u32, u32)> {
    let tree = image.tree.as_ref().unwrap();
    let nodes = (0..tree.nodes().len() as u32).map(sinterfs_model::NodeId);
    let mut named = nodes.filter(|&node| tree.path(node) == path.as_bytes());
    let mut blocks = std::collections::BTreeMap::new();
    for extent in image.map.extents(named.next().unwrap()) {
        if let MapExtent::Data { block, offset, len } = *extent {
            let end: &mut u32 = blocks.entry(block.0).or_default();
            *end = (offset + len).max(*end);
        }
    }
    blocks.into_iter().collect()
}

#[test]
fn a_price_changes_neither_content_nor_determinism() {
    let source = mixed();
    for read_cost in [ReadCost::Mount, ReadCost::Remote] {
        let (one, report) = pack(&source, &priced(read_cost, 1));
        assert!(one.contents() == source.contents());
        for threads in [2, 8] {
            let (more, mut other) = pack(&source, &priced(read_cost, threads));
            assert!(one.dump() == more.dump(), "{read_cost}, {threads} threads");
            other.memory = report.memory;
            assert_eq!(report, other);
        }
        let few = Options {
            memory: Some(35 << 20),
            ..priced(read_cost, 2)
        };
        assert!(one.dump() == pack(&source, &few).0.dump());
    }
}

#[test]
fn large_files_begin_a_block() {
    // one stream: what noise is called does not matter here
    let mut files: Vec<_> = (0..40)
        .map(|index| (format!("a/small{index}"), data(noise(index, 3000))))
        .collect();
    files.push(("z/zlarge".to_owned(), data(noise(100, 40_000))));
    let source = Mock::new(files);
    let plain = |read_cost| Options {
        read_cost,
        categorizers: sinterfs_pipeline::Categorizers::NONE,
        ..options(2)
    };
    let (image, _) = pack(&source, &plain(ReadCost::Remote));
    assert_eq!(decoded(&image, "z/zlarge"), [(0, 40_000)]);
    assert!(image.contents() == source.contents());
    // 24 KiB of small files fit behind it, the others come in path order
    assert_eq!(decoded(&image, "a/small0"), [(0, 43_000)]);
    let (image, _) = pack(&source, &plain(ReadCost::Free));
    let read: u32 = decoded(&image, "z/zlarge").iter().map(|(_, end)| end).sum();
    assert!(read > 40_000, "{read}");
}

#[test]
fn the_largest_of_many_versions_comes_first() {
    let shared = noise(1, 20_000);
    let version = |index: u64, own| data([&shared[..], &noise(100 + index, own)[..]].concat());
    let mut files: Vec<_> = (0..8)
        .map(|index| (format!("a/version{index:02}"), version(index, 4_000)))
        .collect();
    files.push(("z/zlargest".to_owned(), version(50, 30_000)));
    let versions = Mock::new(files);
    let plain = |read_cost| Options {
        read_cost,
        categorizers: sinterfs_pipeline::Categorizers::NONE,
        ..options(2)
    };
    let read = |image: &Image, path: &str| decoded(image, path).iter().map(|(_, end)| *end).sum();
    let (image, _) = pack(&versions, &plain(ReadCost::Mount));
    assert_eq!(decoded(&image, "z/zlargest"), [(0, 50_000)]);
    assert!(image.contents() == versions.contents());
    let (image, _) = pack(&versions, &plain(ReadCost::Free));
    let decoded_bytes: u32 = read(&image, "z/zlargest");
    assert!(decoded_bytes > 50_000, "{decoded_bytes}");

    // what shares nothing stays in order, each in its block
    let mut files: Vec<_> = (0..12)
        .map(|index| (format!("a/program{index:02}"), data(noise(index, 24_000))))
        .collect();
    files.push(("z/zlargest".to_owned(), data(noise(50, 50_000))));
    let (image, _) = pack(&Mock::new(files), &plain(ReadCost::Mount));
    let first: u32 = read(&image, "a/program00");
    assert_eq!(first, 24_000);
}

#[test]
fn matches_in_small_blocks_are_taken() {
    // decoding 64 KiB is worth less than the shortest match
    let first = noise(1, BLOCK as usize);
    let second = [&noise(2, 30_000)[..], &first[60_000..60_600]].concat();
    let source = Mock::new([("a", data(first)), ("b", data(second))]);
    for read_cost in [ReadCost::Free, ReadCost::Mount, ReadCost::Remote] {
        let options = Options {
            read_cost,
            categorizers: sinterfs_pipeline::Categorizers::NONE,
            ..options(1)
        };
        let (image, _) = pack(&source, &options);
        assert_eq!(decoded(&image, "b").len(), 2, "{read_cost}");
        assert!(image.contents() == source.contents());
    }
}
