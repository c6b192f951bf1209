//! Information about an ISO 9660 image as rows.

use sinterfs_format::{InfoRows, InfoValue};
use sinterfs_model::Image;

use crate::layout::LongDate;
use crate::read::{BootCatalog, BootEntry, Iso9660, NameSource};

pub(super) fn details(image: &Iso9660, has_udf: bool) -> InfoRows {
    let (info, volumes) = (image.info(), image.volumes());
    let primary = &volumes.primary;
    let mut details: InfoRows = vec![
        ("format".to_owned(), InfoValue::from("ISO 9660")),
        ("version".to_owned(), info.version.as_str().into()),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), info.totals.stored.into()),
        ("inodes".to_owned(), info.totals.inodes.into()),
        ("block size".to_owned(), info.totals.block_size.into()),
        ("names".to_owned(), names(image).into()),
    ];
    let mut add = |name: &str, value: InfoValue| details.push((name.to_owned(), value));
    let trees = [
        (volumes.joliet.is_some(), "Joliet"),
        (volumes.enhanced.is_some(), "ISO 9660:1999"),
        (has_udf, "UDF"),
    ];
    let trees = trees.into_iter().filter(|(is_there, _)| *is_there);
    let trees: Vec<_> = trees.map(|(_, name)| InfoValue::from(name)).collect();
    if !trees.is_empty() {
        add("other trees", InfoValue::List(trees));
    }
    add("zisofs", image.has_zisofs().into());
    let [set, publisher, preparer, application] = &primary.identifiers;
    for (name, text) in [
        ("label", &primary.volume),
        ("system", &primary.system),
        ("volume set", set),
        ("publisher", publisher),
        ("preparer", preparer),
        ("application", application),
    ] {
        if !text.is_empty() {
            add(name, String::from_utf8_lossy(text).into_owned().into());
        }
    }
    for (name, date) in ["created", "modified"].into_iter().zip(primary.dates) {
        if let Some(date) = shown_date(date) {
            add(name, date.into());
        }
    }
    if image.sessions().len() > 1 {
        add("sessions", (image.sessions().len() as u64).into());
    }
    if image.associated_files() > 0 {
        add("associated files", image.associated_files().into());
    }
    match image.boot_catalog() {
        Some(Ok(catalog)) => add("boot images", boot_images(&catalog)),
        Some(Err(error)) => add("boot images", error.to_string().into()),
        None => {}
    }
    details
}

fn names(image: &Iso9660) -> String {
    match image.names() {
        NameSource::RockRidge(id) if !id.is_empty() => format!("Rock Ridge ({id})"),
        NameSource::RockRidge(_) => "Rock Ridge".to_owned(),
        NameSource::Joliet(level) => format!("Joliet level {level}"),
        NameSource::Enhanced => "ISO 9660:1999".to_owned(),
        NameSource::Plain => "ISO 9660".to_owned(),
    }
}

/// Returns a date as it is stored, with separators; `None` for one that is not set.
fn shown_date(date: LongDate) -> Option<String> {
    date.hundredths()?;
    let digits: String = date
        .0
        .iter()
        .take(14)
        .map(|byte| char::from(*byte))
        .collect();
    let part = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
    Some(format!(
        "{}-{}-{} {}:{}:{}",
        part(0, 4),
        part(4, 6),
        part(6, 8),
        part(8, 10),
        part(10, 12),
        part(12, 14)
    ))
}

fn boot_images(catalog: &BootCatalog) -> InfoValue {
    let shown = |entry: &BootEntry| {
        let bootable = if entry.bootable { "" } else { ", not bootable" };
        InfoValue::from(format!(
            "{}, {}, {} sectors of 512 bytes at sector {}{bootable}",
            entry.platform_name(),
            entry.emulation_name(),
            entry.sectors,
            entry.sector
        ))
    };
    InfoValue::List(catalog.entries.iter().map(shown).collect())
}
