//! `cross [--all] [TARGET]...`: tests of the reading crates on other systems and architectures.
//!
//! Linux on s390x (big-endian), aarch64, riscv64, armv7 and i686 (both 32 bits) by Debian's cross
//! compilers and qemu-user, i686 without an emulator where the kernel runs it; Windows by mingw-w64
//! and wine, with round trips of the program (see `windows`).
//! `./x cross` installs them, and Rust's targets. Without targets: s390x, aarch64 and i686; CI has
//! time for the first and the last.

mod windows;

use std::process::Command;

use xtask::run::{Outcome, cargo, output, run};
use xtask::wine;

/// A system and architecture as Rust, gcc and an emulator name it.
struct CrossTarget {
    rust: &'static str,
    gcc: &'static str,
    emulator: &'static str,
    /// Whether [`PORTABLE`] crates can differ there from what their tests show on any PC.
    is_other: bool,
    /// Whether it is tested where no target is named.
    is_usual: bool,
}

const TARGETS: [CrossTarget; 6] = [
    CrossTarget {
        rust: "s390x-unknown-linux-gnu",
        gcc: "s390x-linux-gnu",
        emulator: "qemu-s390x",
        is_other: true,
        is_usual: true,
    },
    CrossTarget {
        rust: "aarch64-unknown-linux-gnu",
        gcc: "aarch64-linux-gnu",
        emulator: "qemu-aarch64",
        is_other: false,
        is_usual: true,
    },
    CrossTarget {
        rust: "riscv64gc-unknown-linux-gnu",
        gcc: "riscv64-linux-gnu",
        emulator: "qemu-riscv64",
        is_other: false,
        is_usual: false,
    },
    CrossTarget {
        rust: "armv7-unknown-linux-gnueabihf",
        gcc: "arm-linux-gnueabihf",
        emulator: "qemu-arm",
        is_other: true,
        is_usual: false,
    },
    CrossTarget {
        rust: "i686-unknown-linux-gnu",
        gcc: "i686-linux-gnu",
        emulator: "qemu-i386",
        is_other: true,
        is_usual: true,
    },
    CrossTarget {
        rust: windows::TARGET,
        gcc: "x86_64-w64-mingw32",
        emulator: "wine",
        is_other: true,
        is_usual: false,
    },
];

/// The crates that read, and what they are made of.
const CRATES: [&str; 10] = [
    "model", "platform", "archive", "codec", "block", "squashfs", "erofs", "dwarfs", "cramfs",
    "iso9660",
];

/// Readers without code for one architecture, for which only the order of bytes matters.
const PORTABLE: [&str; 9] = [
    "ext",
    "fat",
    "romfs",
    "udf",
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
    "cost::",
    "encoding_tests::",
    "chunk_parser",
    "match_finder::",
    "flac::encode",
    "cache::",
    "waveforms_of_every_form",
    "write::dedupe",
    "write::fsst",
    "write::strings",
];

/// What keeps tests from running beside each other under qemu-user. A program is started there by
/// a `fork` of the emulator, whose child can wait for a lock that one of its other threads held.
const ONE_THREAD: &str = "--test-threads=1";

/// Cases of each property.
const CASES: &str = "8";

/// Runs the tests on the targets that are named; with `--all` also those that take long, all
/// integration tests of all crates, and, if none is named, all targets.
pub fn cross(args: &[String]) -> Outcome {
    let all = args.iter().any(|arg| arg == "--all");
    let named: Vec<&String> = args.iter().filter(|arg| *arg != "--all").collect();
    let is_unknown = |name: &&&String| !TARGETS.iter().any(|target| target.rust == **name);
    if let Some(unknown) = named.iter().find(is_unknown) {
        let names = TARGETS.map(|target| target.rust).join(", ");
        return Err(format!("no target {unknown}: {names}"));
    }
    let is_wanted = |target: &&CrossTarget| {
        let is_named = named.iter().any(|name| *name == target.rust);
        is_named || (named.is_empty() && (all || target.is_usual))
    };
    for target in TARGETS.iter().filter(is_wanted) {
        needs(target)?;
        if target.rust == windows::TARGET {
            windows::lints()?;
            wine::library()?;
        }
        test(target, all)?;
        if target.rust == windows::TARGET {
            windows::round_trips()?;
        }
    }
    Ok(())
}

/// Fails with what to install.
fn needs(target: &CrossTarget) -> Outcome {
    let gcc = format!("{}-gcc", target.gcc);
    for program in [&gcc, target.emulator] {
        if output(Command::new(program).arg("--version")).is_err() {
            return Err(format!("no {program}: `./x cross` installs it"));
        }
    }
    Ok(())
}

/// Returns the words before a program of the target that run it here.
fn runner(target: &CrossTarget) -> String {
    if target.emulator == "wine" {
        return target.emulator.to_owned();
    }
    if target.rust.starts_with("i686") {
        // many kernels of 64 bits run programs of 32 bits, which only need their C library
        let libraries = format!("/usr/{}/lib", target.gcc);
        let loader = format!("{libraries}/ld-linux.so.2");
        if output(Command::new(&loader).arg("--version")).is_ok() {
            return format!("{loader} --library-path {libraries}");
        }
    }
    format!("{} -L /usr/{}", target.emulator, target.gcc)
}

fn test(target: &CrossTarget, all: bool) -> Outcome {
    let (gcc, name) = (format!("{}-gcc", target.gcc), target.rust.replace('-', "_"));
    let runner = runner(target);
    let cargo_name = format!("CARGO_TARGET_{}", name.to_uppercase());
    let (crates, tests) = if all || target.is_other {
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
    }
    command.arg("--");
    if runner.starts_with("qemu") {
        command.arg(ONE_THREAD);
    }
    if !all {
        for name in SLOW {
            command.args(["--skip", name]);
        }
    }
    command
        .env(format!("CC_{name}"), &gcc)
        // the emulator gains less from optimised C libraries than compiling them takes
        .env(format!("CFLAGS_{name}"), "-O1")
        .env(format!("{cargo_name}_LINKER"), &gcc)
        .envs(wine::environment());
    command.env(format!("{cargo_name}_RUNNER"), runner);
    run(&format!("tests on {}", target.rust), &mut command)
}
