//! Decoded blocks in a file: for readers that read an image twice, the second time in another order
//! than the order of its blocks.
//!
//! In: blocks as they are opened. Out: the same, decoded to the end the first time, and read from
//! the file afterwards. **Invariant:** a block that cannot be written is decoded again.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use sinterfs_model::{Error, Result};
use sinterfs_platform::FileAt;

use super::block::Opened;
use crate::locks::Mutex;
use crate::{ReadAt, Window};

/// A file of blocks.
pub(super) struct Spill {
    file: Arc<File>,
    written: Mutex<WrittenRange>,
}

#[derive(Default)]
struct WrittenRange {
    /// The offset of the next block.
    end: u64,
    /// The range of each block.
    blocks: HashMap<u128, Window>,
}

impl Spill {
    pub(super) fn new(file: File) -> Self {
        Self {
            file: Arc::new(file),
            written: Mutex::default(),
        }
    }

    /// Opens a block from the file, or, the first time, by `open`, and writes it to the file.
    pub(super) fn open(&self, key: u128, open: impl FnOnce() -> Result<Opened>) -> Result<Opened> {
        let kept = self.written.lock().blocks.get(&key).cloned();
        if let Some(window) = kept {
            return Ok(Opened::Stored(window));
        }
        let decoded = match open()? {
            Opened::Decoded(bytes) => bytes,
            Opened::Encoded(mut decoder) => {
                while !decoder.is_finished() {
                    decoder.advance()?;
                }
                decoder.into_decoded()
            }
            stored @ (Opened::Stored(_) | Opened::Checksummed(_)) => return Ok(stored),
        };
        if let Some(window) = self.write(&decoded) {
            self.written.lock().blocks.insert(key, window);
        }
        Ok(Opened::Decoded(decoded))
    }

    /// Appends a block to the file; `None` if that fails.
    fn write(&self, block: &[u8]) -> Option<Window> {
        let len = block.len() as u64;
        let start = {
            let mut written = self.written.lock();
            let start = written.end;
            written.end = start.checked_add(len)?;
            start
        };
        self.file.write_all_at(block, start).ok()?;
        let file = Arc::clone(&self.file);
        Window::from(Arc::new(FileRange { file, start, len }), 0).ok()
    }
}

/// A range of the file, which does not change any more.
struct FileRange {
    file: Arc<File>,
    start: u64,
    len: u64,
}

impl ReadAt for FileRange {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let read = self
            .file
            .read_exact_at(buf, self.start.saturating_add(offset));
        read.map_err(|error| Error::io("cannot read a decoded block from its scratch file", error))
    }
}
