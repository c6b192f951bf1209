//! The contents of the hot list: stored first, in small blocks.
//!
//! In: an order of contents. Out: the order with the contents of the listed files at its front, in
//! a category of their own. **Invariant:** the result depends only on the list, the tree and the
//! order; of several listed files with one content the first one counts.

use sinterfs_model::{Category, Observer, Tree};
use sinterfs_source::HotList;

use crate::dedupe::Contents;

/// Moves the contents of the listed files to the front of an order and into [`Category::Hot`].
/// Warns the observer of paths that are not in the tree.
pub(crate) fn move_hot_to_front(
    hot: &HotList,
    tree: &Tree,
    contents: &mut Contents,
    order: &mut [u32],
    observer: &dyn Observer,
) {
    let ranks = hot.ranks(tree, observer);
    if ranks.is_empty() {
        return;
    }
    let rank = |index: u32| {
        let content = &contents.items[index as usize];
        let files = contents.duplicates(content).iter();
        let files = files.chain([&content.original]);
        files.filter_map(|file| ranks.get(file).copied()).min()
    };
    // stable: contents that are not on the list keep their order
    order.sort_by_cached_key(|&index| rank(index).unwrap_or(u32::MAX));
    let hot = order.iter().take_while(|&&index| rank(index).is_some());
    for index in hot.copied().collect::<Vec<_>>() {
        contents.items[index as usize].category = Some(Category::Hot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedupe::dedupe_for_tests;
    use crate::sketch::NO_SKETCH;
    use sinterfs_model::{Content, Meta, NodeId, Quiet, TreeBuilder};

    #[test]
    fn listed_files_come_first() {
        let mut builder = TreeBuilder::new(Meta::default());
        let dir = Content::Directory { first: 0, count: 0 };
        let file = Content::File { size: 1 };
        let mut add = |parent, name: &str, content| {
            builder
                .add(parent, name.as_bytes(), Meta::default(), content)
                .unwrap()
        };
        let d = add(NodeId::ROOT, "d", dir);
        for name in ["x", "y"] {
            add(d, name, file);
        }
        for name in ["a", "b", "z"] {
            add(NodeId::ROOT, name, file);
        }
        add(NodeId::ROOT, "p", Content::Fifo);
        let tree = builder.finish().unwrap();
        let mut contents = dedupe_for_tests(&tree, vec![NO_SKETCH; 5]);
        let path = |contents: &Contents, index: u32| {
            let file = contents.items[index as usize].original;
            String::from_utf8(tree.path(file)).unwrap()
        };
        // b, a, d/x ...: any order there was
        let mut order: Vec<u32> = vec![1, 0, 2, 3, 4];
        let list = HotList::parse(b"/z\nnone\n./d/\nd/x\np\nz");
        move_hot_to_front(&list, &tree, &mut contents, &mut order, &Quiet);
        let found: Vec<_> = order.iter().map(|&index| path(&contents, index)).collect();
        assert_eq!(found, ["z", "d/x", "d/y", "b", "a"]);
        let hot = contents.items.iter();
        let hot = hot.filter(|content| content.category == Some(Category::Hot));
        assert_eq!(hot.count(), 3);
        let before = order.clone();
        move_hot_to_front(
            &HotList::default(),
            &tree,
            &mut contents,
            &mut order,
            &Quiet,
        );
        assert_eq!(order, before);
    }
}
