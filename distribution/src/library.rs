//! The C library and its two Debian packages: what programs load, and what they are compiled with.
//!
//! Enters the checkout, or libraries that are already built; leaves `libsinterfs0` and
//! `libsinterfs-dev`. **Invariant:** the first depends on the C library of the symbols that it
//! needs, the second on the first of the same version.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::binary;
use super::debian::{self, Package};
use super::release::{Release, path_error};
use super::tree::{documentation, link, make_parent, put, text};
use xtask::run::{self, Outcome};

const DESCRIPTION: &str = "\
reads file system images: DwarFS, SquashFS, EROFS, ISO 9660, WIM
 A library for programs in C and other languages that opens read-only file
 system images, lists them and reads their files, without mounting them.";

const DEVELOPMENT: &str = "\
reads file system images: files for development
 The header, the static library and the pkg-config file of libsinterfs, which
 opens read-only file system images, lists them and reads their files.";

/// The number of the interface, in the names of the library and its package.
const INTERFACE: u32 = 0;

/// Builds the library with a profile and returns its directory.
pub fn build(profile: &str) -> Result<PathBuf, String> {
    let mut command = run::cargo();
    command
        .args(["build", "--locked", "--package", "sinterfs-capi"])
        .args(["--profile", profile])
        .env("RUSTFLAGS", binary::remapped());
    run::run("build the C library", &mut command)?;
    Ok(run::target().join(binary::folder(profile)))
}

/// Returns the directory of libraries below `/usr/lib`, as the compiler has it.
pub fn multiarch() -> Result<String, String> {
    let output = run::output(Command::new("cc").arg("-print-multiarch"))?;
    Ok(output.trim().to_owned())
}

/// Makes both packages of the libraries in a directory.
pub fn packages(release: &Release, from: &Path, licences: &str) -> Result<Vec<PathBuf>, String> {
    let (name, lib) = (format!("libsinterfs{INTERFACE}"), multiarch()?);
    let shared = from.join("libsinterfs_capi.so");
    let depends = format!("Depends: {}\nMulti-Arch: same\n", needed(&shared)?);
    let version = &release.version;
    let more = [
        ("triggers", "activate-noawait ldconfig\n".to_owned()),
        (
            "shlibs",
            format!("libsinterfs {INTERFACE} {name} (>= {version})\n"),
        ),
    ];
    let runtime = Package {
        name: &name,
        section: "libs",
        fields: &depends,
        description: DESCRIPTION,
        more: &more,
    };
    let runtime = debian::pack(release, &runtime, |root| {
        let file = format!("libsinterfs.so.{version}");
        let dir = format!("usr/lib/{lib}");
        stripped(&shared, "--strip-unneeded", &root.join(&dir).join(&file))?;
        link(root, &format!("{dir}/libsinterfs.so.{INTERFACE}"), &file)?;
        documentation(release, licences, root, &name)
    })?;
    let depends = format!("Depends: {name} (= {version})\nMulti-Arch: same\n");
    let development = Package {
        name: "libsinterfs-dev",
        section: "libdevel",
        fields: &depends,
        description: DEVELOPMENT,
        more: &[],
    };
    let development = debian::pack(release, &development, |root| {
        development_files(root, from, &lib, version)?;
        documentation(release, licences, root, "libsinterfs-dev")
    })?;
    Ok(vec![runtime, development])
}

fn development_files(root: &Path, from: &Path, lib: &str, version: &str) -> Outcome {
    let dir = format!("usr/lib/{lib}");
    let archive = root.join(&dir).join("libsinterfs.a");
    stripped(&from.join("libsinterfs_capi.a"), "--strip-debug", &archive)?;
    let shared = format!("libsinterfs.so.{INTERFACE}");
    link(root, &format!("{dir}/libsinterfs.so"), &shared)?;
    let header = text("crates/capi/include/sinterfs.h")?;
    put(root, "usr/include/sinterfs.h", &header)?;
    let pc = text("crates/capi/sinterfs.pc.in")?
        .replace("@PREFIX@", "/usr")
        .replace("@LIBDIR@", &format!("${{prefix}}/lib/{lib}"))
        .replace("@VERSION@", version);
    put(root, &format!("{dir}/pkgconfig/sinterfs.pc"), &pc)
}

/// Copies a library without what debuggers need.
fn stripped(from: &Path, how: &str, to: &Path) -> Outcome {
    make_parent(to)?;
    fs::copy(from, to).map_err(|e| path_error(from, &e))?;
    let mut strip = Command::new("strip");
    // without times and owners in archives
    run::output(strip.args([how, "--enable-deterministic-archives"]).arg(to)).map(drop)
}

/// Returns the packages that a library needs: libc6 of its newest symbol, and the unwinder.
fn needed(library: &Path) -> Result<String, String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--version-info", "--dynamic", "--wide"]);
    let output = run::output(readelf.arg(library))?;
    let versions = output.split("GLIBC_2.").skip(1).filter_map(|rest| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<u32>().ok()
    });
    let newest = versions.max();
    let newest = newest.ok_or_else(|| format!("{} needs no libc", library.display()))?;
    let unwinder = if output.contains("libgcc_s.so.1") {
        ", libgcc-s1 (>= 4.2)"
    } else {
        ""
    };
    Ok(format!("libc6 (>= 2.{newest}){unwinder}"))
}
