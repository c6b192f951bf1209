//! The files of an image: the first part, further parts, and the base WIMs of a delta WIM.
//!
//! In: sources of bytes. Out: a header and a window for each.
//!
//! **Invariant:** the header of every file is checked. The header of a file for pipes is the one at
//! its end.

use std::sync::Arc;

use sinterfs_block::{ReadAt, Window};
use sinterfs_model::{Error, Result};

use crate::layout::{
    HEADER_LEN, HeaderFlags, MAGIC, PIPABLE_MAGIC, SOLID_VERSION, VERSION, WimHeader,
};

/// A file of an image.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) header: WimHeader,
    pub(crate) window: Window,
}

impl Part {
    /// Reads the header of the file that starts at an offset.
    ///
    /// `Invalid` if there is none, `Unsupported` for another version, `Corrupt` if it is
    /// inconsistent.
    pub(super) fn open(source: Arc<dyn ReadAt>, offset: u64) -> Result<Self> {
        let window = Window::from(source, offset)?;
        let located = |error: Error| error.at("header", offset);
        let len = window.len();
        let first = read_header(&window, 0, 0, len).map_err(located)?;
        let header = if first.is_pipable {
            let at = len.saturating_sub(HEADER_LEN as u64);
            let last = read_header(&window, 0, at, len);
            let last = last.map_err(|error| error.at("header", offset.saturating_add(at)))?;
            if !last.is_pipable || last.guid != first.guid {
                let what = "truncated: the header at the end is another one";
                return Err(located(Error::corrupt(what)));
            }
            last
        } else {
            first
        };
        check(&header).map_err(located)?;
        Ok(Self { header, window })
    }
}

/// Returns whether there is an image at an offset.
pub fn is_image(source: &dyn ReadAt, offset: u64) -> Result<bool> {
    let len = HEADER_LEN as u64;
    if offset.checked_add(len).is_none_or(|end| end > source.len()) {
        return Ok(false);
    }
    let mut magic = [0; 8];
    source.read_at(offset, &mut magic)?;
    Ok(&magic == MAGIC || &magic == PIPABLE_MAGIC)
}

/// Reads the header of the file that starts at an offset, as [`Wim::header`] does.
///
/// Fails like [`Wim::open`] on a bad header.
///
/// [`Wim::header`]: super::Wim::header
/// [`Wim::open`]: super::Wim::open
pub fn header(source: &dyn ReadAt, offset: u64) -> Result<WimHeader> {
    let len = source.len().saturating_sub(offset);
    let first = read_header(source, offset, 0, len)?;
    if first.is_pipable {
        read_header(source, offset, len.saturating_sub(HEADER_LEN as u64), len)
    } else {
        Ok(first)
    }
}

/// Reads the header at a position of a file of `len` bytes that starts at an offset.
fn read_header(source: &dyn ReadAt, offset: u64, at: u64, len: u64) -> Result<WimHeader> {
    if len < HEADER_LEN as u64 {
        return Err(Error::invalid("no WIM image"));
    }
    let mut bytes = [0; HEADER_LEN];
    source.read_at(offset.saturating_add(at), &mut bytes)?;
    WimHeader::decode(&bytes).ok_or_else(|| match at {
        0 => Error::invalid("no WIM image"),
        _ => Error::corrupt("truncated: no header at the end"),
    })
}

fn check(header: &WimHeader) -> Result<()> {
    if header.version != VERSION && header.version != SOLID_VERSION {
        let what = format!("version {:#x}", header.version);
        return Err(Error::unsupported(what));
    }
    if header.part == 0 || header.part > header.parts {
        let what = format!("part {} of {}", header.part, header.parts);
        return Err(Error::corrupt(what));
    }
    let is_compressed = header.flags.has(HeaderFlags::COMPRESSION);
    let Some(codec) = header.codec() else {
        return if is_compressed {
            Err(Error::unsupported(format!(
                "compression {:#x}",
                header.flags.0
            )))
        } else {
            Ok(())
        };
    };
    let (smallest, largest) = codec.chunk_sizes();
    let size = header.chunk_size;
    if is_compressed && (!size.is_power_of_two() || size < smallest || size > largest) {
        let what = format!("chunks of {size} bytes for {}", codec.name());
        return Err(Error::corrupt(what));
    }
    Ok(())
}
