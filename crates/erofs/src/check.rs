//! Checks an image: the superblock's checksum, and all that hangs on its root: inodes, directories,
//! extended attributes, and where content is said to be.
//!
//! In: a source. Out: `InodeReport`, which lists all that is wrong, each with its place.
//!
//! **Invariant:** continues after damage as far as directories can be listed. The content of files
//! is not read: that does not depend on the format. Memory: 60 bytes and the name for each
//! directory and each inode of several names. A path is made only if something is wrong.

use std::collections::{HashMap, HashSet};

use sinterfs_model::{Error, FileType, InodeReport, Observer, Result};

use crate::read::{Erofs, Inspected};

/// A directory that waits for its turn.
struct Waiting {
    nid: u64,
    parent: u64,
    /// Its place in [`NameTable`].
    name: usize,
}

/// A name of an inode in a directory.
#[derive(Clone, Copy)]
struct Named<'a> {
    /// The place of the directory in [`NameTable`].
    dir: usize,
    name: &'a [u8],
}

/// The names of directories and of inodes of several names, each with the place of its directory;
/// the first is the root.
struct NameTable(Vec<(usize, Vec<u8>)>);

impl NameTable {
    const ROOT: usize = 0;

    fn add(&mut self, named: Named<'_>) -> usize {
        self.0.push((named.dir, named.name.to_vec()));
        self.0.len() - 1
    }

    /// Returns the path of a place, as problems show it.
    fn path(&self, place: usize) -> String {
        match self.0.get(place) {
            Some((dir, name)) if place != Self::ROOT => self.below(Named { dir: *dir, name }),
            _ => ".".to_owned(),
        }
    }

    /// Returns the path of a name.
    fn below(&self, named: Named<'_>) -> String {
        let (mut names, mut dir) = (vec![named.name], named.dir);
        while let Some((above, name)) = self.0.get(dir).filter(|_| dir != Self::ROOT) {
            names.push(name);
            dir = *above;
        }
        names.reverse();
        String::from_utf8_lossy(&names.join(&b'/')).into_owned()
    }
}

/// An inode of several names.
struct Linked {
    claimed: u32,
    found: u32,
    /// Its index in [`NameTable`].
    name: usize,
}

/// Checks an opened image; its superblock was checked when it was opened.
///
/// An error means that reading failed or the observer requested a stop.
pub fn check(image: &Erofs, observer: &dyn Observer) -> Result<InodeReport> {
    let mut report = InodeReport::default();
    let root = image.superblock().root;
    let mut walk = CheckWalk {
        image,
        seen: HashSet::from([root]),
        linked: HashMap::new(),
        waiting: vec![Waiting {
            nid: root,
            parent: root,
            name: NameTable::ROOT,
        }],
        names: NameTable(vec![(NameTable::ROOT, Vec::new())]),
    };
    walk.special(&mut report)?;
    walk.inode(root, None, None, &mut report)?;
    while let Some(dir) = walk.waiting.pop() {
        observer.check_cancelled()?;
        walk.directory(&dir, &mut report)?;
    }
    walk.links(&mut report);
    let (found, said) = (report.inodes, image.superblock().inodes);
    // the special inodes may be counted or not; damage hides inodes, so that the count means
    // nothing
    let all = found.saturating_add(image.special_inodes().len() as u64);
    if !(found..=all).contains(&said) && report.findings.is_sound() {
        report.findings.note(format!(
            "the superblock counts {said} inodes, but {found} hang on the root"
        ));
    }
    for device in image.missing_devices() {
        report
            .findings
            .note(format!("device {device} was not given"));
    }
    Ok(report)
}

struct CheckWalk<'a> {
    image: &'a Erofs,
    seen: HashSet<u64>,
    linked: HashMap<u64, Linked>,
    waiting: Vec<Waiting>,
    names: NameTable,
}

impl CheckWalk<'_> {
    /// Checks the inodes that the superblock names and no directory does.
    fn special(&self, report: &mut InodeReport) -> Result<()> {
        for (name, nid, _) in self.image.special_inodes() {
            if let Err(error) = self.image.inspect(nid) {
                fatal(&error)?;
                report.findings.problem(error.path(name));
            }
        }
        Ok(())
    }

    /// Checks the entries of a directory and what they name.
    fn directory(&mut self, dir: &Waiting, report: &mut InodeReport) -> Result<()> {
        let mut dots = (None, None);
        let mut children = Vec::new();
        let listed = self.image.entries(dir.nid, &mut |entry| match entry.name {
            b"." => dots.0 = Some(entry.nid),
            b".." => dots.1 = Some(entry.nid),
            name => children.push((name.to_vec(), entry.nid, entry.kind)),
        });
        if let Err(error) = listed {
            fatal(&error)?;
            report
                .findings
                .problem(error.path(self.names.path(dir.name)));
        } else {
            self.dots(dir, dots, report);
        }
        for (name, nid, claimed) in children {
            let named = Named {
                dir: dir.name,
                name: &name,
            };
            let kind = self.inode(nid, claimed, Some(named), report)?;
            if kind != Some(FileType::Directory) {
                continue;
            }
            if self.seen.insert(nid) {
                self.waiting.push(Waiting {
                    nid,
                    parent: dir.nid,
                    name: self.names.add(named),
                });
            } else {
                let error = Error::corrupt("a directory is in more than one place");
                report.findings.problem(error.path(self.names.below(named)));
            }
        }
        Ok(())
    }

    fn dots(&self, dir: &Waiting, dots: (Option<u64>, Option<u64>), report: &mut InodeReport) {
        let omitted = self.image.omits_dot(dir.nid);
        match dots.0 {
            Some(nid) if nid != dir.nid => {
                let what = format!("the entry `.` names inode {nid:#x}");
                report
                    .findings
                    .problem(Error::corrupt(what).path(self.names.path(dir.name)));
            }
            None if !omitted => {
                report.findings.problem(
                    Error::corrupt("the entry `.` is missing").path(self.names.path(dir.name)),
                );
            }
            _ => {}
        }
        match dots.1 {
            Some(nid) if nid != dir.parent => {
                let what = format!("the entry `..` names inode {nid:#x}");
                report
                    .findings
                    .problem(Error::corrupt(what).path(self.names.path(dir.name)));
            }
            None => report.findings.problem(
                Error::corrupt("the entry `..` is missing").path(self.names.path(dir.name)),
            ),
            Some(_) => {}
        }
    }

    /// Checks an inode under one of its names, and returns its type.
    fn inode(
        &mut self,
        nid: u64,
        claimed: Option<FileType>,
        named: Option<Named<'_>>,
        report: &mut InodeReport,
    ) -> Result<Option<FileType>> {
        if let Some(linked) = self.linked.get_mut(&nid) {
            linked.found = linked.found.saturating_add(1);
            return Ok(None);
        }
        let path = |names: &NameTable| {
            named.map_or_else(|| names.path(NameTable::ROOT), |named| names.below(named))
        };
        let Inspected { kind, nlink } = match self.image.inspect(nid) {
            Ok(inspected) => inspected,
            Err(error) => {
                fatal(&error)?;
                report.findings.problem(error.path(path(&self.names)));
                return Ok(None);
            }
        };
        report.inodes = report.inodes.saturating_add(1);
        if claimed.is_some_and(|claimed| claimed != kind) {
            let what = format!("the directory names the type {claimed:?}, the inode {kind:?}");
            report
                .findings
                .problem(Error::corrupt(what).path(path(&self.names)));
        }
        if let Some(named) = named
            && kind != FileType::Directory
            && nlink > 1
        {
            let linked = Linked {
                claimed: nlink,
                found: 1,
                name: self.names.add(named),
            };
            self.linked.insert(nid, linked);
        }
        Ok(Some(kind))
    }

    fn links(&mut self, report: &mut InodeReport) {
        let mut wrong: Vec<_> = self
            .linked
            .values()
            .filter(|linked| linked.claimed != linked.found)
            .map(|linked| (self.names.path(linked.name), linked))
            .collect();
        wrong.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, linked) in wrong {
            report.findings.note(format!(
                "{path}: the inode counts {} names, but {} were found",
                linked.claimed, linked.found
            ));
        }
    }
}

/// Passes on what is no finding of the image.
fn fatal(error: &Error) -> Result<()> {
    match error.io_source() {
        Some(_) => Err(Error::new(error.kind(), error.to_string())),
        None => Ok(()),
    }
}
