//! Places clusters with large contents where few blocks have to be decoded to read them.
//!
//! Enters a chain of one category; leaves it with the clusters of large contents first, by
//! descending size, each beginning a block, and the rest of their last blocks filled with the other
//! clusters in their order. So a large content is decoded with nothing before it, and, as contents
//! refer to earlier ones only, the largest refer to the fewest blocks.
//! **Invariant:** clusters stay whole; depends on the chain and the sizes alone.

use super::chain::Chain;
use super::ordered::Ordered;

/// Contents of at least this fraction of a block are large.
const LARGE: u64 = 8;

/// A cluster of a chain.
struct Cluster<'a> {
    contents: &'a [u32],
    bytes: u64,
    largest: u64,
}

/// Appends a chain to an order.
pub(super) fn place(
    chain: &Chain,
    block_size: u64,
    size: impl Fn(u32) -> u64,
    ordered: &mut Ordered,
) {
    let ends = chain.clusters.iter().skip(1).copied();
    let ends = ends.chain([chain.contents.len()]);
    let cluster = |(&start, end): (&usize, usize)| {
        let contents = &chain.contents[start..end];
        let sizes = contents.iter().map(|&content| size(content));
        Cluster {
            contents,
            bytes: sizes.clone().fold(0, u64::saturating_add),
            largest: sizes.max().unwrap_or(0),
        }
    };
    let clusters = chain.clusters.iter().zip(ends).map(cluster);
    let (mut large, small): (Vec<_>, Vec<_>) =
        clusters.partition(|cluster| cluster.largest >= block_size / LARGE);
    // stable: equal sizes keep the order of the chain
    large.sort_by_key(|cluster| std::cmp::Reverse(cluster.largest));
    let mut small = small.into_iter().peekable();
    // what remains of the last block
    let mut room = 0;
    for cluster in large {
        // without small ones to fill blocks with, large ones share them
        if cluster.bytes > room {
            ordered.block_starts.extend(cluster.contents.first());
            room = block_size;
        }
        ordered.contents.extend_from_slice(cluster.contents);
        room = if cluster.bytes <= room {
            room - cluster.bytes
        } else {
            (block_size - cluster.bytes % block_size) % block_size
        };
        while let Some(next) = small.next_if(|next| next.bytes <= room) {
            ordered.contents.extend_from_slice(next.contents);
            room -= next.bytes;
        }
        if small.peek().is_some() {
            room = 0;
        }
    }
    for cluster in small {
        ordered.contents.extend_from_slice(cluster.contents);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places contents of these sizes, each a cluster of its own, in blocks of 80 bytes.
    fn placed(sizes: &[u64]) -> (Vec<u32>, Vec<u32>) {
        let chain = Chain {
            contents: (0..sizes.len() as u32).collect(),
            clusters: (0..sizes.len()).collect(),
        };
        let mut ordered = Ordered {
            contents: Vec::new(),
            block_starts: Vec::new(),
        };
        place(&chain, 80, |content| sizes[content as usize], &mut ordered);
        (ordered.contents, ordered.block_starts)
    }

    #[test]
    fn large_contents_begin_blocks_that_small_ones_fill() {
        let (contents, starts) = placed(&[9, 60, 9, 100, 9, 9, 9, 9, 9, 9]);
        // 100 leaves 60 bytes of its second block, for 6 small ones; the rest comes after 60
        assert_eq!(contents, [3, 0, 2, 4, 5, 6, 7, 1, 8, 9]);
        assert_eq!(starts, [3, 1]);
    }

    #[test]
    fn without_small_contents_large_ones_share_blocks() {
        let (contents, starts) = placed(&[30, 40, 50]);
        assert_eq!(contents, [2, 1, 0]);
        assert_eq!(starts, [2, 1]);
        assert_eq!(placed(&[1, 2]).1, []);
        assert_eq!(placed(&[]).0, []);
    }
}
