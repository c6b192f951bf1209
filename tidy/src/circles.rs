//! No circle of modules: two files of one crate that use names of each other, at any distance.
//!
//! Enters all files and the circles that are still tolerated; leaves a message for each other
//! circle, with the names that close it, and for each tolerated one that is gone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::modules::{Uses, uses};
use super::source::SourceFile;

/// Checks all crates. `tolerated` names a crate's folder and files of one circle, relative to its
/// `src`.
pub fn circles(files: &[SourceFile], tolerated: &[(&str, &[&str])]) -> Vec<String> {
    let mut broken = Vec::new();
    for (package, uses_of_all) in uses_of_crates(files) {
        let found = knots(&uses_of_all);
        let allowed: Vec<BTreeSet<&str>> = tolerated
            .iter()
            .filter(|(of, _)| *of == package)
            .map(|(_, names)| names.iter().copied().collect())
            .collect();
        for knot in &found {
            let names: BTreeSet<&str> = knot.iter().map(|file| short(file)).collect();
            if !allowed.iter().any(|allowed| names.is_subset(allowed)) {
                broken.push(format!(
                    "{package}: circle of modules: {}",
                    shortest(knot, &uses_of_all)
                ));
            }
        }
        let tied: BTreeSet<&str> = found.iter().flatten().map(|file| short(file)).collect();
        for name in allowed
            .iter()
            .flatten()
            .filter(|name| !tied.contains(*name))
        {
            broken.push(format!(
                "{package}: {name} is in no circle any more: take it off CIRCLES"
            ));
        }
    }
    broken
}

/// Finds the uses between the files of each crate, by the crate's folder.
pub fn uses_of_crates(files: &[SourceFile]) -> BTreeMap<&str, Uses> {
    let mut packages: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.is_in_src()) {
        packages.entry(&file.package).or_default().push(file);
    }
    let is_root = |path: &Path| path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
    let all = |files: Vec<&SourceFile>| {
        let roots = files.iter().map(|file| &file.path);
        let roots = roots.filter(|path| is_root(path));
        roots.flat_map(|root| uses(&files, root)).collect()
    };
    let of_crates = packages.into_iter();
    of_crates
        .map(|(package, files)| (package, all(files)))
        .collect()
}

/// Returns a file's path below `src`.
fn short(path: &Path) -> &str {
    let text = path.to_str().unwrap_or_default();
    text.split_once("src/").map_or(text, |(_, name)| name)
}

/// Finds the largest sets of files in which each reaches each other.
pub fn knots(uses: &Uses) -> Vec<BTreeSet<PathBuf>> {
    // comparing paths is slow: numbers stand for files
    let files: BTreeSet<&PathBuf> = uses.keys().flat_map(|(from, to)| [from, to]).collect();
    let files: Vec<&PathBuf> = files.into_iter().collect();
    let number = |file: &PathBuf| files.binary_search(&file).unwrap_or_default();
    let mut direct = vec![BTreeSet::new(); files.len()];
    for (from, to) in uses.keys() {
        direct[number(from)].insert(number(to));
    }
    let reached: Vec<BTreeSet<usize>> = (0..files.len()).map(|file| below(file, &direct)).collect();
    let mut found: Vec<BTreeSet<usize>> = Vec::new();
    for (file, reached_from_it) in reached.iter().enumerate() {
        let is_new = !found.iter().any(|knot| knot.contains(&file));
        if reached_from_it.contains(&file) && is_new {
            let back = |other: &&usize| reached[**other].contains(&file);
            found.push(reached_from_it.iter().filter(back).copied().collect());
        }
    }
    let named = |knot: BTreeSet<usize>| knot.into_iter().map(|file| files[file].clone()).collect();
    found.into_iter().map(named).collect()
}

/// Collects what a file reaches over any number of uses.
fn below(file: usize, direct: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![file];
    while let Some(file) = open.pop() {
        open.extend(direct[file].iter().filter(|&&to| reached.insert(to)));
    }
    reached
}

/// Describes the shortest circle through the first file of a knot: `a -> b (Name) -> a (Other)`.
pub fn shortest(knot: &BTreeSet<PathBuf>, uses: &Uses) -> String {
    let Some(start) = knot.first() else {
        return String::new();
    };
    let mut open = VecDeque::from([vec![start]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = open.pop_front() {
        let Some(&last) = way.last() else { break };
        for ((_, to), _) in uses.iter().filter(|((from, _), _)| from == last) {
            let mut way = way.clone();
            way.push(to);
            if to == start {
                let step = |pair: &[&PathBuf]| {
                    let name = uses.get(&(pair[0].clone(), pair[1].clone()));
                    let name = name.map_or("", String::as_str);
                    format!(" -> {} ({name})", short(pair[1]))
                };
                let steps: String = way.windows(2).map(step).collect();
                let all: Vec<&str> = knot.iter().map(|file| short(file)).collect();
                return format!("{}{steps}; tied: {}", short(start), all.join(", "));
            }
            if knot.contains(to) && seen.insert(to) {
                open.push_back(way);
            }
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    fn found(of: &[(&str, &str)]) -> Vec<String> {
        circles(&files(of), &[])
    }

    #[test]
    fn siblings_that_use_each_other() {
        let broken = found(&[
            ("crates/x/src/lib.rs", "mod a; mod b; mod c;"),
            ("crates/x/src/a.rs", "use super::b::B; pub struct A(B);"),
            (
                "crates/x/src/b.rs",
                "pub struct B; fn f() { crate::c::go() }",
            ),
            (
                "crates/x/src/c.rs",
                "pub fn go() -> Option<super::a::A> { None }",
            ),
        ]);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(
            broken[0].contains("a.rs -> b.rs (B) -> c.rs (go) -> a.rs (A)"),
            "{broken:?}"
        );
    }

    #[test]
    fn a_parent_that_only_reexports_is_in_no_circle() {
        let broken = found(&[
            ("crates/x/src/lib.rs", "mod a; pub use a::A;"),
            (
                "crates/x/src/a.rs",
                "mod b; mod c; pub use b::B; pub use c::*; pub struct A;",
            ),
            ("crates/x/src/a/b.rs", "use super::C; pub struct B(C);"),
            ("crates/x/src/a/c.rs", "pub struct C; use crate::A;"),
        ]);
        assert_eq!(broken, Vec::<String>::new());
    }

    #[test]
    fn a_parent_that_uses_what_it_reexports_is() {
        let broken = found(&[
            (
                "crates/x/src/lib.rs",
                "mod a; pub use a::A; fn f(_: A) {} pub struct Own;",
            ),
            ("crates/x/src/a.rs", "use super::*; pub struct A(Own);"),
        ]);
        assert_eq!(broken.len(), 1, "{broken:?}");
    }

    #[test]
    fn tests_close_no_circle_and_module_imports_count_by_use() {
        let clean = found(&[
            ("crates/x/src/lib.rs", "mod a; mod b;"),
            ("crates/x/src/a.rs", "use super::b; pub struct A;"),
            (
                "crates/x/src/b.rs",
                "#[cfg(test)] mod tests { use super::super::a::A; } pub fn f() {}",
            ),
        ]);
        assert!(clean.is_empty(), "{clean:?}");
        let broken = found(&[
            ("crates/x/src/lib.rs", "mod a; mod b;"),
            (
                "crates/x/src/a.rs",
                "use super::b; pub struct A; fn g() { b::f() as u8 }",
            ),
            (
                "crates/x/src/b.rs",
                "use crate::a::{self, A as B}; pub fn f() {}",
            ),
        ]);
        assert_eq!(broken.len(), 1, "{broken:?}");
    }

    #[test]
    fn a_tolerated_circle_that_is_gone_is_named() {
        let sources = files(&[
            ("crates/x/src/lib.rs", "mod a; mod b; mod c;"),
            ("crates/x/src/a.rs", "use super::b::B; pub struct A;"),
            ("crates/x/src/b.rs", "use super::a::A; pub struct B;"),
            ("crates/x/src/c.rs", ""),
        ]);
        assert!(circles(&sources, &[("x", &["a.rs", "b.rs"])]).is_empty());
        let broken = circles(&sources, &[("x", &["a.rs", "b.rs", "c.rs"])]);
        assert_eq!(broken.len(), 1);
        assert!(broken[0].contains("c.rs is in no circle"), "{broken:?}");
    }
}
