//! Named streams (UDF, 3.3.5): the small ones are shown as attributes `user.NAME`.
//!
//! In: the directory of streams of a file. Out: `UdfStream`s.
//!
//! **Invariant:** a stream that is shown has at most `STREAM_MAX` bytes, all streams of a file at
//! most `STREAMS_MAX`; others are named and counted.

use sinterfs_model::{Error, Result};

use super::directory::{Identifier, listing};
use super::nodes::UdfStream;
use super::walk::UdfWalk;
use crate::layout::PartitionExtent;

/// The largest stream that is shown, as the largest attribute of Linux.
pub(super) const STREAM_MAX: u64 = 64 << 10;

/// The most bytes of the streams of a file that are shown.
const STREAMS_MAX: u64 = 1 << 20;

/// The memory of a stream in bytes, about.
const STREAM_MEMORY: u64 = 100;

impl UdfWalk<'_> {
    /// Adds the named streams of a file in a directory.
    pub(super) fn streams(&mut self, file: u32, dir: u32, icb: PartitionExtent) -> Result<()> {
        let listed = self.reader.entry(icb, &mut self.budget).and_then(|entry| {
            let mut free = self.budget.min(STREAMS_MAX);
            self.reader.content(&entry, &mut free).map_err(|error| {
                // a directory that is larger than all that is shown of it
                Error::corrupt(error.what().to_owned())
            })
        });
        let listed = match listed {
            Ok(bytes) => listing(&bytes),
            Err(error) => return self.lost(dir, "the named streams of a file", &error),
        };
        for what in listed.left_out {
            self.lose_stream(dir, &format!("a named stream: {what}"));
        }
        let start = u32::try_from(self.found.streams.len()).unwrap_or(u32::MAX);
        let mut left = STREAMS_MAX;
        for identifier in listed.identifiers {
            self.stream(dir, identifier, &mut left)?;
        }
        let mine = self.found.streams.get_mut(start as usize..);
        mine.unwrap_or_default().sort_by(|a, b| a.name.cmp(&b.name));
        let end = u32::try_from(self.found.streams.len()).unwrap_or(u32::MAX);
        if let Some(node) = self.found.nodes.get_mut(file as usize) {
            node.streams = start..end;
        }
        Ok(())
    }

    fn stream(&mut self, dir: u32, identifier: Identifier, left: &mut u64) -> Result<()> {
        let shown = String::from_utf8_lossy(&identifier.name).into_owned();
        let what = format!("the named stream {shown:?} of a file");
        let found = self.reader.entry(identifier.icb, &mut self.budget);
        let stored = found.and_then(|entry| Ok((entry.size, self.stored(&entry)?)));
        let (size, content) = match stored {
            Ok(stored) => stored,
            Err(error) => return self.lost(dir, &what, &error),
        };
        if identifier.is_metadata || identifier.name.starts_with(b"*UDF") {
            self.found.losses.extended += 1;
            return Ok(());
        }
        let Some(fewer) = left.checked_sub(size).filter(|_| size <= STREAM_MAX) else {
            self.found.losses.streams += 1;
            self.lose_stream(dir, &format!("{what}, which has {size} bytes"));
            return Ok(());
        };
        *left = fewer;
        self.spend(STREAM_MEMORY + identifier.name.len() as u64)?;
        self.found.streams.push(UdfStream {
            name: identifier.name,
            size,
            content,
        });
        Ok(())
    }

    /// Names what cannot be read of a file; errors of the machine and of limits are returned.
    fn lost(&mut self, dir: u32, what: &str, error: &Error) -> Result<()> {
        use sinterfs_model::Kind;
        match error.kind() {
            Kind::Corrupt | Kind::Unsupported => {
                self.lose_stream(dir, &format!("{what}: {}", error.what()));
                Ok(())
            }
            kind => Err(Error::new(kind, error.what().to_owned())),
        }
    }
}
