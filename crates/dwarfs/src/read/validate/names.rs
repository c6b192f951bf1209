//! Names: each is one, and those of a directory stand in order, each once.

use model::{Error, Result};

use crate::read::metadata::Metadata;
use crate::read::strings::undecodable;

/// Checks all names and the order of all directories.
pub(super) fn check(metadata: &Metadata) -> Result<()> {
    let data: &[u8] = &metadata.data;
    let names = &metadata.names;
    if names.len() > metadata.entries.name.len() {
        return Err(Error::corrupt("more names than directory entries"));
    }
    let mut sorted = true;
    let (mut before, mut scratch) = (Vec::new(), Vec::new());
    for index in 0..names.len() {
        let name = names
            .get(data, index, &mut scratch)
            .ok_or_else(|| undecodable(index))?;
        check_name(name, index)?;
        sorted = sorted && (index == 0 || *before < *name);
        if sorted {
            before.clear();
            before.extend_from_slice(name);
        }
    }
    check_directories(metadata, sorted)
}

fn check_name(name: &[u8], index: u64) -> Result<()> {
    let bad = name.is_empty()
        || matches!(name, b"." | b"..")
        || name.iter().any(|byte| matches!(byte, b'/' | 0));
    if bad {
        let name = name.escape_ascii();
        return Err(Error::corrupt(format!(
            "name {index}, \"{name}\", cannot be a file's"
        )));
    }
    Ok(())
}

/// Checks the order in all directories. Where all names stand in order the numbers of names tell;
/// else the names have to be compared.
fn check_directories(metadata: &Metadata, sorted: bool) -> Result<()> {
    let data: &[u8] = &metadata.data;
    let column = &metadata.entries.name;
    let directories = metadata.first_entry.len().saturating_sub(1);
    let (mut before, mut scratch) = (Vec::new(), Vec::new());
    let mut start = u64::from(metadata.first_entry.get(data, 0));
    for directory in 0..directories {
        let end = u64::from(metadata.first_entry.get(data, directory.saturating_add(1)));
        let mut number_before = None;
        for entry in start..end {
            let number = column.get(data, entry);
            if number >= metadata.names.len() {
                return Err(Error::corrupt(format!(
                    "entry {entry} has the name {number}"
                )));
            }
            let in_order = if sorted {
                number_before.is_none_or(|before| before < number)
            } else {
                let name = metadata.names.get(data, number, &mut scratch);
                let name = name.ok_or_else(|| undecodable(number))?;
                let in_order = number_before.is_none() || *before < *name;
                before.clear();
                before.extend_from_slice(name);
                in_order
            };
            if !in_order {
                return Err(Error::corrupt(format!(
                    "the names of directory {directory} are not in order at entry {entry}"
                )));
            }
            number_before = Some(number);
        }
        start = end;
    }
    Ok(())
}
