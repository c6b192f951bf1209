//! Directories: blocks of entries and names, sorted across blocks.
//!
//! In: a directory of the tree and the numbers of inodes. Out: its content. **Invariant:** its
//! length does not depend on the numbers of inodes. Format: `docs/formats/erofs.md`, "Directories".

use sinterfs_model::{Error, FileType, NodeId, Result, Tree};
use zerocopy::IntoBytes;
use zerocopy::little_endian::{U16, U64};

use super::limits::BlockSize;
use crate::layout::{DirentRaw, NAME_MAX, entry_number};

/// Bytes of an entry without its name.
const ENTRY: u64 = size_of::<DirentRaw>() as u64;

/// Returns the parent of a directory; the root is its own.
fn parent(tree: &Tree, dir: NodeId) -> NodeId {
    if dir == NodeId::ROOT {
        return dir;
    }
    let link = tree.links().get(tree.node(dir).first_link as usize);
    link.map_or(NodeId::ROOT, |link| link.parent)
}

/// Lists the entries of a directory in order, `.` and `..` among them.
fn entries(tree: &Tree, dir: NodeId) -> Result<Vec<(&[u8], NodeId)>> {
    let own: [(&[u8], NodeId); 2] = [(b".", dir), (b"..", parent(tree, dir))];
    let links = tree.children(dir).iter();
    let mut entries: Vec<_> = links
        .map(|link| (tree.bytes(link.name), link.node))
        .chain(own)
        .collect();
    entries.sort_unstable();
    if let Some((name, _)) = entries.iter().find(|(name, _)| name.len() > NAME_MAX) {
        let what = format!("a name of {} bytes", name.len());
        let path = String::from_utf8_lossy(&tree.path(dir)).into_owned();
        return Err(Error::limit(what).path(path));
    }
    Ok(entries)
}

/// Returns how many of the entries fit into a block, and the bytes that they take.
pub(crate) fn first_block<T>(entries: &[(&[u8], T)], size: BlockSize) -> (usize, u64) {
    let mut used = 0;
    for (count, (name, _)) in entries.iter().enumerate() {
        let more = used + ENTRY + name.len() as u64;
        if more > size.bytes() {
            return (count, used);
        }
        used = more;
    }
    (entries.len(), used)
}

/// Makes the content of a directory; `nid` returns the number of a node's inode.
pub(super) fn content(
    tree: &Tree,
    dir: NodeId,
    size: BlockSize,
    nid: impl Fn(NodeId) -> u64,
) -> Result<Vec<u8>> {
    let entries = entries(tree, dir)?;
    let (mut rest, mut bytes) = (&entries[..], Vec::new());
    while !rest.is_empty() {
        let (count, _) = first_block(rest, size);
        let (block, after) = rest.split_at(count);
        bytes.resize(bytes.len().next_multiple_of(size.bytes() as usize), 0);
        write_block(
            block,
            |&node| (nid(node), tree.node(node).content.kind()),
            &mut bytes,
        );
        rest = after;
    }
    Ok(bytes)
}

/// Appends a block of entries; `inode` returns the number and the type of each.
pub(crate) fn write_block<T>(
    block: &[(&[u8], T)],
    inode: impl Fn(&T) -> (u64, FileType),
    to: &mut Vec<u8>,
) {
    let mut name_offset = block.len() as u64 * ENTRY;
    for (name, entry) in block {
        let (nid, file_type) = inode(entry);
        let entry = DirentRaw {
            nid: U64::new(nid),
            name_offset: U16::new(name_offset as u16),
            kind: entry_number(file_type),
            reserved: 0,
        };
        to.extend_from_slice(entry.as_bytes());
        name_offset += name.len() as u64;
    }
    for (name, _) in block {
        to.extend_from_slice(name);
    }
}

/// Returns the link count of a directory: its name, `.`, and `..` of each directory in it.
pub(super) fn link_count(tree: &Tree, dir: NodeId) -> u32 {
    let links = tree.children(dir).iter();
    let is_dir = |node| tree.node(node).content.kind() == FileType::Directory;
    let dirs = links.filter(|link| is_dir(link.node)).count();
    u32::try_from(dirs).unwrap_or(u32::MAX).saturating_add(2)
}

#[cfg(test)]
mod tests {
    use sinterfs_model::{Content, Meta, TreeBuilder};

    use super::*;

    #[test]
    fn names_are_sorted_through_all_blocks() {
        let mut builder = TreeBuilder::new(Meta::default());
        let mut names: Vec<Vec<u8>> = (0..400).map(|n| format!("{n:0100}").into_bytes()).collect();
        names.extend([
            b"-".to_vec(),
            b".-".to_vec(),
            b"...".to_vec(),
            vec![b'x'; 255],
        ]);
        for name in &names {
            builder
                .add(NodeId::ROOT, name, Meta::default(), Content::Fifo)
                .unwrap();
        }
        let (tree, size) = (builder.finish().unwrap(), BlockSize::default());
        let bytes = content(&tree, NodeId::ROOT, size, |node| u64::from(node.0)).unwrap();
        let unnumbered = content(&tree, NodeId::ROOT, size, |_| 0).unwrap();
        assert_eq!(unnumbered.len(), bytes.len());
        let mut found: Vec<Vec<u8>> = Vec::new();
        for block in bytes.chunks(size.bytes() as usize) {
            let offset =
                |at: usize| usize::from(block[at * 12 + 8]) + usize::from(block[at * 12 + 9]) * 256;
            let count = offset(0) / 12;
            for at in 0..count {
                let end = if at + 1 < count {
                    offset(at + 1)
                } else {
                    block.len()
                };
                let name = &block[offset(at)..end];
                let zero = name.iter().position(|&b| b == 0).unwrap_or(name.len());
                found.push(name[..zero].to_vec());
            }
        }
        names.extend([b".".to_vec(), b"..".to_vec()]);
        names.sort();
        assert_eq!(found, names);
    }
}
