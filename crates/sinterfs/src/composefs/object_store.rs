//! A store of objects: files named by the digests of their content, for any number of images.
//!
//! In: content with its digest. Out: `STORE/ab/cdef...`.
//!
//! **Invariant:** a named object is complete and durable, and is never rewritten: an object is
//! synced before it gets its name, and whatever ends the process, no part of one is left
//! (`O_TMPFILE`; where the file system has no unnamed files, hidden ones, which are removed on
//! failure). After [`ObjectStore::sync`] the names are durable, too: those of this process, those
//! that it found (who gave them may have been stopped before), and that of the store, unless this
//! user may not read the directory above it. Several processes may fill one store concurrently.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use sinterfs_block::verity::VerityDigest;
use sinterfs_erofs::composefs::object_path;
use sinterfs_model::{Error, Result};
use sinterfs_platform::{Directory, OpenFor, files};

use crate::output::hidden_file::parent;

/// The most objects that wait for their names: syncing them one after the other costs little more
/// than syncing one.
const WAITING: usize = 64;

/// The most bytes of these.
const WAITING_BYTES: u64 = 64 << 20;

/// The permissions of objects, less what the umask takes.
const OBJECT_MODE: u32 = 0o644;

/// A directory of objects.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    root: PathBuf,
    /// The directories that are there, by the first byte of digests.
    made: Vec<AtomicBool>,
    /// Those with names that the image needs.
    used: Vec<AtomicBool>,
    /// The directory with the name of the store, and those with the names of missing ones above it.
    above: Vec<PathBuf>,
    /// Makes names of hidden files distinct.
    counter: AtomicU64,
    objects: AtomicU64,
    bytes: AtomicU64,
}

impl ObjectStore {
    /// Opens a store, or makes an empty one.
    pub(crate) fn open(root: &Path) -> Result<Self> {
        // who made the store may have been stopped before its name was durable
        let ancestors = root.ancestors().skip(1);
        let ancestors = ancestors.filter(|path| !path.as_os_str().is_empty());
        let missing = ancestors.take_while(|path| !path.exists());
        let named = std::iter::once(root).chain(missing);
        let above = named.map(|path| parent(path).to_owned()).collect();
        std::fs::create_dir_all(root)
            .map_err(|error| Error::io("cannot make the object store", error).path(root))?;
        let flags = || (0..=u8::MAX).map(|_| AtomicBool::new(false)).collect();
        Ok(Self {
            root: root.to_owned(),
            made: flags(),
            used: flags(),
            above,
            counter: AtomicU64::new(0),
            objects: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        })
    }

    /// Returns whether an object is there; `Corrupt` if it has another length than its content.
    pub(crate) fn has(&self, digest: &VerityDigest, len: u64) -> Result<bool> {
        let path = self.root.join(object_path(digest));
        match std::fs::symlink_metadata(&path) {
            Ok(found) if found.is_file() && found.len() == len => {
                self.mark_used(directory_number(digest));
                Ok(true)
            }
            Ok(_) => {
                Err(Error::corrupt(format!("the object is not a file of {len} bytes")).path(path))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io("cannot look for the object", error).path(path)),
        }
    }

    /// Starts an object.
    pub(crate) fn create(&self) -> Result<NewObject> {
        match files::unnamed(&self.root, OBJECT_MODE) {
            Ok(Some(file)) => Ok(NewObject { file, hidden: None }),
            Ok(None) => self.create_hidden(),
            Err(error) => Err(Error::io("cannot create an object", error).path(&self.root)),
        }
    }

    fn create_hidden(&self) -> Result<NewObject> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let name = format!(".sinter.{}.{number}.tmp", std::process::id());
        let path = self.root.join(name);
        let made = files::make(&path, OBJECT_MODE);
        let file = made.map_err(|error| Error::io("cannot create an object", error).path(&path))?;
        Ok(NewObject {
            file,
            hidden: Some(path),
        })
    }

    /// Returns a synced object its name; one that is there already stays.
    fn name(&self, mut object: NewObject, digest: &VerityDigest, len: u64) -> Result<()> {
        let path = self.root.join(object_path(digest));
        let number = directory_number(digest);
        self.make_directory(number, &path)?;
        self.mark_used(number);
        let named = match object.hidden.take() {
            None => files::name(&object.file, &path),
            Some(hidden) => {
                let renamed = files::rename_new(&hidden, &path);
                if renamed.is_err() {
                    // removed when it is dropped
                    object.hidden = Some(hidden);
                }
                renamed
            }
        };
        match named {
            Ok(()) => {
                self.objects.fetch_add(1, Ordering::Relaxed);
                self.bytes.fetch_add(len, Ordering::Relaxed);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(Error::io("cannot name the object", error).path(path)),
        }
    }

    fn make_directory(&self, number: usize, object: &Path) -> Result<()> {
        let made = self.made.get(number);
        if made.is_some_and(|made| made.load(Ordering::Relaxed)) {
            return Ok(());
        }
        let dir = object.parent().unwrap_or(&self.root);
        match std::fs::create_dir(dir) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(Error::io("cannot make a directory of the object store", error).path(dir))
            }
            _ => {
                if let Some(made) = made {
                    made.store(true, Ordering::Relaxed);
                }
                Ok(())
            }
        }
    }

    fn mark_used(&self, number: usize) {
        if let Some(used) = self.used.get(number) {
            used.store(true, Ordering::Relaxed);
        }
    }

    /// Makes all names durable; returns the number of new objects and their bytes.
    pub(crate) fn sync(&self) -> Result<(u64, u64)> {
        let numbers = (0..=u8::MAX).zip(&self.used);
        for (number, _) in numbers.filter(|(_, used)| used.load(Ordering::Relaxed)) {
            sync_directory(&self.root.join(format!("{number:02x}")))?;
        }
        sync_directory(&self.root)?;
        for directory in &self.above {
            match open_directory(directory) {
                // that of others, where names can be made but not be listed
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
                opened => sync_opened(opened, directory)?,
            }
        }
        Ok((
            self.objects.load(Ordering::Relaxed),
            self.bytes.load(Ordering::Relaxed),
        ))
    }
}

/// Returns the number of the directory of an object.
fn directory_number(digest: &VerityDigest) -> usize {
    usize::from(digest.first().copied().unwrap_or(0))
}

fn sync_directory(path: &Path) -> Result<()> {
    sync_opened(open_directory(path), path)
}

fn open_directory(path: &Path) -> io::Result<Directory> {
    Directory::open(path, OpenFor::List)
}

fn sync_opened(opened: io::Result<Directory>, path: &Path) -> Result<()> {
    let synced = opened.and_then(|dir| files::sync_directory(&dir));
    synced.map_err(|error| Error::io("cannot sync the object store", error).path(path))
}

/// An object that has no name yet.
#[derive(Debug)]
pub(crate) struct NewObject {
    /// Where its content is written.
    pub(crate) file: File,
    hidden: Option<PathBuf>,
}

impl Drop for NewObject {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // nothing better can be done here if it fails
            let _ = std::fs::remove_file(hidden);
        }
    }
}

/// Objects of one thread that wait to be synced and named together.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    objects: Vec<(NewObject, VerityDigest, u64)>,
    bytes: u64,
}

impl Waiting {
    /// Takes an object that is written.
    pub(crate) fn push(
        &mut self,
        store: &ObjectStore,
        object: NewObject,
        digest: VerityDigest,
        len: u64,
    ) -> Result<()> {
        self.objects.push((object, digest, len));
        self.bytes = self.bytes.saturating_add(len);
        if self.objects.len() >= WAITING || self.bytes >= WAITING_BYTES {
            self.flush(store)?;
        }
        Ok(())
    }

    /// Syncs and names all that wait.
    pub(crate) fn flush(&mut self, store: &ObjectStore) -> Result<()> {
        for (object, _, _) in &self.objects {
            let synced = object.file.sync_all();
            synced.map_err(|error| Error::io("cannot sync an object", error).path(&store.root))?;
        }
        self.bytes = 0;
        for (object, digest, len) in self.objects.drain(..) {
            store.name(object, &digest, len)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn put(store: &ObjectStore, object: NewObject, bytes: &[u8]) {
        let mut waiting = Waiting::default();
        let digest = sinterfs_block::verity::verity(bytes);
        (&object.file).write_all(bytes).unwrap();
        waiting
            .push(store, object, digest, bytes.len() as u64)
            .unwrap();
        waiting.flush(store).unwrap();
    }

    #[test]
    fn objects_are_named_once_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a/store");
        let store = ObjectStore::open(&root).unwrap();
        put(&store, store.create().unwrap(), b"one");
        put(&store, store.create_hidden().unwrap(), b"two");
        let path = root.join(object_path(&sinterfs_block::verity::verity(b"one")));
        let before = std::fs::metadata(&path).unwrap().modified().unwrap();
        put(&store, store.create().unwrap(), b"one");
        put(&store, store.create_hidden().unwrap(), b"one");
        drop(store.create_hidden().unwrap());
        assert_eq!(
            std::fs::metadata(&path).unwrap().modified().unwrap(),
            before
        );
        assert_eq!(store.sync().unwrap(), (2, 6));
        let mut found: Vec<_> = std::fs::read_dir(&root).unwrap().collect();
        assert_eq!(found.len(), 2);
        found.retain(|entry| entry.as_ref().unwrap().path().is_file());
        assert!(found.is_empty());
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test fails without threads")]
    fn a_store_may_be_in_a_directory_that_is_not_readable() {
        let dir = tempfile::tempdir().unwrap();
        let mode = |mode| std::fs::set_permissions(dir.path(), Permissions::from_mode(mode));
        mode(0o333).unwrap();
        let fill = || {
            if rustix::process::geteuid().is_root() {
                let nobody = rustix::fs::Uid::from_raw(65_534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            let store = ObjectStore::open(&dir.path().join("store")).unwrap();
            put(&store, store.create().unwrap(), b"one");
            store.sync()
        };
        let filled = std::thread::scope(|scope| scope.spawn(fill).join().unwrap());
        mode(0o700).unwrap();
        assert_eq!(filled.unwrap(), (1, 3));
    }

    #[test]
    fn an_object_of_another_length_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let store = ObjectStore::open(dir.path()).unwrap();
        let digest = sinterfs_block::verity::verity(b"one");
        assert!(!store.has(&digest, 3).unwrap());
        put(&store, store.create().unwrap(), b"one");
        assert!(store.has(&digest, 3).unwrap());
        std::fs::write(dir.path().join(object_path(&digest)), b"").unwrap();
        assert!(store.has(&digest, 3).is_err());
    }
}
