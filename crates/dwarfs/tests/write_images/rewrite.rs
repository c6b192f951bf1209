//! Upstream's images written once more by our writer, block by block and chunk by chunk: what is
//! in them survives, and takes no more metadata than upstream's.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_dwarfs::read::Dwarfs;
use sinterfs_dwarfs::write::{DwarfsWriter, WriteOptions};
use sinterfs_model::{
    BlockId, Category, Content, ContentMap, Cursor, ExtentSource, FileType, Image, ImageWriter,
    Ino, MapExtent, NodeId, Segment, Summary, Tree, TreeBuilder,
};

use crate::pack::Sink;

/// Writes the content of an image into a new one with the same blocks and chunks.
pub fn rewrite(image: &Dwarfs, options: &WriteOptions) -> (Vec<u8>, Summary) {
    let (tree, files) = tree(image);
    let mut map = ContentMap::new(tree.nodes().len());
    let mut blocks: Vec<Vec<u8>> = (0..image.block_count())
        .map(|block| vec![0; image.block_info(block as u32).unwrap().1 as usize])
        .collect();
    let mut lists = BTreeMap::new();
    for (ino, file) in files {
        let extents = extents(image, ino, &mut blocks);
        let list = *lists
            .entry(key(&extents))
            .or_insert_with(|| map.push(&extents));
        map.assign(file, list);
    }
    let sink = Sink::default();
    let mut writer = DwarfsWriter::new(Box::new(sink.clone()), options.clone()).unwrap();
    let encoder = writer.encoder();
    for (sequence, bytes) in (0..).zip(blocks) {
        let data = Arc::new(bytes);
        let segment = Segment::solid(sequence, Category::Default, data);
        writer
            .put(
                encoder
                    .encode(&segment, &sinterfs_workers::WorkerPermits::default())
                    .unwrap(),
            )
            .unwrap();
    }
    let summary = Box::new(writer).finish(&tree, &map).unwrap();
    (sink.bytes(), summary)
}

/// Makes a tree of an image, and returns the node of each file in the order of the inodes.
fn tree(image: &dyn Image) -> (Tree, BTreeMap<Ino, NodeId>) {
    let root = image.info().root;
    let mut builder = TreeBuilder::new(image.inode(root).unwrap().meta);
    let mut known = BTreeMap::new();
    let mut paths = BTreeMap::new();
    let mut stack = vec![(root, NodeId::ROOT, Vec::new())];
    while let Some((dir, parent, path)) = stack.pop() {
        for (name, ino) in names(image, dir) {
            let inode = image.inode(ino).unwrap();
            if let Some(node) = known.get(&ino) {
                builder.link(parent, &name, *node).unwrap();
                continue;
            }
            let content = match inode.kind {
                FileType::Directory => Content::Directory { first: 0, count: 0 },
                FileType::File => Content::File { size: inode.size },
                FileType::Symlink => {
                    Content::Symlink(builder.intern(&image.read_link(ino).unwrap()).unwrap())
                }
                FileType::CharDevice => Content::CharDevice(inode.rdev),
                FileType::BlockDevice => Content::BlockDevice(inode.rdev),
                FileType::Fifo => Content::Fifo,
                FileType::Socket => Content::Socket,
            };
            let node = builder.add(parent, &name, inode.meta, content).unwrap();
            known.insert(ino, node);
            let path = [&path[..], &name].concat();
            if inode.kind == FileType::Directory {
                stack.push((ino, node, [&path[..], b"/"].concat()));
            } else if inode.kind == FileType::File {
                paths.insert(path, ino);
            }
        }
    }
    let tree = builder.finish().unwrap();
    let files = files(&tree, &paths);
    (tree, files)
}

fn names(image: &dyn Image, dir: Ino) -> Vec<(Vec<u8>, Ino)> {
    let mut names = Vec::new();
    image
        .read_dir(dir, Cursor::START, &mut |entry| {
            names.push((entry.name.to_vec(), entry.ino));
            ControlFlow::Continue(())
        })
        .unwrap();
    names
}

fn files(tree: &Tree, inodes: &BTreeMap<Vec<u8>, Ino>) -> BTreeMap<Ino, NodeId> {
    let mut paths = BTreeMap::from([(NodeId::ROOT, Vec::new())]);
    let mut files = BTreeMap::new();
    for link in tree.links() {
        let path = [&paths[&link.parent], tree.bytes(link.name)].concat();
        if let Some(ino) = inodes.get(&path) {
            files.insert(*ino, link.node);
        }
        paths
            .entry(link.node)
            .or_insert_with(|| [&path[..], b"/"].concat());
    }
    assert_eq!(files.len(), inodes.len());
    files
}

/// Reads a file's extents and puts its bytes where they are in the blocks.
fn extents(image: &dyn Image, ino: Ino, blocks: &mut [Vec<u8>]) -> Vec<MapExtent> {
    let mut found = Vec::new();
    image
        .extents(ino, 0, &mut |extent| {
            found.push(extent);
            ControlFlow::Continue(())
        })
        .unwrap();
    let map = |extent: &sinterfs_model::Extent| match extent.source {
        ExtentSource::Hole => MapExtent::Hole { len: extent.len },
        ExtentSource::Block { block, offset } => {
            let start = offset as usize;
            let bytes = &mut blocks[block as usize][start..start + extent.len as usize];
            assert_eq!(
                image.read_at(ino, extent.offset, bytes).unwrap(),
                bytes.len()
            );
            MapExtent::Data {
                block: BlockId(block as u32),
                offset: offset as u32,
                len: extent.len as u32,
            }
        }
    };
    found.iter().map(map).collect()
}

fn key(extents: &[MapExtent]) -> Vec<(u64, u32, u32)> {
    let numbers = |extent: &MapExtent| match *extent {
        MapExtent::Data { block, offset, len } => (u64::from(block.0), offset, len),
        MapExtent::Hole { len } => (len, u32::MAX, 0),
    };
    extents.iter().map(numbers).collect()
}
