//! Resources: where the chunks of each are, and how they are encoded.
//!
//! In: a reference to a resource. Out: `Resource`, and the location of each of its chunks.
//!
//! **Invariant:** a chunk lies within its resource and its stored bytes are at most as many as its
//! decoded bytes. Format: `docs/formats/wim.md`, "Resources".

use std::sync::OnceLock;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};

use super::parts::Part;
use crate::layout::{ResourceEntry, ResourceFlags, SOLID_HEADER_LEN, WimCodec, long, word};

/// The storage of the content of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    /// As it is.
    Raw,
    /// In chunks, which a table before them locates.
    Chunks(Encoding),
    /// In chunks with their lengths, and a table after them.
    Pipable(Encoding),
    /// In chunks, with a header and a table of their lengths before them.
    Solid(Encoding),
}

/// The encoding of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) codec: WimCodec,
    /// Decoded bytes of every chunk but the last.
    pub(crate) chunk_size: u32,
}

/// A resource.
#[derive(Debug)]
pub(crate) struct Resource {
    /// The index of the part.
    pub(crate) part: usize,
    /// The position in the part.
    pub(crate) at: u64,
    pub(crate) stored: u64,
    /// Decoded bytes.
    pub(crate) len: u64,
    pub(crate) kind: ResourceKind,
    /// The ends of the chunks of a solid resource from the first one on, once they are needed.
    pub(super) solid: OnceLock<Vec<u64>>,
}

/// The range of a stored chunk, relative to its part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkLocation {
    pub(crate) at: u64,
    pub(crate) stored: u64,
    /// Decoded bytes.
    pub(crate) len: u64,
}

impl Resource {
    /// Makes a resource that lies within its part.
    pub(super) fn new(file: &Part, part: usize, entry: &ResourceEntry) -> Result<Self> {
        let header = &file.header;
        let (len, kind) = if entry.flags.has(ResourceFlags::SOLID) {
            solid_header(file, entry)?
        } else if entry.flags.has(ResourceFlags::COMPRESSED) {
            let codec = header.codec();
            let encoding = Encoding {
                codec: codec.ok_or_else(|| Error::corrupt("a codec is missing in the header"))?,
                chunk_size: header.chunk_size,
            };
            check_chunk_size(encoding)?;
            let kind = if header.is_pipable {
                ResourceKind::Pipable(encoding)
            } else {
                ResourceKind::Chunks(encoding)
            };
            (entry.len, kind)
        } else {
            if entry.stored != entry.len {
                let (stored, len) = (entry.stored, entry.len);
                let what = format!("{len} bytes without compression in {stored}");
                return Err(Error::corrupt(what));
            }
            (entry.len, ResourceKind::Raw)
        };
        let resource = Self {
            part,
            at: entry.at,
            stored: entry.stored,
            len,
            kind,
            solid: OnceLock::new(),
        };
        resource.check()?;
        Ok(resource)
    }

    /// Returns whether another resource is the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let fields = |of: &Self| (of.part, of.at, of.stored, of.len, of.kind);
        fields(self) == fields(other)
    }

    /// Compares the number of chunks with the stored bytes, each chunk having at least one.
    fn check(&self) -> Result<()> {
        let count = self.chunk_count();
        let least = match self.kind {
            ResourceKind::Raw => 0,
            ResourceKind::Chunks(_) => count.saturating_add(self.table_len()),
            ResourceKind::Pipable(_) => count.saturating_mul(5).saturating_add(self.table_len()),
            ResourceKind::Solid(_) => count.saturating_mul(5).saturating_add(SOLID_HEADER_LEN),
        };
        if least > self.stored {
            let stored = self.stored;
            let what = format!("{count} chunks in {stored} bytes");
            return Err(Error::corrupt(what));
        }
        Ok(())
    }

    /// Returns the encoding; `None` without compression.
    pub(crate) fn encoding(&self) -> Option<Encoding> {
        match self.kind {
            ResourceKind::Raw => None,
            ResourceKind::Chunks(encoding)
            | ResourceKind::Pipable(encoding)
            | ResourceKind::Solid(encoding) => Some(encoding),
        }
    }

    /// Returns the number of chunks; 0 without compression.
    pub(crate) fn chunk_count(&self) -> u64 {
        let size = self.encoding().map(|encoding| encoding.chunk_size);
        size.map_or(0, |size| self.len.div_ceil(size.into()))
    }

    /// Returns the bytes of an entry of the chunk table.
    fn entry_len(&self) -> u64 {
        if u32::try_from(self.len).is_ok() {
            4
        } else {
            8
        }
    }

    /// Returns the bytes of the chunk table, which does not have the first chunk.
    fn table_len(&self) -> u64 {
        let entries = self.chunk_count().saturating_sub(1);
        entries.saturating_mul(self.entry_len())
    }

    /// Finds a chunk.
    pub(crate) fn locate(&self, file: &Part, index: u64) -> Result<ChunkLocation> {
        let Some(encoding) = self.encoding() else {
            return Err(Error::invalid("chunks of a resource without compression"));
        };
        let size = u64::from(encoding.chunk_size);
        let len = self
            .len
            .saturating_sub(index.saturating_mul(size))
            .min(size);
        let (start, end) = match self.kind {
            ResourceKind::Solid(_) => self.solid_range(file, index)?,
            _ => self.table_range(file, index)?,
        };
        let stored = end.checked_sub(start);
        let within = start >= self.at && end <= self.at.saturating_add(self.stored);
        match stored {
            Some(stored) if within && stored > 0 && stored <= len => Ok(ChunkLocation {
                at: start,
                stored,
                len,
            }),
            _ => Err(Error::corrupt(format!(
                "chunk {index} from {start:#x} to {end:#x}, of {len} bytes"
            ))),
        }
    }

    /// Returns start and end of a chunk by the table of starts.
    fn table_range(&self, file: &Part, index: u64) -> Result<(u64, u64)> {
        let (count, width, table_len) = (self.chunk_count(), self.entry_len(), self.table_len());
        let is_pipable = matches!(self.kind, ResourceKind::Pipable(_));
        let (table, chunks, data) = if is_pipable {
            let data = self.stored.saturating_sub(table_len);
            (self.at.saturating_add(data), self.at, data)
        } else {
            let data = self.stored.saturating_sub(table_len);
            (self.at, self.at.saturating_add(table_len), data)
        };
        // bytes of lengths before a chunk
        let before = |index: u64| if is_pipable { 4 * index } else { 0 };
        let start = |index: u64| -> Result<u64> {
            if index == 0 {
                return Ok(0);
            }
            let at = table.saturating_add((index - 1) * width);
            let entry = file.window.read(at, width)?;
            Ok(if width == 4 {
                word(&entry, 0).into()
            } else {
                long(&entry, 0)
            })
        };
        let first = start(index)?.saturating_add(before(index + 1));
        let last = if index + 1 < count {
            start(index + 1)?.saturating_add(before(index + 1))
        } else {
            data
        };
        Ok((chunks.saturating_add(first), chunks.saturating_add(last)))
    }

    /// Returns start and end of a chunk of a solid resource.
    fn solid_range(&self, file: &Part, index: u64) -> Result<(u64, u64)> {
        let ends = match self.solid.get() {
            Some(ends) => ends,
            None => {
                let ends = self.read_solid_ends(file)?;
                self.solid.get_or_init(|| ends)
            }
        };
        let end = |index: u64| {
            usize::try_from(index)
                .ok()
                .and_then(|index| ends.get(index))
        };
        let (start, end) = end(index).zip(end(index + 1)).unwrap_or((&0, &0));
        Ok((*start, *end))
    }

    /// Reads the lengths of the chunks of a solid resource; returns the start and all ends.
    fn read_solid_ends(&self, file: &Part) -> Result<Vec<u64>> {
        let table_len = self.chunk_count() * 4;
        let table = self.at.saturating_add(SOLID_HEADER_LEN);
        let bytes = file.window.read(table, table_len)?;
        let mut end = table.saturating_add(table_len);
        let (lengths, _) = bytes.as_chunks::<4>();
        let ends = lengths.iter().map(|len| {
            end = end.saturating_add(u32::from_le_bytes(*len).into());
            end
        });
        let mut all = Vec::with_capacity(lengths.len() + 1);
        all.push(table.saturating_add(table_len));
        all.extend(ends);
        Ok(all)
    }
}

/// Reads the header of a solid resource: its decoded length, and the encoding.
fn solid_header(file: &Part, entry: &ResourceEntry) -> Result<(u64, ResourceKind)> {
    if entry.stored < SOLID_HEADER_LEN || file.header.is_pipable {
        return Err(Error::corrupt("a solid resource without its header"));
    }
    let header = file.window.read(entry.at, SOLID_HEADER_LEN)?;
    let number = word(&header, 12);
    let codec = WimCodec::from_solid(number);
    let codec = codec.ok_or_else(|| Error::unsupported(format!("compression {number}")))?;
    let encoding = Encoding {
        codec,
        chunk_size: word(&header, 8),
    };
    check_chunk_size(encoding)?;
    Ok((long(&header, 0), ResourceKind::Solid(encoding)))
}

fn check_chunk_size(encoding: Encoding) -> Result<()> {
    let (smallest, largest) = encoding.codec.chunk_sizes();
    let size = encoding.chunk_size;
    if size.is_power_of_two() && size >= smallest && size <= largest {
        return Ok(());
    }
    let name = encoding.codec.name();
    Err(Error::corrupt(format!("chunks of {size} bytes for {name}")))
}
