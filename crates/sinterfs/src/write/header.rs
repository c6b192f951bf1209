//! The header before an image in its file: a program that mounts it, a script, or any other bytes.
//!
//! **Invariant:** it is copied piece by piece, whatever its size.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Result};

use crate::self_mount;

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
    /// A program that mounts the image.
    Program(MountingProgram),
}

/// The bytes before an image that is built.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NewHeader {
    /// The content of a file.
    File(PathBuf),
    /// As many zero bytes: room for what is written there later.
    Zeros(u64),
    /// A program that mounts the image.
    Program(MountingProgram),
}

/// A program that mounts the image behind it, so that the file runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountingProgram {
    /// The program `sinter`: an ELF file, with or without an image behind it.
    pub program: PathBuf,
    /// The path in the image of what is run; empty for none.
    pub entry: Vec<u8>,
}

/// Bytes to be written before an image.
pub(crate) struct HeaderBytes {
    /// `None` for zeros.
    source: Option<Arc<dyn ReadAt>>,
    len: u64,
    /// What follows them.
    tail: Vec<u8>,
    is_program: bool,
    /// The path of what runs in the image, if a program is put before it.
    entry: Option<Vec<u8>>,
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
                tail: Vec::new(),
                is_program: self_mount::find(&**source)?.is_some(),
                entry: None,
            }),
            HeaderSource::File(path) => Some(Self::of_file(path)?),
            HeaderSource::Program(program) => Some(Self::of_program(program)?),
        })
    }

    /// Takes what is asked for.
    pub(crate) fn new(header: &NewHeader) -> Result<Self> {
        match header {
            NewHeader::File(path) => Self::of_file(path),
            NewHeader::Zeros(len) => Ok(Self {
                source: None,
                len: *len,
                tail: Vec::new(),
                is_program: false,
                entry: None,
            }),
            NewHeader::Program(program) => Self::of_program(program),
        }
    }

    /// Takes a program, and what it needs to find the image behind it.
    fn of_program(program: &MountingProgram) -> Result<Self> {
        let path = &program.program;
        let source = Arc::new(FileSource::open(path)?);
        let end = self_mount::program_end(&*source)?;
        let len =
            end.ok_or_else(|| Error::unsupported("not a program in ELF format").path(path))?;
        Ok(Self {
            source: Some(source),
            len,
            tail: self_mount::record(len, &program.entry)?,
            is_program: true,
            entry: Some(program.entry.clone()),
        })
    }

    /// Returns whether the header is a program that mounts the image behind it.
    pub(crate) fn is_program(&self) -> bool {
        self.is_program
    }

    /// Returns the path of what runs in the image, if a program is put before it; empty if none was
    /// chosen.
    pub(crate) fn entry(&self) -> Option<Vec<u8>> {
        self.entry.clone()
    }

    /// Takes the content of a file.
    fn of_file(path: &Path) -> Result<Self> {
        let source = Arc::new(FileSource::open(path)?);
        let len = source.len();
        Ok(Self {
            source: Some(source),
            len,
            tail: Vec::new(),
            is_program: false,
            entry: None,
        })
    }

    /// Fails if the header is a program, and images of the format of this name are not found behind
    /// one.
    pub(crate) fn check(&self, name: &str, is_found_behind: bool) -> Result<()> {
        if self.is_program && !is_found_behind {
            let what = format!(
                "{name} images cannot stand behind a program that mounts them: dwarfs and squashfs \
                 images can"
            );
            return Err(Error::unsupported(what));
        }
        Ok(())
    }

    /// Writes the bytes.
    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let cannot_write = |error| Error::io("cannot write the header", error);
        let mut buffer = vec![0; PIECE.min(self.len) as usize];
        let mut at = 0;
        while at < self.len {
            let piece = &mut buffer[..PIECE.min(self.len - at) as usize];
            if let Some(source) = &self.source {
                source.read_at(at, piece)?;
            }
            out.write_all(piece).map_err(cannot_write)?;
            at += piece.len() as u64;
        }
        out.write_all(&self.tail).map_err(cannot_write)
    }
}
