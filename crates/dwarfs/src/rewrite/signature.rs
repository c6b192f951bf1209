//! Adds a signature to an image with digests.
//!
//! In: an image, a signature of its root digest. Out: the same bytes up to the end of the digests,
//! then the signature and, if there was one, a section index. **Invariant:** no covered byte
//! changes. Spec: `docs/formats/dwarfs-extensions.md`.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result, Setting};

use crate::layout::{SectionCompression, SectionType};
use crate::read::{Dwarfs, ReadOptions};
use crate::write::{Index, assemble, set_minor};

/// The number of bytes copied at once.
const COPY_LEN: usize = 1 << 20;

/// Copies the file of an image, including bytes before the image, with a new signature. `Invalid`
/// if the image has no digests, or if sections other than signatures and index follow them.
pub fn sign(
    source: &Arc<dyn ReadAt>,
    options: &ReadOptions,
    signature: &[u8],
    out: &mut dyn Write,
) -> Result<()> {
    let reader = Dwarfs::find(Arc::clone(source), options)?;
    if reader.file_offset(reader.len()) < source.len() {
        return Err(Error::invalid(
            "bytes after the image in its file would be lost",
        ));
    }
    let (mut index, mut end, mut indexed) = (Index::default(), None, false);
    for section in reader.walk() {
        let (header, range) = section?;
        match (header.kind, end) {
            (SectionType::DIGEST, None) => end = range.offset.checked_add(range.len),
            (_, None) => {}
            (SectionType::SIGNATURE, Some(_)) => continue,
            (SectionType::SECTION_INDEX, Some(_)) => {
                indexed = true;
                continue;
            }
            (kind, Some(_)) => {
                let what = format!("a {kind} after the digests, which do not cover it");
                return Err(Error::invalid(what));
            }
        }
        index.push(header.kind, range.offset)?;
    }
    let Some(end) = end else {
        let option = Setting("with_digest");
        let what = format!("the image has no digests to sign ({option})");
        return Err(Error::invalid(what).about([option]));
    };
    copy(&**source, reader.file_offset(end), out)?;
    let number = |index: &Index| {
        u32::try_from(index.len()).map_err(|_| Error::limit("more than 4294967295 sections"))
    };
    let kind = SectionType::SIGNATURE;
    let mut bytes = assemble(number(&index)?, kind, SectionCompression::NONE, signature);
    index.push(kind, end)?;
    set_minor(&mut bytes, reader.minor);
    if indexed {
        let at = end.saturating_add(bytes.len() as u64);
        let number = number(&index)?;
        let mut index = index.section(number, at)?;
        set_minor(&mut index, reader.minor);
        bytes.extend_from_slice(&index);
    }
    out.write_all(&bytes).map_err(cannot_write)
}

/// Copies `len` bytes from the start of the source.
fn copy(source: &dyn ReadAt, len: u64, out: &mut dyn Write) -> Result<()> {
    let mut buf = vec![0; usize::try_from(len).map_or(COPY_LEN, |len| len.min(COPY_LEN))];
    let mut done = 0;
    while done < len {
        let count = usize::try_from(len - done).map_or(buf.len(), |left| left.min(buf.len()));
        let part = buf.split_at_mut(count).0;
        source.read_at(done, part)?;
        out.write_all(part).map_err(cannot_write)?;
        done += count as u64;
    }
    Ok(())
}

fn cannot_write(error: std::io::Error) -> Error {
    Error::io("cannot write the image", error)
}
