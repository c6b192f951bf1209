//! Priorities of files, as given by a sort file.
//!
//! Enters lines of a path and a number from -32768 to 32767, as mksquashfs takes them; leaves a
//! priority for each node of a tree. The priority of a directory applies to everything below it
//! unless a longer path is listed; without a line the priority is 0.
//! **Invariant:** a file of several names has the highest of their priorities.

use std::collections::HashMap;

use sinterfs_model::{Content, Error, NodeId, Observer, Result, Tree};

use crate::link_of_path::link_of_path;

/// Priorities by path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Priorities {
    lines: Vec<(Vec<u8>, i16)>,
}

impl Priorities {
    /// Parses the lines of a sort file: a path in the image, blanks, a number. A backslash makes
    /// the next byte part of the path; empty lines and lines that begin with `#` are ignored.
    ///
    /// # Errors
    /// `Invalid` for a line without a path or a number, with its number.
    pub fn parse(text: &[u8]) -> Result<Self> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.split(|&byte| byte == b'\n')) {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let parsed = parse_line(line).ok_or_else(|| {
                Error::invalid(format!(
                    "line {number} of the sort file is not a path and a number from -32768 to 32767"
                ))
            })?;
            lines.push(parsed);
        }
        Ok(Self { lines })
    }

    /// Returns the priority of each node; `None` if no line was given. Warns the observer of paths
    /// that are not in the tree.
    pub fn by_node(&self, tree: &Tree, observer: &dyn Observer) -> Option<Vec<i32>> {
        if self.lines.is_empty() {
            return None;
        }
        // by number of the link; the root has none
        let mut given: HashMap<usize, i32> = HashMap::new();
        let mut root = 0;
        for (path, priority) in &self.lines {
            match link_of_path(tree, path) {
                Some(Some(link)) => {
                    given.insert(link, i32::from(*priority));
                }
                Some(None) => root = i32::from(*priority),
                None => {
                    let path = String::from_utf8_lossy(path).into_owned();
                    observer.warn(
                        &Error::not_found("in the sort file, but not found in the tree").path(path),
                    );
                }
            }
        }
        let mut ranks = vec![i32::MIN; tree.nodes().len()];
        let mut open = vec![(NodeId::ROOT, root)];
        while let Some((dir, inherited)) = open.pop() {
            ranks[dir.index()] = inherited;
            let Content::Directory { first, .. } = tree.node(dir).content else {
                continue;
            };
            for (index, link) in (first as usize..).zip(tree.children(dir)) {
                let priority = given.get(&index).copied().unwrap_or(inherited);
                match tree.node(link.node).content {
                    Content::Directory { .. } => open.push((link.node, priority)),
                    _ => {
                        let rank = &mut ranks[link.node.index()];
                        *rank = priority.max(*rank);
                    }
                }
            }
        }
        Some(ranks)
    }
}

/// Splits a line into its path and its number.
fn parse_line(line: &[u8]) -> Option<(Vec<u8>, i16)> {
    let blank = line.iter().rposition(u8::is_ascii_whitespace)?;
    let (path, number) = line.split_at(blank);
    let number = std::str::from_utf8(number.trim_ascii()).ok()?;
    let mut bytes = path.trim_ascii_end().iter();
    let mut path = Vec::new();
    while let Some(&byte) = bytes.next() {
        path.push(if byte == b'\\' { *bytes.next()? } else { byte });
    }
    Some((path, number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinterfs_model::{Meta, Quiet, TreeBuilder};

    #[test]
    fn bad_lines_are_reported_by_number() {
        let text = b"# first\n\n a/b\t-5 \nwith\\ blank and\\\\slash 32767\r\n./x  +7";
        let lines = [
            (b"a/b".to_vec(), -5),
            (b"with blank and\\slash".to_vec(), 32767),
            (b"./x".to_vec(), 7),
        ];
        assert_eq!(Priorities::parse(text).unwrap().lines, lines);
        for wrong in ["a", "a b", "a 32768", "a 1.5", "a\\ 5x"] {
            let text = format!("fine 1\n{wrong}");
            let error = Priorities::parse(text.as_bytes()).unwrap_err();
            assert!(error.to_string().contains("line 2"), "{error}");
        }
    }

    #[test]
    fn the_longest_path_and_the_highest_name_count() {
        let mut builder = TreeBuilder::new(Meta::default());
        let dir = Content::Directory { first: 0, count: 0 };
        let file = Content::File { size: 1 };
        let mut add = |parent, name: &str, content| {
            builder
                .add(parent, name.as_bytes(), Meta::default(), content)
                .unwrap()
        };
        let a = add(NodeId::ROOT, "a", dir);
        let deep = add(a, "deep", dir);
        let shared = add(a, "shared", file);
        add(deep, "x", file);
        add(deep, "y", file);
        add(NodeId::ROOT, "z", file);
        builder.link(NodeId::ROOT, b"shared", shared).unwrap();
        let tree = builder.finish().unwrap();
        let text = b"/a 5\na/deep/x -3\n./shared 9\nnone/such 1\n. 1\na/deep/x/no 2";
        let ranks = Priorities::parse(text)
            .unwrap()
            .by_node(&tree, &Quiet)
            .unwrap();
        let rank = |path: &str| {
            let mut nodes = (0..tree.nodes().len() as u32).map(NodeId);
            ranks[nodes
                .find(|&id| tree.path(id) == path.as_bytes())
                .unwrap()
                .index()]
        };
        assert_eq!(
            ["", "a", "a/deep", "a/deep/x", "a/deep/y", "z"].map(rank),
            [1, 5, 5, -3, 5, 1]
        );
        assert_eq!(rank("shared"), 9);
        assert!(Priorities::default().by_node(&tree, &Quiet).is_none());
    }
}
