//! The actions of mksquashfs: what happens to files for which an expression is true.
//!
//! Enters the text of actions; leaves changes of a tree, in the phases that mksquashfs has: what is
//! excluded while the source is read, changes of owners and permissions, what is pruned,
//! directories that became empty, extended attributes. **Invariant:** within a phase, actions apply
//! to a file in the order given, and each sees what the ones before it changed.
//! Facts: the documentation of mksquashfs 4.7.5 (ACTIONS-README) and its results, beside which a
//! test runs.

mod action;
mod apply;
mod expression;
mod parse;

pub use action::Action;
pub(super) use action::leave_the_tree;
pub(super) use apply::{Actions, HowStored, StoredApart, change, empty, excludes, prune, xattrs};
pub use parse::IdsByName;
