//! System use entries of inodes: Rock Ridge, zisofs, AAIP.
//!
//! In: a node of the tree, its name, its content. Out: entries. RRIP 1.12, section 4.

use sinterfs_model::{Content, Node, Rdev, Time, Tree};

use super::attributes;
use super::contents::ContentPlace;
use super::continuations::entry;
use crate::layout::{
    ComponentFlags, NAME_MAX, NameFlags, PosixFields, ShortDate, TimeFlags, ZisofsVersion, both32,
    signature,
};

/// The most bytes of a name in an NM entry.
const NAME_PART: usize = 250;

/// The most bytes of components in an SL entry.
const COMPONENTS_MAX: usize = 250;

/// Returns the date of a time; of one that has none, the nearest that has.
pub(super) fn date(time: Time) -> ShortDate {
    let latest = ShortDate([255, 12, 31, 23, 59, 59, 0]);
    let earliest = ShortDate([0, 1, 1, 0, 0, 0, 0]);
    let found = ShortDate::from_seconds(time.secs);
    found.unwrap_or(if time.secs < 0 { earliest } else { latest })
}

/// Makes the entries of attributes that every record of an inode has.
pub(super) fn attributes(node: &Node, links: u32, serial: u32) -> Vec<Vec<u8>> {
    let fields = PosixFields {
        mode: node.content.kind().bits() | u32::from(node.meta.mode),
        links,
        uid: node.meta.uid,
        gid: node.meta.gid,
        serial: Some(serial),
    };
    // the other times do not belong to the content: they would make images of equal trees differ
    let times = [&[TimeFlags::MODIFY][..], &date(node.meta.times.modified).0].concat();
    vec![
        entry(signature::PX, 1, &fields.encode()),
        entry(signature::TF, 1, &times),
    ]
}

/// Makes the entries of a name.
pub(super) fn name(name: &[u8]) -> Vec<Vec<u8>> {
    let parts = name.chunks(NAME_PART);
    let count = parts.len();
    let entries = (1..).zip(parts).map(|(number, part)| {
        let flags = if number < count {
            NameFlags::CONTINUE
        } else {
            0
        };
        entry(signature::NM, 1, &[&[flags], part].concat())
    });
    entries.collect()
}

/// Makes the entries of inodes other than files and directories.
pub(super) fn kind(tree: &Tree, node: &Node, place: Option<&ContentPlace>) -> Vec<Vec<u8>> {
    match node.content {
        Content::Symlink(target) => symlink(tree.bytes(target)),
        Content::CharDevice(Rdev { major, minor })
        | Content::BlockDevice(Rdev { major, minor }) => {
            let numbers = [both32(major), both32(minor)];
            vec![entry(signature::PN, 1, &numbers.concat())]
        }
        _ => {
            let header = place.and_then(|place| place.zisofs);
            let entries = header.map(|header| {
                let version = match header.version {
                    ZisofsVersion::V1 => 1,
                    ZisofsVersion::V2 => 2,
                };
                entry(signature::ZF, version, &header.encode_entry())
            });
            entries.into_iter().collect()
        }
    }
}

/// Makes the entries of extended attributes whose names can be read again; `None` if they are too
/// large.
pub(super) fn xattrs(tree: &Tree, node: &Node) -> Option<Vec<Vec<u8>>> {
    let pairs = tree.xattrs().pairs(node.xattrs);
    attributes::entries(&pairs.filter(|(name, _)| is_attribute(name)))
}

/// Returns whether our reader, and Linux, have attributes of such a name.
pub(super) fn is_attribute(name: &[u8]) -> bool {
    (1..=NAME_MAX).contains(&name.len()) && !name.contains(&0)
}

fn symlink(target: &[u8]) -> Vec<Vec<u8>> {
    let mut areas: Vec<Vec<u8>> = vec![Vec::new()];
    let mut push = |flags: u8, part: &[u8]| {
        let is_full = areas
            .last()
            .is_some_and(|area| area.len() + 2 + part.len() > COMPONENTS_MAX);
        if is_full {
            areas.push(Vec::new());
        }
        if let Some(area) = areas.last_mut() {
            area.extend([flags, u8::try_from(part.len()).unwrap_or(0)]);
            area.extend(part);
        }
    };
    for (number, component) in target.split(|byte| *byte == b'/').enumerate() {
        match component {
            b"" if number == 0 => push(ComponentFlags::ROOT, b""),
            b"" if target == b"/" => {}
            b"." => push(ComponentFlags::CURRENT, b""),
            b".." => push(ComponentFlags::PARENT, b""),
            b"" => push(0, b""),
            _ => {
                let mut parts = component.chunks(COMPONENTS_MAX - 2).peekable();
                while let Some(part) = parts.next() {
                    let flags = match parts.peek() {
                        Some(_) => ComponentFlags::CONTINUE,
                        None => 0,
                    };
                    push(flags, part);
                }
            }
        }
    }
    let count = areas.len();
    let entries = (1..).zip(areas).map(|(number, area)| {
        let flags = u8::from(number < count);
        entry(signature::SL, 1, &[&[flags], &area[..]].concat())
    });
    entries.collect()
}

/// Makes the entries that only the root has: that the protocols are used.
pub(super) fn root(has_xattrs: bool) -> (Vec<u8>, Vec<Vec<u8>>) {
    let first = entry(signature::SP, 1, b"\xbe\xef\0");
    let mut extensions = vec![extension(
        b"IEEE_1282",
        b"THE IEEE 1282 PROTOCOL PROVIDES SUPPORT FOR POSIX FILE SYSTEM SEMANTICS",
        b"PLEASE CONTACT THE IEEE STANDARDS DEPARTMENT, PISCATAWAY, NJ, USA FOR THE 1282 \
          SPECIFICATION.",
    )];
    if has_xattrs {
        extensions.push(extension(
            b"AAIP_0200",
            b"AL PROVIDES VIA AAIP 2.0 SUPPORT FOR ARBITRARY FILE ATTRIBUTES IN ISO 9660 IMAGES",
            b"PLEASE CONTACT THE LIBBURNIA PROJECT VIA LIBBURNIA-PROJECT.ORG",
        ));
    }
    (first, extensions)
}

fn extension(id: &[u8], descriptor: &[u8], source: &[u8]) -> Vec<u8> {
    let len = |bytes: &[u8]| u8::try_from(bytes.len()).unwrap_or(0);
    let lens = [len(id), len(descriptor), len(source), 1];
    entry(signature::ER, 1, &[&lens, id, descriptor, source].concat())
}
