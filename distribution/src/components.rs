//! The list of components of the program, in CycloneDX 1.5.
//!
//! Enters cargo's metadata and Cargo.lock; leaves JSON. **Invariant:** it has each crate that is
//! linked, with its version, licence and checksum, and nothing of the machine that makes it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::{Value, json};

use super::release::Release;
use super::{licences, tree};
use xtask::run;

/// Makes the list.
pub fn bill(metadata: &Value, release: &Release) -> Result<String, String> {
    let linked = licences::linked(metadata);
    let sums = checksums(&tree::text("Cargo.lock")?)?;
    let (mut components, mut own) = (Vec::new(), None);
    let mut references = BTreeMap::new();
    for package in licences::packages(metadata) {
        let id = package["id"].as_str().unwrap_or_default();
        if !linked.contains(id) {
            continue;
        }
        let component = component(package, &sums)?;
        references.insert(id, component["bom-ref"].clone());
        if package["name"] == "sinterfs-cli" {
            own = Some(component);
        } else {
            components.push(component);
        }
    }
    let mut own = own.ok_or("cargo metadata lists no sinterfs-cli")?;
    own["type"] = "application".into();
    let moment = format!("@{}", release.epoch);
    let mut date = Command::new("date");
    let moment = run::output(date.args(["-u", "-d", &moment, "+%Y-%m-%dT%H:%M:%SZ"]))?;
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "timestamp": moment.trim(), "component": own },
        "components": components,
        "dependencies": dependencies(metadata, &references),
    });
    let text = serde_json::to_string_pretty(&bill).map_err(|e| e.to_string())?;
    Ok(text + "\n")
}

fn component(package: &Value, sums: &BTreeMap<(String, String), String>) -> Result<Value, String> {
    let text = |key: &str| {
        let value = package[key].as_str();
        value.ok_or_else(|| format!("a package without {key}: {}", package["id"]))
    };
    let (name, version) = (text("name")?, text("version")?);
    let reference = format!("pkg:cargo/{name}@{version}");
    let mut made = json!({
        "type": "library",
        "bom-ref": reference,
        "name": name,
        "version": version,
        "purl": reference,
        // `/` is an old way to write OR
        "licenses": [{ "expression": text("license")?.replace('/', " OR ") }],
    });
    if let Some(sum) = sums.get(&(name.to_owned(), version.to_owned())) {
        made["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    Ok(made)
}

/// Returns the checksums of Cargo.lock, by name and version.
fn checksums(text: &str) -> Result<BTreeMap<(String, String), String>, String> {
    let lock: toml_edit::Document<&str> =
        toml_edit::Document::parse(text).map_err(|e| format!("Cargo.lock: {e}"))?;
    let packages = lock
        .get("package")
        .and_then(|list| list.as_array_of_tables());
    let packages = packages.ok_or("Cargo.lock lists no packages")?;
    let found = packages.iter().filter_map(|package| {
        let text = |key| Some(package.get(key)?.as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    });
    Ok(found.collect())
}

fn dependencies(metadata: &Value, references: &BTreeMap<&str, Value>) -> Vec<Value> {
    let nodes = metadata["resolve"]["nodes"].as_array();
    let listed = nodes.into_iter().flatten().filter_map(|node| {
        let from = references.get(node["id"].as_str()?)?;
        let all = node["deps"].as_array().into_iter().flatten();
        let on: BTreeSet<&str> = all
            .filter_map(|one| references.get(one["pkg"].as_str()?)?.as_str())
            .collect();
        Some(json!({ "ref": from, "dependsOn": on }))
    });
    listed.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_linked_crate_has_a_licence_and_a_checksum() {
        let metadata = licences::metadata(None).unwrap();
        let release = Release {
            binary: "sinter".into(),
            version: "0.2.0".to_owned(),
            epoch: 86_400,
            output: ".".into(),
            maintainer: "A B <a@b.org>".to_owned(),
            fast: false,
        };
        let text = bill(&metadata, &release).unwrap();
        let bill: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(bill["metadata"]["timestamp"], "1970-01-02T00:00:00Z");
        let components = bill["components"].as_array().unwrap();
        let others = components.iter().filter(|one| {
            let name = one["name"].as_str().unwrap();
            name != "sinterfs" && !name.starts_with("sinterfs-")
        });
        let mut count = 0;
        for one in others {
            assert_eq!(
                one["hashes"][0]["content"].as_str().unwrap().len(),
                64,
                "{one}"
            );
            count += 1;
        }
        assert!(count > 50, "{count}");
        // a dependency of tests only
        assert!(!components.iter().any(|one| one["name"] == "proptest"));
        let all = bill["dependencies"].as_array().unwrap();
        assert_eq!(all.len(), components.len() + 1);
    }
}
