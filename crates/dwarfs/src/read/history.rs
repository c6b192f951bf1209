//! The history of an image: every run of a tool that wrote it, and every rewrite.
//!
//! In: `HISTORY` sections (thrift compact) and `metadata_version_history`. Out: entries, oldest
//! first.
//!
//! **Invariant:** informational only: damage here does not affect reading files.
//! Spec: upstream's `thrift/history.thrift`.

use sinterfs_model::Result;

use super::open::Dwarfs;
use super::options::StorageOptions;
use crate::layout::SectionType;
use crate::layout::metadata::{history_entry, root};
use crate::thrift::read::{Reader, Wire};

/// The largest decoded history in bytes: its objects take many times as much memory.
const LIMIT: u64 = 4 << 20;

/// The version of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Version {
    /// Major, minor, patch.
    pub number: [u16; 3],
    /// Whether it was a release.
    pub is_release: bool,
    /// The revision of its source.
    pub git_rev: Option<String>,
    /// The branch of its source.
    pub git_branch: Option<String>,
    /// The output of `git describe`.
    pub git_desc: Option<String>,
}

/// One run of a tool that wrote or rewrote the image.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HistoryEntry {
    /// The tool's version.
    pub version: Version,
    /// The system that it ran on.
    pub system: String,
    /// The compiler that it was built by.
    pub compiler: String,
    /// Its command line.
    pub arguments: Vec<String>,
    /// When it ran, in seconds since 1970.
    pub timestamp: Option<u64>,
    /// The libraries that it used.
    pub libraries: Vec<String>,
}

/// Properties of the metadata before a rewrite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataVersion {
    /// The major version of the format.
    pub major: u8,
    /// The minor version of the format.
    pub minor: u8,
    /// The version of the library that wrote it.
    pub made_by: Option<String>,
    /// The block size in bytes.
    pub block_size: u32,
    /// The storage options of the tables.
    pub options: Option<StorageOptions>,
}

impl Dwarfs {
    /// Returns the runs of the tools that made the image, oldest first.
    pub fn history(&self) -> Result<Vec<HistoryEntry>> {
        let mut entries = Vec::new();
        for range in &self.sections.histories {
            let content = self.reader.load(*range, SectionType::HISTORY, LIMIT)?;
            let found = parse(&content)
                .map_err(|error| error.at("HISTORY", self.reader.file_offset(range.offset)))?;
            entries.extend(found);
        }
        Ok(entries)
    }

    /// Returns the properties of the metadata before each rewrite, oldest first.
    pub fn metadata_history(&self) -> Result<Vec<MetadataVersion>> {
        let Some(list) = self
            .metadata
            .root()
            .field(root::METADATA_VERSION_HISTORY)?
            .optional()?
        else {
            return Ok(Vec::new());
        };
        let list = list.list()?;
        list.expect_short()?;
        list.items()
            .map(|item| {
                let item = item?;
                let byte = |id| Ok(u8::try_from(item.field(id)?.uint(8)?).unwrap_or(u8::MAX));
                Ok(MetadataVersion {
                    major: byte(history_entry::MAJOR)?,
                    minor: byte(history_entry::MINOR)?,
                    made_by: match item.field(history_entry::DWARFS_VERSION)?.optional()? {
                        Some(version) => Some(version.text()?),
                        None => None,
                    },
                    block_size: item.field(history_entry::BLOCK_SIZE)?.u32()?,
                    options: match item.field(history_entry::OPTIONS)?.optional()? {
                        Some(options) => Some(StorageOptions::read_node(&options)?),
                        None => None,
                    },
                })
            })
            .collect()
    }
}

fn parse(bytes: &[u8]) -> Result<Vec<HistoryEntry>> {
    let mut reader = Reader::new(bytes);
    let mut entries = Vec::new();
    let mut last = 0;
    while let Some((id, wire)) = reader.field(&mut last)? {
        if id == 1 {
            wire.expect(Wire::LIST, "a list of entries")?;
            let (count, item) = reader.list()?;
            item.expect(Wire::STRUCT, "an entry")?;
            for _ in 0..count {
                entries.push(parse_entry(&mut reader)?);
            }
        } else {
            reader.skip(wire)?;
        }
    }
    Ok(entries)
}

fn parse_entry(reader: &mut Reader<'_>) -> Result<HistoryEntry> {
    let mut entry = HistoryEntry::default();
    let mut last = 0;
    while let Some((id, wire)) = reader.field(&mut last)? {
        match (id, wire) {
            (1, Wire::STRUCT) => entry.version = parse_version(reader)?,
            (2, Wire::BINARY) => entry.system = reader.string()?,
            (3, Wire::BINARY) => entry.compiler = reader.string()?,
            (4, Wire::LIST) => entry.arguments = parse_strings(reader)?,
            (5, Wire::I64) => entry.timestamp = Some(reader.int::<i64>()?.cast_unsigned()),
            (6, Wire::SET) => entry.libraries = parse_strings(reader)?,
            _ => reader.skip(wire)?,
        }
    }
    Ok(entry)
}

fn parse_strings(reader: &mut Reader<'_>) -> Result<Vec<String>> {
    let (count, item) = reader.list()?;
    if count > 0 {
        item.expect(Wire::BINARY, "a string")?;
    }
    (0..count).map(|_| reader.string()).collect()
}

fn parse_version(reader: &mut Reader<'_>) -> Result<Version> {
    let mut version = Version::default();
    let [major, minor, patch] = &mut version.number;
    let mut last = 0;
    while let Some((id, wire)) = reader.field(&mut last)? {
        match (id, wire) {
            (1, Wire::I16) => *major = reader.int::<i16>()?.cast_unsigned(),
            (2, Wire::I16) => *minor = reader.int::<i16>()?.cast_unsigned(),
            (3, Wire::I16) => *patch = reader.int::<i16>()?.cast_unsigned(),
            (4, _) => version.is_release = wire.flag()?,
            (5, Wire::BINARY) => version.git_rev = Some(reader.string()?),
            (6, Wire::BINARY) => version.git_branch = Some(reader.string()?),
            (7, Wire::BINARY) => version.git_desc = Some(reader.string()?),
            _ => reader.skip(wire)?,
        }
    }
    Ok(version)
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(desc) = &self.git_desc {
            return f.write_str(desc);
        }
        let [major, minor, patch] = self.number;
        write!(f, "{major}.{minor}.{patch}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_is_read() {
        #[rustfmt::skip]
        let bytes = [
            0x19, 0x1c,             // 1: list of 1 struct
            0x1c,                   //  1: version
            0x14, 0x00,             //   1: major = 0
            0x14, 0x1e,             //   2: minor = 15
            0x14, 0x06,             //   3: patch = 3
            0x11,                   //   4: is_release = true
            0x00,
            0x18, 2, b'o', b's',    //  2: system
            0x18, 2, b'c', b'c',    //  3: compiler
            0x19, 0x28,             //  4: list of 2 strings
            1, b'a', 0,             //     "a", ""
            0x16, 0x80, 0x01,       //  5: timestamp = 64
            0x1a, 0x18, 1, b'z',    //  6: set of 1 string
            0x00,
            0x00,
        ];
        let entries = parse(&bytes).unwrap();
        assert_eq!(entries.len(), 1);
        let entry = &entries[0];
        assert_eq!(entry.version.number, [0, 15, 3]);
        assert!(entry.version.is_release);
        assert_eq!(
            (entry.system.as_str(), entry.compiler.as_str()),
            ("os", "cc")
        );
        assert_eq!(entry.arguments, ["a", ""]);
        assert_eq!(entry.timestamp, Some(64));
        assert_eq!(entry.libraries, ["z"]);
        for len in 0..bytes.len() {
            assert!(parse(&bytes[..len]).is_err());
        }
    }
}
