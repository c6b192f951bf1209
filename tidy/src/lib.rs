//! The house rules that no linter knows: one file a rule, exceptions in `lists.rs`.

mod arrows;
mod circles;
mod exhaustive;
mod files;
mod formats;
mod lints;
mod lists;
mod modules;
mod names;
mod promises;
mod source;
mod words;
mod workspace;

use std::path::Path;

/// Checks all house rules; the error lists everything that breaks one.
pub fn tidy(root: &Path) -> Result<(), String> {
    let files = source::rust_files(root)?;
    let mut broken = arrows::arrows(root)?;
    for file in &files {
        broken.extend(files::file(file, lists::UNSAFE_FILES));
        broken.extend(formats::formats(file, lists::FORMATS));
        if lists::LIBRARIES.contains(&&*file.package) {
            broken.extend(words::flags(file, lists::FLAG_FILES));
        }
    }
    broken.extend(words::verbs(&files));
    broken.extend(words::phrases(&files, lists::PHRASES));
    broken.extend(files::columns(&files, lists::LONG_LINES));
    broken.extend(files::text_columns(root)?);
    broken.extend(files::merge_markers(root)?);
    broken.extend(names::names(&files, lists::SHARED_NAMES));
    broken.extend(exhaustive::exhaustive(
        &files,
        lists::GROWING,
        lists::CLOSED_TYPES,
    ));
    broken.extend(circles::circles(&files, lists::CIRCLES));
    broken.extend(lints::lints(&files, lists::LINTED));
    broken.extend(promises::promises(root, &files)?);
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("\n  {}", broken.join("\n  ")))
    }
}
