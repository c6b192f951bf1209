//! The data that the page's script draws, as JSON inside of HTML.
//!
//! **Invariant:** no character in it means anything to HTML.

use serde_json::{Map, Value};
use sinterfs::ops::{Usage, UsageKind, UsageNode};

use crate::text;

/// Writes the measurements as JSON.
pub fn json(usage: &Usage) -> String {
    let numbers = [
        ("image", usage.image_bytes),
        ("blocks", usage.block_bytes),
        ("unused", usage.unused_bytes),
        ("files", usage.file_bytes),
        ("holes", usage.hole_bytes),
        ("distinct", usage.distinct_bytes),
    ];
    let mut all: Map<String, Value> = numbers
        .into_iter()
        .map(|(name, number)| (name.to_owned(), number.into()))
        .collect();
    all.insert("tree".to_owned(), tree(&usage.root));
    harmless(&Value::Object(all).to_string())
}

fn tree(node: &UsageNode) -> Value {
    let what = match node.what {
        UsageKind::Directory => "directory",
        UsageKind::File => "file",
        UsageKind::Rest => "rest",
        UsageKind::Unused => "unused",
        UsageKind::Metadata => "metadata",
    };
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("n", text::name(&node.name).into());
    put("w", what.into());
    put("f", node.files.into());
    put("s", node.size.into());
    put("c", node.stored.into());
    if !node.children.is_empty() {
        put("k", node.children.iter().map(tree).collect());
    }
    Value::Object(fields)
}

/// Escapes characters that could end the element around the JSON; they occur in strings only.
fn harmless(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => text.push(c),
        }
    }
    text
}
