//! Directories of layers that are below symlinks of lower layers.
//!
//! In: layers that are scanned. Out: the directories that are elsewhere in the common tree, where
//! the symlinks lead, as a layer is unpacked over the others: `lib/x` goes to `usr/lib/x` if `lib`
//! is a symlink to `usr/lib`. A layer that has a member for `lib/` itself replaces the symlink.
//! Facts: containerd's `pkg/archive` and umoci's `oci/layer` open the directory of each member
//! within the root, through symlinks, and remove other files in its place.
//! **Invariant:** a symlink leads nowhere outside of the common tree.

use std::sync::OnceLock;

use sinterfs_model::{Content, FileType, NodeId, Tree};

use super::input::MergeInput;
use super::layer::Layer;
use super::links::Origin;
use super::union::Union;

/// The most symlinks on the way to a directory, as in Linux.
const MAX_SYMLINKS: usize = 40;

/// Room for the paths of directories that are elsewhere.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<OnceLock<Vec<u8>>>);

impl Places {
    /// Makes room for as many as there may be: directories without a member.
    pub(super) fn of(parts: &[MergeInput], trees: &[Tree]) -> Self {
        let count = parts.iter().zip(trees).map(|(part, tree)| {
            let directories = (0_u32..).map(NodeId).zip(tree.nodes());
            let directories =
                directories.filter(|(_, node)| node.content.kind() == FileType::Directory);
            directories
                .filter(|(id, _)| !part.source.has_entry(*id))
                .count()
        });
        Self(
            std::iter::repeat_with(OnceLock::new)
                .take(count.sum())
                .collect(),
        )
    }
}

/// A directory of a source, its path, and what the layers below have there.
struct Pending<'a> {
    node: NodeId,
    path: Vec<u8>,
    below: Vec<Layer<'a>>,
}

impl<'a> Union<'a> {
    /// Finds the directories of all layers that are elsewhere, lowest layers first.
    pub(super) fn move_directories(&mut self, places: &'a Places) {
        if places.0.is_empty() {
            return;
        }
        for part in 1..u32::try_from(self.trees.len()).unwrap_or(u32::MAX) {
            self.move_directories_of(part, places);
        }
    }

    fn move_directories_of(&mut self, part: u32, places: &'a Places) {
        let tree = &self.trees[part as usize];
        let Some(start) = self.place_below(part, self.place(part)) else {
            return;
        };
        let mut pending = vec![Pending {
            node: NodeId::ROOT,
            path: start.0,
            below: start.1,
        }];
        while let Some(dir) = pending.pop() {
            if dir.below.is_empty() {
                continue;
            }
            for link in tree.children(dir.node) {
                let Content::Directory { .. } = tree.node(link.node).content else {
                    continue;
                };
                let name = tree.bytes(link.name);
                let marks = self.parts[part as usize].marks;
                let is_hidden =
                    marks.is_opaque(tree, dir.node) || marks.hides(tree, dir.node, name);
                let below = self.shown(&dir.below, name);
                let path = match &*dir.path {
                    [] => name.to_vec(),
                    above => [above, b"/", name].concat(),
                };
                let is_symlink = below.last().is_some_and(|top| self.symlink(top).is_some());
                let source = &self.parts[part as usize].source;
                if is_hidden || !is_symlink || source.has_entry(link.node) {
                    let below = if is_hidden { Vec::new() } else { below };
                    pending.push(Pending {
                        node: link.node,
                        path,
                        below,
                    });
                    continue;
                }
                let Some((path, below)) = self.place_below(part, &path) else {
                    continue;
                };
                let Some(place) = places.0.get(self.moved.roots.len()) else {
                    continue;
                };
                self.moved.directories.insert(Origin {
                    part,
                    node: link.node,
                });
                self.moved.roots.push(Layer {
                    part,
                    mount_path: place.get_or_init(|| path.clone()),
                    node: link.node,
                });
                pending.push(Pending {
                    node: link.node,
                    path,
                    below,
                });
            }
        }
    }

    /// Follows the symlinks of the layers below one on the way to a directory; returns where it is,
    /// and what they have there. `None` if something else is on the way.
    fn place_below(&self, part: u32, path: &[u8]) -> Option<(Vec<u8>, Vec<Layer<'a>>)> {
        let mut roots = self.roots();
        roots.retain(|layer| layer.part < part);
        let mut todo: Vec<&[u8]> = path.split(|&byte| byte == b'/').rev().collect();
        let (mut names, mut above, mut symlinks) = (Vec::new(), vec![roots], 0);
        while let Some(name) = todo.pop() {
            match name {
                b"" | b"." => continue,
                b".." => {
                    names.pop();
                    above.truncate(above.len().saturating_sub(1).max(1));
                    continue;
                }
                _ => {}
            }
            let layers = self.shown(above.last()?, name);
            match layers.last() {
                // what is missing is made
                None => {}
                Some(top) if self.is_directory(top) => {}
                Some(top) => {
                    let text = self.symlink(top).filter(|_| symlinks < MAX_SYMLINKS)?;
                    symlinks += 1;
                    if text.starts_with(b"/") {
                        names.clear();
                        above.truncate(1);
                    }
                    todo.extend(text.split(|&byte| byte == b'/').rev());
                    continue;
                }
            }
            names.push(name);
            above.push(layers);
        }
        Some((names.join(&b'/'), above.pop()?))
    }
}
