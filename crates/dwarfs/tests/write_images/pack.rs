//! A small pipeline of our own: cuts a sample's content into solid blocks and writes it, so that
//! the writer is tested without the real pipeline.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use sinterfs_dwarfs::write::{DwarfsWriter, WriteOptions};
use sinterfs_model::{
    BlockId, Category, ContentMap, FileType, Geometry, ImageWriter, MapExtent, NodeId, Segment,
    Summary,
};
use sinterfs_workers::WorkerPermits;

use crate::sample::{Piece, Sample};

/// A sink that the test keeps a hand on.
#[derive(Clone, Default)]
pub struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fills blocks with the content of files.
struct Filler {
    block_size: usize,
    segments: Vec<Segment>,
    current: Vec<u8>,
    category: Category,
}

impl Filler {
    fn close(&mut self) {
        if !self.current.is_empty() {
            let sequence = self.segments.len() as u32;
            let data = Arc::new(std::mem::take(&mut self.current));
            self.segments
                .push(Segment::solid(sequence, self.category, data));
        }
    }

    fn add(&mut self, mut bytes: &[u8], extents: &mut Vec<MapExtent>) {
        while !bytes.is_empty() {
            let room = self.block_size - self.current.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            extents.push(MapExtent::Data {
                block: BlockId(self.segments.len() as u32),
                offset: self.current.len() as u32,
                len: now.len() as u32,
            });
            self.current.extend_from_slice(now);
            if self.current.len() == self.block_size {
                self.close();
            }
            bytes = later;
        }
    }

    fn extents(&mut self, pieces: &[Piece]) -> Vec<MapExtent> {
        let mut extents = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Data(bytes) => self.add(bytes, &mut extents),
                Piece::Hole(len) => extents.push(MapExtent::Hole { len: *len }),
            }
        }
        extents
    }
}

/// Cuts the content of all files; equal files share a list.
fn cut(sample: &Sample, block_size: u32, categories: bool) -> (Vec<Segment>, ContentMap) {
    let mut map = ContentMap::new(sample.tree.nodes().len());
    let mut filler = Filler {
        block_size: block_size as usize,
        segments: Vec::new(),
        current: Vec::new(),
        category: Category::Default,
    };
    let mut lists = BTreeMap::new();
    for (node, id) in sample.tree.nodes().iter().zip((0..).map(NodeId)) {
        if node.content.kind() != FileType::File {
            continue;
        }
        let pieces = sample.content(id);
        let category = match pieces {
            [Piece::Data(bytes), ..]
                if categories && bytes.first().is_some_and(|byte| byte % 2 == 1) =>
            {
                Category::Incompressible
            }
            _ => Category::Default,
        };
        if category != filler.category {
            filler.close();
            filler.category = category;
        }
        let key: Vec<(Option<&[u8]>, u64)> = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Data(bytes) => (Some(&bytes[..]), 0),
                Piece::Hole(len) => (None, *len),
            })
            .collect();
        let list = *lists
            .entry(key)
            .or_insert_with(|| map.push(&filler.extents(pieces)));
        map.assign(id, list);
    }
    filler.close();
    (filler.segments, map)
}

/// Writes a sample.
pub fn write(sample: &Sample, options: &WriteOptions) -> (Vec<u8>, Summary) {
    write_with(sample, options, false)
}

/// Writes a sample, with blocks of two categories if asked.
pub fn write_with(sample: &Sample, options: &WriteOptions, categories: bool) -> (Vec<u8>, Summary) {
    let sink = Sink::default();
    let writer = DwarfsWriter::new(Box::new(sink.clone()), options.clone()).unwrap();
    let mut writer: Box<dyn ImageWriter> = Box::new(writer);
    let Geometry::Solid { block_size } = writer.geometry() else {
        panic!("not solid")
    };
    let (segments, map) = cut(sample, block_size, categories);
    let encoder = writer.encoder();
    for segment in &segments {
        writer
            .put(encoder.encode(segment, &WorkerPermits::default()).unwrap())
            .unwrap();
    }
    let summary = writer.finish(&sample.tree, &map).unwrap();
    (sink.bytes(), summary)
}

/// Writes a sample whose segments are encoded last first, as threads might.
pub fn write_backwards(sample: &Sample, options: &WriteOptions) -> Vec<u8> {
    let sink = Sink::default();
    let writer = DwarfsWriter::new(Box::new(sink.clone()), options.clone()).unwrap();
    let mut writer: Box<dyn ImageWriter> = Box::new(writer);
    let (segments, map) = cut(sample, 1 << options.block_size_bits, false);
    let encoder = writer.encoder();
    let mut blocks: Vec<_> = segments
        .iter()
        .rev()
        .map(|segment| encoder.encode(segment, &WorkerPermits::default()).unwrap())
        .collect();
    blocks.reverse();
    for block in blocks {
        writer.put(block).unwrap();
    }
    writer.finish(&sample.tree, &map).unwrap();
    sink.bytes()
}
