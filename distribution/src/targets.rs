//! The program for other systems and architectures: `dist --target`.
//!
//! In: a target of Rust. Out: a program for Linux (static with musl, linked with glibc else), or a
//! zip archive of the program with its licences. **Invariant:** what can be run here, by qemu-user
//! or by wine, builds, checks and extracts images first; for macOS it says that nothing was run.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::binary::{folder, remapped};
use super::frameworks;
use super::proof;
use super::release::{Release, path_error};
use super::zip::{ZipFile, archive};
use xtask::run::{self, Outcome, run};
use xtask::wine;

/// What compiles the codecs written in C, and links.
enum Linker {
    /// A cross compiler of Debian.
    Gcc(&'static str),
    /// `cargo-zigbuild`, a package of Python, with `ziglang`.
    Zig,
}

struct ShippedTarget {
    rust: &'static str,
    /// The end of the name of what is shipped.
    name: &'static str,
    linker: Linker,
    /// What runs the program here.
    emulator: Option<&'static str>,
}

const TARGETS: [ShippedTarget; 10] = [
    // what `dist` makes of a PC without a target, for other machines to make, too
    ShippedTarget {
        rust: "x86_64-unknown-linux-musl",
        name: "x86_64-linux",
        linker: Linker::Zig,
        emulator: Some("qemu-x86_64"),
    },
    ShippedTarget {
        rust: "aarch64-unknown-linux-musl",
        name: "aarch64-linux",
        linker: Linker::Zig,
        emulator: Some("qemu-aarch64"),
    },
    ShippedTarget {
        rust: "riscv64gc-unknown-linux-musl",
        name: "riscv64-linux",
        linker: Linker::Zig,
        emulator: Some("qemu-riscv64"),
    },
    ShippedTarget {
        rust: "armv7-unknown-linux-musleabihf",
        name: "armv7-linux",
        linker: Linker::Zig,
        emulator: Some("qemu-arm"),
    },
    ShippedTarget {
        rust: "riscv64gc-unknown-linux-gnu",
        name: "riscv64-linux-gnu",
        linker: Linker::Gcc("riscv64-linux-gnu"),
        emulator: Some("qemu-riscv64"),
    },
    ShippedTarget {
        rust: "armv7-unknown-linux-gnueabihf",
        name: "armv7-linux-gnu",
        linker: Linker::Gcc("arm-linux-gnueabihf"),
        emulator: Some("qemu-arm"),
    },
    // Rust has no standard library with musl for it
    ShippedTarget {
        rust: "s390x-unknown-linux-gnu",
        name: "s390x-linux-gnu",
        linker: Linker::Gcc("s390x-linux-gnu"),
        emulator: Some("qemu-s390x"),
    },
    ShippedTarget {
        rust: "x86_64-pc-windows-gnu",
        name: "x86_64-windows",
        linker: Linker::Gcc("x86_64-w64-mingw32"),
        emulator: Some("wine"),
    },
    ShippedTarget {
        rust: "aarch64-apple-darwin",
        name: "aarch64-macos",
        linker: Linker::Zig,
        emulator: None,
    },
    ShippedTarget {
        rust: "x86_64-apple-darwin",
        name: "x86_64-macos",
        linker: Linker::Zig,
        emulator: None,
    },
];

/// The packages of Python that link for targets without a compiler in Debian.
const ZIG: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.0"];

/// Builds the program for a target, tries it out, and returns what is shipped.
pub fn ship(
    release: &Release,
    profile: &str,
    target: &str,
    metadata: &Value,
    licences: &str,
) -> Result<PathBuf, String> {
    let names = || TARGETS.map(|target| target.rust).join(", ");
    let found = TARGETS.iter().find(|one| one.rust == target);
    let target = found.ok_or_else(|| format!("no target {target}: {}", names()))?;
    let program = target.build(profile, metadata)?;
    target.try_out(&program, &release.output)?;
    let name = format!("sinter-{}-{}", release.version, target.name);
    if target.rust.contains("linux") {
        if target.rust.contains("musl") {
            proof::is_static(&program)?;
        }
        let copy = release.output.join(name);
        std::fs::copy(&program, &copy).map_err(|e| path_error(&copy, &e))?;
        return Ok(copy);
    }
    let path = release.output.join(format!("{name}.zip"));
    let read = |path: PathBuf| std::fs::read(&path).map_err(|e| path_error(&path, &e));
    let root = run::root();
    let (program, readme) = (read(program)?, read(root.join("docs/platforms.md"))?);
    let (mit, apache) = (
        read(root.join("LICENSE-MIT"))?,
        read(root.join("LICENSE-APACHE"))?,
    );
    let file = |name, content, is_program| ZipFile {
        name,
        content,
        is_program,
    };
    let zip = archive(&[
        file(target.program_name(), &program, true),
        file("platforms.md", &readme, false),
        file("LICENSE-MIT", &mit, false),
        file("LICENSE-APACHE", &apache, false),
        file("third-party-licences.txt", licences.as_bytes(), false),
    ])?;
    std::fs::write(&path, zip).map_err(|e| path_error(&path, &e))?;
    Ok(path)
}

impl ShippedTarget {
    fn program_name(&self) -> &'static str {
        if self.rust.contains("windows") {
            "sinter.exe"
        } else {
            "sinter"
        }
    }

    fn is_macos(&self) -> bool {
        self.rust.ends_with("apple-darwin")
    }

    fn build(&self, profile: &str, metadata: &Value) -> Result<PathBuf, String> {
        if run::output(Command::new("rustup").arg("--version")).is_ok() {
            let mut add = Command::new("rustup");
            run("rustup target add", add.args(["target", "add", self.rust]))?;
        }
        let mut command = match self.linker {
            Linker::Gcc(prefix) => self.cargo_with_gcc(prefix)?,
            Linker::Zig => cargo_with_zig()?,
        };
        command.args(["--locked", "--package", "sinterfs-cli", "--bin", "sinter"]);
        command.args(["--profile", profile, "--target", self.rust]);
        command.env("RUSTFLAGS", remapped());
        if self.is_macos() {
            // frameworks that only an SDK of Apple has
            let stubs = frameworks::stubs(metadata, &run::target().join("zig"))?;
            command.args(["--", "-C", &format!("link-arg=-F{}", stubs.display())]);
        }
        run(&format!("build sinter for {}", self.rust), &mut command)?;
        let program = run::target().join(self.rust).join(folder(profile));
        Ok(program.join(self.program_name()))
    }

    fn cargo_with_gcc(&self, prefix: &str) -> Result<Command, String> {
        let (gcc, variable) = (format!("{prefix}-gcc"), self.rust.replace('-', "_"));
        run::output(Command::new(&gcc).arg("--version"))
            .map_err(|_| format!("no {gcc}: `./x dist --target {}` installs it", self.rust))?;
        let linker = format!("CARGO_TARGET_{}_LINKER", variable.to_uppercase());
        let mut command = run::cargo();
        command.arg("rustc").env(linker, &gcc);
        command.env(format!("CC_{variable}"), &gcc);
        Ok(command)
    }

    /// Builds, checks and extracts images of the documentation by an emulator.
    fn try_out(&self, program: &Path, dir: &Path) -> Outcome {
        let Some(emulator) = self.emulator else {
            println!("== {}: built, and not run: nothing here runs it", self.rust);
            return Ok(());
        };
        let dir = dir.join("tried");
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).map_err(|e| path_error(&dir, &e))?;
        let program = std::path::absolute(program).map_err(|e| path_error(program, &e))?;
        if emulator == "wine" {
            wine::library()?;
        }
        let sinter = |words: &[&str]| {
            let mut command = Command::new(emulator);
            if let (Linker::Gcc(prefix), true) = (&self.linker, emulator != "wine") {
                command.args(["-L", &format!("/usr/{prefix}")]);
            }
            command.envs(wine::environment()).current_dir(&dir);
            run::output(command.arg(&program).args(words))
                .map_err(|e| format!("{emulator} sinter {}: {e}", words.join(" ")))
        };
        let version = sinter(&["--version"])?;
        println!("== {} by {emulator}: {}", self.rust, version.trim());
        let tree = run::root().join("docs");
        let mut tar = Command::new("tar");
        let tar = tar.args(["-cf", "docs.tar", "-C"]).arg(&tree).arg(".");
        run::output(tar.current_dir(&dir))?;
        for format in ["dwarfs", "squashfs", "erofs"] {
            let image = format!("docs.{format}");
            sinter(&["build", "-q", "docs.tar", "-o", &image])?;
            sinter(&["check", "-q", "--deep", &image])?;
            sinter(&["extract", "-q", &image, "-o", format])?;
            let mut diff = Command::new("diff");
            run::output(diff.arg("-r").arg(&tree).arg(dir.join(format)))?;
        }
        std::fs::remove_dir_all(&dir).map_err(|e| path_error(&dir, &e))
    }
}

/// Starts a command of cargo that compiles and links with zig.
fn cargo_with_zig() -> Result<Command, String> {
    let zig = zig()?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(zig.join("cargo-zigbuild"));
    command.current_dir(run::root()).arg("rustc");
    command.env("PATH", format!("{}:{path}", zig.display()));
    Ok(command)
}

/// Returns the directory of zig's programs, which is made if it is missing.
fn zig() -> Result<PathBuf, String> {
    let dir = run::target().join("zig");
    let programs = dir.join("bin");
    if !programs.join("cargo-zigbuild").exists() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear"]).arg(&dir);
        run("virtual environment (python3-venv)", &mut venv)?;
        let mut pip = Command::new(programs.join("pip"));
        run(
            "zig, which links",
            pip.args(["install", "--quiet"]).args(ZIG),
        )?;
    }
    Ok(programs)
}
