//! Round trips of the program for Windows, run by wine, beside that of this machine.
//!
//! In: both programs, built here. Out: nothing, or what differs. **Invariant:** what is compared
//! was written by the program of this machine: its images byte for byte, its manifests by line.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use xtask::run::{self, Outcome, cargo, run};
use xtask::wine;

/// The target of Rust.
pub(super) const TARGET: &str = "x86_64-pc-windows-gnu";

/// Formats that keep all of the tree.
const FORMATS: [&str; 3] = ["dwarfs", "squashfs", "erofs"];

/// Lints the code that only Windows has.
pub(super) fn lints() -> Outcome {
    let mut clippy = cargo();
    clippy.args(["clippy", "--quiet", "--package", "sinterfs-platform"]);
    clippy.args(["--all-targets", "--target", TARGET, "--", "-D", "warnings"]);
    run("clippy for Windows", &mut clippy)
}

/// Builds the program for Windows and for this machine, and compares what they do.
pub(super) fn round_trips() -> Outcome {
    let mut build = cargo();
    build.args(["build", "--package", "sinterfs-cli", "--target", TARGET]);
    build.env("CC_x86_64_pc_windows_gnu", "x86_64-w64-mingw32-gcc");
    run("build sinter.exe", &mut build)?;
    let mut build = cargo();
    build.args(["build", "--package", "sinterfs-cli"]);
    run("build sinter", &mut build)?;
    let programs = Programs {
        ours: run::target().join("debug/sinter"),
        theirs: run::target().join(TARGET).join("debug/sinter.exe"),
        dir: run::target().join("cross-windows"),
    };
    programs.compare()
}

/// The two programs, and the directory that they work in.
struct Programs {
    ours: PathBuf,
    theirs: PathBuf,
    dir: PathBuf,
}

impl Programs {
    fn compare(&self) -> Outcome {
        let failed = |e: std::io::Error| format!("{}: {e}", self.dir.display());
        let _ = fs::remove_dir_all(&self.dir);
        fs::create_dir_all(&self.dir).map_err(failed)?;
        tree(&self.dir.join("tree")).map_err(failed)?;
        let mut tar = Command::new("tar");
        tar.args([
            "--sort=name",
            "--format=pax",
            "-C",
            "tree",
            "-cf",
            "tree.tar",
            ".",
        ]);
        run::output(tar.current_dir(&self.dir))?;
        for format in FORMATS {
            println!("== {format}: built, checked, extracted and built again on Windows");
            self.round_trip(format)?;
        }
        self.refusals()
    }

    /// Compares one format: an image of an archive, its check, its manifest; and the tree that
    /// Windows extracts and builds again.
    fn round_trip(&self, format: &str) -> Outcome {
        let (ours, theirs) = (format!("ours.{format}"), format!("theirs.{format}"));
        let mut build = vec!["build", "-q", "tree.tar"];
        if format == "dwarfs" {
            // it has the system's name
            build.push("--no-history");
        }
        build.push("-o");
        self.here(&[&build[..], &[&ours]].concat())?;
        self.there(&[&build[..], &[&theirs]].concat(), &[0])?;
        self.same_bytes(&ours, &theirs)?;
        self.there(&["check", "--deep", "-q", &ours], &[0])?;
        let manifest = self.here(&["extract", "--mtree", "-o", "-", &ours])?;
        let other = self.there(&["extract", "--mtree", "-o", "-", &ours], &[0])?;
        if manifest != other {
            return Err(format!("{format}: manifests by Windows and Linux differ"));
        }
        let (out, again) = (format!("out.{format}"), format!("again.{format}"));
        // 1: symlinks, special files and some names differ, which is told
        self.there(&["extract", "-q", &ours, "-o", &out], &[0, 1])?;
        self.there(&["build", "-q", &out, "-o", &again], &[0])?;
        let rebuilt = self.here(&["extract", "--mtree", "-o", "-", &again])?;
        let (wanted, found) = (files(&manifest), files(&rebuilt));
        let differ = wanted.iter().zip(&found).find(|(a, b)| a != b);
        if let Some((wanted, found)) = differ {
            return Err(format!(
                "{format}: after a round trip\n  {found}\nfor\n  {wanted}"
            ));
        }
        if wanted.len() != found.len() {
            let (wanted, found) = (wanted.len(), found.len());
            return Err(format!(
                "{format}: {found} files after a round trip, {wanted} before"
            ));
        }
        println!(
            "{format}: {} files and directories are the same",
            wanted.len()
        );
        Ok(())
    }

    /// Checks what Windows says of what it has not.
    fn refusals(&self) -> Outcome {
        let refused = self.run_there(&["mount", "ours.dwarfs", "/mnt"])?;
        let text = String::from_utf8_lossy(&refused.stderr);
        if refused.status.code() != Some(4) || !text.contains("no mounts on this system") {
            return Err(format!("mount on Windows: {text}"));
        }
        let strict = ["extract", "--strict", "ours.dwarfs", "-o", "strict"];
        let refused = self.run_there(&strict)?;
        let text = String::from_utf8_lossy(&refused.stderr);
        if refused.status.code() != Some(4) || !text.contains("cannot be restored as they are") {
            return Err(format!("extract --strict on Windows: {text}"));
        }
        Ok(())
    }

    fn same_bytes(&self, ours: &str, theirs: &str) -> Outcome {
        let read = |name| fs::read(self.dir.join(name)).map_err(|e| format!("{name}: {e}"));
        if read(ours)? != read(theirs)? {
            return Err(format!("{ours} and {theirs} differ"));
        }
        Ok(())
    }

    fn here(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new(&self.ours);
        run::output(command.args(args).current_dir(&self.dir))
    }

    fn there(&self, args: &[&str], codes: &[i32]) -> Result<String, String> {
        let output = self.run_there(args)?;
        if !output
            .status
            .code()
            .is_some_and(|code| codes.contains(&code))
        {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "sinter.exe {}: {}\n{text}",
                args.join(" "),
                output.status
            ));
        }
        String::from_utf8(output.stdout).map_err(|e| e.to_string())
    }

    fn run_there(&self, args: &[&str]) -> Result<Output, String> {
        let mut command = Command::new("wine");
        command.arg(&self.theirs).args(args).current_dir(&self.dir);
        let output = command.envs(wine::environment()).output();
        output.map_err(|e| format!("wine: {e}"))
    }
}

/// Returns the lines of a manifest that Windows keeps: files and directories, with what is said of
/// them but owners, permissions and numbers of links; times to 100 ns.
fn files(manifest: &str) -> Vec<String> {
    let kept = |word: &&str| {
        let dropped = ["mode=", "uid=", "gid=", "nlink=", "inode=", "resdevice="];
        !dropped.iter().any(|start| word.starts_with(start))
    };
    let lines = manifest.lines().filter(|line| !line.starts_with('#'));
    let words = lines.map(|line| line.split(' ').filter(kept).map(to_100_ns));
    let lines = words.map(|words| words.collect::<Vec<_>>().join(" "));
    let is_kept = |line: &String| line.contains("type=file") || line.contains("type=dir");
    lines.filter(is_kept).collect()
}

/// Returns a word without the last two digits of a time.
fn to_100_ns(word: &str) -> &str {
    let end = word.len().saturating_sub(2);
    let is_time = word.starts_with("time=");
    word.get(..end).filter(|_| is_time).unwrap_or(word)
}

/// Makes a tree of names and types that are hard for Windows.
fn tree(dir: &Path) -> std::io::Result<()> {
    let name = |bytes: &[u8]| dir.join(std::ffi::OsStr::from_bytes(bytes));
    let names: [&[u8]; 14] = [
        b"plain.txt",
        "gr\u{fc}\u{df}e \u{1f600}".as_bytes(),
        b"a:b",
        b"what?*",
        b"\"quoted\" <and> |piped|",
        b"back\\slash",
        b"NUL",
        b"con.txt",
        b"Aux.c",
        b"com1",
        b"dot.",
        b"space ",
        b"caf\xe9",
        b"\x01\x1f",
    ];
    fs::create_dir_all(dir)?;
    for (number, bytes) in names.iter().enumerate() {
        fs::write(name(bytes), bytes.repeat(number * 1000))?;
    }
    // longer than the 260 characters that most of Windows takes
    let deep = dir.join(format!("{}/", "long-name-of-a-directory").repeat(20));
    fs::create_dir_all(&deep)?;
    fs::write(deep.join("file"), b"deep")?;
    fs::create_dir(dir.join("empty"))?;
    fs::hard_link(dir.join("plain.txt"), dir.join("linked"))?;
    std::os::unix::fs::symlink("plain.txt", dir.join("symlink"))?;
    fs::write(dir.join("read-only"), b"r")?;
    let mut permissions = fs::metadata(dir.join("read-only"))?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(dir.join("read-only"), permissions)?;
    let docs = run::root().join("docs/formats");
    fs::create_dir(dir.join("formats"))?;
    for entry in fs::read_dir(docs)? {
        let path = entry?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            fs::copy(&path, dir.join("formats").join(name))?;
        }
    }
    fs::File::create(dir.join("sparse"))?.set_len(3 << 20)
}
