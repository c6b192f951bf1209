//! Single stages of the pipeline over bytes in memory, for micro-benchmarks only.
//!
//! Not part of the library's interface: it changes with the pipeline.

use sinterfs_model::{Category, ReadCost, Result};
use sinterfs_platform::Scratch;

use crate::anchors::{Finder, Spacing};
use crate::match_store::Retention;
use crate::segment::solid::{Solid, SolidOptions};
use crate::sketch::Sketcher;

/// Bytes of a buffer, as the readers pass them on.
const READ_SIZE: usize = 1 << 20;

/// Runs the gear pass over content and returns the number of its anchors.
pub fn anchors(content: &[u8]) -> usize {
    let mut finder = Finder::new(Spacing::for_content(content.len() as u64));
    let pieces = content.chunks(READ_SIZE);
    pieces.map(|piece| finder.find(piece).len()).sum()
}

/// Returns the similarity sketch of content.
pub fn sketch(content: &[u8]) -> [u32; 16] {
    let mut sketcher = Sketcher::new();
    sketcher.update(content);
    sketcher.finish()
}

/// Cuts contents into blocks of 4 MiB, gear pass included, and returns how many bytes matched
/// earlier content.
pub fn segment(contents: &[&[u8]]) -> Result<u64> {
    let total = contents.iter().map(|content| content.len() as u64).sum();
    let cut = SolidOptions {
        block_size: 4 << 20,
        codec_window: 4 << 20,
        total,
        read_cost: ReadCost::Free,
        price_factors: Vec::new(),
        retention: Retention {
            max_blocks: 64,
            max_bytes: u64::MAX,
            lookback: 64,
            scratch: Scratch::new(std::env::temp_dir()),
        },
        base: None,
    };
    let mut segmenter = Solid::new(cut, |_| Ok(()))?;
    for content in contents {
        let mut finder = Finder::new(Spacing::for_content(total));
        for piece in content.chunks(READ_SIZE) {
            segmenter.data(piece, &finder.find(piece), Category::Default)?;
        }
        segmenter.end();
    }
    Ok(segmenter.finish()?.matched)
}
