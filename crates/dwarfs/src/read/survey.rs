//! The facts about an image that cannot be opened: its sections, and their errors.
//!
//! In: a source. Out: `Survey`. **Invariant:** informational only; nothing of it is needed to read
//! an image.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Kind, Result};

use super::info::ListedSection;
use super::open::Dwarfs;
use crate::layout::MAJOR;
use sinterfs_format::ReadOptions;

/// An image as far as it can be understood without its metadata.
#[derive(Debug)]
pub struct Survey {
    /// The version of the format.
    pub version: String,
    /// The offset of the image in its file.
    pub offset: u64,
    /// The length of the image in bytes.
    pub len: u64,
    /// Whether the section index is sound.
    pub has_index: bool,
    /// The sections of the index, or those before the first damaged header.
    pub sections: Vec<ListedSection>,
    /// Why there are no further sections.
    pub damage: Vec<Error>,
}

/// Lists the sections of an image whose metadata may be damaged. Reads headers only.
///
/// `Invalid` if there is no image, `Unsupported` for unknown versions, `Limit` for too many
/// sections.
pub fn survey(source: Arc<dyn ReadAt>, options: &ReadOptions) -> Result<Survey> {
    let reader = Dwarfs::find(source, options)?;
    let index = reader.index(&options.limits)?;
    let mut found = Survey {
        version: format!("{MAJOR}.{}", reader.minor),
        offset: reader.file_offset(0),
        len: reader.len(),
        has_index: index.is_some(),
        sections: Vec::new(),
        damage: Vec::new(),
    };
    let header_len = if reader.is_v2() { 64 } else { 8 };
    if let Some(index) = index {
        let listed = index.into_iter().map(|(kind, range)| ListedSection {
            kind,
            offset: reader.file_offset(range.offset),
            len: range.len.saturating_sub(header_len),
            compression: reader
                .header_of(range, kind)
                .map(|header| header.compression),
        });
        found.sections = listed.collect();
        return Ok(found);
    }
    for section in reader.walk() {
        if found.sections.len() as u64 >= options.limits.sections {
            let most = options.limits.sections;
            return Err(Error::limit(format!("more than {most} sections")));
        }
        match section {
            Ok((header, range)) => found.sections.push(ListedSection {
                kind: header.kind,
                offset: reader.file_offset(range.offset),
                len: header.len,
                compression: Ok(header.compression),
            }),
            Err(error) if error.kind() == Kind::Io => return Err(error),
            Err(error) => found.damage.push(error),
        }
    }
    Ok(found)
}
