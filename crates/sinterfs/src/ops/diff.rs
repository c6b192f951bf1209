//! Comparing two trees, each a directory, in an archive or in an image.
//!
//! Enters two paths; leaves their differences. Times count as exactly as the coarser one of two
//! images has them.

use std::path::Path;

use sinterfs_model::{Observer, Result};
use sinterfs_ops::{DiffOptions, DiffReport, Side};
use sinterfs_platform::Scratch;
use sinterfs_source::archive::ImpliedDirectories;
use sinterfs_source::{Edits, directory};

use crate::open_options::OpenOptions;
use crate::write::input::kinds::{Input, ManifestOptions};
use crate::write::input::open::open as open_input;
use crate::write::input::opened::OpenInput;
use crate::write::input::request::Request;

/// Compares two trees; each path is a directory, an archive, or an image, which is opened by its
/// own options.
///
/// `options.time_unit` 0 means the coarsest unit of the images. Damage of an image is an error, a
/// file of a directory that cannot be read counts as changed.
pub fn diff(
    [old, new]: [&Path; 2],
    open: &[OpenOptions; 2],
    options: &DiffOptions,
    observer: &dyn Observer,
) -> Result<DiffReport> {
    let [open_old, open_new] = open;
    let inputs = [Input::of(old, open_old)?, Input::of(new, open_new)?];
    let [old, new] = [(&inputs[0], open_old), (&inputs[1], open_new)].map(|(input, open)| {
        open_input(&Request {
            observer,
            input,
            open,
            edits: Edits::default(),
            archive_root: None,
            implied: ImpliedDirectories::default(),
            // as images made of one have it
            keeps_config: true,
            directory: directory::Options {
                threads: options.threads,
                ..directory::Options::default()
            },
            manifest: ManifestOptions::default(),
            scratch: Scratch::new(std::env::temp_dir()),
            threads: options.threads,
            strict: false,
        })
    });
    let (old, new) = (old?, new?);
    let unit = |input: &OpenInput| input.times().map_or(1, |(unit, _)| unit);
    let options = DiffOptions {
        time_unit: match options.time_unit {
            0 => unit(&old).max(unit(&new)),
            unit => unit,
        },
        ..options.clone()
    };
    old.read(observer, |old, observer| {
        new.read(observer, |new, observer| {
            let trees = (old.scan(observer)?, new.scan(observer)?);
            let old = Side {
                source: old,
                tree: &trees.0,
            };
            let new = Side {
                source: new,
                tree: &trees.1,
            };
            sinterfs_ops::diff(old, new, &options, observer)
        })
    })
}
