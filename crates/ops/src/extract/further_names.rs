//! The further names of inodes, by inode.
//!
//! In: a plan. Out: the further names of one of its leaves. **Invariant:** each further name is one
//! of exactly one leaf; a lookup is a bisection, and none where no inode has two names.

use crate::plan::Plan;

/// The further names of a plan, by the inodes that they are names of.
#[derive(Debug)]
pub(crate) struct FurtherNames(Vec<u32>);

impl FurtherNames {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut names: Vec<u32> = (0..).zip(&plan.aliases).map(|(index, _)| index).collect();
        names.sort_by_key(|&index| plan.alias(index).first);
        Self(names)
    }

    /// Returns the further names of a leaf, in the order of the plan.
    pub(super) fn of(&self, plan: &Plan, leaf: u32) -> &[u32] {
        if self.0.is_empty() {
            return &[];
        }
        let first = |index: &u32| plan.alias(*index).first;
        let start = self.0.partition_point(|index| first(index) < leaf);
        let rest = self.0.get(start..).unwrap_or_default();
        let count = rest.iter().take_while(|index| first(index) == leaf).count();
        rest.get(..count).unwrap_or_default()
    }
}
