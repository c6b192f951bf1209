//! Orders the distinct contents for storage.
//!
//! Enters contents in path order; leaves a permutation of them, higher priorities first. By
//! similarity, it is a greedy chain within each category: after a content comes the one not yet
//! placed whose sketch agrees with it in most values; if none agrees, the next one by extension,
//! name and path. Candidates come from lists of contents that share a sketch value, of which at
//! most `MAX_CANDIDATES` are compared, so time grows as n log n. More than `IN_MEMORY` contents of
//! a category are ordered in runs of that length, by extension and name. The category with most
//! bytes comes first. Contents that are already compressed come last, by path. With a price of
//! reads, large contents come first where few blocks are decoded for them (`large`). **Invariant:**
//! depends only on the tree and the sketches; ties are broken by path.

mod chain;
mod hot;
mod large;
mod ordered;

use sinterfs_model::{Category, Order, ReadCost, Result, Tree};

use crate::dedupe::Contents;
use crate::paths;
use crate::price_factor::PriceFactor;
use crate::sketches::IN_MEMORY;
use chain::{Chain, ChainRules};
use ordered::Ordered;

pub(crate) use hot::move_hot_to_front;
/// Contents in the order of storage.
pub(crate) struct StorageOrder {
    /// The indices of the contents.
    pub contents: Vec<u32>,
    /// Whether contents of one category are adjacent.
    pub is_grouped: bool,
    /// The factor of the price of references, where it is not 1.
    pub price_factors: Vec<(Category, PriceFactor)>,
}

/// How contents are clustered by similarity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clustering {
    /// Whether clusters are in path order; by extension and name otherwise.
    by_path: bool,
    /// The fewest equal sketch values of neighbours in a cluster.
    min_agreement: usize,
    /// Where large contents are placed.
    large: LargeContents,
}

/// Where large contents are placed; numbers are sizes of blocks.
#[derive(Debug, Clone, Copy)]
enum LargeContents {
    /// With those that they are similar to.
    InOrder,
    /// At the beginnings of the blocks that they are in.
    FirstInBlocks(u32),
    /// Before all others of their category.
    FirstInCategory(u32),
}

impl Clustering {
    /// Returns the clustering for a price of reads, in solid blocks of a size if there are any.
    pub fn new(read_cost: ReadCost, block_size: Option<u32>) -> Self {
        if let (ReadCost::Remote, Some(block_size)) = (read_cost, block_size) {
            return Self {
                by_path: true,
                min_agreement: CLOSE_AGREEMENT,
                large: LargeContents::FirstInCategory(block_size),
            };
        }
        Self {
            by_path: false,
            min_agreement: MIN_AGREEMENT,
            large: match (read_cost, block_size) {
                (ReadCost::Mount, Some(block_size)) => LargeContents::FirstInBlocks(block_size),
                _ => LargeContents::InOrder,
            },
        }
    }
}

/// The fewest equal sketch values of similar contents: one is often chance, or a licence header.
const MIN_AGREEMENT: usize = 2;

/// The fewest equal sketch values of contents that leave the path order for each other where little
/// is cached: half of a sketch. 4 makes a Go tree 0.6 % smaller, and reading it in path order
/// with a small cache four times as expensive.
const CLOSE_AGREEMENT: usize = 8;

/// Returns the indices of the contents in storage order.
///
/// With priorities by node, contents of higher priority come first; a content has the highest
/// priority of its files.
pub(crate) fn order(
    tree: &Tree,
    contents: &Contents,
    by: Order,
    clustering: Clustering,
    priorities: Option<&[i32]>,
) -> Result<Ordered> {
    let mut ordered = unranked(tree, contents, by, clustering)?;
    if let Some(priorities) = priorities {
        let priority = |index: u32| {
            let content = &contents.items[index as usize];
            let files = contents.duplicates(content).iter();
            let files = files.chain([&content.original]);
            files.map(|file| priorities[file.index()]).max()
        };
        let indices = &mut ordered.contents;
        indices.sort_by_cached_key(|&index| std::cmp::Reverse(priority(index)));
    }
    Ok(ordered)
}

fn unranked(
    tree: &Tree,
    contents: &Contents,
    order: Order,
    clustering: Clustering,
) -> Result<Ordered> {
    let mut indices: Vec<u32> = (0..contents.items.len() as u32).collect();
    let node = |index: u32| contents.items[index as usize].original;
    match order {
        Order::Path => {}
        Order::None => indices.sort_unstable_by_key(|&index| node(index)),
        Order::ReversePath => indices.sort_by(|&a, &b| {
            let (mut a, mut b) = (node(a), node(b));
            while a != b {
                let names = paths::name(tree, a).cmp(paths::name(tree, b));
                if names.is_ne() {
                    return names;
                }
                (a, b) = (paths::parent(tree, a), paths::parent(tree, b));
            }
            std::cmp::Ordering::Equal
        }),
        Order::Similarity => return by_similarity(tree, contents, clustering),
    }
    Ok(Ordered {
        contents: indices,
        block_starts: Vec::new(),
        price_factors: Vec::new(),
    })
}

fn by_similarity(tree: &Tree, contents: &Contents, clustering: Clustering) -> Result<Ordered> {
    let item = |index: u32| &contents.items[index as usize];
    let (last, mut rest): (Vec<u32>, Vec<u32>) = (0..contents.items.len() as u32)
        .partition(|&index| item(index).category == Some(Category::Incompressible));
    // contents are numbered in path order
    rest.sort_by(|&a, &b| {
        if clustering.by_path {
            return (item(a).category, a).cmp(&(item(b).category, b));
        }
        let key = |index: u32| {
            let name = paths::name(tree, item(index).original);
            (item(index).category, paths::extension(name), name)
        };
        key(a).cmp(&key(b))
    });
    let bytes = |group: &[u32]| -> u128 {
        let size = |&index: &u32| u128::from(paths::size(tree, item(index).original));
        group.iter().map(size).sum()
    };
    let mut groups: Vec<&[u32]> = rest
        .chunk_by(|&a, &b| item(a).category == item(b).category)
        .collect();
    // the largest stream first: its blocks take longest to encode, and no single worker is left
    // with one
    groups.sort_by_cached_key(|group| std::cmp::Reverse(bytes(group)));
    let mut ordered = Ordered {
        contents: Vec::with_capacity(contents.items.len()),
        block_starts: Vec::new(),
        price_factors: Vec::new(),
    };
    for alike in groups {
        let group = Group {
            tree,
            contents,
            alike,
        };
        group.place(clustering, &mut ordered)?;
    }
    ordered.contents.extend(last);
    Ok(ordered)
}

/// The contents of one category, in the order in which clusters begin.
struct Group<'a> {
    tree: &'a Tree,
    contents: &'a Contents,
    alike: &'a [u32],
}

impl Group<'_> {
    /// Appends the contents to an order.
    fn place(&self, clustering: Clustering, ordered: &mut Ordered) -> Result<()> {
        let agreement = clustering.min_agreement;
        let mut chain = self.chain(agreement, u64::MAX)?;
        let size = |index: u32| self.size(index);
        match clustering.large {
            LargeContents::InOrder => ordered.contents.append(&mut chain.contents),
            LargeContents::FirstInBlocks(block_size) => {
                let factor = PriceFactor::of(chain.bytes, chain.new_bytes);
                // where contents share parts only, all others refer to what comes first
                if factor > PriceFactor::default() {
                    chain = self.chain(agreement, large::least(block_size.into()))?;
                    ordered.price_factors.extend(self.priced(factor));
                }
                large::first_in_blocks(&chain, block_size.into(), size, ordered);
            }
            LargeContents::FirstInCategory(block_size) => {
                large::first_in_category(&chain, block_size.into(), size, ordered);
            }
        }
        Ok(())
    }

    /// Returns the category with a factor of its price. Text has none: what it repeats is short,
    /// and storing it again costs more than it saves readers.
    fn priced(&self, factor: PriceFactor) -> Option<(Category, PriceFactor)> {
        let first = self.alike.first()?;
        let category = self.contents.items[*first as usize].category?;
        (category != Category::Text).then_some((category, factor))
    }

    /// Chains the contents by similarity; contents of at least `large` bytes begin clusters first.
    fn chain(&self, min_agreement: usize, large: u64) -> Result<Chain> {
        let rules = ChainRules {
            min_agreement,
            large,
            size: |index| self.size(index),
        };
        let mut chain = Chain::default();
        // the sketches of one run are in memory at a time
        for run in self.alike.chunks(IN_MEMORY) {
            let files = run
                .iter()
                .map(|&index| self.contents.items[index as usize].file);
            chain.extend(run, self.contents.sketches.load(files)?, &rules);
        }
        Ok(chain)
    }

    /// Returns the bytes of a content.
    fn size(&self, index: u32) -> u64 {
        paths::size(self.tree, self.contents.items[index as usize].original)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedupe::dedupe_for_tests;
    use crate::sketch::{NO_SKETCH, Sketch};
    use sinterfs_model::{Content, Meta, NodeId, TreeBuilder};

    /// Makes contents with these paths (in path order) and sketches.
    fn make(files: &[(&str, Sketch)]) -> (Tree, Contents) {
        let mut builder = TreeBuilder::new(Meta::default());
        let mut dirs = std::collections::HashMap::new();
        for (path, _) in files {
            let (dir, name) = path.split_once('/').unwrap_or(("", path));
            let parent = if dir.is_empty() {
                NodeId::ROOT
            } else {
                *dirs.entry(dir).or_insert_with(|| {
                    let content = Content::Directory { first: 0, count: 0 };
                    builder
                        .add(NodeId::ROOT, dir.as_bytes(), Meta::default(), content)
                        .unwrap()
                })
            };
            let content = Content::File { size: 1 };
            builder
                .add(parent, name.as_bytes(), Meta::default(), content)
                .unwrap();
        }
        let tree = builder.finish().unwrap();
        let contents = dedupe_for_tests(&tree, files.iter().map(|file| file.1).collect());
        (tree, contents)
    }

    fn paths(files: &[(&str, Sketch)], by: Order) -> Vec<String> {
        let (tree, contents) = make(files);
        let clustering = Clustering::new(ReadCost::Free, None);
        let indices = order(&tree, &contents, by, clustering, None)
            .unwrap()
            .contents;
        let node = |index: u32| contents.items[index as usize].original;
        indices
            .into_iter()
            .map(|index| String::from_utf8(tree.path(node(index))).unwrap())
            .collect()
    }

    #[test]
    fn the_simple_orders() {
        let files = [
            ("a/z", NO_SKETCH),
            ("b/a", NO_SKETCH),
            ("b/z", NO_SKETCH),
            ("c", NO_SKETCH),
        ];
        assert_eq!(paths(&files, Order::Path), ["a/z", "b/a", "b/z", "c"]);
        assert_eq!(
            paths(&files, Order::ReversePath),
            ["b/a", "c", "a/z", "b/z"]
        );
        assert_eq!(paths(&files, Order::None), ["c", "a/z", "b/a", "b/z"]);
        assert!("nonsense".parse::<Order>().is_err());
        assert_eq!("revpath".parse::<Order>().unwrap(), Order::ReversePath);
    }

    #[test]
    fn the_most_similar_content_comes_next() {
        let like = |base: u32, others: usize| {
            std::array::from_fn(|place| {
                base + if place < others {
                    1000 + others as u32
                } else {
                    place as u32
                }
            })
        };
        let files = [
            ("a", like(0, 0)),
            ("b", like(5000, 0)),
            ("c", like(0, 8)),
            ("d", like(0, 4)),
            ("e", like(5000, 14)),
            ("f", like(0, 15)),
        ];
        // f agrees with others in one place only
        assert_eq!(
            paths(&files, Order::Similarity),
            ["a", "d", "c", "b", "e", "f"]
        );
    }

    #[test]
    fn without_sketches_extensions_stay_together() {
        let files = [
            ("a.c", NO_SKETCH),
            ("b.h", NO_SKETCH),
            ("c.c", NO_SKETCH),
            ("d/a.h", NO_SKETCH),
            ("e", NO_SKETCH),
        ];
        assert_eq!(
            paths(&files, Order::Similarity),
            ["e", "a.c", "c.c", "d/a.h", "b.h"]
        );
    }

    #[test]
    fn many_similar_contents_are_ordered_in_bounded_time() {
        // 100,000 contents that all share four values: without a bound on compared, 10^10
        // comparisons
        let sketches = (0..100_000u32).map(|index| {
            let mut sketch = NO_SKETCH;
            sketch[..4].fill(7);
            sketch[4] = index / 10;
            sketch
        });
        let names: Vec<_> = (0..100_000).map(|index| format!("{index:06}")).collect();
        let files: Vec<_> = names.iter().map(String::as_str).zip(sketches).collect();
        let start = std::time::Instant::now();
        let mut found = paths(&files, Order::Similarity);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        let tens = |path: &str| path[..5].to_owned();
        let together = found
            .windows(2)
            .filter(|pair| tens(&pair[0]) == tens(&pair[1]))
            .count();
        assert_eq!(together, 90_000);
        found.sort();
        assert!(found == names);
    }
}
