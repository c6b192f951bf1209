//! Which of our crates imports which: cargo's metadata against the floor plan.
//!
//! A crate of a format may import what is below all formats, and the library may import whatever is
//! not above it; the floor plan lists the others.

use std::collections::BTreeMap;
use std::path::Path;

use crate::workspace;

use super::crates::Crates;
use super::lists::{ABOVE_THE_LIBRARY, ARROWS, BELOW_FORMATS, TEST_CRATES};

/// Which of our crates a crate may import, by its name.
type FloorPlan = BTreeMap<String, Vec<String>>;

/// Checks the dependencies of all crates of the workspace.
pub fn arrows(root: &Path, crates: &Crates) -> Result<Vec<String>, String> {
    let metadata = workspace::metadata(root)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    Ok(compare(&metadata, &plan(crates)))
}

/// Completes the listed arrows by those of formats and of the library.
fn plan(crates: &Crates) -> FloorPlan {
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let package = |folder: &str| format!("sinterfs-{folder}");
    let formats = crates.formats.iter();
    let mut plan: FloorPlan = formats
        .map(|folder| (package(folder), owned(BELOW_FORMATS)))
        .collect();
    let below = crates.without(|folder| ABOVE_THE_LIBRARY.contains(&folder));
    plan.insert(
        "sinterfs".to_owned(),
        below.into_iter().map(package).collect(),
    );
    plan.extend(
        ARROWS
            .iter()
            .map(|(name, may)| ((*name).to_owned(), owned(may))),
    );
    plan
}

fn compare(metadata: &serde_json::Value, allowed: &FloorPlan) -> Vec<String> {
    let mut broken = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(may) = allowed.get(name) else {
            broken.push(format!("{name}: a crate without arrows: add it to ARROWS"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let to = dependency["name"].as_str().unwrap_or_default();
            let for_tests = dependency["kind"].as_str() == Some("dev") && TEST_CRATES.contains(&to);
            let is_allowed = may.iter().any(|name| name == to);
            if allowed.contains_key(to) && !is_allowed && !for_tests {
                broken.push(format!("{name} must not import {to}"));
            }
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arrow_up_and_a_crate_without_arrows_are_found() {
        let metadata = serde_json::json!({"packages": [
            {"name": "low", "dependencies": [{"name": "high", "kind": null}]},
            {"name": "high", "dependencies": [{"name": "low", "kind": null}]},
            {"name": "new", "dependencies": []},
        ]});
        let plan = [("low", vec![]), ("high", vec!["low".to_owned()])];
        let plan = plan.map(|(name, may)| (name.to_owned(), may));
        let broken = compare(&metadata, &FloorPlan::from(plan));
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert_eq!(broken[0], "low must not import high");
        assert!(broken[1].starts_with("new:"));
    }

    #[test]
    fn formats_and_the_library_have_arrows_without_being_listed() {
        let crates = Crates::of(
            "crates/newfs/Cargo.toml\ncrates/block/Cargo.toml\ncrates/cli/Cargo.toml",
            "docs/formats/newfs.md",
        );
        let plan = plan(&crates);
        assert_eq!(plan["sinterfs-newfs"], BELOW_FORMATS);
        assert_eq!(plan["sinterfs"], ["sinterfs-newfs", "sinterfs-block"]);
    }
}
