//! Reads the directory of an archive that compresses its members (zip) into a tree.
//!
//! In: the archive. Out: the tree, and the content of its files. **Invariant:** a member that is
//! left out is named, with the reason; so is damage of a symlink, whose target is content.

use std::fs::File;
use std::sync::Arc;

use sinterfs_archive::packed::{PackedMember, UnitRange};
use sinterfs_archive::{Kind, zip};
use sinterfs_model::{Error, Observer, Result, Stage, Tally};
use sinterfs_platform::names;

use super::content::{ContentLocation, HeaderStream};
use super::member_tree::MemberTree;
use super::packed::PackedContent;
use super::{Archive, BATCH, Packed};

/// The location of a file without content.
const NO_PART: u64 = u64::MAX;

impl Packed {
    /// Returns the content of a file.
    pub(super) fn part(&self, location: &ContentLocation) -> Option<UnitRange> {
        let index = usize::try_from(location.start).ok()?;
        self.parts.get(index).copied()
    }
}

impl Archive {
    /// Reads the directory of the archive and adds its members to a tree.
    pub(super) fn read_packed(
        &self,
        file: &Arc<File>,
        mut bytes: HeaderStream,
        mut names: MemberTree,
        observer: &dyn Observer,
    ) -> Result<(MemberTree, Packed)> {
        let len = bytes.len();
        let found = zip::read(&mut bytes, len).map_err(|error| self.located(error))?;
        let parts: Vec<UnitRange> = found
            .members
            .iter()
            .filter_map(|found| found.part)
            .collect();
        let scratch = self.options.scratch.clone();
        let content = PackedContent::new(Arc::clone(file), scratch, found.units, parts);
        let mut packed = Packed {
            format: "zip",
            content: Arc::new(content),
            parts: Vec::new(),
        };
        let mut tally = Tally::default();
        for member in found.members {
            tally.items += 1;
            tally.bytes = tally.bytes.saturating_add(member.member.size);
            if tally.items >= BATCH {
                observer.advance(Stage::Scan, std::mem::take(&mut tally));
                observer.check_cancelled()?;
            }
            self.add_packed(&mut names, member, &mut packed, observer)?;
        }
        observer.advance(Stage::Scan, tally);
        self.warn_of(&found.warnings, observer);
        Ok((names, packed))
    }

    /// Adds a member; warns of one that is left out.
    fn add_packed(
        &self,
        names: &mut MemberTree,
        found: PackedMember,
        packed: &mut Packed,
        observer: &dyn Observer,
    ) -> Result<()> {
        let mut member = found.member;
        let at = member.at;
        let path = member.path.clone();
        let name = path.strip_prefix(b"/").unwrap_or(&path);
        if let Some(why) = found.refused {
            observer.warn(&self.refused(&why, name, at));
            return Ok(());
        }
        if let Kind::Symlink(target) = &mut member.kind {
            match packed.target(found.part) {
                Ok(read) => *target = read,
                Err(error) => {
                    let error = error.path(self.path.join(names::path(name)));
                    observer.warn(&error);
                    return Ok(());
                }
            }
            member.size = 0;
        }
        member.content = NO_PART;
        if let (Kind::File, Some(part)) = (&member.kind, found.part) {
            member.content = packed.parts.len() as u64;
            packed.parts.push(part);
        }
        self.add(names, member, observer)
    }
}

impl Packed {
    /// Returns the target of a symlink.
    fn target(&self, part: Option<UnitRange>) -> Result<Vec<u8>> {
        let part = part.ok_or_else(|| Error::corrupt("a symlink without a target, left out"))?;
        let len = usize::try_from(part.len);
        let mut target = vec![0; len.map_err(|_| Error::limit("a target of that length"))?];
        self.content.read_at(&part, 0, &mut target)?;
        if target.contains(&0) {
            return Err(Error::corrupt(
                "a symlink with a NUL in its target, left out",
            ));
        }
        Ok(target)
    }
}
