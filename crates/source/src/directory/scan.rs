//! Scans a directory with several threads.
//!
//! Enters an open root; leaves the sorted `Tree`. A task is a directory; a thread lists it, asks
//! for the status of each name in it and adds the entries in batches. Each thread has the directory
//! open that it is listing; some far below the root stay open as long as others below them wait, so
//! that the cost of a deep chain is linear.
//! **Invariant:** what cannot be read is reported to the observer and left out; an unreadable
//! directory is kept, empty.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::TryLockError;
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use sinterfs_model::{
    Content, Error, FileType, NodeId, Observer, Rdev, Result, Stage, Tally, Tree, TreeBuilder,
    Xattrs,
};
use sinterfs_platform::{self as platform, Identity, OpenFor, Status, files, names, xattrs};
use sinterfs_workers::{lock, run_fallible};

use super::opened::Directory;
use super::{attributes, content, unfinished};

/// Entries that are added to the tree at once.
const BATCH: usize = 1024;

/// The longest path in bytes from an open directory to one below it, before another one is kept
/// open: opening costs the kernel a lookup for each component.
const LONGEST_REACH: usize = 1024;

/// Directories kept open for those below them, at most: far fewer than a process may have.
const KEPT_OPEN: usize = 64;

/// Walks the directory.
pub(super) fn scan(dir: &Directory, threads: usize, observer: &dyn Observer) -> Result<Tree> {
    let root = platform::Directory::status_of(dir.root.as_file())
        .map_err(|error| Error::io("cannot stat the input directory", error).path(&dir.path))?;
    let growth = GrowingTree {
        builder: TreeBuilder::new(root.meta),
        inodes: HashMap::new(),
    };
    let wanted = !dir.options.no_xattrs;
    let readable = wanted && xattrs::are_readable(&dir.root);
    if wanted && !readable {
        let error = Error::unsupported("extended attributes are left out, without /proc");
        observer.warn(&error.path(&dir.path));
    }
    let first = Task {
        node: NodeId::ROOT,
        path: Vec::new(),
        base: Base::default(),
    };
    let walk = Walk {
        dir,
        observer,
        device: root.identity.device,
        queue: Mutex::new(Queue {
            tasks: vec![first],
            busy: 0,
            stopped: false,
        }),
        wake: Condvar::new(),
        growth: Mutex::new(growth),
        xattrs: readable,
        kept_open: Arc::default(),
    };
    let mut own = walk.xattrs(&dir.root, b".", &[]);
    lock(&walk.growth)
        .builder
        .set_xattrs(NodeId::ROOT, &mut own)?;
    run_fallible("scan", threads, || walk.work())?;
    let growth = walk
        .growth
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    growth.builder.finish()
}

/// A directory to list: its node, its path from the root, and what it is opened relative to.
struct Task {
    node: NodeId,
    path: Vec<u8>,
    base: Base,
}

/// A directory above others that is kept open, so that a deep one is not looked up from the root.
#[derive(Clone, Default)]
struct Base {
    /// `None` for the root.
    dir: Option<Arc<KeptOpen>>,
    /// The length of its path, with the slash behind it.
    len: usize,
}

/// A descriptor that counts among [`KEPT_OPEN`].
struct KeptOpen {
    directory: platform::Directory,
    count: Arc<AtomicUsize>,
}

impl Drop for KeptOpen {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Queue {
    tasks: Vec<Task>,
    /// Threads that are listing a directory and may add tasks.
    busy: usize,
    stopped: bool,
}

/// The tree so far, and where inodes with several names are in it.
struct GrowingTree {
    builder: TreeBuilder,
    inodes: HashMap<Identity, NodeId>,
}

/// One name found, before it is added to the tree.
struct ScannedEntry {
    name: Vec<u8>,
    status: Status,
    kind: FileType,
    target: Vec<u8>,
    xattrs: Xattrs,
    /// Whether nothing below it is looked at.
    stays_empty: bool,
}

struct Walk<'a> {
    dir: &'a Directory,
    observer: &'a dyn Observer,
    device: Rdev,
    queue: Mutex<Queue>,
    wake: Condvar,
    growth: Mutex<GrowingTree>,
    /// Whether extended attributes are wanted and can be read.
    xattrs: bool,
    /// Directories that are kept open.
    kept_open: Arc<AtomicUsize>,
}

impl Walk<'_> {
    /// Lists directories until none is left or a thread fails.
    fn work(&self) -> Result<()> {
        while let Some(task) = self.next() {
            let mut turn = BusyGuard {
                walk: self,
                failed: true,
            };
            self.observer.check_cancelled()?;
            self.list(&task)?;
            turn.failed = false;
        }
        Ok(())
    }

    fn next(&self) -> Option<Task> {
        let mut queue = lock(&self.queue);
        loop {
            if queue.stopped {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                queue.busy += 1;
                return Some(task);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    fn list(&self, task: &Task) -> Result<()> {
        let above = match &task.base.dir {
            Some(kept) => &kept.directory,
            None => &self.dir.root,
        };
        let reach = task.path.get(task.base.len..).unwrap_or_default();
        let dir = match above.beneath(reach, OpenFor::List) {
            Ok(dir) => dir,
            Err(error) => {
                self.warn("cannot open the directory, left empty", error, &task.path);
                return Ok(());
            }
        };
        let (mut batch, base) = (Vec::new(), self.base_below(task, reach.len(), &dir));
        // a name that is replaced meanwhile may be listed twice
        let mut seen = HashSet::new();
        let mut added = Ok(());
        let listed = dir.list(&mut |name| {
            if seen.insert(name.to_vec()) {
                batch.extend(self.inspect(&dir, task, name));
            }
            if batch.len() >= BATCH {
                added = self.add(task, &base, &mut batch);
            }
            match added {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        added?;
        if let Err(error) = listed {
            self.warn("cannot read the directory to its end", error, &task.path);
        }
        self.add(task, &base, &mut batch)
    }

    /// Returns what the directories below a listed one are opened relative to: it, if it is far
    /// below its own base and not too many are open.
    fn base_below(&self, task: &Task, reach: usize, dir: &platform::Directory) -> Base {
        if reach <= LONGEST_REACH {
            return task.base.clone();
        }
        let count = Arc::clone(&self.kept_open);
        if count.fetch_add(1, Ordering::Relaxed) >= KEPT_OPEN {
            count.fetch_sub(1, Ordering::Relaxed);
            return task.base.clone();
        }
        match dir.try_clone() {
            Ok(directory) => Base {
                dir: Some(Arc::new(KeptOpen { directory, count })),
                len: task.path.len() + 1,
            },
            // no descriptor is left: the way from the base above is longer, no more
            Err(_) => {
                count.fetch_sub(1, Ordering::Relaxed);
                task.base.clone()
            }
        }
    }

    /// Finds out about a name; `None` if it is left out.
    fn inspect(&self, dir: &platform::Directory, task: &Task, name: &[u8]) -> Option<ScannedEntry> {
        let path = join(&task.path, name);
        let (exclude, options) = (&self.dir.options.exclude, &self.dir.options);
        if exclude.matches_any(&path) {
            return self.excluded(dir, name);
        }
        let mut status = match dir.status(name) {
            Ok(status) => status,
            Err(error) => {
                self.warn("cannot stat, left out", error, &path);
                return None;
            }
        };
        let Some(kind) = status.kind else {
            let error = Error::unsupported("unknown file type, left out");
            self.observer.warn(&error.path(self.dir.full_path(&path)));
            return None;
        };
        let is_dir = kind == FileType::Directory;
        let is_excluded = exclude.matches(&path, is_dir);
        if is_excluded && !(is_dir && options.keep_excluded_dirs) {
            return self.excluded(dir, name);
        }
        if names::is_odd(name) {
            let what = "the name is not valid UTF-16: it is stored as bytes that are not UTF-8";
            let error = Error::unsupported(what);
            self.observer.warn(&error.path(self.dir.full_path(&path)));
        }
        let identity = (status.identity.device, status.identity.ino);
        if options.skip.contains(&identity) || self.is_unfinished(dir, name, kind, &path) {
            return None;
        }
        if kind == FileType::File && status.size == 0 {
            status.size = self.size_by_reading(dir, name, &path);
        }
        let mut target = Vec::new();
        if kind == FileType::Symlink {
            match dir.read_link(name) {
                Ok(text) => target = text,
                Err(error) => {
                    self.warn("cannot read the symlink, left out", error, &path);
                    return None;
                }
            }
        }
        Some(ScannedEntry {
            xattrs: self.xattrs(dir, name, &path),
            name: name.to_vec(),
            status,
            kind,
            target,
            stays_empty: is_excluded,
        })
    }

    /// Returns whether a file or directory is one that a build or an extraction writes until it is
    /// complete; reports it unless this process has it locked.
    fn is_unfinished(
        &self,
        dir: &platform::Directory,
        name: &[u8],
        kind: FileType,
        path: &[u8],
    ) -> bool {
        let is_dir = kind == FileType::Directory;
        let writer = if is_dir {
            unfinished::writer_of_dir(name)
        } else {
            unfinished::writer(name)
        };
        let Some(process) = writer else { return false };
        let is_locked = || {
            let file = dir.open_beneath(name, OpenFor::Read);
            file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
        };
        if is_dir || process != std::process::id() || !is_locked() {
            let what = if is_dir {
                "an unfinished directory of another run, left out"
            } else {
                "an unfinished file of another run, left out"
            };
            self.observer
                .warn(&Error::invalid(what).path(self.dir.full_path(path)));
        }
        true
    }

    /// Returns the length of a file whose size is said to be 0.
    fn size_by_reading(&self, dir: &platform::Directory, name: &[u8], path: &[u8]) -> u64 {
        if !files::is_without_sizes(dir.as_file()) {
            return 0;
        }
        let file = dir.open_beneath(name, OpenFor::Read);
        match file.and_then(|file| content::without_size(&file)) {
            Ok((len, warning)) => {
                if let Some(warning) = warning {
                    self.observer.warn(&warning.path(self.dir.full_path(path)));
                }
                len
            }
            Err(error) => {
                self.warn("cannot read, stored empty", error, path);
                0
            }
        }
    }

    /// Returns an excluded name, if those are kept, as a file of its own: another name of it that
    /// is packed gets what is not read here.
    fn excluded(&self, dir: &platform::Directory, name: &[u8]) -> Option<ScannedEntry> {
        if !self.dir.options.keep_excluded_names {
            return None;
        }
        let status = dir.status(name).ok()?;
        Some(ScannedEntry {
            name: name.to_vec(),
            status: Status {
                nlink: 1,
                size: 0,
                ..status
            },
            kind: status.kind?,
            target: Vec::new(),
            xattrs: Xattrs::new(),
            stays_empty: true,
        })
    }

    /// Reads the extended attributes of a name; warns of those that cannot be read.
    fn xattrs(&self, dir: &platform::Directory, name: &[u8], path: &[u8]) -> Xattrs {
        if !self.xattrs {
            return Xattrs::new();
        }
        attributes::read(dir, name, &mut |what, error| self.warn(what, error, path))
    }

    /// Adds entries to the tree and queues the directories among them.
    fn add(&self, task: &Task, base: &Base, batch: &mut Vec<ScannedEntry>) -> Result<()> {
        let mut found = Vec::new();
        let mut tally = Tally::items(batch.len() as u64);
        let mut growth = lock(&self.growth);
        for mut entry in batch.drain(..) {
            let node = growth.add(task.node, &mut entry)?;
            if entry.kind == FileType::File {
                tally.bytes = tally.bytes.saturating_add(entry.status.size);
            }
            let foreign = entry.status.identity.device != self.device;
            let stays_empty = entry.stays_empty || (self.dir.options.one_file_system && foreign);
            if entry.kind == FileType::Directory && !stays_empty {
                found.push(Task {
                    node,
                    path: join(&task.path, &entry.name),
                    base: base.clone(),
                });
            }
        }
        drop(growth);
        self.observer.advance(Stage::Scan, tally);
        if !found.is_empty() {
            lock(&self.queue).tasks.append(&mut found);
            self.wake.notify_all();
        }
        Ok(())
    }

    fn warn(&self, what: impl Into<Cow<'static, str>>, error: io::Error, path: &[u8]) {
        self.observer
            .warn(&Error::io(what, error).path(self.dir.full_path(path)));
    }
}

/// Ends a thread's turn at a directory, also by a panic.
struct BusyGuard<'a, 'b> {
    walk: &'a Walk<'b>,
    failed: bool,
}

impl Drop for BusyGuard<'_, '_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.walk.queue);
        queue.busy -= 1;
        queue.stopped |= self.failed;
        if queue.stopped || (queue.busy == 0 && queue.tasks.is_empty()) {
            self.walk.wake.notify_all();
        }
    }
}

impl GrowingTree {
    fn add(&mut self, parent: NodeId, entry: &mut ScannedEntry) -> Result<NodeId> {
        let Status {
            identity,
            meta,
            nlink,
            size,
            rdev,
            ..
        } = entry.status;
        let shared = nlink > 1 && entry.kind != FileType::Directory;
        if shared && let Some(&node) = self.inodes.get(&identity) {
            self.builder.link(parent, &entry.name, node)?;
            return Ok(node);
        }
        let content = match entry.kind {
            FileType::Directory => Content::Directory { first: 0, count: 0 },
            FileType::File => Content::File { size },
            FileType::Symlink => Content::Symlink(self.builder.intern(&entry.target)?),
            FileType::CharDevice => Content::CharDevice(rdev),
            FileType::BlockDevice => Content::BlockDevice(rdev),
            FileType::Fifo => Content::Fifo,
            FileType::Socket => Content::Socket,
        };
        let node = self.builder.add(parent, &entry.name, meta, content)?;
        self.builder.set_xattrs(node, &mut entry.xattrs)?;
        if shared {
            self.inodes.insert(identity, node);
        }
        Ok(node)
    }
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    if !dir.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
