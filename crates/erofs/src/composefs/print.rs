//! A composefs image as composefs-dump(5).
//!
//! In: an opened image. Out: a line for each name, as `composefs-info dump` writes it: the original
//! files, without additions of the format.
//!
//! **Invariant:** each name once, the names of a directory after it, in bytewise order; memory is 8
//! bytes an inode and the names that wait. `parse` reads what is printed. Damaged entries have no
//! line: callers that print an image find them in the image.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use sinterfs_model::{Error, FileType, Rdev, Result};

use super::escape::{write_escaped, write_optional};
use super::files::CONTENT_MAX;
use crate::overlay_attributes::{ESCAPED, METACOPY, TRUSTED, USER};
use crate::read::{Erofs, ErofsInode};

/// Prints an image.
pub fn print(image: &Erofs, out: &mut dyn Write) -> Result<()> {
    let mut seen = Vec::new();
    walk(image, &mut |_, node| {
        if node.kind != FileType::Directory {
            seen.push(node.nid);
        }
        Ok(())
    })?;
    seen.sort_unstable();
    // inodes with several names, and the first of these once it is printed
    let pairs = seen.windows(2).filter(|pair| pair.first() == pair.last());
    let mut several: HashMap<u64, Vec<u8>> = pairs
        .filter_map(|pair| Some((*pair.first()?, Vec::new())))
        .collect();
    walk(image, &mut |path, node| {
        let first = match several.get_mut(&node.nid) {
            Some(first) if first.is_empty() => {
                path.clone_into(first);
                None
            }
            first => first.map(|first| &**first),
        };
        let shown = match Shown::new(image, node) {
            Err(error) if error.is_about_image() => return Ok(()),
            shown => shown?,
        };
        shown
            .write(path, node, first, out)
            .map_err(|error| Error::io("cannot write the dump", error))
    })
}

/// Visits all names but those that hide the directories of a store.
fn walk(image: &Erofs, visit: &mut dyn FnMut(&[u8], &ErofsInode) -> Result<()>) -> Result<()> {
    let mut waiting = vec![(image.superblock().root, b"/".to_vec())];
    let mut entered = HashSet::new();
    while let Some((nid, path)) = waiting.pop() {
        let node = match image.node(nid) {
            Err(error) if error.is_about_image() && path != b"/" => continue,
            node => node?,
        };
        if node.kind == FileType::CharDevice && node.rdev() == Rdev::default() {
            continue;
        }
        visit(&path, &node)?;
        if node.kind != FileType::Directory {
            continue;
        }
        if !entered.insert(nid) {
            continue;
        }
        let first = waiting.len();
        let listed = image.entries(nid, &mut |entry| {
            if !matches!(entry.name, b"." | b"..") {
                let parent = path.strip_suffix(b"/").unwrap_or(&path);
                waiting.push((entry.nid, [parent, b"/", entry.name].concat()));
            }
        });
        if let Err(error) = listed
            && !error.is_about_image()
        {
            return Err(error);
        }
        waiting.get_mut(first..).unwrap_or_default().reverse();
    }
    Ok(())
}

/// The original attributes of an inode.
struct Shown {
    kind: FileType,
    size: u64,
    /// The target, or the object.
    payload: Option<Vec<u8>>,
    content: Option<Vec<u8>>,
    digest: Option<Vec<u8>>,
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Shown {
    fn new(image: &Erofs, node: &ErofsInode) -> Result<Self> {
        let mut shown = Self {
            kind: node.kind,
            size: node.size,
            payload: None,
            content: None,
            digest: None,
            xattrs: Vec::new(),
        };
        let mut is_object = false;
        let stored = image.xattrs_as_stored(node)?;
        let has_mark = |mark: &[u8]| {
            let mark = [TRUSTED, ESCAPED, mark].concat();
            stored.iter().any(|(name, _)| *name == mark)
        };
        // the format adds one for all users beside that for root; another is the file's own
        let marks: Vec<Vec<u8>> = [&b"whiteout"[..], b"whiteouts"]
            .into_iter()
            .filter(|mark| has_mark(mark))
            .map(|mark| [USER, mark].concat())
            .collect();
        for (name, value) in stored {
            let Some(rest) = name.strip_prefix(TRUSTED) else {
                if !marks.contains(&name) {
                    shown.xattrs.push((name, value));
                }
                continue;
            };
            match (rest, rest.strip_prefix(ESCAPED)) {
                (_, Some(b"whiteout")) if node.kind == FileType::File => {
                    shown.kind = FileType::CharDevice;
                }
                (_, Some(b"whiteouts")) => {}
                (_, Some(rest)) => shown.xattrs.push(([TRUSTED, rest].concat(), value)),
                (b"metacopy", _) => {
                    is_object = true;
                    shown.digest = value.strip_prefix(&METACOPY).map(<[u8]>::to_vec);
                }
                (b"redirect", _) => {
                    let path = value.strip_prefix(b"/").unwrap_or(&value);
                    shown.payload = Some(path.to_vec());
                }
                _ => {}
            }
        }
        match shown.kind {
            FileType::File if !is_object && node.size > 0 => {
                shown.content = Some(content(image, node)?);
            }
            FileType::File | FileType::Directory => {}
            FileType::Symlink => shown.payload = Some(content(image, node)?),
            _ => shown.size = 0,
        }
        Ok(shown)
    }

    fn write(
        &self,
        path: &[u8],
        node: &ErofsInode,
        first: Option<&[u8]>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        write_escaped(path, b"", out)?;
        let link = if first.is_some() { "@" } else { "" };
        let mode = self.kind.bits() | u32::from(node.mode);
        write!(out, " {} {link}{mode:o} {} ", self.size, node.nlink)?;
        let rdev = node.rdev().to_dev_t();
        let (secs, nanos) = (node.mtime.secs, node.mtime.nanos);
        write!(out, "{} {} {rdev} {secs}.{nanos} ", node.uid, node.gid)?;
        write_optional(first.or(self.payload.as_deref()), out)?;
        out.write_all(b" ")?;
        write_optional(self.content.as_deref(), out)?;
        out.write_all(b" ")?;
        match &self.digest {
            Some(digest) => digest
                .iter()
                .try_for_each(|byte| write!(out, "{byte:02x}"))?,
            None => out.write_all(b"-")?,
        }
        for (name, value) in &self.xattrs {
            out.write_all(b" ")?;
            write_escaped(name, b"=", out)?;
            out.write_all(b"=")?;
            write_escaped(value, b"=", out)?;
        }
        out.write_all(b"\n")
    }
}

fn content(image: &Erofs, node: &ErofsInode) -> Result<Vec<u8>> {
    let len = usize::try_from(node.size).ok();
    let len = len.filter(|len| *len <= CONTENT_MAX).ok_or_else(|| {
        let size = node.size;
        Error::unsupported(format!("{size} bytes of content in the image"))
    })?;
    let mut bytes = vec![0; len];
    image.read_exactly(node, 0, &mut bytes)?;
    Ok(bytes)
}
