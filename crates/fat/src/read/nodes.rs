//! All files and directories, in memory: found by a walk of all directories when an image is
//! opened.
//!
//! In: the boot sector and the table. Out: `FatNodes`.
//!
//! **Invariant:** directories share no clusters, so the walk ends. The entries of a directory are
//! adjacent and sorted by name, and names are unique; a further entry with a name is left out. A
//! file or directory whose clusters are damaged is an error when it is read.
//!
//! Memory: about 120 bytes per name, 12 per run of clusters.

use std::ops::Range;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Ino, Kind, Limits, ListingErrors, Place, Result, Time};

use super::boot::{BootSector, FatKind};
use super::clusters::{ClusterRun, Clusters};
use super::entries::{FatListing, FileEntry, attributes, listing};

/// The memory of a name in bytes, about.
const NAME_MEMORY: u64 = 120;

/// The approximate memory of an error of a file or directory, in bytes.
const DAMAGE_MEMORY: u64 = 200;

/// The largest directory in bytes: 65,536 entries.
const DIRECTORY_MAX: u64 = 2 << 20;

/// Why a file or directory cannot be read, and where that is seen.
#[derive(Debug)]
pub(crate) struct FatDamage {
    kind: Kind,
    pub(crate) what: String,
    place: Option<Place>,
}

impl FatDamage {
    /// Keeps an error of the image; errors of the machine and of limits are returned.
    fn of(error: Error) -> Result<Box<Self>> {
        match error.kind() {
            kind @ (Kind::Corrupt | Kind::Unsupported) => Ok(Box::new(Self {
                kind,
                what: error.what().to_owned(),
                place: error.place().cloned(),
            })),
            _ => Err(error),
        }
    }

    /// Returns the error of a read with a message.
    pub(crate) fn error(&self, what: String) -> Error {
        let error = Error::new(self.kind, what);
        match &self.place {
            Some(Place { structure, offset }) => match offset {
                Some(offset) => error.at(structure.clone(), *offset),
                None => error.within(structure.clone()),
            },
            None => error,
        }
    }
}

/// A file or directory.
#[derive(Debug)]
pub(crate) struct FatNode {
    pub(crate) is_directory: bool,
    pub(crate) is_read_only: bool,
    pub(crate) modified: Time,
    pub(crate) size: u32,
    /// The index of the directory that it is in; the root has its own index.
    pub(crate) parent: u32,
    /// The indexes of its names, if it is a directory.
    pub(crate) names: Range<u32>,
    /// The indexes of its runs.
    pub(crate) runs: Range<u32>,
    /// The error in its clusters.
    pub(crate) damage: Option<Box<FatDamage>>,
}

/// A name in a directory, and the index of its file or directory.
#[derive(Debug)]
pub(crate) struct FatName {
    pub(crate) name: Vec<u8>,
    pub(crate) node: u32,
}

/// All files and directories; index 0 is the root.
#[derive(Debug, Default)]
pub(crate) struct FatNodes {
    pub(crate) nodes: Vec<FatNode>,
    names: Vec<FatName>,
    runs: Vec<ClusterRun>,
    /// The label that the root has an entry for.
    pub(crate) label: Option<Vec<u8>>,
    /// Entries that are not shown, by directory.
    pub(crate) left_out: ListingErrors,
    pub(super) losses: FatLosses,
}

/// The number of files and directories with metadata that is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FatLosses {
    /// The attributes hidden or system.
    pub attributes: u64,
    /// Times of creation.
    pub births: u64,
    /// Dates of access.
    pub accesses: u64,
}

impl FatLosses {
    fn add(&mut self, entry: &FileEntry) {
        let unshown = attributes::HIDDEN | attributes::SYSTEM;
        self.attributes += u64::from(entry.attributes & unshown != 0);
        self.births += u64::from(entry.has_birth);
        self.accesses += u64::from(entry.has_access);
    }
}

impl FatNodes {
    /// Walks all directories. `Corrupt` if the root is damaged, `Limit` if there are too many
    /// names.
    pub(super) fn read(window: &Window, boot: &BootSector, limits: &Limits) -> Result<Self> {
        let clusters = Clusters::read(window, boot, limits);
        let table = window.start().saturating_add(boot.table);
        let clusters = clusters.map_err(|error| error.at("table", table))?;
        let mut walk = FatWalk {
            window,
            boot,
            budget: limits.metadata.saturating_sub(clusters.memory()),
            clusters,
            messages: 0,
            found: Self::default(),
        };
        walk.root()?;
        let mut index = 1;
        while let Some(node) = walk.found.nodes.get(index as usize) {
            if node.is_directory && node.damage.is_none() {
                walk.directory(index)?;
            }
            index += 1;
        }
        Ok(walk.found)
    }

    /// Returns the names of a directory.
    pub(crate) fn names(&self, node: &FatNode) -> &[FatName] {
        let range = node.names.start as usize..node.names.end as usize;
        self.names.get(range).unwrap_or_default()
    }

    /// Returns the runs of a file.
    pub(crate) fn runs(&self, node: &FatNode) -> &[ClusterRun] {
        let range = node.runs.start as usize..node.runs.end as usize;
        self.runs.get(range).unwrap_or_default()
    }
}

struct FatWalk<'a> {
    window: &'a Window,
    boot: &'a BootSector,
    clusters: Clusters,
    /// Bytes of memory that further names and runs may take.
    budget: u64,
    /// The number of entries that are left out.
    messages: u64,
    found: FatNodes,
}

impl FatWalk<'_> {
    fn root(&mut self) -> Result<()> {
        let mut root = node(&directory(), 0);
        let bytes = if self.boot.root_len > 0 {
            let read = self.window.read(self.boot.root, self.boot.root_len);
            read.map_err(|error| self.located(error, "directory", self.boot.root))?
        } else {
            root.runs = self.chain(self.boot.root_cluster, None)?;
            self.content(root.runs.clone())?.into()
        };
        self.found.nodes.push(root);
        let listed = listing(&bytes, self.boot.kind == FatKind::Fat32);
        self.found.label.clone_from(&listed.label);
        self.add(0, listed)
    }

    fn directory(&mut self, index: u32) -> Result<()> {
        let Some(node) = self.found.nodes.get(index as usize) else {
            return Ok(());
        };
        match self.content(node.runs.clone()) {
            Ok(bytes) => self.add(index, listing(&bytes, self.boot.kind == FatKind::Fat32)),
            Err(error) => self.damage(index, error),
        }
    }

    /// Keeps what is wrong with a file or directory.
    fn damage(&mut self, index: u32, error: Error) -> Result<()> {
        let damage = FatDamage::of(error)?;
        self.spend(DAMAGE_MEMORY)?;
        if let Some(node) = self.found.nodes.get_mut(index as usize) {
            node.damage = Some(damage);
        }
        Ok(())
    }

    /// Adds the place in the file system to an error.
    fn located(&self, error: Error, structure: &'static str, at: u64) -> Error {
        error.at(structure, self.window.start().saturating_add(at))
    }

    /// Appends the names of a directory.
    fn add(&mut self, dir: u32, listed: FatListing) -> Result<()> {
        let FatListing {
            mut entries,
            left_out,
            ..
        } = listed;
        for name in left_out {
            self.leave_out(dir, format!("the name {name:?}"))?;
        }
        // of two with one name the first one stays
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let start = number(self.found.names.len());
        for entry in entries {
            let is_twice = self.found.names.len() > start as usize
                && self
                    .found
                    .names
                    .last()
                    .is_some_and(|last| last.name == entry.name);
            if is_twice {
                let shown = String::from_utf8_lossy(&entry.name).into_owned();
                self.leave_out(dir, format!("a further entry of the name {shown:?}"))?;
                continue;
            }
            self.entry(dir, entry)?;
        }
        let end = number(self.found.names.len());
        if let Some(dir) = self.found.nodes.get_mut(dir as usize) {
            dir.names = start..end;
        }
        Ok(())
    }

    fn entry(&mut self, dir: u32, entry: FileEntry) -> Result<()> {
        self.spend(NAME_MEMORY + entry.name.len() as u64)?;
        let mut found = node(&entry, dir);
        let index = number(self.found.nodes.len());
        let mut problem = None;
        if found.is_directory || entry.size > 0 {
            let size = (!found.is_directory).then_some(entry.size);
            match self.chain(entry.cluster, size) {
                Ok(runs) => found.runs = runs,
                Err(error) => problem = Some(error),
            }
        }
        self.found.losses.add(&entry);
        self.found.names.push(FatName {
            name: entry.name,
            node: index,
        });
        self.found.nodes.push(found);
        problem.map_or(Ok(()), |error| self.damage(index, error))
    }

    /// Appends the runs of a chain: all clusters of a file of that size; without a size the
    /// clusters of a directory, for which only the largest size is known.
    fn chain(&mut self, first: u32, size: Option<u32>) -> Result<Range<u32>> {
        let bytes = size.map_or(DIRECTORY_MAX, u64::from);
        let most = bytes.div_ceil(self.boot.cluster);
        let runs = &mut self.found.runs;
        let start = runs.len();
        let count = self.clusters.chain(first, most, runs);
        let count = count.map_err(|error| self.located(error, "table", self.boot.table));
        let added = self.found.runs.len().saturating_sub(start) as u64;
        self.spend(added.saturating_mul(size_of::<ClusterRun>() as u64))?;
        let count = count?;
        if size.is_some() && count < most {
            let what = format!("{count} clusters, where the size needs {most}");
            return Err(self.located(Error::corrupt(what), "table", self.boot.table));
        }
        Ok(number(start)..number(self.found.runs.len()))
    }

    /// Reads all clusters of a directory.
    fn content(&self, runs: Range<u32>) -> Result<Vec<u8>> {
        let range = runs.start as usize..runs.end as usize;
        let mut bytes = Vec::new();
        for run in self.found.runs.get(range).unwrap_or_default() {
            let at = self.boot.position(run.cluster);
            let at = at.ok_or_else(|| Error::corrupt("a cluster that does not exist"))?;
            let len = u64::from(run.count) * self.boot.cluster;
            let read = self.window.read(at, len);
            let read = read.map_err(|error| self.located(error, "directory", at))?;
            bytes.extend_from_slice(&read);
        }
        Ok(bytes)
    }

    fn spend(&mut self, bytes: u64) -> Result<()> {
        let left = self.budget.checked_sub(bytes);
        self.budget = left.ok_or_else(|| {
            Error::limit("the files take more memory than metadata may take").within("directories")
        })?;
        Ok(())
    }

    /// Keeps what a directory has that is not shown.
    fn leave_out(&mut self, dir: u32, what: String) -> Result<()> {
        self.messages += 1;
        let ino = Ino(u64::from(dir) + 1);
        let error = Error::corrupt(what).within("directory");
        self.found.left_out.note(ino, self.messages, error)
    }
}

fn directory() -> FileEntry {
    FileEntry {
        name: Vec::new(),
        attributes: attributes::DIRECTORY,
        cluster: 0,
        size: 0,
        modified: Time::default(),
        has_birth: false,
        has_access: false,
    }
}

fn node(entry: &FileEntry, parent: u32) -> FatNode {
    FatNode {
        is_directory: entry.attributes & attributes::DIRECTORY != 0,
        is_read_only: entry.attributes & attributes::READ_ONLY != 0,
        modified: entry.modified,
        size: entry.size,
        parent,
        names: 0..0,
        runs: 0..0,
        damage: None,
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
