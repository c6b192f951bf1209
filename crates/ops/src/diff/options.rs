//! The options of a comparison.

use super::change::Field;

/// What counts as a difference.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffOptions {
    /// What is not compared.
    pub ignored: Vec<Field>,
    /// The unit of times in nanoseconds; what is below it does not count. 0 is 1.
    pub time_unit: u64,
    /// Whether a renamed file is one that is gone and one that is new.
    pub no_renames: bool,
    /// Threads that compare; 0 means as many as the machine runs at once.
    pub threads: usize,
}
