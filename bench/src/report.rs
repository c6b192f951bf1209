//! Results as tables, plots and claims.

pub mod claims;
pub mod comparison;
pub mod document;
pub mod plot;
pub mod table;
