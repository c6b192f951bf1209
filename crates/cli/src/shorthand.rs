//! Command lines without a verb of ours that still have one meaning.
//!
//! In: the words of a command line. Out: the same, with the verb that does it. **Invariant:** a
//! word that is a verb is taken as one, even if a file has that name.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinterfs::{Error, Result};

/// Adds the verb to `sinter IMAGE DIR [-o OPTIONS]`, which is how mount.fuse(8) calls the program
/// for `mount -t fuse.sinter`, makes `sinter mount` without arguments list mounts, and takes the
/// conditions of find(1) with one dash. Fails with a hint if the first word is a file.
pub fn expand(mut words: Vec<OsString>, program: &clap::Command) -> Result<Vec<OsString>> {
    let Some(first) = words.get(1).cloned() else {
        return Ok(words);
    };
    if first == "mount" && words.len() == 2 {
        if let Some(verb) = words.get_mut(1) {
            *verb = "mounts".into();
        }
        return Ok(words);
    }
    if first == "find" {
        return conditions_of_find(words);
    }
    if first == "convert" {
        return Ok(conversion_to_container(words));
    }
    let is_verb = first == "help" || program.find_subcommand(&first).is_some();
    if is_verb || is_option(&first) || !Path::new(&first).is_file() {
        return Ok(words);
    }
    if words.get(2).is_some_and(|dir| Path::new(dir).is_dir()) {
        words.splice(1..1, ["mount".into(), "--called-by-mount".into()]);
        return Ok(words);
    }
    let file = first.to_string_lossy();
    Err(Error::invalid(format!(
        "{file} is a file, not a command: try `sinter info {file}`, `sinter ls {file}`, or \
         `sinter mount {file} DIR`"
    )))
}

/// Makes `sinter convert IMAGE -o oci:DIR:TAG` an extraction, which has the options for that.
fn conversion_to_container(mut words: Vec<OsString>) -> Vec<OsString> {
    let is_container = |name: &[u8]| name.starts_with(b"oci:") && !name.starts_with(b"oci://");
    let bytes = |word: &OsString| word.as_encoded_bytes().to_vec();
    let is_named = words.iter().enumerate().any(|(at, word)| {
        let word = bytes(word);
        let joined = word
            .strip_prefix(b"--output=")
            .or(word.strip_prefix(b"-o"))
            .is_some_and(is_container);
        let next = words.get(at + 1).map(bytes).unwrap_or_default();
        joined || matches!(&*word, b"-o" | b"--output") && is_container(&next)
    });
    if is_named {
        words.splice(1..2, ["extract".into(), "--oci".into()]);
    }
    words
}

/// The conditions of find(1), whose names have one dash.
const OF_FIND: [&str; 12] = [
    "-name",
    "-iname",
    "-path",
    "-type",
    "-size",
    "-newer",
    "-older",
    "-maxdepth",
    "-perm",
    "-uid",
    "-gid",
    "-print0",
];

/// Adds the second dash to the conditions of find(1). Fails if a size has no unit: find(1) counts
/// blocks of 512 bytes then.
fn conditions_of_find(mut words: Vec<OsString>) -> Result<Vec<OsString>> {
    let size = words.iter().position(|word| word == "-size");
    if let Some(size) = size
        .and_then(|at| words.get(at + 1))
        .and_then(|size| size.to_str())
        && size.ends_with(|c: char| c.is_ascii_digit())
    {
        return Err(Error::invalid(format!(
            "-size {size}: the unit is missing: {size}c for bytes, {size}k for KiB (find(1) counts \
             blocks of 512 bytes without one)"
        )));
    }
    words.iter_mut().skip(2).for_each(double_dash);
    Ok(words)
}

/// Adds the second dash to a condition of find(1).
fn double_dash(word: &mut OsString) {
    if OF_FIND.iter().any(|condition| word == condition) {
        let mut long = OsString::from("-");
        long.push(&*word);
        *word = long;
    }
}

fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}
