//! `dist --channels`: the files by which package managers and people install a release.
//!
//! Enters `release.toml`, the templates in packaging/channels, and the directory of what `dist` has
//! built. Leaves in that directory the source archive, `install.sh`, the list of components and
//! SHA256SUMS, and in `channels` below it a file of each channel. **Invariant:** no field of a
//! template stays unfilled, and with `--publish` no value is a placeholder and no file is missing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::release::{Release, path_error};
use super::{channel_checks, components, description, licences, tree};
use xtask::run::{self, Outcome};

/// The templates, in the checkout.
const TEMPLATES: &str = "packaging/channels";

/// The installer, which is a file of the release and not of a channel.
const INSTALLER: &str = "install.sh";

/// Checksum of a file that was not built.
const NO_SUM: char = '0';

/// Files of a release that channels name by their checksums: the field and the end of the name.
const NAMED: [(&str, &str); 4] = [
    ("sha256.x86_64-linux", "x86_64-linux"),
    ("sha256.aarch64-linux", "aarch64-linux"),
    ("sha256.x86_64-windows", "x86_64-windows.zip"),
    ("sha256.aarch64-macos", "aarch64-macos.zip"),
];

/// Makes the files of all channels and checks each by its tool.
pub fn make(release: &Release, metadata: &Value, publish: bool) -> Outcome {
    let mut fields = description::read()?;
    let mut unknown = description::placeholders(&fields)?;
    let output = &release.output;
    let source = source_archive(release)?;
    let components = components::bill(metadata, release)?;
    let name = format!("sinterfs-{}.cdx.json", release.version);
    put(&output.join(name), &components)?;
    fields.insert("version".to_owned(), release.version.clone());
    let own = licences::package(metadata, "sinterfs-cli").ok_or("no sinterfs-cli")?;
    for (field, key) in [("licence", "license"), ("msrv", "rust_version")] {
        let value = own[key]
            .as_str()
            .ok_or_else(|| format!("sinterfs-cli has no {key}"))?;
        fields.insert(field.to_owned(), value.to_owned());
    }
    fields.insert("sha256.source".to_owned(), sum("sha256sum", &source)?);
    fields.insert("sha512.source".to_owned(), sum("sha512sum", &source)?);
    for (field, end) in NAMED {
        let path = output.join(format!("sinter-{}-{end}", release.version));
        let sum = if path.exists() {
            sum("sha256sum", &path)?
        } else {
            unknown.push(format!("{} was not built", path.display()));
            String::from(NO_SUM).repeat(64)
        };
        fields.insert(field.to_owned(), sum);
    }
    if publish && !unknown.is_empty() {
        return Err(format!("not to be published:\n  {}", unknown.join("\n  ")));
    }
    let made = fill(&fields, output)?;
    write_checksums(output)?;
    channel_checks::check(&made, output)?;
    println!("== channels in {}", made.display());
    for what in unknown {
        println!("   placeholder: {what}");
    }
    Ok(())
}

/// Packs the last commit, and returns the archive.
fn source_archive(release: &Release) -> Result<PathBuf, String> {
    let stem = format!("sinterfs-{}", release.version);
    let archive = release.output.join(format!("{stem}.tar"));
    let mut git = Command::new("git");
    git.args([
        "archive",
        "--format=tar",
        &format!("--prefix={stem}/"),
        "-o",
    ]);
    run::output(git.arg(&archive).arg("HEAD").current_dir(run::root()))?;
    run::output(Command::new("gzip").args(["-9nf"]).arg(&archive))?;
    Ok(release.output.join(format!("{stem}.tar.gz")))
}

fn sum(program: &str, path: &Path) -> Result<String, String> {
    let line = run::output(Command::new(program).arg("--").arg(path))?;
    let sum = line.split(' ').next().unwrap_or_default();
    Ok(sum.trim_start_matches('\\').to_owned())
}

/// Fills every template; returns the directory of the channels.
fn fill(fields: &BTreeMap<String, String>, output: &Path) -> Result<PathBuf, String> {
    let from = run::root().join(TEMPLATES);
    let to = output.join("channels");
    if to.exists() {
        fs::remove_dir_all(&to).map_err(|e| path_error(&to, &e))?;
    }
    for path in tree::files(&from)? {
        let text = fs::read_to_string(&path).map_err(|e| path_error(&path, &e))?;
        let text = filled(&text, fields).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(&from).unwrap_or(&path);
        let is_installer = name == Path::new(INSTALLER);
        put(&if is_installer { output } else { &to }.join(name), &text)?;
    }
    // a package of Nix has its own copy
    put(&to.join("nix/Cargo.lock"), &tree::text("Cargo.lock")?)?;
    Ok(to)
}

/// Replaces `@field@` by its value.
fn filled(text: &str, fields: &BTreeMap<String, String>) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    let mut made = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('@') {
        made += before;
        rest = after;
        let name = after.split_once('@').map_or("", |(name, _)| name);
        if name.is_empty() || !name.chars().all(is_part) {
            made.push('@');
            continue;
        }
        let value = fields.get(name);
        made += value.ok_or_else(|| format!("unknown field @{name}@"))?;
        rest = &after[name.len() + 1..];
    }
    Ok(made + rest)
}

/// Writes the checksums of all files of the release.
fn write_checksums(output: &Path) -> Outcome {
    let mut names = Vec::new();
    for entry in fs::read_dir(output).map_err(|e| path_error(output, &e))? {
        let path = entry.map_err(|e| path_error(output, &e))?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.is_file() && !name.starts_with("SHA256SUMS") {
            names.push(name.to_owned());
        }
    }
    names.sort();
    let mut sum = Command::new("sha256sum");
    let sums = run::output(sum.arg("--").args(&names).current_dir(output))?;
    put(&output.join("SHA256SUMS"), &sums)
}

fn put(path: &Path, text: &str) -> Outcome {
    tree::make_parent(path)?;
    fs::write(path, text).map_err(|e| path_error(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A release with a program that is a script, signed if minisign is installed.
    struct SignedRelease(PathBuf);

    impl SignedRelease {
        fn new(name: &str) -> Self {
            let dir = run::target().join(format!("tests-of-channels/{name}"));
            let _ = fs::remove_dir_all(&dir);
            let machine = std::env::consts::ARCH;
            let program = format!("sinter-1.2.3-{machine}-linux");
            put(&dir.join(&program), "#!/bin/sh\necho sinter 1.2.3\n").unwrap();
            let release = Self(dir);
            release.shell(&format!("sha256sum {program} >SHA256SUMS"));
            release.shell("minisign -G -W -f -p key.pub -s key >/dev/null");
            release.shell("minisign -S -s key -m SHA256SUMS >/dev/null");
            let key = fs::read_to_string(release.0.join("key.pub")).unwrap();
            let mut fields = description::read().unwrap();
            fields.insert("version".to_owned(), "1.2.3".to_owned());
            let key = key.lines().nth(1).unwrap().to_owned();
            fields.insert("public_key".to_owned(), key);
            let template = tree::text("packaging/channels/install.sh").unwrap();
            let script = filled(&template, &fields).unwrap();
            put(&release.0.join(INSTALLER), &script).unwrap();
            release
        }

        fn shell(&self, script: &str) {
            let mut sh = Command::new("sh");
            run::output(sh.args(["-euc", script]).current_dir(&self.0)).unwrap();
        }

        /// Runs the installer, and returns whether it installed the program.
        fn install(&self, options: &[&str]) -> Result<bool, String> {
            let mut sh = Command::new("sh");
            sh.args([INSTALLER, "--from", ".", "--prefix", "prefix"])
                .args(options);
            let printed = run::output(sh.current_dir(&self.0));
            let is_there = self.0.join("prefix").exists();
            let _ = fs::remove_dir_all(self.0.join("prefix"));
            printed.map(|_| is_there).map_err(|why| {
                assert!(!is_there, "{why}");
                why
            })
        }
    }

    #[test]
    fn the_installer_verifies_before_it_installs() {
        if run::output(Command::new("minisign").arg("-v")).is_err() {
            assert!(std::env::var_os("CI").is_none(), "no minisign");
            return;
        }
        let release = SignedRelease::new("install");
        assert_eq!(release.install(&[]), Ok(true));
        assert_eq!(release.install(&["--unsigned"]), Ok(true));
        let refused = |why: &str, options: &[&str]| {
            let error = release.install(options).unwrap_err();
            assert!(error.contains(why), "{error}");
        };
        refused("unknown option", &["--signed"]);
        release.shell("mv SHA256SUMS.minisig kept");
        refused("cannot get SHA256SUMS.minisig", &[]);
        release.shell("mv kept SHA256SUMS.minisig; echo >>SHA256SUMS");
        refused("a wrong signature", &[]);
        assert_eq!(release.install(&["--unsigned"]), Ok(true));
        release.shell("for program in sinter-1*; do echo echo more >>$program; done");
        refused("a wrong checksum", &["--unsigned"]);
        release.shell("minisign -S -s key -m SHA256SUMS >/dev/null");
        refused("a wrong checksum", &[]);
        release.shell("echo >SHA256SUMS");
        refused("does not name", &["--unsigned"]);
    }

    #[test]
    fn every_channel_is_filled_and_placeholders_are_not_published() {
        let output = run::target().join("tests-of-channels/all");
        let _ = fs::remove_dir_all(&output);
        fs::create_dir_all(&output).unwrap();
        let metadata = licences::metadata(None).unwrap();
        let release = Release {
            binary: PathBuf::new(),
            version: licences::version(&metadata).unwrap(),
            epoch: 86_400,
            output: output.clone(),
            maintainer: "A B <a@b.org>".to_owned(),
            fast: true,
        };
        make(&release, &metadata, false).unwrap();
        for name in [
            "install.sh",
            "channels/arch/PKGBUILD",
            "channels/nix/Cargo.lock",
        ] {
            assert!(output.join(name).is_file(), "{name}");
        }
        let sums = fs::read_to_string(output.join("SHA256SUMS")).unwrap();
        assert!(
            sums.contains(" install.sh\n") && !sums.contains("channels"),
            "{sums}"
        );
        let refused = make(&release, &metadata, true).unwrap_err();
        // no build of this test has a program for Windows
        assert!(refused.contains("windows.zip was not built"), "{refused}");
    }

    #[test]
    fn fields_are_filled_and_other_signs_stay() {
        let fields = BTreeMap::from([("a.b-1".to_owned(), "V".to_owned())]);
        let text = "x@.service y@\n<@a.b-1@> @a.b-1@@ \"${o[@]}\" m@n";
        let expected = "x@.service y@\n<V> V@ \"${o[@]}\" m@n";
        assert_eq!(filled(text, &fields).unwrap(), expected);
        assert_eq!(filled("@b@", &fields).unwrap_err(), "unknown field @b@");
    }
}
