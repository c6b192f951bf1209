//! Information about a WIM file as rows.

use sinterfs_format::{InfoRows, InfoValue};
use sinterfs_model::Image;

use crate::layout::HeaderFlags;
use crate::read::Wim;

pub(super) fn details(image: &Wim) -> InfoRows {
    let (info, header) = (image.info(), image.header());
    let codec = header.codec().map_or("none", |codec| codec.name());
    let guid: String = header
        .guid
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let mut details: InfoRows = vec![
        ("format".to_owned(), InfoValue::from("WIM")),
        ("version".to_owned(), info.version.as_str().into()),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), info.totals.stored.into()),
        ("inodes".to_owned(), info.totals.inodes.into()),
        ("block size".to_owned(), info.totals.block_size.into()),
        ("compression".to_owned(), codec.into()),
        ("GUID".to_owned(), guid.into()),
        ("parts".to_owned(), u64::from(header.parts).into()),
    ];
    let mut add = |name: &str, value: InfoValue| details.push((name.to_owned(), value));
    let images = image.images().iter().map(|image| {
        let (number, name) = (image.number, &image.name);
        InfoValue::from(format!("{number} {name:?}"))
    });
    add("images", InfoValue::List(images.collect()));
    if header.boot_image > 0 {
        add("boot image", u64::from(header.boot_image).into());
    }
    let solid = image.solid_codecs();
    if !solid.is_empty() {
        let solid = solid.into_iter().map(InfoValue::from);
        add("solid compression", InfoValue::List(solid.collect()));
    }
    let mut properties = Vec::new();
    if header.is_pipable {
        properties.push(InfoValue::from("pipable"));
    }
    if header.integrity.stored > 0 {
        properties.push("integrity table".into());
    }
    if header.flags.has(HeaderFlags::READ_ONLY) {
        properties.push("read-only".into());
    }
    if header.flags.has(HeaderFlags::FIXED_LINKS) {
        properties.push("links fixed".into());
    }
    if !properties.is_empty() {
        add("flags", InfoValue::List(properties));
    }
    details
}
