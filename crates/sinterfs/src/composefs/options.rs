//! The options of composefs images that not all formats have.

use std::path::PathBuf;

use sinterfs_erofs::composefs::Versions;
use sinterfs_format::{OptionRow, OptionTable};

/// The options of composefs images that not all formats have.
#[derive(Debug, Clone, Default)]
pub struct ComposefsOptions {
    /// The directory that gets the content of files; of a dump, the one that has it.
    pub digest_store: Option<PathBuf>,
    /// The lowest and the highest version of the format.
    pub versions: Versions,
    /// Whether devices are left out.
    pub skip_devices: bool,
    /// Whether attributes are left out that do not begin with `user.`.
    pub user_xattrs: bool,
}

impl OptionTable for ComposefsOptions {
    const ROWS: &'static [OptionRow<Self>] = &[
        ("digest_store", |own, text| text.file(&mut own.digest_store)),
        ("min_version", |own, text| {
            own.versions.min = text.number()?;
            Ok(())
        }),
        ("max_version", |own, text| {
            own.versions.max = text.number()?;
            Ok(())
        }),
        ("skip_devices", |own, text| {
            text.switch(&mut own.skip_devices)
        }),
        ("user_xattrs", |own, text| text.switch(&mut own.user_xattrs)),
    ];
}
