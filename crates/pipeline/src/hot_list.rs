//! The hot list: contents stored first, in small blocks, as programs need them when they start.
//!
//! Enters a list of paths in order of need, as recorded by a mount; leaves the order with the
//! contents of these files at its front, in a separate category. A directory means all files below
//! it, by path. **Invariant:** the result depends only on the list and the tree; if a file or a
//! content is listed several times, the first one counts.

use std::collections::HashMap;

use sinterfs_model::{Category, Content, Error, NodeId, Observer, Tree};

use crate::dedupe::Contents;
use crate::paths;

/// The paths of a list, in its order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HotList {
    paths: Vec<Vec<u8>>,
}

impl HotList {
    /// Parses a list: one path in the image a line. A backslash makes the next byte part of the
    /// path, even a line feed; blanks around a path, empty lines and lines that begin with `#` are
    /// ignored.
    pub fn parse(text: &[u8]) -> Self {
        let (mut paths, mut path) = (Vec::new(), Vec::new());
        // the length of the path without trailing blanks
        let mut kept = 0;
        let mut bytes = text.iter().copied();
        loop {
            match bytes.next() {
                Some(b'\\') => {
                    path.extend(bytes.next());
                    kept = path.len();
                }
                None | Some(b'\n') => {
                    path.truncate(kept);
                    if kept > 0 {
                        paths.push(std::mem::take(&mut path));
                    }
                    kept = 0;
                    if bytes.len() == 0 {
                        return Self { paths };
                    }
                }
                Some(b'#') if path.is_empty() => {
                    bytes.by_ref().find(|&byte| byte == b'\n');
                }
                Some(byte) if byte.is_ascii_whitespace() => {
                    if !path.is_empty() {
                        path.push(byte);
                    }
                }
                Some(byte) => {
                    path.push(byte);
                    kept = path.len();
                }
            }
        }
    }

    /// Moves the contents of the listed files to the front of an order and into [`Category::Hot`].
    /// Warns the observer of paths that are not in the tree.
    pub(crate) fn move_to_front(
        &self,
        tree: &Tree,
        contents: &mut Contents,
        order: &mut [u32],
        observer: &dyn Observer,
    ) {
        let ranks = self.ranks(tree, observer);
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

    /// Returns the rank of each listed file.
    fn ranks(&self, tree: &Tree, observer: &dyn Observer) -> HashMap<NodeId, u32> {
        let mut ranks = HashMap::new();
        for path in &self.paths {
            let Some(found) = paths::find(tree, path) else {
                let path = String::from_utf8_lossy(path).into_owned();
                let what = "in the hot list, but not found in the tree";
                observer.warn(&Error::not_found(what).path(path));
                continue;
            };
            let start = found.map_or(NodeId::ROOT, |link| tree.links()[link].node);
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                let next = ranks.len() as u32;
                match tree.node(node).content {
                    Content::Directory { .. } => {
                        open.extend(tree.children(node).iter().rev().map(|link| link.node));
                    }
                    Content::File { .. } => {
                        ranks.entry(node).or_insert(next);
                    }
                    _ => {}
                }
            }
        }
        ranks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dedupe::dedupe_for_tests;
    use crate::sketch::NO_SKETCH;
    use sinterfs_model::{Meta, Quiet, TreeBuilder};

    #[test]
    fn lines_are_paths() {
        let text =
            b"# comment\n a/b \n\nwith\\ blank\\ \nline\\\nend\n\\#5\nback\\\\slash\r\nlast\\";
        let paths = [
            &b"a/b"[..],
            b"with blank ",
            b"line\nend",
            b"#5",
            b"back\\slash",
            b"last",
        ];
        assert_eq!(HotList::parse(text).paths, paths);
        assert_eq!(HotList::parse(b"").paths, Vec::<Vec<u8>>::new());
        assert_eq!(HotList::parse(b"#x").paths, Vec::<Vec<u8>>::new());
        assert_eq!(HotList::parse(b"#x\ny").paths, [b"y"]);
    }

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
        list.move_to_front(&tree, &mut contents, &mut order, &Quiet);
        let found: Vec<_> = order.iter().map(|&index| path(&contents, index)).collect();
        assert_eq!(found, ["z", "d/x", "d/y", "b", "a"]);
        let hot = contents.items.iter();
        let hot = hot.filter(|content| content.category == Some(Category::Hot));
        assert_eq!(hot.count(), 3);
        let before = order.clone();
        HotList::default().move_to_front(&tree, &mut contents, &mut order, &Quiet);
        assert_eq!(order, before);
    }
}
