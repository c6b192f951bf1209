//! Listings as unsquashfs prints them, for scripts that read them.
//!
//! Enters an image and paths; leaves lines, with names as raw bytes. **Invariant:** each path is
//! listed once, directories before what they hold, in the order of the image. Facts: the output of
//! Debian's unsquashfs 4.5.1, with which a test compares each byte; times are in UTC.

use std::io::Write;
use std::ops::ControlFlow;

use sinterfs::model::{Cursor, Image};
use sinterfs::ops::{Follow, ListOptions, Row, Unread, WalkStep, list, resolve, row};
use sinterfs::{Error, FileType, Result};

use crate::calendar;
use crate::owners::Owners;
use crate::rows::permissions;
use crate::shell_pattern::Wanted;

/// The columns from the owner to the size.
const OWNER_AND_SIZE: usize = 27;

/// The columns from the owner to the numbers of a device.
const OWNER_OF_DEVICE: usize = 20;

/// The contents of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Columns {
    /// The name.
    Names,
    /// Attributes, too.
    Long,
    /// The same, with owners as numbers.
    Numeric,
}

/// A listing.
#[derive(Debug)]
pub struct UnsquashfsRows<'a> {
    pub columns: Columns,
    /// Leaves out directories that hold something.
    pub concise: bool,
    /// Shows the seconds of times.
    pub seconds: bool,
    /// How many levels of directories are listed.
    pub max_depth: usize,
    /// The name of the root.
    pub root: &'a [u8],
    /// The excluded paths.
    pub excluded: &'a Wanted,
}

impl UnsquashfsRows<'_> {
    /// Prints what is below the paths, and the directories that lead to them; all for no path.
    /// Unreadable entries go to `unread`.
    pub fn print(
        &self,
        image: &dyn Image,
        wanted: &Wanted,
        unread: &mut Unread,
        out: &mut dyn Write,
    ) -> Result<()> {
        let owners = Owners::read();
        let failed = |error| Error::io("cannot print the listing", error);
        let mut show = |row: &Row| {
            let empty = || is_empty(image, row);
            if !self.concise || row.kind != FileType::Directory || empty()? {
                let line = self.line(row, &owners);
                out.write_all(&line).map_err(failed)?;
            }
            Ok(WalkStep::On)
        };
        let start = resolve(image, b"", Follow::Parents)?;
        let options = ListOptions {
            recursive: true,
            itself: false,
        };
        unread.settle(b"", row(image, start, b"").and_then(|row| show(&row)))?;
        list(image, start, b"", options, unread, &mut |row| {
            let above = row.path.iter().filter(|&&byte| byte == b'/').count();
            let is_dir = row.kind == FileType::Directory;
            let is_left_out = self.excluded.position(&row.path).is_some();
            if above < self.max_depth && !is_left_out && wanted.holds(&row.path, is_dir) {
                show(row)
            } else {
                Ok(WalkStep::Over)
            }
        })
    }

    fn line(&self, row: &Row, owners: &Owners) -> Vec<u8> {
        let mut line = match self.columns {
            Columns::Names => Vec::new(),
            Columns::Long => self.attributes(row, &owners.user(row.uid), &owners.group(row.gid)),
            Columns::Numeric => self.attributes(row, &row.uid.to_string(), &row.gid.to_string()),
        };
        line.extend(self.root);
        if !row.path.is_empty() {
            line.push(b'/');
            line.extend(&row.path);
        }
        if let Some(target) = row
            .target
            .as_ref()
            .filter(|_| self.columns != Columns::Names)
        {
            line.extend(b" -> ");
            line.extend(target);
        }
        line.push(b'\n');
        line
    }

    /// Formats type, permissions, owners, size and time, with a space after them.
    fn attributes(&self, row: &Row, user: &str, group: &str) -> Vec<u8> {
        let owners = format!("{user}/{group}");
        let size = match row.rdev {
            Some(rdev) => {
                let pad = OWNER_OF_DEVICE.saturating_sub(owners.len()).max(2);
                format!("{:pad$}{:>3},{:>3}", "", rdev.major, rdev.minor)
            }
            None => {
                let width = OWNER_AND_SIZE.saturating_sub(owners.len());
                format!("{:>width$}", row.size)
            }
        };
        let (letter, mode) = (row.kind.letter(), permissions(row.mode));
        let secs = row.times.modified.secs;
        let time = if self.seconds {
            calendar::utc_seconds(secs)
        } else {
            calendar::utc(secs)
        };
        format!("{letter}{mode} {owners}{size} {time} ").into_bytes()
    }
}

fn is_empty(image: &dyn Image, row: &Row) -> Result<bool> {
    let mut empty = true;
    image.read_dir(row.ino, Cursor::START, &mut |_| {
        empty = false;
        ControlFlow::Break(())
    })?;
    Ok(empty)
}
