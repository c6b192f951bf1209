//! Partition tables of disk images: where each partition is.
//!
//! In: a source. Out: `PartitionTable`, whose partitions are ranges of the source.
//!
//! **Invariant:** an entry that is beyond the end of the disk or overlaps another is listed with
//! the problem, and no range is made of it. MBR with extended partitions: sectors of 512 bytes.
//! GPT: UEFI Specification 2.10, section 5.3. Described in `docs/formats/partitions.md`.

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

mod gpt;
mod mbr;
mod numbers;
mod read;
mod table;

pub use read::read;
pub use table::{Partition, PartitionTable, TableKind};
