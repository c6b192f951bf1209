//! A served image that is mounted detached from the tree, as a lower layer of overlayfs.
//!
//! Enters an image, or for the kernel's EROFS a `Backing` of it; leaves a mount and the events of
//! its server. **Invariant:** only its descriptor keeps the mount alive until overlayfs uses it, so
//! a failure leaves no mount.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::Receiver;

use rustix::io::Errno;
use sinterfs_model::{Backing, Error, Image, Result};

use crate::backing::OneFile;
use crate::backing_name::backing_name;
use crate::detached;
use crate::kernel::{READ_AHEAD, warm, with_read_ahead};
use crate::loop_device::{DIRECT, with_loop_device};
use crate::options::MountOptions;
use crate::overlay::erofs_on;
use crate::session::check_root;
use crate::start::{Event, device_of, raise_read_ahead, serve_in_background};

/// An image that becomes a lower layer.
#[derive(Clone)]
pub struct LowerLayer {
    /// The image, which is served through FUSE.
    pub image: Arc<dyn Image>,
    /// A computed EROFS image of it, which the kernel mounts instead.
    pub backing: Option<Arc<dyn Backing>>,
    /// Whether FUSE is no substitute if the kernel cannot mount it.
    pub kernel_only: bool,
}

impl std::fmt::Debug for LowerLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LowerLayer")
            .field("by_kernel", &self.backing.is_some())
            .finish_non_exhaustive()
    }
}

/// A served mount that is not in the tree.
pub(crate) struct Lower {
    pub(crate) tree: OwnedFd,
    pub(crate) events: Receiver<Event>,
    pub(crate) requests: Arc<AtomicU64>,
    /// Why the kernel's EROFS does not show it, if that was tried.
    pub(crate) fell_back: Option<Error>,
}

/// Mounts a layer and serves it with its own threads.
pub(crate) fn start(layer: &LowerLayer, options: &MountOptions) -> Result<Lower> {
    let tried = layer
        .backing
        .as_ref()
        .map(|backing| by_kernel(backing, options));
    match tried {
        Some(Ok(lower)) => Ok(lower),
        Some(Err(error)) if layer.kernel_only => Err(error),
        Some(Err(error)) => Ok(Lower {
            fell_back: Some(error),
            ..by_fuse(&layer.image, options)?
        }),
        None => by_fuse(&layer.image, options),
    }
}

fn by_fuse(image: &Arc<dyn Image>, options: &MountOptions) -> Result<Lower> {
    check_root(&**image).map_err(|error| error.path("/"))?;
    let (device, tree) = detached::mount(options)?;
    let serving = serve_in_background(Arc::clone(image), device, options)?;
    if let Some(device) = device_of(&tree) {
        raise_read_ahead(&device, options.read_ahead(image.info().totals.block_size));
    }
    Ok(Lower {
        tree,
        events: serving.events,
        requests: serving.requests,
        fell_back: None,
    })
}

fn by_kernel(backing: &Arc<dyn Backing>, options: &MountOptions) -> Result<Lower> {
    let (device, file) = detached::mount(options)?;
    let name = backing_name(options);
    let plain = MountOptions {
        uid: None,
        gid: None,
        umask: 0,
        ..options.clone()
    };
    let image = OneFile::new(Arc::clone(backing), vec![name.clone().into_bytes()]);
    let serving = serve_in_background(Arc::new(image), device, &plain)?;
    let read_ahead = options.read_ahead.unwrap_or(READ_AHEAD);
    let tree = with_read_ahead(read_ahead, || erofs(&file, &name, options))?;
    if let Some(device) = device_of(&tree) {
        raise_read_ahead(&device, read_ahead);
    }
    warm(&file, &name, backing.metadata());
    // from now on EROFS keeps the file alive
    drop(file);
    Ok(Lower {
        tree,
        events: serving.events,
        requests: serving.requests,
        fell_back: None,
    })
}

/// Mounts EROFS on the computed file, or on a loop device where the kernel takes no files.
fn erofs(tree: &OwnedFd, name: &str, options: &MountOptions) -> Result<OwnedFd> {
    let file = |process: &str| format!("/proc/{process}/fd/{}/{name}", tree.as_raw_fd());
    let on_file = if options.loop_device {
        Err(Errno::NOTBLK)
    } else {
        match erofs_on(&file("self"), true) {
            // an older kernel, which caches content twice
            Err(Errno::INVAL) => erofs_on(&file("self"), false),
            other => other,
        }
    };
    let errno = match on_file {
        Ok(tree) => return Ok(tree),
        Err(errno @ (Errno::NODEV | Errno::PERM | Errno::ACCESS)) => {
            return Err(Error::io("the kernel's EROFS cannot be used", errno));
        }
        Err(errno) => errno,
    };
    let own = file(&rustix::process::getpid().as_raw_nonzero().to_string());
    with_loop_device(Path::new(&own), &[DIRECT], |device| {
        erofs_on(device, false).map_err(|errno| Error::io("mount failed", errno))
    })
    .map_err(|error| {
        Error::unsupported(format!(
            "the kernel mounts EROFS neither on a file ({errno}) nor on a loop device ({error})"
        ))
    })
}
