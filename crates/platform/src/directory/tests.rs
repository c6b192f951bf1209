//! What all systems have to do alike: these tests run on every target.

use super::*;
use sinterfs_model::{Time, Times};

fn opened() -> (tempfile::TempDir, Directory) {
    let dir = tempfile::tempdir().unwrap();
    let opened = Directory::open(dir.path(), OpenFor::List).unwrap();
    (dir, opened)
}

fn names(dir: &Directory) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    dir.list(&mut |name| {
        names.push(name.to_vec());
        ControlFlow::Continue(())
    })
    .unwrap();
    names.sort_unstable();
    names
}

#[test]
fn files_are_made_once_linked_renamed_and_removed() {
    let (path, dir) = opened();
    dir.make_dir(b"a", 0o755).unwrap();
    let error = dir.make_dir(b"a", 0o755).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    let a = dir.child(b"a", OpenFor::List).unwrap();
    drop(a.make_file(b"one", 0o644).unwrap());
    let error = a.make_file(b"one", 0o644).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    a.link(b"one", &dir, b"two").unwrap();
    let error = a.link(b"one", &dir, b"two").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    let (one, two) = (a.status(b"one").unwrap(), dir.status(b"two").unwrap());
    assert_eq!((one.identity, one.nlink), (two.identity, 2));
    std::fs::write(path.path().join("two"), b"bytes").unwrap();
    assert_eq!(a.status(b"one").unwrap().size, 5);
    drop(dir.make_file(b"three", 0o644).unwrap());
    dir.rename(b"three", b"two").unwrap();
    assert_eq!(dir.status(b"two").unwrap().size, 0);
    assert_eq!(names(&dir), [b"a".to_vec(), b"two".to_vec()]);
    assert_eq!(names(&dir), [b"a".to_vec(), b"two".to_vec()], "again");
    let error = dir.remove(b"a").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    dir.remove(b"two").unwrap();
    let error = dir.remove(b"two").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!(a.status(b"one").is_ok() && !a.is_empty().unwrap());
    let file = dir.open_beneath(b"a/one", OpenFor::Read).unwrap();
    assert_eq!(Directory::status_of(&file).unwrap().size, 5);
    assert_eq!(io::read_to_string(file).unwrap(), "bytes");
    assert!(dir.open_beneath(b"a/../a/one", OpenFor::Read).is_err());
}

#[test]
fn symlinks_are_not_followed() {
    let (path, dir) = opened();
    dir.make_dir(b"a", 0o755).unwrap();
    std::fs::write(path.path().join("a/file"), b"bytes").unwrap();
    for (name, text, is_dir) in [(b"dir", &b"a"[..], true), (b"one", b"a/file", false)] {
        match dir.make_symlink(name, text, is_dir) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported && cfg!(windows) => {
                eprintln!("skipped: {error}");
                return;
            }
            made => made.unwrap(),
        }
        let found = dir.status(name).unwrap();
        assert_eq!(found.kind, Some(FileType::Symlink));
        assert_eq!(dir.read_link(name).unwrap(), text);
    }
    assert!(dir.child(b"dir", OpenFor::Walk).is_err());
    assert!(dir.child(b"dir", OpenFor::List).is_err());
    assert!(dir.open_beneath(b"dir/file", OpenFor::Read).is_err());
    assert!(dir.open_beneath(b"one", OpenFor::Read).is_err());
    assert!(dir.open_to_write(b"one").is_err());
    assert!(dir.make_file(b"one", 0o644).is_err());
    assert!(
        dir.open_within(b"../x", OpenFor::Look, true)
            .unwrap()
            .is_none()
    );
    assert!(
        dir.open_within(b"/", OpenFor::Look, true)
            .unwrap()
            .is_none()
    );
    dir.remove(b"dir").unwrap();
    assert_eq!(names(&dir), [b"a".to_vec(), b"one".to_vec()]);
}

#[test]
fn times_are_set() {
    let (_path, dir) = opened();
    let file = dir.make_file(b"file", 0o644).unwrap();
    dir.make_dir(b"dir", 0o755).unwrap();
    let times = |secs| {
        Times::all(Time {
            secs,
            nanos: 123_456_700,
        })
    };
    crate::files::set_times(&file, &times(-86_400)).unwrap();
    dir.set_times(b"dir", &times(1 << 32)).unwrap();
    for (name, secs) in [(&b"file"[..], -86_400), (b"dir", 1 << 32)] {
        let found = dir.status(name).unwrap().meta.times;
        assert_eq!(
            (found.modified, found.accessed),
            (times(secs).modified, times(secs).accessed)
        );
    }
    crate::files::set_mode(&file, 0o444).unwrap();
    assert_eq!(dir.status(b"file").unwrap().meta.mode, 0o444);
    drop(file);
    dir.remove(b"file").unwrap();
}

#[test]
fn names_of_any_bytes_come_back() {
    let (_path, dir) = opened();
    let given: [&[u8]; 7] = [
        "gr\u{fc}n".as_bytes(),
        b"NUL",
        b"a:b",
        b"back\\slash",
        b"caf\xe9",
        b"dot.",
        b"space ",
    ];
    let mut made: Vec<Vec<u8>> = Vec::new();
    for name in given {
        match dir.make_file(name, 0o644) {
            // macOS has no names but UTF-8
            Err(_) if cfg!(target_vendor = "apple") && std::str::from_utf8(name).is_err() => {}
            file => {
                drop(file.unwrap());
                made.push(name.to_vec());
            }
        }
    }
    made.sort_unstable();
    assert_eq!(names(&dir), made);
}

#[test]
fn a_rename_without_replacing_keeps_the_existing_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = Directory::open(dir.path(), OpenFor::Walk).unwrap();
    for name in ["new", "old"] {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    let error = root.rename_new(b"new", b"old").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(dir.path().join("old")).unwrap(), b"old");
    root.rename_new(b"new", b"other").unwrap();
    assert_eq!(std::fs::read(dir.path().join("other")).unwrap(), b"new");
    assert!(root.status(b"new").is_err());
}
