//! The blob table: where the content of files is, by SHA-1.
//!
//! In: the tables of all parts. Out: resources, and blobs in them.
//!
//! **Invariant:** every resource is within its file, and every blob within its resource.

use std::collections::HashMap;
use std::sync::OnceLock;

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
}

/// Bytes of memory that an entry takes.
const ENTRY_MEMORY: u64 = 192;

impl BlobTable {
    /// Reads the table of a part and adds its blobs. `with_metadata` tells whether images of this
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
    /// The solid resources of the current run with their decoded lengths.
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
            let len = self.table.resources.last().map_or(0, |last| last.len);
            self.run.push((number, len));
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
        let mut at = resource.at;
        for &(number, whole) in &self.run {
            if at < whole {
                if len > whole - at {
                    break;
                }
                self.blob(number, at, len, entry);
                return Ok(());
            }
            at -= whole;
        }
        let what = format!(
            "a blob of {len} bytes at {:#x} of solid resources",
            resource.at
        );
        Err(Error::corrupt(what))
    }

    /// Adds a resource of the part and returns its number.
    fn resource(&mut self, entry: &ResourceEntry) -> Result<u32> {
        let window = &self.file.window;
        let end = entry.at.checked_add(entry.stored);
        if end.is_none_or(|end| end > window.len()) {
            let (stored, at) = (entry.stored, entry.at);
            let what = format!("a resource of {stored} bytes at {at:#x} is not within the file");
            return Err(Error::corrupt(what));
        }
        let resource = Resource::new(self.file, self.part, entry)?;
        let number = u32::try_from(self.table.resources.len());
        let number = number.map_err(|_| Error::limit("2^32 resources"))?;
        self.table.resources.push(resource);
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

/// Returns the resource that a reference of the header names, in memory.
pub(super) fn header_resource(file: &Part, part: usize, entry: &ResourceEntry) -> Result<Resource> {
    let is_raw = !entry.flags.has(ResourceFlags::COMPRESSED);
    if is_raw {
        return Ok(Resource {
            part,
            at: entry.at,
            stored: entry.stored,
            len: entry.stored,
            kind: ResourceKind::Raw,
            solid: OnceLock::new(),
        });
    }
    Resource::new(file, part, entry)
}
