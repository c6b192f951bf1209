//! What cannot be written is refused with a reason, before an unreadable image exists.

use std::io::{self, Write};
use std::sync::Arc;

use sinterfs_dwarfs::write::{DwarfsWriter, WriteOptions};
use sinterfs_model::{
    Block, BlockId, Category, Content, ContentMap, ImageWriter, Kind, MapExtent, Meta, NodeId,
    Segment, Time, TreeBuilder,
};
use sinterfs_workers::WorkerPermits;

use crate::options;
use crate::pack::Sink;

fn writer() -> Box<dyn ImageWriter> {
    Box::new(DwarfsWriter::new(Box::new(Sink::default()), options()).unwrap())
}

fn segment(sequence: u32, len: usize) -> Segment {
    Segment::solid(sequence, Category::Default, Arc::new(vec![7; len]))
}

fn block(writer: &dyn ImageWriter, sequence: u32) -> Block {
    writer
        .encoder()
        .encode(&segment(sequence, 100), &WorkerPermits::default())
        .unwrap()
}

#[test]
fn blocks_out_of_order() {
    let mut writer = writer();
    let second = block(&*writer, 1);
    assert_eq!(writer.put(second).unwrap_err().kind(), Kind::Invalid);
    let first = block(&*writer, 0);
    writer.put(first).unwrap();
    let again = block(&*writer, 0);
    assert!(
        writer
            .put(again)
            .unwrap_err()
            .what()
            .contains("instead of block 1")
    );
}

#[test]
fn segments_larger_than_a_block() {
    let error = writer()
        .encoder()
        .encode(&segment(0, 65_537), &WorkerPermits::default())
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
}

#[test]
fn blocks_that_are_no_sections() {
    let short = Block::new(&segment(0, 100), vec![0; 63]).unwrap();
    assert_eq!(writer().put(short).unwrap_err().kind(), Kind::Invalid);
}

#[test]
fn options_that_the_format_does_not_have() {
    for block_size_bits in [0, 9, 31, 255] {
        let options = WriteOptions {
            block_size_bits,
            ..options()
        };
        let error = DwarfsWriter::new(Box::new(Sink::default()), options).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
    }
}

#[test]
fn content_beyond_its_block() {
    for (block, offset, len) in [(0, 0, 101), (0, 100, 1), (1, 0, 1)] {
        let mut builder = TreeBuilder::new(Meta::default());
        let content = Content::File { size: 1 };
        builder
            .add(NodeId::ROOT, b"file", Meta::default(), content)
            .unwrap();
        let tree = builder.finish().unwrap();
        let mut map = ContentMap::new(2);
        let list = map.push(&[MapExtent::Data {
            block: BlockId(block),
            offset,
            len,
        }]);
        map.assign(NodeId(1), list);
        let mut writer = writer();
        let first = crate::refusal::block(&*writer, 0);
        writer.put(first).unwrap();
        assert_eq!(
            writer.finish(&tree, &map).unwrap_err().kind(),
            Kind::Invalid
        );
    }
}

#[test]
fn names_targets_and_times_that_no_reader_shows() {
    let refused = |name: &[u8], target: &[u8], nanos: u32| {
        let mut builder = TreeBuilder::new(Meta::default());
        let mut meta = Meta::default();
        meta.times.modified = Time { secs: 0, nanos };
        let target = builder.intern(target).unwrap();
        builder
            .add(NodeId::ROOT, name, meta, Content::Symlink(target))
            .unwrap();
        let tree = builder.finish().unwrap();
        let result = writer().finish(&tree, &ContentMap::new(2));
        result
            .err()
            .map(|error| (error.kind(), error.concerned_path().is_some()))
    };
    assert_eq!(refused(&[b'n'; 255], &[b't'; 4095], 999_999_999), None);
    assert_eq!(refused(&[b'n'; 256], b"t", 0), Some((Kind::Limit, true)));
    for name in [&b""[..], b".", b"..", b"a/b", b"a\0b"] {
        assert_eq!(refused(name, b"t", 0), Some((Kind::Invalid, true)));
    }
    assert_eq!(refused(b"n", &[b't'; 4096], 0), Some((Kind::Limit, true)));
    assert_eq!(
        refused(b"n", b"t", 1_000_000_000),
        Some((Kind::Invalid, true))
    );
}

/// A sink with room for so many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let len = bytes.len().min(self.0);
        self.0 -= len;
        if len == 0 {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            Ok(len)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn reports_a_full_sink() {
    let tree = TreeBuilder::new(Meta::default()).finish().unwrap();
    for room in [0, 50, 100, 300, 400] {
        let writer = Box::new(DwarfsWriter::new(Box::new(Full(room)), options()).unwrap());
        let error = writer.finish(&tree, &ContentMap::new(1)).unwrap_err();
        assert_eq!(error.kind(), Kind::Io, "{room}");
        assert_eq!(
            error.io_source().unwrap().kind(),
            io::ErrorKind::StorageFull
        );
    }
}
