//! What the metadata tells of the categories of blocks.
//!
//! In: the category of each block, or what another image told. Out: names and numbers.
//! **Invariant:** nothing is told if all blocks are of the default category.

use std::collections::BTreeSet;

use model::Category;

/// What an image tells of the categories of its blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CarriedCategories {
    /// The names of the categories.
    pub(crate) names: Vec<String>,
    /// The category of each block; none if no block has one.
    pub(crate) numbers: Vec<u32>,
    /// What is known of the content of blocks, as JSON.
    pub(crate) json: Vec<String>,
    /// The blocks of which something is known, rising, and the number of the JSON of each.
    pub(crate) json_of_blocks: (Vec<u32>, Vec<u32>),
}

impl CarriedCategories {
    /// Names the categories of blocks.
    pub(super) fn of(categories: &[Category]) -> Self {
        let names: BTreeSet<&str> = categories.iter().map(|category| category.name()).collect();
        if names.iter().all(|name| *name == Category::Default.name()) {
            return Self::default();
        }
        let known: BTreeSet<Category> = categories.iter().copied().collect();
        let mut names: Vec<&str> = known.iter().map(|category| category.name()).collect();
        // categories that differ in what they know of their content only have one name
        names.dedup();
        let number = |category: &Category| {
            let name = category.name();
            names.iter().position(|known| *known == name).unwrap_or(0) as u32
        };
        Self {
            numbers: categories.iter().map(number).collect(),
            names: names.iter().map(|&name| name.to_owned()).collect(),
            ..Self::default()
        }
    }
}
