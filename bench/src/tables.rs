//! Results of one set as tables and plots.

pub mod cells;
pub mod plot;
pub mod table;
