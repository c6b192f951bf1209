//! Makes WIM files without compression from parts that need not fit together.

#![allow(dead_code, reason = "each test uses some of it")]

use std::sync::Arc;

use sinterfs_block::checksum::{Sha1, Sha1Digest};
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Limits, Result};
use sinterfs_wim::layout::{
    BlobEntry, HEADER_LEN, ResourceEntry, ResourceFlags, SOLID_LEN, WimHeader, attributes,
};
use sinterfs_wim::read::{ReadOptions, Wim};

pub fn source(bytes: &[u8]) -> Arc<dyn ReadAt> {
    Arc::new(MemorySource(bytes.to_vec()))
}

/// Options with limits that a small image does not reach.
pub fn options() -> ReadOptions {
    ReadOptions {
        limits: Limits {
            metadata: 64 << 20,
            block: 256 << 20,
            ..Limits::default()
        },
        ..ReadOptions::default()
    }
}

pub fn open(bytes: &[u8]) -> Result<Wim> {
    Wim::open(source(bytes), &[], &options())
}

pub fn sha1(bytes: &[u8]) -> Sha1Digest {
    let mut state = Sha1::default();
    state.update(bytes);
    state.finish()
}

/// A file while it is made.
#[derive(Default)]
pub struct Made {
    body: Vec<u8>,
    entries: Vec<BlobEntry>,
    count: u64,
}

impl Made {
    /// Appends bytes and returns the reference to them.
    pub fn resource(&mut self, bytes: &[u8]) -> ResourceEntry {
        let at = (HEADER_LEN + self.body.len()) as u64;
        self.body.extend_from_slice(bytes);
        let len = bytes.len() as u64;
        let flags = ResourceFlags::default();
        ResourceEntry {
            stored: len,
            flags,
            at,
            len,
        }
    }

    /// Adds an entry of the blob table.
    pub fn entry(&mut self, resource: ResourceEntry, digest: Sha1Digest) -> Sha1Digest {
        self.entries.push(BlobEntry {
            resource,
            part: 1,
            references: 1,
            digest,
        });
        digest
    }

    /// Returns a digest that no content has.
    pub fn some_digest(&mut self) -> Sha1Digest {
        self.count += 1;
        sha1(&self.count.to_le_bytes())
    }

    /// Adds content.
    pub fn content(&mut self, bytes: &[u8]) -> Sha1Digest {
        let resource = self.resource(bytes);
        self.entry(resource, sha1(bytes))
    }

    /// Adds the entry of a solid resource.
    pub fn solid_resource(&mut self, mut resource: ResourceEntry) {
        resource.flags = ResourceFlags(ResourceFlags::SOLID);
        resource.len = SOLID_LEN;
        self.entry(resource, [0; 20]);
    }

    /// Adds the entry of content in solid resources, with some digest.
    pub fn solid_blob(&mut self, at: u64, len: u64) -> Sha1Digest {
        let resource = ResourceEntry {
            stored: len,
            flags: ResourceFlags(ResourceFlags::SOLID),
            at,
            len: 0,
        };
        let digest = self.some_digest();
        self.entry(resource, digest)
    }

    /// Returns a file with an image of this metadata.
    pub fn finish(self, metadata: &[u8]) -> Vec<u8> {
        self.finish_with(metadata, |_| ())
    }

    /// Returns a file with an image of this metadata, and a header that is changed.
    pub fn finish_with(mut self, metadata: &[u8], change: impl FnOnce(&mut WimHeader)) -> Vec<u8> {
        let mut resource = self.resource(metadata);
        resource.flags = ResourceFlags(ResourceFlags::METADATA);
        self.entry(resource, sha1(metadata));
        let entries: Vec<_> = self.entries.iter().flat_map(BlobEntry::encode).collect();
        let xml = "\u{feff}<WIM></WIM>".encode_utf16();
        let xml: Vec<u8> = xml.flat_map(u16::to_le_bytes).collect();
        let mut header = WimHeader {
            images: 1,
            xml: self.resource(&xml),
            blobs: self.resource(&entries),
            ..WimHeader::empty()
        };
        change(&mut header);
        [&header.encode()[..], &self.body].concat()
    }
}

/// Returns a solid resource for LZMS, whose chunks are zeros and damaged.
pub fn solid(len: u64, chunk_size: u32, body: usize) -> Vec<u8> {
    let head = [
        &len.to_le_bytes()[..],
        &chunk_size.to_le_bytes(),
        &3_u32.to_le_bytes(),
    ];
    let mut bytes = head.concat();
    bytes.resize(bytes.len() + body, 0);
    bytes
}

/// Returns a directory entry.
pub fn entry(name: &str, attributes: u32, listing: u64, digest: Sha1Digest) -> Vec<u8> {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut bytes = vec![0; 102];
    bytes.extend_from_slice(&name);
    bytes.extend_from_slice(&[0; 2]);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let len = bytes.len() as u64;
    bytes[..8].copy_from_slice(&len.to_le_bytes());
    bytes[8..12].copy_from_slice(&attributes.to_le_bytes());
    bytes[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
    bytes[16..24].copy_from_slice(&listing.to_le_bytes());
    bytes[64..84].copy_from_slice(&digest);
    bytes[100..102].copy_from_slice(&(name.len() as u16).to_le_bytes());
    bytes
}

pub fn file(name: &str, digest: Sha1Digest) -> Vec<u8> {
    entry(name, attributes::NORMAL, 0, digest)
}

/// Where the listing of the root begins in metadata that [`directory`] makes.
pub const ROOT_LISTING: u64 = 8 + 104 + 8;

/// Returns metadata whose root has these entries.
pub fn directory(entries: &[Vec<u8>]) -> Vec<u8> {
    let root = entry("", attributes::DIRECTORY, ROOT_LISTING, [0; 20]);
    let security = [8_u32.to_le_bytes(), [0; 4]].concat();
    let mut bytes = [security, root, vec![0; 8], entries.concat()].concat();
    bytes.extend_from_slice(&[0; 8]);
    bytes
}
