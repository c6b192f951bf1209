//! Checks each channel's file by the channel's tool, where it is installed.
//!
//! Enters the directory of the channels; prints what checked each file. **Invariant:** a tool that
//! finds something is an error; one that is not installed is named.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::release::path_error;
use xtask::run::{self, Outcome};

/// Checks all files; `output` has the installer.
pub fn check(channels: &Path, output: &Path) -> Outcome {
    let installer = output.join("install.sh");
    by(
        "sh",
        "install.sh",
        Command::new("sh").arg("-n").arg(&installer),
    )?;
    by(
        "shellcheck",
        "install.sh",
        Command::new("shellcheck").arg(&installer),
    )?;
    let apkbuild = channels.join("alpine/APKBUILD");
    by("sh", "APKBUILD", Command::new("sh").arg("-n").arg(apkbuild))?;
    let spec = channels.join("rpm/sinterfs.spec");
    by(
        "rpmspec",
        "sinterfs.spec",
        Command::new("rpmspec").arg("--parse").arg(spec),
    )?;
    let formula = channels.join("homebrew/sinterfs.rb");
    by(
        "ruby",
        "sinterfs.rb",
        Command::new("ruby").arg("-c").arg(formula),
    )?;
    for name in ["flake.nix", "module.nix", "package.nix"] {
        let path = channels.join("nix").join(name);
        let mut nix = Command::new("nix-instantiate");
        by("nix-instantiate", name, nix.arg("--parse").arg(path))?;
    }
    source_info(&channels.join("arch"))?;
    scoop(&channels.join("scoop/sinterfs.json"))?;
    winget(&channels.join("winget"))?;
    println!("== Dockerfile: checked by nothing: `buildah build` needs the program beside it");
    Ok(())
}

/// Runs a tool on a file, or says that it is not installed; returns what it prints.
fn by(tool: &str, file: &str, command: &mut Command) -> Result<Option<String>, String> {
    let mut find = Command::new("sh");
    find.args(["-c", "command -v \"$0\"", tool]);
    if run::output(&mut find).is_err() {
        println!("== {file}: not checked: no {tool} here");
        return Ok(None);
    }
    let printed = run::output(command).map_err(|e| format!("{file}: {tool}: {e}"))?;
    println!("== {file}: checked by {tool}");
    Ok(Some(printed))
}

/// Writes .SRCINFO, which the Arch User Repository wants beside PKGBUILD.
fn source_info(dir: &Path) -> Outcome {
    let mut makepkg = Command::new("makepkg");
    if run::output(Command::new("id").arg("-u"))?.trim() == "0" {
        // it refuses to run as root
        makepkg = Command::new("setpriv");
        makepkg.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "makepkg",
        ]);
        let temporary = std::env::temp_dir();
        for variable in ["BUILDDIR", "PKGDEST", "SRCDEST", "SRCPKGDEST"] {
            makepkg.env(variable, &temporary);
        }
    }
    // it looks for pacman and does not call it
    makepkg.env("PACMAN", "true");
    makepkg.arg("--printsrcinfo").current_dir(dir);
    if let Some(text) = by("makepkg", "PKGBUILD", &mut makepkg)? {
        if !text.contains("pkgname = sinterfs") {
            return Err(format!("PKGBUILD: makepkg prints something else:\n{text}"));
        }
        let path = dir.join(".SRCINFO");
        fs::write(&path, text).map_err(|e| path_error(&path, &e))?;
    }
    Ok(())
}

fn scoop(path: &Path) -> Outcome {
    let text = fs::read_to_string(path).map_err(|e| path_error(path, &e))?;
    let manifest: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    let file = &manifest["architecture"]["64bit"];
    is_download(file["url"].as_str(), file["hash"].as_str()).map_err(|e| format!("scoop: {e}"))?;
    println!("== sinterfs.json: checked for its fields");
    Ok(())
}

/// Checks the three manifests: they are read by another reader of YAML if there is one, and agree.
fn winget(dir: &Path) -> Outcome {
    let (mut versions, mut installer) = (Vec::new(), String::new());
    for end in ["", ".locale.en-US", ".installer"] {
        let path = dir.join(format!("SinterFS.Sinter{end}.yaml"));
        let mut ruby = Command::new("ruby");
        ruby.args([
            "-ryaml",
            "-e",
            "YAML.safe_load(File.read(ARGV[0])).fetch('ManifestType')",
        ]);
        by("ruby", &format!("winget{end}"), ruby.arg(&path))?;
        let text = fs::read_to_string(&path).map_err(|e| path_error(&path, &e))?;
        versions.push(
            value(&text, "PackageVersion")
                .unwrap_or_default()
                .to_owned(),
        );
        installer = text;
    }
    if versions
        .iter()
        .any(|version| *version != versions[0] || version.is_empty())
    {
        return Err(format!("winget: versions differ: {versions:?}"));
    }
    let (url, sum) = (
        value(&installer, "InstallerUrl"),
        value(&installer, "InstallerSha256"),
    );
    is_download(url, sum).map_err(|e| format!("winget: {e}"))
}

/// Returns the value of a line `name: value`.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
    Some(value.trim_matches('"'))
}

fn is_download(url: Option<&str>, sum: Option<&str>) -> Outcome {
    let (url, sum) = (url.unwrap_or_default(), sum.unwrap_or_default());
    if !url.starts_with("https://") {
        return Err(format!("the address of the file is not https: `{url}`"));
    }
    if sum.len() != 64 || !sum.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(format!("no SHA-256 of the file: `{sum}`"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_have_a_safe_address_and_a_checksum() {
        let sum = "0a".repeat(32);
        assert!(is_download(Some("https://a.invalid/b"), Some(&sum)).is_ok());
        for (url, sum) in [
            ("http://a", &*sum),
            ("", &sum),
            ("https://a", "0a"),
            ("https://a", ""),
        ] {
            assert!(is_download(Some(url), Some(sum)).is_err(), "{url} {sum}");
        }
        assert!(is_download(None, None).is_err());
    }

    #[test]
    fn values_of_lines() {
        let text = "A: \"1\"\nList:\n  - Url: https://b\n    Sum: c\n";
        assert_eq!(value(text, "A"), Some("1"));
        assert_eq!(value(text, "Url"), Some("https://b"));
        assert_eq!(value(text, "Sum"), Some("c"));
        assert_eq!(value(text, "B"), None);
    }
}
