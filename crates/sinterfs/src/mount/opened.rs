//! Opens the images of a mount.
//!
//! In: paths, and options that several images share. Out: opened images. **Invariant:** an option
//! that can be of one image only is refused if there are several.

use std::path::Path;

use sinterfs_model::{Error, Result};

use crate::image::Image;
use crate::open::open_with;
use crate::open::shared_options::keep_applicable;
use crate::open_options::OpenOptions;
use crate::place;
use crate::trust::{Anchor, Trust};

/// Opens images, which divide the size of the cache. What does not keep them from being read is
/// added to the warnings.
pub(super) fn open_all(
    images: &[&Path],
    options: &OpenOptions,
    warnings: &mut Vec<Error>,
) -> Result<Vec<Image>> {
    let count = images.len();
    let mut options = options.clone();
    if count > 1 {
        if let Some(name) = option_of_one_image(&options) {
            return Err(can_be_of_one_image(name));
        }
        options.cache_bytes /= count as u64;
    }
    let mut each = vec![options; count];
    if count > 1 {
        // some layers may be no composefs images
        keep_applicable(images, &mut each)?;
    }
    let open = |(path, options): (&&Path, &OpenOptions)| {
        let opened = open_with(path, options)?;
        opened.reserve_cache();
        let shown = opened.warnings().into_iter();
        warnings.extend(shown.map(|warning| warning.path(place::shown(path))));
        Ok(opened)
    };
    images.iter().zip(&each).map(open).collect()
}

/// Returns what is given in options and can be of one image only.
pub fn option_of_one_image(options: &OpenOptions) -> Option<&'static str> {
    let of_one = |trust: &Trust| {
        let is_one = matches!(
            trust.anchor,
            Anchor::Digest(_)
                | Anchor::FsVerity(_)
                | Anchor::Signature {
                    signature: Some(_),
                    ..
                }
        );
        is_one || trust.digests.is_some()
    };
    let given = [
        (options.offset.is_some(), "the offset"),
        (!options.devices.is_empty(), "a further device"),
        (options.image.is_some(), "the image of a file with several"),
        (
            options.trust.as_deref().is_some_and(of_one),
            "the digest or signature",
        ),
    ];
    let mut given = given.into_iter().filter(|(is_given, _)| *is_given);
    given.next().map(|(_, name)| name)
}

/// Returns the error for an option of one image that is given for layers.
pub(super) fn can_be_of_one_image(option: &str) -> Error {
    Error::invalid(format!(
        "{option} can be given for one image only, not for layers"
    ))
}
