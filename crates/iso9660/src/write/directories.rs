//! Directories and path tables of one tree, Rock Ridge's or Joliet's.
//!
//! In: the tree, where contents are or how long they will be. Out: records, which are laid out in
//! sectors, then bytes.
//!
//! **Invariant:** directories are in the order of a walk by level; records are sorted by their
//! identifiers and do not cross sectors. ECMA-119, sections 6.8, 6.9 and 9.

use sinterfs_model::{Content, ContentMap, Error, Loss, MapExtent, Node, NodeId, Result, Tree};

use super::contents::{ContentPlace, ContentWriter};
use super::continuations::Continuations;
use super::level::InterchangeLevel;
use super::losses::unfit;
use super::names::{IdentifierMaker, Identifiers, is_whole};
use super::rock_ridge;
use crate::layout::{DirectoryRecord, RecordFlags, SECTION_MAX, SECTOR, SECTOR_LEN, both32};

/// The most bytes of a record, whose length is even.
const RECORD_MAX: usize = 254;

/// The locations of contents.
pub(super) struct Placed<'a> {
    pub(super) tree: &'a Tree,
    /// The map of contents that are written; `None` before, when all that is known is how long
    /// they are.
    pub(super) map: Option<&'a ContentMap>,
    pub(super) contents: &'a ContentWriter,
    pub(super) keeps_xattrs: bool,
    pub(super) level: InterchangeLevel,
    /// Links to each directory.
    pub(super) links: Vec<u32>,
}

impl Placed<'_> {
    /// Returns the place of a file's content; `None` if it has none.
    fn place(&self, node: NodeId) -> Result<Option<ContentPlace>> {
        let Content::File { size } = self.tree.node(node).content else {
            return Ok(None);
        };
        let Some(map) = self.map else {
            return Ok((size > 0).then(|| self.contents.expected(size)));
        };
        let extents = map.extents(node);
        let mut len = 0;
        for extent in extents {
            len += match extent {
                MapExtent::Data { len, .. } => u64::from(*len),
                MapExtent::Hole { .. } => {
                    return Err(Error::invalid("a hole, which ISO 9660 cannot store"));
                }
            };
        }
        let Some(MapExtent::Data { block, .. }) = extents.first() else {
            return Ok(None);
        };
        let place = self
            .contents
            .place(block.0)
            .filter(|place| place.len == len);
        place.copied().map(Some).ok_or_else(|| {
            Error::invalid(format!(
                "a file whose content in block {} was not written",
                block.0
            ))
        })
    }

    /// Returns the number of links to a directory: two and its subdirectories.
    fn links(&self, dir: NodeId) -> u32 {
        self.links.get(dir.index()).copied().unwrap_or(2)
    }

    /// Returns the entries of extended attributes that are kept.
    fn xattr_entries(&self, node: &Node) -> Vec<Vec<u8>> {
        if !self.keeps_xattrs || node.xattrs.is_none() {
            return Vec::new();
        }
        rock_ridge::xattrs(self.tree, node).unwrap_or_default()
    }
}

/// A directory.
struct Directory {
    node: NodeId,
    /// The index of its parent.
    parent: usize,
    identifier: Vec<u8>,
    /// Records, with the index of the directory that each is of.
    records: Vec<(Vec<u8>, Option<usize>)>,
    /// Bytes, a multiple of a sector.
    len: u64,
    sector: u64,
}

/// All directories of a tree, laid out.
pub(super) struct Directories {
    kind: Identifiers,
    all: Vec<Directory>,
    /// The names that Joliet has in another form.
    pub(super) renamed: Loss,
    /// What Joliet does not have.
    pub(super) lacking: Loss,
}

impl Directories {
    /// Makes the records of all directories; Joliet's have no continuation areas.
    pub(super) fn new(
        placed: &Placed<'_>,
        kind: Identifiers,
        continuations: &mut Continuations,
    ) -> Result<Self> {
        let root = Directory {
            node: NodeId::ROOT,
            parent: 0,
            identifier: vec![0],
            records: Vec::new(),
            len: 0,
            sector: 0,
        };
        let mut made = Self {
            kind,
            all: vec![root],
            renamed: Loss::new(
                "names that Joliet has in another form, cut or with other characters",
                0,
            ),
            lacking: Loss::of_one_tree(
                "symlinks and special files that Joliet lacks (Rock Ridge has them)",
            ),
        };
        let mut index = 0;
        while index < made.all.len() {
            made.fill(index, placed, continuations)?;
            index += 1;
        }
        Ok(made)
    }

    fn fill(
        &mut self,
        index: usize,
        placed: &Placed<'_>,
        continuations: &mut Continuations,
    ) -> Result<()> {
        let Some((dir, parent)) = self.all.get(index).map(|dir| (dir.node, dir.parent)) else {
            return Ok(());
        };
        let up = self.all.get(parent).map_or(dir, |parent| parent.node);
        let mut records = vec![
            (self.own(b"\0", dir, placed, continuations)?, Some(index)),
            (self.own(b"\x01", up, placed, continuations)?, Some(parent)),
        ];
        let tree = placed.tree;
        let mut maker = IdentifierMaker::new(self.kind);
        let mut named = Vec::new();
        for link in tree.children(dir) {
            if unfit(tree, link).is_some() {
                continue;
            }
            let node = tree.node(link.node);
            let is_directory = matches!(node.content, Content::Directory { .. });
            let is_file = matches!(node.content, Content::File { .. });
            if !self.kind.is_primary() && !is_directory && !is_file {
                self.lacking.add(|| tree.link_path(link));
                continue;
            }
            let name = tree.bytes(link.name);
            let identifier = maker.identifier(name, is_directory);
            if !self.kind.is_primary() && !is_whole(&identifier, name, is_directory) {
                self.renamed.add(|| tree.link_path(link));
            }
            let key = sorting_key(&identifier, self.kind, is_directory).to_vec();
            named.push((key, identifier, name, link.node));
        }
        named.sort_unstable();
        for (_, identifier, name, node) in named {
            if let Content::Directory { .. } = tree.node(node).content {
                let child = self.all.len();
                let area = self.area(
                    identifier.len(),
                    Some(name),
                    node,
                    None,
                    placed,
                    continuations,
                )?;
                let flags = RecordFlags(RecordFlags::DIRECTORY);
                let record = record(&identifier, tree.node(node), flags, (0, 0), &area);
                records.push((record, Some(child)));
                self.all.push(Directory {
                    node,
                    parent: index,
                    identifier,
                    records: Vec::new(),
                    len: 0,
                    sector: 0,
                });
                continue;
            }
            let place = placed.place(node)?;
            let area = self.area(
                identifier.len(),
                Some(name),
                node,
                place.as_ref(),
                placed,
                continuations,
            )?;
            let sections = sections(place.as_ref())?;
            if sections.len() > 1 && !placed.level.has_sections() {
                let what = "a file of 4 GiB or more, which needs level 3 of ISO 9660";
                let path = String::from_utf8_lossy(&tree.path(node)).into_owned();
                return Err(Error::limit(what).path(path));
            }
            for (flags, section) in sections {
                let record = record(&identifier, tree.node(node), flags, section, &area);
                records.push((record, None));
            }
        }
        if let Some(own) = self.all.get_mut(index) {
            own.len = length(&records);
            own.records = records;
        }
        Ok(())
    }

    /// Makes the record of a directory itself or of its parent.
    fn own(
        &self,
        identifier: &[u8],
        node: NodeId,
        placed: &Placed<'_>,
        continuations: &mut Continuations,
    ) -> Result<Vec<u8>> {
        let is_root = node == NodeId::ROOT && identifier == b"\0";
        let flags = RecordFlags(RecordFlags::DIRECTORY);
        let fields = placed.tree.node(node);
        let mut area = Vec::new();
        if self.kind.is_primary() {
            let mut entries = rock_ridge::attributes(fields, placed.links(node), serial(node));
            if is_root {
                let has_xattrs = placed.keeps_xattrs && placed.tree.with_xattrs() > 0;
                let (first, extensions) = rock_ridge::root(has_xattrs);
                entries.insert(0, first);
                entries.extend(extensions);
                entries.extend(placed.xattr_entries(fields));
            }
            area = continuations.area(&entries, room(1))?;
        }
        Ok(record(identifier, fields, flags, (0, 0), &area))
    }

    /// Makes the system use area of a name.
    fn area(
        &self,
        identifier: usize,
        name: Option<&[u8]>,
        node: NodeId,
        place: Option<&ContentPlace>,
        placed: &Placed<'_>,
        continuations: &mut Continuations,
    ) -> Result<Vec<u8>> {
        if !self.kind.is_primary() {
            return Ok(Vec::new());
        }
        let tree = placed.tree;
        let fields = tree.node(node);
        let links = match fields.content {
            Content::Directory { .. } => placed.links(node),
            _ => fields.links,
        };
        let mut entries = rock_ridge::attributes(fields, links, serial(node));
        entries.extend(rock_ridge::kind(tree, fields, place));
        entries.extend(name.map(rock_ridge::name).unwrap_or_default());
        entries.extend(placed.xattr_entries(fields));
        continuations.area(&entries, room(identifier))
    }

    /// Assigns sectors to each directory, from one on; returns the sector after the last one.
    pub(super) fn lay_out(&mut self, mut sector: u64) -> u64 {
        for dir in &mut self.all {
            dir.sector = sector;
            sector += dir.len / SECTOR;
        }
        sector
    }

    /// Returns sector and length of the root.
    pub(super) fn root(&self) -> (u64, u64) {
        self.all
            .first()
            .map_or((0, 0), |root| (root.sector, root.len))
    }

    /// Encodes all directories, in the order of their sectors.
    pub(super) fn encode(&self, emit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for dir in &self.all {
            let mut bytes = Vec::new();
            for (record, of) in &dir.records {
                let at = next(bytes.len(), record.len());
                bytes.resize(at, 0);
                bytes.extend(record);
                let target = of.and_then(|index| self.all.get(index));
                if let Some(target) = target
                    && let Some(place) = bytes.get_mut(at + 2..at + 18)
                {
                    let numbers = [number(target.sector)?, number(target.len)?];
                    place.copy_from_slice(&numbers.map(both32).concat());
                }
            }
            let len = bytes.len().next_multiple_of(SECTOR_LEN);
            bytes.resize(len, 0);
            emit(&bytes)?;
        }
        Ok(())
    }

    /// Encodes the path table, with numbers least or most significant byte first.
    pub(super) fn path_table(&self, little: bool) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for dir in &self.all {
            let sector = number(dir.sector)?;
            // numbers of more than 16 bits have no place; readers use the directories then
            let parent = u16::try_from(dir.parent + 1).unwrap_or(u16::MAX);
            bytes.extend([u8::try_from(dir.identifier.len()).unwrap_or(0), 0]);
            if little {
                bytes.extend(sector.to_le_bytes());
                bytes.extend(parent.to_le_bytes());
            } else {
                bytes.extend(sector.to_be_bytes());
                bytes.extend(parent.to_be_bytes());
            }
            bytes.extend(&dir.identifier);
            if !dir.identifier.len().is_multiple_of(2) {
                bytes.push(0);
            }
        }
        Ok(bytes)
    }
}

/// Returns the number of a sector or a length as it is stored.
pub(super) fn number(number: u64) -> Result<u32> {
    let too_large = |_| Error::limit("the image would be larger than ISO 9660 can address");
    u32::try_from(number).map_err(too_large)
}

/// Returns the room for a system use area in a record with an identifier of a length.
fn room(identifier: usize) -> usize {
    let head = DirectoryRecord::HEAD + identifier;
    RECORD_MAX.saturating_sub(head.next_multiple_of(2))
}

/// Returns the sort key of an identifier: all but the version, since the version of `A.B;1` must
/// not be compared with a letter of `A.B10;1` (ECMA-119, section 9.3).
fn sorting_key(identifier: &[u8], kind: Identifiers, is_directory: bool) -> &[u8] {
    let version = match (is_directory, kind) {
        (true, _) => 0,
        (false, Identifiers::Enhanced) => 0,
        (false, Identifiers::Short | Identifiers::Plain) => 2,
        (false, Identifiers::Joliet { .. }) => 4,
    };
    let len = identifier.len().saturating_sub(version);
    identifier.get(..len).unwrap_or_default()
}

fn serial(node: NodeId) -> u32 {
    node.0.wrapping_add(1)
}

/// Counts the links to each directory: two and its subdirectories.
pub(super) fn directory_links(tree: &Tree) -> Vec<u32> {
    let mut links = vec![2_u32; tree.nodes().len()];
    for link in tree.links() {
        let is_directory = matches!(tree.node(link.node).content, Content::Directory { .. });
        if is_directory && let Some(count) = links.get_mut(link.parent.index()) {
            *count = count.saturating_add(1);
        }
    }
    links
}

/// Returns the records of a content: their flags, first sectors and lengths.
fn sections(place: Option<&ContentPlace>) -> Result<Vec<(RecordFlags, (u32, u32))>> {
    let Some(place) = place else {
        return Ok(vec![(RecordFlags(0), (0, 0))]);
    };
    let (mut sector, mut left) = (place.sector, place.stored);
    let mut sections = Vec::new();
    loop {
        let len = left.min(SECTION_MAX);
        left -= len;
        let flags = if left > 0 { RecordFlags::MORE } else { 0 };
        sections.push((RecordFlags(flags), (number(sector)?, number(len)?)));
        sector += len / SECTOR;
        if left == 0 {
            return Ok(sections);
        }
    }
}

fn record(
    identifier: &[u8],
    node: &Node,
    flags: RecordFlags,
    (block, len): (u32, u32),
    system_use: &[u8],
) -> Vec<u8> {
    let record = DirectoryRecord {
        block,
        len,
        date: rock_ridge::date(node.meta.times.modified),
        flags,
        name: identifier,
        system_use,
        ..DirectoryRecord::default()
    };
    record.encode()
}

/// Returns where a record begins that follows others.
fn next(at: usize, len: usize) -> usize {
    let sector = SECTOR_LEN;
    if at % sector + len > sector {
        at.next_multiple_of(sector)
    } else {
        at
    }
}

fn length(records: &[(Vec<u8>, Option<usize>)]) -> u64 {
    let end = records
        .iter()
        .fold(0, |at, (record, _)| next(at, record.len()) + record.len());
    (end as u64).next_multiple_of(SECTOR)
}
