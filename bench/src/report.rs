//! Results as tables, plots and claims.

pub mod cells;
pub mod claims;
pub mod document;
pub mod overview;
pub mod plot;
pub mod table;
