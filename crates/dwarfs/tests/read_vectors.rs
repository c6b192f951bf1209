//! Reads every image that the real mkdwarfs made for us, and compares it with what the source tree
//! was: all fields that DwarFS can keep, and every byte.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod manifest;
mod support;

use std::path::Path;

use serde_json::Value;

/// An image of the index of the vectors.
struct Vector {
    name: String,
    file: String,
    manifest: String,
    compare: Vec<String>,
}

fn vectors(root: &Path) -> Vec<Vector> {
    let index = String::from_utf8(support::read_file(&root.join("images/INDEX.jsonl"))).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    index
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["format"] == "dwarfs")
        .map(|line| Vector {
            name: text(&line["name"]),
            file: text(&line["file"]),
            manifest: text(&line["manifest"]),
            compare: line["compare"]
                .as_array()
                .unwrap()
                .iter()
                .map(text)
                .collect(),
        })
        .collect()
}

#[test]
fn every_vector_reads_back_as_its_source() {
    let Some(root) = support::shared("vectors") else {
        return;
    };
    let vectors = vectors(&root);
    assert_eq!(vectors.len(), 31);
    let mut failed = Vec::new();
    for vector in vectors {
        let image = support::open(support::read_file(&root.join("images").join(&vector.file)));
        let image = match image {
            Ok(image) => image,
            Err(error) => {
                failed.push(format!("{}: {error}", vector.name));
                continue;
            }
        };
        let expected = manifest::load(&root.join(&vector.manifest));
        let found = manifest::of_image(&image);
        let options: Vec<_> = vector.compare.iter().map(String::as_str).collect();
        let differences = manifest::Compare::parse(&options).differences(&expected, &found);
        if !differences.is_empty() {
            let some = differences
                .iter()
                .take(10)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n  ");
            failed.push(format!(
                "{}: {} differences\n  {some}",
                vector.name,
                differences.len()
            ));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
