//! The sections of a remote image that an older one has.
//!
//! In: both images. Out: the parts that need not be fetched. Of the remote one its index is read,
//! and the header of each section that has as many bytes as one of the older image.
//! **Invariant:** what is taken from the older image has the SHA-512/256 that the remote header
//! names.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_dwarfs::read::{HEADER, Offset, OlderSections, StoredSection};
use sinterfs_model::{Error, Result};
use sinterfs_remote::Remote;

use super::locate::{own_options, starts_with_magic};
use crate::open_options::OpenOptions;
use crate::splice::OlderPart;

/// Sections with fewer bytes are fetched: their header would take as long.
const SHORTEST: u64 = 8 << 10;

/// Headers that are in memory at once.
const AT_ONCE: usize = 1024;

/// Returns whether a remote image is a DwarFS image from its first byte on. It is not searched for:
/// that would fetch everything.
pub(crate) fn is_dwarfs(remote: &Remote) -> Result<bool> {
    starts_with_magic(remote, 0)
}

/// Finds the parts of a remote DwarFS image that an older one has. Errors of the older one have its
/// path.
pub(crate) fn older_parts(
    remote: &Arc<Remote>,
    (older, path): (&Arc<dyn ReadAt>, &Path),
    options: &OpenOptions,
) -> Result<Vec<OlderPart>> {
    let unsupported = |what: &str| {
        let what = format!("{what}, so nothing can be reused from an older image");
        Error::unsupported(what)
    };
    let own = sinterfs_dwarfs::read::OpenOptions {
        offset: Offset::At(0),
        limits: options.limits,
        ..sinterfs_dwarfs::read::OpenOptions::default()
    };
    let Some(sections) = sinterfs_dwarfs::read::sections(Arc::clone(remote) as _, &own)? else {
        return Err(unsupported("the remote image has no section index"));
    };
    let named = |error: Error| error.path(path);
    let local = own_options(&**older, options).map_err(named)?;
    let older = OlderSections::of(Arc::clone(older), &local).map_err(named)?;
    let is_candidate = |one: &&StoredSection| one.len >= SHORTEST && older.has(one.len);
    let candidates: Vec<StoredSection> = sections.iter().filter(is_candidate).copied().collect();
    let mut parts = Vec::new();
    // equal sections mostly follow each other in both
    let mut near = 0;
    for some in candidates.chunks(AT_ONCE) {
        let range = |one: &StoredSection| one.offset..one.offset.saturating_add(HEADER);
        let ranges: Vec<Range<u64>> = some.iter().map(range).collect();
        for (section, head) in some.iter().zip(remote.peek(&ranges)?) {
            if let Some(at) = older.content(&head, section.len, near).map_err(named)? {
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
