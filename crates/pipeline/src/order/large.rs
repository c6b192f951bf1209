//! Places large contents where few blocks have to be decoded to read them.
//!
//! Enters a chain of one category; leaves it in an order in which large contents begin blocks.
//! `first_in_category` puts the clusters of large contents first, by descending size, each at the
//! beginning of a block, and fills the rest of their last blocks with the other clusters in their
//! order: a large content is decoded with nothing before it, and, as contents refer to earlier ones
//! only, the largest refer to the fewest blocks. `first_in_blocks` leaves the contents in the
//! blocks that the chain gives them, and moves the large ones to the beginnings of these.
//!
//! **Invariant:** depends only on the chain and the sizes; `first_in_category` keeps clusters
//! whole.

use super::chain::Chain;
use super::ordered::Ordered;

/// Contents of at least this fraction of a block are large.
const LARGE: u64 = 8;

/// Returns the fewest bytes of a large content.
pub(super) fn least(block_size: u64) -> u64 {
    block_size / LARGE
}

/// A cluster of a chain.
struct Cluster<'a> {
    contents: &'a [u32],
    bytes: u64,
    largest: u64,
}

/// The contents that are expected to be in one block, and its room for more.
struct Window {
    contents: Vec<u32>,
    room: u64,
    block_size: u64,
}

impl Window {
    /// Takes a content if there is room for it, or nothing else in the block.
    fn take(&mut self, content: u32, size: u64) -> bool {
        if size > self.room && !self.contents.is_empty() {
            return false;
        }
        self.room = match self.room.checked_sub(size) {
            Some(room) => room,
            None => (self.block_size - size % self.block_size) % self.block_size,
        };
        self.contents.push(content);
        true
    }
}

/// Appends a chain to an order, with the large contents of each block first in it.
pub(super) fn first_in_blocks(
    chain: &Chain,
    block_size: u64,
    size: impl Fn(u32) -> u64,
    ordered: &mut Ordered,
) {
    let is_large = |content: u32| size(content) >= least(block_size);
    let mut contents = chain.contents.iter().copied().peekable();
    while contents.peek().is_some() {
        let mut window = Window {
            contents: Vec::new(),
            room: block_size,
            block_size,
        };
        while let Some(&next) = contents.peek() {
            if !window.take(next, size(next)) {
                break;
            }
            contents.next();
        }
        // stable: equal sizes, and small contents, keep the order of the chain
        let key =
            |&content: &u32| std::cmp::Reverse(Some(size(content)).filter(|_| is_large(content)));
        window.contents.sort_by_key(key);
        let first = window.contents.first().copied();
        ordered
            .block_starts
            .extend(first.filter(|&first| is_large(first)));
        ordered.contents.append(&mut window.contents);
    }
}

/// Appends a chain to an order, with the clusters of large contents first.
pub(super) fn first_in_category(
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
        clusters.partition(|cluster| cluster.largest >= least(block_size));
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
            ..Chain::default()
        };
        let mut ordered = Ordered {
            contents: Vec::new(),
            block_starts: Vec::new(),
            price_factors: Vec::new(),
        };
        first_in_category(&chain, 80, |content| sizes[content as usize], &mut ordered);
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

    #[test]
    fn large_contents_move_to_the_beginnings_of_their_blocks() {
        let sizes = [30, 9, 40, 60, 5, 5, 200, 3, 9];
        let chain = Chain {
            contents: (0..sizes.len() as u32).collect(),
            clusters: vec![0],
            ..Chain::default()
        };
        let mut ordered = Ordered {
            contents: Vec::new(),
            block_starts: Vec::new(),
            price_factors: Vec::new(),
        };
        first_in_blocks(&chain, 80, |content| sizes[content as usize], &mut ordered);
        // 60 has no room in the first block nor 200 in the second, and the third one's last block
        // has room for 3 and 9
        assert_eq!(ordered.contents, [2, 0, 1, 3, 4, 5, 6, 7, 8]);
        assert_eq!(ordered.block_starts, [2, 3, 6]);
    }
}
