//! Lengths of codewords from frequencies: Huffman's algorithm with a bound on the length.
//!
//! In: the frequency of each symbol. Out: the length of its codeword, 0 for frequency 0.
//!
//! **Invariant:** the lengths are those that decoders of LZMS compute: symbols of equal frequency
//! are in their order, a symbol goes before a subtree of equal frequency, and where the bound cuts
//! the tree, the deepest inner node above the bound takes the leaves.

/// The most symbols of a code.
pub(crate) const MAX_SYMBOLS: usize = 1024;

/// Computes lengths of codewords; keeps its memory between codes.
#[derive(Debug, Default)]
pub(crate) struct LengthBuilder {
    /// Frequency times `MAX_SYMBOLS` plus symbol, ascending.
    sorted: Vec<u64>,
    /// The frequencies of the inner nodes in the order in which they are made.
    inner: Vec<u64>,
    /// The parent of each inner node, then its depth.
    parents: Vec<u32>,
}

impl LengthBuilder {
    /// Sets the lengths for these frequencies, each at most `max`. A single symbol gets one bit,
    /// and so does the first other one.
    pub(crate) fn build(&mut self, frequencies: &[u32], max: usize, lengths: &mut [u8]) {
        lengths.fill(0);
        self.sorted.clear();
        let used = (0_u64..).zip(frequencies).filter(|(_, count)| **count > 0);
        let keys = used.map(|(symbol, &count)| u64::from(count) * MAX_SYMBOLS as u64 + symbol);
        self.sorted.extend(keys);
        if self.sorted.len() < 2 {
            let only = self.sorted.first().map_or(0, |key| symbol_of(*key));
            for symbol in [only, usize::from(only == 0)] {
                if let Some(len) = lengths.get_mut(symbol) {
                    *len = 1;
                }
            }
            return;
        }
        self.sorted.sort_unstable();
        self.join();
        let counts = self.counts(max);
        let mut symbols = self.sorted.iter().map(|key| symbol_of(*key));
        for (len, &count) in (0_u8..17).zip(&counts).rev() {
            for symbol in symbols.by_ref().take(count as usize) {
                if let Some(room) = lengths.get_mut(symbol) {
                    *room = len;
                }
            }
        }
    }

    /// Joins the two least frequent nodes until one is left.
    fn join(&mut self) {
        let leaves = self.sorted.len();
        self.inner.clear();
        self.parents.clear();
        self.parents.resize(leaves, 0);
        let (mut leaf, mut node) = (0, 0);
        for number in 0..leaves - 1 {
            let mut sum = 0;
            for _ in 0..2 {
                let of_leaf = self.sorted.get(leaf).map(|key| key / MAX_SYMBOLS as u64);
                let of_node = self.inner.get(node).copied();
                match (of_leaf, of_node) {
                    (Some(count), None) => {
                        sum += count;
                        leaf += 1;
                    }
                    (Some(count), Some(inner)) if count <= inner => {
                        sum += count;
                        leaf += 1;
                    }
                    (_, inner) => {
                        sum += inner.unwrap_or(0);
                        if let Some(parent) = self.parents.get_mut(node) {
                            *parent = u32::try_from(number).unwrap_or(0);
                        }
                        node += 1;
                    }
                }
            }
            self.inner.push(sum);
        }
    }

    /// Returns the number of leaves of each depth up to `max`.
    fn counts(&mut self, max: usize) -> [u32; 17] {
        let mut counts = [0_u32; 17];
        let root = self.inner.len() - 1;
        if let Some(two) = counts.get_mut(1) {
            *two = 2;
        }
        if let Some(depth) = self.parents.get_mut(root) {
            *depth = 0;
        }
        for node in (0..root).rev() {
            let parent = self.parents.get(node).map_or(0, |parent| *parent as usize);
            let depth = self.parents.get(parent).map_or(0, |depth| depth + 1);
            if let Some(room) = self.parents.get_mut(node) {
                *room = depth;
            }
            let mut len = depth as usize;
            if len >= max {
                len = max - 1;
                while counts.get(len) == Some(&0) {
                    len -= 1;
                }
            }
            if let Some([here, below]) = counts.get_mut(len..len + 2) {
                *here -= 1;
                *below += 2;
            }
        }
        counts
    }
}

fn symbol_of(key: u64) -> usize {
    usize::try_from(key % MAX_SYMBOLS as u64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(frequencies: &[u32], max: usize) -> Vec<u8> {
        let mut lengths = vec![9; frequencies.len()];
        LengthBuilder::default().build(frequencies, max, &mut lengths);
        lengths
    }

    #[test]
    fn lengths_follow_frequencies() {
        assert_eq!(lengths(&[1, 1, 2, 4], 15), [3, 3, 2, 1]);
        assert_eq!(lengths(&[5, 0, 5, 0], 15), [1, 0, 1, 0]);
        assert_eq!(lengths(&[0, 0, 7], 15), [1, 0, 1]);
        assert_eq!(lengths(&[7, 0, 0], 15), [1, 1, 0]);
        // a bound of two bits leaves no choice
        assert_eq!(lengths(&[1, 1, 2, 4], 2), [2, 2, 2, 2]);
    }

    #[test]
    fn bounded_codes_are_complete() {
        let mut fibonacci = vec![1_u32, 1];
        while fibonacci.len() < 30 {
            fibonacci.push(fibonacci[fibonacci.len() - 1] + fibonacci[fibonacci.len() - 2]);
        }
        for max in [5, 8, 15, 16] {
            let lengths = lengths(&fibonacci, max);
            let sum: u32 = lengths.iter().map(|&len| 1 << (16 - len)).sum();
            assert_eq!(sum, 1 << 16);
            assert!(lengths.iter().all(|&len| usize::from(len) <= max));
        }
    }
}
