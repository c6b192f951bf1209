//! Restoring the parts of an image of which it has copies.
//!
//! In: an image with copies of some parts. Out: the image as it was, under its name or as a new
//! file. **Invariant:** an image gets its name only when it passed its own check; the one that it
//! replaces keeps another name.

use std::path::PathBuf;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::{CheckOptions, MendedPart};
use sinterfs_model::{Error, Observer, Result};

use super::repair::{replace_and_keep, require_file};
use crate::formats;
use crate::open_options::OpenOptions;
use crate::output::Output;
use crate::place;

/// Bytes that are copied at once.
const STEP: u64 = 1 << 20;

/// What is to be restored, and how.
#[derive(Debug, Clone, Default)]
pub struct MendRequest {
    /// The image file.
    pub image: PathBuf,
    /// The file for the restored image, if the image is not to be replaced.
    pub output: Option<PathBuf>,
    /// Whether `output` may exist.
    pub force: bool,
    /// Threads that work; 0 means as many as the machine runs at once.
    pub threads: usize,
}

/// What was restored.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct MendReport {
    /// The parts that were damaged, in the format's words.
    pub parts: Vec<String>,
    /// The bytes of these parts.
    pub bytes: u64,
    /// Where the image is now that was replaced.
    pub kept: Option<PathBuf>,
}

/// Restores the damaged parts of an image of which it has copies: in place, or as a new file.
/// Without damage nothing is written in place. `None` for an image without copies.
///
/// `Corrupt` if a copy that is needed is damaged, too, or if more is damaged; nothing is changed
/// then.
pub fn mend(request: &MendRequest, observer: &dyn Observer) -> Result<Option<MendReport>> {
    let image = &*request.image;
    let located = |error: Error| error.path(image);
    let options = OpenOptions::default();
    let source = place::source(image, &options)?;
    let format = formats::for_image(&source, &options).map_err(located)?;
    let read = options.read();
    let mended = format
        .mendable()
        .map_or(Ok(None), |format| format.mend(&source, &read));
    let Some(mut parts) = mended.map_err(located)? else {
        return Ok(None);
    };
    parts.sort_by_key(|part| part.offset);
    let whole = Arc::new(Mended { source, parts });
    let depth = CheckOptions {
        deep: false,
        threads: request.threads,
    };
    let checked = format.check(Arc::clone(&whole) as _, &read, depth, observer);
    if let Some(first) = checked.map_err(located)?.problems.first() {
        let what = format!("more is damaged than there are copies of: {first}");
        return Err(Error::corrupt(what).path(image));
    }
    let mut report = MendReport {
        parts: whole.parts.iter().map(|part| part.what.clone()).collect(),
        bytes: whole.parts.iter().map(|part| part.bytes.len() as u64).sum(),
        kept: None,
    };
    let (to, replace) = match &request.output {
        Some(output) => (&**output, request.force),
        None if report.parts.is_empty() => return Ok(Some(report)),
        None => {
            require_file(image)?;
            (image, true)
        }
    };
    let output = Output::create(to, replace)?;
    write(&whole, &output).map_err(|error| error.path(to))?;
    match request.output {
        Some(_) => output.commit()?,
        None => {
            output.resemble(image)?;
            report.kept = Some(replace_and_keep(image, output)?);
        }
    }
    Ok(Some(report))
}

/// An image with some of its parts replaced.
struct Mended {
    source: Arc<dyn ReadAt>,
    /// In the order of the file, none over another.
    parts: Vec<MendedPart>,
}

impl ReadAt for Mended {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, mut offset: u64, mut buf: &mut [u8]) -> Result<()> {
        while !buf.is_empty() {
            let ends_behind = |part: &&MendedPart| offset < part.end();
            let next = self.parts.iter().find(ends_behind);
            let (part, until) = match next {
                Some(part) if part.offset <= offset => (Some(part), part.end()),
                Some(part) => (None, part.offset),
                None => (None, u64::MAX),
            };
            let len = usize::try_from(until - offset).map_or(buf.len(), |len| len.min(buf.len()));
            let (now, later) = buf.split_at_mut(len);
            match part {
                Some(part) => {
                    let skip = usize::try_from(offset - part.offset).unwrap_or(usize::MAX);
                    let bytes = part.bytes.get(skip..).and_then(|rest| rest.get(..len));
                    now.copy_from_slice(bytes.unwrap_or_default());
                }
                // what is replaced may be unreadable
                None => self.source.read_at(offset, now)?,
            }
            offset += len as u64;
            buf = later;
        }
        Ok(())
    }
}

fn write(whole: &Mended, output: &Output) -> Result<()> {
    use std::io::Write as _;

    let mut out = output.writer();
    let mut at = 0;
    while at < whole.len() {
        let len = STEP.min(whole.len() - at);
        let bytes = whole.read(at, len)?;
        let written = out.write_all(&bytes);
        written.map_err(|error| Error::io("cannot write the image", error))?;
        at += len;
    }
    Ok(())
}
