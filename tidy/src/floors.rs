//! No circle of folders: what is below one folder of a crate can be drawn as floors.
//!
//! Enters all files and the circles that are still tolerated. In each folder, a file is one room, a
//! folder with the file of its name is one, and the file with the name of the folder itself is one.
//! Leaves a message for each set of rooms that reach each other, with the uses that close a circle,
//! and for each tolerated room that is in none.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::circles::{knots, shortest, uses_of_crates};
use super::modules::Uses;
use super::source::SourceFile;

/// A circle that is tolerated: a crate's folder, a folder below its `src` (empty for `src`), and
/// the rooms of that folder that are in the circle.
pub type TiedRooms = (&'static str, &'static str, &'static [&'static str]);

/// The room of a folder's own items: `a.rs` or `a/mod.rs`.
const FACE: &str = "mod";

/// Checks all folders of all crates.
pub fn floors(files: &[SourceFile], tolerated: &[TiedRooms]) -> Vec<String> {
    let mut broken = Vec::new();
    let mut left: BTreeSet<(&str, &str, &str)> = tolerated
        .iter()
        .flat_map(|(package, folder, rooms)| rooms.iter().map(|room| (*package, *folder, *room)))
        .collect();
    for (package, uses) in uses_of_crates(files) {
        for folder in folders(&uses) {
            let between = between_rooms(&uses, &folder);
            let name = folder.to_str().unwrap_or_default();
            for knot in knots(&between) {
                let rooms: BTreeSet<&str> = knot.iter().filter_map(|room| room.to_str()).collect();
                let is_allowed = |(of, at, allowed): &TiedRooms| {
                    *of == package && *at == name && rooms.iter().all(|room| allowed.contains(room))
                };
                if !tolerated.iter().any(is_allowed) {
                    broken.push(format!(
                        "{package}: circle of folders in src/{name}: {}",
                        shortest(&knot, &between)
                    ));
                }
                left.retain(|(of, at, room)| {
                    *of != package || *at != name || !rooms.contains(room)
                });
            }
        }
    }
    for (package, folder, room) in left {
        broken.push(format!(
            "{package}: {room} of src/{folder} is in no circle any more: take it off TIED_ROOMS"
        ));
    }
    broken
}

/// Returns a file's path below `src`.
fn below_src(path: &Path) -> PathBuf {
    let parts = path.iter().skip_while(|part| *part != "src").skip(1);
    parts.collect()
}

/// Finds the folders below `src` that have files, `src` included.
fn folders(uses: &Uses) -> BTreeSet<PathBuf> {
    let files = uses.keys().flat_map(|(from, to)| [from, to]);
    let above = |path: &PathBuf| {
        below_src(path)
            .ancestors()
            .skip(1)
            .map(Path::to_owned)
            .collect()
    };
    files
        .flat_map(|path| -> Vec<PathBuf> { above(path) })
        .collect()
}

/// Regroups uses by the rooms of a folder; uses from or to files elsewhere are left out.
fn between_rooms(uses: &Uses, folder: &Path) -> Uses {
    let mut between = Uses::new();
    for ((from, to), name) in uses {
        let (Some(from), Some(to)) = (room(from, folder), room(to, folder)) else {
            continue;
        };
        if from != to {
            between.entry((from, to)).or_insert_with(|| name.clone());
        }
    }
    between
}

/// Returns the room of a folder that a file is in; [`FACE`] for the file with the folder's name.
fn room(file: &Path, folder: &Path) -> Option<PathBuf> {
    let path = below_src(file).with_extension("");
    let below = path.strip_prefix(folder).ok()?;
    let first = below.iter().next().unwrap_or(OsStr::new(FACE));
    Some(PathBuf::from(first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::files;

    const CIRCLE: &[(&str, &str)] = &[
        ("crates/x/src/lib.rs", "mod a; mod b; mod c;"),
        ("crates/x/src/a.rs", "mod one; mod two;"),
        (
            "crates/x/src/a/one.rs",
            "use crate::b::B; pub struct One(B);",
        ),
        ("crates/x/src/a/two.rs", "pub struct Two;"),
        (
            "crates/x/src/b.rs",
            "use crate::a::two::Two; pub struct B(Two);",
        ),
        (
            "crates/x/src/c.rs",
            "use crate::a::one::One; pub struct C(One);",
        ),
    ];

    #[test]
    fn folders_that_use_each_other_without_a_circle_of_files() {
        let sources = files(CIRCLE);
        assert!(crate::circles::circles(&sources, &[]).is_empty());
        let broken = floors(&sources, &[]);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(
            broken[0].ends_with("in src/: a -> b (B) -> a (Two); tied: a, b"),
            "{broken:?}"
        );
    }

    #[test]
    fn a_folder_below_src_and_the_file_of_its_name() {
        let broken = floors(
            &files(&[
                ("crates/x/src/lib.rs", "mod a;"),
                (
                    "crates/x/src/a/mod.rs",
                    "mod b; use b::one::One; pub struct A(One);",
                ),
                ("crates/x/src/a/b.rs", "pub mod one; mod two;"),
                ("crates/x/src/a/b/one.rs", "pub struct One;"),
                ("crates/x/src/a/b/two.rs", "use crate::a::A; struct Two(A);"),
            ]),
            &[],
        );
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert!(
            broken[0].contains("in src/a: b -> mod (A) -> b (One)"),
            "{broken:?}"
        );
    }

    #[test]
    fn a_tolerated_room_that_is_in_no_circle_is_named() {
        let sources = files(CIRCLE);
        assert!(floors(&sources, &[("x", "", &["a", "b"])]).is_empty());
        assert_eq!(floors(&sources, &[("x", "", &["a"])]).len(), 1);
        let broken = floors(
            &sources,
            &[("x", "", &["a", "b", "c"]), ("x", "a", &["one"])],
        );
        assert_eq!(broken.len(), 2, "{broken:?}");
        assert!(
            broken
                .iter()
                .all(|one| one.contains("in no circle any more"))
        );
    }
}
