//! The licences of everything linked into the program, with the texts that have to be passed on.
//!
//! Enters cargo's metadata and the files of each package. **Invariant:** each crate is named with
//! its licence; a text that deny.toml does not allow (the other choice of a dual licence) is left
//! out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use xtask::run;

/// Depth in a crate up to which licences of bundled C libraries are looked for.
const DEPTH: usize = 3;

/// Prefixes of the names of licence files, in capitals.
const NAMES: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// The licence of musl, which the target links and no manifest names.
const MUSL: &str = include_str!("musl.txt");

/// Returns cargo's metadata for a target; by default for that of the static program.
pub fn metadata(target: Option<&str>) -> Result<Value, String> {
    let own = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    let target = target.unwrap_or(&own);
    let mut command = run::cargo();
    command.args(["metadata", "--format-version=1", "--locked"]);
    command.args(["--filter-platform", target]);
    serde_json::from_str(&run::output(&mut command)?).map_err(|e| e.to_string())
}

/// Returns the version of the program.
pub fn version(metadata: &Value) -> Result<String, String> {
    let program = package(metadata, "sinterfs-cli");
    let version = program.and_then(|package| package["version"].as_str());
    version
        .map(str::to_owned)
        .ok_or("no version of sinterfs-cli".into())
}

/// Returns the package of a name.
pub fn package<'a>(metadata: &'a Value, name: &str) -> Option<&'a Value> {
    packages(metadata).find(|package| package["name"] == name)
}

/// Returns the text to ship with the program: all linked crates, their licences and texts.
pub fn texts(metadata: &Value) -> Result<String, String> {
    let linked = linked(metadata);
    let mut list = String::new();
    let mut by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut plain: BTreeMap<String, String> = BTreeMap::new();
    for package in packages(metadata) {
        let is_linked = package["id"].as_str().is_some_and(|id| linked.contains(id));
        let (Some(name), Some(version)) = (package["name"].as_str(), package["version"].as_str())
        else {
            continue;
        };
        if !is_linked || package["source"].is_null() {
            continue;
        }
        let title = format!("{name} {version}");
        let licence = package["license"].as_str().unwrap_or("not given");
        // writing to a string cannot fail
        let _ = writeln!(list, "  {title}: {licence}");
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        for text in files(manifest.parent().unwrap_or(manifest))? {
            let key: String = text.split_whitespace().collect();
            plain.entry(key.clone()).or_insert(text);
            by_text.entry(key).or_default().insert(title.clone());
        }
    }
    if list.is_empty() {
        return Err("cargo metadata lists no linked crates".to_owned());
    }
    let mut all = format!(
        "sinter is under the MIT licence or the Apache License 2.0, at your choice. \
         The program contains:\n\n\
         {list}  musl libc: MIT\n  the standard library of Rust: MIT OR Apache-2.0\n\n\
         Their licences, where there is a choice the ones that allow most:\n"
    );
    let line = "-".repeat(80);
    let mut sections: Vec<_> = by_text.iter().collect();
    sections.sort_by_key(|(_, titles)| *titles);
    for (key, titles) in sections {
        let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
        let text = plain.get(key).map_or("", |text| text.trim_end());
        let _ = write!(all, "\n{line}\n{}\n{line}\n{text}\n", titles.join(", "));
    }
    let _ = write!(all, "\n{line}\nmusl libc\n{line}\n{}\n", MUSL.trim_end());
    Ok(all)
}

/// Returns the packages of cargo's metadata.
pub fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    metadata["packages"].as_array().into_iter().flatten()
}

/// Finds the packages that are linked into the program, without those of its build and its tests.
pub fn linked(metadata: &Value) -> BTreeSet<&str> {
    let macros: BTreeSet<&str> = packages(metadata)
        .filter(|package| is_macro(package))
        .filter_map(|package| package["id"].as_str())
        .collect();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let program = packages(metadata).find(|package| package["name"] == "sinterfs-cli");
    let mut left: Vec<&str> = program
        .and_then(|package| package["id"].as_str())
        .into_iter()
        .collect();
    let mut found = BTreeSet::new();
    while let Some(id) = left.pop() {
        if macros.contains(id) || !found.insert(id) {
            continue;
        }
        let node = nodes.get(id).into_iter();
        for dependency in node.flat_map(|node| node["deps"].as_array()).flatten() {
            let kinds = dependency["dep_kinds"].as_array();
            let is_linked = kinds
                .into_iter()
                .flatten()
                .any(|kind| kind["kind"].is_null());
            left.extend(dependency["pkg"].as_str().filter(|_| is_linked));
        }
    }
    found
}

/// Returns whether a package is a procedural macro.
fn is_macro(package: &Value) -> bool {
    let targets = package["targets"].as_array().into_iter().flatten();
    let mut kinds = targets.flat_map(|target| target["kind"].as_array().into_iter().flatten());
    kinds.any(|kind| kind == "proc-macro")
}

/// Reads the licences in a crate, including those of libraries that it bundles.
fn files(dir: &Path) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let mut left = vec![(dir.to_owned(), 0)];
    while let Some((dir, depth)) = left.pop() {
        let mut entries: Vec<PathBuf> = std::fs::read_dir(&dir)
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(|e| format!("{}: {e}", dir.display()))?;
        entries.sort();
        for path in entries {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_uppercase();
            if path.is_dir() {
                left.extend((depth < DEPTH).then_some((path, depth + 1)));
            } else if NAMES.iter().any(|start| name.starts_with(start)) && !name.ends_with(".SH") {
                let text = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
                let text = String::from_utf8_lossy(&text).into_owned();
                found.extend(is_chosen(&text).then_some(text));
            }
        }
    }
    Ok(found)
}

/// Returns whether a text is of a licence that we choose.
fn is_chosen(text: &str) -> bool {
    let start: String = text.chars().take(400).collect();
    let start = start.split_whitespace().collect::<Vec<_>>().join(" ");
    !start.contains("GNU GENERAL PUBLIC LICENSE") && !start.contains("GNU LESSER GENERAL PUBLIC")
}
