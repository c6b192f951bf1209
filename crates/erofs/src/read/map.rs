//! Maps: where each byte of an inode's content is.
//!
//! In: a node and a position below its size. Out: the extent around the position whose bytes are in
//! one place.
//!
//! **Invariant:** an extent contains the position, is not empty, and ends at the size at the
//! latest. Extents are found from the metadata each time; a map keeps a small window of it and no
//! list.

mod chunks;
mod clusters;
mod extents;
mod flat;
mod header;
mod indexes;
mod window;

use sinterfs_model::Result;

use super::erofs::Erofs;
use super::node::ErofsInode;
use crate::layout::DataLayout;
use crate::layout::compressed::advise;
use chunks::Chunks;
use clusters::Clusters;
use extents::Extents;
use header::CompressedHeader;

pub(crate) use super::mapped::{ContentLocation, MappedExtent, Pcluster, PclusterLocation};

/// The map of an inode.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    image: &'a Erofs,
    node: &'a ErofsInode,
    kind: MapKind,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a map is made for one read, on the stack: a box would cost each of them an allocation"
)]
enum MapKind {
    Flat,
    Chunks(Chunks),
    Clusters(Clusters),
    Extents(Extents),
    /// All content is in the packed inode.
    Packed(u64),
}

impl<'a> Map<'a> {
    /// Begins to map a node's content.
    pub(crate) fn new(image: &'a Erofs, node: &'a ErofsInode) -> Result<Self> {
        let kind = match node.layout {
            DataLayout::Plain | DataLayout::Inline => Ok(MapKind::Flat),
            DataLayout::Chunks => Chunks::new(image, node).map(MapKind::Chunks),
            DataLayout::CompressedFull | DataLayout::CompressedCompact => compressed(image, node),
        };
        let kind = kind.map_err(|error| node.locate(error))?;
        Ok(Self { image, node, kind })
    }

    /// Returns how many extents there may be, without looking; `u64::MAX` for maps without holes.
    pub(crate) fn runs_at_most(&self) -> u64 {
        match &self.kind {
            MapKind::Flat => 2,
            MapKind::Chunks(chunks) => chunks.count(self.node),
            MapKind::Clusters(_) | MapKind::Extents(_) | MapKind::Packed(_) => u64::MAX,
        }
    }

    /// Returns the extent at a position, which is below the node's size. Extents of the packed
    /// inode, which one file after the other needs, are remembered: finding one of many lclusters
    /// takes a walk through its indexes.
    pub(crate) fn find(&mut self, position: u64) -> Result<MappedExtent> {
        let packed = self.image.packed.as_ref();
        if packed.is_none_or(|packed| packed.nid != self.node.nid) {
            return self.look_up(position);
        }
        let found = &self.image.packed_extents_found;
        match found.get(position) {
            Some(mapped) => Ok(mapped),
            None => self.look_up(position).inspect(|mapped| found.put(*mapped)),
        }
    }

    fn look_up(&mut self, position: u64) -> Result<MappedExtent> {
        let mapped = match &mut self.kind {
            MapKind::Flat => flat::find(self.image, self.node, position),
            MapKind::Chunks(chunks) => chunks.find(self.image, self.node, position),
            MapKind::Clusters(clusters) => clusters.find(self.image, self.node, position),
            MapKind::Extents(extents) => extents.find(self.image, self.node, position),
            MapKind::Packed(offset) => Ok(MappedExtent {
                start: 0,
                len: self.node.size,
                location: ContentLocation::Packed(*offset),
            }),
        };
        mapped.map_err(|error| self.node.locate(error))
    }
}

/// Begins to map compressed content.
fn compressed(image: &Erofs, node: &ErofsInode) -> Result<MapKind> {
    let header = CompressedHeader::read(image, node)?;
    if let Some(offset) = header.whole_fragment() {
        return Ok(MapKind::Packed(offset));
    }
    if header::is_full(node) && header.has(advise::EXTENTS) {
        return Extents::new(image, node, header).map(MapKind::Extents);
    }
    Clusters::new(image, node, header).map(MapKind::Clusters)
}
