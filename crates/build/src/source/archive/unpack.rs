//! The bytes of an archive as a file that positioned reads can go to.
//!
//! **Invariant:** a stream is read once, and a scratch file holds it whole before anything is looked for in
//! it; blocks of zeros become holes of that file.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use block::stream::Compression;
use model::{Error, Observer, Result};

use crate::Scratch;
use crate::threads;

/// Bytes that are decoded at once.
const STEP: usize = 256 << 10;

/// The unit of holes.
const PAGE: usize = 4096;

/// Where an archive's bytes come from.
pub(super) struct Bytes {
    file: File,
    /// The first ones of what can't be read twice.
    start: Vec<u8>,
    seeks: bool,
    compression: Option<Compression>,
}

impl Bytes {
    /// Looks at the first bytes.
    pub(super) fn of_file(file: File) -> Result<Self> {
        let failed = |error| Error::io("cannot read the archive", error);
        let kind = file.metadata().map_err(failed)?.file_type();
        if kind.is_dir() {
            return Err(Error::invalid("a directory is no archive"));
        }
        use std::os::unix::fs::FileTypeExt;
        let seeks = kind.is_file() || kind.is_block_device();
        let mut start = vec![0; super::START];
        let mut done = 0;
        while let Some(rest) = start.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let read = match seeks {
                true => file.read_at(rest, done as u64),
                false => (&file).read(rest),
            };
            match read {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        start.truncate(done);
        Ok(Self {
            file,
            compression: Compression::of(&start),
            start,
            seeks,
        })
    }

    /// Gives the file with the archive, which is a scratch file unless the own can be read in place.
    pub(super) fn unpacked(self, scratch: &Scratch, observer: &dyn Observer) -> Result<Arc<File>> {
        let Some(compression) = self.compression else {
            if self.seeks {
                return Ok(Arc::new(self.file));
            }
            let stream = std::io::Cursor::new(self.start).chain(self.file);
            return copy(stream, scratch, observer);
        };
        let start = match self.seeks {
            true => Vec::new(),
            false => self.start,
        };
        let stream = std::io::Cursor::new(start).chain(self.file);
        let stream = BufReader::with_capacity(STEP, stream);
        copy(compression.decode(stream)?, scratch, observer)
    }
}

/// Puts a stream into a scratch file.
fn copy(mut stream: impl Read, scratch: &Scratch, observer: &dyn Observer) -> Result<Arc<File>> {
    let file = scratch.file()?;
    let mut buffer = vec![0; STEP];
    let mut end = 0_u64;
    loop {
        threads::check_cancelled(observer)?;
        let mut len = 0;
        // whole steps, so that pages stay where they are
        while let Some(rest) = buffer.get_mut(len..).filter(|rest| !rest.is_empty()) {
            match stream.read(rest) {
                Ok(0) => break,
                Ok(count) => len += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(not_decoded(error)),
            }
        }
        let filled = buffer.get(..len).unwrap_or_default();
        for run in filled
            .chunks(PAGE)
            .zip(0_u64..)
            .collect::<Vec<_>>()
            .chunk_by(|a, b| is_zero(a.0) == is_zero(b.0))
        {
            let Some(&(first, number)) = run.first() else {
                continue;
            };
            if is_zero(first) {
                continue;
            }
            let from = number as usize * PAGE;
            let to = filled.len().min(from + run.len() * PAGE);
            let bytes = filled.get(from..to).unwrap_or_default();
            let written = file.write_all_at(bytes, end + from as u64);
            written.map_err(|error| scratch.failed(error))?;
        }
        end += len as u64;
        if len < buffer.len() {
            break;
        }
    }
    // the last bytes may be a hole
    file.set_len(end).map_err(|error| scratch.failed(error))?;
    Ok(Arc::new(file))
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

#[cold]
fn not_decoded(error: std::io::Error) -> Error {
    // decoders have no errno: the system did not refuse anything
    match error.raw_os_error() {
        Some(_) => Error::io("cannot read the archive", error),
        None => Error::corrupt("what is compressed is damaged or ends too soon").because(error),
    }
}
