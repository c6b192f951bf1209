//! The Debian packages of the library, made of the library under test: what dpkg says of them, and
//! that a program is compiled with them (`xtask dist` does that before it gives them away).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{library, output};

/// Makes the packages in a directory.
fn packed(to: &Path) {
    let from = library("libsinterfs_capi.so");
    let mut dist = Command::new(env!("CARGO"));
    dist.args(["run", "--quiet", "--locked", "--package", "xtask", "--"]);
    dist.args(["dist", "--fast", "--library"])
        .arg(from.parent().unwrap());
    dist.arg("--output").arg(to);
    dist.env("SOURCE_DATE_EPOCH", "1700000000");
    output(&mut dist);
}

fn told(package: &Path, field: &str) -> String {
    let mut command = Command::new("dpkg-deb");
    let told = output(command.arg("-f").arg(package).arg(field)).stdout;
    String::from_utf8(told).unwrap().trim().to_owned()
}

fn content(package: &Path) -> String {
    let told = output(Command::new("dpkg-deb").arg("-c").arg(package)).stdout;
    String::from_utf8(told).unwrap()
}

#[test]
fn packages_have_all_that_programs_need() {
    let work = tempfile::tempdir().unwrap();
    packed(work.path());
    let mut packages: Vec<_> = fs::read_dir(work.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "deb"))
        .collect();
    packages.sort();
    let [development, runtime] = &packages[..] else {
        panic!("{packages:?}");
    };
    assert_eq!(told(runtime, "Package"), "libsinterfs0");
    assert!(told(runtime, "Depends").starts_with("libc6 (>= 2."));
    let version = env!("CARGO_PKG_VERSION");
    let depends = told(development, "Depends");
    assert_eq!(depends, format!("libsinterfs0 (= {version})"));
    let files = content(runtime);
    assert!(files.contains(&format!("/libsinterfs.so.0 -> libsinterfs.so.{version}")));
    assert!(files.contains("./usr/share/doc/libsinterfs0/copyright"));
    let files = content(development);
    for name in [
        "./usr/include/sinterfs.h",
        "/libsinterfs.a",
        "/libsinterfs.so -> libsinterfs.so.0",
        "/pkgconfig/sinterfs.pc",
    ] {
        assert!(files.contains(name), "no {name}:\n{files}");
    }
}
