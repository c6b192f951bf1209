//! Information about a DwarFS image as rows.

use std::collections::BTreeMap;

use sinterfs_format::{DAMAGE, InfoRows, InfoValue, recorded_purpose};
use sinterfs_model::{Error, Image, Kind, Result};

use crate::read::{Dwarfs, HistoryEntry, ListedSection, Survey, Version};

pub(super) fn details(image: &Dwarfs) -> Result<InfoRows> {
    let (info, sizes) = (image.info(), image.sizes());
    let mut details: InfoRows = vec![
        ("format".to_owned(), InfoValue::from("DwarFS")),
        ("version".to_owned(), info.version.as_str().into()),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), sizes.image.into()),
        (
            "file bytes".to_owned(),
            info.totals.bytes.unwrap_or(0).into(),
        ),
        ("inodes".to_owned(), info.totals.inodes.into()),
        ("block size".to_owned(), image.block_size().into()),
        ("blocks".to_owned(), image.block_count().into()),
        ("block bytes".to_owned(), sizes.blocks.into()),
        ("metadata bytes".to_owned(), sizes.metadata.into()),
        (
            "metadata bytes decoded".to_owned(),
            sizes.metadata_decoded.into(),
        ),
        ("section index".to_owned(), image.has_index().into()),
        (
            "inodes with extended attributes".to_owned(),
            image.inodes_with_xattrs().into(),
        ),
        (
            "time resolution ns".to_owned(),
            info.capability.time_unit.into(),
        ),
    ];
    let mut add = |name: &str, value: InfoValue| details.push((name.to_owned(), value));
    let features: Vec<InfoValue> = image.features()?.into_iter().map(InfoValue::from).collect();
    if !features.is_empty() {
        add("features", InfoValue::List(features));
    }
    if let Some(made_by) = image.made_by()? {
        add("made by", made_by.into());
    }
    let mut damage = Vec::new();
    let runs = match image.history() {
        Ok(runs) => runs,
        Err(error) if error.kind() == Kind::Io => return Err(error),
        Err(error) => {
            damage.push(error);
            Vec::new()
        }
    };
    if let Some(purpose) = purpose(&runs) {
        add("packed for", purpose.into());
    }
    if let Some(created) = image.created()? {
        add("created", created.into());
    }
    match image.root_digest() {
        Ok(Some(root)) => add("root digest", root.to_string().into()),
        Ok(None) => {}
        Err(error) => add("root digest", error.what().into()),
    }
    add("sections", sections(image.listed_sections(), &mut damage)?);
    let categories: Vec<InfoValue> = image.categories()?.into_iter().map(category).collect();
    if !categories.is_empty() {
        add("categories", InfoValue::List(categories));
    }
    let history: Vec<InfoValue> = runs.into_iter().map(history_entry).collect();
    if !history.is_empty() {
        add("history", InfoValue::List(history));
    }
    let all = image.damaged_metadata().chain(damage);
    let all: Vec<_> = all.map(|error| error.to_string().into()).collect();
    if !all.is_empty() {
        add(DAMAGE, InfoValue::List(all));
    }
    Ok(details)
}

/// Describes an image that cannot be opened.
pub(super) fn of_survey(survey: Survey) -> Result<InfoRows> {
    let mut damage = survey.damage;
    let sections = sections(survey.sections, &mut damage)?;
    let damage = damage.iter().map(|error| error.to_string().into());
    let rows = [
        ("format", InfoValue::from("DwarFS")),
        ("version", survey.version.into()),
        ("offset in file", survey.offset.into()),
        ("image bytes", survey.len.into()),
        ("section index", survey.has_index.into()),
        ("sections", sections),
        (DAMAGE, InfoValue::List(damage.collect())),
    ];
    let rows = rows.into_iter();
    Ok(rows.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns what the image was packed for, as the last run that says so recorded it.
fn purpose(entries: &[HistoryEntry]) -> Option<String> {
    let mut runs = entries.iter().rev();
    let purpose = runs.find_map(|run| recorded_purpose::purpose(&run.arguments));
    purpose.map(str::to_owned)
}

fn history_entry(entry: HistoryEntry) -> InfoValue {
    let mut fields: InfoRows = vec![
        ("version".to_owned(), version(&entry.version).into()),
        ("system".to_owned(), entry.system.into()),
        ("compiler".to_owned(), entry.compiler.into()),
        ("arguments".to_owned(), entry.arguments.join(" ").into()),
    ];
    if let Some(timestamp) = entry.timestamp {
        fields.push(("time".to_owned(), timestamp.into()));
    }
    if !entry.libraries.is_empty() {
        fields.push(("libraries".to_owned(), entry.libraries.join(", ").into()));
    }
    InfoValue::Map(fields)
}

fn category(category: crate::read::Category) -> InfoValue {
    InfoValue::Map(vec![
        ("name".to_owned(), category.name.into()),
        ("blocks".to_owned(), category.blocks.into()),
        ("bytes".to_owned(), category.stored.into()),
    ])
}

/// Sums sections by type and encoding; adds what is wrong with their headers.
fn sections(listed: Vec<ListedSection>, damage: &mut Vec<Error>) -> Result<InfoValue> {
    let mut sums: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for section in listed {
        let compression = match section.compression {
            Ok(compression) => compression.to_string(),
            Err(error) if error.kind() == Kind::Io => return Err(error),
            Err(error) => {
                damage.push(error);
                "unknown".to_owned()
            }
        };
        let key = (section.kind.to_string(), compression);
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(section.len));
    }
    let rows = sums
        .into_iter()
        .map(|((kind, compression), (count, bytes))| {
            InfoValue::Map(vec![
                ("type".to_owned(), kind.into()),
                ("compression".to_owned(), compression.into()),
                ("count".to_owned(), count.into()),
                ("bytes".to_owned(), bytes.into()),
            ])
        });
    Ok(InfoValue::List(rows.collect()))
}

fn version(version: &Version) -> String {
    let [major, minor, patch] = version.number;
    match &version.git_desc {
        Some(described) if !described.is_empty() => described.clone(),
        _ => format!("{major}.{minor}.{patch}"),
    }
}
