//! Which of our crates imports which: cargo's metadata against the floor plan.

use std::collections::BTreeMap;
use std::path::Path;

use crate::workspace;

use super::lists::{ARROWS, TEST_CRATES};

/// Checks the dependencies of all crates of the workspace.
pub fn arrows(root: &Path) -> Result<Vec<String>, String> {
    let metadata = workspace::metadata(root)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    Ok(compare(&metadata, ARROWS))
}

fn compare(metadata: &serde_json::Value, arrows: &[(&str, &[&str])]) -> Vec<String> {
    let allowed: BTreeMap<_, _> = arrows.iter().copied().collect();
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
            if allowed.contains_key(to) && !may.contains(&to) && !for_tests {
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
        let broken = compare(&metadata, &[("low", &[]), ("high", &["low"])]);
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert_eq!(broken[0], "low must not import high");
        assert!(broken[1].starts_with("new:"));
    }
}
