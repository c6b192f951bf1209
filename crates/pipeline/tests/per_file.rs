//! The pipeline for formats that cut each file for itself: the contract of `Geometry::PerFile`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::{BTreeMap, BTreeSet};

use sinterfs_model::{Category, Content, Geometry, MapExtent, NodeId, Quiet, TailPlacement};
use sinterfs_pipeline::{Options, Order, Report, build};
use sinterfs_source::Directory;
use sinterfs_source::Priorities;
use sinterfs_source::directory::Options as Scan;
use sinterfs_testkit::noise;
use support::{Faults, File, Image, Memory, MemoryWriter, Mock, Part, data, text};

const UNIT: usize = 4 << 10;
const TAILS: [TailPlacement; 5] = [
    TailPlacement::Alone,
    TailPlacement::Small,
    TailPlacement::Shared,
    TailPlacement::Below(UNIT as u32 / 3),
    TailPlacement::SmallBelow(UNIT as u32 / 3),
];

fn geometry(tails: TailPlacement, holes: bool) -> Geometry {
    let unit = UNIT as u32;
    Geometry::PerFile {
        unit,
        tails,
        holes,
        repeats: None,
        sharing: sinterfs_model::TailSharing::Never,
    }
}

fn options(threads: usize) -> Options {
    Options {
        threads,
        ..Options::default()
    }
}

fn pack(source: &Mock, geometry: Geometry, options: &Options) -> (Image, Report) {
    let (writer, image) = MemoryWriter::of(geometry, Faults::default());
    let report = build(source, writer, options, &Quiet).unwrap();
    let image = std::mem::take(&mut *image.lock().unwrap());
    (image, report)
}

/// What the lists of an image say of one block.
#[derive(Default)]
struct Use {
    /// Ranges in it, by list.
    ranges: Vec<(u32, u32, u32)>,
    /// Whether an extent is in it that must be its only one.
    own: bool,
}

/// Checks everything that a writer may rely on.
fn check(image: &Image, geometry: Geometry) {
    let Geometry::PerFile {
        unit, tails, holes, ..
    } = geometry
    else {
        panic!("not per file")
    };
    let mut uses: BTreeMap<u32, Use> = BTreeMap::new();
    for list in 0..image.map.list_count() {
        check_list(image, list, (unit, tails, holes), &mut uses);
    }
    assert!(
        uses.keys().copied().eq(0..image.blocks.len() as u32),
        "all blocks are named"
    );
    for (number, used) in uses {
        let (category, bytes) = &image.blocks[number as usize];
        assert_eq!(category.granularity(), 1);
        let mut ranges: Vec<_> = used.ranges.iter().map(|r| (r.1, r.2)).collect();
        ranges.sort_unstable();
        let mut at = 0;
        for (offset, len) in ranges {
            assert_eq!(offset, at, "block {number} without gaps");
            at += len;
        }
        assert_eq!(at as usize, bytes.len());
        assert!(
            !used.own || used.ranges.len() == 1,
            "block {number} is of one file"
        );
    }
}

fn check_list(
    image: &Image,
    list: u32,
    (unit, tails, holes): (u32, TailPlacement, bool),
    uses: &mut BTreeMap<u32, Use>,
) {
    let extents = image.map.list(list);
    let mut own = Vec::new();
    let mut at = 0_u64;
    for (index, extent) in extents.iter().enumerate() {
        let last = index + 1 == extents.len();
        assert_eq!(at % u64::from(unit), 0, "every extent begins on a unit");
        let has_units = at > 0;
        match *extent {
            MapExtent::Hole { len } => {
                assert!(holes && (last || len % u64::from(unit) == 0));
                at += len;
            }
            MapExtent::Data { block, offset, len } => {
                assert!(len == unit || (last && len < unit));
                let bytes = &image.blocks[block.0 as usize].1[offset as usize..][..len as usize];
                assert!(
                    !holes || bytes.iter().any(|byte| *byte != 0),
                    "zeros are a hole"
                );
                let alone = len == unit
                    || match tails {
                        TailPlacement::Alone => true,
                        TailPlacement::Small => has_units,
                        TailPlacement::Shared => false,
                        TailPlacement::Below(most) => len >= most,
                        TailPlacement::SmallBelow(most) => has_units || len >= most,
                    };
                if alone {
                    assert_eq!(offset, 0);
                    own.push(block.0);
                }
                let used = uses.entry(block.0).or_default();
                used.ranges.push((list, offset, len));
                used.own |= alone;
                at += u64::from(len);
            }
        }
    }
    assert!(
        own.windows(2).all(|two| two[0] + 1 == two[1]),
        "consecutive: {own:?}"
    );
}

/// Files of every size about a unit, zeros in every place, duplicates, all kinds of content.
fn mixed() -> Mock {
    let mut files: Vec<(String, File)> = Vec::new();
    for len in [
        0,
        1,
        100,
        UNIT - 1,
        UNIT,
        UNIT + 1,
        3 * UNIT,
        3 * UNIT + 77,
        300 * UNIT + 5,
    ] {
        files.push((format!("text/{len}"), data(text(len, len as u64))));
        files.push((format!("noise/{len}"), data(noise(len as u64, len))));
        files.push((format!("zeros/{len}"), data(vec![0; len])));
        files.push((format!("twin/{len}"), data(text(len, len as u64))));
    }
    for index in 0..300 {
        let len = 1 + (index * 97) % 2500;
        files.push((format!("small/{index}.c"), data(text(len, index as u64))));
        let gzip = [&b"\x1f\x8b\x08"[..], &noise(index as u64, len)].concat();
        files.push((format!("small/{index}.gz"), data(gzip)));
    }
    let part = |len, seed| Part::Data(text(len, seed));
    let sparse = |parts| File {
        parts,
        ..File::default()
    };
    let u = UNIT as u64;
    let hole = Part::Hole;
    files.push((
        "sparse/front".into(),
        sparse(vec![hole(5 * u), part(UNIT, 1)]),
    ));
    files.push((
        "sparse/end".into(),
        sparse(vec![part(UNIT, 2), hole(5 * u + 9)]),
    ));
    files.push((
        "sparse/odd".into(),
        sparse(vec![
            part(10, 3),
            hole(3 * u),
            part(9, 4),
            hole(7),
            part(UNIT, 5),
        ]),
    ));
    files.push((
        "sparse/within".into(),
        sparse(vec![part(10, 6), hole(100), part(10, 7)]),
    ));
    files.push(("sparse/only".into(), sparse(vec![hole(1_000_000)])));
    files.push(("sparse/small".into(), sparse(vec![hole(12)])));
    let middle = [text(UNIT, 8), vec![0; 2 * UNIT], text(UNIT, 9), vec![0; 30]].concat();
    files.push(("written/zeros".into(), data(middle)));
    Mock::new(files)
}

#[test]
fn the_contract_holds_in_every_mode() {
    let source = mixed();
    let expected = source.contents();
    for tails in TAILS {
        for holes in [true, false] {
            let geometry = geometry(tails, holes);
            for order in [
                Order::Similarity,
                Order::Path,
                Order::ReversePath,
                Order::None,
            ] {
                let options = Options {
                    order,
                    ..options(2)
                };
                let (image, report) = pack(&source, geometry, &options);
                check(&image, geometry);
                assert!(image.contents() == expected, "{geometry:?} {order}");
                assert!(report.duplicates > 0 && report.matched_bytes == 0);
                assert_eq!(report.hole_bytes > 0, holes);
            }
        }
    }
}

#[test]
fn threads_and_memory_do_not_change_the_image() {
    let source = mixed();
    for tails in TAILS {
        let dump = |threads, memory| {
            let options = Options {
                memory,
                ..options(threads)
            };
            pack(&source, geometry(tails, true), &options).0.dump()
        };
        let one = dump(1, None);
        assert!(
            [2, 7, 7]
                .into_iter()
                .all(|threads| dump(threads, None) == one)
        );
        assert!(dump(3, Some(34 << 20)) == one);
    }
}

fn extents<'a>(image: &'a Image, path: &str) -> &'a [MapExtent] {
    let tree = image.tree.as_ref().unwrap();
    let mut nodes = (0..tree.nodes().len() as u32).map(NodeId);
    let node = nodes.find(|&id| tree.path(id) == path.as_bytes()).unwrap();
    image.map.extents(node)
}

#[test]
fn zeros_are_holes_wherever_they_come_from() {
    let (image, _) = pack(&mixed(), geometry(TailPlacement::Shared, true), &options(2));
    let shape = |path: &str| -> Vec<(bool, u64)> {
        let extents = extents(&image, path).iter();
        let shape = extents.map(|extent| match *extent {
            MapExtent::Hole { len } => (false, len),
            MapExtent::Data { len, .. } => (true, u64::from(len)),
        });
        shape.collect()
    };
    let u = UNIT as u64;
    assert_eq!(shape("sparse/front"), [(false, 5 * u), (true, u)]);
    assert_eq!(shape("sparse/end"), [(true, u), (false, 5 * u + 9)]);
    assert_eq!(
        shape("sparse/odd"),
        [(true, u), (false, 2 * u), (true, u), (true, 26)]
    );
    assert_eq!(shape("sparse/within"), [(true, 120)]);
    assert_eq!(shape("sparse/only"), [(false, 1_000_000)]);
    assert_eq!(shape("sparse/small"), [(false, 12)]);
    assert_eq!(shape("zeros/1"), [(false, 1)]);
    assert_eq!(shape("zeros/12365"), [(false, 12_365)]);
    assert_eq!(
        shape("written/zeros"),
        [(true, u), (false, 2 * u), (true, u), (false, 30)]
    );
}

#[test]
fn fragments_hold_one_category_and_are_well_filled() {
    for (tails, fewest) in [(TailPlacement::Small, 600), (TailPlacement::Shared, 600)] {
        let (image, _) = pack(&mixed(), geometry(tails, true), &options(2));
        let mut fragments: BTreeMap<u32, usize> = BTreeMap::new();
        for list in 0..image.map.list_count() {
            if let Some(MapExtent::Data { block, len, .. }) = image.map.list(list).last()
                && (*len as usize) < UNIT
            {
                *fragments.entry(block.0).or_default() += 1;
            }
        }
        let shared = fragments.iter().filter(|(_, files)| **files > 1);
        let shared: Vec<u32> = shared.map(|(block, _)| *block).collect();
        assert!(fragments.values().sum::<usize>() >= fewest);
        let bytes: usize = shared
            .iter()
            .map(|block| image.blocks[*block as usize].1.len())
            .sum();
        assert!(
            bytes > shared.len() * UNIT * 7 / 10,
            "{bytes} in {}",
            shared.len()
        );
        let kinds: BTreeSet<Category> = shared
            .iter()
            .map(|block| image.blocks[*block as usize].0)
            .collect();
        assert!(kinds.contains(&Category::Text), "{kinds:?}");
        assert!(kinds.contains(&Category::Incompressible), "{kinds:?}");
        // text is nowhere beside what is compressed
        for block in shared {
            let (category, bytes) = &image.blocks[block as usize];
            // the shortest texts are nothing in particular, and a byte of noise may be text
            let ascii = bytes.iter().filter(|byte| byte.is_ascii()).count();
            assert!(*category != Category::Text || ascii * 10 > bytes.len() * 9);
            assert!(*category != Category::Incompressible || ascii * 10 < bytes.len() * 9);
        }
    }
}

#[test]
fn duplicates_share_a_list_unless_switched_off() {
    let source = mixed();
    let geometry = geometry(TailPlacement::Small, true);
    let (image, report) = pack(&source, geometry, &options(2));
    assert_eq!(extents(&image, "text/12365"), extents(&image, "twin/12365"));
    assert!(report.duplicates >= 8);
    let apart = Options {
        duplicates: false,
        ..options(2)
    };
    let (all, report) = pack(&source, geometry, &apart);
    check(&all, geometry);
    assert!(all.contents() == source.contents());
    assert_eq!(report.duplicates, 0);
    assert_ne!(extents(&all, "text/12365"), extents(&all, "twin/12365"));
    assert!(all.stored() > image.stored() + 300 * UNIT);
}

#[test]
fn hard_links_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), text(2 * UNIT + 10, 1)).unwrap();
    std::fs::hard_link(dir.path().join("a"), dir.path().join("b")).unwrap();
    let geometry = geometry(TailPlacement::Shared, true);
    let (writer, image) = MemoryWriter::of(geometry, Faults::default());
    let source = Directory::open(dir.path(), Scan::default()).unwrap();
    let apart = Options {
        duplicates: false,
        ..options(1)
    };
    build(&source, writer, &apart, &Quiet).unwrap();
    let image = std::mem::take(&mut *image.lock().unwrap());
    check(&image, geometry);
    assert_eq!(image.blocks.len(), 3);
    assert_eq!(image.tree.as_ref().unwrap().stats().hard_links, 1);
}

#[test]
fn files_that_change_while_they_are_read_are_stored_as_read() {
    let (long, short) = (text(10 * UNIT + 100, 1), text(4 * UNIT + 50, 2));
    let later = |from, bytes: &[u8]| Some((from, vec![Part::Data(bytes.to_vec())]));
    let file = |bytes: &[u8]| data(bytes.to_vec());
    let source = Mock::new([
        (
            "shrinks",
            File {
                later: later(0, &short),
                ..file(&long)
            },
        ),
        (
            "grows",
            File {
                later: later(0, &long),
                ..file(&short)
            },
        ),
        (
            "vanishes",
            File {
                vanishes_at: Some(0),
                ..file(&long)
            },
        ),
        (
            "breaks",
            File {
                broken_from: Some(5),
                ..file(&long)
            },
        ),
        ("stays", file(&short)),
        (
            "twin-that-changes",
            File {
                later: later(1, &noise(3, short.len())),
                ..file(&short)
            },
        ),
    ]);
    for tails in TAILS {
        let geometry = geometry(tails, true);
        source.opened.lock().unwrap().clear();
        let (writer, image) = MemoryWriter::of(geometry, Faults::default());
        let observer = Memory::default();
        let report = build(&source, writer, &options(2), &observer).unwrap();
        let image = std::mem::take(&mut *image.lock().unwrap());
        check(&image, geometry);
        let contents = image.contents();
        assert_eq!(contents["shrinks"], short);
        assert_eq!(contents["grows"], long[..short.len()]);
        assert!(contents["vanishes"].is_empty() && contents["breaks"].is_empty());
        assert_eq!(contents["stays"], short);
        let changed = &contents["twin-that-changes"];
        assert!(*changed == noise(3, short.len()) || *changed == short);
        assert_eq!(report.unreadable, 2);
        assert!(report.changed >= 2);
    }
}

#[test]
fn huge_sparse_files_cost_nothing() {
    use std::os::unix::fs::FileExt;
    let dir = tempfile::tempdir().unwrap();
    let make = |name: &str, len: u64| {
        let file = std::fs::File::create(dir.path().join(name)).unwrap();
        file.set_len(len).unwrap();
        file.write_all_at(b"here", len / 3).unwrap();
    };
    make("100-gigabytes", 100_000_000_007);
    make("2-tebibytes", 2 << 40);
    let geometry = geometry(TailPlacement::Small, true);
    let (writer, image) = MemoryWriter::of(geometry, Faults::default());
    let source = Directory::open(dir.path(), Scan::default()).unwrap();
    let memory = Some(64 << 20);
    let start = std::time::Instant::now();
    build(
        &source,
        writer,
        &Options {
            memory,
            ..options(2)
        },
        &Quiet,
    )
    .unwrap();
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    let image = std::mem::take(&mut *image.lock().unwrap());
    check(&image, geometry);
    let tree = image.tree.as_ref().unwrap();
    for (index, node) in (0..).zip(tree.nodes()) {
        if let Content::File { size } = node.content {
            let lens = image
                .map
                .extents(NodeId(index))
                .iter()
                .map(|extent| match *extent {
                    MapExtent::Hole { len } => len,
                    MapExtent::Data { len, .. } => u64::from(len),
                });
            assert_eq!(lens.sum::<u64>(), size);
        }
    }
    // the data, whose file system may have cut it larger
    assert!(image.blocks.len() <= 8, "{}", image.blocks.len());
}

#[test]
fn higher_priorities_come_first() {
    let files = (0..30).map(|index| {
        (
            format!("d{}/f{index:02}", index % 3),
            data(text(2 * UNIT, index)),
        )
    });
    let source = Mock::new(files.collect::<Vec<_>>());
    let first_block = |image: &Image, path: &str| match extents(image, path)[0] {
        MapExtent::Data { block, .. } => block.0,
        MapExtent::Hole { .. } => panic!("a hole"),
    };
    for order in [Order::Similarity, Order::Path] {
        let priorities = Priorities::parse(b"d1 5\nd0/f12 -7\nd1/f04 9\nd2/f05 9").unwrap();
        let options = Options {
            order,
            priorities,
            ..options(2)
        };
        let geometry = geometry(TailPlacement::Small, true);
        let (image, _) = pack(&source, geometry, &options);
        check(&image, geometry);
        let mut paths: Vec<String> = source.files.keys().cloned().collect();
        paths.sort_by_key(|path| first_block(&image, path));
        assert!(
            paths[..2].contains(&"d1/f04".to_owned()) && paths[..2].contains(&"d2/f05".to_owned())
        );
        assert!(
            paths[2..11].iter().all(|path| path.starts_with("d1/")),
            "{paths:?}"
        );
        assert_eq!(paths[29], "d0/f12");
    }
}

mod random {
    use super::*;
    use proptest::prelude::*;

    fn part() -> impl Strategy<Value = Part> {
        let data = |make: fn(usize, u64) -> Vec<u8>| {
            (0..6000usize, 0..4u64).prop_map(move |(len, seed)| Part::Data(make(len, seed)))
        };
        prop_oneof![
            3 => data(text),
            2 => data(|len, seed| noise(seed, len)),
            2 => data(|len, _| vec![0; len]),
            1 => data(|len, _| vec![0; len / 1000 * 1000]),
            2 => (1..6000u64).prop_map(Part::Hole),
        ]
    }

    fn tree() -> impl Strategy<Value = Vec<(String, File)>> {
        let file = proptest::collection::vec(part(), 0..6).prop_map(|parts| File {
            parts,
            ..File::default()
        });
        proptest::collection::btree_map("[a-c]{1,2}/[a-z]{1,3}(\\.[a-c])?", file, 0..30)
            .prop_map(|files| files.into_iter().collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        #[test]
        fn any_tree_keeps_the_contract(
            files in tree(),
            unit in 1u32..3000,
            tails in prop::sample::select(&TAILS[..]),
            holes: bool,
            duplicates: bool,
        ) {
            // units of a few bytes make blocks by the ten thousand
            let geometry = Geometry::PerFile { unit: unit.max(40), tails, holes, repeats: None, sharing: sinterfs_model::TailSharing::Never };
            let source = Mock::new(files);
            let mut dumps = Vec::new();
            for threads in [1, 3] {
                let (writer, image) = MemoryWriter::of(geometry, Faults::default());
                let options = Options { duplicates, ..options(threads) };
                build(&source, writer, &options, &Quiet).unwrap();
                let image = image.lock().unwrap();
                check(&image, geometry);
                prop_assert!(image.contents() == source.contents());
                dumps.push(image.dump());
            }
            prop_assert!(dumps[0] == dumps[1]);
        }
    }
}
