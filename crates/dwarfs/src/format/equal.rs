//! The sections of a remote image that an older one has.
//!
//! In: both images. Out: the parts that need not be fetched. Of the remote one its index is read,
//! and the header of each section that has as many bytes as one of the older image.
//! **Invariant:** what is taken from the older image has the SHA-512/256 that the remote header
//! names.

use std::ops::Range;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::{OlderPart, Peek, ReadOptions, Sectioned};
use sinterfs_model::{Error, Result};

use super::DwarfsFormat;
use super::locate::located;
use crate::read::{HEADER, OlderSections, StoredSection};

/// Sections with fewer bytes are fetched: their header would take as long.
const SHORTEST: u64 = 8 << 10;

/// Headers that are in memory at once.
const AT_ONCE: usize = 1024;

impl Sectioned for DwarfsFormat {
    fn older_parts(
        &self,
        (new, peek): (&Arc<dyn ReadAt>, &Peek<'_>),
        older: &Arc<dyn ReadAt>,
        options: &ReadOptions,
        about_older: &dyn Fn(Error) -> Error,
    ) -> Result<Vec<OlderPart>> {
        let unsupported = |what: &str| {
            let what = format!("{what}, so that nothing can be taken from an older one");
            Error::unsupported(what)
        };
        let own = ReadOptions {
            limits: options.limits,
            ..ReadOptions::at(0)
        };
        let Some(sections) = crate::read::sections(Arc::clone(new), &own)? else {
            return Err(unsupported("the remote image has no section index"));
        };
        let local = located(&**older, options).map_err(about_older)?;
        let older = OlderSections::of(Arc::clone(older), &local).map_err(about_older)?;
        let is_candidate = |one: &&StoredSection| one.len >= SHORTEST && older.has(one.len);
        let candidates: Vec<StoredSection> =
            sections.iter().filter(is_candidate).copied().collect();
        let mut parts = Vec::new();
        // equal sections mostly follow each other in both
        let mut near = 0;
        for some in candidates.chunks(AT_ONCE) {
            let range = |one: &StoredSection| one.offset..one.offset.saturating_add(HEADER);
            let ranges: Vec<Range<u64>> = some.iter().map(range).collect();
            for (section, head) in some.iter().zip(peek(&ranges)?) {
                if let Some(at) = older
                    .content(&head, section.len, near)
                    .map_err(about_older)?
                {
                    near = at;
                    parts.push(OlderPart {
                        range: section.offset..section.offset.saturating_add(section.len),
                        head,
                        at,
                    });
                }
            }
        }
        Ok(parts)
    }
}
