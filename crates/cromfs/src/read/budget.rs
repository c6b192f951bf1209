//! The memory that an image may take: all tables, inodes and names are counted here.
//!
//! In: the limits and the length of the image. Out: leave to allocate, or `Limit`.
//!
//! Blocks are shared without bounds in this format, so that a listing of a few bytes can stand for
//! millions of names. **Invariant:** memory is at most 64 MiB and 1024 bytes for each byte of the
//! image, and at most what the limits allow for metadata.

use sinterfs_model::{Error, Limits, Result};

/// The bytes that the smallest image may take.
const MIN_BUDGET: u64 = 64 << 20;

/// The bytes of memory for each byte of an image.
const PER_BYTE: u64 = 1024;

/// The bytes of memory that are left.
#[derive(Debug, Clone, Copy)]
pub(super) struct MemoryBudget(u64);

impl MemoryBudget {
    /// Makes the budget of an image of some length.
    pub(super) fn new(limits: &Limits, len: u64) -> Self {
        let most = MIN_BUDGET.saturating_add(len.saturating_mul(PER_BYTE));
        Self(most.min(limits.metadata))
    }

    /// Takes bytes for a purpose; fails with `Limit` if there are not enough.
    pub(super) fn take(&mut self, bytes: u64, what: &str) -> Result<()> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.ok_or_else(|| {
            Error::limit(format!(
                "{what}: {bytes} bytes are more than metadata may still take"
            ))
        })?;
        Ok(())
    }

    /// Adds bytes that are free again.
    pub(super) fn give_back(&mut self, bytes: u64) {
        self.0 = self.0.saturating_add(bytes);
    }
}
