//! A file of more than 4 GiB, which takes several directory records: read by us and by bsdtar. The
//! image is a sparse file.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use sinterfs_block::{FileSource, Sink};
use sinterfs_iso9660::read::{Iso9660, ReadOptions};
use sinterfs_iso9660::write::{InterchangeLevel, IsoOptions, IsoWriter, WriteOptions};
use sinterfs_model::{
    BlockId, Category, Content, ContentMap, Image, ImageWriter, MapExtent, Meta, NodeId, Preceded,
    Result, Segment, TreeBuilder, UnitInfo,
};
use sinterfs_testkit::skip;
use sinterfs_workers::WorkerPermits;

const BLOCK: u32 = 1 << 20;
const SIZE: u64 = (4 << 30) + 4321;
/// Where something other than zeros is, around the end of the first section, too.
const MARKS: [u64; 5] = [0, (4 << 30) - 2049, (4 << 30) - 2048, 4 << 30, SIZE - 1];

/// A file into which zeros are not written.
struct SparseFile {
    file: File,
    at: u64,
}

impl Write for SparseFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.chunks(4096) {
            if piece.iter().any(|byte| *byte != 0) {
                self.file.write_all_at(piece, self.at)?;
            }
            self.at += piece.len() as u64;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.set_len(self.at)
    }
}

impl Sink for SparseFile {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }
}

fn write_image(path: &Path, level: InterchangeLevel) -> Result<()> {
    let file = File::create(path).unwrap();
    let options = WriteOptions {
        block_size: BLOCK,
        own: IsoOptions {
            level,
            ..IsoOptions::default()
        },
        ..WriteOptions::default()
    };
    let out = Box::new(SparseFile { file, at: 0 });
    let mut writer = Box::new(IsoWriter::new(out, options).unwrap());
    let encoder = writer.encoder();
    let mut extents = Vec::new();
    for (sequence, start) in (0u32..).zip((0..SIZE).step_by(BLOCK as usize)) {
        let len = u64::from(BLOCK).min(SIZE - start);
        let mut data = vec![0; len as usize];
        for mark in MARKS {
            if (start..start + len).contains(&mark) {
                data[(mark - start) as usize] = 7;
            }
        }
        extents.push(MapExtent::Data {
            block: BlockId(sequence),
            offset: 0,
            len: len as u32,
        });
        let mut segment = Segment::solid(sequence, Category::Default, Arc::new(data));
        segment.unit = Some(UnitInfo {
            preceded: match sequence {
                0 => Preceded::ByNothing,
                _ => Preceded::BySegments,
            },
            ..UnitInfo::default()
        });
        let block = encoder.encode(&segment, &WorkerPermits::default()).unwrap();
        writer.put(block).unwrap();
    }
    let mut builder = TreeBuilder::new(Meta::default());
    let content = Content::File { size: SIZE };
    for name in [&b"first"[..], b"last"] {
        let empty = Content::File { size: 0 };
        builder
            .add(NodeId::ROOT, name, Meta::default(), empty)
            .unwrap();
    }
    builder
        .add(NodeId::ROOT, b"large", Meta::default(), content)
        .unwrap();
    let tree = builder.finish().unwrap();
    let mut map = ContentMap::new(tree.nodes().len());
    let list = map.push(&extents);
    let large = tree
        .children(NodeId::ROOT)
        .iter()
        .find(|link| tree.bytes(link.name) == b"large");
    map.assign(large.unwrap().node, list);
    writer.finish(&tree, &map).map(drop)
}

/// Returns where bytes other than zero are, and the number of all bytes.
fn marks(mut reader: impl Read) -> (Vec<u64>, u64) {
    let (mut found, mut at) = (Vec::new(), 0);
    let mut bytes = vec![0; 1 << 20];
    let zeros = bytes.clone();
    loop {
        let len = reader.read(&mut bytes).unwrap();
        if len == 0 {
            return (found, at);
        }
        if bytes[..len] != zeros[..len] {
            let here = (at..).zip(&bytes[..len]).filter(|(_, byte)| **byte != 0);
            found.extend(here.map(|(at, _)| at));
        }
        at += len as u64;
    }
}

#[test]
fn a_file_of_several_sections_is_one_file() {
    let work = tempfile::tempdir().unwrap();
    let path = work.path().join("image");
    write_image(&path, InterchangeLevel::Three).unwrap();
    let source = Arc::new(FileSource::open(&path).unwrap());
    let image = Iso9660::open(source, &ReadOptions::default()).unwrap();
    let root = image.info().root;
    let large = image.lookup(root, b"large").unwrap().unwrap();
    assert_eq!(image.inode(large).unwrap().size, SIZE);
    for mark in MARKS {
        let mut bytes = [1; 3];
        let from = mark.saturating_sub(1);
        let read = image.read_at(large, from, &mut bytes).unwrap();
        assert_eq!(bytes[usize::from(mark > 0)], 7, "{mark}");
        assert_eq!(read, 3.min((SIZE - from) as usize));
    }
    let bsdtar = Command::new("bsdtar")
        .args(["-xOf".as_ref(), path.as_os_str(), "large".as_ref()])
        .stdout(Stdio::piped())
        .spawn();
    match bsdtar {
        Ok(mut bsdtar) => {
            let found = marks(bsdtar.stdout.take().unwrap());
            assert_eq!(found, (MARKS.to_vec(), SIZE));
            assert!(bsdtar.wait().unwrap().success());
        }
        Err(_) => skip("no bsdtar (libarchive-tools)"),
    }
}

#[test]
fn level_2_has_no_files_of_several_sections() {
    let work = tempfile::tempdir().unwrap();
    let made = write_image(&work.path().join("image"), InterchangeLevel::Two);
    let error = made.unwrap_err();
    assert!(error.what().contains("level 3"), "{error}");
    assert_eq!(error.concerned_path(), Some(Path::new("large")));
}

#[test]
fn many_subdirectories_take_linear_time() {
    let mut builder = TreeBuilder::new(Meta::default());
    for number in 0..66_000 {
        let name = format!("{number}");
        let empty = Content::Directory { first: 0, count: 0 };
        builder
            .add(NodeId::ROOT, name.as_bytes(), Meta::default(), empty)
            .unwrap();
    }
    let tree = builder.finish().unwrap();
    let start = std::time::Instant::now();
    let out = Box::new(Vec::new());
    let mut writer = Box::new(IsoWriter::new(out, WriteOptions::default()).unwrap());
    writer.begin(&tree).unwrap();
    let map = ContentMap::new(tree.nodes().len());
    writer.finish(&tree, &map).unwrap();
    // to look at all subdirectories for each of them takes minutes
    let taken = start.elapsed();
    assert!(taken.as_secs() < 60, "{taken:?}");
}
