//! Encodes the history section: the runs that made an image, in thrift's compact protocol.
//!
//! In: this run and the former ones. Out: the section's content. Format: upstream's
//! `thrift/history.thrift`, where `git_desc` is optional; but upstream's tools fail without it, so
//! it is always written and names the program.

use super::compact::{CompactWriter, Type};
use super::options::HistoryInfo;
use crate::read::{HistoryEntry, Version};

/// Encodes a history: the former runs, then the run of `program`.
pub(super) fn encode(info: &HistoryInfo, program: &str) -> Vec<u8> {
    let mut w = CompactWriter::default();
    w.begin_struct();
    w.field(1, Type::List); // entries
    w.elements(Type::Struct, info.former.len() + 1);
    for former in &info.former {
        entry(&mut w, former);
    }
    entry(&mut w, &this_run(info, program));
    w.end_struct();
    w.finish()
}

fn this_run(info: &HistoryInfo, program: &str) -> HistoryEntry {
    let mut libraries = info.library_versions.clone();
    libraries.sort();
    libraries.dedup();
    HistoryEntry {
        version: Version {
            number: info.version,
            is_release: true,
            git_desc: Some(program.to_owned()),
            ..Version::default()
        },
        system: info.system_id.clone(),
        compiler: info.compiler_id.clone(),
        arguments: info.arguments.clone(),
        timestamp: info.timestamp,
        libraries,
    }
}

fn entry(w: &mut CompactWriter, run: &HistoryEntry) {
    w.begin_struct();
    w.field(1, Type::Struct);
    version(w, &run.version);
    w.string_field(2, run.system.as_bytes());
    w.string_field(3, run.compiler.as_bytes());
    if !run.arguments.is_empty() {
        w.field(4, Type::List);
        strings(w, &run.arguments);
    }
    if let Some(timestamp) = run.timestamp {
        w.int_field(5, Type::I64, timestamp.cast_signed());
    }
    if !run.libraries.is_empty() {
        w.field(6, Type::Set);
        strings(w, &run.libraries);
    }
    w.end_struct();
}

fn version(w: &mut CompactWriter, version: &Version) {
    w.begin_struct();
    for (id, number) in (1..).zip(version.number) {
        // an unsigned 16-bit number, stored as a signed one
        w.int_field(id, Type::I16, i64::from(number.cast_signed()));
    }
    w.bool_field(4, version.is_release);
    for (id, text) in [(5, &version.git_rev), (6, &version.git_branch)] {
        if let Some(text) = text {
            w.string_field(id, text.as_bytes());
        }
    }
    w.string_field(7, version.to_string().as_bytes());
    w.end_struct();
}

fn strings(w: &mut CompactWriter, strings: &[String]) {
    w.elements(Type::Binary, strings.len());
    for string in strings {
        w.string(string.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_written_byte_by_byte() {
        let info = HistoryInfo {
            version: [0, 15, 3],
            system_id: "Linux".to_owned(),
            compiler_id: "rustc".to_owned(),
            arguments: vec!["a".to_owned()],
            timestamp: Some(100),
            library_versions: vec!["z-1".to_owned(), "b-2".to_owned(), "z-1".to_owned()],
            former: Vec::new(),
        };
        #[rustfmt::skip]
        assert_eq!(encode(&info, "s 1"), [
            0x19, 0x1c,             // 1 entries: one struct
            0x1c,                   //   1 version
            0x14, 0, 0x14, 30, 0x14, 6, 0x11, // 0.15.3, a release
            0x38, 3, b's', b' ', b'1', 0, // 7 git_desc
            0x18, 5, b'L', b'i', b'n', b'u', b'x',
            0x18, 5, b'r', b'u', b's', b't', b'c',
            0x19, 0x18, 1, b'a',    //   4 arguments: one string
            0x16, 0xc8, 1,          //   5 timestamp: i64 100
            0x1a, 0x28, 3, b'b', b'-', b'2', 3, b'z', b'-', b'1', // 6: set of two strings
            0,
            0,
        ]);
    }
}
