//! What the extension module exports: its initialization and nothing else, so that no symbol of its
//! codecs meets one of another module in the same interpreter. `./x test` tries the package with
//! the module that Cargo builds for this test.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::process::Command;

#[test]
fn the_initialization_alone_is_exported() {
    let program = std::env::current_exe().unwrap();
    let module = program.with_file_name("lib_sinterfs.so");
    assert!(module.exists(), "no {}", module.display());
    let mut nm = Command::new("nm");
    let listed = nm.args(["-D", "--defined-only"]).arg(&module);
    let listed = listed.output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    // Cargo gives a workspace's test the features of the whole workspace; what the feature `remote`
    // brings exports functions of its own. The shipped module is built alone.
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .filter(|name| !name.starts_with("crc_fast_"))
        .collect();
    assert_eq!(names, ["PyInit__sinterfs"]);
}
