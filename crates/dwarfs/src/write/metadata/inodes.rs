//! Inodes: one column for each field, and the tables of modes, owners and groups.
//!
//! In: the tree and the numbering. Out: the columns of `inodes`. **Invariant:** tables are in
//! ascending order, without duplicates.

#![expect(
    clippy::cast_possible_truncation,
    reason = "there are at most as many as inodes, whose number has 31 bits"
)]

use std::collections::BTreeSet;

use sinterfs_model::{Content, FileType, Result, Tree};

use super::lists::structs;
use crate::layout::metadata::inode_data;
use crate::write::freeze::{Column, Value};
use crate::write::numbering::Numbering;
use crate::write::options::WriteOptions;
use crate::write::times::{TimeColumn, Times};

/// Returns the distinct values in ascending order, and the index of each inode's value.
fn indexed(values: impl Iterator<Item = u32> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut known = BTreeSet::new();
    let mut last = None;
    for value in values.clone() {
        if last.replace(value) != Some(value) {
            known.insert(value);
        }
    }
    let known: Vec<u32> = known.into_iter().collect();
    let indexes = values.map(|value| known.partition_point(|&other| other < value) as u32);
    let indexes = indexes.collect();
    (known, indexes)
}

/// The columns of `inodes`, and the tables that they refer to.
pub(super) struct Inodes {
    pub(super) modes: Vec<u32>,
    pub(super) uids: Vec<u32>,
    pub(super) gids: Vec<u32>,
    pub(super) mode_index: Vec<u32>,
    pub(super) owner_index: Vec<u32>,
    pub(super) group_index: Vec<u32>,
    pub(super) times: Times,
    pub(super) nlink_minus_one: Vec<u32>,
}

impl Inodes {
    pub(super) fn new(tree: &Tree, numbering: &Numbering, options: &WriteOptions) -> Result<Self> {
        let nodes = || numbering.nodes.iter().map(|id| tree.node(*id));
        let mode = |node: &sinterfs_model::Node| {
            node.content.kind().bits() | u32::from(node.meta.mode) & !FileType::MASK
        };
        let (modes, mode_index) = indexed(nodes().map(mode));
        let (uids, owner_index) = indexed(nodes().map(|node| node.meta.uid));
        let (gids, group_index) = indexed(nodes().map(|node| node.meta.gid));
        let times = Times::new(
            tree,
            &numbering.nodes,
            options.time_resolution,
            options.keep_all_times,
        )?;
        let nlink_minus_one = nodes()
            .map(|node| match node.content {
                Content::File { .. } => node.links.saturating_sub(1),
                _ => 0,
            })
            .collect();
        Ok(Self {
            modes,
            uids,
            gids,
            mode_index,
            owner_index,
            group_index,
            times,
            nlink_minus_one,
        })
    }

    pub(super) fn list(&self) -> Value<'_> {
        use inode_data::{
            ATIME_OFFSET, ATIME_SUBSEC, CTIME_OFFSET, CTIME_SUBSEC, GROUP_INDEX, MODE_INDEX,
            MTIME_OFFSET, MTIME_SUBSEC, NLINK_MINUS_ONE, OWNER_INDEX,
        };
        let Times {
            modified,
            accessed,
            changed,
            ..
        } = &self.times;
        let offset = |column: &TimeColumn| !column.offset.is_empty();
        let mut columns = vec![
            (MODE_INDEX, Column::U32(&self.mode_index)),
            (OWNER_INDEX, Column::U32(&self.owner_index)),
            (GROUP_INDEX, Column::U32(&self.group_index)),
        ];
        let kinds = [
            (ATIME_OFFSET, ATIME_SUBSEC, accessed),
            (MTIME_OFFSET, MTIME_SUBSEC, modified),
            (CTIME_OFFSET, CTIME_SUBSEC, changed),
        ];
        let kept = || kinds.iter().filter(|(_, _, column)| offset(column));
        columns.extend(kept().map(|(id, _, column)| (*id, Column::U64(&column.offset))));
        let fine = kept().filter(|(_, _, column)| !column.subsec.is_empty());
        columns.extend(fine.map(|(_, id, column)| (*id, Column::U32(&column.subsec))));
        columns.push((NLINK_MINUS_ONE, Column::U32(&self.nlink_minus_one)));
        structs(columns)
    }
}
