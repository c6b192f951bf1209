//! Checks an image: every inode, every table, every entry of every directory, and, on request,
//! every fragment block by decoding it.
//!
//! In: a source. Out: `Report`, which lists every problem with its location.
//!
//! SquashFS has no checksums: damage is found if something does not decode or is inconsistent
//! (streams of zlib and xz have checksums). Content is checked by reading all files. **Invariant:**
//! continues after damage where possible. Memory: one bit per inode.

use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::cache::Opened;
use sinterfs_model::{Cursor, Error, Findings, Ino, Observer, Result, Stage, Tally};

use crate::layout::NO_XATTR;
use crate::read::record::{InodeBody, InodeRecord};
use crate::read::{ReadOptions, Squashfs};

/// The findings of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// The number of inodes checked.
    pub inodes: u64,
    /// The number of fragment blocks decoded.
    pub fragments: u64,
    /// Problems and notes, in the order of the image.
    pub findings: Findings,
}

/// Checks the image in a source; `deep` decodes all fragment blocks.
///
/// Damage is reported, not returned as an error. Fails only if nothing could be checked: there is
/// no image, its version or compressor is unknown, reading failed, or the observer cancelled.
pub fn check(
    source: Arc<dyn ReadAt>,
    options: &ReadOptions,
    deep: bool,
    observer: &dyn Observer,
) -> Result<Report> {
    let mut report = Report::default();
    let len = source.len();
    let Some(image) = report.findings.opened(Squashfs::open(source, options))? else {
        return Ok(report);
    };
    let end = image.offset().saturating_add(image.superblock.bytes_used);
    // images are usually padded to 4 KiB or less
    if len.saturating_sub(end) >= 4096 {
        report.findings.note(format!(
            "{} bytes after the image, at {end:#x}, are not part of it",
            len - end
        ));
    }
    let mut check = Check {
        image: &image,
        observer,
        seen: vec![0; (image.superblock.inodes as usize).div_ceil(8)],
        report,
    };
    check.inodes()?;
    check.tables(deep)?;
    Ok(check.report)
}

struct Check<'a> {
    image: &'a Squashfs,
    observer: &'a dyn Observer,
    /// One bit per inode number.
    seen: Vec<u8>,
    report: Report,
}

impl Check<'_> {
    /// Checks all inodes up to the first that cannot be read: it hides the start of the next.
    fn inodes(&mut self) -> Result<()> {
        let expected = u64::from(self.image.superblock.inodes);
        self.observer.expect(Stage::Verify, Tally::items(expected));
        let Some(mut inodes) = self.report.findings.record(self.image.all_inodes())? else {
            return Ok(());
        };
        loop {
            self.observer.check_cancelled()?;
            let Some(next) = self.report.findings.record(inodes.next())? else {
                return Ok(());
            };
            let Some((ino, record)) = next else { break };
            self.report.inodes += 1;
            let found = self.inode(ino, &record);
            self.report.findings.record(found)?;
            self.observer.advance(Stage::Verify, Tally::items(1));
        }
        if self.report.inodes != expected {
            let found = self.report.inodes;
            let what = format!("expected {expected} inodes, found {found}");
            self.report
                .findings
                .problem(Error::corrupt(what).within("inode table"));
        }
        Ok(())
    }

    fn inode(&mut self, ino: Ino, record: &InodeRecord) -> Result<()> {
        let located = |error: Error| error.within(format!("inode {:#x}", ino.0));
        self.number(ino, record).map_err(located)?;
        self.image.check_owner(record).map_err(located)?;
        let lists = self.image.xattr_lists();
        let has_table = self.image.xattrs.is_some();
        if has_table && record.xattr != NO_XATTR && u64::from(record.xattr) >= lists {
            let id = record.xattr;
            return Err(located(Error::corrupt(format!(
                "list {id} of {lists} lists of extended attributes"
            ))));
        }
        match &record.body {
            InodeBody::Directory(_) => self.directory(ino).map_err(located),
            InodeBody::File(content) => self.image.check_content(ino, content).map_err(located),
            _ => Ok(()),
        }
    }

    /// Checks the number of an inode, if it has one, and its entry in the export table.
    fn number(&mut self, ino: Ino, record: &InodeRecord) -> Result<()> {
        if self.image.superblock.major < 3 {
            return Ok(());
        }
        let number = record.number;
        let inodes = self.image.superblock.inodes;
        if !(1..=inodes).contains(&number) {
            return Err(Error::corrupt(format!(
                "expected an inode number of 1 to {inodes}, found {number}"
            )));
        }
        let (byte, bit) = ((number - 1) / 8, 1u8 << ((number - 1) % 8));
        if let Some(byte) = self.seen.get_mut(byte as usize) {
            if *byte & bit != 0 {
                return Err(Error::corrupt(format!(
                    "the inode number {number} occurs twice"
                )));
            }
            *byte |= bit;
        }
        if let Some(exports) = &self.image.exports {
            let exported = self.image.exported(exports, u64::from(number) - 1)?;
            if exported != ino {
                return Err(Error::corrupt(format!(
                    "the export table has {:#x} for inode number {number}",
                    exported.0
                )));
            }
        }
        Ok(())
    }

    /// Checks that every entry refers to an inode of its type and number, and that the index finds
    /// it.
    fn directory(&self, dir: Ino) -> Result<()> {
        let InodeBody::Directory(listing) = self.image.record(dir)?.body else {
            return Ok(());
        };
        let mut entries = self.image.entries(dir, &listing, Cursor::START)?;
        let mut indexed = self.image.indexed(dir, &listing)?.into_iter().peekable();
        let (mut before, mut before_ino) = (Vec::new(), None);
        let finds = |name: &[u8], ino| {
            let found = self.image.find(dir, &listing, name)?;
            if found.map(|found| found.ino) == Some(ino) {
                Ok(())
            } else {
                Err(entry_error(name, "is not found by its name"))
            }
        };
        while let Some(found) = entries.next()? {
            self.observer.check_cancelled()?;
            let record = self.image.record(found.ino)?;
            if record.kind != found.kind || record.number != found.number {
                return Err(entry_error(
                    entries.name(),
                    "and its inode differ in type or number",
                ));
            }
            // sorted names are found if both neighbours of each index entry are
            if indexed
                .next_if(|&at| entries.header() == Some(at))
                .is_some()
            {
                finds(entries.name(), found.ino)?;
                if let Some(ino) = before_ino {
                    finds(&before, ino)?;
                }
            }
            before.clear();
            before.extend_from_slice(entries.name());
            before_ino = Some(found.ino);
        }
        self.image.left_out.end(dir)?;
        match indexed.next() {
            None => Ok(()),
            Some(at) => Err(Error::corrupt(format!(
                "the index of a directory refers to {at:#x}, which is not a header"
            ))),
        }
    }

    /// Reads all attribute lists and all entries of the fragment table.
    fn tables(&mut self, deep: bool) -> Result<()> {
        let options = self.image.compressor_options();
        self.report.findings.record(options)?;
        if let Some(lists) = &self.image.xattrs {
            for id in 0..lists.count() {
                self.observer.check_cancelled()?;
                let id = u32::try_from(id).unwrap_or(NO_XATTR);
                let read = lists.get(&self.image.metadata, id);
                self.report.findings.record(read)?;
            }
        }
        for index in 0..self.image.superblock.fragments {
            self.observer.check_cancelled()?;
            let found = self.image.fragment(index);
            let Some(stored) = self.report.findings.record(found)? else {
                continue;
            };
            if deep {
                let whole = u64::from(self.image.superblock.block_size);
                let opened = self.image.open_block(stored, whole, false);
                let opened = opened.map_err(|error| {
                    let at = self.image.metadata.file_offset(stored.position);
                    error.at("fragment block", at)
                });
                let sound = matches!(
                    self.report.findings.record(opened)?,
                    Some(Opened::Decoded(_))
                );
                self.report.fragments += u64::from(sound);
            }
        }
        Ok(())
    }
}

fn entry_error(name: &[u8], what: &str) -> Error {
    let name = String::from_utf8_lossy(name);
    Error::corrupt(format!("the entry {name:?} {what}"))
}
