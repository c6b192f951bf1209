//! Finds the image in a file, at a given offset or after any header.
//!
//! In: a source. Out: the offset of the first section, and its version.
//!
//! **Invariant:** past the start of a file the magic number is not enough to identify an image: a
//! second section must follow where the first one ends. Spec: dwarfs-format(5), "Header Detection".

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};
use zerocopy::FromBytes;

use crate::layout::{
    FileHeader, MAGIC, MAJOR, MINOR_ACCEPTED, MINOR_HEADER_V2, SectionHeaderV1, SectionHeaderV2,
    SectionType,
};

/// The number of bytes searched at once.
const SEARCH_LEN: usize = 1 << 18;

/// The largest compression id in images with v1 section headers (LZ4HC).
const COMPRESSION_V1_MAX: u8 = 4;

/// Returns the offset of the first image; `None` if there is none.
///
/// A source that begins with the magic is an image even if no second section follows the first: it
/// is damaged then, and an image after that offset would be part of its content. Otherwise reads
/// the source from its start to the offset found.
pub fn locate(source: &dyn ReadAt) -> Result<Option<u64>> {
    let len = source.len();
    let first = read::<FileHeader, 8>(source, 0)?;
    if first.is_some_and(|first| first.magic == MAGIC && first.major == MAJOR) {
        return Ok(Some(0));
    }
    let mut buf = vec![0; SEARCH_LEN];
    let mut start = 0;
    while start < len {
        let want = usize::try_from(len - start).map_or(SEARCH_LEN, |left| left.min(SEARCH_LEN));
        let Some(window) = buf.get_mut(..want) else {
            break;
        };
        source.read_at(start, window)?;
        for found in candidates(window) {
            let offset = start.saturating_add(found as u64);
            if starts_here(source, offset)? {
                return Ok(Some(offset));
            }
        }
        // windows overlap, so that a magic across their border is found in the second
        let step = want.saturating_sub(MAGIC.len());
        if step == 0 {
            break;
        }
        start = start.saturating_add(step as u64);
    }
    Ok(None)
}

/// Returns the offsets of the magic with the known major version.
fn candidates(window: &[u8]) -> impl Iterator<Item = usize> {
    let magic = [b'D', b'W', b'A', b'R', b'F', b'S', MAJOR];
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = window.get(at..)?;
            let found = at.checked_add(rest.iter().position(|byte| *byte == b'D')?)?;
            at = found.checked_add(1)?;
            if window.get(found..)?.starts_with(&magic) {
                return Some(found);
            }
        }
    })
}

/// Returns whether two consecutive sections start at an offset.
fn starts_here(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let Some(file) = read::<FileHeader, 8>(source, offset)? else {
        return Ok(false);
    };
    if file.minor < MINOR_HEADER_V2 {
        starts_here_v1(source, offset)
    } else {
        starts_here_v2(source, offset)
    }
}

fn starts_here_v1(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let first_at = offset.saturating_add(size_of::<FileHeader>() as u64);
    let Some(first) = read::<SectionHeaderV1, 8>(source, first_at)? else {
        return Ok(false);
    };
    let next_at = first_at
        .saturating_add(8)
        .saturating_add(u64::from(first.length.get()));
    let Some(next) = read::<SectionHeaderV1, 8>(source, next_at)? else {
        return Ok(false);
    };
    let plausible = |header: &SectionHeaderV1| {
        header.compression <= COMPRESSION_V1_MAX && header.length.get() > 0
    };
    let in_order = match first.kind {
        SectionType::BLOCK => {
            matches!(
                next.kind,
                SectionType::BLOCK | SectionType::METADATA_V2_SCHEMA
            )
        }
        SectionType::METADATA_V2_SCHEMA => next.kind == SectionType::METADATA_V2,
        _ => false,
    };
    Ok(in_order && plausible(&first) && plausible(&next))
}

fn starts_here_v2(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let Some(first) = read::<SectionHeaderV2, 64>(source, offset)? else {
        return Ok(false);
    };
    let next_at = offset.saturating_add(64).saturating_add(first.length.get());
    let Some(next) = read::<SectionHeaderV2, 64>(source, next_at)? else {
        return Ok(false);
    };
    Ok(first.number.get() == 0
        && next.file.magic == MAGIC
        && next.file.major == MAJOR
        && next.number.get() == 1)
}

/// Reads the version at the start of an image. `Unsupported` for an unknown one.
pub(super) fn version(source: &dyn ReadAt, offset: u64) -> Result<FileHeader> {
    let header = read::<FileHeader, 8>(source, offset)?;
    let Some(header) = header.filter(|header| header.magic == MAGIC) else {
        return Err(Error::invalid("no DwarFS image starts here").at("magic", offset));
    };
    if header.major != MAJOR || header.minor > MINOR_ACCEPTED {
        return Err(Error::unsupported(format!(
            "version {}.{} of the format; 2.0 to 2.{MINOR_ACCEPTED} are known",
            header.major, header.minor
        ))
        .at("version", offset.saturating_add(MAGIC.len() as u64)));
    }
    Ok(header)
}

/// Reads a structure; `None` if the source ends before.
pub(super) fn read<T: FromBytes, const N: usize>(
    source: &dyn ReadAt,
    offset: u64,
) -> Result<Option<T>> {
    const { assert!(size_of::<T>() == N) };
    if offset
        .checked_add(N as u64)
        .is_none_or(|end| end > source.len())
    {
        return Ok(None);
    }
    let mut bytes = [0; N];
    source.read_at(offset, &mut bytes)?;
    Ok(T::read_from_bytes(&bytes).ok())
}
