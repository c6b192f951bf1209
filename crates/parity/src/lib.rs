//! Reed-Solomon parity of a file: nothing else knows its bytes.
//!
//! In: a file of any content. Out: a record from which parts of the file, and of the record itself,
//! can be restored. **Invariant:** restored bytes are returned only after all of them were compared
//! with checksums in the record. Spec: `docs/formats/parity.md`.

#![warn(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap
)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        reason = "a test may panic"
    )
)]

mod encode;
mod examine;
mod find;
mod layout;
mod record;
mod restore;
mod shards;
mod table;

pub use encode::encode;
pub use examine::{Damage, Examined, examine};
pub use find::{FoundRecord, find};
pub use layout::ParityLayout;
pub use record::ParityRecord;
pub use restore::{Restored, restore};
