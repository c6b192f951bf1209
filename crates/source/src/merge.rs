//! Several sources as one: each source's tree is placed in a common tree.
//!
//! Enters sources with their paths, lower layers first; leaves one `Tree`. Directories of the same
//! path are merged; of other files the one of the later source is kept.
//! **Invariant:** the tree depends only on the sources and their order; hard links within a source
//! stay hard links; what an upper layer hides is not in the tree and is counted.

mod bare_marks;
mod conflicts;
mod input;
mod layer;
mod links;
mod moved;
mod resolve_links;
mod union;
mod whiteouts;

use std::sync::OnceLock;

use sinterfs_model::{
    Error, FileContent, Meta, NodeId, Observer, Result, Setting, Source, Time, Times, Tree,
};

use conflicts::display_path;
use links::Origin;
use moved::Places;
use union::Union;

pub use conflicts::{Conflict, Conflicts};
pub use input::{MergeInput, MergeOptions};
pub(crate) use links::child;
pub(crate) use whiteouts::Mark;
pub use whiteouts::WhiteoutMarks;

/// Several sources as one.
#[derive(Debug)]
pub struct Merge {
    parts: Vec<MergeInput>,
    how: MergeOptions,
    scanned: OnceLock<Scanned>,
}

#[derive(Debug)]
struct Scanned {
    trees: Vec<Tree>,
    /// The origin of each node; directories may have none.
    origins: Vec<Option<Origin>>,
    conflicts: Conflicts,
}

impl Merge {
    /// Merges sources, lower layers first.
    ///
    /// # Errors
    /// `Invalid` if a path is not one of plain names.
    pub fn new(parts: Vec<MergeInput>, how: MergeOptions) -> Result<Self> {
        for part in &parts {
            let plain = |name: &[u8]| {
                !matches!(name, b"" | b"." | b"..") && name.len() <= 255 && !name.contains(&0)
            };
            let mut places = part.picks.iter().map(|(_, at)| at).chain([&part.at]);
            let is_wrong =
                |at: &&Vec<u8>| !at.is_empty() && !at.split(|&byte| byte == b'/').all(plain);
            if let Some(at) = places.find(is_wrong) {
                let at = String::from_utf8_lossy(at);
                return Err(Error::invalid(format!(
                    "cannot place {} at `{at}`: not a path of plain names",
                    part.name
                )));
            }
        }
        Ok(Self {
            parts,
            how,
            scanned: OnceLock::new(),
        })
    }

    /// Returns the conflicts that the scan found; none before the scan.
    pub fn conflicts(&self) -> Conflicts {
        let scanned = self.scanned.get();
        scanned.map_or_else(Conflicts::default, |scanned| scanned.conflicts.clone())
    }

    fn origin(&self, node: NodeId) -> Option<(&MergeInput, &Tree, Origin)> {
        let scanned = self.scanned.get()?;
        let origin = (*scanned.origins.get(node.index())?)?;
        let part = origin.part as usize;
        Some((self.parts.get(part)?, scanned.trees.get(part)?, origin))
    }
}

impl Source for Merge {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let (mut trees, mut links) = (Vec::new(), Vec::new());
        for part in &self.parts {
            let (tree, below) = part.source.scan_layer(observer)?;
            trees.push(tree);
            links.push(below);
        }
        let places = if self.how.layers {
            Places::of(&self.parts, &trees)
        } else {
            Places::default()
        };
        let mut union = Union::new(&self.parts, &trees, &self.how, implied(&self.parts, &trees))?;
        union.move_directories(&places);
        union.follow_links(&links, observer);
        union.run()?;
        if let (true, Some(first)) = (self.how.strict, union.conflicts.first.first()) {
            let option = Setting("strict");
            let what = format!(
                "{} names are in several of the sources, the first in {} and {} ({option})",
                union.conflicts.count, first.hidden, first.kept
            );
            let error = Error::invalid(what).about([option]);
            return Err(error.path(display_path(&first.path)));
        }
        let (tree, origins, conflicts) = union.finish()?;
        let _ = self.scanned.set(Scanned {
            trees,
            origins,
            conflicts,
        });
        Ok(tree)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let Some((part, own, origin)) = self.origin(file) else {
            let error = Error::invalid("not found by the scan of the sources");
            return Err(error.path(display_path(&tree.path(file))));
        };
        part.source.open(own, origin.node)
    }

    fn may_change(&self, file: NodeId) -> bool {
        let origin = self.origin(file);
        origin.is_some_and(|(part, _, origin)| part.source.may_change(origin.node))
    }

    fn rank(&self, _: &Tree, file: NodeId) -> u64 {
        self.origin(file).map_or(0, |(part, own, origin)| {
            // one source after the other
            let rank = part.source.rank(own, origin.node).min(u64::from(u32::MAX));
            u64::from(origin.part) << 32 | rank
        })
    }
}

/// Returns the metadata of directories that no source has: mode 0755, owned by root, with the
/// latest time of the sources' roots, or of what is taken of them, so that it depends on the
/// sources alone.
fn implied(parts: &[MergeInput], trees: &[Tree]) -> Meta {
    let time = |tree: &Tree, node| tree.node(node).meta.times.modified;
    let latest = parts.iter().zip(trees).flat_map(|(part, tree)| {
        let picked: Vec<Time> = union::picked(part, tree)
            .map(|(node, _)| time(tree, node))
            .collect();
        if part.picks.is_empty() {
            vec![time(tree, NodeId::ROOT)]
        } else {
            picked
        }
    });
    let latest = latest.max_by_key(|t: &Time| (t.secs, t.nanos));
    Meta {
        mode: 0o755,
        uid: 0,
        gid: 0,
        times: Times::all(latest.unwrap_or_default()),
    }
}
