//! `site`: the documentation as a site with search, by mdBook.
//!
//! Enters docs/SUMMARY.md and the documents that it lists; leaves `target/site`. **Invariant:**
//! each document that is listed is a page, and each file that one links to is part of the site.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::run::{self, Outcome};

/// The version that is installed where none is in PATH.
const VERSION: &str = "0.5.4";

const BOOK: &str = "\
[book]
title = \"SinterFS\"
language = \"en\"
src = \"pages\"

[output.html]
default-theme = \"light\"
preferred-dark-theme = \"navy\"
no-section-label = true
additional-css = [\"wide.css\"]
";

/// Tables of commands need room.
const STYLE: &str = ":root { --content-max-width: 60rem; }\n";

/// Builds the site.
pub fn site() -> Outcome {
    let mdbook = mdbook()?;
    let work = run::target().join("site-source");
    let out = run::target().join("site");
    for dir in [&work, &out] {
        if dir.exists() {
            fs::remove_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
    }
    let summary = read("docs/SUMMARY.md")?;
    // the contents are above the folder docs, so that README is part of the site
    let contents = summary.replace("](", "](docs/").replace("](docs/../", "](");
    put(&work.join("pages/SUMMARY.md"), contents.as_bytes())?;
    put(&work.join("book.toml"), BOOK.as_bytes())?;
    put(&work.join("wide.css"), STYLE.as_bytes())?;
    let listed = links("SUMMARY.md", &contents);
    let mut left: Vec<PathBuf> = listed.iter().cloned().collect();
    let mut seen = BTreeSet::new();
    while let Some(path) = left.pop() {
        let from = run::root().join(&path);
        if !seen.insert(path.clone()) || !from.is_file() {
            continue;
        }
        let content = fs::read(&from).map_err(|e| format!("{}: {e}", from.display()))?;
        if path.extension().is_some_and(|end| end == "md") {
            if path != Path::new("SUMMARY.md") && !listed.contains(&path) {
                return Err(format!("docs/SUMMARY.md lacks {}", path.display()));
            }
            let text = String::from_utf8_lossy(&content);
            left.extend(links(&path.to_string_lossy(), &text));
        }
        put(&work.join("pages").join(path), &content)?;
    }
    let mut build = Command::new(mdbook);
    build.arg("build").arg(&work).arg("--dest-dir").arg(&out);
    run::run("mdbook", &mut build)?;
    for path in listed {
        let name = path.with_extension("html");
        let is_index = path.ends_with("README.md");
        let name = if is_index {
            path.with_file_name("index.html")
        } else {
            name
        };
        if !out.join(&name).is_file() {
            return Err(format!("{} is not in the site", path.display()));
        }
    }
    println!("site: {}", out.join("index.html").display());
    Ok(())
}

/// Returns mdBook: from PATH, or installed below the target directory, which compiles for minutes.
fn mdbook() -> Result<PathBuf, String> {
    let version = |program: &Path| run::output(Command::new(program).arg("--version"));
    let dir = run::target().join("mdbook");
    let own = dir.join("bin/mdbook");
    if let Some(found) = [PathBuf::from("mdbook"), own.clone()]
        .into_iter()
        .find(|program| version(program).is_ok())
    {
        return Ok(found);
    }
    println!("== site needs mdbook {VERSION}: it is compiled from the crate registry, once");
    let mut cargo = run::cargo();
    cargo.args(["install", "mdbook", "--locked", "--version", VERSION]);
    cargo.args(["--no-default-features", "--features", "search", "--root"]);
    run::run("install mdbook", cargo.arg(&dir))?;
    version(&own).map(|_| own)
}

/// Returns the files that a document links to, as paths in the checkout.
fn links(document: &str, text: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for part in text.split("](").skip(1) {
        let link = part.split([')', '#']).next().unwrap_or_default();
        if link.is_empty() || link.contains(':') || link.contains(char::is_whitespace) {
            continue;
        }
        let mut path = PathBuf::from(document);
        path.pop();
        for name in Path::new(link) {
            match name.to_str() {
                Some("..") => drop(path.pop()),
                Some(".") => {}
                _ => path.push(name),
            }
        }
        found.insert(path);
    }
    found
}

fn read(name: &str) -> Result<String, String> {
    let path = run::root().join(name);
    fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

fn put(path: &Path, content: &[u8]) -> Outcome {
    let parent = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(path, content));
    written.map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_paths_of_the_checkout() {
        let text = "[a](../README.md) [b](c/d.md#e) [f](https://g) [h](#i)\n![j](./k.svg)";
        let expected = ["README.md", "docs/c/d.md", "docs/k.svg"].map(PathBuf::from);
        assert_eq!(links("docs/x.md", text), BTreeSet::from(expected));
    }
}
