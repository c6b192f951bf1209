//! A regular file or a block device as a source.
//!
//! **Invariant:** nothing is mapped. With a mapping, a truncated file or a failing disk would end
//! the process with a signal, and metadata could change after it was validated.

use std::fs::File;
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use sinterfs_model::{Error, Result};
use sinterfs_platform::{FileAt, files};

use super::{ReadAt, check_range, truncated};

/// Reads a regular file or a block device with `pread`.
///
/// The length is determined once, on opening; reads of a file that shrinks later fail with
/// `Corrupt`.
#[derive(Debug)]
pub struct FileSource {
    file: File,
    path: PathBuf,
    len: u64,
}

impl FileSource {
    /// Opens a file for reading. `Io` if that fails, `Invalid` for what is neither a regular file
    /// nor a block device.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        // a fifo without a writer would block here, and is refused below
        let mut options = File::options();
        let open = files::without_waiting(options.read(true)).open(path);
        let file = open.map_err(|error| Error::io("cannot open", error).path(path))?;
        Self::from_file(file, path)
    }

    /// Uses a file that is open for reading; `path` is for messages only.
    pub fn from_file(mut file: File, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let io = |what: &'static str| move |error| Error::io(what, error).path(path);
        let metadata = file.metadata().map_err(io("cannot stat"))?;
        let len = if metadata.is_file() {
            metadata.len()
        } else if files::is_block_device(&metadata) {
            device_len(&mut file).map_err(io("cannot find the size of the device"))?
        } else if metadata.is_dir() {
            return Err(Error::invalid("a directory, not a file").path(path));
        } else {
            return Err(Error::invalid("neither a regular file nor a block device").path(path));
        };
        Ok(Self {
            file,
            path: path.to_owned(),
            len,
        })
    }

    /// Returns the path that the file was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Finds the length of a device. The position of the file, which the descriptor of somebody else
/// may share, stays.
fn device_len(file: &mut File) -> io::Result<u64> {
    let position = file.stream_position()?;
    let len = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(position))?;
    Ok(len)
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
}
