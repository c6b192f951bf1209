//! An archive as a source: its members become a tree and the content of its files.
//!
//! Enters a file or a stream, compressed or not; leaves a `Tree`, and content by positioned reads.
//! An uncompressed file is read in place; anything else is unpacked once into an unnamed scratch
//! file, in which blocks of zeros are holes. The members of a zip are decoded when they are read.
//! **Invariant:** the tree depends only on the archive. A member that a tree cannot hold is
//! reported and left out, and so is content that is passed over; a violation of the format, or an
//! archive that ends within a member, is an error.

mod content;
mod implied;
pub(crate) mod member_tree;
mod packed;
mod program;
mod scan_packed;
mod unpack;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use sinterfs_archive::packed::UnitRange;
use sinterfs_archive::{Kind, Member, Notes, ar, cpio, rpm, tar, zip};
use sinterfs_codec::stream::StreamFormat;
use sinterfs_model::{
    Error, FileContent, LinkBelow, Loss, NodeId, Observer, Result, Source, Stage, Tally, Tree,
};
use sinterfs_platform::{FileAt, Scratch, names};
use sinterfs_workers::lock;

use super::Exclude;
use content::{ArchiveFile, ContentLocation, HeaderStream};
use member_tree::{MemberTree, NO_TARGET};
use packed::{PackedContent, PackedFile};
use unpack::ArchiveBytes;

pub use implied::ImpliedDirectories;
pub use program::is_program_with_zip;
pub use unpack::START;

/// Members between two reports of progress.
const BATCH: u64 = 1024;

/// Returns whether a file that begins with these bytes (`START` of them) is an archive, or
/// compressed.
pub fn is_archive(start: &[u8]) -> bool {
    StreamFormat::detect(start).is_some()
        || tar::read::is_tar(start)
        || cpio::read::is_cpio(start)
        || ar::is_deb(start)
        || rpm::is_rpm(start)
        || zip::is_zip(start)
}

/// How an archive is read.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is excluded.
    pub exclude: Exclude,
    /// The path of the directory that becomes the root of the tree, which has nothing else.
    pub root: Option<Vec<u8>>,
    /// Attributes of directories without a member.
    pub implied: ImpliedDirectories,
    /// Where compressed archives and streams are unpacked.
    pub scratch: Scratch,
}

/// An open archive.
pub struct Archive {
    bytes: Mutex<Option<ArchiveBytes>>,
    /// Whether content is at the same places in what was given as in what is read.
    is_plain: bool,
    /// For messages.
    path: PathBuf,
    options: Options,
    scanned: OnceLock<Scanned>,
    /// The results of a scan as a layer.
    scanned_layer: OnceLock<Scanned>,
}

/// The results of a scan besides the tree.
struct Scanned {
    file: Arc<File>,
    locations: Vec<ContentLocation>,
    /// The index of the location of each node's content; locations are in the archive's order.
    of_nodes: Vec<u32>,
    /// Directories without a member of their own, in order.
    implied: Vec<NodeId>,
    notes: Notes,
    packed: Option<Packed>,
}

/// The content of an archive that compresses its members.
struct Packed {
    /// The name of its format.
    format: &'static str,
    content: Arc<PackedContent>,
    /// The parts that locations name.
    parts: Vec<UnitRange>,
}

impl std::fmt::Debug for Archive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Archive {
    /// Opens a file or a named pipe.
    pub fn open(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path);
        let file = file.map_err(|error| Error::io("cannot open the archive", error).path(path))?;
        Self::of_file(file, path.to_owned(), options)
    }

    /// Opens standard input.
    pub fn stdin(options: Options) -> Result<Self> {
        let own = sinterfs_platform::files::stdin();
        let own = own.map_err(|error| Error::io("cannot use standard input", error))?;
        Self::of_file(own, PathBuf::from("-"), options)
    }

    /// Uses an open file or pipe; the path is for messages.
    pub fn of_file(file: File, path: PathBuf, options: Options) -> Result<Self> {
        Self::of_bytes(ArchiveBytes::of_file(file), path, options)
    }

    /// Uses a stream; the path is for messages.
    pub fn of_stream(
        stream: Box<dyn Read + Send>,
        path: PathBuf,
        options: Options,
    ) -> Result<Self> {
        Self::of_bytes(ArchiveBytes::of_stream(stream), path, options)
    }

    fn of_bytes(bytes: Result<ArchiveBytes>, path: PathBuf, options: Options) -> Result<Self> {
        let bytes = bytes.map_err(|error| error.path(&path))?;
        Ok(Self {
            is_plain: bytes.is_plain(),
            bytes: Mutex::new(Some(bytes)),
            path,
            options,
            scanned: OnceLock::new(),
            scanned_layer: OnceLock::new(),
        })
    }

    /// Returns the losses: what the archive holds and a tree cannot. Empty before the scan.
    pub fn losses(&self) -> Vec<Loss> {
        let notes = self.found().map(|scanned| &scanned.notes);
        let losses = notes.into_iter().flatten();
        losses
            .map(|(&what, &count)| Loss::new(what, count))
            .collect()
    }

    /// Returns the name of the format, as far as it says how content is compressed. Known after the
    /// scan.
    pub fn format(&self) -> &'static str {
        let packed = self.found().and_then(|scanned| scanned.packed.as_ref());
        packed.map_or("archive", |packed| packed.format)
    }

    /// Returns the methods by which content is compressed, each with the number of what it made
    /// (members of a zip). Known after the scan.
    pub fn methods(&self) -> BTreeMap<&'static str, u64> {
        let packed = self.found().and_then(|scanned| scanned.packed.as_ref());
        packed.map_or_else(BTreeMap::new, |packed| packed.content.methods())
    }

    fn located(&self, error: Error) -> Error {
        error.path(&self.path)
    }

    /// Reads all members into a tree.
    fn read(
        &self,
        file: &Arc<File>,
        mut names: MemberTree,
        observer: &dyn Observer,
    ) -> Result<(MemberTree, Notes, Option<Packed>)> {
        let bytes = HeaderStream::new(Arc::clone(file)).map_err(|error| self.located(error))?;
        if bytes.is_empty() {
            if self.options.implied.by_nothing {
                return Ok((names, Notes::new(), None));
            }
            let error = Error::invalid("the archive is empty");
            return Err(self.located(error));
        }
        let start = first_bytes(file).map_err(|error| self.located(error))?;
        let is_zip = zip::is_zip(&start) || is_program_with_zip(&start, file)?;
        if is_zip {
            let (names, packed) = self.read_packed(file, bytes, names, observer)?;
            return Ok((names, Notes::new(), Some(packed)));
        }
        let members = Members::of(&start, bytes);
        let mut members = members.map_err(|error| self.located(error))?;
        let mut tally = Tally::default();
        loop {
            let member = members.next_member().map_err(|error| self.located(error))?;
            let Some(member) = member else { break };
            tally.items += 1;
            tally.bytes = tally.bytes.saturating_add(member.size);
            if tally.items >= BATCH {
                observer.advance(Stage::Scan, std::mem::take(&mut tally));
                observer.check_cancelled()?;
            }
            self.add(&mut names, member, observer)?;
        }
        observer.advance(Stage::Scan, tally);
        self.warn_of(members.warnings(), observer);
        Ok((names, members.notes(), None))
    }

    /// Warns of what was passed over in the archive.
    fn warn_of(&self, warnings: &Notes, observer: &dyn Observer) {
        for (&what, &count) in warnings {
            let times = match count {
                1 => String::new(),
                _ => format!(" ({count} times)"),
            };
            observer.warn(&self.located(Error::invalid(format!("{what}{times}"))));
        }
    }

    /// Adds a member; warns of one that a tree cannot hold, and of content that is passed over.
    fn add(
        &self,
        names: &mut MemberTree,
        mut member: Member,
        observer: &dyn Observer,
    ) -> Result<()> {
        let at = member.at;
        let path = member.path.clone();
        let name = path.strip_prefix(b"/").unwrap_or(&path);
        let warn = |what: String| {
            let warning = Error::invalid(what).at("member", at);
            observer.warn(&warning.path(self.path.join(names::path(name))));
        };
        if let Some(remark) = member.remark.take() {
            warn(remark.into_owned());
        }
        if member.size > 0 && !matches!(member.kind, Kind::File | Kind::HardLink(_)) {
            let size = member.size;
            warn(format!(
                "{size} bytes of content, which only a regular file can have, passed over"
            ));
        }
        match names.add(member)? {
            Ok(passed_over) => passed_over.into_iter().for_each(warn),
            Err(why) => observer.warn(&self.refused(why, name, at)),
        }
        Ok(())
    }

    /// Returns the warning of a member that is left out.
    fn refused(&self, why: &str, name: &[u8], at: u64) -> Error {
        let warning = Error::invalid(format!("{why}, left out")).at("member", at);
        warning.path(self.path.join(names::path(name)))
    }

    fn found(&self) -> Option<&Scanned> {
        self.scanned_layer.get().or_else(|| self.scanned.get())
    }

    fn scanned(&self) -> Result<&Scanned> {
        let scanned = self.found();
        scanned.ok_or_else(|| Error::invalid("the archive was not scanned"))
    }

    fn scan_into(
        &self,
        names: MemberTree,
        results: &OnceLock<Scanned>,
        observer: &dyn Observer,
    ) -> Result<(Tree, Vec<LinkBelow>)> {
        let bytes = lock(&self.bytes).take();
        let file = match (bytes, self.found()) {
            (Some(bytes), _) => {
                let file = bytes.unpacked(&self.options.scratch, observer);
                file.map_err(|error| self.located(error))?
            }
            (None, Some(scanned)) => Arc::clone(&scanned.file),
            (None, None) => return Err(Error::invalid("the archive was read before")),
        };
        let (names, notes, packed) = self.read(&file, names, observer)?;
        let grown = names.finish(
            self.options.root.as_deref(),
            &self.options.exclude,
            self.options.implied,
        )?;
        let link = |(node, target, at)| LinkBelow {
            node,
            target,
            missing: self.refused(NO_TARGET, &grown.tree.path(node), at),
        };
        let links = grown.links_below.into_iter().map(link).collect();
        let _ = results.set(Scanned {
            file,
            locations: grown.locations,
            of_nodes: grown.of_nodes,
            implied: grown.implied,
            notes,
            packed,
        });
        Ok((grown.tree, links))
    }
}

impl Source for Archive {
    fn scan(&self, observer: &dyn Observer) -> Result<Tree> {
        let (tree, _) = self.scan_into(MemberTree::default(), &self.scanned, observer)?;
        Ok(tree)
    }

    fn scan_layer(&self, observer: &dyn Observer) -> Result<(Tree, Vec<LinkBelow>)> {
        self.scan_into(MemberTree::of_layer(), &self.scanned_layer, observer)
    }

    fn open(&self, tree: &Tree, file: NodeId) -> Result<Box<dyn FileContent>> {
        let scanned = self.scanned()?;
        let location = scanned.of_nodes.get(file.index());
        let location = location.and_then(|&location| scanned.locations.get(location as usize));
        let location =
            location.ok_or_else(|| Error::invalid("not found by the scan of the archive"))?;
        let path = names::path_buf(tree.path(file));
        if let Some(packed) = &scanned.packed {
            return Ok(Box::new(PackedFile {
                content: Arc::clone(&packed.content),
                part: packed.part(location),
                path: self.path.join(path),
            }));
        }
        let file = Arc::clone(&scanned.file);
        Ok(Box::new(ArchiveFile::new(
            file,
            location,
            self.is_plain,
            self.path.join(path),
        )))
    }

    fn has_entry(&self, directory: NodeId) -> bool {
        let scanned = self.found();
        scanned.is_none_or(|scanned| scanned.implied.binary_search(&directory).is_err())
    }

    fn rank(&self, _: &Tree, file: NodeId) -> u64 {
        let scanned = self.found();
        let location = scanned.and_then(|scanned| scanned.of_nodes.get(file.index()));
        location.map_or(0, |&location| u64::from(location))
    }
}

/// Returns the first bytes of a file, with zeros after them if they are fewer.
fn first_bytes(file: &File) -> Result<[u8; START]> {
    let mut start = [0; START];
    let found = file.read_at(&mut start, 0);
    found.map_err(|error| Error::io("cannot read the archive", error))?;
    Ok(start)
}

/// The members of an archive of either format.
enum Members {
    Tar(Box<tar::read::Reader<HeaderStream>>),
    Cpio(Box<cpio::read::Reader<HeaderStream>>),
}

impl Members {
    /// Detects the format by the first bytes; `bytes` reads the file from its beginning.
    fn of(start: &[u8; START], bytes: HeaderStream) -> Result<Self> {
        if cpio::read::is_cpio(start) {
            return Ok(Self::Cpio(Box::new(cpio::read::Reader::new(bytes))));
        }
        // an empty tar is zeros
        if tar::read::is_tar(start) || *start == [0; START] {
            return Ok(Self::Tar(Box::new(tar::read::Reader::new(bytes))));
        }
        Err(Error::unsupported("neither a tar nor a cpio archive"))
    }

    fn next_member(&mut self) -> Result<Option<Member>> {
        match self {
            Self::Tar(reader) => reader.next_member(),
            Self::Cpio(reader) => reader.next_member(),
        }
    }

    /// Returns what was counted and is in no member.
    fn notes(&self) -> Notes {
        match self {
            Self::Tar(reader) => reader.notes().clone(),
            Self::Cpio(_) => Notes::new(),
        }
    }

    fn warnings(&self) -> &Notes {
        match self {
            Self::Tar(reader) => reader.warnings(),
            Self::Cpio(reader) => reader.warnings(),
        }
    }
}
