//! Writes DwarFS images of version 2.5: blocks in sequence, then schema, metadata, history and
//! index.
//!
//! In: encoded blocks in sequence, then the tree and the map of its content. Out: an image, written
//! from front to back. **Invariant:** the image depends only on these and on the options. Format:
//! upstream's dwarfs-format(5), `thrift/*.thrift` and `frozen/`.

mod chunks;
mod compact;
mod freeze;
mod fsst;
mod history;
mod metadata;
mod metadata_copy;
mod numbering;
mod options;
mod rewritten;
mod section;
mod strings;
mod times;
mod writer;
pub(crate) mod xattrs;

pub use options::{
    DwarfsOptions, HistoryInfo, Packing, StringPacking, TimeResolution, WriteOptions,
    category_codecs,
};
pub use writer::DwarfsWriter;

pub(crate) use metadata::BlockCategories;
pub(crate) use section::{Index, assemble};
pub(crate) use writer::{BlockEncoder, set_minor};

/// Converts counts to the start of each run and the end of the last; if packed, to the differences
/// of these, the first being zero.
fn with_sentinel(counts: &[u32], packed: bool) -> Vec<u32> {
    let mut table = Vec::with_capacity(counts.len() + 1);
    let mut end = 0;
    table.push(0);
    for &count in counts {
        end = if packed { count } else { end + count };
        table.push(end);
    }
    table
}
