//! A list of files (mtree) as a source: its lines become a tree, and files of the system its
//! content.
//!
//! Enters a list and the directory of its files; leaves a `Tree` and the content of its files.
//! **Invariant:** the list is authoritative: what it does not specify is taken from the file if it
//! exists, and a file of another size or digest is an error, never packed. Nothing outside of the
//! directory is accessed unless the caller allows it.

mod root;

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sinterfs_archive::mtree::read::{self as mtree, Algorithm, MtreeEntry};
use sinterfs_archive::{Kind, Member, Notes};
use sinterfs_block::checksum::{sha256_of, sha384_of, sha512_of};
use sinterfs_model::{
    Error, FileContent, FileType, Loss, Meta, NodeId, Observer, Result, Source, Stage, Tally, Time,
    Times, Tree, Xattrs,
};
use sinterfs_platform::{Directory, Status, files};

use super::Exclude;
use super::archive::ImpliedDirectories;
use super::archive::member_tree::MemberTree;
use super::directory::content::{OpenFile, measured};
use super::edits::mtime_override::MtimeOverride;
use super::image::Damage;
use root::Root;

pub use sinterfs_archive::mtree::read::is_mtree;

/// Entries between two reports of progress.
const BATCH: u64 = 1024;

/// How a list is read, and where its files are.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// What is excluded.
    pub exclude: Exclude,
    /// The directory of the files; `None` means that of the list.
    pub root: Option<PathBuf>,
    /// Whether paths may lead outside of it.
    pub allow_outside: bool,
}

/// An open list of files.
pub struct Manifest {
    path: PathBuf,
    root: Root,
    exclude: Exclude,
    /// Records files that do not match the list.
    damage: Arc<Damage>,
    scanned: OnceLock<Scanned>,
}

/// The results of a scan besides the tree.
struct Scanned {
    origins: Vec<Origin>,
    /// The index of the origin of each node; out of range for other nodes than files.
    of_nodes: Vec<usize>,
    /// Directories without a line of their own, in order.
    implied: Vec<NodeId>,
    notes: Notes,
}

/// Where the content of a file is, and how to verify it.
struct Origin {
    /// As given by the list.
    path: Vec<u8>,
    line: u64,
    size: u64,
    /// The size that the system says it has; 0 for files of the kernel that have content.
    scanned_size: u64,
    /// Its modification time at the scan.
    modified: Time,
    digests: Vec<(Algorithm, Vec<u8>)>,
    /// Its modification time when its digests were verified.
    compared: OnceLock<Time>,
}

impl std::fmt::Debug for Manifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Manifest")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Manifest {
    /// Opens the directory of a list, which the scan reads. `-` is standard input.
    pub fn open(path: impl AsRef<Path>, options: &Options, damage: Arc<Damage>) -> Result<Self> {
        let path = path.as_ref();
        let beside = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let dir = options.root.as_deref().or(beside).unwrap_or(Path::new("."));
        Ok(Self {
            path: path.to_owned(),
            root: Root::open(dir, options.allow_outside)?,
            exclude: options.exclude.clone(),
            damage,
            scanned: OnceLock::new(),
        })
    }

    /// Returns the losses: what the list says and a tree cannot hold, or what is not verified.
    /// Empty before the scan.
    pub fn losses(&self) -> Vec<Loss> {
        let notes = self.scanned.get().map(|scanned| &scanned.notes);
        let losses = notes.into_iter().flatten();
        losses
            .map(|(&what, &count)| Loss::new(what, count))
            .collect()
    }

    fn list(&self) -> Result<mtree::List> {
        let text: Box<dyn BufRead> = if self.path.as_os_str() == "-" {
            Box::new(std::io::stdin().lock())
        } else {
            let file = File::open(&self.path);
            let file = file.map_err(|error| Error::io("cannot open the list", error))?;
            Box::new(BufReader::with_capacity(1 << 20, file))
        };
        mtree::list(text)
    }

    fn located(&self, line: u64, error: &Error) -> Error {
        // the message alone would omit the cause
        let what = format!("line {line}: {error}");
        Error::new(error.kind(), what).path(&self.path)
    }

    /// Converts an entry to a member whose content is the number of an origin; `None` if an
    /// optional file is missing.
    fn member(&self, entry: MtreeEntry, origins: &mut Vec<Origin>) -> Result<Option<Member>> {
        let place = entry.content.as_deref().unwrap_or(&entry.path);
        let follows = entry.content.is_some() || entry.kind == Some(FileType::File);
        let found = if entry.is_complete() {
            None
        } else {
            self.root.status(place, follows)?
        };
        if found.is_none() && entry.optional {
            return Ok(None);
        }
        let status = found.as_ref().map(|(_, status)| status);
        let kind = entry.kind.or(status.and_then(|status| status.kind));
        let missing = "no such file, and no type= for which none is needed";
        let kind = kind.ok_or_else(|| Error::not_found(missing))?;
        let mut size = 0;
        let kind = match kind {
            FileType::Directory => Kind::Directory,
            FileType::File => {
                let origin = self.origin(&entry, place, status)?;
                size = origin.size;
                origins.push(origin);
                Kind::File
            }
            FileType::Symlink => {
                let target = match (&entry.target, &found) {
                    (Some(target), _) => Some(target.clone()),
                    (None, Some((file, _))) => Directory::read_open_link(file).ok(),
                    (None, None) => None,
                };
                let what = "a symlink without link=";
                Kind::Symlink(target.ok_or_else(|| Error::invalid(what))?)
            }
            FileType::CharDevice | FileType::BlockDevice => {
                let rdev = entry.rdev.or(status.map(|status| status.rdev));
                let rdev = rdev.ok_or_else(|| Error::invalid("a device without device="))?;
                match kind {
                    FileType::CharDevice => Kind::CharDevice(rdev),
                    _ => Kind::BlockDevice(rdev),
                }
            }
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
        };
        Ok(Some(Member {
            meta: meta(&entry, &kind, status),
            content: origins.len().saturating_sub(1) as u64,
            path: entry.path,
            kind,
            xattrs: Xattrs::new(),
            size,
            map: None,
            at: entry.line,
            remark: None,
        }))
    }

    /// Verifies the type and size of a file against its entry, and returns its origin.
    fn origin(&self, entry: &MtreeEntry, place: &[u8], status: Option<&Status>) -> Result<Origin> {
        let display_path = || self.root.display_path(place);
        let status = status.ok_or_else(|| {
            let what = format!("no such file: {}", display_path());
            Error::not_found(what)
        })?;
        if status.kind != Some(FileType::File) {
            return Err(Error::invalid(format!(
                "{} is not a regular file",
                display_path()
            )));
        }
        if let Some(size) = entry.size.filter(|&size| size != status.size) {
            let what = format!("{} has {} bytes, not {size}", display_path(), status.size);
            return Err(Error::corrupt(what));
        }
        let mut size = status.size;
        if size == 0
            && let Ok(file) = self.root.open_at(place)
            && files::is_without_sizes(&file)
        {
            let read = measured(&file);
            size = read.map_err(|e| Error::io(format!("cannot read {}", display_path()), e))?;
        }
        Ok(Origin {
            path: place.to_vec(),
            line: entry.line,
            size,
            scanned_size: status.size,
            modified: status.meta.times.modified,
            digests: entry.digests.clone(),
            compared: OnceLock::new(),
        })
    }

    /// Opens a file, and verifies its digests unless they were verified.
    fn content(&self, origin: &Origin) -> Result<OpenFile> {
        let file = self.root.open_at(&origin.path)?;
        let path = self.root.display_path(&origin.path);
        let status = || {
            let status = Directory::status_of(&file);
            status.map_err(|error| Error::io(format!("cannot stat {path}"), error))
        };
        let before = status()?;
        if before.kind != Some(FileType::File) || before.size != origin.scanned_size {
            let what = format!(
                "{path} is no longer a file of {} bytes",
                origin.scanned_size
            );
            return Err(Error::invalid(what));
        }
        let modified = before.meta.times.modified;
        if !origin.digests.is_empty() && origin.compared.get() != Some(&modified) {
            for (algorithm, expected) in &origin.digests {
                let found = hash(*algorithm, &file);
                let found = found.map_err(|e| Error::io(format!("cannot read {path}"), e))?;
                if found != *expected {
                    let what = format!("{path} has another {algorithm:?} than the list says");
                    return Err(Error::corrupt(what));
                }
            }
            let _ = origin.compared.set(modified);
        }
        Ok(OpenFile::new(file, PathBuf::from(path), before.size))
    }
}

fn hash(algorithm: Algorithm, mut file: &File) -> std::io::Result<Vec<u8>> {
    std::io::Seek::rewind(&mut file)?;
    Ok(match algorithm {
        Algorithm::Sha256 => sha256_of(file)?.0.to_vec(),
        Algorithm::Sha384 => sha384_of(file)?.to_vec(),
        Algorithm::Sha512 => sha512_of(file)?.to_vec(),
    })
}

/// Returns the metadata of a file: of its entry, else of the file, else the default with owner
/// root.
fn meta(entry: &MtreeEntry, kind: &Kind, status: Option<&Status>) -> Meta {
    let own = status.map(|status| status.meta);
    let mode = match kind {
        Kind::Directory => 0o755,
        Kind::Symlink(_) => 0o777,
        _ => 0o644,
    };
    let own = own.unwrap_or(Meta {
        mode,
        ..Meta::default()
    });
    Meta {
        mode: entry.mode.unwrap_or(own.mode),
        uid: entry.uid.unwrap_or(own.uid),
        gid: entry.gid.unwrap_or(own.gid),
        times: entry
            .time
            .map_or(Times::all(own.times.modified), Times::all),
    }
}

impl Source for Manifest {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let list = self.list().map_err(|error| error.path(&self.path))?;
        let (mut names, mut origins) = (MemberTree::default(), Vec::new());
        let mut linked: HashMap<(u64, Vec<u8>), Vec<u8>> = HashMap::new();
        let mut tally = Tally::default();
        for entry in list.entries {
            let line = entry.line;
            let inode = entry.inode.clone().filter(|_| entry.nlink.unwrap_or(1) > 1);
            let member = self.member(entry, &mut origins);
            let Some(mut member) = member.map_err(|error| self.located(line, &error))? else {
                continue;
            };
            tally.items += 1;
            tally.bytes = tally.bytes.saturating_add(member.size);
            if tally.items >= BATCH {
                observer.advance(Stage::Scan, std::mem::take(&mut tally));
                observer.check_cancelled()?;
            }
            if let Some(inode) = inode.filter(|_| member.kind != Kind::Directory) {
                match linked.get(&inode) {
                    Some(first) => {
                        member.kind = Kind::HardLink(first.clone());
                        member.size = 0;
                    }
                    None => {
                        linked.insert(inode, member.path.clone());
                    }
                }
            }
            if let Err(why) = names.add(member)? {
                let error = Error::invalid(format!("the path {why}"));
                return Err(self.located(line, &error));
            }
        }
        observer.advance(Stage::Scan, tally);
        let grown = names.finish(None, &self.exclude, ImpliedDirectories::default())?;
        let of_location = |&place: &u32| {
            let place = grown.locations.get(place as usize);
            let origin = place.and_then(|place| usize::try_from(place.start).ok());
            origin.unwrap_or(usize::MAX)
        };
        let _ = self.scanned.set(Scanned {
            of_nodes: grown.of_nodes.iter().map(of_location).collect(),
            origins,
            implied: grown.implied,
            notes: list.notes,
        });
        Ok(grown.tree)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let scanned = self.scanned.get();
        let origin = scanned.and_then(|scanned| {
            let origin = scanned.of_nodes.get(file.index())?;
            scanned.origins.get(*origin)
        });
        let unknown = || Error::invalid("not found by the scan of the list");
        let origin = origin.ok_or_else(unknown)?;
        let inner = self.content(origin).map_err(|error| {
            // content that does not match is never packed
            self.damage.note(self.located(origin.line, &error));
            Error::corrupt("does not match the list")
        })?;
        Ok(Box::new(MtimeOverride {
            inner: Box::new(inner),
            scanned: origin.modified,
            reported: tree.node(file).meta.times.modified,
        }))
    }

    fn may_change(&self, _: NodeId) -> bool {
        true
    }

    fn has_entry(&self, directory: NodeId) -> bool {
        let scanned = self.scanned.get();
        scanned.is_none_or(|scanned| scanned.implied.binary_search(&directory).is_err())
    }
}
