//! Images by our writer, read by our reader, the `dwarfs` crate and upstream's tools.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic and print"
)]

mod listing;
mod metadata_copy;
mod oracle;
mod own;
mod pack;
mod peers;
mod random;
mod refusal;
mod rewrite;
mod sample;
#[path = "../support/mod.rs"]
mod support;

use std::io::Write as _;

use sinterfs_codec::Encoding;
use sinterfs_dwarfs::write::{
    DwarfsOptions, HistoryInfo, Packing, StringPacking, TimeResolution, WriteOptions,
};
use sinterfs_model::{Image, NodeId};

use listing::{Listing, compare, expected, round};
use pack::{write, write_with};
use peers::Peers;
use sample::{Piece, Sample};
use sinterfs_dwarfs::read::Dwarfs;

const SECOND: u64 = 1_000_000_000;

/// Small blocks and fast codecs.
fn options() -> WriteOptions {
    let zstd: Encoding = "zstd:level=3".parse().unwrap();
    WriteOptions {
        block_size_bits: 16,
        encoding: zstd.clone(),
        metadata_encoding: zstd,
        ..WriteOptions::default()
    }
}

fn history() -> HistoryInfo {
    HistoryInfo {
        version: [1, 2, 3],
        system_id: "Linux".to_owned(),
        compiler_id: "rustc".to_owned(),
        arguments: vec!["sinter".to_owned(), "create".to_owned()],
        timestamp: Some(1_700_000_000),
        library_versions: vec!["libzstd-1.5.7".to_owned()],
        former: Vec::new(),
    }
}

/// Every way to pack the tables.
/// Returns options with packed tables.
fn packed(packing: Packing) -> DwarfsOptions {
    DwarfsOptions {
        pack_metadata: Some(packing),
        ..DwarfsOptions::default()
    }
}

fn packings() -> Vec<Packing> {
    let compact = |fsst, index| StringPacking::Compact { fsst, index };
    let none = Packing::NONE;
    let all = Packing::default();
    vec![
        none,
        all,
        Packing {
            chunk_table: true,
            ..none
        },
        Packing {
            directories: true,
            ..none
        },
        Packing {
            shared_files: true,
            ..none
        },
        Packing {
            names: compact(false, false),
            symlinks: compact(true, false),
            ..all
        },
        Packing {
            names: compact(true, false),
            symlinks: compact(false, true),
            ..all
        },
        Packing {
            names: compact(false, true),
            symlinks: StringPacking::Plain,
            ..all
        },
    ]
}

#[test]
fn our_reader_reads_our_images() {
    let samples = [
        sample::empty(),
        sample::plain(),
        sample::everything(),
        sample::holes(),
        sample::only_holes(),
        sample::many(3000),
    ];
    for sample in samples {
        for packing in packings() {
            for time_resolution in [TimeResolution::NANOSECOND, TimeResolution::SECOND] {
                let options = WriteOptions {
                    own: packed(packing),
                    time_resolution,
                    ..options()
                };
                let (image, _) = write(&sample, &options);
                let expected = expected(&sample, time_resolution.nanos());
                compare(&own::list(&own::open(&image)), &expected);
            }
        }
    }
}

#[test]
fn holes_stay_holes() {
    for sample in [sample::holes(), sample::only_holes(), sample::vast()] {
        for block_size_bits in [10, 16, 30] {
            let options = WriteOptions {
                block_size_bits,
                ..options()
            };
            let (image, _) = write(&sample, &options);
            let image = own::open(&image);
            for link in sample.tree.children(NodeId::ROOT) {
                let name = sample.tree.bytes(link.name);
                let ino = image.lookup(image.info().root, name).unwrap().unwrap();
                let (found, written) = (own::pieces(&image, ino), sample.content(link.node));
                assert!(found == written, "{}", String::from_utf8_lossy(name));
                let in_holes: u64 = written.iter().map(Piece::hole).sum();
                let inode = image.inode(ino).unwrap();
                assert_eq!(inode.allocated, inode.size - in_holes);
            }
        }
    }
}

#[test]
fn upstream_checks_vast_holes() {
    let Some(peers) = Peers::find() else { return };
    for block_size_bits in [10, 16, 30] {
        let (image, _) = write(
            &sample::vast(),
            &WriteOptions {
                block_size_bits,
                ..options()
            },
        );
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&image).unwrap();
        peers.check(file.path());
        let sizes = peers.sizes(file.path());
        for log in [41, 42, 43, 50, 62] {
            let size = (1_u64 << log) - 1 + 1000;
            assert_eq!(sizes[&log.to_string()], size);
        }
    }
}

#[test]
fn all_times_are_kept_if_asked() {
    let sample = sample::everything();
    for nanos in [1, 1000, SECOND, 60 * SECOND] {
        let time_resolution = TimeResolution::from_nanos(nanos).unwrap();
        let options = WriteOptions {
            time_resolution,
            keep_all_times: true,
            ..options()
        };
        let (image, _) = write(&sample, &options);
        let image = own::open(&image);
        let dir = image.lookup(image.info().root, b"times").unwrap().unwrap();
        let times = sample.tree.children(NodeId::ROOT).iter();
        let times = times
            .copied()
            .find(|link| sample.tree.bytes(link.name) == b"times")
            .unwrap();
        for link in sample.tree.children(times.node) {
            let ino = image
                .lookup(dir, sample.tree.bytes(link.name))
                .unwrap()
                .unwrap();
            let found = image.inode(ino).unwrap().meta.times;
            let given = sample.tree.node(link.node).meta.times;
            assert_eq!(found.modified, round(given.modified, nanos));
            assert_eq!(found.accessed, round(given.accessed, nanos));
            assert_eq!(found.changed, round(given.changed, nanos));
        }
    }
}

/// The options that an image was made with, as far as they shape its metadata.
fn options_of(image: &Dwarfs, packing: Packing) -> WriteOptions {
    let nanos = image.info().capability.time_unit;
    WriteOptions {
        block_size_bits: image.block_size().ilog2() as u8,
        time_resolution: TimeResolution::from_nanos(nanos).unwrap(),
        keep_all_times: !image.options().mtime_only,
        own: packed(packing),
        ..options()
    }
}

#[test]
fn images_of_upstream_survive_being_written_again() {
    let Some(root) = support::shared("vectors/images/dwarfs") else {
        return;
    };
    let mut names: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    assert!(names.len() > 20);
    for path in names {
        let theirs = support::open(support::read_file(&path)).unwrap();
        let (image, summary) = rewrite::rewrite(&theirs, &options_of(&theirs, Packing::default()));
        assert_eq!(summary.losses, [], "{}", path.display());
        compare(&own::list(&own::open(&image)), &own::list(&theirs));
    }
}

#[test]
fn metadata_is_no_larger_than_upstreams() {
    let names = StringPacking::Compact {
        fsst: true,
        index: false,
    };
    let auto = Packing {
        names,
        symlinks: names,
        ..Packing::NONE
    };
    let plain = StringPacking::Compact {
        fsst: false,
        index: false,
    };
    let list = StringPacking::Plain;
    let cases = [
        ("l0.img.gz", auto),
        ("l7.img", auto),
        ("lookback.img", auto),
        ("l9-small-block.img", auto),
        ("l9-full.img", auto),
        ("keep-all-times.img", auto),
        ("pre1970.img", auto),
        ("pack-all.img", Packing::default()),
        (
            "pack-none.img",
            Packing {
                names: plain,
                symlinks: plain,
                ..Packing::NONE
            },
        ),
        (
            "pack-plain.img",
            Packing {
                names: list,
                symlinks: list,
                ..Packing::default()
            },
        ),
    ];
    let Some(root) = support::shared("vectors/images/dwarfs") else {
        return;
    };
    for (name, packing) in cases {
        let theirs = support::open(support::read_file(&root.join(name))).unwrap();
        let options = options_of(&theirs, packing);
        let (image, summary) = rewrite::rewrite(&theirs, &options);
        assert_eq!(summary.losses, [], "{name}");
        let ours = own::open(&image);
        compare(&own::list(&ours), &own::list(&theirs));
        let (our_size, their_size) = (
            ours.sizes().metadata_decoded,
            theirs.sizes().metadata_decoded,
        );
        let (smallest, _) = rewrite::rewrite(
            &theirs,
            &WriteOptions {
                own: packed(Packing::default()),
                ..options
            },
        );
        let smallest = own::open(&smallest).sizes();
        println!(
            "{name}: theirs {their_size}, ours {our_size}, fully packed {}",
            smallest.metadata_decoded
        );
        // the order of directories may cost a bit more or less for each
        assert!(
            our_size <= their_size + their_size / 1000,
            "{name}: {our_size} > {their_size}"
        );
    }
}

/// Leaves out what the other crate does not return.
fn without_links(mut listing: Listing) -> Listing {
    for (path, entry) in &mut listing {
        (entry.first, entry.nlink) = (path.clone(), 1);
    }
    listing
}

#[test]
fn the_other_crate_reads_plain_trees() {
    for sample in [sample::empty(), sample::plain(), sample::many(1000)] {
        let expected = without_links(expected(&sample, SECOND));
        for packing in packings() {
            // it takes the run lengths of a packed table of shared files for something else
            let packing = Packing {
                shared_files: false,
                ..packing
            };
            let (image, _) = write(
                &sample,
                &WriteOptions {
                    own: packed(packing),
                    ..options()
                },
            );
            compare(&oracle::list(&image), &expected);
        }
    }
}

#[test]
fn the_other_crate_reads_other_codecs_and_block_sizes() {
    let sample = sample::plain();
    let expected = without_links(expected(&sample, SECOND));
    for codec in ["none", "lzma:level=1", "zstd:level=1"] {
        for block_size_bits in [10, 29] {
            let options = WriteOptions {
                own: DwarfsOptions {
                    section_index: block_size_bits == 10,
                    ..packed(Packing {
                        shared_files: false,
                        ..Packing::default()
                    })
                },
                encoding: codec.parse().unwrap(),
                metadata_encoding: codec.parse().unwrap(),
                block_size_bits,
                history: Some(history()),
                ..options()
            };
            let (image, summary) = write_with(&sample, &options, true);
            assert_eq!(summary.image_bytes, image.len() as u64);
            compare(&oracle::list(&image), &expected);
        }
    }
}

fn peers_agree(peers: &Peers, sample: &Sample, options: &WriteOptions, hashed: bool) {
    let (image, _) = write_with(sample, options, hashed);
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&image).unwrap();
    peers.check(file.path());
    let found = peers.list(file.path(), hashed);
    let mut expected = expected(sample, options.time_resolution.nanos());
    expected.remove(&b""[..]); // dwarfsextract leaves the root to whoever made the target
    for entry in expected.values_mut().filter(|_| !hashed) {
        entry.hash = None;
    }
    compare(&found, &expected);
}

#[test]
fn upstream_reads_everything() {
    let Some(peers) = Peers::find() else { return };
    let nanoseconds = WriteOptions {
        time_resolution: TimeResolution::NANOSECOND,
        ..options()
    };
    peers_agree(&peers, &sample::empty(), &nanoseconds, true);
    peers_agree(&peers, &sample::plain(), &nanoseconds, true);
    peers_agree(&peers, &sample::holes(), &nanoseconds, false);
    peers_agree(&peers, &sample::only_holes(), &nanoseconds, true);
    for packing in packings() {
        let options = WriteOptions {
            own: packed(packing),
            ..nanoseconds.clone()
        };
        peers_agree(&peers, &sample::everything(), &options, true);
    }
}

#[test]
fn upstream_reads_all_options() {
    let Some(peers) = Peers::find() else { return };
    let sample = sample::everything();
    for codec in [
        "none",
        "lz4",
        "lz4hc",
        "lzma:level=1",
        "brotli:quality=3",
        "zstd:level=1",
    ] {
        let encoding: Encoding = codec.parse().unwrap();
        let options = WriteOptions {
            encoding: encoding.clone(),
            metadata_encoding: encoding,
            ..options()
        };
        peers_agree(&peers, &sample, &options, true);
    }
    for nanos in [100, 1000, 1_000_000, 500_000_000, 2 * SECOND, 3600 * SECOND] {
        let time_resolution = TimeResolution::from_nanos(nanos).unwrap();
        let options = WriteOptions {
            time_resolution,
            keep_all_times: nanos == 1000,
            create_timestamp: Some(nanos),
            history: Some(history()),
            own: DwarfsOptions {
                section_index: nanos < SECOND,
                ..DwarfsOptions::default()
            },
            ..options()
        };
        peers_agree(&peers, &sample, &options, true);
    }
    for block_size_bits in [10, 20, 30] {
        let options = WriteOptions {
            block_size_bits,
            ..options()
        };
        peers_agree(&peers, &sample::holes(), &options, false);
        peers_agree(&peers, &sample, &options, true);
    }
}

#[test]
fn upstream_reads_many_files() {
    let Some(peers) = Peers::find() else { return };
    peers_agree(&peers, &sample::many(100_000), &options(), true);
}

#[test]
fn reports_losses() {
    let (_, summary) = write(&sample::everything(), &options());
    let counts: Vec<u64> = summary.losses.iter().map(|loss| loss.count).collect();
    assert_eq!(counts, [4, 6]); // s2, s3, fifo2, char2; all of times/ but t0
    assert!(summary.losses[0].what.contains("hard links"));
    let exact = WriteOptions {
        time_resolution: TimeResolution::NANOSECOND,
        ..options()
    };
    assert_eq!(write(&sample::plain(), &exact).1.losses, []);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    for sample in [sample::everything, sample::holes, || sample::many(3000)] {
        let (first, _) = write_with(&sample(), &options(), true);
        let (second, _) = write_with(&sample(), &options(), true);
        assert!(first == second);
    }
}

#[test]
fn the_order_of_encoding_does_not_matter() {
    let sample = sample::everything();
    let (forwards, _) = write(&sample, &options());
    let backwards = pack::write_backwards(&sample, &options());
    assert!(forwards == backwards);
}

#[test]
fn categories_have_names() {
    let (image, _) = write_with(&sample::everything(), &options(), true);
    let image = own::open(&image);
    let names: Vec<String> = image
        .categories()
        .unwrap()
        .into_iter()
        .map(|category| category.name)
        .collect();
    assert_eq!(names, ["<default>", "incompressible"]);
    let of_block = |block| image.block_category(block).unwrap().unwrap();
    assert!((1..image.block_count()).any(|block| of_block(block) != of_block(0)));
    let (plain, _) = write(&sample::everything(), &options());
    assert!(own::open(&plain).categories().unwrap().is_empty());
}
