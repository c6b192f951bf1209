//! The configuration of a container image (command, environment, user ..) in an image made of it.
//!
//! In: the configuration; out: what of it is about the files and how they are run, as JSON in an
//! extended attribute of the root, which every format keeps that has such attributes; and from it
//! rows for people and the configuration of a new container image. Spec: OCI image-spec 1.1, "Image
//! Configuration"; why an attribute: ADR 0028. **Invariant:** the attribute is the same whether the
//! image was stored as OCI or Docker stores it; what is not JSON is shown as such and never written
//! to a container image.

use serde_json::{Map, Value};
use sinterfs_model::{Error, Result};

use crate::image::{Image, InfoRows, InfoValue};

/// The extended attribute of the root that holds the configuration.
pub const CONTAINER_ATTRIBUTE: &str = "user.oci.image.config";

/// The most bytes of a configuration: those of an extended attribute of Linux.
pub(crate) const LONGEST_CONFIG: usize = 64 << 10;

/// What is kept: all but the layers and their history, and what Docker adds for itself.
const OF_IMAGE: [&str; 5] = ["architecture", "author", "created", "os", "variant"];

/// What is kept of how it is run: the fields of OCI, and those of Docker that its images have.
const OF_RUN: [&str; 13] = [
    "ArgsEscaped",
    "Cmd",
    "Entrypoint",
    "Env",
    "ExposedPorts",
    "Healthcheck",
    "Labels",
    "OnBuild",
    "Shell",
    "StopSignal",
    "User",
    "Volumes",
    "WorkingDir",
];

/// Returns what is kept of a configuration, as JSON. `Corrupt` for what is no configuration.
pub(crate) fn kept(config: &[u8]) -> Result<Vec<u8>> {
    let wrong = || Error::corrupt("the configuration of the container image is not a JSON object");
    let config: Value = serde_json::from_slice(config).map_err(|error| wrong().because(error))?;
    let picked = |from: &Value, names: &[&str]| -> Map<String, Value> {
        let field = |&name: &&str| Some((name.to_owned(), from.get(name)?.clone()));
        let fields = names.iter().filter_map(field);
        fields.filter(|(_, value)| !is_empty(value)).collect()
    };
    if !config.is_object() {
        return Err(wrong());
    }
    let mut all = picked(&config, &OF_IMAGE);
    let run = config.get("config").map(|run| picked(run, &OF_RUN));
    if let Some(run) = run.filter(|run| !run.is_empty()) {
        all.insert("config".to_owned(), Value::Object(run));
    }
    Ok(Value::Object(all).to_string().into_bytes())
}

/// Returns the configuration that an image was made with; `None` if there is none.
pub(crate) fn stored_config(image: &dyn sinterfs_model::Image) -> Result<Option<Vec<u8>>> {
    let mut xattrs = image.xattrs(image.info().root)?.into_iter();
    let found = xattrs.find(|(name, _)| **name == *CONTAINER_ATTRIBUTE.as_bytes());
    Ok(found.map(|(_, value)| value))
}

/// Returns the platform and the command of the container image that an image was made of; `None` if
/// it was made of something else.
///
/// # Errors
/// Those of reading the attributes of the root.
pub fn container_rows(image: &Image) -> Result<Option<InfoValue>> {
    let Some(config) = stored_config(&**image.raw())? else {
        return Ok(None);
    };
    let Ok(Value::Object(config)) = serde_json::from_slice(&config) else {
        return Ok(Some(InfoValue::from(
            "a configuration that is not a JSON object",
        )));
    };
    let of_image = OF_IMAGE
        .iter()
        .filter_map(|&name| Some((name, config.get(name)?)));
    let run = config.get("config").and_then(Value::as_object);
    let of_run = run.into_iter().flatten();
    let of_run = of_run.map(|(name, value)| (name.as_str(), value));
    let rows = of_image.chain(of_run).filter(|(_, value)| !is_empty(value));
    let rows: InfoRows = rows
        .map(|(name, value)| (shown(name), row(value)))
        .collect();
    Ok(Some(InfoValue::Map(rows)))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn row(value: &Value) -> InfoValue {
    match value {
        Value::Null => InfoValue::from("null"),
        Value::Bool(flag) => InfoValue::from(*flag),
        Value::Number(number) => match number.as_u64() {
            Some(number) => InfoValue::from(number),
            None => InfoValue::from(number.to_string()),
        },
        Value::String(text) => InfoValue::from(text.as_str()),
        Value::Array(all) => InfoValue::List(all.iter().map(row).collect()),
        // ports and volumes are names with nothing behind them
        Value::Object(all) if all.values().all(is_empty) => InfoValue::List(
            all.keys()
                .map(|name| InfoValue::from(name.as_str()))
                .collect(),
        ),
        Value::Object(all) => {
            let rows = all.iter().map(|(name, value)| (shown(name), row(value)));
            InfoValue::Map(rows.collect())
        }
    }
}

/// Returns a name without characters that control a terminal.
fn shown(name: &str) -> String {
    let escaped = |c: char| {
        if c.is_control() {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    name.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_without_control_characters() {
        assert_eq!(shown("a\x1b[31m\u{9b}b"), "a\\u{1b}[31m\\u{9b}b");
    }

    #[test]
    fn what_is_kept_is_about_files_and_how_they_are_run() {
        let docker = br#"{"id": "x", "os": "linux", "architecture": "arm64", "variant": "v8",
            "container_config": {"Cmd": ["y"]}, "config": {"Cmd": ["z"], "Hostname": "h",
            "Env": ["A=1"], "User": "", "Volumes": null}, "rootfs": {"diff_ids": ["d"]},
            "history": [{"created_by": "make"}]}"#;
        let text = String::from_utf8(kept(docker).unwrap()).unwrap();
        let expected = "{\"architecture\":\"arm64\",\"config\":{\"Cmd\":[\"z\"],\
            \"Env\":[\"A=1\"]},\"os\":\"linux\",\"variant\":\"v8\"}";
        assert_eq!(text, expected);
        assert_eq!(kept(text.as_bytes()).unwrap(), text.as_bytes());
        assert_eq!(kept(b"{\"config\": {\"User\": \"\"}}").unwrap(), b"{}");
        for wrong in [&b""[..], b"[]", b"{", b"\xff", b"\"x\""] {
            assert!(kept(wrong).is_err());
        }
    }

    #[test]
    fn values_are_rows() {
        let json = serde_json::json!({
            "Cmd": ["a", "b"], "ExposedPorts": { "80/tcp": {} }, "Labels": { "x": "y" },
            "ArgsEscaped": true, "StopTimeout": 10, "Odd": -1.5,
        });
        let InfoValue::Map(rows) = row(&json) else {
            panic!("{json}");
        };
        let get = |name: &str| {
            rows.iter()
                .find(|(row, _)| row == name)
                .map(|(_, value)| value)
        };
        let list = |texts: &[&str]| InfoValue::List(texts.iter().map(|&t| t.into()).collect());
        assert_eq!(get("Cmd"), Some(&list(&["a", "b"])));
        assert_eq!(get("ExposedPorts"), Some(&list(&["80/tcp"])));
        assert_eq!(get("ArgsEscaped"), Some(&InfoValue::Flag(true)));
        assert_eq!(get("StopTimeout"), Some(&InfoValue::Number(10)));
        assert_eq!(get("Odd"), Some(&InfoValue::from("-1.5")));
        assert_eq!(
            get("Labels"),
            Some(&InfoValue::Map(vec![("x".to_owned(), "y".into())]))
        );
    }
}
