//! Files of Linux and macOS.
//!
//! In: paths and open files. Out: open files. **Invariant:** an unnamed file is linked through its
//! own descriptor, never through a name that others can change.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{
    DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown,
};
use std::path::Path;

use rustix::fs::{CWD, OFlags, RenameFlags};
use rustix::io::Errno;
use sinterfs_model::Rdev;

use super::{FileAt, SameOwners};
use crate::status::Identity;

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod kernel;
#[cfg(not(target_os = "linux"))]
#[path = "posix.rs"]
mod kernel;

pub(super) use kernel::{
    name, next_data, next_hole, open_device, sync_file_system, unnamed, unnamed_scratch,
    will_be_read,
};

impl FileAt for File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buf, offset)
    }

    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        FileExt::read_exact_at(self, buf, offset)
    }

    fn write_all_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        FileExt::write_all_at(self, buf, offset)
    }
}

pub(super) fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NONBLOCK))
}

pub(super) fn without_following(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(flags(OFlags::NONBLOCK | OFlags::NOFOLLOW))
}

fn flags(flags: OFlags) -> i32 {
    i32::try_from(flags.bits()).unwrap_or(0)
}

pub(super) fn with_first_mode(options: &mut OpenOptions, mode: u32) -> &mut OpenOptions {
    options.mode(mode)
}

pub(super) fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

pub(super) fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o022 == 0
}

pub(super) fn is_block_device(found: &Metadata) -> bool {
    found.file_type().is_block_device()
}

pub(super) fn name_count(file: &File) -> io::Result<u64> {
    Ok(file.metadata()?.nlink())
}

pub(super) fn allocated(found: &Metadata) -> u64 {
    found.blocks().saturating_mul(512)
}

pub(super) fn identity(path: &Path) -> io::Result<Identity> {
    let found = std::fs::metadata(path)?;
    Ok(Identity {
        device: Rdev::from_dev_t(found.dev()),
        ino: found.ino(),
    })
}

pub(super) fn mode(found: &Metadata) -> u32 {
    found.mode() & 0o7777
}

pub(super) fn with_mode(mut permissions: Permissions, mode: u32) -> Permissions {
    permissions.set_mode(mode);
    permissions
}

pub(super) fn make_executable(file: &File) -> io::Result<()> {
    let mode = file.metadata()?.permissions().mode();
    file.set_permissions(Permissions::from_mode(mode | (mode & 0o444) >> 2))
}

pub(super) fn room(file: &File) -> Option<(u64, u64)> {
    let found = rustix::fs::fstatvfs(file).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some((bytes(found.f_bavail), bytes(found.f_blocks)))
}

/// The numbers of such file systems: proc, sysfs, debugfs, tracefs, securityfs, configfs, cgroup,
/// cgroup2, selinuxfs, smackfs, fusectl, rpc_pipefs, nfsd, binfmt_misc.
///
/// Source: statfs(2).
#[cfg(target_os = "linux")]
const WITHOUT_SIZES: [u32; 14] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x6265_6570,
    0x0027_e0eb,
    0x6367_7270,
    0xf97c_ff8c,
    0x4341_5d53,
    0x6573_5543,
    0x6759_6969,
    0x6e66_7364,
    0x4249_4e4d,
];

#[cfg(target_os = "linux")]
pub(super) fn is_without_sizes(file: &File) -> bool {
    // the type of the number depends on the machine; all of them have 32 bits
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::unnecessary_cast,
        reason = "the upper half of a 64-bit field is a sign or zero"
    )]
    rustix::fs::fstatfs(file).is_ok_and(|found| WITHOUT_SIZES.contains(&(found.f_type as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_without_sizes(_file: &File) -> bool {
    false
}

pub(super) fn removed(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let file = options.read(true).write(true).create_new(true).open(path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // file systems without that flag
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            std::fs::hard_link(from, to)?;
            std::fs::remove_file(from)
        }
        other => Ok(other?),
    }
}

pub(super) fn close(file: File) -> io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

pub(super) fn lock_directory(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    file.lock()?;
    Ok(file)
}

pub(super) fn stdout() -> io::Result<File> {
    Ok(io::stdout().as_fd().try_clone_to_owned()?.into())
}

pub(super) fn stdin() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

pub(super) fn appends(file: &File) -> bool {
    let found = rustix::fs::fcntl_getfl(file);
    found.is_ok_and(|flags| flags.contains(OFlags::APPEND))
}

pub(super) fn make_sparse(_file: &File) {}

pub(super) fn copy_owner(old: &Metadata, new: &File) -> SameOwners {
    // without permission to change the owner, it stays; changing the group may still be possible
    if fchown(new, Some(old.uid()), Some(old.gid())).is_err() {
        let _ = fchown(new, None, Some(old.gid()));
    }
    let found = new.metadata();
    let is_same =
        |same: fn(&Metadata, &Metadata) -> bool| found.as_ref().is_ok_and(|found| same(found, old));
    SameOwners {
        owner: is_same(|new, old| new.uid() == old.uid()),
        group: is_same(|new, old| new.gid() == old.gid()),
    }
}
