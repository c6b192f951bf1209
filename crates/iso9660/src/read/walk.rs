//! Reads all directories of a tree.
//!
//! In: the volume descriptor of a tree. Out: `IsoNodes`.
//!
//! **Invariant:** an error in a record or a directory leaves out only that, and is kept in
//! `IsoNodes::left_out`; directories do not overlap, and continuation areas have no more bytes in
//! total than the image, so the walk reads at most about twice the bytes of the image. A directory
//! that was moved is found by the record that points to it, once.

use std::collections::{BTreeMap, HashMap};

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, FileType, Ino, Kind, Limits, Rdev, Result};

use super::names;
use super::nodes::{ExtraContent, IsoEntry, IsoNode, IsoNodes, Section, WalkFacts};
use super::records;
use super::rock_ridge::{ContentEncoding, RockRidge, SystemUseReader, device};
use crate::layout::{CharacterSet, DirectoryRecord, RecordFlags, VolumeFields};

/// Bytes of memory of an inode with an entry, without its name.
const NODE_LEN: u64 = (size_of::<IsoNode>() + size_of::<IsoEntry>()) as u64;

/// The positions of names among the errors of a directory.
const NAMES: u64 = 1 << 63;

/// The interpretation of the records of a tree.
#[derive(Debug, Clone)]
pub(super) struct TreeKind {
    pub(super) characters: CharacterSet,
    pub(super) is_enhanced: bool,
    /// Reads system use areas, if there are any.
    pub(super) system_use: Option<SystemUseReader>,
}

/// Reads all directories. `Corrupt` if there is no root, `Limit` if they are too large.
pub(super) fn read(
    window: &Window,
    volume: &VolumeFields,
    kind: TreeKind,
    limits: &Limits,
) -> Result<(IsoNodes, WalkFacts)> {
    let mut walk = IsoWalk {
        window,
        block: volume.block_size.into(),
        kind,
        memory: limits.metadata,
        continued: window.len().saturating_add(1 << 20),
        directories: BTreeMap::new(),
        linked: HashMap::new(),
        listed: Vec::new(),
        open: None,
        moved: 0,
        facts: WalkFacts::default(),
        nodes: IsoNodes::default(),
    };
    walk.root(volume)?;
    let mut index = 0;
    while let Some(node) = walk.nodes.get(index) {
        if node.kind == FileType::Directory {
            walk.directory(index)?;
        }
        index += 1;
    }
    if walk.moved > 0 && walk.nodes.hide_moved() {
        walk.facts.hidden += 1;
    }
    Ok((walk.nodes, walk.facts))
}

/// An entry of the directory that is being read.
struct Listed {
    name: Vec<u8>,
    version: Vec<u8>,
    node: u32,
}

/// A file some sections of which were read.
struct OpenFile {
    identifier: Vec<u8>,
    position: u64,
    listed: Listed,
    node: IsoNode,
    sections: Vec<Section>,
    encoding: Option<ContentEncoding>,
    /// The number of names, and the number of the inode.
    posix: Option<(u32, Option<u32>)>,
}

struct IsoWalk<'a> {
    window: &'a Window,
    block: u64,
    kind: TreeKind,
    /// Bytes of memory that further inodes and names may take.
    memory: u64,
    /// Bytes that further continuation areas may have.
    continued: u64,
    /// The directories so far: their ends by their starts.
    directories: BTreeMap<u64, u64>,
    /// Inodes with several names, by their numbers or their first blocks and sizes.
    linked: HashMap<(Option<u32>, u32, u64), u32>,
    listed: Vec<Listed>,
    open: Option<OpenFile>,
    moved: u64,
    facts: WalkFacts,
    nodes: IsoNodes,
}

impl IsoWalk<'_> {
    fn root(&mut self, volume: &VolumeFields) -> Result<()> {
        let record = volume.root();
        if !record.flags.has(RecordFlags::DIRECTORY) {
            return Err(Error::corrupt("the root is not a directory").within("volume descriptor"));
        }
        let mut root = self.node(0, 0, &record, &RockRidge::default())?;
        root.record = self.start_of(&record);
        self.nodes.all.push(root);
        Ok(())
    }

    /// Returns the position of the first byte of a record's content.
    fn start_of(&self, record: &DirectoryRecord<'_>) -> u64 {
        (u64::from(record.block) + u64::from(record.attribute_blocks)) * self.block
    }

    /// Appends the entries of a directory.
    fn directory(&mut self, index: u32) -> Result<()> {
        let Some(node) = self.nodes.get(index) else {
            return Ok(());
        };
        let (start, len) = (u64::from(node.block) * self.block, node.size);
        if len == 0 {
            return Ok(());
        }
        if let Err(error) = self.reserve(start, len) {
            return self.leave_out(index, start, error);
        }
        let window = self.window;
        let listed = records::for_each(
            window,
            (start, len),
            self.block,
            &mut |position, record| match record.name {
                [0] if position == start => {
                    let own = self.own_record(index, record);
                    own.or_else(|error| self.leave_out(index, position, error))
                }
                [0 | 1] => Ok(()),
                _ => {
                    let listed = self.record(index, position, record);
                    listed.or_else(|error| {
                        let name = String::from_utf8_lossy(record.name);
                        let what = format!("{name:?}: {error}");
                        self.open = None;
                        self.leave_out(index, position, Error::new(error.kind(), what))
                    })
                }
            },
        );
        listed.or_else(|error| self.leave_out(index, start, error))?;
        if let Some(open) = self.open.take() {
            let name = String::from_utf8_lossy(&open.identifier);
            let what = format!("{name:?}: the last section of the file is missing");
            let error = Error::corrupt(what);
            let error = error.at("directory record", window.start() + open.position);
            self.leave_out(index, open.position, error)?;
        }
        self.close(index)
            .map_err(|error| error.at("directory", window.start() + start))
    }

    /// Keeps the error of an entry of a directory, or of a part of it; returns an error that ends
    /// the walk.
    fn leave_out(&self, dir: u32, position: u64, error: Error) -> Result<()> {
        if error.kind() == Kind::Limit {
            return Err(error);
        }
        let ino = Ino(u64::from(dir) + 1);
        self.nodes.left_out.note(ino, position, error)
    }

    /// Takes the bytes of a directory, unless it is outside of the image or overlaps another one.
    fn reserve(&mut self, start: u64, len: u64) -> Result<()> {
        let end = start.saturating_add(len);
        let what = if end > self.window.len() {
            format!("a directory of {len} bytes is not within the image")
        } else {
            let before = self.directories.range(..end).next_back();
            match before {
                Some((other, other_end)) if *other_end > start => {
                    format!("the directory overlaps the one at {other:#x}")
                }
                _ => {
                    self.directories.insert(start, end);
                    return Ok(());
                }
            }
        };
        Err(Error::corrupt(what).at("directory", self.window.start().saturating_add(start)))
    }

    /// Takes the attributes of a directory from its own record where no other one has them.
    fn own_record(&mut self, index: u32, record: &DirectoryRecord<'_>) -> Result<()> {
        if index > 0 {
            return Ok(());
        }
        let rock_ridge = self.rock_ridge(record)?;
        let node = self.node(0, 0, record, &rock_ridge)?;
        if let Some(root) = self.nodes.all.first_mut() {
            *root = IsoNode {
                size: root.size,
                block: root.block,
                record: root.record,
                ..node
            };
        }
        Ok(())
    }

    fn rock_ridge(&mut self, record: &DirectoryRecord<'_>) -> Result<RockRidge> {
        let Some(reader) = &self.kind.system_use else {
            return Ok(RockRidge::default());
        };
        let found = RockRidge::read(reader, record.system_use, &mut self.continued)?;
        self.facts.long_times |= found.long_times;
        let [_, accessed, changed] = found.times;
        self.facts.births += u64::from(found.has_birth);
        self.facts.more_times += u64::from(found.has_more_times);
        self.facts.other_times |= accessed.is_some() || changed.is_some();
        Ok(found)
    }

    /// Adds what a record is of to its directory.
    fn record(&mut self, dir: u32, position: u64, record: &DirectoryRecord<'_>) -> Result<()> {
        if record.flags.has(RecordFlags::ASSOCIATED) {
            self.facts.associated += 1;
            return Ok(());
        }
        let section = Section {
            block: record.block.saturating_add(record.attribute_blocks.into()),
            len: record.len,
            interleaving: (record.unit, record.gap),
            end: record.len.into(),
        };
        if let Some(open) = &mut self.open {
            if open.identifier != record.name {
                return Err(Error::corrupt(
                    "a section of another file than the one before",
                ));
            }
            let before = open.sections.last().map_or(0, |last| last.end);
            let end = before.saturating_add(section.end);
            open.sections.push(Section { end, ..section });
        } else {
            let rock_ridge = self.rock_ridge(record)?;
            if rock_ridge.moved {
                self.moved += 1;
                return Ok(());
            }
            self.open = Some(self.open_file(dir, position, record, &rock_ridge, section)?);
        }
        if record.flags.has(RecordFlags::MORE) {
            return Ok(());
        }
        match self.open.take() {
            Some(file) => self.finish(file),
            None => Ok(()),
        }
    }

    fn open_file(
        &mut self,
        dir: u32,
        position: u64,
        record: &DirectoryRecord<'_>,
        rock_ridge: &RockRidge,
        section: Section,
    ) -> Result<OpenFile> {
        let node = match rock_ridge.child {
            Some(child) => self.moved_directory(dir, child)?,
            None => self.node(dir, position, record, rock_ridge)?,
        };
        let is_directory = node.kind == FileType::Directory;
        let decoded = || {
            let (characters, is_enhanced) = (self.kind.characters, self.kind.is_enhanced);
            names::decode(record.name, characters, !is_directory, is_enhanced)
        };
        let (name, version) = match rock_ridge.name() {
            Some(name) => (name.to_vec(), Vec::new()),
            None => {
                let decoded = decoded();
                (decoded.name, decoded.version)
            }
        };
        let posix = rock_ridge.posix.filter(|_| !is_directory);
        Ok(OpenFile {
            identifier: record.name.to_vec(),
            position,
            listed: Listed {
                name,
                version,
                node: 0,
            },
            sections: vec![section],
            encoding: rock_ridge.encoding.filter(|_| node.kind == FileType::File),
            posix: posix.map(|posix| (posix.links, posix.serial)),
            node,
        })
    }

    /// Makes the inode of a record.
    fn node(
        &self,
        parent: u32,
        position: u64,
        record: &DirectoryRecord<'_>,
        rock_ridge: &RockRidge,
    ) -> Result<IsoNode> {
        let is_directory = record.flags.has(RecordFlags::DIRECTORY);
        let usual = if is_directory { 0o040_555 } else { 0o100_555 };
        let mode = rock_ridge.posix.map_or(usual, |posix| posix.mode);
        let kind = FileType::from_mode(mode);
        let kind = kind.ok_or_else(|| Error::corrupt(format!("mode {mode:#o}")))?;
        if is_directory != (kind == FileType::Directory) {
            let what = format!("mode {mode:#o} in a record whose flags say something else");
            return Err(Error::corrupt(what));
        }
        let recorded = record.date.hundredths().unwrap_or(0);
        let [modified, accessed, changed] = rock_ridge.times;
        let modified = modified.unwrap_or(recorded);
        let size = match kind {
            FileType::Directory | FileType::File => record.len.into(),
            FileType::Symlink => {
                let target = rock_ridge.target.as_ref();
                target.map_or(0, |target| target.bytes.len() as u64)
            }
            _ => 0,
        };
        Ok(IsoNode {
            kind,
            mode: u16::try_from(mode & 0o7777).unwrap_or(0),
            has_attributes: rock_ridge.has_attributes,
            uid: rock_ridge.posix.map_or(0, |posix| posix.uid),
            gid: rock_ridge.posix.map_or(0, |posix| posix.gid),
            times: [
                modified,
                accessed.unwrap_or(modified),
                changed.unwrap_or(modified),
            ],
            links: 1,
            parent,
            entries: 0..0,
            record: position,
            size,
            rdev: rock_ridge.device.map_or(Rdev::default(), device),
            block: record.block.saturating_add(record.attribute_blocks.into()),
            extra: None,
        })
    }

    /// Makes the inode of a directory that is somewhere else, from its own record.
    fn moved_directory(&mut self, parent: u32, block: u32) -> Result<IsoNode> {
        let position = u64::from(block) * self.block;
        let bytes = records::read(self.window, position)?;
        let record = records::decode(&bytes)?;
        if record.name != [0] || record.block != block {
            return Err(Error::corrupt(format!(
                "a moved directory at {position:#x}, where none begins"
            )));
        }
        let rock_ridge = self.rock_ridge(&record)?;
        let node = self.node(parent, position, &record, &rock_ridge)?;
        if node.kind == FileType::Directory {
            return Ok(node);
        }
        Err(Error::corrupt("a moved directory that is not a directory"))
    }

    /// Adds a file all sections of which were read.
    fn finish(&mut self, mut file: OpenFile) -> Result<()> {
        let node = &mut file.node;
        if node.kind == FileType::Directory {
            if file.sections.len() > 1 {
                return Err(Error::corrupt("a directory of several sections"));
            }
        } else if node.kind == FileType::File {
            let is_plain = file.sections.iter().all(|s| s.interleaving.0 == 0);
            node.size = file.sections.last().map_or(0, |last| last.end);
            if file.sections.len() > 1 || !is_plain || file.encoding.is_some() {
                if let Some(ContentEncoding::Zisofs(header)) = file.encoding {
                    node.size = header.size;
                    self.facts.zisofs_entries = true;
                }
                node.extra = Some(self.extra(&file.sections, file.encoding)?);
            }
        }
        file.listed.node = self.numbered(file.node, file.posix)?;
        self.listed.push(file.listed);
        Ok(())
    }

    fn extra(&mut self, sections: &[Section], encoding: Option<ContentEncoding>) -> Result<u32> {
        let nodes = &mut self.nodes;
        let start = u32::try_from(nodes.sections.len()).map_err(|_| too_large())?;
        nodes.sections.extend(sections);
        let end = u32::try_from(nodes.sections.len()).map_err(|_| too_large())?;
        let index = u32::try_from(nodes.extras.len()).map_err(|_| too_large())?;
        let took = size_of_val(sections) + size_of::<ExtraContent>();
        self.memory = self.memory.checked_sub(took as u64).ok_or_else(too_large)?;
        nodes.extras.push(ExtraContent {
            sections: start..end,
            encoding,
        });
        Ok(index)
    }

    /// Returns the index of an inode: of an equal one if this is another name of it.
    fn numbered(&mut self, node: IsoNode, posix: Option<(u32, Option<u32>)>) -> Result<u32> {
        let new = u32::try_from(self.nodes.all.len()).map_err(|_| too_large())?;
        if let Some((2.., serial)) = posix
            && (serial.is_some() || (node.kind == FileType::File && node.size > 0))
        {
            let key = (serial, node.block, node.size);
            let known = *self.linked.entry(key).or_insert(new);
            if let Some(known_node) = self.nodes.all.get_mut(known as usize)
                && known_node.kind == node.kind
            {
                known_node.links = known_node.links.saturating_add(1);
                return Ok(known);
            }
        }
        self.memory = self.memory.checked_sub(NODE_LEN).ok_or_else(too_large)?;
        self.nodes.all.push(node);
        Ok(new)
    }

    /// Sorts the entries of a directory and adds them to it.
    fn close(&mut self, dir: u32) -> Result<()> {
        let mut listed = std::mem::take(&mut self.listed);
        listed.sort_by(|a, b| a.name.cmp(&b.name));
        // files that differ only in their versions: the newest is first
        let mut again: Vec<usize> = Vec::new();
        for (index, pair) in (1..).zip(listed.windows(2)) {
            if let [one, next] = pair
                && one.name == next.name
                && !next.version.is_empty()
            {
                again.push(index);
            }
        }
        for index in &again {
            if let Some(entry) = listed.get_mut(*index) {
                entry.name.append(&mut entry.version);
            }
        }
        if !again.is_empty() {
            listed.sort_by(|a, b| a.name.cmp(&b.name));
        }
        let start = u32::try_from(self.nodes.entries.len()).map_err(|_| too_large())?;
        let mut before: Option<&[u8]> = None;
        for (number, entry) in (0..).zip(&listed) {
            let name = entry.name.as_slice();
            if let Err(error) = names::check(name, before) {
                // positions of records are smaller
                self.leave_out(dir, NAMES + number, error)?;
                continue;
            }
            before = Some(name);
            self.memory = self
                .memory
                .checked_sub(name.len() as u64)
                .ok_or_else(too_large)?;
            self.nodes
                .push_entry(name, entry.node)
                .ok_or_else(too_large)?;
        }
        let end = u32::try_from(self.nodes.entries.len()).map_err(|_| too_large())?;
        if let Some(node) = self.nodes.all.get_mut(dir as usize) {
            node.entries = start..end;
        }
        Ok(())
    }
}

#[cold]
fn too_large() -> Error {
    Error::limit("the directories take more memory than metadata may take")
}
