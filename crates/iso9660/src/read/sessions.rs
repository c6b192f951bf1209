//! Finds the last session of an image.
//!
//! In: a window of the image. Out: the first sectors of its sessions.
//!
//! Writers of overwritable media replace the first descriptors by the newest session's, so there is
//! one session here. A copy of a disc that was written in several sessions has a gap after each
//! one. **Invariant:** at most `SESSIONS` are found, with a few reads for each.

use sinterfs_block::Window;
use sinterfs_model::Result;

use super::volumes::{Volumes, kind_at};
use crate::layout::{DescriptorKind, FIRST_DESCRIPTOR, SECTOR};

/// The most sessions that are followed.
const SESSIONS: usize = 100;

/// Sectors between the end of a session and the next one: lead-out, lead-in and pregap of a CD
/// after the first session and after others.
const GAPS: [u64; 2] = [11_400, 6_900];

/// Sectors at whose multiples sessions start on other media.
const ALIGNMENT: u64 = 16;

/// Returns the first sectors of all sessions, in their order.
pub(super) fn find(window: &Window) -> Result<Vec<u64>> {
    let mut sessions = vec![0];
    let mut start = 0;
    while sessions.len() < SESSIONS {
        let volumes = Volumes::read(window, start)?;
        let primary = &volumes.primary;
        let len = u64::from(primary.blocks) * u64::from(primary.block_size);
        let sectors = len.div_ceil(SECTOR);
        // some writers count from the start of the session, others from the start of the disc
        let ends = [sectors, start.saturating_add(sectors)];
        let Some(next) = next(window, start, &ends)? else {
            break;
        };
        sessions.push(next);
        start = next;
    }
    Ok(sessions)
}

fn next(window: &Window, start: u64, ends: &[u64]) -> Result<Option<u64>> {
    for end in ends {
        let aligned = end.next_multiple_of(ALIGNMENT);
        let near = [*end, aligned, aligned + ALIGNMENT, aligned + 2 * ALIGNMENT];
        // a session of a CD may end with up to two sectors of padding that the volume has not
        let far = GAPS
            .iter()
            .flat_map(|gap| [0, 2, 150, 152].map(|pad| end + gap + pad));
        for sector in near.into_iter().chain(far) {
            if sector > start
                && kind_at(window, 0, sector + FIRST_DESCRIPTOR)? == Some(DescriptorKind::Primary)
                && Volumes::read(window, sector).is_ok_and(|volumes| is_session(&volumes, sector))
            {
                return Ok(Some(sector));
            }
        }
    }
    Ok(None)
}

/// Returns whether an image counts sectors from the start of the disc: an image that counts from
/// its own start is in a partition after the first one.
fn is_session(volumes: &Volumes, start: u64) -> bool {
    let primary = &volumes.primary;
    let root = u64::from(primary.root().block) * u64::from(primary.block_size) / SECTOR;
    root >= start
}
