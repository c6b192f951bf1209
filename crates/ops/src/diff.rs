//! The differences between two trees of any sources.
//!
//! In: two sources with their trees. Out: changes in the order of paths.
//!
//! Both trees are walked together by name; entries of both are compared field by field, files of
//! one size byte by byte on several threads, holes without reading them. A removed file and a new
//! file with the same bytes are one renamed file.
//!
//! **Invariant:** the result depends only on the trees and the options, not on the number of
//! threads.

mod change;
mod content;
mod fields;
mod options;
mod renames;
mod side;
mod walk;

use std::collections::HashSet;

use sinterfs_model::{Error, NodeId, Observer, Result, Stage, Tally};

use crate::workers;
use content::Comparison;
use walk::{Lone, PairedWalk};

pub use change::{Change, Difference, Field, What};
pub use options::DiffOptions;
pub use side::Side;

/// All differences.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct DiffReport {
    /// The changes, by path.
    pub changes: Vec<Change>,
    /// Names that both trees have.
    pub common: u64,
    /// Files whose content could not be read, reported to the observer: they count as changed.
    pub unreadable: u64,
}

/// Compares two trees. Files that cannot be read are reported to the observer and count as changed.
pub fn diff(
    old: Side<'_>,
    new: Side<'_>,
    options: &DiffOptions,
    observer: &dyn Observer,
) -> Result<DiffReport> {
    let mut walk = PairedWalk::of(old.tree, new.tree);
    let comparison = Comparison::new(old, new, observer);
    let differs = if options.ignored.contains(&Field::Content) {
        HashSet::new()
    } else {
        contents(&walk, &comparison, options.threads)?
    };
    let rules = fields::Rules::new(options, old.tree, new.tree);
    let mut changes = Vec::new();
    for (index, pair) in walk.pairs.iter().enumerate() {
        let mut differences = rules.compare(pair.nodes);
        if differs.contains(&pair.nodes) {
            differences.push(Difference::content());
        }
        if !differences.is_empty() {
            changes.push(Change {
                path: walk.path(index),
                kind: old.tree.node(pair.nodes.0).content.kind(),
                what: What::Changed(differences),
            });
        }
    }
    if !options.no_renames && !options.ignored.contains(&Field::Content) {
        renames::find(
            &mut walk,
            &comparison,
            &rules,
            &mut changes,
            options.threads,
        )?;
    }
    let kind = |side: Side<'_>, lone: &Lone| side.tree.node(lone.node).content.kind();
    let removed = walk.removed.iter().enumerate();
    let removed = removed.filter(|(_, lone)| !lone.is_renamed);
    changes.extend(removed.map(|(index, lone)| Change {
        path: walk.removed_path(index),
        kind: kind(old, lone),
        what: What::Removed,
    }));
    let added = walk.added.iter().enumerate();
    let added = added.filter(|(_, lone)| !lone.is_renamed);
    changes.extend(added.map(|(index, lone)| Change {
        path: walk.added_path(index),
        kind: kind(new, lone),
        what: What::Added,
    }));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(DiffReport {
        changes,
        common: walk.pairs.len() as u64,
        unreadable: comparison.unreadable(),
    })
}

/// Compares the content of all files of one size; returns the pairs that differ.
fn contents(
    walk: &PairedWalk<'_>,
    comparison: &Comparison<'_>,
    threads: usize,
) -> Result<HashSet<(NodeId, NodeId)>> {
    let mut jobs: Vec<_> = walk.pairs.iter().map(|pair| pair.nodes).collect();
    jobs.retain(|&nodes| comparison.is_due(nodes));
    jobs.sort_by_key(|&nodes| (comparison.rank(nodes), nodes));
    jobs.dedup();
    let bytes = jobs.iter().map(|&nodes| comparison.size(nodes));
    comparison.observer.expect(
        Stage::Verify,
        Tally::new(jobs.len() as u64, bytes.fold(0, u64::saturating_add), 0),
    );
    let same_lane = |a: &_, b: &_| comparison.rank(*a) == comparison.rank(*b);
    let found = std::sync::Mutex::new(HashSet::new());
    let compare = |buffers: &mut content::Buffers, nodes: &(NodeId, NodeId)| {
        if comparison.differs(*nodes, buffers)? {
            let mut found = found
                .lock()
                .map_err(|_| Error::invalid("a thread panicked, this is a bug"))?;
            found.insert(*nodes);
        }
        Ok(())
    };
    workers::run(
        threads,
        &jobs,
        same_lane,
        comparison.observer,
        content::Buffers::default,
        compare,
    )?;
    found
        .into_inner()
        .map_err(|_| Error::invalid("a thread panicked, this is a bug"))
}
