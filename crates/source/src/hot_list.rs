//! The hot list: the files that programs need when they start, in that order.
//!
//! Enters a list of paths in order of need, as recorded by a mount; leaves the rank of each of
//! these files in a tree. A directory means all files below it, by path. **Invariant:** the result
//! depends only on the list and the tree; if a file is listed several times, the first one counts.

use std::collections::HashMap;

use sinterfs_model::{Content, Error, NodeId, Observer, Tree};

use crate::link_of_path::link_of_path;

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

    /// Returns the rank of each listed file; one that is listed several times has the first. Warns
    /// the observer of paths that are not in the tree.
    pub fn ranks(&self, tree: &Tree, observer: &dyn Observer) -> HashMap<NodeId, u32> {
        let mut ranks = HashMap::new();
        for path in &self.paths {
            let Some(found) = link_of_path(tree, path) else {
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
}
