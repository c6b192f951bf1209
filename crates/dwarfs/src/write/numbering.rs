//! Numbers inodes in the order of DwarFS: directories, symlinks, files with unshared content, files
//! with shared content, devices, fifos and sockets.
//!
//! In: the tree and the map of its content. Out: the node of each inode, the inode of each
//! directory entry and the order of the chunk lists. **Invariant:** directories and their entries
//! are in breadth-first order and by name, files in the order of their lists, so that chunks are in
//! commit order; a hard link of anything but a file becomes a separate inode, as DwarFS has none.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "indexes are of the tree's nodes, and `MAX_INODES` has 31 bits"
)]

use sinterfs_model::{Content, ContentMap, Error, FileType, NodeId, Result, Tree};

/// The largest number of inodes: upstream uses 31 bits.
const MAX_INODES: usize = i32::MAX as usize;

/// The inode numbers of a tree.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    /// The node of each inode.
    pub(super) nodes: Vec<NodeId>,
    /// The inode of each directory entry, beginning with the root's.
    pub(super) entries: Vec<u32>,
    /// The number of directories.
    pub(super) directories: usize,
    /// The number of symlinks.
    pub(super) symlinks: usize,
    /// The number of files with unshared content.
    pub(super) unique_files: usize,
    /// The number of files of each shared content, at least two.
    pub(super) shared: Vec<u32>,
    /// The number of devices.
    pub(super) devices: usize,
    /// The chunk list of each row of the chunk table; `None` for no content.
    pub(super) lists: Vec<Option<u32>>,
    /// The number of hard links of symlinks and special files that became inodes.
    pub(super) split_links: u64,
}

impl Numbering {
    /// Numbers the inodes of a tree; `Limit` if there are too many.
    pub(super) fn new(tree: &Tree, map: &ContentMap) -> Result<Self> {
        let mut numbering = Self::default();
        let mut inode_of = vec![0; tree.nodes().len()];
        numbering.number_directories(tree, &mut inode_of)?;
        numbering.number_by_link(tree, |kind| kind == FileType::Symlink)?;
        numbering.symlinks = numbering.nodes.len() - numbering.directories;
        numbering.number_files(tree, map, &mut inode_of)?;
        let before_devices = numbering.nodes.len();
        numbering.number_by_link(tree, is_device)?;
        numbering.devices = numbering.nodes.len() - before_devices;
        numbering.number_by_link(tree, is_other)?;
        numbering.enter(tree, &inode_of)?;
        Ok(numbering)
    }

    fn push(&mut self, node: NodeId) -> Result<u32> {
        if self.nodes.len() >= MAX_INODES {
            return Err(Error::limit(format!(
                "more than {MAX_INODES} inodes in a DwarFS image"
            )));
        }
        self.nodes.push(node);
        Ok((self.nodes.len() - 1) as u32)
    }

    fn number_directories(&mut self, tree: &Tree, inode_of: &mut [u32]) -> Result<()> {
        for (id, node) in ids().zip(tree.nodes()) {
            if node.content.kind() == FileType::Directory {
                inode_of[id.index()] = self.push(id)?;
            }
        }
        self.directories = self.nodes.len();
        Ok(())
    }

    /// Numbers every link of some types, in the order of the directory entries.
    fn number_by_link(&mut self, tree: &Tree, wanted: impl Fn(FileType) -> bool) -> Result<()> {
        for directory in 0..self.directories {
            for link in tree.children(self.nodes[directory]) {
                let node = tree.node(link.node);
                if wanted(node.content.kind()) {
                    self.push(link.node)?;
                }
            }
        }
        Ok(())
    }

    fn number_files(&mut self, tree: &Tree, map: &ContentMap, inode_of: &mut [u32]) -> Result<()> {
        let by_list = files_by_list(tree, map);
        let runs = || by_list.chunk_by(|a, b| a.0 == b.0);
        let list = |run: &[(u32, NodeId)]| Some(run[0].0).filter(|&list| list != NO_CONTENT);
        for run in runs().filter(|run| run.len() == 1) {
            inode_of[run[0].1.index()] = self.push(run[0].1)?;
            self.lists.push(list(run));
        }
        self.unique_files = self.lists.len();
        for run in runs().filter(|run| run.len() > 1) {
            for (_, file) in run {
                inode_of[file.index()] = self.push(*file)?;
            }
            self.lists.push(list(run));
            self.shared.push(run.len() as u32);
        }
        Ok(())
    }

    /// Lists the directory entries: types that are numbered by link take the next number of their
    /// type, all others use the number of their node.
    fn enter(&mut self, tree: &Tree, inode_of: &[u32]) -> Result<()> {
        let mut symlink = self.directories as u32;
        let mut device = symlink + (self.symlinks + self.unique_files) as u32 + self.shared_files();
        let mut other = device + self.devices as u32;
        self.entries.push(0);
        for directory in 0..self.directories {
            for link in tree.children(self.nodes[directory]) {
                let next = match tree.node(link.node).content.kind() {
                    FileType::Directory | FileType::File => {
                        self.entries.push(inode_of[link.node.index()]);
                        continue;
                    }
                    FileType::Symlink => &mut symlink,
                    kind if is_device(kind) => &mut device,
                    _ => &mut other,
                };
                self.entries.push(*next);
                *next += 1;
            }
        }
        if self.entries.len() >= u32::MAX as usize {
            return Err(Error::limit("more than 4294967294 names in a DwarFS image"));
        }
        let split = tree
            .nodes()
            .iter()
            .filter(|node| !has_hard_links(node.content.kind()));
        self.split_links = split
            .map(|node| u64::from(node.links.saturating_sub(1)))
            .sum();
        Ok(())
    }

    /// Returns the number of files with shared content.
    pub(super) fn shared_files(&self) -> u32 {
        self.shared.iter().sum()
    }

    /// Returns the nodes of the symlinks.
    pub(super) fn symlink_nodes(&self) -> &[NodeId] {
        &self.nodes[self.directories..self.directories + self.symlinks]
    }

    /// Returns the first inode of a file.
    pub(super) fn first_file(&self) -> usize {
        self.directories + self.symlinks
    }

    /// Returns the first inode of a device.
    pub(super) fn first_device(&self) -> usize {
        self.first_file() + self.unique_files + self.shared_files() as usize
    }

    /// Returns the nodes of the devices.
    pub(super) fn device_nodes(&self) -> &[NodeId] {
        &self.nodes[self.first_device()..self.first_device() + self.devices]
    }
}

/// Marks a file without a chunk list; sorts after all lists.
const NO_CONTENT: u32 = u32::MAX;

/// Returns files sorted by their chunk list, those without content at the end.
fn files_by_list(tree: &Tree, map: &ContentMap) -> Vec<(u32, NodeId)> {
    let mut files: Vec<(u32, NodeId)> = ids()
        .zip(tree.nodes())
        .filter(|(_, node)| matches!(node.content, Content::File { .. }))
        .map(|(id, _)| {
            let list = map.list_of(id).filter(|&list| !map.list(list).is_empty());
            (list.unwrap_or(NO_CONTENT), id)
        })
        .collect();
    files.sort_unstable();
    files
}

fn ids() -> impl Iterator<Item = NodeId> {
    (0..=u32::MAX).map(NodeId)
}

fn is_device(kind: FileType) -> bool {
    matches!(kind, FileType::CharDevice | FileType::BlockDevice)
}

fn is_other(kind: FileType) -> bool {
    matches!(kind, FileType::Fifo | FileType::Socket)
}

fn has_hard_links(kind: FileType) -> bool {
    matches!(kind, FileType::Directory | FileType::File)
}
