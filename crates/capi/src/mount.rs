//! Mounts of images, which threads of the calling process serve (Linux).

use std::ffi::{CString, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sinterfs::Image;
use sinterfs::errno::{Errno, errno};
use sinterfs::mount::{DamageLog, MountMethod, Mounter, Session, Upper};

use crate::boundary::{bytes, close, exclusive, guarded, handle, path as path_of, shared};
use crate::failure::{Failure, Outcome};
use crate::image::SinterfsImage;

/// How to mount images; made by `sinterfs_mount_options_new`.
#[derive(Debug, Default)]
pub struct SinterfsMountOptions(Mounter);

/// A mount that threads of this process serve until `sinterfs_unmount`, or until somebody else
/// unmounts it. A child of fork(2) does not use it.
#[derive(Debug)]
pub struct SinterfsMount {
    session: Option<Session>,
    warnings: Vec<CString>,
}

/// Makes options with the default of everything; NULL if that fails. They are closed by
/// `sinterfs_mount_options_free`.
#[unsafe(no_mangle)]
pub extern "C" fn sinterfs_mount_options_new() -> *mut SinterfsMountOptions {
    guarded(std::ptr::null_mut(), || {
        Ok(handle(SinterfsMountOptions::default()))
    })
}

/// Frees options; `options` may be NULL. What was mounted with them stays mounted.
///
/// # Safety
/// `options` is NULL or from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_free(options: *mut SinterfsMountOptions) {
    // SAFETY: as the caller promises
    unsafe { close(options) };
}

/// Sets what serves names and attributes: 0 for EROFS of the kernel if this process is root and
/// nothing is lost, else FUSE (the default), 1 for the kernel or a failure, 2 for FUSE.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_method(
    options: *mut SinterfsMountOptions,
    method: c_int,
) -> c_int {
    let set = |mounter: &mut Mounter| {
        mounter.method = match method {
            0 => MountMethod::Auto,
            1 => MountMethod::Kernel,
            2 => MountMethod::Fuse,
            _ => return Err(Failure::new(Errno::INVAL, "a method is 0, 1 or 2")),
        };
        Ok(())
    };
    // SAFETY: as the caller promises
    unsafe { change(options, set) }
}

/// Sets how many threads answer requests; 0 for as many as suit the machine.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_threads(
    options: *mut SinterfsMountOptions,
    count: usize,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { assign(options, |mounter| mounter.options.threads = count) }
}

/// Sets whether other users than the one that mounts have access; they have if root mounts.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_allow_other(
    options: *mut SinterfsMountOptions,
    allow: c_int,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { assign(options, |mounter| mounter.options.allow_other = allow != 0) }
}

/// Sets the owner and the group of all files, instead of their own.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_owner(
    options: *mut SinterfsMountOptions,
    uid: u32,
    gid: u32,
) -> c_int {
    let set = |mounter: &mut Mounter| {
        mounter.options.uid = Some(uid);
        mounter.options.gid = Some(gid);
    };
    // SAFETY: as the caller promises
    unsafe { assign(options, set) }
}

/// Sets the permission bits that are cleared in all files, at most 0777.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_umask(
    options: *mut SinterfsMountOptions,
    mask: u32,
) -> c_int {
    let set = |mounter: &mut Mounter| {
        let mask = u16::try_from(mask).ok().filter(|mask| *mask <= 0o777);
        let wrong = || Failure::new(Errno::INVAL, "a mask has permission bits only");
        mounter.options.umask = mask.ok_or_else(wrong)?;
        Ok(())
    };
    // SAFETY: as the caller promises
    unsafe { change(options, set) }
}

/// Makes mounts writable by overlayfs: changes are stored in the directories `upper` and `work` of
/// a directory, or in memory until the mount ends if `path` is NULL.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` is NULL or ends with
/// NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_overlay(
    options: *mut SinterfsMountOptions,
    path: *const c_char,
) -> c_int {
    if path.is_null() {
        // SAFETY: as the caller promises
        return unsafe { assign(options, |mounter| mounter.upper = Some(Upper::Memory)) };
    }
    let set = |mounter: &mut Mounter, path| mounter.upper = Some(Upper::Directory(path));
    // SAFETY: as the caller promises
    unsafe { assign_path(options, path, set) }
}

/// Sets whether idle processors decode blocks before they are read; they do without it.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_decode_ahead(
    options: *mut SinterfsMountOptions,
    ahead: c_int,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { assign(options, |mounter| mounter.decode_ahead = ahead != 0) }
}

/// Sets the seconds without reads after which decoded blocks are freed; 300 without it.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_trim_after(
    options: *mut SinterfsMountOptions,
    seconds: u64,
) -> c_int {
    let set = |mounter: &mut Mounter| mounter.trim_after = Duration::from_secs(seconds);
    // SAFETY: as the caller promises
    unsafe { assign(options, set) }
}

/// Sets the seconds without use after which images are unmounted; 0 for never.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_unmount_after(
    options: *mut SinterfsMountOptions,
    seconds: u64,
) -> c_int {
    let after = Some(Duration::from_secs(seconds)).filter(|after| !after.is_zero());
    // SAFETY: as the caller promises
    unsafe { assign(options, |mounter| mounter.unmount_after = after) }
}

/// Sets a file that gets counters of reads and of the cache as JSON, each second. It is of one
/// image: mounting several with it fails with EINVAL.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_stats(
    options: *mut SinterfsMountOptions,
    path: *const c_char,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { assign_path(options, path, |mounter, path| mounter.stats = Some(path)) }
}

/// Sets a file that gets the paths of files in the order of their first read: a list for
/// `sinter build --hot`. It is of one image: mounting several with it fails with EINVAL.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_record(
    options: *mut SinterfsMountOptions,
    path: *const c_char,
) -> c_int {
    // SAFETY: as the caller promises
    unsafe { assign_path(options, path, |mounter, path| mounter.record = Some(path)) }
}

/// Sets a file that gets the path of each file that could not be read, and the reason.
///
/// # Safety
/// `options` is from `sinterfs_mount_options_new`, and was not freed; `path` ends with NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_options_set_damage_log(
    options: *mut SinterfsMountOptions,
    path: *const c_char,
) -> c_int {
    let set = |mounter: &mut Mounter, path| mounter.damage = Some(DamageLog::File(path));
    // SAFETY: as the caller promises
    unsafe { assign_path(options, path, set) }
}

/// Mounts `count` images on a directory; several are layers, the topmost first. `options` may be
/// NULL. The mount can be used when this returns, and the images can be closed. Returns NULL on
/// failure.
///
/// A program that ends without `sinterfs_unmount` leaves a mount that gives errors until it is
/// unmounted.
///
/// # Safety
/// `images` has `count` open images; `dir` ends with NUL; `options` is NULL or from
/// `sinterfs_mount_options_new`, and was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_images(
    images: *const *const SinterfsImage,
    count: usize,
    dir: *const c_char,
    options: *const SinterfsMountOptions,
) -> *mut SinterfsMount {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: as the caller promises
        let (opened, names) = unsafe { opened(images, count) }?;
        // SAFETY: as the caller promises
        let (dir, options) = unsafe { (path_of(dir)?, options.as_ref()) };
        let mut mounter = options.map(|options| options.0.clone()).unwrap_or_default();
        if names.len() == count {
            mounter.name(&names);
        }
        let mut mounted = mounter.mount_opened(&opened, dir)?;
        let warnings = mounted.take_warnings().into_iter();
        let warnings = warnings.map(|warning| {
            let text = warning.to_string().replace('\0', "\\0");
            CString::new(text).unwrap_or_default()
        });
        Ok(handle(SinterfsMount {
            warnings: warnings.collect(),
            session: mounted.session,
        }))
    })
}

/// Returns a warning of a mount by its number, from 0 on: why it is not through the kernel, what it
/// does not show. NULL if there are not as many. It is valid until the mount is unmounted.
///
/// # Safety
/// `mount` is from `sinterfs_mount_images`, and was not unmounted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_mount_warning(
    mount: *const SinterfsMount,
    number: usize,
) -> *const c_char {
    guarded(std::ptr::null(), || {
        // SAFETY: as the caller promises
        let warnings = &unsafe { shared(mount, "mount") }?.warnings;
        Ok(warnings
            .get(number)
            .map_or(std::ptr::null(), |text| text.as_ptr()))
    })
}

/// Unmounts, which also succeeds if somebody else has done so. `mount` may be NULL. What is in use
/// stays mounted, and the result is -1 with EBUSY, unless `lazy` is not 0: then it is detached from
/// its directory, and served until the last file is closed, as long as this process runs. After any
/// other result `mount` is closed. Returns 0 or -1.
///
/// # Safety
/// `mount` is NULL or from `sinterfs_mount_images`, was not unmounted, and no other call uses it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sinterfs_unmount(mount: *mut SinterfsMount, lazy: c_int) -> c_int {
    guarded(-1, || {
        if mount.is_null() {
            return Ok(0);
        }
        // SAFETY: as the caller promises
        let session = &mut unsafe { exclusive(mount, "mount") }?.session;
        let ended = match session.take() {
            Some(ended) if lazy != 0 => ended.detach(),
            Some(mut ended) => match ended.unmount() {
                Err(error) if errno(&error) == Errno::BUSY => {
                    *session = Some(ended);
                    return Err(error.into());
                }
                result => result,
            },
            None => Ok(()),
        };
        // SAFETY: as the caller promises
        unsafe { close(mount) };
        Ok(ended.map(|()| 0)?)
    })
}

/// Returns images, and the paths of those that were opened by a path.
///
/// # Safety
/// `images` is null or has `count` pointers, each null or that of an open image.
unsafe fn opened<'a>(
    images: *const *const SinterfsImage,
    count: usize,
) -> Outcome<(Vec<Image>, Vec<&'a Path>)> {
    let (mut opened, mut names) = (Vec::new(), Vec::new());
    if count > 0 {
        // SAFETY: as the caller promises
        unsafe { shared(images, "array of images") }?;
    }
    for index in 0..count {
        // SAFETY: as the caller promises
        let image = unsafe { shared(*images.add(index), "image") }?;
        opened.push(image.image.clone());
        names.extend(image.path.as_deref());
    }
    Ok((opened, names))
}

/// # Safety
/// `options` is null or from `sinterfs_mount_options_new`, and was not freed.
unsafe fn change(
    options: *mut SinterfsMountOptions,
    set: impl FnOnce(&mut Mounter) -> Outcome<()>,
) -> c_int {
    guarded(-1, || {
        // SAFETY: as the caller promises
        set(&mut unsafe { exclusive(options, "options") }?.0)?;
        Ok(0)
    })
}

/// # Safety
/// As [`change`].
unsafe fn assign(options: *mut SinterfsMountOptions, set: impl FnOnce(&mut Mounter)) -> c_int {
    let set = |mounter: &mut Mounter| {
        set(mounter);
        Ok(())
    };
    // SAFETY: as the caller promises
    unsafe { change(options, set) }
}

/// # Safety
/// As [`change`]; `path` is null or ends with NUL.
unsafe fn assign_path(
    options: *mut SinterfsMountOptions,
    path: *const c_char,
    set: impl FnOnce(&mut Mounter, PathBuf),
) -> c_int {
    let set = |mounter: &mut Mounter| {
        // SAFETY: as the caller promises
        let path = unsafe { bytes(path, "path") }?;
        set(mounter, OsStr::from_bytes(path).into());
        Ok(())
    };
    // SAFETY: as the caller promises
    unsafe { change(options, set) }
}
