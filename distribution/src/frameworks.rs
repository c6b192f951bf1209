//! Stubs of the two frameworks of macOS that the program is linked with, where there is no SDK.
//!
//! In: the sources of the crates that declare the frameworks' functions. Out: text files (`.tbd`)
//! with the names that they declare and with the place of the library on a Mac, as a linker reads
//! them. **Invariant:** what is linked is only a name; the code comes from the system that runs it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::release::path_error;

/// A framework and the crate that declares its functions.
const FRAMEWORKS: [(&str, &str); 2] = [
    ("CoreFoundation", "core-foundation-sys"),
    ("Security", "security-framework-sys"),
];

/// Writes the stubs below a directory and returns the directory that the linker looks into.
pub fn stubs(metadata: &Value, dir: &Path) -> Result<PathBuf, String> {
    let dir = dir.join("frameworks");
    for (framework, name) in FRAMEWORKS {
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let mut manifests = packages.filter(|package| package["name"] == name);
        let manifest = manifests.find_map(|package| package["manifest_path"].as_str());
        let manifest = manifest.ok_or_else(|| format!("{name} is not linked"))?;
        let mut names = Vec::new();
        declared(&Path::new(manifest).with_file_name("src"), &mut names)?;
        names.sort_unstable();
        names.dedup();
        let folder = dir.join(format!("{framework}.framework"));
        fs::create_dir_all(&folder).map_err(|e| path_error(&folder, &e))?;
        let path = folder.join(format!("{framework}.tbd"));
        fs::write(&path, stub(framework, &names)).map_err(|e| path_error(&path, &e))?;
    }
    Ok(dir)
}

/// Adds the names of all public functions and variables of a crate.
fn declared(dir: &Path, names: &mut Vec<String>) -> Result<(), String> {
    let entries = fs::read_dir(dir).map_err(|e| path_error(dir, &e))?;
    for entry in entries {
        let path = entry.map_err(|e| path_error(dir, &e))?.path();
        if path.is_dir() {
            declared(&path, names)?;
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|e| path_error(&path, &e))?;
        names.extend(text.lines().filter_map(name).map(str::to_owned));
    }
    Ok(())
}

/// Returns the name that a line of Rust declares as foreign functions are declared.
fn name(line: &str) -> Option<&str> {
    let line = line.trim_start().strip_prefix("pub ")?;
    let rest = line
        .strip_prefix("fn ")
        .or_else(|| line.strip_prefix("static "))?;
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let name = rest.split(|char| !is_part(char)).next()?;
    Some(name).filter(|name| !name.is_empty())
}

fn stub(framework: &str, names: &[String]) -> String {
    let targets = "[ x86_64-macos, arm64-macos ]";
    let place = format!("/System/Library/Frameworks/{framework}.framework/Versions/A/{framework}");
    let mut text = format!(
        "--- !tapi-tbd\ntbd-version: 4\ntargets: {targets}\ninstall-name: '{place}'\nexports:\n  \
         - targets: {targets}\n    symbols: [ "
    );
    for (number, name) in names.iter().enumerate() {
        let comma = if number == 0 { "" } else { ",\n      " };
        let _ = write!(text, "{comma}_{name}");
    }
    text.push_str(" ]\n...\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_declarations() {
        let names: Vec<_> = [
            "    pub fn SecItemAdd(attributes: CFDictionaryRef) -> OSStatus;",
            "    pub static kSecClass: CFStringRef;",
            "pub type SecKeyRef = *mut OpaqueSecKeyRef;",
            "fn private() {}",
            "    pub const errSecIO: OSStatus = -36;",
        ]
        .into_iter()
        .filter_map(name)
        .collect();
        assert_eq!(names, ["SecItemAdd", "kSecClass"]);
        let names: Vec<_> = names.into_iter().map(str::to_owned).collect();
        let text = stub("Security", &names);
        assert!(text.contains("Security.framework/Versions/A/Security'"));
        assert!(text.contains("symbols: [ _SecItemAdd,\n      _kSecClass ]\n..."));
    }
}
