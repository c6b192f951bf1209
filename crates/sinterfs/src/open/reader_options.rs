//! Options of opening that readers of some formats only have.
//!
//! In: options, and what a file turned out to be. Out: its format, or an error. **Invariant:** an
//! option that nothing would read is an error, which says what it is for.

use sinterfs_format::Format;
use sinterfs_model::{Error, Result, Setting};

use crate::formats::FORMATS;
use crate::open::trusted_source::TrustedSource;
use crate::open_options::OpenOptions;

/// Finds the format of an image that is to be opened.
///
/// # Errors
/// `Unsupported` for no image, `Invalid` for options that its reader does not have.
pub(crate) fn format_to_open(trusted: &TrustedSource) -> Result<&'static dyn Format> {
    let format = trusted.format()?;
    let taken = format.reader_options();
    let given = given(&trusted.options);
    let left = given.into_iter().find(|option| !taken.contains(option));
    left.map_or(Ok(format), |option| Err(refused(option, &image_of(format))))
}

/// Fails for options of images where `what` is none.
#[cfg(feature = "write")]
pub(crate) fn refuse_all(options: &OpenOptions, what: &str) -> Result<()> {
    let place = [
        (options.offset.is_some(), Setting::Offset),
        (options.partition.is_some(), Setting::Partition),
    ];
    let place = place.into_iter().filter(|(is_given, _)| *is_given);
    let mut given = given(options).into_iter().chain(place.map(|(_, it)| it));
    given
        .next()
        .map_or(Ok(()), |option| Err(refused(option, what)))
}

/// Returns the options that are given and that some readers only have.
pub(crate) fn given(options: &OpenOptions) -> Vec<Setting> {
    let all = [
        (!options.devices.is_empty(), Setting::Devices),
        (options.image.is_some(), Setting::ImageInFile),
        (options.objects.is_some(), Setting::Objects),
    ];
    let given = all.into_iter().filter(|(is_given, _)| *is_given);
    given.map(|(_, option)| option).collect()
}

/// Removes one of these from options.
pub(crate) fn remove(options: &mut OpenOptions, option: Setting) {
    match option {
        Setting::Devices => options.devices.clear(),
        Setting::ImageInFile => options.image = None,
        Setting::Objects => options.objects = None,
        _ => {}
    }
}

/// Returns what an image of a format is called, with its article.
pub(crate) fn image_of(format: &dyn Format) -> String {
    let name = format.name();
    let is_vowel = name.starts_with(['a', 'e', 'i', 'o', 'u']);
    let article = if is_vowel { "an" } else { "a" };
    format!("{article} {name} image")
}

/// Returns the error about an option that `what` has no use for.
pub(crate) fn refused(option: Setting, what: &str) -> Error {
    let takes = |format: &&&dyn Format| format.reader_options().contains(&option);
    let names: Vec<_> = FORMATS.iter().filter(takes).map(|it| it.name()).collect();
    let of = match names.split_last() {
        None => "images".to_owned(),
        Some((only, [])) => format!("{only} images"),
        Some((last, others)) => format!("{} and {last} images", others.join(", ")),
    };
    Error::invalid(format!("{option} is for {of}; this is {what}")).about([option])
}
