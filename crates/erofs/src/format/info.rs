//! Information about an EROFS image as rows.

use sinterfs_format::{InfoRows, InfoValue};
use sinterfs_model::{FileType, Image, Ino, Result};

use crate::Kernel;
use crate::layout::{compat, incompat};
use crate::read::{Algorithm, EntryFacts, Erofs, Slot, StoredExtent, Superblock};

pub(super) fn details(image: &Erofs) -> InfoRows {
    let (superblock, info) = (image.superblock(), image.info());
    let mut details: InfoRows = vec![
        ("format".to_owned(), InfoValue::from("EROFS")),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), info.totals.stored.into()),
        ("inodes".to_owned(), superblock.inodes.into()),
        ("block size".to_owned(), superblock.block_size().into()),
        ("blocks".to_owned(), superblock.blocks.into()),
    ];
    let mut add = |name: &str, value: InfoValue| details.push((name.to_owned(), value));
    let texts =
        |texts: Vec<String>| InfoValue::List(texts.into_iter().map(InfoValue::from).collect());
    if let Some(version) = image.composefs_version() {
        add("composefs version", u64::from(version).into());
    }
    add("features", texts(superblock.features()));
    add(
        "oldest Linux",
        Kernel::oldest_for(superblock).to_string().into(),
    );
    add("checksum", superblock.checksum.is_some().into());
    let used = superblock.configs.clone();
    let algorithms = Algorithm::ALL.into_iter().filter(|one| used.has(*one));
    add(
        "algorithms",
        texts(algorithms.map(|one| one.name().to_owned()).collect()),
    );
    if superblock.uuid != [0; 16] {
        add("uuid", uuid(&superblock.uuid).into());
    }
    if !superblock.volume_name.is_empty() {
        let name = String::from_utf8_lossy(&superblock.volume_name);
        add("volume name", name.into_owned().into());
    }
    let made = superblock
        .epoch
        .checked_add(i64::from(superblock.build_time));
    if let Some(made) = made.and_then(|made| u64::try_from(made).ok()) {
        add("build time", made.into());
    }
    for (name, _, size) in image.special_inodes() {
        add(&format!("{name} bytes"), size.into());
    }
    let prefixes = image.xattr_prefixes();
    if !prefixes.is_empty() {
        let prefixes = prefixes.iter();
        let prefixes = prefixes.map(|prefix| String::from_utf8_lossy(prefix).into_owned());
        add("attribute prefixes", texts(prefixes.collect()));
    }
    if !superblock.devices.is_empty() {
        add(
            "devices",
            InfoValue::List(superblock.devices.iter().map(device).collect()),
        );
    }
    details
}

/// Returns the fields of the superblock that [`details`] does not have.
fn fields(superblock: &Superblock) -> InfoRows {
    let block = superblock.block_size();
    let names = |bits: u32, all: &[(u32, &str)]| {
        let known = all.iter().filter(|(bit, _)| bits & bit != 0);
        InfoValue::List(known.map(|(_, name)| (*name).into()).collect())
    };
    let mut rows: InfoRows = Vec::new();
    let mut add = |name: &str, value: InfoValue| rows.push((name.to_owned(), value));
    add("root", superblock.root.into());
    if let Some(packed) = superblock.packed {
        add("packed", packed.into());
    }
    add("metadata block", (superblock.meta_start / block).into());
    add("attribute block", (superblock.xattr_start / block).into());
    add("length", superblock.len().into());
    add(
        "lz4 distance",
        u64::from(superblock.configs.lz4_distance).into(),
    );
    add(
        "compatible features",
        names(superblock.compat, compat::NAMES),
    );
    add(
        "required features",
        names(superblock.incompat, incompat::NAMES),
    );
    rows
}

/// Returns what is stored of an inode.
pub(super) fn inode(image: &Erofs, ino: Ino) -> Result<InfoRows> {
    let facts = image.inode_facts(ino, true)?;
    let number = |name: &str, value: u64| (name.to_owned(), InfoValue::from(value));
    let mut rows = vec![
        number("nid", facts.nid),
        number("layout", u64::from(facts.layout)),
        number("inode bytes", facts.inode_bytes),
        number("attribute bytes", facts.xattr_bytes),
        number("size", facts.size),
        number("stored bytes", facts.stored),
        number("mode", u64::from(facts.mode)),
        number("uid", facts.uid.into()),
        number("gid", facts.gid.into()),
        number("links", facts.links.into()),
        ("type".to_owned(), facts.kind.letter().to_string().into()),
        (
            "time".to_owned(),
            format!("{}.{:09}", facts.mtime.secs, facts.mtime.nanos).into(),
        ),
    ];
    let superblock = fields(image.superblock());
    rows.push(("superblock".to_owned(), InfoValue::Map(superblock)));
    let extent = |extent: &StoredExtent| {
        InfoValue::Map(vec![
            number("start", extent.start),
            number("length", extent.len),
            number("offset", extent.at),
            number("stored bytes", extent.stored),
            number("device", extent.device.into()),
        ])
    };
    let extents = facts.extents.iter().map(extent).collect();
    rows.push(("extents".to_owned(), InfoValue::List(extents)));
    if facts.kind == FileType::Directory {
        let entry = |entry: &EntryFacts| {
            let name = String::from_utf8_lossy(&entry.name).into_owned();
            InfoValue::Map(vec![
                number("nid", entry.nid),
                number("type", entry.kind.into()),
                ("name".to_owned(), name.into()),
            ])
        };
        let entries = image.entry_facts(ino)?.iter().map(entry).collect();
        rows.push(("entries".to_owned(), InfoValue::List(entries)));
    }
    Ok(rows)
}

fn device(slot: &Slot) -> InfoValue {
    let tag = String::from_utf8_lossy(&slot.tag).into_owned();
    InfoValue::Map(vec![
        ("tag".to_owned(), tag.into()),
        ("blocks".to_owned(), slot.blocks.into()),
        ("first block".to_owned(), slot.first_block.into()),
    ])
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut parts = Vec::new();
    let mut rest = hex.as_str();
    for len in [8, 4, 4, 4, 12] {
        let (part, next) = rest.split_at(len);
        parts.push(part);
        rest = next;
    }
    parts.join("-")
}
