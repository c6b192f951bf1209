//! The fields of two nodes, compared one by one.
//!
//! In: two nodes of one path. Out: what differs, with both values as text.

use sinterfs_model::{Content, FileType, Node, NodeId, Time, Tree};

use super::change::{Difference, Field};
use super::options::DiffOptions;

/// The rules of a comparison.
pub(super) struct Rules<'a> {
    ignored: &'a [Field],
    time_unit: u64,
    old: &'a Tree,
    new: &'a Tree,
}

impl<'a> Rules<'a> {
    pub(super) fn new(options: &'a DiffOptions, old: &'a Tree, new: &'a Tree) -> Self {
        Self {
            ignored: &options.ignored,
            time_unit: options.time_unit.max(1),
            old,
            new,
        }
    }

    /// Lists what differs but for the bytes of files.
    pub(super) fn compare(&self, (old, new): (NodeId, NodeId)) -> Vec<Difference> {
        let (a, b) = (self.old.node(old), self.new.node(new));
        let mut found = Vec::new();
        let mut compare = |field, old: Vec<u8>, new: Vec<u8>| {
            if old != new && !self.ignored.contains(&field) {
                found.push(Difference { field, old, new });
            }
        };
        let letter = |node: &Node| vec![node.content.kind().letter() as u8];
        compare(Field::Type, letter(a), letter(b));
        let same_type = a.content.kind() == b.content.kind();
        let mode = |node: &Node| format!("{:04o}", node.meta.mode).into_bytes();
        // no file system stores the mode of a symlink
        if a.content.kind() != FileType::Symlink || !same_type {
            compare(Field::Mode, mode(a), mode(b));
        }
        let number = |number: u64| number.to_string().into_bytes();
        compare(
            Field::Uid,
            number(a.meta.uid.into()),
            number(b.meta.uid.into()),
        );
        compare(
            Field::Gid,
            number(a.meta.gid.into()),
            number(b.meta.gid.into()),
        );
        compare(Field::Mtime, self.time(a), self.time(b));
        if same_type {
            let (old, new) = (of_content(self.old, a), of_content(self.new, b));
            if let (Some((field, old)), Some((_, new))) = (old, new) {
                compare(field, old, new);
            }
            if a.content.kind() != FileType::Directory {
                compare(Field::Links, links(self.old, a), links(self.new, b));
            }
        }
        self.xattrs(a, b, &mut found);
        found
    }

    /// Returns the time of modification in the unit that is compared.
    fn time(&self, node: &Node) -> Vec<u8> {
        let Time { secs, nanos } = node.meta.times.modified;
        let total = i128::from(secs) * 1_000_000_000 + i128::from(nanos);
        let unit = i128::from(self.time_unit);
        let total = total.div_euclid(unit) * unit;
        let (secs, nanos) = (
            total.div_euclid(1_000_000_000),
            total.rem_euclid(1_000_000_000),
        );
        match nanos {
            0 => secs.to_string().into_bytes(),
            nanos => format!("{secs}.{nanos:09}").into_bytes(),
        }
    }

    /// Lists attributes that one node has, or that differ, by name.
    fn xattrs(&self, a: &Node, b: &Node, found: &mut Vec<Difference>) {
        if self.ignored.contains(&Field::Xattrs) {
            return;
        }
        let old: Vec<_> = self.old.xattrs().pairs(a.xattrs).collect();
        let new: Vec<_> = self.new.xattrs().pairs(b.xattrs).collect();
        let alone = |these: &[(&[u8], &[u8])], others: &[(&[u8], &[u8])]| {
            let alone = these.iter().filter(|pair| !others.contains(pair));
            let names: Vec<&[u8]> = alone.map(|&(name, _)| name).collect();
            names.join(&b","[..])
        };
        let (gone, come) = (alone(&old, &new), alone(&new, &old));
        if !gone.is_empty() || !come.is_empty() {
            found.push(Difference {
                field: Field::Xattrs,
                old: gone,
                new: come,
            });
        }
    }
}

/// Returns the type-specific fields of a node.
fn of_content(tree: &Tree, node: &Node) -> Option<(Field, Vec<u8>)> {
    match node.content {
        Content::File { size } => Some((Field::Size, size.to_string().into_bytes())),
        Content::Symlink(target) => Some((Field::Target, tree.bytes(target).to_vec())),
        Content::CharDevice(rdev) | Content::BlockDevice(rdev) => {
            let number = format!("{}:{}", rdev.major, rdev.minor);
            Some((Field::Device, number.into_bytes()))
        }
        Content::Directory { .. } | Content::Fifo | Content::Socket => None,
    }
}

/// Returns how many names a node has, and the first of several.
fn links(tree: &Tree, node: &Node) -> Vec<u8> {
    if node.links <= 1 {
        return b"1".to_vec();
    }
    let link = &tree.links()[node.first_link as usize];
    let first = tree.path(link.node);
    [format!("{}, first ", node.links).as_bytes(), &first].concat()
}
