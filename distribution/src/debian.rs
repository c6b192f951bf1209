//! Debian packages: files below a directory, control files, and `dpkg-deb` around both.
//!
//! **Invariant:** the package of the program depends on nothing, since that is static. It
//! recommends fuse3, which mounts of ordinary users need.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::release::{Release, path_error};
use super::tree;
use xtask::run::{self, Outcome};

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

/// What the control file states of a package.
pub struct Package<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its section.
    pub section: &'a str,
    /// Further fields of the control file, a line each.
    pub fields: &'a str,
    /// A line of summary, and indented ones.
    pub description: &'a str,
    /// Further control files: names and texts.
    pub more: &'a [(&'a str, String)],
}

/// Makes the package of the program and returns its path.
pub fn package(release: &Release, licences: &str) -> Result<PathBuf, String> {
    let program = Package {
        name: "sinterfs",
        section: "utils",
        fields: "Recommends: fuse3\nMulti-Arch: foreign\n",
        description: DESCRIPTION,
        more: &[],
    };
    pack(release, &program, |root| {
        tree::lay_out(release, licences, root)
    })
}

/// Makes a package of the files that `lay_out` puts below a directory, and returns its path.
pub fn pack(
    release: &Release,
    package: &Package<'_>,
    lay_out: impl FnOnce(&Path) -> Outcome,
) -> Result<PathBuf, String> {
    let root = release.output.join("package");
    let cleared = match fs::remove_dir_all(&root) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    cleared.map_err(|e| path_error(&root, &e))?;
    lay_out(&root)?;
    let architecture = run::output(Command::new("dpkg").arg("--print-architecture"))
        .map_err(|e| format!("cannot run dpkg: {e}"))?;
    let architecture = architecture.trim();
    let sums = sums(&root)?;
    let control = control(release, package, architecture, kibibytes(&root)?);
    tree::put(&root, "DEBIAN/control", &control)?;
    tree::put(&root, "DEBIAN/md5sums", &sums)?;
    for (name, text) in package.more {
        tree::put(&root, &format!("DEBIAN/{name}"), text)?;
    }
    tree::normalize(&root, release.epoch)?;
    let name = format!("{}_{}_{architecture}.deb", package.name, release.version);
    let made = release.output.join(name);
    let mut deb = Command::new("dpkg-deb");
    if release.fast {
        deb.args(["-Zgzip", "-z1"]);
    }
    deb.args(["--root-owner-group", "--build"])
        .args([&root, &made])
        .env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    run::run("dpkg-deb", &mut deb)?;
    fs::remove_dir_all(&root).map_err(|e| path_error(&root, &e))?;
    Ok(made)
}

fn control(release: &Release, package: &Package<'_>, architecture: &str, kibibytes: u64) -> String {
    let Release {
        version,
        maintainer,
        ..
    } = release;
    let Package {
        name,
        section,
        fields,
        description,
        ..
    } = package;
    format!(
        "Package: {name}\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kibibytes}\n\
         Section: {section}\n\
         Priority: optional\n\
         {fields}\
         Description: {description}\n"
    )
}

/// Returns whether a file is a package.
pub fn is_package(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "deb")
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
