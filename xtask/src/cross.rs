//! `cross [--all]`: tests of the reading crates on another architecture, one of them big-endian, by
//! Debian's cross compilers and qemu-user. `./x cross` installs both, and Rust's targets.

use std::process::Command;

use xtask::run::{Outcome, cargo, output, run};

/// An architecture as Rust, gcc and qemu name it.
struct Target {
    rust: &'static str,
    gcc: &'static str,
    qemu: &'static str,
    /// Whether [`PORTABLE`] crates can differ there from what their tests show on any PC.
    is_big_endian: bool,
}

const TARGETS: [Target; 2] = [
    Target {
        rust: "s390x-unknown-linux-gnu",
        gcc: "s390x-linux-gnu",
        qemu: "qemu-s390x",
        is_big_endian: true,
    },
    Target {
        rust: "aarch64-unknown-linux-gnu",
        gcc: "aarch64-linux-gnu",
        qemu: "qemu-aarch64",
        is_big_endian: false,
    },
];

/// The crates that read, and what they are made of.
const CRATES: [&str; 8] = [
    "model", "archive", "block", "squashfs", "erofs", "dwarfs", "cramfs", "iso9660",
];

/// Readers without code for one architecture, for which only the order of bytes matters.
const PORTABLE: [&str; 7] = [
    "ext",
    "romfs",
    "cromfs",
    "wim",
    "cloop",
    "partition",
    "parity",
];

/// Integration tests of the readers that an emulator runs in seconds.
const INTEGRATION: [&str; 4] = ["read_vectors", "read_upstream", "images", "extents"];

/// Those of [`PORTABLE`] that have other names.
const INTEGRATION_PORTABLE: [&str; 2] = ["devices", "tables"];

/// Tests that only repeat, under an emulator for minutes, what others show: the search of encoders
/// and the properties of caches do not depend on the order of bytes.
const SLOW: [&str; 12] = [
    "lzma2::",
    "zstd::encoder",
    "codec::cost",
    "codec::tests",
    "chunk_parser",
    "match_finder::",
    "flac::encode",
    "cache::",
    "waveforms_of_every_form",
    "write::dedupe",
    "write::fsst",
    "write::strings",
];

/// Cases of each property.
const CASES: &str = "8";

/// Runs the tests; with `--all` also those that take long, and all integration tests of all crates.
pub fn cross(all: bool) -> Outcome {
    for target in &TARGETS {
        needs(target)?;
        test(target, all)?;
    }
    Ok(())
}

/// Fails with what to install.
fn needs(target: &Target) -> Outcome {
    let gcc = format!("{}-gcc", target.gcc);
    for program in [&gcc, target.qemu] {
        if output(Command::new(program).arg("--version")).is_err() {
            return Err(format!("no {program}: `./x cross` installs it"));
        }
    }
    Ok(())
}

fn test(target: &Target, all: bool) -> Outcome {
    let (gcc, name) = (format!("{}-gcc", target.gcc), target.rust.replace('-', "_"));
    let runner = format!("{} -L /usr/{}", target.qemu, target.gcc);
    let cargo_name = format!("CARGO_TARGET_{}", name.to_uppercase());
    let (crates, tests) = if all || target.is_big_endian {
        (&PORTABLE[..], &INTEGRATION_PORTABLE[..])
    } else {
        (&[][..], &[][..])
    };
    let mut command = cargo();
    command.args(["test", "--quiet", "--no-fail-fast", "--target", target.rust]);
    for name in CRATES.iter().chain(crates) {
        command.args(["--package", &format!("sinterfs-{name}")]);
    }
    if !all {
        command.env("PROPTEST_CASES", CASES).arg("--lib");
        for name in INTEGRATION.iter().chain(tests) {
            command.args(["--test", name]);
        }
        command.arg("--");
        for name in SLOW {
            command.args(["--skip", name]);
        }
    }
    command
        .env(format!("CC_{name}"), &gcc)
        .env(format!("{cargo_name}_LINKER"), &gcc);
    command.env(format!("{cargo_name}_RUNNER"), runner);
    run(&format!("tests on {}", target.rust), &mut command)
}
