//! Mounting a composefs image with its store of objects through overlayfs.
//!
//! In: an image's file, the directory of the store. Out: a mount that no process serves.
//! **Invariant:** only verified objects are mounted if the caller requires it: either the kernel
//! compares the fs-verity digest of each object on open, or all are hashed before.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags};
use sinterfs_block::FileSource;
use sinterfs_erofs::composefs::Composefs;
use sinterfs_erofs::read::Erofs;
use sinterfs_model::{Error, FileType, Image, Ino, Result};
use sinterfs_mount::{MountOptions, OverlayLayers};
use sinterfs_ops::{Visit, WalkStep, walk};

use crate::object_verification::ObjectVerification;
use crate::open_options::OpenOptions;
use sinterfs_erofs::format::ObjectDirectory;

/// Mounts a composefs image on a directory, with content from the store that the options name.
///
/// `Invalid` for options that overlayfs does not have, `Corrupt` for an object that differs from
/// what the image names, `Io` where the kernel cannot do it.
pub(crate) fn mount_overlay(
    image: &Path,
    open: &OpenOptions,
    dir: &Path,
    options: &MountOptions,
) -> Result<ObjectVerification> {
    let Some(store) = &open.objects else {
        return Err(Error::invalid("no object store is given"));
    };
    if open.trust.is_some() {
        let what = "the kernel would read the image itself, and compare it with no digest";
        return Err(Error::unsupported(what));
    }
    let replaced = options.uid.is_some() || options.gid.is_some() || options.umask != 0;
    let is_part = open.offset.is_some_and(|offset| offset != 0) || open.partition.is_some();
    if replaced || is_part || !open.devices.is_empty() || open.image.is_some() {
        let what = "overlayfs has no owners, permissions, offsets and devices to be given";
        return Err(Error::invalid(what));
    }
    let source = Arc::new(FileSource::open(image)?);
    let erofs = Erofs::open(source, &sinterfs_erofs::read::ReadOptions::default())?;
    let objects = Arc::new(ObjectDirectory::new(store.clone()));
    let tree = Composefs::new(Arc::new(erofs), objects, open.verify_objects);
    let by_kernel = all_have_verity(&tree, store)?;
    if open.verify_objects && !by_kernel {
        hash_all(&tree)?;
    }
    let layers = OverlayLayers {
        metadata: image,
        content: store,
        verity: by_kernel,
    };
    sinterfs_mount::mount_overlay(&layers, dir, options)?;
    Ok(match (by_kernel, open.verify_objects) {
        (true, _) => ObjectVerification::ByKernel,
        (false, true) => ObjectVerification::Before,
        (false, false) => ObjectVerification::Not,
    })
}

/// Calls for each file until that says no.
fn each_file(image: &dyn Image, mut call: impl FnMut(Ino) -> Result<bool>) -> Result<()> {
    walk(image, image.info().root, &mut |visit| match visit {
        Visit::Enter(entry) if entry.kind == FileType::File => {
            let goes_on = call(entry.ino)?;
            Ok(if goes_on {
                WalkStep::On
            } else {
                WalkStep::Stop
            })
        }
        Visit::Broken(_, error) => Err(error),
        Visit::Enter(_) | Visit::Leave(_) => Ok(WalkStep::On),
    })
}

/// Returns whether the image names a digest for each object, and the store's file system keeps one.
fn all_have_verity(tree: &Composefs, store: &Path) -> Result<bool> {
    let (mut all, mut some) = (true, false);
    each_file(tree, |ino| {
        if let Some((path, digest)) = tree.object_of(ino)? {
            let path = store.join(OsStr::from_bytes(&path));
            let stat = rustix::fs::statx(CWD, &path, AtFlags::empty(), StatxFlags::TYPE);
            let kept = stat.is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::VERITY));
            all = kept && digest.is_some();
            some = true;
        }
        Ok(all)
    })?;
    Ok(all && some)
}

/// Reads one byte of each file: its object is hashed for that.
fn hash_all(tree: &Composefs) -> Result<()> {
    each_file(tree, |ino| {
        tree.read_at(ino, 0, &mut [0])
            .map_err(|error| error.path(format!("inode {}", ino.0)))?;
        Ok(true)
    })
}
