//! Owners, permissions and attributes, for root and for ordinary users.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use sinterfs_model::{FileType, Rdev};
use sinterfs_ops::{ExtractOptions, Follow, extract, resolve};
use sinterfs_testkit::{Builder, Piece, meta, sample, skip};

use crate::support::{self, Notes, assert_all_same, is_root};
use crate::target;

#[test]
fn attributes_are_restored() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let file = b.file(Builder::ROOT, b"f", meta(0o444, 3, 4), &[]);
    b.xattr(file, b"user.colour", b"blue\0green");
    b.xattr(file, b"nonsense", b"x");
    let image = b.finish(0);
    let (_guard, target) = target();
    let notes = Notes::default();
    let report = extract(&image, &target, &ExtractOptions::default(), &notes).unwrap();
    assert_eq!((report.failed, report.files), (0, 1));
    let mut value = [0; 64];
    match rustix::fs::getxattr(target.join("f"), "user.colour", &mut value) {
        Ok(len) => {
            assert_eq!(&value[..len], b"blue\0green");
            assert_eq!(report.imperfect, 1, "{:?}", notes.warnings());
        }
        Err(_) => skip("the file system of the temporary directory has no user attributes"),
    }
}

#[test]
fn ordinary_users_restore_all_they_may() {
    if !is_root() {
        return skip("to become an ordinary user needs root");
    }
    let image = sample(0);
    let (guard, target) = target();
    fs::set_permissions(guard.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let options = ExtractOptions {
        threads: 1,
        owner: false,
        ..Default::default()
    };
    let notes = Notes::default();
    let report = std::thread::scope(|scope| {
        let user = scope.spawn(|| {
            // Changes only this thread, and there is one thread only.
            let (uid, gid) = (
                rustix::fs::Uid::from_raw(65_534),
                rustix::fs::Gid::from_raw(65_534),
            );
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(gid, gid, gid).unwrap();
            rustix::thread::set_thread_res_uid(uid, uid, uid).unwrap();
            extract(&image, &target, &options, &notes).unwrap()
        });
        user.join().unwrap()
    });
    let warnings = notes.warnings();
    assert_eq!((report.failed, report.imperfect), (2, 0), "{warnings:?}");
    assert!(
        report.unowned > 10 && report.without_set_id == 2,
        "{report:?}"
    );
    // one line for each kind, with how many there are and the first names
    let [special, set_id, owner] =
        ["special file", "set-id", "the owner is not restored"].map(|what| {
            warnings
                .iter()
                .filter(|text| text.contains(what))
                .collect::<Vec<_>>()
        });
    assert_eq!(
        (special.len(), set_id.len(), owner.len()),
        (1, 1, 1),
        "{warnings:?}"
    );
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(special[0].contains("(2 entries: "), "{special:?}");
    assert!(
        set_id[0].contains("(2 entries: ") && set_id[0].contains("tool"),
        "{set_id:?}"
    );
    assert!(owner[0].contains(", ..)"), "{owner:?}");
    let stat = |path: &str| fs::symlink_metadata(target.join(path)).unwrap();
    assert_eq!(stat("docs/deep/tool").mode() & 0o7777, 0o755);
    assert_eq!(
        (stat("docs/deep/tool").uid(), stat("docs/deep/tool").mtime()),
        (65_534, 1_400_000_002)
    );
    assert_eq!(stat("docs/deep/set-gid").mode() & 0o7777, 0o775);
    assert_eq!(stat("docs/deep").mode() & 0o7777, 0o555);
    assert_eq!(stat("docs/deep/mode-zero").mode() & 0o7777, 0);
    let big = resolve(&image, b"docs/big", Follow::Nothing).unwrap();
    assert!(fs::read(target.join("zz-big")).unwrap() == support::content(&image, big));
}

#[test]
fn without_permissions_nothing_is_more_open_than_the_image_says() {
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let content = [Piece::Data(b"x".to_vec())];
    let modes = [
        0o600, 0o644, 0o666, 0o777, 0o4755, 0o2755, 0o1777, 0o444, 0o200, 0,
    ];
    for mode in modes {
        let file = b.file(
            Builder::ROOT,
            format!("f{mode:o}").as_bytes(),
            meta(mode, 1, 1),
            &content,
        );
        b.xattr(file, b"user.kept", b"x");
        let capability = [1, 0, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        b.xattr(file, b"security.capability", &capability);
        b.xattr(file, b"trusted.x", b"x");
        let acl = b"\x02\0\0\0\x01\0\x07\0\xff\xff\xff\xff\x02\0\x07\0\x07\0\0\0\
            \x04\0\x07\0\xff\xff\xff\xff\x10\0\x07\0\xff\xff\xff\xff\x20\0\x07\0\xff\xff\xff\xff";
        b.xattr(file, b"system.posix_acl_access", acl);
        b.dir(
            Builder::ROOT,
            format!("d{mode:o}").as_bytes(),
            meta(mode, 1, 1),
        );
        let name = format!("s{mode:o}");
        b.special(
            Builder::ROOT,
            name.as_bytes(),
            meta(mode, 1, 1),
            FileType::Fifo,
            Rdev::default(),
        );
    }
    let image = b.finish(0);
    for (owner, threads, cached) in [(false, 1, 0), (is_root(), 2, u64::MAX)] {
        let (_guard, target) = target();
        let notes = Notes::default();
        let options = ExtractOptions {
            permissions: false,
            owner,
            threads,
            cached,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(
            (report.failed, report.imperfect, report.without_set_id),
            (0, 0, 0),
            "{:?}",
            notes.warnings()
        );
        let umask = {
            let probe = tempfile::tempdir().unwrap();
            fs::create_dir(probe.path().join("d")).unwrap();
            !fs::metadata(probe.path().join("d")).unwrap().mode() & 0o777
        };
        for mode in modes {
            for kind in ["f", "d", "s"] {
                let path = target.join(format!("{kind}{mode:o}"));
                let found = fs::metadata(&path).unwrap().mode() & 0o7777;
                assert_eq!(
                    found,
                    u32::from(mode) & 0o777 & !umask,
                    "{}",
                    path.display()
                );
            }
            let mut names = [0; 1024];
            let len =
                rustix::fs::listxattr(target.join(format!("f{mode:o}")), &mut names).unwrap_or(0);
            let names = String::from_utf8_lossy(&names[..len]).into_owned();
            assert!(names.is_empty() || names == "user.kept\0", "{names}");
        }
    }
}

#[test]
fn owners_and_permissions_are_right_whatever_the_directory_gives_new_files() {
    if !is_root() {
        return skip("owners need root");
    }
    let mut b = Builder::new(meta(0o755, 0, 0), 4096);
    let modes = [0, 0o444, 0o600, 0o640, 0o644, 0o664, 0o666, 0o755, 0o777];
    for (number, mode) in (0_u8..).zip(modes.into_iter().chain([0o1644, 0o2755, 0o4755])) {
        for (kind, owner) in [(b'a', (0, 0)), (b'b', (1234, 0)), (b'c', (0, 1234))] {
            let mut meta = meta(mode, 5, 6);
            (meta.uid, meta.gid) = owner;
            let data = [Piece::Data(vec![kind; 100])];
            b.file(Builder::ROOT, &[kind, b'a' + number], meta, &data);
            b.symlink(Builder::ROOT, &[b'l', kind, b'a' + number], meta, b"x");
        }
    }
    let image = b.finish(0);
    for threads in [1, 2] {
        let (guard, target) = target();
        // what is made in it gets this group and not ours
        std::os::unix::fs::chown(guard.path(), None, Some(4321)).unwrap();
        fs::set_permissions(guard.path(), fs::Permissions::from_mode(0o2777)).unwrap();
        fs::create_dir(&target).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().gid(), 4321);
        let notes = Notes::default();
        let options = ExtractOptions {
            threads,
            ..Default::default()
        };
        let report = extract(&image, &target, &options, &notes).unwrap();
        assert_eq!(
            (report.failed, report.imperfect),
            (0, 0),
            "{:?}",
            notes.warnings()
        );
        assert_all_same(&image, &target);
    }
}
