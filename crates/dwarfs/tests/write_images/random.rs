//! Random trees: whatever they are, our reader shows what was written.

use proptest::prelude::*;
use sinterfs_dwarfs::write::{Packing, StringPacking, TimeResolution, WriteOptions};
use sinterfs_model::{Content, NodeId, Rdev};

use crate::listing::{compare, expected};
use crate::sample::{Piece, Sample, SampleBuilder, bytes};
use crate::{options, own, pack, packed};

/// What is added: which parent, what, and a number to vary it with.
#[derive(Debug, Clone)]
struct Step {
    parent: usize,
    what: u8,
    number: u32,
    name: Vec<u8>,
}

fn step() -> impl Strategy<Value = Step> {
    let name = prop::collection::vec(1..=255_u8, 1..40);
    (any::<usize>(), 0..12_u8, any::<u32>(), name).prop_map(|(parent, what, number, mut name)| {
        name.iter_mut()
            .filter(|byte| **byte == b'/')
            .for_each(|byte| *byte = b'_');
        Step {
            parent,
            what,
            number,
            name,
        }
    })
}

fn build(steps: &[Step]) -> Sample {
    let mut b = SampleBuilder::new();
    let (mut dirs, mut others) = (vec![NodeId::ROOT], Vec::new());
    for (
        i,
        Step {
            parent,
            what,
            number,
            name,
        },
    ) in steps.iter().enumerate()
    {
        let dir = dirs[parent % dirs.len()];
        let name = &[format!("{i:x}").as_bytes(), name].concat()[..];
        let rdev = Rdev {
            major: *number,
            minor: number.rotate_left(7),
        };
        let len = (number % 5000) as usize;
        let node = match what {
            0 | 1 => {
                dirs.push(b.dir(dir, name));
                continue;
            }
            2 => b.symlink(dir, name, &number.to_le_bytes()[..1 + *number as usize % 4]),
            3 => b.node(dir, name, 0o640, Content::CharDevice(rdev)),
            4 => b.node(dir, name, 0o640, Content::BlockDevice(rdev)),
            5 => b.node(dir, name, 0o640, Content::Fifo),
            6 => b.node(dir, name, 0o640, Content::Socket),
            7 => {
                if let Some(node) = others.get(*number as usize % others.len().max(1)) {
                    b.link(dir, name, *node);
                }
                continue;
            }
            8 => b.file(
                dir,
                name,
                vec![
                    Piece::Hole(u64::from(*number) + 1),
                    Piece::Data(bytes(*number, len + 1)),
                ],
            ),
            // one of few contents
            9 => b.file(
                dir,
                name,
                vec![Piece::Data(bytes(number % 3, 700 * (number % 3) as usize))],
            ),
            _ => b.file(dir, name, vec![Piece::Data(bytes(*number, len))]),
        };
        others.push(node);
    }
    b.finish()
}

fn packing() -> impl Strategy<Value = Packing> {
    let strings = || {
        prop_oneof![
            Just(StringPacking::Plain),
            (any::<bool>(), any::<bool>())
                .prop_map(|(fsst, index)| StringPacking::Compact { fsst, index }),
        ]
    };
    (any::<[bool; 3]>(), strings(), strings()).prop_map(|(packed, names, symlinks)| Packing {
        chunk_table: packed[0],
        directories: packed[1],
        shared_files: packed[2],
        names,
        symlinks,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_tree_survives(
        steps in prop::collection::vec(step(), 0..80),
        packing in packing(),
        block_size_bits in 10..20_u8,
    ) {
        let sample = build(&steps);
        let time_resolution = TimeResolution::NANOSECOND;
        let own = packed(packing);
        let options = WriteOptions { own, block_size_bits, time_resolution, ..options() };
        let (image, _) = pack::write(&sample, &options);
        compare(&own::list(&own::open(&image)), &expected(&sample, 1));
    }
}
