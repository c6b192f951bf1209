//! Solid resources: all content one after another, in chunks that hold many files.
//!
//! In: stored chunks in order, with the bytes that they were made of and where contents begin. Out:
//! a resource, and another one after each chunk that is shorter than the rest; an entry for each of
//! them and for each content.
//!
//! **Invariant:** the entries of contents follow the entries of all resources, and count positions
//! from the start of the first one; no two have one digest.

use sinterfs_block::checksum::{Sha1, Sha1Digest, Xxh3};
use sinterfs_model::{Error, Result};

use super::encoder::Raw;
use super::kept::StoredChunks;
use super::resources::{Fingerprint, Resources};
use crate::layout::{BlobEntry, ResourceEntry, ResourceFlags, SOLID_LEN, WimCodec};

/// The content that is being read.
#[derive(Debug)]
struct Open {
    /// Its position in the stream.
    start: u64,
    digest: Sha1,
    hash: Xxh3,
}

/// A content of the resource.
#[derive(Debug)]
struct Member {
    start: u64,
    len: u64,
    digest: Sha1Digest,
    hash: u64,
}

/// The resources while their chunks come in.
#[derive(Debug)]
pub(super) struct Solid {
    codec: WimCodec,
    chunk_size: u32,
    /// The chunks of the resource that is not written yet, and where it begins.
    chunks: StoredChunks,
    start: u64,
    /// The resources that were written.
    written: Vec<BlobEntry>,
    /// The position of each chunk.
    chunk_starts: Vec<u64>,
    /// Decoded bytes so far.
    len: u64,
    open: Option<Open>,
    members: Vec<Member>,
}

impl Solid {
    pub(super) fn new(codec: WimCodec, chunk_size: u32) -> Self {
        Self {
            codec,
            chunk_size,
            chunks: StoredChunks::default(),
            start: 0,
            written: Vec::new(),
            chunk_starts: Vec::new(),
            len: 0,
            open: None,
            members: Vec::new(),
        }
    }

    /// Adds a chunk. A resource after a shorter chunk must begin with a content.
    pub(super) fn chunk(
        &mut self,
        stored: &[u8],
        raw: &Raw,
        resources: &mut Resources,
    ) -> Result<()> {
        let chunk = u64::from(self.chunk_size);
        if !(self.len - self.start).is_multiple_of(chunk) {
            if raw.begins.first() != Some(&0) {
                return Err(Error::invalid("a content that is in two solid resources"));
            }
            self.write(resources)?;
        }
        self.chunk_starts.push(self.len);
        let mut at = 0;
        for &begin in &raw.begins {
            let begin = begin as usize;
            self.add(raw.bytes.get(at..begin).unwrap_or_default());
            self.close();
            self.open = Some(Open {
                start: self.len,
                digest: Sha1::default(),
                hash: Xxh3::default(),
            });
            at = begin;
        }
        self.add(raw.bytes.get(at..).unwrap_or_default());
        resources.keep(&mut self.chunks, stored)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.len += bytes.len() as u64;
        if let Some(open) = &mut self.open {
            open.digest.update(bytes);
            open.hash.update(bytes);
        }
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.members.push(Member {
                start: open.start,
                len: self.len - open.start,
                digest: open.digest.finish(),
                hash: open.hash.digest(),
            });
        }
    }

    /// Writes the resource that is not written yet.
    fn write(&mut self, resources: &mut Resources) -> Result<()> {
        let at = resources.at;
        let len = self.len - self.start;
        let chunks = std::mem::take(&mut self.chunks);
        let codec = self.codec.number();
        let head = [
            &len.to_le_bytes()[..],
            &self.chunk_size.to_le_bytes(),
            &codec.to_le_bytes(),
        ];
        resources.write(&head.concat())?;
        let lens = chunks.lens.iter();
        let table: Vec<u8> = lens.flat_map(|len| len.to_le_bytes()).collect();
        resources.write(&table)?;
        resources.copy(&chunks)?;
        self.start = self.len;
        self.written.push(BlobEntry {
            resource: ResourceEntry {
                stored: resources.at - at,
                flags: ResourceFlags(ResourceFlags::SOLID),
                at,
                len: SOLID_LEN,
            },
            part: 1,
            references: 1,
            digest: [0; 20],
        });
        Ok(())
    }

    /// Writes the last resource and adds the entries; returns where each chunk begins in the
    /// decoded bytes of all resources.
    pub(super) fn finish(mut self, resources: &mut Resources) -> Result<Vec<u64>> {
        self.close();
        if self.len > self.start {
            self.write(resources)?;
        }
        resources.entries.append(&mut self.written);
        let flags = ResourceFlags(ResourceFlags::SOLID);
        for member in self.members {
            let print = Fingerprint {
                len: member.len,
                hash: member.hash,
            };
            resources.member(member.start, member.digest, print, || BlobEntry {
                resource: ResourceEntry {
                    stored: member.len,
                    flags,
                    at: member.start,
                    len: 0,
                },
                part: 1,
                references: 0,
                digest: member.digest,
            })?;
        }
        Ok(self.chunk_starts)
    }
}
