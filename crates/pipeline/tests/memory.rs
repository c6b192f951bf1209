//! The bound of memory, measured on the whole process: alone in its program, so that nothing else
//! is counted.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::time::Duration;

use sinterfs_model::{
    Block, Content, ContentMap, Extent, ExtentSource, FileContent, Geometry, ImageWriter, Meta,
    NodeId, Observer, Quiet, Result, Segment, SegmentEncoder, Source, Summary, TailPlacement, Tree,
    TreeBuilder,
};
use sinterfs_pipeline::{Options, build};
use sinterfs_workers::WorkerPermits;

const MIB: u64 = 1 << 20;

/// Bytes of each of the two files: one of data, one that is a hole.
const SIZE: u64 = 1 << 30;

/// What the process takes besides: the program, its threads, what the allocator keeps.
const BESIDES: u64 = 24 * MIB;

/// Stores each block as one byte, now and then late.
struct Small;

impl SegmentEncoder for Small {
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
        if segment.sequence % 1000 == 7 {
            std::thread::sleep(Duration::from_millis(20));
        }
        Block::new(segment, vec![1])
    }

    fn memory(&self, len: u32) -> u64 {
        u64::from(len)
    }

    fn window(&self) -> u64 {
        0
    }
}

struct Nothing {
    unit: u32,
    blocks: u64,
}

impl ImageWriter for Nothing {
    fn geometry(&self) -> Geometry {
        Geometry::PerFile {
            unit: self.unit,
            tails: TailPlacement::Small,
            holes: false,
            repeats: None,
            sharing: sinterfs_model::TailSharing::Never,
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(Small)
    }

    fn put(&mut self, _: Block) -> Result<()> {
        self.blocks += 1;
        Ok(())
    }

    fn finish(self: Box<Self>, _: &Tree, _: &ContentMap) -> Result<Summary> {
        Ok(Summary {
            blocks: self.blocks,
            ..Summary::default()
        })
    }
}

/// Two large files that nobody has to store anywhere.
struct Large;

impl Source for Large {
    fn scan(&self, _: &dyn Observer) -> Result<Tree> {
        let mut builder = TreeBuilder::new(Meta::default());
        for (name, size) in [("data", SIZE), ("hole", SIZE + 1)] {
            let content = Content::File { size };
            builder.add(NodeId::ROOT, name.as_bytes(), Meta::default(), content)?;
        }
        builder.finish()
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let Content::File { size } = tree.node(file).content else {
            panic!("no file")
        };
        let hole = tree.path(file) == b"hole";
        Ok(Box::new(Bytes { size, hole }))
    }
}

struct Bytes {
    size: u64,
    hole: bool,
}

impl FileContent for Bytes {
    fn len(&self) -> Result<u64> {
        Ok(self.size)
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let source = if self.hole {
            ExtentSource::Hole
        } else {
            ExtentSource::Block {
                block: 0,
                offset: 0,
            }
        };
        let (offset, len) = (0, self.size);
        Ok(vec![Extent {
            offset,
            len,
            source,
        }])
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let len = (self.size - offset).min(buf.len() as u64) as usize;
        buf[..len].fill(7);
        Ok(len)
    }
}

/// The most bytes that this process has held.
fn most_held() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let words = line.unwrap().split_whitespace().nth(1);
    words.unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn units_of_any_size_stay_within_the_bound() {
    // from small to large: the process never gives back what it has held most
    for (unit, memory) in [(128 << 10, 48), (1 << 20, 72)] {
        let options = Options {
            threads: 2,
            memory: Some(memory * MIB),
            ..Options::default()
        };
        let report = build(
            &Large,
            Box::new(Nothing { unit, blocks: 0 }),
            &options,
            &Quiet,
        )
        .unwrap();
        assert_eq!(report.image.blocks, 2 * SIZE / u64::from(unit) + 1);
        assert!(report.memory <= memory * MIB);
        let held = most_held();
        assert!(
            held < memory * MIB + BESIDES,
            "{} MiB for {unit}",
            held / MIB
        );
    }
    let few = Options {
        memory: Some(8 * MIB),
        ..Options::default()
    };
    let unit = 128 << 10;
    let refused = build(&Large, Box::new(Nothing { unit, blocks: 0 }), &few, &Quiet).unwrap_err();
    assert!(
        refused.to_string().contains("MiB of memory are too little"),
        "{refused}"
    );
}
