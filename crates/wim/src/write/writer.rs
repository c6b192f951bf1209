//! `WimWriter`: the `ImageWriter` of this format.
//!
//! In: blocks, tree and content map. Out: bytes, to a sink, from front to back; the header last.
//!
//! **Invariant:** each content is a separate resource, in the order of first blocks, or all are in
//! one or two solid resources; then come the targets of links (in solid images after the metadata),
//! the metadata, the blob table and the XML data.

use std::fmt;
use std::sync::{Arc, Mutex};

use sinterfs_block::Sink;
use sinterfs_block::checksum::{Sha1, Sha1Digest};
use sinterfs_model::{
    Block, Content, ContentMap, Error, Geometry, ImageWriter, MapExtent, NodeId, Preceded, Result,
    SegmentEncoder, Summary, TailPlacement, TailSharing, Time, Tree,
};
use sinterfs_workers::WorkerPermits;

use super::compression::ChunkEncoder;
use super::encoder::{RawBytes, WimEncoder};
use super::entries::{link_data, units};
use super::kept::{ChunkStore, KEPT_MAX, OpenScratch, StoredChunks};
use super::link_targets::LinkTargets;
use super::losses::losses;
use super::metadata::{self, Digests, Metadata};
use super::options::WriteOptions;
use super::resources::Resources;
use super::solid::Solid;
use super::xml::{self, ImageFacts};
use crate::layout::{
    HEADER_LEN, HeaderFlags, ResourceEntry, ResourceFlags, SOLID_VERSION, VERSION, WimCodec,
    WimHeader,
};

/// The smallest chunk with which the last two of a solid image are of even length: encoding one
/// takes a thread so long that others would be idle.
const EVEN_CHUNK: u32 = 1 << 22;

/// Writes an image.
///
/// Memory: up to 64 MiB of stored bytes of the content that is being written (the rest is in a
/// scratch file), 4 bytes a chunk of it, 100 bytes for each content, and in `finish` the metadata,
/// some 200 bytes a name.
pub struct WimWriter {
    resources: Resources,
    solid: Option<Solid>,
    options: WriteOptions,
    raw: Arc<RawBytes>,
    blocks: u64,
    raw_bytes: u64,
}

impl fmt::Debug for WimWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("WimWriter");
        shown
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl WimWriter {
    /// Starts an image; `scratch` opens the file for what a large content has in excess of memory.
    /// `Invalid` for options that the format does not have.
    pub fn new(out: Box<dyn Sink>, options: WriteOptions, scratch: OpenScratch) -> Result<Self> {
        options.check()?;
        let store = ChunkStore::new(KEPT_MAX, scratch);
        let WriteOptions {
            compression,
            chunk_size,
            ..
        } = options;
        let mut resources = Resources::new(out, compression.codec.is_some(), store);
        let solid = compression.codec.filter(|_| compression.is_solid);
        resources.write(&[0; HEADER_LEN])?;
        Ok(Self {
            resources,
            solid: solid.map(|codec| Solid::new(codec, chunk_size)),
            options,
            raw: Arc::default(),
            blocks: 0,
            raw_bytes: 0,
        })
    }

    /// Writes the metadata as a separate resource.
    fn put_metadata(&mut self, metadata: &[u8]) -> Result<()> {
        let mut encoder = ChunkEncoder::default();
        let mut chunks = StoredChunks::default();
        let (compression, size) = (self.options.compression, self.chunk_size_alone());
        let permits = WorkerPermits::default();
        for chunk in metadata.chunks(size as usize) {
            let stored = encoder.encode(chunk, compression, size, &permits)?;
            self.resources.keep(&mut chunks, &stored)?;
        }
        let mut digest = Sha1::default();
        digest.update(metadata);
        let (len, digest) = (metadata.len() as u64, digest.finish());
        let flags = ResourceFlags::METADATA;
        self.resources.resource(len, &chunks, digest, flags)?;
        Ok(())
    }

    /// Returns the chunk size of resources that are not solid.
    fn chunk_size_alone(&self) -> u32 {
        let options = &self.options;
        options.compression.chunk_size_alone(options.chunk_size)
    }

    /// Writes bytes that the header refers to.
    fn put_table(&mut self, bytes: &[u8]) -> Result<ResourceEntry> {
        let (at, len) = (self.resources.at, bytes.len() as u64);
        self.resources.write(bytes)?;
        Ok(ResourceEntry {
            stored: len,
            flags: ResourceFlags(ResourceFlags::METADATA),
            at,
            len,
        })
    }

    /// Writes blob table and XML data, and then the header.
    fn put_tables(&mut self, tree: &Tree, made: &Metadata) -> Result<()> {
        let entries = self.resources.entries.iter();
        let table: Vec<u8> = entries.flat_map(crate::layout::BlobEntry::encode).collect();
        let blobs = self.put_table(&table)?;
        let created = self.created(tree);
        let (bytes, link_bytes) = sizes(tree);
        let facts = ImageFacts {
            name: &self.options.own.label,
            directories: made.directories,
            files: made.files,
            bytes,
            link_bytes,
            created,
            file_bytes: self.resources.at,
        };
        let xml = self.put_table(&xml::make(&facts))?;
        let mut digest = Sha1::default();
        digest.update(&table);
        digest.update(&created.to_le_bytes());
        let header = self.header(blobs, xml, &digest.finish());
        self.resources.finish(&header.encode())
    }

    fn header(&self, blobs: ResourceEntry, xml: ResourceEntry, digest: &Sha1Digest) -> WimHeader {
        let codec = match self.options.compression.codec {
            None => 0,
            Some(WimCodec::Xpress) => HeaderFlags::COMPRESSION | HeaderFlags::XPRESS,
            Some(WimCodec::Lzx) => HeaderFlags::COMPRESSION | HeaderFlags::LZX,
            Some(WimCodec::Lzms) => HeaderFlags::COMPRESSION | HeaderFlags::LZMS,
        };
        let is_compressed = codec != 0;
        WimHeader {
            version: if self.options.compression.is_solid {
                SOLID_VERSION
            } else {
                VERSION
            },
            flags: HeaderFlags(codec),
            chunk_size: if is_compressed {
                self.chunk_size_alone()
            } else {
                0
            },
            // the same input gives the same number
            guid: digest.first_chunk().copied().unwrap_or_default(),
            images: 1,
            blobs,
            xml,
            ..WimHeader::empty()
        }
    }

    fn created(&self, tree: &Tree) -> u64 {
        let given = self.options.created.map(|secs| Time {
            secs: i64::try_from(secs).unwrap_or(i64::MAX),
            nanos: 0,
        });
        let times = tree.nodes().iter().map(|node| node.meta.times.modified);
        let latest = times.max_by_key(|time| (time.secs, time.nanos));
        given.or(latest).map_or(0, units)
    }
}

/// Returns the bytes of all files by their names, and the bytes of names beyond the first.
fn sizes(tree: &Tree) -> (u64, u64) {
    let (mut bytes, mut of_links) = (0_u64, 0_u64);
    for node in tree.nodes() {
        if let Content::File { size } = node.content {
            let further = u64::from(node.links.saturating_sub(1));
            bytes = bytes.saturating_add(size.saturating_mul(further + 1));
            of_links = of_links.saturating_add(size.saturating_mul(further));
        }
    }
    (bytes, of_links)
}

impl ImageWriter for WimWriter {
    fn geometry(&self) -> Geometry {
        if self.solid.is_some() {
            return Geometry::Stream {
                block_size: self.options.chunk_size,
                even_end: self.options.chunk_size >= EVEN_CHUNK,
            };
        }
        Geometry::PerFile {
            unit: self.options.chunk_size,
            tails: TailPlacement::Alone,
            holes: false,
            repeats: None,
            sharing: TailSharing::Never,
        }
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(WimEncoder {
            compression: self.options.compression,
            chunk_size: self.options.chunk_size,
            raw: Arc::clone(&self.raw),
            idle: Mutex::default(),
        })
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let number = block.sequence;
        let raw = self.raw.take(number);
        let raw = raw.ok_or_else(|| Error::invalid(format!("block {number} was not encoded")))?;
        let is_first = block.preceded() == Preceded::ByNothing;
        self.blocks += 1;
        self.raw_bytes += raw.bytes.len() as u64;
        let (stored, resources) = (&block.bytes, &mut self.resources);
        match &mut self.solid {
            Some(solid) => solid.chunk(stored, &raw, resources),
            None => resources.chunk(number, is_first, stored, &raw.bytes),
        }
    }

    fn finish(mut self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        self.resources.close()?;
        let solid = self.solid.take();
        let chunk_starts = solid.map(|solid| solid.finish(&mut self.resources));
        let chunk_starts = chunk_starts.transpose()?;
        let block_bytes = self.resources.at - HEADER_LEN as u64;
        let mut digests = WrittenDigests {
            resources: &mut self.resources,
            map,
            chunk_starts: chunk_starts.as_deref(),
            links: LinkTargets::default(),
        };
        let made = metadata::make(tree, &self.options.streams, &mut digests)?;
        let links = digests.links;
        self.put_metadata(&made.bytes)?;
        if let (Some(codec), Some(_)) = (self.options.compression.codec, &chunk_starts) {
            let chunks = (self.options.compression, self.options.chunk_size);
            links.finish(codec, chunks, &mut self.resources)?;
        }
        self.put_tables(tree, &made)?;
        let image_bytes = self.resources.at;
        Ok(Summary {
            image_bytes,
            blocks: self.blocks,
            raw_bytes: self.raw_bytes,
            block_bytes,
            metadata_bytes: image_bytes - block_bytes,
            root_digest: None,
            losses: losses(tree, made.left_out, &self.options.streams),
        })
    }
}

/// The digests of content that was written.
struct WrittenDigests<'a> {
    resources: &'a mut Resources,
    map: &'a ContentMap,
    /// The positions of the chunks of a solid image.
    chunk_starts: Option<&'a [u64]>,
    /// The targets of links of a solid image.
    links: LinkTargets,
}

impl WrittenDigests<'_> {
    /// Returns the digest of bytes that are no file's content, and writes them.
    fn of_bytes(&mut self, bytes: &[u8]) -> Result<Sha1Digest> {
        match self.chunk_starts {
            Some(_) => self.links.add(bytes, self.resources),
            None => self.resources.small(bytes),
        }
    }
}

impl Digests for WrittenDigests<'_> {
    fn of_file(&mut self, node: NodeId) -> Result<Sha1Digest> {
        let Some(extent) = self.map.extents(node).first() else {
            return Ok([0; 20]);
        };
        let start = match (extent, self.chunk_starts) {
            (MapExtent::Data { block, offset, .. }, Some(starts)) => {
                let start = starts.get(block.0 as usize);
                start.map(|start| start + u64::from(*offset))
            }
            (
                MapExtent::Data {
                    block, offset: 0, ..
                },
                None,
            ) => Some(block.0.into()),
            _ => None,
        };
        let start = start
            .ok_or_else(|| Error::invalid("content was cut in a way that WIM cannot store"))?;
        let index = self.resources.starting_at(start).ok_or_else(|| {
            Error::invalid(format!(
                "a file has content from {start} on, where no content starts"
            ))
        })?;
        Ok(self.resources.refer(index))
    }

    fn of_link(&mut self, target: &[u8]) -> Result<(u32, Sha1Digest)> {
        let (tag, data) = link_data(target);
        Ok((tag, self.of_bytes(&data)?))
    }

    fn of_stream(&mut self, content: &[u8]) -> Result<Sha1Digest> {
        if content.is_empty() {
            return Ok([0; 20]);
        }
        self.of_bytes(content)
    }
}
