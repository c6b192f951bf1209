//! Provides the bytes of an archive as a file for positioned reads.
//!
//! **Invariant:** a stream is read once, and is completely in a scratch file before its members are
//! read; blocks of zeros become holes of that file. So is an initramfs that is compressed in part,
//! joined.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::sync::Arc;

use sinterfs_archive::{Stream, ar, cpio, rpm, tar};
use sinterfs_codec::stream::StreamFormat;
use sinterfs_model::{Error, Observer, Result};
use sinterfs_platform::{FileAt, Scratch, files};

use super::content::HeaderStream;

/// Bytes that are decoded at once.
const STEP: usize = 256 << 10;

/// Bytes at the beginning of a file that identify an archive.
pub const START: usize = 512;

/// The unit of holes.
const PAGE: usize = 4096;

/// The bytes of an archive, compressed or not.
pub(super) struct ArchiveBytes {
    origin: Origin,
    /// The first bytes, which a stream cannot read again.
    start: Vec<u8>,
    compression: Option<StreamFormat>,
}

/// The origin of the bytes.
enum Origin {
    /// A file that supports positioned reads.
    File(File),
    /// A pipe or another stream.
    Stream(Box<dyn Read + Send>),
}

impl ArchiveBytes {
    /// Inspects the first bytes of a file or pipe.
    pub(super) fn of_file(file: File) -> Result<Self> {
        let failed = |error| Error::io("cannot read the archive", error);
        let found = file.metadata().map_err(failed)?;
        if found.is_dir() {
            return Err(Error::invalid("the archive is a directory"));
        }
        if !(found.is_file() || files::is_block_device(&found)) {
            return Self::of_stream(Box::new(file));
        }
        let start = start(|rest, done| file.read_at(rest, done))?;
        Ok(Self {
            origin: Origin::File(file),
            compression: StreamFormat::detect(&start),
            start,
        })
    }

    /// Inspects the first bytes of a stream.
    pub(super) fn of_stream(mut stream: Box<dyn Read + Send>) -> Result<Self> {
        let start = start(|rest, _| stream.read(rest))?;
        Ok(Self {
            origin: Origin::Stream(stream),
            compression: StreamFormat::detect(&start),
            start,
        })
    }

    /// Returns whether the uncompressed archive is the bytes as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.compression.is_none() && !ar::is_deb(&self.start) && !rpm::is_rpm(&self.start)
    }

    /// Returns the uncompressed archive: the file itself if it can be read in place, else a scratch
    /// file.
    pub(super) fn unpacked(self, scratch: &Scratch, observer: &dyn Observer) -> Result<Arc<File>> {
        let mut file = self.decoded(scratch, observer)?;
        while let Some(further) = compressed_behind(&file)? {
            file = further.joined(&file, scratch, observer)?;
        }
        Ok(file)
    }

    /// Returns the archive as far as it is compressed as a whole.
    fn decoded(self, scratch: &Scratch, observer: &dyn Observer) -> Result<Arc<File>> {
        let (is_deb, is_rpm) = (ar::is_deb(&self.start), rpm::is_rpm(&self.start));
        let is_package = is_deb || is_rpm;
        let stream: Box<dyn Read + Send> = match (self.origin, self.compression) {
            (Origin::File(file), None) if !is_package => return Ok(Arc::new(file)),
            (Origin::File(file), None) => Box::new(BufReader::with_capacity(STEP, file)),
            (Origin::File(file), Some(_)) => Box::new(file),
            (Origin::Stream(stream), _) => Box::new(std::io::Cursor::new(self.start).chain(stream)),
        };
        if is_deb {
            return copy(package_data(stream)?, scratch, observer);
        }
        if is_rpm {
            return copy(payload(stream)?, scratch, observer);
        }
        match self.compression {
            None => copy(stream, scratch, observer),
            Some(compression) => copy(content(compression, stream, 0)?, scratch, observer),
        }
    }
}

/// A compressed archive behind others, as in an initramfs.
struct FurtherArchive {
    /// Where it begins.
    at: u64,
    compression: StreamFormat,
}

/// Finds the compressed archive behind cpio archives.
fn compressed_behind(file: &Arc<File>) -> Result<Option<FurtherArchive>> {
    let first = start(|rest, done| file.read_at(rest, done))?;
    if !cpio::read::is_cpio(&first) {
        return Ok(None);
    }
    let mut members = cpio::read::Reader::new(HeaderStream::new(Arc::clone(file))?);
    while members.next_member()?.is_some() {}
    let Some(at) = members.behind() else {
        return Ok(None);
    };
    let first = start(|rest, done| file.read_at(rest, at.saturating_add(done)))?;
    let compression = StreamFormat::detect(&first);
    Ok(compression.map(|compression| FurtherArchive { at, compression }))
}

impl FurtherArchive {
    /// Copies what is before it, and its content, into one file.
    fn joined(
        self,
        file: &Arc<File>,
        scratch: &Scratch,
        observer: &dyn Observer,
    ) -> Result<Arc<File>> {
        let before = HeaderStream::new(Arc::clone(file))?.take(self.at);
        // archives begin at multiples of 4
        let padding = std::io::repeat(0).take(self.at.wrapping_neg() % 4);
        let mut rest = HeaderStream::new(Arc::clone(file))?;
        let skipped = rest.skip(self.at);
        skipped.map_err(|error| Error::io("cannot read the archive", error))?;
        let content = content(self.compression, rest, self.at)?;
        copy(before.chain(padding).chain(content), scratch, observer)
    }
}

/// Returns the content of compressed streams at a position; an uncompressed cpio archive may follow
/// them, as in an initramfs.
fn content(
    compression: StreamFormat,
    stream: impl Read + Send + 'static,
    at: u64,
) -> Result<Box<dyn Read + Send>> {
    let stream = BufReader::with_capacity(STEP, stream);
    compression.decode_until(stream, at, cpio::read::is_cpio)
}

/// Returns the tar with the files of a Debian package.
fn package_data(mut stream: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
    let len = ar::seek_deb_data(&mut stream)?;
    let mut data = stream.take(len);
    let start = start(|rest, _| data.read(rest))?;
    let compression = StreamFormat::detect(&start);
    let is_tar = tar::read::is_tar(&start);
    let whole = std::io::Cursor::new(start).chain(data);
    match compression {
        Some(compression) => compression.decode(BufReader::with_capacity(STEP, whole)),
        None if is_tar => Ok(Box::new(whole)),
        None => {
            let what = "a package whose files are compressed in no known format";
            Err(Error::unsupported(what))
        }
    }
}

/// Returns the cpio with the files of an RPM package.
fn payload(mut stream: Box<dyn Read + Send>) -> Result<Box<dyn Read + Send>> {
    let compressor = rpm::seek_payload(&mut stream)?;
    let start = start(|rest, _| stream.read(rest))?;
    let compression = match compressor.as_deref() {
        Some("lzma") => Some(StreamFormat::Lzma),
        _ => StreamFormat::detect(&start),
    };
    let is_cpio = cpio::read::is_cpio(&start);
    let whole = std::io::Cursor::new(start).chain(stream);
    match compression {
        Some(compression) => compression.decode(BufReader::with_capacity(STEP, whole)),
        None if is_cpio => Ok(Box::new(whole)),
        None => {
            let compressor = compressor.unwrap_or_default();
            let what = format!(
                "a package whose files are compressed by {compressor:?}: gzip, xz, lzma, zstd and \
                 bzip2 are read"
            );
            Err(Error::unsupported(what))
        }
    }
}

/// Reads the first bytes.
fn start(mut read: impl FnMut(&mut [u8], u64) -> std::io::Result<usize>) -> Result<Vec<u8>> {
    let mut start = vec![0; START];
    let mut done = 0;
    while let Some(rest) = start.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match read(rest, done as u64) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("cannot read the archive", error)),
        }
    }
    start.truncate(done);
    Ok(start)
}

/// Copies a stream into a scratch file.
fn copy(mut stream: impl Read, scratch: &Scratch, observer: &dyn Observer) -> Result<Arc<File>> {
    let file = scratch.file()?;
    let mut buffer = vec![0; STEP];
    let mut end = 0_u64;
    loop {
        observer.check_cancelled()?;
        let mut len = 0;
        // whole steps, so that pages stay aligned
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
pub(super) fn not_decoded(error: std::io::Error) -> Error {
    // those of decoders say where
    match error.downcast::<Error>() {
        Ok(error) => error,
        // other errors of decoders have no errno
        Err(error) if error.raw_os_error().is_none() => {
            Error::corrupt("the compressed data is damaged or truncated").because(error)
        }
        Err(error) => Error::io("cannot read the archive", error),
    }
}
