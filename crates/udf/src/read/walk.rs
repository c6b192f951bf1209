//! Finds all files and directories, by a walk of all directories.
//!
//! In: a volume and its partitions. Out: `UdfNodes`.
//!
//! **Invariant:** a directory is entered once, so that the walk ends; a further name of one is left
//! out. All directories together have at most as many bytes as the image. Files with one entry are
//! one file with several names.

use std::collections::HashMap;
use std::ops::Range;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, FileType, Ino, Limits, Meta, Rdev, Result};

use super::attributes::attributes;
use super::damage::UdfDamage;
use super::directory::{Identifier, listing};
use super::entry::{EntryReader, FileEntry, flags};
use super::extents::{ByteRun, FileData};
use super::nodes::{UdfContent, UdfName, UdfNode, UdfNodes};
use super::partitions::Partitions;
use super::volume::UdfVolume;
use crate::layout::{PartitionExtent, byte, checked_tag, name, range, tag};

/// The memory of a file with its name in bytes, about.
const NODE_MEMORY: u64 = 300;

/// The memory of a further name in bytes, about.
const NAME_MEMORY: u64 = 60;

/// The approximate memory of an error of a file, in bytes.
const DAMAGE_MEMORY: u64 = 200;

/// Messages about lost streams that are kept.
const MESSAGES: usize = 1000;

/// The longest stored target of a symlink in bytes.
const TARGET_MAX: u64 = 1 << 16;

/// Types of files (ECMA-167, 4/14.6.6).
mod file_type {
    pub(super) const UNSPECIFIED: u8 = 0;
    pub(super) const DIRECTORY: u8 = 4;
    pub(super) const FILE: u8 = 5;
    pub(super) const BLOCK_DEVICE: u8 = 6;
    pub(super) const CHAR_DEVICE: u8 = 7;
    pub(super) const FIFO: u8 = 9;
    pub(super) const SOCKET: u8 = 10;
    pub(super) const SYMLINK: u8 = 12;
    /// With content for players that must not wait.
    pub(super) const REAL_TIME: u8 = 249;
}

/// The walk of all directories.
pub(super) struct UdfWalk<'a> {
    pub(super) reader: EntryReader<'a>,
    /// Bytes of memory that further files may take.
    pub(super) budget: u64,
    /// Bytes that further directories may have.
    directory_bytes: u64,
    /// The index of each entry.
    seen: HashMap<(u16, u32), u32>,
    /// The entries of directories that are still to be read.
    waiting: Vec<(u32, FileEntry)>,
    /// The number of entries that are left out.
    messages: u64,
    pub(super) found: UdfNodes,
}

impl UdfNodes {
    /// Walks all directories. `Corrupt` if the root is damaged, `Limit` if there are too many
    /// files.
    pub(super) fn read(
        window: &Window,
        volume: &UdfVolume,
        partitions: &Partitions,
        limits: &Limits,
    ) -> Result<Self> {
        let mut walk = UdfWalk::root(window, volume, partitions, limits)?;
        let mut index = 0;
        while let Some((dir, entry)) = walk.waiting.get(index).cloned() {
            walk.directory(dir, &entry)?;
            index += 1;
            // what was read is not needed again
            if index > 1000 {
                walk.waiting.drain(..index);
                index = 0;
            }
        }
        Ok(walk.found)
    }

    /// Reads the root only, to see whether it is sound.
    pub(super) fn probe(
        window: &Window,
        volume: &UdfVolume,
        partitions: &Partitions,
        limits: &Limits,
    ) -> Result<()> {
        let mut walk = UdfWalk::root(window, volume, partitions, limits)?;
        match walk.waiting.pop() {
            Some((_, entry)) => walk.content(&entry).map(drop),
            None => Ok(()),
        }
    }
}

impl<'a> UdfWalk<'a> {
    fn root(
        window: &'a Window,
        volume: &UdfVolume,
        partitions: &'a Partitions,
        limits: &Limits,
    ) -> Result<Self> {
        let mut walk = Self {
            reader: EntryReader::new(window, volume.block, partitions),
            budget: limits.metadata,
            directory_bytes: window.len(),
            seen: HashMap::new(),
            waiting: Vec::new(),
            messages: 0,
            found: UdfNodes::default(),
        };
        let (set, at) = walk.reader.block_of(volume.file_set)?;
        let located = |error: Error| error.at("file set", window.start().saturating_add(at));
        if checked_tag(&set, volume.file_set.block).map_err(located)? != tag::FILE_SET {
            return Err(located(Error::corrupt("no descriptor of a file set")));
        }
        let icb = PartitionExtent::long(&set, 400);
        let entry = walk.reader.entry(icb, &mut walk.budget)?;
        if entry.file_type != file_type::DIRECTORY {
            let error = Error::corrupt("the root is not a directory");
            return Err(error.at("file entry", window.start().saturating_add(entry.at)));
        }
        walk.seen.insert((icb.map, icb.block), 0);
        walk.node(entry, 0)?;
        // where the root cannot be read, nothing can
        match walk
            .found
            .nodes
            .first()
            .and_then(|root| root.damage.as_ref())
        {
            Some(damage) => Err(damage.error()),
            None => Ok(walk),
        }
    }

    /// Reads the names of a directory.
    fn directory(&mut self, dir: u32, entry: &FileEntry) -> Result<()> {
        let bytes = match self.content(entry) {
            Ok(bytes) => bytes,
            Err(error) if dir == 0 => return Err(error),
            Err(error) => return self.damage(dir, error),
        };
        let mut listed = listing(&bytes);
        for what in listed.left_out {
            self.leave_out(dir, &what)?;
        }
        // of two with one name the first one stays
        listed.identifiers.sort_by(|a, b| a.name.cmp(&b.name));
        let start = number(self.found.names.len());
        for identifier in listed.identifiers {
            let last = self.found.names.get(start as usize..).and_then(<[_]>::last);
            if last.is_some_and(|last| last.name == identifier.name) {
                let shown = String::from_utf8_lossy(&identifier.name).into_owned();
                self.leave_out(dir, &format!("a further entry of the name {shown:?}"))?;
                continue;
            }
            self.identifier(dir, identifier)?;
        }
        let end = number(self.found.names.len());
        if let Some(dir) = self.found.nodes.get_mut(dir as usize) {
            dir.names = start..end;
        }
        Ok(())
    }

    /// Reads the content of a directory.
    fn content(&mut self, entry: &FileEntry) -> Result<Vec<u8>> {
        let left = self.directory_bytes.checked_sub(entry.size);
        self.directory_bytes = left.ok_or_else(|| {
            let what = format!("a directory of {} bytes", entry.size);
            let at = self.reader.window.start().saturating_add(entry.at);
            Error::corrupt(what).at("file entry", at)
        })?;
        // the memory is free again when the names are known
        self.reader.content(entry, &mut self.budget.clone())
    }

    fn identifier(&mut self, dir: u32, identifier: Identifier) -> Result<()> {
        let icb = identifier.icb;
        self.found.losses.attributes += u64::from(identifier.is_hidden);
        self.spend(NAME_MEMORY + identifier.name.len() as u64)?;
        let key = (icb.map, icb.block);
        let node = match self.seen.get(&key).copied() {
            Some(known) => {
                let node = self.found.nodes.get_mut(known as usize);
                if let Some(node) = node.filter(|node| node.kind != FileType::Directory) {
                    node.links = node.links.saturating_add(1);
                } else {
                    let shown = String::from_utf8_lossy(&identifier.name).into_owned();
                    let what = format!("a further name of a directory: {shown:?}");
                    return self.leave_out(dir, &what);
                }
                known
            }
            None => {
                let index = number(self.found.nodes.len());
                self.seen.insert(key, index);
                match self.reader.entry(icb, &mut self.budget) {
                    Ok(entry) => self.node(entry, dir)?,
                    Err(error) => self.unreadable(dir, identifier.is_directory, error)?,
                }
                index
            }
        };
        self.found.names.push(UdfName {
            name: identifier.name,
            node,
        });
        Ok(())
    }

    /// Adds a file whose entry cannot be read.
    fn unreadable(&mut self, parent: u32, is_directory: bool, error: Error) -> Result<()> {
        self.spend(NODE_MEMORY)?;
        let index = number(self.found.nodes.len());
        let kind = if is_directory {
            FileType::Directory
        } else {
            FileType::File
        };
        self.found.nodes.push(UdfNode {
            has_entry: false,
            ..empty(kind, parent)
        });
        self.damage(index, error)
    }

    /// Adds a file or directory.
    fn node(&mut self, entry: FileEntry, parent: u32) -> Result<()> {
        self.spend(NODE_MEMORY)?;
        let index = number(self.found.nodes.len());
        let kind = kind(entry.file_type);
        let mut node = empty(kind.unwrap_or(FileType::File), parent);
        node.meta = Meta {
            mode: entry.mode(),
            uid: entry.uid,
            gid: entry.gid,
            times: entry.times,
        };
        self.found.losses.attributes += u64::from(entry.flags & flags::SYSTEM != 0);
        let is_file = matches!(node.kind, FileType::File);
        node.size = if is_file { entry.size } else { 0 };
        self.found.nodes.push(node);
        let Some(kind) = kind else {
            let what = format!("a file of type {}", entry.file_type);
            return self.damage(index, Error::unsupported(what));
        };
        let filled = self
            .own_attributes(index, &entry)
            .and_then(|()| self.fill(index, kind, &entry));
        if let Err(error) = filled {
            self.damage(index, error)?;
        }
        if entry.streams.len > 0 {
            self.streams(index, parent, entry.streams)?;
        }
        if kind == FileType::Directory {
            self.waiting.push((index, entry));
        }
        Ok(())
    }

    /// Adds what a file of a type has.
    fn fill(&mut self, index: u32, kind: FileType, entry: &FileEntry) -> Result<()> {
        match kind {
            FileType::File => {
                let content = self.stored(entry)?;
                if let Some(node) = self.found.nodes.get_mut(index as usize) {
                    node.content = content;
                }
            }
            FileType::Symlink => {
                if entry.size > TARGET_MAX {
                    let what = format!("a symlink with a target of {} bytes", entry.size);
                    return Err(Error::corrupt(what));
                }
                let stored = self.reader.content(entry, &mut self.budget)?;
                let target = target(&stored)?;
                if let Some(node) = self.found.nodes.get_mut(index as usize) {
                    node.size = target.len() as u64;
                    node.target = target;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Finds the content of a file or stream, and keeps its runs.
    pub(super) fn stored(&mut self, entry: &FileEntry) -> Result<UdfContent> {
        match self.reader.content_of(entry, &mut self.budget)? {
            FileData::Inline(at) => Ok(UdfContent::Inline(at)),
            FileData::Runs(runs) => Ok(UdfContent::Runs(self.keep(runs))),
        }
    }

    fn keep(&mut self, runs: Vec<ByteRun>) -> Range<u32> {
        let start = number(self.found.runs.len());
        self.found.runs.extend(runs);
        start..number(self.found.runs.len())
    }

    /// Reads the extended attributes of UDF of a file: those in its entry, and in a file.
    fn own_attributes(&mut self, index: u32, entry: &FileEntry) -> Result<()> {
        let bytes = entry.bytes.get(entry.attributes.clone());
        let mut known = attributes(bytes.unwrap_or_default())?;
        if entry.attribute_file.len > 0 {
            let file = self.reader.entry(entry.attribute_file, &mut self.budget)?;
            let bytes = self.reader.content(&file, &mut self.budget)?;
            let more = attributes(&bytes)?;
            known.device = known.device.or(more.device);
            known.birth = known.birth.or(more.birth);
            known.others += more.others;
        }
        self.found.losses.extended += u64::from(known.others > 0);
        self.found.losses.births += u64::from(entry.birth.or(known.birth).is_some());
        let Some(node) = self.found.nodes.get_mut(index as usize) else {
            return Ok(());
        };
        if matches!(node.kind, FileType::BlockDevice | FileType::CharDevice) {
            node.rdev = known
                .device
                .ok_or_else(|| Error::corrupt("a device without its number"))?;
        }
        Ok(())
    }

    /// Keeps what is wrong with a file or directory.
    fn damage(&mut self, index: u32, error: Error) -> Result<()> {
        let damage = UdfDamage::of(error)?;
        self.spend(DAMAGE_MEMORY)?;
        if let Some(node) = self.found.nodes.get_mut(index as usize) {
            node.damage.get_or_insert(damage);
        }
        Ok(())
    }

    pub(super) fn spend(&mut self, bytes: u64) -> Result<()> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or_else(|| {
            Error::limit("the files take more memory than metadata may take").within("directories")
        })?;
        Ok(())
    }

    /// Keeps what a directory has that is not shown.
    fn leave_out(&mut self, dir: u32, what: &str) -> Result<()> {
        self.messages += 1;
        let error = Error::corrupt(what.to_owned()).within("directory");
        let ino = Ino(u64::from(dir) + 1);
        self.found.left_out.note(ino, self.messages, error)
    }

    /// Keeps a message about a stream of a file in a directory that is not shown.
    pub(super) fn lose_stream(&mut self, dir: u32, what: &str) {
        if self.found.lost_streams.len() < MESSAGES {
            let path = self.found.path(dir);
            self.found.lost_streams.push(format!("{what}, in /{path}"));
        } else {
            self.found.omitted = self.found.omitted.saturating_add(1);
        }
    }
}

fn kind(file_type: u8) -> Option<FileType> {
    Some(match file_type {
        file_type::DIRECTORY => FileType::Directory,
        file_type::UNSPECIFIED | file_type::FILE | file_type::REAL_TIME => FileType::File,
        file_type::BLOCK_DEVICE => FileType::BlockDevice,
        file_type::CHAR_DEVICE => FileType::CharDevice,
        file_type::FIFO => FileType::Fifo,
        file_type::SOCKET => FileType::Socket,
        file_type::SYMLINK => FileType::Symlink,
        _ => return None,
    })
}

fn empty(kind: FileType, parent: u32) -> UdfNode {
    UdfNode {
        kind,
        meta: Meta::default(),
        rdev: Rdev::default(),
        size: 0,
        links: 1,
        parent,
        names: 0..0,
        content: UdfContent::Runs(0..0),
        target: Vec::new(),
        streams: 0..0,
        damage: None,
        has_entry: true,
    }
}

/// Decodes the components of a path (ECMA-167, 4/14.16).
fn target(stored: &[u8]) -> Result<Vec<u8>> {
    let (mut rest, mut target) = (stored, Vec::new());
    while rest.len() >= 4 {
        let len = usize::from(byte(rest, 1));
        let kind = byte(rest, 0);
        let named = range(rest, 4, len);
        if named.len() < len {
            return Err(Error::corrupt("a target of a symlink past its end"));
        }
        let part = match kind {
            1 | 2 => {
                target.clear();
                Vec::new()
            }
            3 => b"..".to_vec(),
            4 => b".".to_vec(),
            5 => name(named).unwrap_or_default(),
            _ => return Err(Error::corrupt(format!("a part {kind} of a target"))),
        };
        if kind == 5 && (part.is_empty() || part.contains(&b'/') || part.contains(&0)) {
            return Err(Error::corrupt("a name in a target that no file has"));
        }
        target.extend(part);
        target.push(b'/');
        rest = rest.get(4 + len..).unwrap_or_default();
    }
    if target.len() > 1 {
        target.pop();
    }
    if target.is_empty() {
        return Err(Error::corrupt("a symlink without a target"));
    }
    Ok(target)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::target;

    #[test]
    fn targets_are_put_together() {
        let parts = |parts: &[(u8, &[u8])]| {
            let part =
                |(kind, name): &(u8, &[u8])| [&[*kind, name.len() as u8, 0, 0], *name].concat();
            target(&parts.iter().flat_map(part).collect::<Vec<_>>())
        };
        let of = |list: &[(u8, &[u8])]| String::from_utf8(parts(list).unwrap()).unwrap();
        assert_eq!(of(&[(5, b"\x08a"), (5, b"\x10\x26\x03")]), "a/\u{2603}");
        assert_eq!(of(&[(3, b""), (4, b""), (5, b"\x08x")]), ".././x");
        assert_eq!(of(&[(2, b""), (5, b"\x08etc")]), "/etc");
        assert_eq!(of(&[(2, b"")]), "/");
        assert!(parts(&[]).is_err());
        assert!(parts(&[(5, b"\x08a/b")]).is_err());
        assert!(parts(&[(9, b"")]).is_err());
        assert!(target(b"\x05\x09\0\0\x08a").is_err());
    }
}
