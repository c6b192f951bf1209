//! The house rules that no linter knows: one file a rule, exceptions in `lists.rs`.

mod arrows;
mod circles;
mod crates;
mod decisions;
mod exhaustive;
mod files;
mod floors;
mod forge;
mod formats;
mod lints;
mod lists;
mod modules;
mod names;
mod pages;
mod promises;
mod prose;
mod source;
mod words;
mod workspace;

use std::path::Path;

/// Checks all house rules; the error lists everything that breaks one.
pub fn tidy(root: &Path) -> Result<(), String> {
    let files = source::rust_files(root)?;
    let crates = crates::Crates::find(root)?;
    let formats = crates.format_names();
    let libraries = crates.without(|folder| lists::NOT_LIBRARIES.contains(&folder));
    let mut broken = arrows::arrows(root, &crates)?;
    for file in &files {
        broken.extend(files::file(file, lists::UNSAFE_FILES));
        broken.extend(formats::formats(file, &formats));
        if libraries.contains(&&*file.package) {
            broken.extend(words::flags(file, lists::FLAG_FILES));
        }
    }
    broken.extend(words::verbs(&files));
    broken.extend(words::returning_types(&files));
    broken.extend(prose::prose(&files, lists::PROPER_NAMES));
    broken.extend(words::phrases(&files, lists::PHRASES));
    broken.extend(files::columns(&files, lists::LONG_LINES));
    broken.extend(files::text_columns(root)?);
    broken.extend(files::merge_markers(root)?);
    broken.extend(pages::pages(root)?);
    broken.extend(forge::forge(root)?);
    broken.extend(names::names(&files, lists::SHARED_NAMES));
    broken.extend(exhaustive::exhaustive(
        &files,
        lists::GROWING,
        lists::CLOSED_TYPES,
    ));
    broken.extend(circles::circles(&files, lists::CIRCLES));
    broken.extend(floors::floors(&files, lists::TIED_ROOMS));
    broken.extend(lints::lints(&files, &crates.all, lists::UNLINTED));
    broken.extend(promises::promises(root, &files)?);
    broken.extend(decisions::decisions(root, &files)?);
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("\n  {}", broken.join("\n  ")))
    }
}
