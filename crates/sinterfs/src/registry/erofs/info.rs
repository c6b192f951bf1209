//! Information about an EROFS image as rows.

use sinterfs_erofs::Kernel;
use sinterfs_erofs::read::{Algorithm, Erofs, Slot};
use sinterfs_model::Image;

use crate::info::{InfoRows, InfoValue};

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
