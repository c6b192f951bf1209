//! Features of images that need a newer kernel, more time to write, or another layout.

use std::str::FromStr;

use sinterfs_model::{Error, Result};

use super::limits::BlockSize;

/// Features that need a newer kernel, or more time to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extended {
    /// Whether files refer to content of earlier files.
    pub dedupe: bool,
    /// Whether the last pcluster of a file goes behind its inode; `None` where that saves space.
    pub ztailpacking: Option<bool>,
    /// Whether small files and tails share pclusters; `None` for yes, unless `ztailpacking` was
    /// asked for.
    pub fragments: Option<bool>,
    /// Whether the packed inode has the content of all files.
    pub all_fragments: bool,
    /// The size of EROFS blocks; others than 4 KiB are for uncompressed images.
    pub block: BlockSize,
    /// Whether pclusters begin with what they hold, and are found by full indexes, as kernels
    /// before 5.4 need it.
    pub legacy_compress: bool,
    /// Whether no regular file has content behind its inode.
    pub no_inline_data: bool,
    /// Whether the image has no content of files, but says where the source has it.
    pub index: bool,
}

impl FromStr for Extended {
    type Err = Error;

    /// Parses the names `dedupe`, `ztailpacking`, `fragments`, `all-fragments`,
    /// `legacy-compress`, `inline_data` and `index`, separated by commas; `^` before a name turns
    /// the feature off.
    /// `block=N` is the size of EROFS blocks.
    fn from_str(text: &str) -> Result<Self> {
        let mut extended = Self::default();
        for option in text.split(',') {
            let (name, on) = match option.strip_prefix('^') {
                Some(name) => (name, false),
                None => (option, true),
            };
            if let Some(bytes) = option.strip_prefix("block=") {
                let bytes = bytes.parse::<u64>();
                let wrong = |_| Error::invalid(format!("`{option}`: a number of bytes is needed"));
                extended.block = BlockSize::of(bytes.map_err(wrong)?)?;
                continue;
            }
            match name {
                "dedupe" => extended.dedupe = on,
                "ztailpacking" => extended.ztailpacking = Some(on),
                "fragments" => extended.fragments = Some(on),
                "all-fragments" => extended.all_fragments = on,
                "legacy-compress" => extended.legacy_compress = on,
                "inline_data" => extended.no_inline_data = !on,
                "index" => extended.index = on,
                _ => {
                    return Err(Error::invalid(format!(
                        "extended option `{option}`: there are dedupe, ztailpacking, fragments, \
                         all-fragments, legacy-compress, inline_data, index and block=N, and ^ \
                         before one for its opposite"
                    )));
                }
            }
        }
        Ok(extended)
    }
}
