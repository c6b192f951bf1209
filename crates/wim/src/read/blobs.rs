//! The blob table: where the content of files is, by SHA-1.
//!
//! In: the tables of all parts. Out: resources, and blobs in them.
//!
//! **Invariant:** every resource is within its file, and every blob within its resource. Resources
//! do not overlap: chunks of different ones are different blocks, and no byte is decoded for two.

use std::collections::HashMap;

use sinterfs_block::checksum::Sha1Digest;
use sinterfs_block::{Bytes, ReadAt};
use sinterfs_model::{Error, Limits, Result};

use super::chunks::{Resource, ResourceKind};
use super::parts::Part;
use crate::layout::{BLOB_ENTRY_LEN, BlobEntry, ResourceEntry, ResourceFlags, SOLID_LEN};

/// Content of files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blob {
    /// The index of the resource.
    pub(crate) resource: u32,
    /// The position in the decoded resource.
    pub(crate) at: u64,
    /// Bytes of content.
    pub(crate) len: u64,
    pub(crate) digest: Sha1Digest,
    pub(crate) references: u32,
}

/// All blobs.
#[derive(Debug, Default)]
pub(crate) struct BlobTable {
    pub(crate) resources: Vec<Resource>,
    pub(crate) blobs: Vec<Blob>,
    /// The resources of the metadata of images, in their order.
    pub(crate) metadata: Vec<(u32, Sha1Digest)>,
    by_digest: HashMap<Sha1Digest, u32>,
    /// Resources by part and position.
    by_place: HashMap<(usize, u64), u32>,
    /// Bytes of memory that the tables of chunks of solid resources may still take.
    solid_tables: u64,
}

/// Bytes of memory that an entry takes.
const ENTRY_MEMORY: u64 = 192;

impl BlobTable {
    /// Returns the length of the longest chunk of any resource, decoded; 0 if there are none.
    pub(crate) fn largest_chunk(&self) -> u64 {
        let chunk = |resource: &Resource| {
            let encoding = resource.encoding()?;
            Some(resource.len.min(encoding.chunk_size.into()))
        };
        self.resources.iter().filter_map(chunk).max().unwrap_or(0)
    }

    /// Makes a table without blobs.
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            solid_tables: limits.metadata,
            ..Self::default()
        }
    }

    /// Reads the table of a part and adds its blobs. `with_metadata` is whether images of this
    /// part are wanted.
    pub(super) fn add(
        &mut self,
        parts: &[Part],
        part: usize,
        with_metadata: bool,
        limits: &Limits,
    ) -> Result<()> {
        let Some(file) = parts.get(part) else {
            return Ok(());
        };
        let entry = file.header.blobs;
        let bytes = read_table(file, &entry, limits).map_err(|error| {
            error.at("blob table", file.window.start().saturating_add(entry.at))
        })?;
        let mut adding = Adding {
            table: self,
            part,
            file,
            run: Vec::new(),
            in_run: false,
            with_metadata,
        };
        let (records, _) = bytes.as_chunks::<BLOB_ENTRY_LEN>();
        for (index, record) in (0..).zip(records) {
            let at = entry.at + index * BLOB_ENTRY_LEN as u64;
            let added = adding.entry(&BlobEntry::decode(record));
            added
                .map_err(|error| error.at("blob table", file.window.start().saturating_add(at)))?;
        }
        Ok(())
    }

    /// Checks that no two resources overlap.
    pub(super) fn check_places(&self, parts: &[Part]) -> Result<()> {
        let mut places: Vec<_> = self.resources.iter().collect();
        places.sort_unstable_by_key(|resource| (resource.part, resource.at));
        let mut pairs = places.iter().zip(places.iter().skip(1));
        let overlapping = pairs.find(|(one, next)| {
            one.part == next.part && next.at - one.at < one.stored && next.stored > 0
        });
        let Some((one, next)) = overlapping else {
            return Ok(());
        };
        let (at, other) = (one.at, next.at);
        let what = format!("the resources at {at:#x} and {other:#x} overlap");
        let start = parts.get(one.part).map_or(0, |part| part.window.start());
        Err(Error::corrupt(what).at("resource", start.saturating_add(other)))
    }

    /// Returns the index of the blob with a digest.
    pub(crate) fn find(&self, digest: &Sha1Digest) -> Option<u32> {
        self.by_digest.get(digest).copied()
    }

    /// Returns a blob and its resource.
    pub(crate) fn get(&self, index: u32) -> Option<(&Blob, &Resource)> {
        let blob = self.blobs.get(index as usize)?;
        Some((blob, self.resources.get(blob.resource as usize)?))
    }
}

/// Reads a table, which is not compressed.
fn read_table(file: &Part, entry: &ResourceEntry, limits: &Limits) -> Result<Bytes> {
    if entry.flags.has(ResourceFlags::COMPRESSED) {
        return Err(Error::unsupported("a compressed blob table"));
    }
    let count = entry.stored / BLOB_ENTRY_LEN as u64;
    if count.saturating_mul(ENTRY_MEMORY) > limits.metadata {
        let what = format!("{count} blobs take more memory than metadata may take");
        return Err(Error::limit(what));
    }
    file.window.read(entry.at, entry.stored)
}

/// The table of one part while it is read.
struct Adding<'a> {
    table: &'a mut BlobTable,
    part: usize,
    file: &'a Part,
    /// The solid resources of the current run, each with its end in decoded bytes.
    run: Vec<(u32, u64)>,
    /// Whether the latest entry was one of a solid resource.
    in_run: bool,
    with_metadata: bool,
}

impl Adding<'_> {
    fn entry(&mut self, entry: &BlobEntry) -> Result<()> {
        let resource = &entry.resource;
        if resource.flags.has(ResourceFlags::SOLID) {
            return self.solid(entry);
        }
        self.run.clear();
        self.in_run = false;
        let is_metadata = resource.flags.has(ResourceFlags::METADATA);
        // an entry of another part is repeated in that part's table
        if entry.part != self.file.header.part || (is_metadata && !self.with_metadata) {
            return Ok(());
        }
        let known = self.table.find(&entry.digest);
        if resource.len == 0 || (known.is_some() && !is_metadata) {
            return Ok(());
        }
        let number = self.resource(resource)?;
        if is_metadata {
            self.table.metadata.push((number, entry.digest));
            return Ok(());
        }
        self.blob(number, 0, resource.len, entry);
        Ok(())
    }

    /// Adds a solid resource, or a blob in one.
    fn solid(&mut self, entry: &BlobEntry) -> Result<()> {
        let resource = &entry.resource;
        if resource.len == SOLID_LEN {
            if !self.in_run {
                self.run.clear();
            }
            self.in_run = true;
            if self.run.len() >= 1 << 16 {
                return Err(Error::limit("65536 solid resources in a row"));
            }
            let number = self.resource(resource)?;
            let found = self.table.resources.get(number as usize);
            let len = found.map_or(0, |resource| resource.len);
            let start = self.run.last().map_or(0, |(_, end)| *end);
            self.run.push((number, start.saturating_add(len)));
            return Ok(());
        }
        self.in_run = false;
        if self.run.is_empty() {
            return Err(Error::corrupt("a blob without its solid resource"));
        }
        let len = resource.stored;
        if len == 0 || self.table.find(&entry.digest).is_some() {
            return Ok(());
        }
        let at = resource.at;
        let index = self.run.partition_point(|(_, end)| *end <= at);
        let before = index.checked_sub(1).and_then(|index| self.run.get(index));
        let start = before.map_or(0, |(_, end)| *end);
        if let Some(&(number, end)) = self.run.get(index)
            && len <= end - at
        {
            self.blob(number, at - start, len, entry);
            return Ok(());
        }
        let what = format!(
            "a blob of {len} bytes at {:#x} of solid resources",
            resource.at
        );
        Err(Error::corrupt(what))
    }

    /// Adds a resource of the part and returns its number; one that is there twice has one number.
    fn resource(&mut self, entry: &ResourceEntry) -> Result<u32> {
        let window = &self.file.window;
        let end = entry.at.checked_add(entry.stored);
        if end.is_none_or(|end| end > window.len()) {
            let (stored, at) = (entry.stored, entry.at);
            let what = format!("a resource of {stored} bytes at {at:#x} is not within the file");
            return Err(Error::corrupt(what));
        }
        let resource = Resource::new(self.file, self.part, entry)?;
        let place = (self.part, entry.at);
        let known = self.table.by_place.get(&place).copied();
        if let Some(number) = known
            && let Some(known) = self.table.resources.get(number as usize)
            && known.is_same(&resource)
        {
            return Ok(number);
        }
        if matches!(resource.kind, ResourceKind::Solid(_)) {
            let memory = resource.chunk_count().saturating_mul(8);
            let left = self.table.solid_tables.checked_sub(memory);
            let short = || Error::limit("chunks of solid resources take more than metadata may");
            self.table.solid_tables = left.ok_or_else(short)?;
        }
        let number = u32::try_from(self.table.resources.len());
        let number = number.map_err(|_| Error::limit("2^32 resources"))?;
        self.table.resources.push(resource);
        self.table.by_place.insert(place, number);
        Ok(number)
    }

    fn blob(&mut self, resource: u32, at: u64, len: u64, entry: &BlobEntry) {
        let number = u32::try_from(self.table.blobs.len()).unwrap_or(u32::MAX);
        self.table.blobs.push(Blob {
            resource,
            at,
            len,
            digest: entry.digest,
            references: entry.references,
        });
        self.table.by_digest.insert(entry.digest, number);
    }
}
