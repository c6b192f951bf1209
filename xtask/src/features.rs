//! `features`: the library with each of its Cargo features alone, and codecs that are left out.
//!
//! **Invariant:** no choice of features warns: what cargo prints is a failure. The library's README
//! has the number of crates that a program gets with it.

use std::collections::BTreeSet;

use xtask::run::{Outcome, cargo, cargo_with, output, root};

/// Features of `sinterfs` that are checked alone, besides none, and those that meet in the code.
const LIBRARY: &[&str] = &[
    "",
    "write",
    "mount",
    "composefs",
    "write,composefs",
    "mount,composefs",
    "remote",
    "write,mount,remote",
];

/// Features of `sinterfs-codec`, each checked alone, besides none.
const CODECS: &[&str] = &[
    "", "brotli", "deflate", "lz4", "lzma", "lzo", "streams", "zstd",
];

/// Choices of features whose crates the library's README counts: how its rows begin, and the
/// arguments for cargo.
const COUNTED: [(&str, &[&str]); 3] = [
    ("| everything but `remote`", &[]),
    (
        "| a reader with every codec",
        &["--no-default-features", "--features=codecs"],
    ),
    (
        "| a reader with zstd alone",
        &["--no-default-features", "--features=zstd"],
    ),
];

/// Checks each choice, and what a build without codecs says of their blocks.
pub fn features() -> Outcome {
    counts()?;
    for (package, choices) in [("sinterfs-codec", CODECS), ("sinterfs", LIBRARY)] {
        for features in choices {
            check(package, features)?;
        }
    }
    network()?;
    cargo_with(
        "blocks of codecs that are left out",
        &["test", "--quiet", "--package", "sinterfs-codec"],
        &["--no-default-features", "--test", "missing_codecs"].map(str::to_owned),
    )
}

/// Compares the numbers of crates in the library's README with those that cargo resolves.
fn counts() -> Outcome {
    println!("== the library's dependencies, counted");
    let readme = root().join("crates/sinterfs/README.md");
    let text = std::fs::read_to_string(readme).map_err(|e| format!("README.md: {e}"))?;
    for (row, choice) in COUNTED {
        let mut command = cargo();
        command.args(["tree", "--package", "sinterfs", "--edges", "normal"]);
        command.args(["--prefix", "none", "--target", "x86_64-unknown-linux-gnu"]);
        let tree = output(command.args(choice))?;
        let crates: BTreeSet<&str> = tree
            .lines()
            .map(|line| line.trim_end_matches(" (*)"))
            .filter(|line| !line.is_empty())
            .collect();
        let line = text.lines().find(|line| line.starts_with(row));
        let cell = line.and_then(|line| line.split('|').nth(2));
        let stated = cell.and_then(|cell| cell.trim().parse().ok());
        if stated != Some(crates.len()) {
            return Err(format!(
                "crates/sinterfs/README.md, `{row}`: {stated:?}, but cargo resolves {}",
                crates.len()
            ));
        }
    }
    Ok(())
}

/// Checks that the program without `remote` links nothing of the network, and with it no
/// cryptography that needs more than a C compiler.
fn network() -> Outcome {
    println!("== the program's dependencies, without and with `remote`");
    let tree = |more: &[&str]| {
        let mut command = cargo();
        command.args([
            "tree",
            "--package",
            "sinterfs-cli",
            "--edges",
            "normal",
            "--prefix",
            "none",
        ]);
        output(command.args(more))
    };
    let forbidden = [
        (
            tree(&["--no-default-features"])?,
            &["tokio v", "rustls v", "hyper v"][..],
        ),
        (
            tree(&[])?,
            &["openssl-sys v", "aws-lc-sys v", "webpki-roots v"],
        ),
    ];
    for (found, names) in &forbidden {
        let line = found
            .lines()
            .find(|line| names.iter().any(|name| line.starts_with(name)));
        if let Some(line) = line {
            return Err(format!("unexpected dependency: {line}"));
        }
    }
    Ok(())
}

fn check(package: &str, features: &str) -> Outcome {
    println!(
        "== {package}, features: {}",
        if features.is_empty() {
            "none"
        } else {
            features
        }
    );
    let mut command = cargo();
    command.args([
        "check",
        "--quiet",
        "--package",
        package,
        "--no-default-features",
    ]);
    let output = command.args(["--features", features]).output();
    let output = output.map_err(|error| format!("cargo check: {error}"))?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}
