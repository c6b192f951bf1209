//! The header before an image in its file: a program that mounts it, a script, or any other bytes.
//!
//! **Invariant:** it is copied piece by piece, whatever its size.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Result};

/// Bytes per copy.
const PIECE: u64 = 1 << 20;

/// The header before a new image.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HeaderSource {
    /// The header before the existing image.
    #[default]
    Keep,
    /// Nothing.
    Remove,
    /// The content of a file.
    File(PathBuf),
}

/// The bytes before an image that is built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewHeader {
    /// The content of a file.
    File(PathBuf),
    /// As many zero bytes: room for what is written there later.
    Zeros(u64),
}

/// Bytes to be written before an image.
pub(crate) struct HeaderBytes {
    /// `None` for zeros.
    source: Option<Arc<dyn ReadAt>>,
    len: u64,
}

impl HeaderBytes {
    /// Finds the bytes; the image that is read begins at `offset` of `source`.
    pub(crate) fn choose(
        header: &HeaderSource,
        source: &Arc<dyn ReadAt>,
        offset: u64,
    ) -> Result<Option<Self>> {
        Ok(match header {
            HeaderSource::Remove => None,
            HeaderSource::Keep => Some(Self {
                source: Some(Arc::clone(source)),
                len: offset,
            }),
            HeaderSource::File(path) => Some(Self::of_file(path)?),
        })
    }

    /// Takes what is asked for.
    pub(crate) fn new(header: &NewHeader) -> Result<Self> {
        match header {
            NewHeader::File(path) => Self::of_file(path),
            NewHeader::Zeros(len) => Ok(Self {
                source: None,
                len: *len,
            }),
        }
    }

    /// Takes the content of a file.
    fn of_file(path: &Path) -> Result<Self> {
        let source = Arc::new(FileSource::open(path)?);
        let len = source.len();
        Ok(Self {
            source: Some(source),
            len,
        })
    }

    /// Writes the bytes.
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let mut buffer = vec![0; PIECE.min(self.len) as usize];
        let mut at = 0;
        while at < self.len {
            let piece = &mut buffer[..PIECE.min(self.len - at) as usize];
            if let Some(source) = &self.source {
                source.read_at(at, piece)?;
            }
            out.write_all(piece)
                .map_err(|error| Error::io("cannot write the header", error))?;
            at += piece.len() as u64;
        }
        Ok(())
    }
}
