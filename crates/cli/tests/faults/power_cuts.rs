//! Power cuts at every step of a command, by its recorded steps (`recorded.rs`): what fsync has not
//! made durable may be there or not, each step for itself. A name that exists holds a whole file.
//!
//! This is what POSIX allows, and more than journaling file systems do: names that were given in
//! turn may appear in any order, and of bytes that were not synced any part.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::recorded::{FileId, Recorded, Step, record};
use super::{sinter, work};

/// The files of a directory after a power cut.
pub(super) type State = BTreeMap<PathBuf, Vec<u8>>;

/// All that a power cut may leave after so many steps.
fn states(recorded: &Recorded, done: usize) -> BTreeSet<State> {
    let steps = &recorded.steps[..done];
    let mut found = BTreeSet::new();
    for lost_names in choices(&unsynced_names(steps)) {
        let names = names(recorded, steps, &lost_names);
        let files: BTreeSet<FileId> = names.values().copied().collect();
        let pending: Vec<usize> = unsynced_writes(steps, &files);
        for lost_writes in choices(&pending) {
            let contents = contents(recorded, steps, &lost_writes);
            let none = Vec::new();
            let content = |file| contents.get(&file).unwrap_or(&none).clone();
            found.insert(
                names
                    .iter()
                    .map(|(path, file)| (path.clone(), content(*file)))
                    .collect(),
            );
        }
    }
    found
}

/// Returns sets of steps that are lost: all sets of a few steps; of many none, all, each alone, all
/// but each, and all from each on.
fn choices(steps: &[usize]) -> Vec<BTreeSet<usize>> {
    let count = steps.len();
    if count <= 6 {
        let chosen = |bits: usize| {
            let is_in = |place: &usize| bits >> place & 1 == 1;
            (0..count).filter(is_in).map(|place| steps[place]).collect()
        };
        return (0..1 << count).map(chosen).collect();
    }
    let all: BTreeSet<usize> = steps.iter().copied().collect();
    let mut sets = vec![BTreeSet::new(), all.clone()];
    for place in 0..count {
        sets.push(BTreeSet::from([steps[place]]));
        sets.push(steps[place..].iter().copied().collect());
        let mut others = all.clone();
        others.remove(&steps[place]);
        sets.push(others);
    }
    sets
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_owned()
}

/// Returns the changes of names that no later sync of their directory covers.
fn unsynced_names(steps: &[Step]) -> Vec<usize> {
    let is_synced = |at: usize, dir: &Path| {
        let later = &steps[at..];
        let covers = |step: &Step| matches!(step, Step::SyncDir(synced) if synced == dir);
        later.iter().any(covers)
    };
    let is_pending = |&at: &usize| match &steps[at] {
        Step::MakeDir(path) | Step::Remove(path) => !is_synced(at, &parent(path)),
        Step::Name { to, .. } => !is_synced(at, &parent(to)),
        _ => false,
    };
    (0..steps.len()).filter(is_pending).collect()
}

/// Returns the writes to files that no later sync of the file covers.
fn unsynced_writes(steps: &[Step], files: &BTreeSet<FileId>) -> Vec<usize> {
    let is_pending = |&at: &usize| match &steps[at] {
        Step::Write(file, ..) | Step::Truncate(file, _) => {
            let covers = |step: &Step| matches!(step, Step::Sync(synced) if synced == file);
            files.contains(file) && !steps[at..].iter().any(covers)
        }
        _ => false,
    };
    (0..steps.len()).filter(is_pending).collect()
}

/// Returns the names after the steps that are not lost; what is in a lost directory is lost.
fn names(recorded: &Recorded, steps: &[Step], lost: &BTreeSet<usize>) -> BTreeMap<PathBuf, FileId> {
    let mut names = recorded.before.clone();
    let mut lost_dirs = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let is_lost = lost.contains(&at);
        match step {
            Step::MakeDir(path) if is_lost => lost_dirs.push(path),
            _ if is_lost => {}
            Step::Name { file, to, from } => {
                if let Some(from) = from {
                    names.remove(from);
                }
                names.insert(to.clone(), *file);
            }
            Step::Remove(path) => drop(names.remove(path)),
            _ => {}
        }
    }
    names.retain(|path, _| !lost_dirs.iter().any(|dir| path.starts_with(dir)));
    names
}

fn contents(
    recorded: &Recorded,
    steps: &[Step],
    lost: &BTreeSet<usize>,
) -> HashMap<FileId, Vec<u8>> {
    let mut contents = recorded.contents.clone();
    for (at, step) in steps.iter().enumerate() {
        match step {
            Step::Write(file, offset, bytes) => {
                let content = contents.entry(*file).or_default();
                let (start, end) = (*offset as usize, *offset as usize + bytes.len());
                content.resize(content.len().max(end), 0);
                // the length of a file can be durable where its bytes are not
                if !lost.contains(&at) {
                    content[start..end].copy_from_slice(bytes);
                }
            }
            Step::Truncate(file, len) if !lost.contains(&at) => {
                contents.entry(*file).or_default().resize(*len as usize, 0);
            }
            _ => {}
        }
    }
    contents
}

/// Calls a function with all states that power cuts may leave at any step of a command; the last
/// ones, after its end, are marked.
pub(super) fn at_every_step(recorded: &Recorded, mut check: impl FnMut(&State, bool)) {
    assert!(recorded.output.status.success(), "{:?}", recorded.output);
    let ends = recorded.steps.len();
    let syncs = |step: &&Step| matches!(step, Step::Sync(_) | Step::SyncDir(_));
    assert!(recorded.steps.iter().filter(syncs).count() >= 2);
    for done in 0..=ends {
        for state in states(recorded, done) {
            check(&state, done == ends);
        }
    }
}

/// Runs a command whose outputs are what they were or what they become, and the new ones once it
/// has ended.
fn replaces(dir: &Path, args: &[&str], outputs: &[&str]) {
    let read = |name: &&str| fs::read(dir.join(name)).ok();
    let old: Vec<_> = outputs.iter().map(read).collect();
    let recorded = record(dir, args);
    let new: Vec<_> = outputs.iter().map(read).collect();
    assert!(old != new, "{args:?} changes nothing");
    at_every_step(&recorded, |state, is_end| {
        for ((name, old), new) in outputs.iter().zip(&old).zip(&new) {
            let now = state.get(Path::new(name));
            let is_whole = now == new.as_ref() || (!is_end && now == old.as_ref());
            assert!(
                is_whole,
                "{args:?}: `{name}` has {:?} bytes, not {:?} or {:?}; at the end: {is_end}",
                now.map(Vec::len),
                new.as_ref().map(Vec::len),
                old.as_ref().map(Vec::len),
            );
        }
    });
}

#[test]
fn what_has_a_name_is_whole_after_a_power_cut() {
    let Some(work) = work() else { return };
    let dir = work.path();
    let run = |args: &[&str]| {
        let done = sinter(dir, args);
        assert!(done.status.success(), "{args:?}: {done:?}");
    };
    replaces(dir, &["build", "-q", "tree", "-o", "new"], &["new"]);
    replaces(
        dir,
        &[
            "build", "--force", "-q", "-f", "squashfs", "tree", "-o", "new",
        ],
        &["new"],
    );
    replaces(
        dir,
        &[
            "recompress",
            "--force",
            "-q",
            "-l1",
            "old.dwarfs",
            "-o",
            "old.dwarfs",
        ],
        &["old.dwarfs"],
    );
    replaces(dir, &["parity", "-q", "old.dwarfs"], &["old.dwarfs.parity"]);
    let image = dir.join("old.dwarfs");
    let mut bytes = fs::read(&image).unwrap();
    bytes[20_000..21_000].fill(0);
    fs::write(&image, bytes).unwrap();
    replaces(
        dir,
        &["repair", "-q", "old.dwarfs"],
        &["old.dwarfs", "old.dwarfs.damaged"],
    );
    run(&["keygen", "--no-password", "key"]);
    run(&["build", "-q", "--with-digest", "tree", "-o", "signed"]);
    replaces(
        dir,
        &["sign", "--embed", "signed", "--key", "key.key"],
        &["signed"],
    );
}

#[test]
fn an_image_that_exists_has_its_content_after_a_power_cut() {
    let Some(work) = work() else { return };
    let dir = work.path();
    for (args, image) in [
        (
            &[
                "build",
                "-q",
                "-f",
                "erofs",
                "--blob-device",
                "device",
                "tree",
                "-o",
                "image",
            ][..],
            "image",
        ),
        (
            &[
                "build",
                "-q",
                "--digest-store",
                "objects",
                "tree",
                "-o",
                "image.cfs",
            ],
            "image.cfs",
        ),
    ] {
        let recorded = record(dir, args);
        let after: State = super::files(dir)
            .into_iter()
            .map(|(path, content)| (path.strip_prefix(dir).unwrap().to_owned(), content))
            .collect();
        at_every_step(&recorded, |state, is_end| {
            // without its image, no content is of use
            let exists = state.contains_key(Path::new(image));
            assert!(exists || !is_end, "{args:?}: the image is not durable");
            for (path, content) in after.iter().filter(|_| exists) {
                let now = state.get(path);
                assert!(
                    now == Some(content),
                    "{args:?}: {} is not whole",
                    path.display()
                );
            }
        });
    }
}
