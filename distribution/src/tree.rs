//! The files of the package, as they are installed below `/`.
//!
//! **Invariant:** modes and times depend neither on the umask nor on the time of the build.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::changelog::changelog;
use super::names;
use super::release::{Release, path_error};
use xtask::run::{self, Outcome};

/// Shells with completions, and where each looks for them.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/sinter"),
    ("zsh", "usr/share/zsh/vendor-completions/_sinter"),
    ("fish", "usr/share/fish/vendor_completions.d/sinter.fish"),
];

/// Names by which the system calls the program to mount images.
const HELPERS: [&str; 2] = ["mount.sinter", "mount.fuse.sinter"];

/// Control files that dpkg runs.
const SCRIPTS: [&str; 2] = ["postinst", "prerm"];

/// Findings of lintian that are intended, with reasons.
const OVERRIDES: &str = "\
# static on purpose, and at any address: one program for every release of every distribution
sinterfs: shared-library-lacks-prerequisites [usr/bin/sinter]
";

/// Writes all files below a directory.
pub fn lay_out(release: &Release, licences: &str, root: &Path) -> Outcome {
    let program = root.join("usr/bin/sinter");
    make_parent(&program)?;
    fs::copy(&release.binary, &program).map_err(|e| path_error(&program, &e))?;
    // pages and completions come from the program that is packaged
    let manual = root.join("usr/share/man/man1");
    run::output(Command::new(&program).args(["man", "-o"]).arg(&manual))?;
    for (shell, path) in SHELLS {
        let text = run::output(Command::new(&program).args(["completions", shell]))?;
        put(root, path, &text)?;
    }
    for name in HELPERS {
        link(root, &format!("usr/sbin/{name}"), "../bin/sinter")?;
        let page = format!("usr/share/man/man8/{name}.8.gz");
        link(root, &page, "../man1/sinter-mount.1.gz")?;
    }
    // in a directory of their own: neither colliding with other packages nor hiding their programs
    for name in names::names() {
        let path = format!("usr/lib/sinterfs/names/{name}");
        link(root, &path, "../../../bin/sinter")?;
    }
    let unit = "usr/lib/systemd/system/sinter@.service";
    put(root, unit, &text("packaging/sinter@.service")?)?;
    put(root, "usr/share/lintian/overrides/sinterfs", OVERRIDES)?;
    documentation(release, licences, root, "sinterfs")?;
    run::output(Command::new("gzip").arg("-9n").args(files(&manual)?)).map(drop)
}

/// Returns the text of a file of the checkout.
pub fn text(name: &str) -> Result<String, String> {
    let path = run::root().join(name);
    fs::read_to_string(&path).map_err(|e| path_error(&path, &e))
}

/// Writes the licences and the changes of a package.
pub fn documentation(release: &Release, licences: &str, root: &Path, package: &str) -> Outcome {
    let doc = format!("usr/share/doc/{package}");
    let mit = text("LICENSE-MIT")?;
    put(root, &format!("{doc}/copyright"), &copyright(&mit, package))?;
    put(root, &format!("{doc}/third-party-licences.txt"), licences)?;
    let changes = changelog(&text("CHANGELOG.md")?, release)?;
    put(root, &format!("{doc}/changelog"), &changes)?;
    let compressed =
        ["changelog", "third-party-licences.txt"].map(|name| root.join(&doc).join(name));
    run::output(Command::new("gzip").arg("-9n").args(compressed)).map(drop)
}

/// Sets modes and times of all files below a directory.
pub fn normalize(root: &Path, epoch: u64) -> Outcome {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch);
    let set = |path: &Path, mode: u32| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .and_then(|()| fs::File::open(path)?.set_modified(time))
            .map_err(|e| path_error(path, &e))
    };
    for path in files(root)? {
        let is_script = SCRIPTS
            .iter()
            .any(|name| path == root.join("DEBIAN").join(name));
        let executable = is_script || path.starts_with(root.join("usr/bin"));
        set(&path, if executable { 0o755 } else { 0o644 })?;
    }
    // directories last and inner ones first: writing into one changes its time
    for dir in directories(root)?.iter().rev() {
        set(dir, 0o755)?;
    }
    Ok(())
}

/// Returns the files below a directory, ordered by path, without symlinks.
pub fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(entries(root)?.0)
}

/// Returns a directory and those below it, each before its content.
pub fn directories(root: &Path) -> Result<Vec<PathBuf>, String> {
    Ok(entries(root)?.1)
}

fn entries(root: &Path) -> Result<(Vec<PathBuf>, Vec<PathBuf>), String> {
    let (mut files, mut directories, mut at) = (Vec::new(), vec![root.to_owned()], 0);
    while let Some(dir) = directories.get(at).cloned() {
        for entry in fs::read_dir(&dir).map_err(|e| path_error(&dir, &e))? {
            let path = entry.map_err(|e| path_error(&dir, &e))?.path();
            if path.is_symlink() {
                continue;
            } else if path.is_dir() {
                directories.push(path);
            } else {
                files.push(path);
            }
        }
        at += 1;
    }
    files.sort();
    Ok((files, directories))
}

/// Writes a file below a root.
pub fn put(root: &Path, path: &str, text: &str) -> Outcome {
    let path = root.join(path);
    make_parent(&path)?;
    fs::write(&path, text).map_err(|e| path_error(&path, &e))
}

/// Makes a symlink below a root.
pub fn link(root: &Path, path: &str, target: &str) -> Outcome {
    let path = root.join(path);
    make_parent(&path)?;
    std::os::unix::fs::symlink(target, &path).map_err(|e| path_error(&path, &e))
}

pub fn make_parent(path: &Path) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    fs::create_dir_all(parent).map_err(|e| path_error(parent, &e))
}

/// Returns the file about licences, in Debian's copyright format 1.0.
fn copyright(mit: &str, package: &str) -> String {
    let holder = mit
        .lines()
        .find_map(|line| line.strip_prefix("Copyright (c) "))
        .unwrap_or("The SinterFS developers");
    let body: Vec<String> = mit
        .lines()
        .skip_while(|line| !line.starts_with("Permission"))
        .map(|line| match line.trim() {
            "" => " .".to_owned(),
            line => format!(" {line}"),
        })
        .collect();
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: SinterFS\n\n\
         Files: *\n\
         Copyright: {holder}\n\
         License: Expat or Apache-2.0\n\
         Comment:\n \
         It contains libraries of others, under the MIT, Apache-2.0, BSD,\n \
         Zlib, BSL-1.0 and similar licences. They are listed with their texts in\n \
         /usr/share/doc/{package}/third-party-licences.txt.gz\n\n\
         License: Expat\n{}\n\n\
         License: Apache-2.0\n \
         On Debian systems, the full text of the Apache License, version 2.0, is in the file\n \
         /usr/share/common-licenses/Apache-2.0.\n",
        body.join("\n")
    )
}
