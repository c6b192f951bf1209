//! A regular file or a block device as a source.

use std::fs::File;
use std::io::{ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::{Path, PathBuf};

use model::{Error, Result};

use super::mapping::Mapping;
use super::{Bytes, ReadAt, check_range, read_owned, truncated};

/// The shortest range worth a mapping: below, two system calls and page faults cost more than a
/// copy.
const MAP_FROM: u64 = 64 << 10;

/// Reads a regular file or a block device with `pread`.
///
/// The length is taken once, when it is opened; a file that shrinks later gives `Corrupt`.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    path: PathBuf,
    len: u64,
    mapping: bool,
}

impl FileSource {
    /// Opens a file for reading. `Io` if that fails, `Invalid` for what is neither a regular file
    /// nor a block device.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Error::io("cannot open", error).path(path))?;
        Self::from_file(file, path)
    }

    /// Takes a file that is open for reading; `path` is for messages only.
    pub fn from_file(mut file: File, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |what: &'static str| move |error| Error::io(what, error).path(path);
        let metadata = file.metadata().map_err(io("cannot stat"))?;
        let len = if metadata.is_file() {
            metadata.len()
        } else if metadata.file_type().is_block_device() {
            file.seek(SeekFrom::End(0))
                .map_err(io("cannot find the size of the device"))?
        } else {
            return Err(Error::invalid("neither a regular file nor a block device").path(path));
        };
        Ok(Self {
            file,
            path: path.to_owned(),
            len,
            mapping: true,
        })
    }

    /// Makes `map` read into memory instead of mapping: for files that may shrink or lie on a
    /// file system that may go away, where touching a mapping would be a SIGBUS.
    #[must_use]
    pub fn without_mapping(mut self) -> Self {
        self.mapping = false;
        self
    }

    /// Tells the length now if it is a file that became shorter since it was opened.
    fn shrunk_to(&self) -> Result<Option<u64>> {
        let metadata = self
            .file
            .metadata()
            .map_err(|error| Error::io("cannot stat", error).path(&self.path))?;
        Ok((metadata.is_file() && metadata.len() < self.len).then_some(metadata.len()))
    }

    /// Tells the path it was opened with.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl ReadAt for FileSource {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let len = buf.len() as u64;
        check_range(self.len, offset, len)?;
        self.file
            .read_exact_at(buf, offset)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => truncated(self.len, offset, len).path(&self.path),
                _ => Error::io(format!("cannot read {len} bytes at {offset:#x}"), error)
                    .path(&self.path),
            })
    }

    fn map(&self, offset: u64, len: u64) -> Result<Bytes> {
        if !self.mapping || len < MAP_FROM {
            return read_owned(self, offset, len);
        }
        check_range(self.len, offset, len)?;
        let size = usize::try_from(len)
            .map_err(|_| Error::limit(format!("{len} bytes do not fit in memory")))?;
        if let Some(end) = self.shrunk_to()? {
            check_range(end, offset, len).map_err(|error| error.path(&self.path))?;
        }
        match Mapping::new(&self.file, offset, size) {
            Ok(mapping) => Ok(Bytes::mapped(mapping)),
            // some file systems cannot map
            Err(_) => read_owned(self, offset, len),
        }
    }
}
