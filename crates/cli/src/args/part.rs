//! Flags that choose a part of an image, some only for the options of other programs.

use std::ffi::OsString;

use sinterfs::FileType;
use sinterfs::ops::PartOptions;
use sinterfs::platform::names;

use crate::rows::trimmed;

/// The part of an image to show or restore.
#[derive(Debug, clap::Args)]
pub struct PartArgs {
    /// The directory to take for the root.
    #[arg(long, hide = true, value_name = "DIR")]
    below: Option<OsString>,

    /// Leave out files of these types: devices, sockets, fifos, symlinks.
    #[arg(
        long,
        value_name = "TYPE,..",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    without: Vec<Without>,

    /// Leave out directories that hold nothing.
    #[arg(long, hide = true)]
    without_empty: bool,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Without {
    Devices,
    Sockets,
    Fifos,
    Symlinks,
}

impl Without {
    const fn types(self) -> &'static [FileType] {
        match self {
            Self::Devices => &[FileType::CharDevice, FileType::BlockDevice],
            Self::Sockets => &[FileType::Socket],
            Self::Fifos => &[FileType::Fifo],
            Self::Symlinks => &[FileType::Symlink],
        }
    }
}

impl PartArgs {
    /// Returns the part; `None` for the whole image.
    pub fn options(&self) -> Option<PartOptions> {
        let below = self.below.as_ref();
        let types = self.without.iter().flat_map(|without| without.types());
        let options = PartOptions {
            root: below.map_or_else(Vec::new, |path| trimmed(&names::bytes(path)).to_vec()),
            without: types.copied().collect(),
            without_empty: self.without_empty,
        };
        (options != PartOptions::default()).then_some(options)
    }
}
