//! Images on their way to and from registries, as whole files.
//!
//! **Invariant:** a pulled file is complete and has the digest that the registry names, or it is
//! not there. What an interrupted pull has fetched is in the cache, where the next one finds it.

use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_model::{Error, Result};
use sinterfs_remote::{Address, PushedImage, Remote, RemoteOptions};

use crate::open::open_with;
use crate::open_options::OpenOptions;
use crate::place;
use crate::registry::older_parts;
use crate::splice::Splice;
use crate::verify::trusted_source;
use crate::write::output::Output;

/// Pushes an image to a registry; returns its name with the digest of the manifest.
///
/// An EROFS image becomes an ordinary image with one layer, any other format an artifact. The
/// architecture is that of the programs in an EROFS image, by default this machine's.
///
/// # Errors
/// Those of [`crate::open()`]; `Invalid` for a reference without a tag, `Io` if the registry
/// refuses or cannot be reached.
pub fn push(
    image: &Path,
    to: &Path,
    architecture: Option<&str>,
    options: &OpenOptions,
) -> Result<String> {
    let address = Address::parse(to)?;
    let opened = open_with(image, options)?;
    let content = place::source(image, options)?;
    let own = trusted_source::in_image(&content, options)?;
    let pushed = PushedImage {
        content,
        format: opened.format(),
        root: own.map(|own| own.digests.root().to_string()),
        architecture: architecture.map(str::to_owned),
    };
    sinterfs_remote::push(&pushed, &address, &options.remote)
}

/// What a download was.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Pulled {
    /// The length of the file in bytes.
    pub len: u64,
    /// Bytes of the image that came from a server; those from the cache are not among them.
    pub fetched: u64,
    /// Bytes of the image that came from the older one.
    pub older: u64,
    /// Whether a mirror sent wrong bytes, so that everything came from the registry itself.
    pub wrong_mirror: bool,
}

/// Where to, and from what besides the remote image.
#[derive(Debug, Clone, Copy)]
pub struct PullTo<'a> {
    /// The file to write.
    pub output: &'a Path,
    /// Whether a file of that name is replaced.
    pub replace: bool,
    /// An older image, whose sections are taken where the remote one has the same; both are DwarFS.
    pub older: Option<&'a Path>,
}

/// Downloads a remote image to a file.
///
/// If the bytes have another digest than the registry named, what is in the cache of them is
/// forgotten, and mirrors that were asked are not asked again.
///
/// # Errors
/// `Corrupt` if the bytes of the registry itself have another digest; `Invalid` if the file exists
/// and is not to be replaced; `Unsupported` if nothing can be taken from an older image; those of
/// reading.
pub fn pull(from: &Path, to: PullTo<'_>, options: &OpenOptions) -> Result<Pulled> {
    let located = |error: Error| error.path(place::shown(from));
    let address = Address::parse(from).map_err(located)?;
    let once = |remote: &RemoteOptions| {
        let output = Output::create(to.output, to.replace)?;
        let download = Download {
            address: &address,
            older: to.older,
            remote,
            options,
        };
        let pulled = download.write(&output).map_err(located)?;
        if pulled.is_some() {
            output.commit()?;
        }
        Ok::<_, Error>(pulled)
    };
    if let Some(pulled) = once(&options.remote)? {
        return Ok(pulled);
    }
    if options.remote.registry_hosts.is_some() && options.remote.mirrors {
        let mut itself = options.remote.clone();
        itself.mirrors = false;
        if let Some(pulled) = once(&itself)? {
            return Ok(Pulled {
                wrong_mirror: true,
                ..pulled
            });
        }
    }
    let what = "the bytes have another digest than the manifest names";
    Err(located(Error::corrupt(what)))
}

/// One try of a download.
struct Download<'a> {
    address: &'a Address,
    older: Option<&'a Path>,
    remote: &'a RemoteOptions,
    options: &'a OpenOptions,
}

impl Download<'_> {
    /// Writes all bytes; `None` if they have not the digest that the registry named.
    fn write(&self, output: &Output) -> Result<Option<Pulled>> {
        let mut remote = Remote::open(self.address, self.remote)?;
        if self.older.is_some() {
            // what comes next may be in the older image
            remote.stop_read_ahead();
        }
        let remote = Arc::new(remote);
        let (source, older) = match self.older {
            None => (Arc::clone(&remote) as Arc<dyn ReadAt>, 0),
            Some(path) => self.spliced(&remote, path)?,
        };
        let (found, len) = place::copy_hashed(source, output.writer())?;
        let expected = remote.etag().filter(|etag| etag.starts_with("sha256:"));
        if expected.is_some_and(|expected| expected != found) {
            remote.forget_cached()?;
            return Ok(None);
        }
        Ok(Some(Pulled {
            len,
            fetched: remote.fetched(),
            older,
            wrong_mirror: false,
        }))
    }

    /// Joins the remote image with what an older one has of it; also returns how much that is.
    fn spliced(&self, remote: &Arc<Remote>, path: &Path) -> Result<(Arc<dyn ReadAt>, u64)> {
        let older = place::source(path, self.options)?;
        let parts = older_parts(remote, (&older, path), self.options)?;
        let splice = Splice::new(Arc::clone(remote), older, parts)?;
        let count = splice.older_bytes();
        Ok((Arc::new(splice), count))
    }
}
