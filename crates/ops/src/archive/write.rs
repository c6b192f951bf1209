//! Writes tar and cpio: each name, its content and the end.
//!
//! **Invariant:** the content after a header has the length that it declares: unreadable content
//! becomes zeros, is reported and counted.

use std::collections::HashSet;
use std::io::Write;
use std::ops::Range;

use sinterfs_archive::{Follows, cpio, tar};
use sinterfs_model::{Error, FileType, Ino, MAX_ZEROS, Result};

use super::ahead::Position;
use super::job::ArchiveJob;
use super::names::Known;
use super::options::ArchiveFormat;
use super::sequence::{Name, name_ref};
use super::stream::ArchiveOutput;
use crate::workers;

/// Entries left out because of the limit of zeros.
const LONG_HOLES: &str = "files with more holes than `max_zeros` allows (left out)";

/// Writes all names and returns the length of the archive.
pub(super) fn write(archive: &ArchiveJob<'_>, out: &mut dyn Write) -> Result<u64> {
    let threads = workers::thread_count(archive.options.threads);
    let (schedule, window) = (&archive.schedule, archive.options.ahead);
    schedule.run(archive.image, threads, window, |position| {
        let mut writer = Writer {
            archive,
            stream: ArchiveOutput::new(out),
            position,
            missing: HashSet::new(),
            zeros: 0,
        };
        for &name in &archive.sequence.names {
            writer.name(name)?;
            if archive.sequence.content_of(&archive.plan, name).is_some() {
                writer.position.end_content();
            }
        }
        writer.end()
    })
}

struct Writer<'a, 'p> {
    archive: &'a ArchiveJob<'a>,
    stream: ArchiveOutput<'a>,
    position: &'a mut Position<'p>,
    /// Leaves that are not in the archive under their first names.
    missing: HashSet<u32>,
    /// Bytes of holes that are zeros in the archive.
    zeros: u64,
}

impl Writer<'_, '_> {
    fn name(&mut self, name: Name) -> Result<()> {
        let archive = self.archive;
        archive.pause()?;
        let name_ref = name_ref(&archive.plan, name);
        let known = archive.know(name, &self.missing);
        let known = archive.settle(known.map_err(|error| archive.locate(error, name_ref)))?;
        if matches!(name, Name::Leaf(_)) {
            archive.advance(1, 0);
        }
        let Some(known) = known else {
            self.miss(name);
            return Ok(());
        };
        let zeros = self.zeros.saturating_add(known.unmapped_holes());
        if zeros > archive.options.max_zeros.unwrap_or(MAX_ZEROS) {
            self.miss(name);
            return archive.leave_out(&[LONG_HOLES], name_ref);
        }
        self.zeros = zeros;
        let (mut head, mut losses) = (Vec::new(), Vec::new());
        let follows = self.header(&mut head, name, &known, &mut losses)?;
        if head.is_empty() {
            return archive.leave_out(&losses, name_ref);
        }
        if !matches!(name, Name::Early(_)) {
            let is_part = |what: &&str| *what == tar::write::SENSELESS_ACL;
            let (parts, others): (Vec<_>, Vec<_>) = losses.into_iter().partition(is_part);
            archive.leave_out(&parts, name_ref)?;
            archive.lose(&others, name_ref)?;
        }
        self.stream.put(&head)?;
        count(archive, name, &known);
        let Some(follows) = follows else {
            return Ok(());
        };
        if known.content.is_some() {
            let done = self.content(&known)?;
            archive.settle(done.map_err(|error| archive.locate(error, name_ref)))?;
        }
        self.stream.zeros(follows.padding)
    }

    fn header(
        &self,
        head: &mut Vec<u8>,
        name: Name,
        known: &Known,
        losses: &mut Vec<&'static str>,
    ) -> Result<Option<Follows>> {
        let entry = known.outgoing();
        let lost = &mut |what| losses.push(what);
        if self.archive.options.format == ArchiveFormat::Tar {
            return Ok(Some(tar::write::header(head, &entry, lost)));
        }
        let number = self.number(name)?;
        let has_content = known.content.is_some();
        Ok(cpio::write::header(head, &entry, number, has_content, lost))
    }

    /// Numbers inodes: directories first, from 1.
    fn number(&self, name: Name) -> Result<u32> {
        let plan = &self.archive.plan;
        let index = match name {
            Name::Dir(dir) | Name::Early(dir) => dir as usize,
            Name::Leaf(leaf) => plan.dirs.len() + leaf as usize,
            Name::Alias(alias) => plan.dirs.len() + plan.alias(alias).first as usize,
        };
        let many = |_| Error::limit("more than 2^32 entries are selected");
        u32::try_from(index + 1).map_err(many)
    }

    fn miss(&mut self, name: Name) {
        if let Name::Leaf(leaf) = name {
            self.missing.insert(leaf);
        }
    }

    /// Writes the content of a file; from the first unreadable byte on it is zeros.
    fn content(&mut self, known: &Known) -> Result<Result<()>> {
        let (mut at, mut done) = (0, Ok(()));
        for run in &known.data {
            if !known.is_mapped {
                self.stream.zeros(run.start - at)?;
            }
            at = run.start;
            if done.is_ok() {
                done = self.copy(known.inode.ino, run, &mut at)?;
            }
            self.stream.zeros(run.end - at)?;
            self.moved(run.end - at);
            at = run.end;
        }
        if !known.is_mapped {
            self.stream.zeros(known.inode.size - at)?;
        }
        Ok(done)
    }

    /// Copies a range of a file, as far as it can be read.
    fn copy(&mut self, ino: Ino, run: &Range<u64>, at: &mut u64) -> Result<Result<()>> {
        while *at < run.end {
            self.archive.pause()?;
            let mut failure = None;
            let position = &mut *self.position;
            let count = self.stream.put_with(run.end - *at, |room| {
                Ok(position.read(ino, *at, room).unwrap_or_else(|error| {
                    failure = Some(error);
                    0
                }))
            })?;
            if count == 0 {
                let ends = || Error::corrupt("a file ends before its size");
                return Ok(Err(failure.unwrap_or_else(ends)));
            }
            *at += count;
            self.moved(count);
        }
        Ok(Ok(()))
    }

    fn moved(&mut self, count: u64) {
        self.position.advance(count);
        self.archive.advance(0, count);
    }

    fn end(&mut self) -> Result<u64> {
        let len = self.stream.len();
        if self.archive.options.format == ArchiveFormat::Tar {
            self.stream.zeros(tar::write::end(len))?;
        } else {
            let mut end = Vec::new();
            cpio::write::end(&mut end, len);
            self.stream.put(&end)?;
        }
        self.stream.flush()?;
        Ok(self.stream.len())
    }
}

/// Counts a name that is in the archive.
pub(super) fn count(archive: &ArchiveJob<'_>, name: Name, known: &Known) {
    archive.counts.add(|report| match (name, known.inode.kind) {
        // counted at its final position
        (Name::Early(_), _) => {}
        (Name::Alias(_), _) => report.links += 1,
        (_, FileType::Directory) => report.directories += 1,
        (_, FileType::File) => {
            report.files += 1;
            report.bytes = report.bytes.saturating_add(known.inode.allocated);
        }
        (_, FileType::Symlink) => report.symlinks += 1,
        _ => report.specials += 1,
    });
}
