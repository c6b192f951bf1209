//! Mounting an image: through the kernel's EROFS where that is possible and shows all, else through
//! FUSE.
//!
//! In: an image and a directory. Out: a session, and why it is not what it might have been.
//! **Invariant:** what nobody asked for loses nothing: an image that EROFS cannot show whole gets
//! FUSE.

use std::path::Path;
use std::sync::Arc;

use sinterfs_model::{Error, Image, Loss, Result};
use sinterfs_mount::{LowerLayer, MountOptions, Upper};

use crate::mount::kernel_backing::KernelBacking;
use crate::mount::memory::threads_within_limit;
use crate::mount::session::Session;
use crate::object_verification::ObjectVerification;

/// By whom names and attributes are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MountMethod {
    /// The kernel, for root, where it can and loses nothing; else FUSE.
    #[default]
    Auto,
    /// The kernel, or nobody.
    Kernel,
    /// FUSE.
    Fuse,
}

/// A mounted image.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Mounted {
    /// The mount; `None` if the kernel needs no process for it, so that it stays until somebody
    /// unmounts it.
    pub session: Option<Session>,
    /// Why it is not through the kernel, if it was tried.
    pub fell_back: Option<Error>,
    /// What the image has and the mount does not show.
    pub losses: Vec<Loss>,
    /// Faults of the images, and requests that could not be met, although the images are
    /// mounted.
    pub warnings: Vec<Error>,
    /// Who verifies the objects of an image that the kernel mounts with them.
    pub objects: Option<ObjectVerification>,
}

impl Mounted {
    fn new(session: sinterfs_mount::Session, fell_back: Option<Error>, losses: Vec<Loss>) -> Self {
        Self {
            session: Some(Session::new(session)),
            fell_back,
            losses,
            ..Self::default()
        }
    }

    pub(super) fn with_objects(verified: ObjectVerification) -> Self {
        Self {
            objects: Some(verified),
            ..Self::default()
        }
    }

    /// Takes all that a user should know of out of the fields: the warnings, why the mount is
    /// through FUSE, and what it does not show.
    pub fn take_warnings(&mut self) -> Vec<Error> {
        let mut all = std::mem::take(&mut self.warnings);
        let fell_back = self.fell_back.take();
        all.extend(fell_back.map(|error| because("mounted through FUSE", &error)));
        for loss in self.losses.drain(..) {
            let what = format!("not visible through the kernel: {loss}");
            all.push(Error::unsupported(what).about(loss.settings()));
        }
        all
    }
}

/// Returns an error that says what follows from another one.
pub(super) fn because(what: &str, error: &Error) -> Error {
    let settings = error.settings().iter().copied();
    Error::new(error.kind(), format!("{what}: {error}")).about(settings)
}

/// The most inodes of an image that is mounted through the kernel unasked: their metadata takes
/// some 150 bytes each, and a second for a million.
const INODES: u64 = 4_000_000;

/// Mounts an image on a directory and serves it from its own threads: where options leave their
/// number open, no more than one for each 64 MiB that this process may use.
///
/// `NotFound` or `Invalid` for a mount point that is missing or no directory, `Io` with `EBUSY`
/// where an image is mounted already, `NotFound`, `Io` or `Unsupported` where the system cannot do
/// it. `Invalid` for [`MountMethod::Kernel`] with an option that only FUSE has.
pub fn mount(
    image: impl Into<Arc<dyn Image>>,
    dir: impl AsRef<Path>,
    options: &MountOptions,
    method: MountMethod,
) -> Result<Mounted> {
    let (image, dir, options) = (image.into(), dir.as_ref(), &within_limit(options));
    let is_root = rustix::process::geteuid().is_root();
    let needs_fuse = options.needs_fuse();
    let fell_back = match method {
        MountMethod::Kernel => {
            if let Some(option) = needs_fuse {
                let what = format!("the mount option {option} applies only to FUSE");
                return Err(Error::invalid(what));
            }
            return by_kernel(&image, dir, options, true);
        }
        MountMethod::Auto if is_root && !options.helper && needs_fuse.is_none() => {
            match by_kernel(&image, dir, options, false) {
                Ok(mounted) => return Ok(mounted),
                Err(error) => Some(error),
            }
        }
        MountMethod::Auto | MountMethod::Fuse => None,
    };
    let session = sinterfs_mount::mount(image, dir, options)?;
    Ok(Mounted::new(session, fell_back, Vec::new()))
}

/// Mounts images as layers on a directory, the topmost first, through overlayfs, and serves them
/// from its own threads. With an upper layer the directory is writable.
///
/// Fails as [`mount`] does, and with `Io` without CAP_SYS_ADMIN or overlayfs, or if another mount
/// uses the upper layer; nothing is left then.
pub(super) fn mount_layers(
    images: &[Arc<dyn Image>],
    upper: Option<&Upper>,
    dir: impl AsRef<Path>,
    options: &MountOptions,
    method: MountMethod,
) -> Result<Mounted> {
    let mut options = options.clone();
    if images.len() < 2 {
        options = within_limit(&options);
    }
    let options = &options;
    let (mut layers, mut all_losses, mut fell_back) = (Vec::new(), Vec::new(), None);
    for image in images {
        let backing = match method {
            MountMethod::Fuse => None,
            MountMethod::Kernel => Some(kernel_backing(image, options, true)?),
            MountMethod::Auto => kernel_backing(image, options, false)
                .map_err(|error| fell_back = Some(error))
                .ok(),
        };
        let backing = backing.map(|KernelBacking { file, losses }| {
            all_losses.extend(losses);
            file
        });
        layers.push(LowerLayer {
            image: Arc::clone(image),
            backing,
            kernel_only: method == MountMethod::Kernel,
        });
    }
    let dir = dir.as_ref();
    let (session, failed) = sinterfs_mount::mount_layers(&layers, upper, dir, options)?;
    Ok(Mounted::new(session, fell_back.or(failed), all_losses))
}

/// Returns options with a number of threads that the memory of this process suffices for, unless
/// they have one.
fn within_limit(options: &MountOptions) -> MountOptions {
    let mut options = options.clone();
    if options.threads == 0 {
        options.threads = threads_within_limit(options.thread_count());
    }
    options
}

fn by_kernel(
    image: &Arc<dyn Image>,
    dir: &Path,
    options: &MountOptions,
    asked: bool,
) -> Result<Mounted> {
    let KernelBacking { file, losses } = kernel_backing(image, options, asked)?;
    let session = sinterfs_mount::mount_kernel(file, dir, options)?;
    Ok(Mounted::new(session, None, losses))
}

/// Computes what the kernel mounts; unless requested, only what shows all of the image and
/// does not take long.
fn kernel_backing(
    image: &Arc<dyn Image>,
    options: &MountOptions,
    asked: bool,
) -> Result<KernelBacking> {
    let inodes = image.info().totals.inodes;
    if !asked && inodes > INODES {
        let what = format!("{inodes} inodes take long to mount through the kernel");
        return Err(Error::limit(what));
    }
    let computed = KernelBacking::new(Arc::clone(image), options)?;
    if let Some(loss) = computed.losses.first().filter(|_| !asked) {
        let what = format!(
            "the kernel's EROFS would not show {} {}",
            loss.count, loss.what
        );
        return Err(Error::unsupported(what));
    }
    Ok(computed)
}
