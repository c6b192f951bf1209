//! The house rules that no linter knows: which crate may import which, where `unsafe` may stand,
//! how a file opens, and the names that are not used.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::run::{self, Outcome};

/// Which of our crates each may import, straight from the floor plan in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("sinterfs-model", &[]),
    ("sinterfs-block", &["sinterfs-model"]),
    ("sinterfs-dwarfs", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-squashfs", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-erofs", &["sinterfs-model", "sinterfs-block"]),
    ("sinterfs-archive", &["sinterfs-model"]),
    (
        "sinterfs-pipeline",
        &["sinterfs-model", "sinterfs-block", "sinterfs-archive"],
    ),
    ("sinterfs-ops", &["sinterfs-model", "sinterfs-archive"]),
    ("sinterfs-mount", &["sinterfs-model"]),
    (
        "sinterfs",
        &[
            "sinterfs-model",
            "sinterfs-block",
            "sinterfs-archive",
            "sinterfs-dwarfs",
            "sinterfs-squashfs",
            "sinterfs-erofs",
            "sinterfs-pipeline",
            "sinterfs-ops",
            "sinterfs-mount",
        ],
    ),
    ("sinterfs-cli", &["sinterfs"]),
    ("xtask", &[]),
    // tests only: an in-memory image and tree comparison
    ("sinterfs-testkit", &["sinterfs-model"]),
];

/// Crates that only tests import.
const TEST_CRATES: &[&str] = &["sinterfs-testkit"];

/// Files that may allow `unsafe_code`, each with its reason in the file.
const UNSAFE_FILES: &[&str] = &["crates/sinterfs/src/allocator.rs"];

/// Folder and file names that say nothing.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "misc",
];

const MAX_LINES: usize = 500;

/// Checks all house rules and lists everything that breaks one.
pub fn tidy() -> Outcome {
    println!("== tidy");
    let mut broken = arrows()?;
    for file in rust_files()? {
        broken.extend(house_rules(&file)?);
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("\n  {}", broken.join("\n  ")))
    }
}

fn arrows() -> Result<Vec<String>, String> {
    let metadata = run::output(run::cargo().args(["metadata", "--format-version=1", "--no-deps"]))?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    let allowed: BTreeMap<_, _> = ARROWS.iter().copied().collect();
    let mut broken = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(may) = allowed.get(name) else {
            broken.push(format!(
                "{name}: a crate without arrows: add it to xtask/src/tidy.rs"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev") && TEST_CRATES.contains(&to);
            if allowed.contains_key(to) && !may.contains(&to) && !for_tests {
                broken.push(format!("{name} must not import {to}"));
            }
        }
    }
    Ok(broken)
}

fn rust_files() -> Result<Vec<PathBuf>, String> {
    let listing = run::output(
        std::process::Command::new("git")
            .args([
                "ls-files",
                "--cached",
                "--others",
                "--exclude-standard",
                "*.rs",
            ])
            .current_dir(run::root()),
    )?;
    Ok(listing
        .lines()
        .map(PathBuf::from)
        .filter(|f| run::root().join(f).exists())
        .collect())
}

fn house_rules(file: &Path) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(run::root().join(file)).map_err(|e| e.to_string())?;
    let shown = file.display();
    let mut broken = Vec::new();
    if !text.starts_with("//!") {
        broken.push(format!(
            "{shown}: does not open with what the file is (//!)"
        ));
    }
    let code = text
        .find("#[cfg(test)]\nmod tests {")
        .map_or(&text[..], |end| &text[..end]);
    let lines = code.lines().count();
    if lines > MAX_LINES && !is_test(file) {
        broken.push(format!(
            "{shown}: {lines} lines; a file with one job has at most {MAX_LINES}"
        ));
    }
    let permission = concat!("allow(", "unsafe_code");
    let text_in_one = text.split_whitespace().collect::<String>();
    if text_in_one.contains(permission)
        && !UNSAFE_FILES
            .iter()
            .any(|allowed| file == Path::new(allowed))
    {
        broken.push(format!(
            "{shown}: unsafe is not allowed here (xtask/src/tidy.rs lists where)"
        ));
    }
    for part in file.iter().filter_map(|part| part.to_str()) {
        if EMPTY_NAMES.contains(&part.trim_end_matches(".rs")) {
            broken.push(format!("{shown}: the name `{part}` says nothing"));
        }
    }
    Ok(broken)
}

fn is_test(file: &Path) -> bool {
    file.iter().any(|part| part == "tests") || file.file_name().is_some_and(|n| n == "tests.rs")
}
