//! The reads of an image: recorded while it is used, as a line of text that a later use replays.
//!
//! In: the leaves that readers wanted, and the version that they are of. Out: their ranges, in the
//! order of their first reads; and from a line of text such ranges. **Invariant:** ranges of one
//! version are never used for another; memory grows with the reads, never with the length that a
//! server claims.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use sinterfs_model::{Error, Result};

use crate::plan;
use crate::version::ObjectVersion;

/// The beginning of the line. It is a comment in a list of paths, where names never begin like it.
const MARK: &str = "# bytes read: ";

/// Notes what is read of a remote image.
#[derive(Debug, Default)]
pub struct ReadRecorder(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    version: Option<ObjectVersion>,
    /// Leaves that were read, apart from each other: the end of each range by its start.
    seen: BTreeMap<u64, u64>,
    /// Leaves in the order of their first reads; neighbours that follow each other are joined.
    order: Vec<Range<u64>>,
    /// Whether leaves were added since the last query.
    has_news: bool,
}

/// The reads of a remote image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedReads {
    version: ObjectVersion,
    /// Leaves, in the order of their first reads.
    leaves: Vec<Range<u64>>,
}

impl ReadRecorder {
    /// Begins a record of reads of this version.
    pub(crate) fn begin(&self, version: &ObjectVersion) {
        *self.noted() = Noted {
            version: Some(version.clone()),
            ..Noted::default()
        };
    }

    /// Notes that leaves were read.
    pub(crate) fn note(&self, leaves: Range<u64>) {
        let mut noted = self.noted();
        for leaf in leaves {
            noted.add(leaf);
        }
    }

    /// Returns whether anything was read for the first time since the last call.
    pub fn take_news(&self) -> bool {
        std::mem::take(&mut self.noted().has_news)
    }

    /// Returns what was read until now; `None` if no remote image was opened.
    pub fn reads(&self) -> Option<RecordedReads> {
        let noted = self.noted();
        Some(RecordedReads {
            version: noted.version.clone()?,
            leaves: noted.order.clone(),
        })
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Noted {
    fn add(&mut self, leaf: u64) {
        let before = self.seen.range(..=leaf).next_back();
        let before = before.map(|(start, end)| (*start, *end));
        if before.is_some_and(|(_, end)| leaf < end) {
            return;
        }
        self.has_news = true;
        let end = leaf.saturating_add(1);
        let start = before.filter(|(_, before)| *before == leaf);
        let start = start.map_or(leaf, |(start, _)| start);
        let joined = self.seen.remove(&end).unwrap_or(end);
        self.seen.insert(start, joined);
        match self.order.last_mut().filter(|last| last.end == leaf) {
            Some(last) => last.end = end,
            None => self.order.push(leaf..end),
        }
    }
}

impl RecordedReads {
    /// Finds the line in a list that [`ReadRecorder`] has written; `None` if there is none.
    ///
    /// # Errors
    /// `Invalid` for a line that is damaged.
    pub fn find(list: &[u8]) -> Result<Option<Self>> {
        let line = list
            .split(|&byte| byte == b'\n')
            .find_map(|line| line.strip_prefix(MARK.as_bytes()));
        let Some(line) = line else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice(line).ok();
        let found = parsed.as_ref().and_then(Self::from_json);
        let what = "the line of the bytes that were read is damaged";
        found.map(Some).ok_or_else(|| Error::invalid(what))
    }

    fn from_json(value: &Value) -> Option<Self> {
        let len = value.get("length")?.as_u64()?;
        let etag = value.get("etag")?;
        let etag = if etag.is_null() {
            None
        } else {
            Some(etag.as_str()?.to_owned())
        };
        let range = |pair: &Value| {
            let start = pair.get(0)?.as_u64()?;
            let end = pair.get(1)?.as_u64()?;
            (start < end && end <= len).then(|| plan::leaves(&(start..end)))
        };
        let leaves: Option<Vec<_>> = value.get("ranges")?.as_array()?.iter().map(range).collect();
        Some(Self {
            version: ObjectVersion { len, etag },
            leaves: leaves?,
        })
    }

    /// Returns the line, which ends with a line feed.
    pub fn line(&self) -> String {
        let len = self.version.len;
        let range = |leaves: &Range<u64>| {
            let bytes = plan::bytes(leaves, len);
            json!([bytes.start, bytes.end])
        };
        let ranges: Vec<_> = self.leaves.iter().map(range).collect();
        let line = json!({ "etag": self.version.etag, "length": len, "ranges": ranges });
        format!("{MARK}{line}\n")
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> u64 {
        let len = |leaves: &Range<u64>| {
            let bytes = plan::bytes(leaves, self.version.len);
            bytes.end.saturating_sub(bytes.start)
        };
        self.leaves.iter().map(len).fold(0, u64::saturating_add)
    }

    /// Returns whether they are of this version.
    pub(crate) fn are_of(&self, version: &ObjectVersion) -> bool {
        self.version == *version
    }

    /// Returns the leaves, in the order of their first reads.
    pub(crate) fn leaves(&self) -> &[Range<u64>] {
        &self.leaves
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LEAF;

    fn version() -> ObjectVersion {
        ObjectVersion {
            len: 10 * LEAF + 5,
            etag: Some("\"a\nb\"".to_owned()),
        }
    }

    #[test]
    fn recorded_reads_round_trip() {
        let recorder = ReadRecorder::default();
        assert_eq!(recorder.reads(), None);
        recorder.begin(&version());
        for leaves in [8..11, 0..1, 1..3, 0..2, 9..11, 5..6] {
            recorder.note(leaves);
        }
        let reads = recorder.reads().unwrap();
        assert_eq!(reads.leaves(), [8..11, 0..3, 5..6]);
        assert_eq!(reads.bytes(), 6 * LEAF + 5);
        assert!(reads.are_of(&version()));
        let other = ObjectVersion {
            etag: None,
            ..version()
        };
        assert!(!reads.are_of(&other));
        let list = format!("a/path\n{}b\n", reads.line());
        assert_eq!(RecordedReads::find(list.as_bytes()).unwrap(), Some(reads));
    }

    #[test]
    fn the_length_of_an_object_takes_no_memory() {
        let recorder = ReadRecorder::default();
        let last = u64::MAX / LEAF;
        recorder.begin(&ObjectVersion {
            len: u64::MAX,
            etag: None,
        });
        for leaf in [last, 0, last - 2, last - 1, 0, last] {
            recorder.note(leaf..leaf + 1);
        }
        let reads = recorder.reads().unwrap();
        let expected = [last..last + 1, 0..1, last - 2..last];
        assert_eq!(reads.leaves(), expected);
        let noted = recorder.noted();
        let seen: Vec<_> = noted.seen.clone().into_iter().collect();
        assert_eq!(seen, [(0, 1), (last - 2, last + 1)]);
    }

    #[test]
    fn a_line_that_is_damaged_is_an_error() {
        assert_eq!(
            RecordedReads::find(b"a\n\\\n\\# bytes read: x\n").unwrap(),
            None
        );
        for wrong in [
            "",
            "{}",
            "[]",
            "{\"etag\":1,\"length\":9,\"ranges\":[]}",
            "{\"etag\":null,\"length\":9,\"ranges\":[[0,10]]}",
            "{\"etag\":null,\"length\":9,\"ranges\":[[5,5]]}",
            "{\"etag\":null,\"length\":9,\"ranges\":[[5]]}",
            "{\"etag\":null,\"length\":9,\"ranges\":[[-1,5]]}",
        ] {
            let line = format!("{MARK}{wrong}");
            assert!(RecordedReads::find(line.as_bytes()).is_err(), "{wrong}");
        }
    }
}
