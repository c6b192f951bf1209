//! What the tests of the C interface share: the library laid out as it is installed, compilers, and
//! the shared vectors.

#![allow(dead_code, reason = "each test program uses a part")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sinterfs_testkit::{read_file, shared};

/// Returns a file of this crate.
pub fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the library that was built with this test.
pub fn library(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let path = program.parent().unwrap().join(name);
    assert!(path.exists(), "no {}", path.display());
    path
}

/// Runs a command; panics with its words if it fails.
pub fn output(command: &mut Command) -> Output {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// The library, its header and its pkg-config file below a directory.
pub struct Installed(pub tempfile::TempDir);

impl Installed {
    /// Lays out the library that was built with this test.
    pub fn new() -> Self {
        let prefix = tempfile::tempdir().unwrap();
        let lib = prefix.path().join("lib");
        let include = prefix.path().join("include");
        fs::create_dir_all(lib.join("pkgconfig")).unwrap();
        fs::create_dir(&include).unwrap();
        let link =
            |from: PathBuf, to: &str| std::os::unix::fs::symlink(from, lib.join(to)).unwrap();
        link(library("libsinterfs_capi.so"), "libsinterfs.so.0");
        link("libsinterfs.so.0".into(), "libsinterfs.so");
        link(library("libsinterfs_capi.a"), "libsinterfs.a");
        fs::copy(source("include/sinterfs.h"), include.join("sinterfs.h")).unwrap();
        let text = fs::read_to_string(source("sinterfs.pc.in")).unwrap();
        let text = text
            .replace("@PREFIX@", prefix.path().to_str().unwrap())
            .replace("@LIBDIR@", "${prefix}/lib")
            .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
        fs::write(lib.join("pkgconfig/sinterfs.pc"), text).unwrap();
        Self(prefix)
    }

    /// Returns the directory of the libraries.
    pub fn lib(&self) -> PathBuf {
        self.0.path().join("lib")
    }

    /// Asks pkg-config for flags.
    pub fn flags(&self, wanted: &[&str]) -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.args(wanted).arg("sinterfs");
        let told = output(command.env("PKG_CONFIG_PATH", self.lib().join("pkgconfig")));
        let told = String::from_utf8(told.stdout).unwrap();
        told.split_whitespace().map(str::to_owned).collect()
    }

    /// Compiles a C file of this crate by a compiler with flags, and returns the program.
    pub fn compile(&self, compiler: &[&str], file: &str) -> PathBuf {
        let name = format!("{}-{}", compiler.join(""), file.replace('/', "-"));
        let program = self.0.path().join(name);
        let mut command = Command::new(compiler[0]);
        command.args(&compiler[1..]).args(["-O1", "-g", "-pthread"]);
        command.args(["-Wall", "-Wextra", "-Werror", "-pedantic"]);
        command.arg(source(file)).arg("-o").arg(&program);
        output(command.args(self.flags(&["--cflags", "--libs"])));
        program
    }

    /// Starts a program with the library.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", self.lib());
        command
    }
}

/// An image of the shared vectors, its further devices, and what it was made of.
pub struct Vector {
    pub format: String,
    pub name: String,
    pub image: PathBuf,
    pub devices: Vec<PathBuf>,
    pub manifest: PathBuf,
    pub compare: Vec<String>,
}

/// Lists the vectors of formats, with packed images unpacked into a directory.
pub fn vectors(formats: &[&str], work: &Path) -> Option<Vec<Vector>> {
    let root = shared("vectors")?;
    let index = fs::read_to_string(root.join("images/INDEX.jsonl")).unwrap();
    let rows = index
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rows = rows.filter(|row| formats.contains(&row["format"].as_str().unwrap()));
    let words = |value: &Value| {
        let words = value.as_array().unwrap().iter();
        words
            .map(|word| word.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let image = |file: &str| unpacked(&root.join("images").join(file), work);
    let vector = |row: Value| Vector {
        format: row["format"].as_str().unwrap().to_owned(),
        name: row["name"].as_str().unwrap().to_owned(),
        image: image(row["file"].as_str().unwrap()),
        devices: words(&row["extra"])
            .iter()
            .map(|file| image(file))
            .collect(),
        manifest: root.join(row["manifest"].as_str().unwrap()),
        compare: words(&row["compare"]),
    };
    Some(rows.map(vector).collect())
}

fn unpacked(file: &Path, work: &Path) -> PathBuf {
    if file.extension().is_none_or(|extension| extension != "gz") {
        return file.to_owned();
    }
    let folder = work.join(file.parent().unwrap().file_name().unwrap());
    fs::create_dir_all(&folder).unwrap();
    let to = folder.join(file.file_stem().unwrap());
    if !to.exists() {
        fs::write(&to, read_file(file)).unwrap();
    }
    to
}
