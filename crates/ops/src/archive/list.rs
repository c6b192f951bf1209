//! Writes mtree: first the digest of every file, on all threads and in the order of the image's
//! blocks, then a line a name.
//!
//! **Invariant:** memory is 33 bytes a file, and 1 MiB a thread; time is bounded by what the image
//! stores and `max_zeros` a file, since a small image can have holes of 2^63 bytes.

use std::collections::HashSet;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};
use sinterfs_archive::mtree;
use sinterfs_model::{Error, FileType, Ino, Result};

use super::job::ArchiveJob;
use super::sequence::{Name, name_ref};
use super::stream::ArchiveOutput;
use super::write::count;
use crate::jobs::{Job, Jobs};
use crate::runs::{Run, runs};
use crate::workers;

const CHUNK: usize = 1 << 20;

/// The most bytes of holes that are hashed of a file, unless another limit is set.
const MAX_HOLES: u64 = 64 << 30;

/// The comment of the list for a file with longer holes.
const LONG_HOLES: &str = "digests of files with more holes than `max_zeros` allows";

/// How further names of a file are written: `nlink` counts them, and nothing ties them together.
const HARD_LINKS: &str = "hard links (each name becomes a separate file)";

/// The known facts about the content of a leaf.
#[derive(Debug, Clone, Copy)]
enum FileDigest {
    /// It has none, or cannot be read.
    None,
    Known([u8; 32]),
    /// Its holes are too long to be hashed.
    LongHoles,
}

/// The known facts about all leaves.
type Digests = Vec<FileDigest>;

/// Writes all lines and returns the length of the list.
pub(super) fn write(archive: &ArchiveJob<'_>, out: &mut dyn Write) -> Result<u64> {
    let digests = digests(archive)?;
    let mut stream = ArchiveOutput::new(out);
    stream.put(mtree::write::SIGNATURE.as_bytes())?;
    let (mut line, mut losses) = (String::new(), Vec::new());
    let mut last = mtree::write::LastName::default();
    for &name in &archive.sequence.names {
        archive.pause()?;
        let name_ref = name_ref(&archive.plan, name);
        let known = archive.know(name, &HashSet::new());
        let known = archive.settle(known.map_err(|error| archive.locate(error, name_ref)))?;
        let Some(known) = known else { continue };
        let leaf = match name {
            Name::Dir(_) | Name::Early(_) => None,
            Name::Leaf(leaf) => Some(leaf),
            Name::Alias(alias) => Some(archive.plan.alias(alias).first),
        };
        let content = leaf.and_then(|leaf| digests.get(leaf as usize));
        let digest = match content {
            Some(FileDigest::Known(digest)) => Some(digest),
            Some(FileDigest::LongHoles) => {
                losses.push(LONG_HOLES);
                None
            }
            _ => None,
        };
        if matches!(name, Name::Alias(_)) {
            losses.push(HARD_LINKS);
        }
        let lost = &mut |what| losses.push(what);
        mtree::write::line(&mut line, &mut last, &known.outgoing(), digest, lost);
        archive.lose(&losses, name_ref)?;
        stream.put(line.as_bytes())?;
        count(archive, name, &known);
        line.clear();
        losses.clear();
    }
    stream.flush()?;
    Ok(stream.len())
}

fn digests(archive: &ArchiveJob<'_>) -> Result<Digests> {
    let mut jobs = Jobs::by_file(&archive.plan, archive.image).list;
    // a digest is made from the start to the end, by one thread
    jobs.retain(|job| job.first);
    let digests: Mutex<Digests> = Mutex::new(vec![FileDigest::None; archive.plan.leaves.len()]);
    let threads = archive.options.threads;
    let buffer = || vec![0; CHUNK];
    let observer = archive.observer;
    workers::run(
        threads,
        &jobs,
        Job::same_block,
        observer,
        buffer,
        |buf, job| {
            let item = archive.plan.leaf(job.leaf);
            let digest = digest(archive, item.ino, buf);
            let digest = digest.map_err(|error| archive.locate(error, item.name_ref));
            if let Some(digest) = archive.settle(digest)? {
                let mut digests = digests.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(place) = digests.get_mut(job.leaf as usize) {
                    *place = digest;
                }
            }
            archive.advance(1, 0);
            Ok(())
        },
    )?;
    Ok(digests.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn digest(archive: &ArchiveJob<'_>, ino: Ino, buf: &mut [u8]) -> Result<FileDigest> {
    let inode = archive.image.inode(ino)?;
    debug_assert_eq!(inode.kind, FileType::File);
    if holes_exceed(archive, ino, inode.size)? {
        return Ok(FileDigest::LongHoles);
    }
    let mut digest = Sha256::new();
    runs(archive.image, ino, 0..inode.size, &mut |run| {
        let (Run::Data(range) | Run::Hole(range)) = &run;
        let is_hole = matches!(run, Run::Hole(_));
        if is_hole {
            buf.fill(0);
        }
        let mut at = range.start;
        while at < range.end {
            archive.pause()?;
            let len = usize::try_from(range.end - at).map_or(buf.len(), |len| len.min(buf.len()));
            let part = buf.split_at_mut(len).0;
            let count = if is_hole {
                part.len()
            } else {
                archive.image.read_at(ino, at, part)?
            };
            let data = part.get(..count).filter(|data| !data.is_empty());
            digest.update(data.ok_or_else(|| Error::corrupt("a file ends before its size"))?);
            at += count as u64;
            if !is_hole {
                archive.advance(0, count as u64);
            }
        }
        Ok(())
    })?;
    Ok(FileDigest::Known(digest.finalize().into()))
}

/// Returns whether a file has more bytes of holes than are hashed.
fn holes_exceed(archive: &ArchiveJob<'_>, ino: Ino, size: u64) -> Result<bool> {
    let max = archive.options.max_zeros.unwrap_or(MAX_HOLES);
    if size <= max {
        return Ok(false);
    }
    let mut holes = 0_u64;
    runs(archive.image, ino, 0..size, &mut |run| {
        if let Run::Hole(range) = run {
            holes = holes.saturating_add(range.end - range.start);
        }
        Ok(())
    })?;
    Ok(holes > max)
}
