//! Hard links of layers to files of lower layers.
//!
//! In: layers that are scanned, and the links of each. Out: the file that each link is one more
//! name of. **Invariant:** a link leads to a lower layer only, so chains of links end; one whose
//! target no lower layer shows is not part of the common tree.

use std::collections::{HashMap, HashSet};

use sinterfs_model::{LinkBelow, NodeId, Observer};

use super::union::{Layer, Origin, Union};

/// The most symlinks on the way to a file, as in Linux.
const MAX_SYMLINKS: usize = 40;

/// The links of all layers.
#[derive(Debug, Default)]
pub(super) struct LinksBelow {
    /// The file of each link; `None` if there is none.
    files: HashMap<Origin, Option<Origin>>,
    /// Files that links lead to.
    targets: HashSet<Origin>,
}

impl LinksBelow {
    /// Returns the file that a node is a link to, or the node if it is no such link.
    pub(super) fn follow(&self, node: Origin) -> Option<Origin> {
        match self.files.get(&node) {
            Some(file) => *file,
            None => Some(node),
        }
    }

    /// Returns whether links lead to a file.
    pub(super) fn is_target(&self, node: Origin) -> bool {
        self.targets.contains(&node)
    }
}

impl Union<'_> {
    /// Finds the files of the links of all layers, lowest first; warns of links without a file.
    pub(super) fn follow_links(&mut self, links: &[Vec<LinkBelow>], observer: &dyn Observer) {
        for (part, links) in (0..).zip(links) {
            for link in links {
                let file = self.file_below(part, &link.target);
                if file.is_none() {
                    observer.warn(&link.missing);
                }
                let node = link.node;
                self.links.targets.extend(file);
                self.links.files.insert(Origin { part, node }, file);
            }
        }
    }

    /// Returns what the layers below one show at a path of its source, if it is no directory.
    /// Symlinks on the way are followed, one at the end is the file.
    fn file_below(&self, part: u32, target: &[u8]) -> Option<Origin> {
        if target.is_empty() {
            return None;
        }
        let mut roots = self.roots();
        roots.retain(|layer| layer.part < part);
        let path = [self.place(part), target].join(&b'/');
        let mut todo: Vec<&[u8]> = path.split(|&byte| byte == b'/').rev().collect();
        let (mut above, mut symlinks) = (vec![roots], 0);
        while let Some(name) = todo.pop() {
            match name {
                b"" | b"." => continue,
                b".." => {
                    above.truncate(above.len().saturating_sub(1).max(1));
                    continue;
                }
                _ => {}
            }
            let layers = self.shown(above.last()?, name);
            let top = *layers.last()?;
            if self.is_directory(&top) {
                above.push(layers);
                continue;
            }
            if todo.is_empty() {
                return self.links.follow(Origin::from(top));
            }
            let text = self.symlink(&top).filter(|_| symlinks < MAX_SYMLINKS)?;
            symlinks += 1;
            if text.starts_with(b"/") {
                above.truncate(1);
            }
            todo.extend(text.split(|&byte| byte == b'/').rev());
        }
        None
    }
}

impl From<Layer<'_>> for Origin {
    fn from(layer: Layer<'_>) -> Self {
        Self {
            part: layer.part,
            node: layer.node,
        }
    }
}

/// Returns the node of a name in a directory.
pub(super) fn child(tree: &sinterfs_model::Tree, dir: NodeId, name: &[u8]) -> Option<NodeId> {
    let children = tree.children(dir);
    let found = children.binary_search_by(|link| tree.bytes(link.name).cmp(name));
    children.get(found.ok()?).map(|link| link.node)
}
