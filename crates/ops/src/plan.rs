//! Collects the entries of an image to read.
//!
//! Enters an image and a selection of paths; leaves directories before their entries, other inodes,
//! and the further names of inodes with several. **Invariant:** memory is about 60 bytes and the
//! name for each selected entry, 30 more for a directory.

use std::collections::HashMap;
use std::path::PathBuf;

use sinterfs_model::{Error, FileType, Image, Ino, Inode, Result};
use sinterfs_platform::names;

use crate::walk::{Visit, WalkEntry, WalkStep, walk};

/// A name in a directory of the plan.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRef {
    pub(crate) dir: u32,
    name: usize,
    len: u16,
}

impl NameRef {
    /// Returns the order of the name in the walk: later names have higher numbers.
    pub(crate) const fn order(self) -> usize {
        self.name
    }
}

/// An inode under its first name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Item {
    pub(crate) name_ref: NameRef,
    pub(crate) ino: Ino,
    pub(crate) kind: FileType,
}

impl Item {
    /// Returns the inode; `Corrupt` if its type is not that in the directory.
    pub(crate) fn inode(&self, image: &dyn Image) -> Result<Inode> {
        let inode = image.inode(self.ino).map_err(Error::into_corrupt_entry)?;
        if inode.kind != self.kind {
            return Err(Error::corrupt(
                "the types of the directory entry and the inode differ",
            ));
        }
        Ok(inode)
    }
}

/// A further name of an inode.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Alias {
    pub(crate) name_ref: NameRef,
    /// The index in `Plan::leaves`.
    pub(crate) first: u32,
}

/// What a directory holds: entries that are no directories, and the bytes of their data.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

/// The entries of an image to read.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    names: Vec<u8>,
    /// Directories, parents first; the first is the start and its own parent.
    pub(crate) dirs: Vec<Item>,
    /// All other inodes.
    pub(crate) leaves: Vec<Item>,
    pub(crate) aliases: Vec<Alias>,
    /// The depth of each directory.
    depths: Vec<u32>,
    /// What each directory holds itself.
    held: Vec<Held>,
    first_names: HashMap<Ino, u32>,
}

impl Plan {
    /// Returns all names, directories first.
    pub(crate) fn name_refs(&self) -> impl Iterator<Item = NameRef> {
        let dirs = self.dirs.iter().skip(1).map(|dir| dir.name_ref);
        let leaves = self.leaves.iter().map(|leaf| leaf.name_ref);
        dirs.chain(leaves)
            .chain(self.aliases.iter().map(|alias| alias.name_ref))
    }

    /// Starts a plan at a directory.
    pub(crate) fn new(start: Ino) -> Self {
        let name_ref = NameRef {
            dir: 0,
            name: 0,
            len: 0,
        };
        let root = Item {
            name_ref,
            ino: start,
            kind: FileType::Directory,
        };
        Self {
            dirs: vec![root],
            depths: vec![0],
            held: vec![Held::default()],
            ..Self::default()
        }
    }

    /// Adds a directory and returns its index.
    pub(crate) fn add_dir(&mut self, parent: u32, name: &[u8], ino: Ino) -> Result<u32> {
        let name_ref = self.name_ref(parent, name)?;
        self.depths.push(self.depth(parent).saturating_add(1));
        self.held.push(Held::default());
        self.dirs.push(Item {
            name_ref,
            ino,
            kind: FileType::Directory,
        });
        index(self.dirs.len() - 1)
    }

    /// Adds an entry that is not a directory, as a further name if its inode is known.
    pub(crate) fn add_leaf(
        &mut self,
        image: &dyn Image,
        dir: u32,
        name: &[u8],
        ino: Ino,
        kind: FileType,
    ) -> Result<()> {
        let name_ref = self.name_ref(dir, name)?;
        let inode = image.inode(ino).map_err(Error::into_corrupt_entry)?;
        if let Some(held) = self.held.get_mut(dir as usize) {
            held.entries += 1;
            held.bytes = held.bytes.saturating_add(inode.allocated);
        }
        if inode.nlink > 1 {
            if let Some(&first) = self.first_names.get(&ino) {
                self.aliases.push(Alias { name_ref, first });
                return Ok(());
            }
            self.first_names.insert(ino, index(self.leaves.len())?);
        }
        self.leaves.push(Item {
            name_ref,
            ino,
            kind,
        });
        Ok(())
    }

    fn name_ref(&mut self, dir: u32, name: &[u8]) -> Result<NameRef> {
        let start = self.names.len();
        let len = u16::try_from(name.len())
            .map_err(|_| Error::corrupt("a name is longer than 65535 bytes"))?;
        self.names.extend_from_slice(name);
        Ok(NameRef {
            dir,
            name: start,
            len,
        })
    }

    /// Returns a name.
    pub(crate) fn name(&self, name_ref: NameRef) -> &[u8] {
        self.names
            .get(name_ref.name..name_ref.name + usize::from(name_ref.len))
            .unwrap_or_default()
    }

    /// Returns the directory with an index.
    pub(crate) fn dir(&self, index: u32) -> &Item {
        &self.dirs[index as usize]
    }

    /// Returns how many directories are above one.
    pub(crate) fn depth(&self, index: u32) -> u32 {
        self.depths.get(index as usize).copied().unwrap_or(0)
    }

    /// Returns what each directory holds itself, in their order.
    pub(crate) fn held(&self) -> &[Held] {
        &self.held
    }

    /// Returns the leaf with an index.
    pub(crate) fn leaf(&self, index: u32) -> &Item {
        &self.leaves[index as usize]
    }

    /// Returns the further name with an index.
    pub(crate) fn alias(&self, index: u32) -> &Alias {
        &self.aliases[index as usize]
    }

    /// Builds the path of a name.
    pub(crate) fn path(&self, name_ref: NameRef) -> PathBuf {
        names::path_buf(self.path_bytes(name_ref))
    }

    /// Builds the path of a name, with slashes.
    pub(crate) fn path_bytes(&self, name_ref: NameRef) -> Vec<u8> {
        let mut names = vec![self.name(name_ref)];
        let mut dir = name_ref.dir;
        while dir != 0 {
            names.push(self.name(self.dir(dir).name_ref));
            dir = self.dir(dir).name_ref.dir;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// Forgets what only building needs.
    pub(crate) fn seal(&mut self) {
        self.first_names = HashMap::new();
    }
}

/// The path of the last name, for names that follow one another as a walk meets them: then each
/// takes its own length, however deep it is.
#[derive(Debug, Default)]
pub(crate) struct PathOfLast {
    path: Vec<u8>,
    /// The directories of the path, and where their names end.
    dirs: Vec<(u32, usize)>,
}

impl PathOfLast {
    /// Returns the path of a name, with slashes.
    pub(crate) fn of(&mut self, plan: &Plan, name_ref: NameRef) -> &[u8] {
        let (mut further, mut dir) = (Vec::new(), name_ref.dir);
        let shared = loop {
            let depth = plan.depth(dir) as usize;
            let known = depth.checked_sub(1).and_then(|index| self.dirs.get(index));
            if depth == 0 || known.is_some_and(|(known, _)| *known == dir) {
                break depth;
            }
            further.push(dir);
            dir = plan.dir(dir).name_ref.dir;
        };
        self.dirs.truncate(shared);
        self.path
            .truncate(self.dirs.last().map_or(0, |(_, end)| *end));
        for dir in further.into_iter().rev() {
            self.push(plan.name(plan.dir(dir).name_ref));
            self.dirs.push((dir, self.path.len()));
        }
        self.push(plan.name(name_ref));
        &self.path
    }

    fn push(&mut self, name: &[u8]) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
    }
}

/// Plans everything below a directory, with any names.
///
/// The visitor is shown every entry, with the error if it (or the rest of a directory) can't be
/// planned.
pub(crate) fn everything(
    image: &dyn Image,
    start: Ino,
    visit: &mut dyn FnMut(&WalkEntry<'_>, Option<Error>) -> Result<()>,
) -> Result<Plan> {
    let mut plan = Plan::new(start);
    let mut dirs = vec![0];
    walk(image, start, &mut |met| {
        let entry = match met {
            Visit::Enter(entry) => entry,
            Visit::Broken(entry, error) => {
                visit(&entry, Some(error))?;
                return Ok(WalkStep::On);
            }
            Visit::Leave(_) => {
                dirs.pop();
                return Ok(WalkStep::On);
            }
        };
        let parent = dirs.last().copied().unwrap_or(0);
        let added = match entry.kind {
            FileType::Directory => plan
                .add_dir(parent, entry.name, entry.ino)
                .map(|index| dirs.push(index)),
            kind => plan.add_leaf(image, parent, entry.name, entry.ino, kind),
        };
        let step = if added.is_ok() {
            WalkStep::On
        } else {
            WalkStep::Over
        };
        visit(&entry, added.err())?;
        Ok(step)
    })?;
    plan.seal();
    Ok(plan)
}

fn index(value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::limit("more than 2^32 entries are selected"))
}
