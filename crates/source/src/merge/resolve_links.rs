//! Resolves hard links of layers to files of lower layers.
//!
//! In: layers that are scanned, and the links of each. Out: the file of each link, in `LinksBelow`.
//! **Invariant:** a link leads to a lower layer only, so chains of links end.

use sinterfs_model::{LinkBelow, Observer};

use super::layer::Layer;
use super::links::Origin;
use super::union::Union;

/// The most symlinks on the way to a file, as in Linux.
const MAX_SYMLINKS: usize = 40;

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
