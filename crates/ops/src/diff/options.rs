//! The options of a comparison.

use super::change::Field;

/// Which differences count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiffOptions {
    /// Fields that are not compared.
    pub ignored: Vec<Field>,
    /// The resolution of times in nanoseconds; 0 means 1.
    pub time_unit: u64,
    /// Reports a renamed file as a removed and an added one.
    pub no_renames: bool,
    /// The number of threads; 0 means one for each processor.
    pub threads: usize,
}
