//! Orders the distinct contents for storage.
//!
//! Enters contents in path order; leaves a permutation of them, higher priorities first. By
//! similarity, it is a greedy chain within each category: after a content comes the one not yet
//! placed whose sketch agrees with it in most values; if none agrees, the next one by extension,
//! name and path. Candidates come from lists of contents that share a sketch value, of which at
//! most `MAX_CANDIDATES` are compared, so time grows as n log n. More than `IN_MEMORY` contents of
//! a category are ordered in runs of that length, by extension and name. The category with most
//! bytes comes first. Contents that are already compressed come last, by path.
//! **Invariant:** depends on the tree and the sketches alone; ties are broken by path.

use std::fmt;
use std::str::FromStr;

use sinterfs_model::{Category, Error, Result, Tree};

use crate::dedupe::Contents;
use crate::paths;
use crate::sketch::{EMPTY, Sketch, VALUES};
use crate::sketches::IN_MEMORY;

/// The order in which contents are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Similar contents together.
    #[default]
    Similarity,
    /// In depth-first order of the tree, with names in bytewise order.
    Path,
    /// By path, from the last component to the first: equal names are adjacent.
    ReversePath,
    /// By node number of the source: level by level for a directory.
    None,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Similarity => "similarity",
            Self::Path => "path",
            Self::ReversePath => "revpath",
            Self::None => "none",
        })
    }
}

impl FromStr for Order {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Ok(match text {
            "similarity" => Self::Similarity,
            "path" => Self::Path,
            "revpath" => Self::ReversePath,
            "none" => Self::None,
            _ => {
                let what = format!("order {text:?} is none of similarity, path, revpath, none");
                return Err(Error::invalid(what));
            }
        })
    }
}

/// Contents in the order of storage.
pub(crate) struct StorageOrder {
    /// The indices of the contents.
    pub contents: Vec<u32>,
    /// Whether contents of one category are adjacent.
    pub is_grouped: bool,
}

/// Returns the indices of the contents in storage order.
///
/// With priorities by node, contents of higher priority come first; a content has the highest
/// priority of its files.
pub(crate) fn order(
    tree: &Tree,
    contents: &Contents,
    by: Order,
    priorities: Option<&[i32]>,
) -> Result<Vec<u32>> {
    let mut indices = unranked(tree, contents, by)?;
    if let Some(priorities) = priorities {
        let priority = |index: u32| {
            let content = &contents.items[index as usize];
            let files = contents.duplicates(content).iter();
            let files = files.chain([&content.original]);
            files.map(|file| priorities[file.index()]).max()
        };
        indices.sort_by_cached_key(|&index| std::cmp::Reverse(priority(index)));
    }
    Ok(indices)
}

fn unranked(tree: &Tree, contents: &Contents, order: Order) -> Result<Vec<u32>> {
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
        Order::Similarity => return by_similarity(tree, contents),
    }
    Ok(indices)
}

fn by_similarity(tree: &Tree, contents: &Contents) -> Result<Vec<u32>> {
    let item = |index: u32| &contents.items[index as usize];
    let (last, mut rest): (Vec<u32>, Vec<u32>) = (0..contents.items.len() as u32)
        .partition(|&index| item(index).category == Some(Category::Incompressible));
    rest.sort_by(|&a, &b| {
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
    // the largest stream first: its blocks take longest to encode, and no worker is left alone with
    // one
    groups.sort_by_cached_key(|group| std::cmp::Reverse(bytes(group)));
    let mut result = Vec::with_capacity(contents.items.len());
    for alike in groups {
        // a run's sketches and lists are all that is held at a time
        for run in alike.chunks(IN_MEMORY) {
            let files = run.iter().map(|&index| item(index).file);
            chain(run, contents.sketches.load(files)?, &mut result);
        }
    }
    result.extend(last);
    Ok(result)
}

/// Appends the given contents to `result`, each followed by the most similar one left.
fn chain(contents: &[u32], mut sketches: Vec<Sketch>, result: &mut Vec<u32>) {
    // from here on, contents are identified by their rank in `contents`
    let mut lists = Lists::new(&mut sketches);
    for first in 0..contents.len() as u32 {
        let mut next = Some(first).filter(|&first| !lists.is_placed(first));
        while let Some(rank) = next {
            lists.place(rank);
            result.push(contents[rank as usize]);
            next = lists.most_like(&sketches, rank);
        }
    }
}

/// The most contents of a list that are compared with one content.
const MAX_CANDIDATES: usize = 48;

/// The fewest equal sketch values of similar contents: one is often chance, or a licence header.
const MIN_AGREEMENT: usize = 2;

/// For each value of each sketch slot, the contents that have it and are not yet placed, by rank.
struct Lists {
    /// The members of all lists.
    members: Vec<u32>,
    /// The start of each list in `members`, and its remaining length.
    spans: Vec<(u32, u32)>,
    placed: Vec<bool>,
    /// The content that each was last compared with, so that it is compared once.
    seen: Vec<u32>,
}

impl Lists {
    /// Builds the lists and replaces each sketch value by the number of its list; values of a
    /// single content become `EMPTY`.
    fn new(sketches: &mut [Sketch]) -> Self {
        let mut members: Vec<u32> = Vec::new();
        let mut spans = Vec::new();
        let mut ranks: Vec<u32> = Vec::with_capacity(sketches.len());
        for place in 0..VALUES {
            let value = |sketches: &[Sketch], rank: u32| sketches[rank as usize][place];
            ranks.clear();
            ranks.extend((0..sketches.len() as u32).filter(|&rank| value(sketches, rank) != EMPTY));
            ranks.sort_unstable_by_key(|&rank| (value(sketches, rank), rank));
            let mut rest = &ranks[..];
            while let Some(&head) = rest.first() {
                let wanted = value(sketches, head);
                let same = rest
                    .iter()
                    .take_while(|&&rank| value(sketches, rank) == wanted);
                let count = same.count();
                let (same, after) = rest.split_at(count);
                rest = after;
                let list = if count > 1 { spans.len() as u32 } else { EMPTY };
                for &rank in same {
                    sketches[rank as usize][place] = list;
                }
                if count > 1 {
                    spans.push((members.len() as u32, count as u32));
                    members.extend_from_slice(same);
                }
            }
        }
        let count = sketches.len();
        Self {
            members,
            spans,
            placed: vec![false; count],
            seen: vec![EMPTY; count],
        }
    }

    fn is_placed(&self, rank: u32) -> bool {
        self.placed[rank as usize]
    }

    fn place(&mut self, rank: u32) {
        self.placed[rank as usize] = true;
    }

    /// Returns the content not yet placed whose sketch has most values in common with that of
    /// `rank`; of several, the one of least rank.
    fn most_like(&mut self, sketches: &[Sketch], rank: u32) -> Option<u32> {
        let mine = &sketches[rank as usize];
        let mut best: Option<(usize, u32)> = None;
        for &list in mine.iter().filter(|&&list| list != EMPTY) {
            let (start, count) = &mut self.spans[list as usize];
            let members = &mut self.members[*start as usize..(*start + *count) as usize];
            let (mut at, mut compared) = (0, 0);
            while at < *count as usize && compared < MAX_CANDIDATES {
                let other = members[at];
                if self.placed[other as usize] {
                    // placed members are removed from the list
                    members.swap(at, *count as usize - 1);
                    *count -= 1;
                    continue;
                }
                (at, compared) = (at + 1, compared + 1);
                if std::mem::replace(&mut self.seen[other as usize], rank) == rank {
                    continue;
                }
                let theirs = &sketches[other as usize];
                let score = agreement(mine, theirs);
                let better = best
                    .is_none_or(|(most, least)| score > most || (score == most && other < least));
                if score >= MIN_AGREEMENT && better {
                    best = Some((score, other));
                }
            }
        }
        best.map(|(_, other)| other)
    }
}

fn agreement(a: &Sketch, b: &Sketch) -> usize {
    a.iter()
        .zip(b)
        .filter(|&(a, b)| a == b && *a != EMPTY)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedupe::dedupe_for_tests;
    use crate::sketch::NO_SKETCH;
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
        let indices = order(&tree, &contents, by, None).unwrap();
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
