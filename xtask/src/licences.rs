//! Licences of every crate that is linked, against the allow list of deny.toml; its exceptions are
//! tools of tests.

use xtask::run::{self, Outcome};

/// The systems that programs are made for, as in deny.toml: others link other crates.
const PLATFORMS: [&str; 3] = [
    "x86_64-unknown-linux-gnu",
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-gnu",
];

/// Checks that each crate can be used under allowed licences alone.
pub fn licences() -> Outcome {
    println!("== licences");
    let policy = std::fs::read_to_string(run::root().join("deny.toml"));
    let policy = policy.map_err(|e| e.to_string())?;
    let allowed = allow_list(&policy)?;
    let mut command = run::cargo();
    command.args(["metadata", "--format-version=1", "--locked"]);
    for platform in PLATFORMS {
        command.arg(format!("--filter-platform={platform}"));
    }
    let metadata = run::output(&mut command)?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    let mut broken = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        match package["license"].as_str() {
            Some(expression) if satisfied(expression, &allowed) => {}
            Some(expression) if is_exception(name, expression, &policy) => {}
            Some(expression) => broken.push(format!("{name}: {expression}")),
            None => broken.push(format!("{name}: no licence given")),
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(format!("not allowed:\n  {}", broken.join("\n  ")))
    }
}

fn allow_list(policy: &str) -> Result<Vec<String>, String> {
    let list = policy
        .split_once("allow = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .ok_or("deny.toml has no allow list")?
        .0;
    Ok(list
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect())
}

/// Returns whether deny.toml allows a crate its licence although others may not have it.
fn is_exception(name: &str, licence: &str, policy: &str) -> bool {
    let wanted = format!("{{ crate = \"{name}\", allow = [\"{licence}\"] }}");
    let list = policy
        .lines()
        .find(|line| line.starts_with("exceptions = "));
    list.is_some_and(|list| list.contains(&wanted))
}

/// Returns whether an SPDX expression can be met; `/` is an old way to write OR.
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    // AND binds tighter in SPDX, but `(A OR B) AND C` is what crates write: every AND part must
    // hold, any OR inside it will do. That reads `A OR B AND C` too strictly, never too loosely.
    expression.split(" AND ").all(|part| {
        part.split(" OR ").any(|licence| {
            let licence = licence.split_whitespace().collect::<Vec<_>>().join(" ");
            allowed.contains(&licence)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{is_exception, satisfied};

    #[test]
    fn exceptions_are_of_one_crate_and_licence() {
        let policy = "exceptions = [{ crate = \"a\", allow = [\"MPL-2.0\"] }]\n";
        assert!(is_exception("a", "MPL-2.0", policy));
        assert!(!is_exception("b", "MPL-2.0", policy));
        assert!(!is_exception("a", "GPL-2.0", policy));
    }

    #[test]
    fn expressions() {
        let allowed = [
            "MIT".to_owned(),
            "BSD-3-Clause".to_owned(),
            "Unicode-3.0".to_owned(),
        ];
        for good in [
            "MIT",
            "GPL-2.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR X) AND Unicode-3.0",
        ] {
            assert!(satisfied(good, &allowed), "{good}");
        }
        for bad in ["GPL-3.0-only", "MIT AND GPL-2.0", "LGPL-2.1", ""] {
            assert!(!satisfied(bad, &allowed), "{bad}");
        }
    }
}
