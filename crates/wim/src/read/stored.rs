//! The storage of content: chunks, codecs, and decoded sizes.

use std::collections::BTreeSet;

use sinterfs_model::Result;

use super::chunks::ResourceKind;
use super::content::Contents;
use super::open::Wim;

/// A chunk as it is stored; a resource without compression is one.
#[derive(Debug, Clone, Copy)]
pub struct StoredChunk {
    /// The number of the block, as in extents.
    pub block: u64,
    /// Stored bytes.
    pub stored: u64,
    /// The name of the codec.
    pub codec: &'static str,
}

impl Wim {
    /// Visits the chunks of all content, but not of metadata.
    pub fn stored_chunks(&self, visit: &mut dyn FnMut(StoredChunk)) -> Result<()> {
        let table = &self.contents.table;
        let used: BTreeSet<u32> = table.blobs.iter().map(|blob| blob.resource).collect();
        for number in used {
            let Some(resource) = table.resources.get(number as usize) else {
                continue;
            };
            let Some(encoding) = resource.encoding() else {
                visit(StoredChunk {
                    block: Contents::block(resource, 0),
                    stored: resource.stored,
                    codec: "none",
                });
                continue;
            };
            for index in 0..resource.chunk_count() {
                let Some(file) = self.contents.parts.get(resource.part) else {
                    break;
                };
                let chunk = resource.locate(file, index)?;
                let is_plain = chunk.stored == chunk.len;
                visit(StoredChunk {
                    block: Contents::block(resource, index),
                    stored: chunk.stored,
                    codec: if is_plain {
                        "none"
                    } else {
                        encoding.codec.name()
                    },
                });
            }
        }
        Ok(())
    }

    /// Returns the codecs of solid resources, with their chunk sizes.
    pub fn solid_codecs(&self) -> Vec<String> {
        let resources = self.contents.table.resources.iter();
        let solid: BTreeSet<String> = resources
            .filter_map(|resource| match resource.kind {
                ResourceKind::Solid(encoding) => {
                    let name = encoding.codec.name();
                    Some(format!("{name}, chunks of {}", encoding.chunk_size))
                }
                _ => None,
            })
            .collect();
        solid.into_iter().collect()
    }

    /// Returns the bytes of all content when it is decoded.
    pub fn decoded_bytes(&self) -> u64 {
        let blobs = self.contents.table.blobs.iter();
        blobs.fold(0, |sum, blob| u64::saturating_add(sum, blob.len))
    }
}
