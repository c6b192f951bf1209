//! Resolves hard links of layers to files of lower layers.
//!
//! In: layers that are scanned, and the links of each. Out: the file of each link, in `LinksBelow`.
//! **Invariant:** a link leads to a lower layer only, so chains of links end.

use sinterfs_model::{LinkBelow, Observer};

use super::links::Origin;
use super::union::{Layer, Union};

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
    fn file_below(&self, part: u32, target: &[u8]) -> Option<Origin> {
        if target.is_empty() {
            return None;
        }
        let mut layers = self.roots();
        layers.retain(|layer| layer.part < part);
        let at = self.place(part);
        let mut names: Vec<&[u8]> = at.split(|&byte| byte == b'/').collect();
        names.retain(|name| !name.is_empty());
        names.extend(target.split(|&byte| byte == b'/'));
        let (last, parents) = names.split_last()?;
        for name in parents {
            layers = self.shown(&layers, name);
            if !layers.last().is_some_and(|top| self.is_directory(top)) {
                return None;
            }
        }
        let layers = self.shown(&layers, last);
        let top = layers.last().filter(|top| !self.is_directory(top))?;
        self.links.follow(Origin::from(*top))
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
