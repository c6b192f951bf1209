//! An action: what it does, and when.
//!
//! **Invariant:** plain data, made by the parser.

use std::fmt;

use regex::bytes::Regex;
use sinterfs_model::FileLayout;

use super::expression::Expression;
use crate::edits::definition::AddedXattr;
use crate::transform::Chmod;

/// An action, and the expression that decides to which files it applies.
#[derive(Debug, Clone)]
pub struct Action {
    pub(super) effect: Effect,
    pub(super) when: Expression,
    /// As it was given, for messages.
    pub(super) text: String,
}

/// What an action does.
#[derive(Debug, Clone)]
pub(super) enum Effect {
    Exclude,
    Prune,
    /// Removes directories that are empty for a reason.
    Empty(Reason),
    Owner(u32),
    Group(u32),
    Both(u32, u32),
    Chmod(Chmod),
    /// Stores content uncompressed.
    Uncompressed,
    /// Does what is so anyway.
    Nothing,
    /// Decides where content is stored; what is not set stays.
    Layout(FileLayout),
    XattrsExclude(Regex),
    XattrsInclude(Regex),
    XattrsAdd(AddedXattr),
}

/// Why a directory is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// Names were left out.
    Excluded,
    /// It is so in the source.
    Source,
    All,
}

impl Action {
    /// Returns whether its result differs between directories that are empty in the source and
    /// directories that lost all their names.
    pub fn tells_why_empty(&self) -> bool {
        matches!(
            self.effect,
            Effect::Empty(Reason::Excluded | Reason::Source)
        )
    }
}

impl Action {
    /// Returns whether it decides where content is stored, which formats that cut content file by
    /// file alone can do.
    pub fn sets_layout(&self) -> bool {
        matches!(self.effect, Effect::Layout(_))
    }

    /// Returns whether it stores content uncompressed, which formats that compress each block as
    /// a separate choice can do.
    pub fn stores_uncompressed(&self) -> bool {
        matches!(self.effect, Effect::Uncompressed)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns whether no action changes names or attributes.
pub(in super::super) fn leave_the_tree(actions: &[Action]) -> bool {
    let leaves = |action: &Action| {
        let effect = &action.effect;
        matches!(
            effect,
            Effect::Uncompressed | Effect::Nothing | Effect::Layout(_)
        )
    };
    actions.iter().all(leaves)
}
