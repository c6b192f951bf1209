//! Hints for command lines that are nearly right.
//!
//! In: the words of a command line, and the error of its parser. Out: a line that says what was
//! meant, if that can be seen.

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns what was meant by a command line that was not understood.
pub fn hint(words: &[OsString], error: &clap::Error) -> Option<String> {
    let verb = words.get(1)?.to_str()?;
    let operands: Vec<&OsString> = words
        .iter()
        .skip(2)
        .filter(|word| !word.as_encoded_bytes().starts_with(b"-"))
        .collect();
    match error.kind() {
        ErrorKind::MissingRequiredArgument if lacks_output(error) => {
            missing_output(verb, &operands)
        }
        ErrorKind::UnknownArgument => unknown_flag(error),
        ErrorKind::InvalidSubcommand => unknown_name(words.first()?),
        _ => None,
    }
}

/// Returns an error without the suggestion of an option that help does not show.
pub fn without_hidden(mut error: clap::Error, definitions: &clap::Command) -> clap::Error {
    let is_hidden = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(flag)) => !is_shown(flag.trim_start_matches('-'), definitions),
        _ => false,
    };
    if is_hidden {
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// Returns whether the help of a command, or of one below it, shows a long option.
fn is_shown(long: &str, command: &clap::Command) -> bool {
    let mut all = command.get_arguments();
    all.any(|arg| arg.get_long() == Some(long) && !arg.is_hide_set())
        || command.get_subcommands().any(|below| is_shown(long, below))
}

fn lacks_output(error: &clap::Error) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(names)) => names.iter().any(|name| name.contains("--output")),
        Some(ContextValue::String(name)) => name.contains("--output"),
        _ => false,
    }
}

/// Returns the hint for an image or directory that was named without `-o`, as other programs take
/// it.
fn missing_output(verb: &str, operands: &[&OsString]) -> Option<String> {
    let last = operands.last()?;
    let shown = last.to_string_lossy();
    let is_new = !Path::new(last).exists();
    match verb {
        "extract" | "unpack" if operands.len() == 1 => Some(format!(
            "`sinter extract {shown} -o DIR` unpacks it; `sinter cat {shown} PATH` prints a file"
        )),
        "build" | "pack" | "create" if operands.len() == 1 => Some(format!(
            "`sinter build {shown} -o {}` writes an image; its extension chooses the format",
            image_of(last)
        )),
        "build" | "pack" | "create" | "convert" | "recompress" | "merge" | "extract" | "unpack"
            if operands.len() > 1 && (is_new || verb == "extract" || verb == "unpack") =>
        {
            Some(format!("did you mean `-o {shown}`?"))
        }
        _ => None,
    }
}

/// Returns the name of an image of a directory or an archive, in the working directory.
fn image_of(source: &OsString) -> String {
    let name = Path::new(source).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let stem = name.split_once(".tar").map_or(&*name, |(stem, _)| stem);
    let stem = if stem.is_empty() { "image" } else { stem };
    format!("{stem}.dwarfs")
}

/// Returns the hint for a name of the program by which it takes no other program's options.
fn unknown_name(called: &OsString) -> Option<String> {
    let name = Path::new(called).file_name()?.to_str()?;
    let is_own = name.starts_with("sinter");
    (!is_own).then(|| {
        format!(
            "`{name}` is not the name of a program whose options are known here \
             (docs/other-names.md lists them); as `sinter`, it has commands"
        )
    })
}

/// Returns the hint for flags that other programs have.
fn unknown_flag(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let hint = match flag.split('=').next()? {
        "--no-progress" => "`--progress none` shows none",
        "--dereference" => "symlinks are packed as they are; name their targets as sources",
        "--files-from" => "a list of files is taken as a manifest: see --manifest-root",
        "--dry-run" => "`sinter build ... -o - > /dev/null` writes nothing, and shows the sizes",
        "--append" => "an image is built once: --base takes over the blocks of an older one",
        "--threads" | "--num-threads" | "--processors" => "-j N sets the number of threads",
        _ => return None,
    };
    Some(hint.to_owned())
}
