//! Reading a damaged section once more.
//!
//! In: a section, and what is done with its bytes. Out: what came of that.
//! **Invariant:** a section is read twice only if the source may give other bytes then: what a
//! server sent wrongly does not stay in a cache, and a damaged file is read once.

use sinterfs_block::ReadAt;
use sinterfs_model::{Kind, Result};

use super::section::{SectionRange, SectionReader};

impl SectionReader {
    /// Does something with a section; if that is damaged, and came from a server, once more with
    /// what the server sends then.
    pub(crate) fn anew<T>(&self, range: SectionRange, work: impl Fn() -> Result<T>) -> Result<T> {
        let bytes = range.offset..range.offset.saturating_add(range.len);
        match work() {
            Err(error) if error.kind() == Kind::Corrupt && self.window.forget(&bytes) => work(),
            done => done,
        }
    }
}
