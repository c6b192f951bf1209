//! The Debian package, made of the program under test: what dpkg says of it, what is in it, and
//! that it is the same each time. `xtask dist` installs it into a root of its own before it gives
//! it away.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::{run, scratch};

const EPOCH: &str = "1700000000";

/// Runs a command and gives what it prints.
fn output(command: &mut Command) -> String {
    let output = command.output().expect("the command");
    assert!(output.status.success(), "{command:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Makes the package in a new directory, with the umask of somebody.
fn packed(work: &Path, name: &str, umask: &str) -> PathBuf {
    let (program, dir) = (work.join("sinter"), work.join(name));
    if !program.exists() {
        // what is not stripped takes long to compress
        let given = env!("CARGO_BIN_EXE_sinter");
        output(Command::new("strip").arg("-o").arg(&program).arg(given));
    }
    let script = "umask $0; exec \"$@\"";
    let mut dist = Command::new("sh");
    dist.args(["-c", script, umask]).arg(env!("CARGO"));
    dist.args(["run", "--quiet", "--locked", "--package", "xtask", "--"]);
    dist.args(["dist", "--fast", "--binary"]).arg(program);
    dist.arg("--output").arg(&dir);
    dist.env("SOURCE_DATE_EPOCH", EPOCH);
    dist.env("DEBFULLNAME", "A B").env("DEBEMAIL", "a@b.org");
    let told = output(&mut dist);
    assert!(told.contains("installed into an empty root"), "{told}");
    output(
        Command::new("sha256sum")
            .args(["--check", "SHA256SUMS"])
            .current_dir(&dir),
    );
    let mut packages = fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_package = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with("sinterfs_") && name.ends_with(".deb")
    };
    packages.find(is_package).expect("a package")
}

#[test]
fn the_package_is_whole_and_the_same_each_time() {
    let work = scratch();
    let package = packed(work.path(), "a", "022");
    let again = packed(work.path(), "b", "077");
    assert_eq!(fs::read(&package).unwrap(), fs::read(again).unwrap());
    told_to_dpkg(&package);
    let root = work.path().join("root");
    output(Command::new("dpkg-deb").arg("-x").args([&package, &root]));
    names(&root);
    manual_and_completions(&root);
    licences(&root);
}

fn told_to_dpkg(package: &Path) {
    let field = |name: &str| {
        let mut command = Command::new("dpkg-deb");
        output(command.arg("-f").arg(package).arg(name))
    };
    assert_eq!(field("Package"), "sinterfs\n");
    assert_eq!(field("Version"), concat!(env!("CARGO_PKG_VERSION"), "\n"));
    assert_eq!(field("Maintainer"), "A B <a@b.org>\n");
    assert_eq!(field("Depends").trim(), "");
    assert_eq!(field("Recommends"), "fuse3\n");
    let control = package.with_extension("control");
    output(Command::new("dpkg-deb").arg("-e").args([package, &control]));
    let mut listing = Command::new("dpkg-deb");
    listing.arg("-c").arg(package).env("TZ", "UTC");
    for line in output(&mut listing).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mode = match (&words[0][..1], words[5]) {
            ("d", _) => "drwxr-xr-x",
            ("l", _) => "lrwxrwxrwx",
            (_, "./usr/bin/sinter") => "-rwxr-xr-x",
            _ => "-rw-r--r--",
        };
        assert_eq!(words[..2], [mode, "root/root"], "{line}");
        assert_eq!(words[3..5], ["2023-11-14", "22:13"], "{line}");
    }
    let root = package.with_extension("root");
    output(Command::new("dpkg-deb").arg("-x").args([package, &root]));
    let sums = control.join("md5sums");
    let mut check = Command::new("md5sum");
    let checked = output(
        check
            .args(["--check", "--strict"])
            .arg(sums)
            .current_dir(&root),
    );
    let listed = output(Command::new("find").arg(&root).args(["-type", "f"]));
    assert_eq!(checked.lines().count(), listed.lines().count());
}

/// The names by which mount(8) calls the program, and those of other programs.
fn names(root: &Path) {
    let program = root.join("usr/bin/sinter").canonicalize().unwrap();
    let others = fs::read_dir(root.join("usr/lib/sinterfs/names")).unwrap();
    let mut links: Vec<PathBuf> = others.map(|entry| entry.unwrap().path()).collect();
    assert!(links.len() > 9, "{links:?}");
    links
        .extend(["mount.sinter", "mount.fuse.sinter"].map(|name| root.join("usr/sbin").join(name)));
    for link in links {
        assert_eq!(link.canonicalize().unwrap(), program, "{}", link.display());
        let help = output(Command::new(&link).arg("--help"));
        let name = link.file_name().unwrap().to_str().unwrap();
        assert!(help.starts_with(&format!("Usage: {name} ")), "{help}");
    }
    let page = root.join("usr/share/man/man8/mount.sinter.8.gz");
    assert!(page.canonicalize().unwrap().ends_with("sinter-mount.1.gz"));
}

fn manual_and_completions(root: &Path) {
    let version = output(Command::new(root.join("usr/bin/sinter")).arg("--version"));
    assert_eq!(version.as_bytes(), run(["--version"]).stdout);
    let share = root.join("usr/share");
    let help = String::from_utf8(run(["help"]).stdout).unwrap();
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let verbs = verbs.lines().take_while(|line| !line.is_empty());
    // the description of a verb may need further lines
    let verbs = verbs.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for verb in verbs.filter(|verb| !["", "help"].contains(verb)) {
        let page = share.join(format!("man/man1/sinter-{verb}.1.gz"));
        let text = output(Command::new("gzip").arg("-dc").arg(page));
        assert!(text.contains(".TH sinter"), "{verb}");
    }
    for path in [
        "man/man1/sinter.1.gz",
        "bash-completion/completions/sinter",
        "zsh/vendor-completions/_sinter",
        "fish/vendor_completions.d/sinter.fish",
    ] {
        assert!(share.join(path).metadata().unwrap().len() > 500, "{path}");
    }
}

fn licences(root: &Path) {
    let doc = root.join("usr/share/doc/sinterfs");
    let read = |name: &str| output(Command::new("gzip").arg("-dc").arg(doc.join(name)));
    let changes = read("changelog.gz");
    let first = concat!("sinterfs (", env!("CARGO_PKG_VERSION"), ") unstable;");
    assert!(changes.starts_with(first), "{changes}");
    assert!(changes.contains(" -- A B <a@b.org>  Tue, 14 Nov 2023 22:13:20 +0000"));
    let copyright = fs::read_to_string(doc.join("copyright")).unwrap();
    assert!(copyright.contains("WITHOUT WARRANTY OF ANY KIND"));
    let texts = read("third-party-licences.txt.gz");
    for (linked, words) in [
        ("zstd-sys", "Meta Platforms"),
        ("libdeflate-sys", "Eric Biggers"),
        ("liblzma-sys", "0BSD"),
        ("lzzzz", "Yann Collet"),
        ("musl libc", "Rich Felker"),
    ] {
        assert!(texts.contains(linked) && texts.contains(words), "{linked}");
    }
    for not_linked in ["proptest ", "clap_derive ", "Version 2, June 1991"] {
        assert!(!texts.contains(not_linked), "{not_linked}");
    }
}
