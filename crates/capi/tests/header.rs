//! The header and the list of exported symbols against the sources and the library. With
//! `SINTER_BLESS` set, both files are written anew.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{library, output, source};

fn compare(path: &Path, now: &str) {
    if std::env::var_os("SINTER_BLESS").is_some() {
        fs::write(path, now).unwrap();
    }
    let kept = fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == now,
        "{} is not what the sources say (SINTER_BLESS=1 writes it):\n{now}",
        path.display()
    );
}

#[test]
fn the_header_is_that_of_the_sources() {
    let config = cbindgen::Config::from_file(source("cbindgen.toml")).unwrap();
    let builder = cbindgen::Builder::new().with_config(config);
    let sources = [
        "failure",
        "options",
        "attributes",
        "image",
        "file",
        "list",
        "xattrs",
        "mount",
    ];
    let builder = sources.iter().fold(builder, |builder, name| {
        builder.with_src(source(&format!("src/{name}.rs")))
    });
    let mut header = Vec::new();
    builder.generate().unwrap().write(&mut header);
    let header = String::from_utf8(header).unwrap();
    compare(&source("include/sinterfs.h"), &header);
}

#[test]
fn exported_symbols_are_those_of_the_list() {
    let mut nm = Command::new("nm");
    let listed = output(
        nm.args(["-D", "--defined-only"])
            .arg(library("libsinterfs_capi.so")),
    );
    let listed = String::from_utf8(listed.stdout).unwrap();
    // Cargo gives the library of a workspace's test the features of the whole workspace; what the
    // feature `remote` brings exports functions of its own. The shipped library is built alone.
    let mut names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .filter(|name| !name.starts_with("crc_fast_"))
        .collect();
    names.sort_unstable();
    compare(&source("symbols.txt"), &format!("{}\n", names.join("\n")));
    let header = fs::read_to_string(source("include/sinterfs.h")).unwrap();
    for name in names {
        assert!(
            header.contains(&format!("{name}(")),
            "{name} is in no header"
        );
    }
}
