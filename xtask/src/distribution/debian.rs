//! The Debian package: the files of `tree`, the control files, and `dpkg-deb` around both.
//!
//! **Invariant:** it depends on nothing, since the program is static. It recommends fuse3, which
//! mounts of ordinary users need.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::{Release, path_error};
use super::tree;
use crate::run;

const DESCRIPTION: &str = "\
read-only file system images: DwarFS, SquashFS, EROFS, composefs
 One tool packs a tree of files into a read-only image, and mounts, lists,
 extracts, checks, compares and converts such images. It reads every DwarFS,
 SquashFS and EROFS image and writes those of DwarFS, SquashFS, EROFS and
 composefs, from directories, tar and cpio archives, OCI layouts and images.
 .
 Equal and similar files are stored once, blocks are compressed by all
 processors, and equal input makes equal images. Root mounts images through
 the kernel, others by FUSE.";

/// Makes the package and returns its path.
pub fn package(release: &Release, licences: &str) -> Result<PathBuf, String> {
    let root = release.output.join("package");
    let cleared = match fs::remove_dir_all(&root) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    cleared.map_err(|e| path_error(&root, &e))?;
    tree::lay_out(release, licences, &root)?;
    let architecture = run::output(Command::new("dpkg").arg("--print-architecture"))
        .map_err(|e| format!("cannot run dpkg: {e}"))?;
    let architecture = architecture.trim();
    let sums = sums(&root)?;
    let control = control(release, architecture, kibibytes(&root)?);
    tree::put(&root, "DEBIAN/control", &control)?;
    tree::put(&root, "DEBIAN/md5sums", &sums)?;
    tree::normalize(&root, release.epoch)?;
    let name = format!("sinterfs_{}_{architecture}.deb", release.version);
    let package = release.output.join(name);
    let mut deb = Command::new("dpkg-deb");
    deb.args(["--root-owner-group", "--build"])
        .args([&root, &package])
        .env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    run::run("dpkg-deb", &mut deb)?;
    fs::remove_dir_all(&root).map_err(|e| path_error(&root, &e))?;
    Ok(package)
}

fn control(release: &Release, architecture: &str, kibibytes: u64) -> String {
    let Release {
        version,
        maintainer,
        ..
    } = release;
    format!(
        "Package: sinterfs\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kibibytes}\n\
         Recommends: fuse3\n\
         Section: utils\n\
         Priority: optional\n\
         Multi-Arch: foreign\n\
         Description: {DESCRIPTION}\n"
    )
}

/// Returns the installed size as dpkg-gencontrol computes it: files in KiB rounded up, 1 for
/// anything else.
fn kibibytes(root: &Path) -> Result<u64, String> {
    let mut sum = tree::directories(root)?.len() as u64;
    for file in tree::files(root)? {
        let metadata = file.metadata().map_err(|e| path_error(&file, &e))?;
        sum += metadata.size().div_ceil(1024);
    }
    Ok(sum)
}

fn sums(root: &Path) -> Result<String, String> {
    let files = tree::files(root)?;
    let inside = files.iter().filter_map(|file| file.strip_prefix(root).ok());
    run::output(Command::new("md5sum").args(inside).current_dir(root))
}
