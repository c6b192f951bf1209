//! Cuts a file into runs: neighbouring extents of the same sort, data or hole.
//!
//! **Invariant:** runs come in order, without gaps, and cover exactly the requested range.

use std::ops::{ControlFlow, Range};

use sinterfs_model::{Error, Extent, ExtentSource, Image, Ino, Result};

/// A range of a file that is all data or all hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Run {
    Data(Range<u64>),
    Hole(Range<u64>),
}

/// Shows the runs of a range of a file; an error of the visitor ends it.
pub(crate) fn runs(
    image: &dyn Image,
    ino: Ino,
    range: Range<u64>,
    visit: &mut dyn FnMut(Run) -> Result<()>,
) -> Result<()> {
    runs_up_to(u64::MAX, image, ino, range, visit)
}

/// Shows the runs of a range of a file as `runs` does, but data of several extents is one run only
/// up to a number of bytes: a caller that reads a whole run reads each of its extents whole.
pub(crate) fn runs_up_to(
    together: u64,
    image: &dyn Image,
    ino: Ino,
    range: Range<u64>,
    visit: &mut dyn FnMut(Run) -> Result<()>,
) -> Result<()> {
    let mut at = range.start;
    let mut pending: Option<Run> = None;
    let mut result = Ok(());
    image.extents(ino, range.start, &mut |extent| {
        if at >= range.end {
            return ControlFlow::Break(());
        }
        result = piece(&extent, at, range.end).and_then(|(end, hole)| {
            let joined = match &mut pending {
                Some(Run::Data(run)) if !hole && end - run.start <= together => Some(run),
                Some(Run::Hole(run)) if hole => Some(run),
                _ => None,
            };
            let start = std::mem::replace(&mut at, end);
            if let Some(run) = joined {
                run.end = end;
                return Ok(());
            }
            let run = if hole {
                Run::Hole(start..end)
            } else {
                Run::Data(start..end)
            };
            pending.replace(run).map_or(Ok(()), &mut *visit)
        });
        if result.is_ok() {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    result?;
    pending.map_or(Ok(()), &mut *visit)?;
    if at < range.end {
        return Err(Error::corrupt(format!(
            "extents end at {at}, expected {}",
            range.end
        )));
    }
    Ok(())
}

/// Returns the end of the part of an extent that matters, and whether it is a hole.
fn piece(extent: &Extent, at: u64, limit: u64) -> Result<(u64, bool)> {
    let end = extent
        .offset
        .checked_add(extent.len)
        .filter(|&end| end > at);
    match end {
        Some(end) if extent.offset <= at => {
            Ok((end.min(limit), extent.source == ExtentSource::Hole))
        }
        _ => Err(Error::corrupt(format!("extents have a gap at {at}"))),
    }
}
