//! Writes an image, or another new file, to disk: to an unnamed file that is synced and then
//! linked.
//!
//! Enters: a target path or `-`. Leaves: bytes through `Write`, and after `commit` the file under
//! its name. **Invariant:** until `commit` the name is untouched, and whatever ends the process,
//! nothing half-written is left (`O_TMPFILE`); where the file system has no unnamed files, or there
//! is no /proc, a hidden file beside the target is used (`hidden_file.rs`) and removed on failure.
//! Where a format writes its beginning last and the target is a pipe, a scratch file holds the
//! image until then. An object of a store is a stream, too, which appears with `commit`.

pub(crate) mod destination;
pub(crate) mod hidden_file;
pub(crate) mod naming;
pub(crate) mod new_file;
mod replaced;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sinterfs_block::Sink;
use sinterfs_model::{Error, Result, Setting};
use sinterfs_platform::Scratch;
use sinterfs_platform::{FileAt, files};

use crate::open_options::OpenOptions;
use crate::output::destination::Destination;
use crate::output::hidden_file::parent;
use crate::output::naming::{
    FormerFile, exists, former_name, name_file, open_directory, rename, sync_directory,
};
use crate::output::replaced::{copy_attributes, take_access};
use crate::place::TRANSPORT;
use crate::place::stores::Upload;

/// How much is collected before a write reaches the kernel, in bytes.
const BUFFER: usize = 1 << 20;

/// Permissions of a new file, less what the umask takes; and of one that replaces another, until it
/// has the other's.
const PUBLIC: u32 = 0o666;
const PRIVATE: u32 = 0o600;

/// Where an image goes.
#[derive(Debug)]
pub struct Output {
    target: OutputTarget,
    file: Arc<Mutex<Written>>,
    /// A file that belongs to what is replaced.
    former: Option<PathBuf>,
}

/// A file and how much was written to it.
#[derive(Debug)]
struct Written {
    file: BufWriter<File>,
    /// Where the next byte goes, from the start of the file; `None` if the file cannot seek.
    position: Option<u64>,
    /// Where the bytes of a stream go on, if they become an object of a store.
    upload: Option<Box<dyn Upload>>,
}

impl Written {
    /// Returns why the other end of the stream is closed, if that is known.
    fn failure(&mut self, error: io::Error) -> io::Error {
        match self.upload.take() {
            Some(upload) if error.kind() == io::ErrorKind::BrokenPipe => {
                io::Error::other(upload.failure())
            }
            _ => error,
        }
    }
}

#[derive(Debug)]
enum OutputTarget {
    /// A stream: standard output, a pipe, a device, an open file; it has its name already.
    Stream,
    /// A stream that gets the image from a scratch file when that is complete.
    Behind { stream: File },
    /// A file without a name until `commit`.
    Unnamed { path: PathBuf, replace: bool },
    /// A file under a temporary name until `commit`.
    Hidden {
        path: PathBuf,
        temporary: PathBuf,
        replace: bool,
        done: bool,
    },
}

impl Output {
    /// Opens a destination; one that cannot seek gets a file of `scratch` in front of it, if any.
    pub fn open(to: &Destination, how: &OpenOptions, scratch: Option<&Scratch>) -> Result<Self> {
        let output = match to {
            Destination::Stdout => Self::stdout(),
            Destination::File { path, replace } => Self::create(path, *replace),
            Destination::Object { url, replace } => Self::object(url, *replace, how),
            Destination::Open(file) => {
                let file = file.0.try_clone();
                let output = file.map(|file| Self::with(OutputTarget::Stream, file));
                output.map_err(|e| Error::io("cannot duplicate the output", e))
            }
        }?;
        match scratch {
            Some(scratch) if !output.seeks() => output.behind(scratch.file()?),
            _ => Ok(output),
        }
    }

    /// Opens standard output as the target.
    pub fn stdout() -> Result<Self> {
        let file = files::stdout().map_err(|e| Error::io("standard output", e))?;
        Ok(Self::with(OutputTarget::Stream, file))
    }

    /// Begins an object of a store.
    fn object(url: &Path, replace: bool, options: &OpenOptions) -> Result<Self> {
        let upload = TRANSPORT.stores().upload(url, replace, options)?;
        let output = Self::with(OutputTarget::Stream, upload.sink()?);
        output.written().upload = Some(upload);
        Ok(output)
    }

    /// Opens a target path. `Invalid` if it exists and is not to be replaced; what is written to a
    /// pipe or another device that is no disk replaces nothing.
    pub fn create(path: &Path, replace: bool) -> Result<Self> {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => {
                Err(Error::invalid("the output is a directory; name a file").path(path))
            }
            Ok(found) if files::is_block_device(&found) => {
                if !replace {
                    let option = Setting::Replace;
                    let what = format!("a block device; {option} replaces its contents");
                    return Err(Error::invalid(what).about([option]).path(path));
                }
                let open = files::open_device(path);
                let file = open.map_err(|e| Error::io("cannot open the output", e).path(path))?;
                Ok(Self::with(OutputTarget::Stream, file))
            }
            Ok(found) if !found.is_file() => {
                let open = File::options().write(true).open(path);
                let file = open.map_err(|e| Error::io("cannot open the output", e).path(path))?;
                Ok(Self::with(OutputTarget::Stream, file))
            }
            Ok(_) if !replace => Err(exists(path)),
            Ok(_) => {
                // the file that a symlink names is replaced, not the symlink; who may read the old
                // image may read the new one, and no one else
                let path = std::fs::canonicalize(path)
                    .map_err(|e| Error::io("cannot resolve the output", e).path(path))?;
                let output = Self::unnamed(&path, replace, PRIVATE)?;
                let taken = take_access(&path, output.written().file.get_ref());
                taken.map_err(|e| {
                    Error::io("cannot give the output the permissions of the old one", e)
                        .path(&path)
                })?;
                Ok(output)
            }
            Err(_) => Self::unnamed(path, replace, PUBLIC),
        }
    }

    fn unnamed(path: &Path, replace: bool, mode: u32) -> Result<Self> {
        match files::unnamed(parent(path), mode) {
            Ok(Some(file)) => {
                let target = OutputTarget::Unnamed {
                    path: path.to_owned(),
                    replace,
                };
                Ok(Self::with(target, file))
            }
            Ok(None) => Self::hidden(path, replace, mode),
            Err(e) => Err(Error::io("cannot create the output in its directory", e).path(path)),
        }
    }

    fn hidden(path: &Path, replace: bool, mode: u32) -> Result<Self> {
        let (temporary, file) = hidden_file::create(path, mode)?;
        let path = path.to_owned();
        Ok(Self::with(
            OutputTarget::Hidden {
                path,
                temporary,
                replace,
                done: false,
            },
            file,
        ))
    }

    fn with(target: OutputTarget, file: File) -> Self {
        let position = seekable_position(&file);
        let file = BufWriter::with_capacity(BUFFER, file);
        Self {
            target,
            file: Arc::new(Mutex::new(Written {
                file,
                position,
                upload: None,
            })),
            former: None,
        }
    }

    /// Has a file removed that belongs to what is replaced, before the new file gets its name; one
    /// that cannot be removed stays.
    #[must_use]
    pub(crate) fn instead_of(mut self, former: Option<PathBuf>) -> Self {
        self.former = former.filter(|_| self.path().is_some());
        self
    }

    /// Lets those who may read the complete file run it, if it is a new file.
    pub fn make_executable(&self) -> Result<()> {
        if matches!(
            self.target,
            OutputTarget::Stream | OutputTarget::Behind { .. }
        ) {
            return Ok(());
        }
        let written = self.written();
        files::make_executable(written.file.get_ref())
            .map_err(|e| Error::io("cannot make the output executable", e))
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether written bytes can be replaced.
    pub fn seeks(&self) -> bool {
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        written.position.is_some()
    }

    /// Lets a stream wait for the complete image in a scratch file.
    pub fn behind(self, scratch: File) -> Result<Self> {
        let mut written = self.written();
        let stream = written.file.get_ref().try_clone();
        let stream = stream.map_err(|e| Error::io("cannot duplicate the output", e))?;
        let output = Self::with(OutputTarget::Behind { stream }, scratch);
        output.written().upload = written.upload.take();
        drop(written);
        Ok(output)
    }

    /// Returns the sink of an image writer; the image begins after the bytes written so far.
    pub fn writer(&self) -> OutputWriter {
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        OutputWriter {
            file: Arc::clone(&self.file),
            start: written.position,
        }
    }

    /// Copies owner, permissions, xattrs and times of another file to the complete one, as far as
    /// this process may.
    pub fn resemble(&self, old: &Path) -> Result<()> {
        let failed = |e| Error::io("cannot keep the attributes of the file", e).path(old);
        let mut written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // what is written later would change the times
        written.file.flush().map_err(failed)?;
        copy_attributes(old, written.file.get_ref()).map_err(failed)
    }

    /// Returns the path that the file gets with `commit`; `None` for what has its name already.
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.target {
            OutputTarget::Stream | OutputTarget::Behind { .. } => None,
            OutputTarget::Unnamed { path, .. } | OutputTarget::Hidden { path, .. } => Some(path),
        }
    }

    /// Makes the bytes of a file that has no name yet durable.
    pub(crate) fn sync(&self) -> Result<()> {
        let Some(path) = self.path() else {
            return Ok(());
        };
        let mut written = self.written();
        let flushed = written.file.flush();
        flushed.map_err(|e| Error::io("cannot write the output", e).path(path))?;
        let synced = written.file.get_ref().sync_all();
        synced.map_err(|e| Error::io("cannot sync the output", e).path(path))
    }

    /// Makes the bytes durable and gives the file its name.
    pub fn commit(mut self) -> Result<()> {
        self.sync()?;
        let Some(former) = self.former.take() else {
            return self.give_name();
        };
        let kept = FormerFile::aside(&former).ok();
        let named = self.give_name();
        match kept {
            Some(kept) if named.is_err() => kept.restore(),
            _ if named.is_err() => {}
            // that of a run that was killed, too
            _ => drop(std::fs::remove_file(former_name(&former))),
        }
        named
    }

    fn give_name(&mut self) -> Result<()> {
        let cannot_write = |e| Error::io("cannot write the output", e);
        let mut written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = written.file.flush();
        flushed.map_err(|e| cannot_write(written.failure(e)))?;
        let mut file = written.file.get_ref();
        match &mut self.target {
            // a pipe cannot be synced, and need not be
            OutputTarget::Stream if is_block_device(file) => file
                .sync_all()
                .map_err(|e| Error::io("cannot sync the output", e)),
            OutputTarget::Stream => {
                // what a file system that writes late could not write
                files::flush(file).map_err(cannot_write)?;
                written
                    .upload
                    .take()
                    .map_or(Ok(()), |upload| upload.finish())
            }
            OutputTarget::Behind { stream } => {
                file.rewind().map_err(cannot_write)?;
                let copied = io::copy(&mut file, stream);
                copied.map_err(|e| cannot_write(written.failure(e)))?;
                written
                    .upload
                    .take()
                    .map_or(Ok(()), |upload| upload.finish())
            }
            OutputTarget::Unnamed { path, replace } => {
                file.sync_all()
                    .map_err(|e| Error::io("cannot sync the output", e).path(&*path))?;
                let dir = open_directory(path)?;
                name_file(file, path, *replace)?;
                sync_directory(&dir, path)
            }
            OutputTarget::Hidden {
                path,
                temporary,
                replace,
                done,
            } => {
                file.sync_all()
                    .map_err(|e| Error::io("cannot sync the output", e).path(&*path))?;
                let dir = open_directory(path)?;
                rename(temporary, path, *replace)?;
                *done = true;
                sync_directory(&dir, path)
            }
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let OutputTarget::Hidden {
            temporary,
            done: false,
            ..
        } = &self.target
        {
            // nothing better can be done here if it fails
            let _ = std::fs::remove_file(temporary);
        }
    }
}

fn is_block_device(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|found| files::is_block_device(&found))
}

/// Returns the position of a seekable file; a file opened for appending has none.
fn seekable_position(file: &File) -> Option<u64> {
    let appends = files::appends(file);
    let mut file = file;
    file.stream_position().ok().filter(|_| !appends)
}

/// The writing end of an `Output`.
#[derive(Debug)]
pub struct OutputWriter {
    file: Arc<Mutex<Written>>,
    /// Where the image begins in its file, if that can be known.
    start: Option<u64>,
}

impl Write for OutputWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let count = written.file.write(bytes);
        let count = count.map_err(|e| written.failure(e))?;
        written.position = written.position.map(|at| at + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = written.file.flush();
        flushed.map_err(|e| written.failure(e))
    }
}

impl Sink for OutputWriter {
    fn patch(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut written = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let start = self.start.ok_or(io::ErrorKind::NotSeekable)?;
        written.file.flush()?;
        written.file.get_ref().write_all_at(bytes, start + offset)
    }
}
