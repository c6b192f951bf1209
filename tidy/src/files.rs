//! Rules of a file as a whole: how it opens, its length, its lines, its name, `unsafe`; and the
//! length of lines in documents and settings.

use std::path::Path;

use super::source::{SourceFile, is_test};
use super::workspace;

/// Folder and file names that do not say what is inside.
const EMPTY_NAMES: &[&str] = &[
    "util", "utils", "common", "helper", "helpers", "manager", "misc",
];

/// Folder names that tools and global ignore files take for output.
const OUTPUT_FOLDERS: &[&str] = &[
    "build",
    "target",
    "dist",
    "out",
    "debug",
    "release",
    "obj",
    "tmp",
    "node_modules",
];

const MAX_LINES: usize = 500;

const MAX_COLUMNS: usize = 100;

/// Documents and settings whose lines are bounded as those of code are, as git's patterns.
const TEXTS: &[&str] = &["*.md", "*.toml", "*.py", "*.pyi", ".ci/run", "x"];

/// Checks one file; `unsafe_files` may allow `unsafe_code`.
pub fn file(file: &SourceFile, unsafe_files: &[&str]) -> Vec<String> {
    let shown = file.path.display();
    let mut broken = Vec::new();
    if !file.text.starts_with("//!") {
        broken.push(format!(
            "{shown}: does not open with what the file is (//!)"
        ));
    }
    let code = file.text.split("#[cfg(test)]\nmod tests {").next();
    let lines = code.unwrap_or_default().lines().count();
    if lines > MAX_LINES && !is_test(&file.path) {
        broken.push(format!(
            "{shown}: {lines} lines; a file with one job has at most {MAX_LINES}"
        ));
    }
    let permission = concat!("allow(", "unsafe_code");
    let without_spaces = file.text.split_whitespace().collect::<String>();
    let is_listed = unsafe_files
        .iter()
        .any(|listed| file.path == Path::new(listed));
    if without_spaces.contains(permission) && !is_listed {
        broken.push(format!(
            "{shown}: `unsafe` is not allowed here: UNSAFE_FILES lists where"
        ));
    }
    for part in file.path.iter().filter_map(|part| part.to_str()) {
        if EMPTY_NAMES.contains(&part.trim_end_matches(".rs")) {
            broken.push(format!(
                "{shown}: the name `{part}` does not say what is inside"
            ));
        }
        if OUTPUT_FOLDERS.contains(&part) {
            broken.push(format!("{shown}: tools take a folder `{part}` for output"));
        }
    }
    broken
}

/// Checks the lengths of lines; `allowed` gives how many longer ones a crate's folder still has.
pub fn columns(files: &[SourceFile], allowed: &[(&str, usize)]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut packages: Vec<&str> = files.iter().map(|file| &*file.package).collect();
    packages.sort_unstable();
    packages.dedup();
    for package in packages {
        let mut long = Vec::new();
        for file in files.iter().filter(|file| file.package == package) {
            let lines = file.text.lines().enumerate();
            let too_long = lines
                .filter(|(_, line)| line.chars().count() > MAX_COLUMNS && !line.contains("://"));
            long.extend(
                too_long.map(|(number, _)| format!("{}:{}", file.path.display(), number + 1)),
            );
        }
        let listed = allowed.iter().find(|(of, _)| *of == package);
        let most = listed.map_or(0, |(_, most)| *most);
        if long.len() > most {
            broken.push(format!(
                "{package}: {} lines are longer than {MAX_COLUMNS} columns, {most} may be: {}",
                long.len(),
                long.join(", ")
            ));
        }
        if long.is_empty() && listed.is_some() {
            broken.push(format!("LONG_LINES: {package} needs no exception any more"));
        }
    }
    broken
}

/// Checks the lengths of lines in documents and settings. Rows of tables and of contents, which
/// cannot be wrapped, may be longer, and so may lines with an address.
pub fn text_columns(root: &Path) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    for pattern in TEXTS {
        for path in workspace::files(root, pattern)?.lines() {
            let full = root.join(path);
            if full.exists() {
                let text = std::fs::read_to_string(full).map_err(|e| format!("{path}: {e}"))?;
                broken.extend(long_lines(path, &text));
            }
        }
    }
    Ok(broken)
}

/// Checks that no file has lines of a merge that nobody resolved.
pub fn merge_markers(root: &Path) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    for path in workspace::files(root, "*")?.lines() {
        let full = root.join(path);
        // a symlink names another file, a submodule is a directory, and images are no text
        let is_file = full.symlink_metadata().is_ok_and(|found| found.is_file());
        if let Some(Ok(text)) = is_file.then(|| std::fs::read_to_string(&full)) {
            broken.extend(marked_lines(path, &text));
        }
    }
    Ok(broken)
}

fn marked_lines(path: &str, text: &str) -> Vec<String> {
    let is_marked = |line: &str| {
        let markers = ["<<<<<<<", "|||||||", ">>>>>>>"];
        let rest = markers.iter().find_map(|marker| line.strip_prefix(marker));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    let marked = text.lines().zip(1..).filter(|(line, _)| is_marked(line));
    marked
        .map(|(_, number)| format!("{path}:{number}: a line of a merge that nobody resolved"))
        .collect()
}

fn long_lines(path: &str, text: &str) -> Vec<String> {
    let may_be_long = |line: &str| {
        let is_contents = path == "docs/SUMMARY.md" && line.ends_with(".md)");
        is_contents || line.trim_start().starts_with('|') || line.contains("://")
    };
    let lines = text.lines().zip(1..);
    let long = lines.filter(|(line, _)| line.chars().count() > MAX_COLUMNS && !may_be_long(line));
    long.map(|(_, number)| format!("{path}:{number}: longer than {MAX_COLUMNS} columns"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    #[test]
    fn lines_of_unresolved_merges() {
        // not at the beginning of a line of this file
        let text = "<<<<<<< HEAD\na\n||||||| b\n=======\n>>>>>>> c\n<<<<<<<<\n >>>>>>>";
        let broken = marked_lines("a.md", text);
        let found: Vec<_> = broken
            .iter()
            .map(|one| one.split(':').nth(1).unwrap())
            .collect();
        assert_eq!(found, ["1", "3", "5"]);
    }

    #[test]
    fn long_lines_of_documents() {
        let a = "a ".repeat(51);
        let text = format!("{}\n{a}\n| {a} |\n{a} https://b\n", "ä".repeat(100));
        let broken = long_lines("docs/a.md", &text);
        assert_eq!(broken, ["docs/a.md:2: longer than 100 columns"]);
        let contents = format!("- [{a}](a.md)\n{a}\n");
        let broken = long_lines("docs/SUMMARY.md", &contents);
        assert_eq!(broken, ["docs/SUMMARY.md:2: longer than 100 columns"]);
    }

    #[test]
    fn each_rule_finds_its_sample() {
        let permitted = format!("//! A.\n#![{}]", concat!("allow( ", "unsafe_code)"));
        let long = format!("//! A.\n{}", "fn f() {}\n".repeat(501));
        for (path, text, message) in [
            ("crates/a/src/b.rs", "fn f() {}", "does not open"),
            ("crates/a/src/b.rs", &long, "502 lines"),
            ("crates/a/src/b.rs", &permitted, "`unsafe`"),
            ("crates/a/src/utils.rs", "//! A.", "`utils.rs`"),
            ("crates/build/src/b.rs", "//! A.", "`build`"),
        ] {
            let broken = file(&files(&[(path, text)])[0], &[]);
            assert_eq!(broken.len(), 1, "{broken:?}");
            assert!(broken[0].contains(message), "{broken:?}");
        }
        let clean = &files(&[("crates/a/src/b.rs", &permitted)])[0];
        assert!(file(clean, &["crates/a/src/b.rs"]).is_empty());
    }

    #[test]
    fn long_lines_are_counted_by_crate() {
        let text = format!(
            "//! A.\n// {}\n// https://{}\n",
            "ä".repeat(98),
            "a".repeat(98)
        );
        let sources = files(&[
            ("crates/a/src/b.rs", &text),
            ("crates/b/src/b.rs", "//! B."),
        ]);
        let broken = columns(&sources, &[]);
        assert_eq!(broken.len(), 1);
        assert!(
            broken[0].starts_with("a: 1 lines") && broken[0].ends_with("b.rs:2"),
            "{broken:?}"
        );
        assert!(columns(&sources, &[("a", 1)]).is_empty());
        let broken = columns(&sources, &[("a", 1), ("b", 1)]);
        assert!(broken[0].contains("b needs no exception"), "{broken:?}");
    }
}
