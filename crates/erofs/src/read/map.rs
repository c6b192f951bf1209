//! Maps: where each byte of an inode's content is.
//!
//! In: a node and a position below its size. Out: the run of bytes around the position that come
//! from one place.
//!
//! **Invariant:** a run holds the position, is not empty, and does not reach past the size. Runs
//! are found from the metadata each time; a map keeps a small window of it and no list of runs.

mod chunks;
mod clusters;
mod extents;
mod flat;
mod found;
mod header;
mod indexes;
mod order;
mod window;

use sinterfs_model::Result;

use super::Erofs;
use super::config::Algorithm;
use super::device::Address;
use super::inode::{Layout, Node};
use super::metadata::Spot;
use crate::layout::compressed::advise;
use chunks::Chunks;
use clusters::Clusters;
use extents::Extents;
use header::Header;

pub(super) use found::Found;
pub(super) use order::InOrder;

/// Where the bytes of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: they are zeros.
    Hole,
    /// As they are, from this address on.
    Stored(Address),
    /// As they are, in metadata.
    Inline(Spot),
    /// In the packed inode, from this offset on.
    Packed(u64),
    /// In a cluster, from its start on.
    Cluster(Cluster),
}

/// Where the stored bytes of a cluster are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Storage {
    /// On a device.
    Device(Address),
    /// In metadata.
    Inline(Spot),
}

impl Storage {
    /// Makes the place of bytes that are stored as they are.
    fn place(self, skip: u64) -> Place {
        match self {
            Self::Device(address) => Place::Stored(address.skip(skip)),
            Self::Inline(spot) => Place::Inline(spot.skip(skip)),
        }
    }
}

impl std::fmt::Display for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device(address) => write!(f, "{address}"),
            Self::Inline(spot) => write!(f, "{spot}"),
        }
    }
}

/// Compressed bytes and how long their content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) storage: Storage,
    /// Stored bytes, padding too; at most `CLUSTER_MAX`.
    pub(crate) stored: u64,
    /// Bytes of content; at most `DECODED_MAX`.
    pub(crate) decoded: u64,
    pub(crate) algorithm: Algorithm,
    /// There is more content than that.
    pub(crate) partial: bool,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hole => f.write_str("hole"),
            Self::Stored(address) => write!(f, "stored {address}"),
            Self::Inline(spot) => write!(f, "inline {spot}"),
            Self::Packed(offset) => write!(f, "packed {offset:#x}"),
            Self::Cluster(cluster) => {
                let (name, partial) = (cluster.algorithm.name(), cluster.partial);
                write!(f, "{name} {}+{:#x}", cluster.storage, cluster.stored)?;
                f.write_str(if partial { " partial" } else { "" })
            }
        }
    }
}

/// Bytes of an inode from one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: u64,
    pub(crate) len: u64,
    pub(crate) place: Place,
}

impl Run {
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.len)
    }
}

/// A way to find the runs of a node.
#[derive(Debug)]
pub(crate) struct Map<'a> {
    image: &'a Erofs,
    node: &'a Node,
    kind: Kind,
}

#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a map is made for one read, on the stack: a box would cost each of them an allocation"
)]
enum Kind {
    Flat,
    Chunks(Chunks),
    Clusters(Clusters),
    Extents(Extents),
    /// All content is in the packed inode.
    Packed(u64),
}

impl<'a> Map<'a> {
    /// Begins to map a node's content.
    pub(crate) fn new(image: &'a Erofs, node: &'a Node) -> Result<Self> {
        let kind = match node.layout {
            Layout::Plain | Layout::Inline => Ok(Kind::Flat),
            Layout::Chunks => Chunks::new(image, node).map(Kind::Chunks),
            Layout::CompressedFull | Layout::CompressedCompact => compressed(image, node),
        };
        let kind = kind.map_err(|error| node.locate(error))?;
        Ok(Self { image, node, kind })
    }

    /// Returns how many runs there may be, without looking; `u64::MAX` for what has no holes.
    pub(crate) fn runs_at_most(&self) -> u64 {
        match &self.kind {
            Kind::Flat => 2,
            Kind::Chunks(chunks) => chunks.count(self.node),
            Kind::Clusters(_) | Kind::Extents(_) | Kind::Packed(_) => u64::MAX,
        }
    }

    /// Finds the run at a position, which is below the node's size. Runs of the packed inode, which
    /// one file after the other asks for, are remembered: a run of a long cluster is as long a way
    /// through its indexes.
    pub(crate) fn run_at(&mut self, position: u64) -> Result<Run> {
        let packed = self.image.packed.as_ref();
        if packed.is_none_or(|packed| packed.nid != self.node.nid) {
            return self.find(position);
        }
        let found = &self.image.packed_runs;
        match found.get(position) {
            Some(run) => Ok(run),
            None => self.find(position).inspect(|run| found.put(*run)),
        }
    }

    fn find(&mut self, position: u64) -> Result<Run> {
        let run = match &mut self.kind {
            Kind::Flat => flat::run_at(self.image, self.node, position),
            Kind::Chunks(chunks) => chunks.run_at(self.image, self.node, position),
            Kind::Clusters(clusters) => clusters.run_at(self.image, self.node, position),
            Kind::Extents(extents) => extents.run_at(self.image, self.node, position),
            Kind::Packed(offset) => Ok(Run {
                start: 0,
                len: self.node.size,
                place: Place::Packed(*offset),
            }),
        };
        run.map_err(|error| self.node.locate(error))
    }
}

/// Begins to map compressed content.
fn compressed(image: &Erofs, node: &Node) -> Result<Kind> {
    let header = Header::read(image, node)?;
    if let Some(offset) = header.whole_fragment() {
        return Ok(Kind::Packed(offset));
    }
    if header::is_full(node) && header.has(advise::EXTENTS) {
        return Extents::new(image, node, header).map(Kind::Extents);
    }
    Clusters::new(image, node, header).map(Kind::Clusters)
}
