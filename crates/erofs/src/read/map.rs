//! Maps: where each byte of an inode's content is.
//!
//! In: a node and a position below its size. Out: the run of bytes around the position that come
//! from one place.
//!
//! **Invariant:** a run holds the position, is not empty, and does not reach past the size. Runs are
//! found from the metadata each time; a map keeps a small window of it and no list of runs.

mod chunks;
mod flat;

use model::{Error, Result};

use super::Erofs;
use super::device::Address;
use super::inode::{Layout, Node};
use super::metadata::Spot;
use chunks::Chunks;

/// Where the bytes of a run are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Nowhere: they are zeros.
    Hole,
    /// As they are, from this address on.
    Stored(Address),
    /// As they are, in metadata.
    Inline(Spot),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hole => f.write_str("hole"),
            Self::Stored(address) => write!(f, "stored {address}"),
            Self::Inline(spot) => write!(f, "inline {spot}"),
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
enum Kind {
    Flat,
    Chunks(Chunks),
}

impl<'a> Map<'a> {
    /// Begins to map a node's content.
    pub(crate) fn new(image: &'a Erofs, node: &'a Node) -> Result<Self> {
        let kind = match node.layout {
            Layout::Plain | Layout::Inline => Ok(Kind::Flat),
            Layout::Chunks => Chunks::new(image, node).map(Kind::Chunks),
            Layout::CompressedFull | Layout::CompressedCompact => {
                Err(Error::unsupported("compressed content"))
            }
        };
        let kind = kind.map_err(|error| node.locate(error))?;
        Ok(Self { image, node, kind })
    }

    /// Tells how many runs there may be, without looking; `u64::MAX` for what has no holes.
    pub(crate) fn runs_at_most(&self) -> u64 {
        match &self.kind {
            Kind::Flat => 2,
            Kind::Chunks(chunks) => chunks.count(self.node),
        }
    }

    /// Finds the run at a position, which is below the node's size.
    pub(crate) fn run_at(&mut self, position: u64) -> Result<Run> {
        let run = match &mut self.kind {
            Kind::Flat => flat::run_at(self.image, self.node, position),
            Kind::Chunks(chunks) => chunks.run_at(self.image, self.node, position),
        };
        run.map_err(|error| self.node.locate(error))
    }
}
