//! Images that are overwritten: in place while they are mounted, where a program that reads gets
//! the bytes that were packed, or an error; and by new files, which nobody may read who could not
//! read the old one.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use rustix::fs::{XattrFlags, getxattr, setxattr};
use sinterfs_testkit::noise;
use support::{Mounted, is_root, kernel_serves, run, scratch, shell};

const FILES: u64 = 4;
const LEN: usize = 1_500_003;

/// Reads a file through the mount, and not from the pages that the kernel kept of it.
fn read_anew(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let mut content = vec![0; LEN];
    file.read_exact_at(&mut content, 0).map(|()| content)
}

#[test]
fn a_mount_gives_no_bytes_that_were_written_over_the_image() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    fs::create_dir(&tree).unwrap();
    let contents: Vec<_> = (0..FILES).map(|number| noise(number, LEN)).collect();
    for (number, content) in contents.iter().enumerate() {
        fs::write(tree.join(format!("f{number}")), content).unwrap();
    }
    let mut ways = vec!["--fuse"];
    ways.extend(kernel_serves().then_some("--kernel"));
    for flags in [&["-C", "none"][..], &["-l1"], &[]] {
        let sound = support::build("dwarfs", &tree, &image, flags);
        let position = |content: &[u8]| {
            let found = sound.windows(64).position(|here| here == &content[..64]);
            found.expect("content that is stored as it is") as u64
        };
        let changed = position(&contents[2][1_000_000..]);
        for way in &ways {
            let mounted = Mounted::new(&image, &work.path().join("mnt"), &[way]);
            let path = |number: usize| mounted.0.join(format!("f{number}"));
            for (number, content) in contents.iter().enumerate() {
                assert!(fs::read(path(number)).unwrap() == *content);
            }
            let writer = File::options().write(true).open(&image).unwrap();
            writer.write_all_at(b"EVIL", changed).unwrap();
            // twice: an error does not make what was written the truth
            for _ in 0..2 {
                let error = read_anew(&path(2)).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(5), "{way} {flags:?}: {error}");
            }
            for number in [0, 1, 3] {
                assert!(read_anew(&path(number)).unwrap() == contents[number]);
            }
            let old = &sound[changed as usize..][..4];
            writer.write_all_at(old, changed).unwrap();
            assert!(read_anew(&path(2)).unwrap() == contents[2]);
        }
    }
}

const LIST: &str = "system.posix_acl_access";

/// An access control list: the owner reads and writes, user 1234 reads, nobody else may anything.
fn list_for_one() -> Vec<u8> {
    let none = u32::MAX;
    let entries = [
        (1_u16, 6_u16, none),
        (2, 4, 1234),
        (4, 0, none),
        (16, 4, none),
        (32, 0, none),
    ];
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, allowed, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(allowed.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

/// Returns mode, owner, group and access control list of a file.
fn access(path: &Path) -> (u32, u32, u32, Option<Vec<u8>>) {
    let found = fs::metadata(path).unwrap();
    let mut list = vec![0; 1000];
    let len = getxattr(path, LIST, &mut list[..]).ok();
    let list = len.map(|len| list[..len].to_vec());
    (found.mode() & 0o7777, found.uid(), found.gid(), list)
}

#[test]
fn a_replacement_keeps_owner_group_and_access_list() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let dir = work.path();
    shell(dir, "mkdir tree new; echo secret >tree/f; umask 022");
    run(["build", "-q", "-o"]
        .map(Path::new)
        .iter()
        .chain([&&*dir.join("i.dwarfs"), &&*dir.join("tree")]));
    let out = dir.join("out");
    fs::write(&out, "old").unwrap();
    if setxattr(&out, LIST, &list_for_one(), XattrFlags::empty()).is_err() {
        sinterfs_testkit::skip("needs a file system with access control lists");
        return;
    }
    let default = dir.join("new");
    for (list, mode) in [(true, 0o640), (false, 0o640), (false, 0o4755)] {
        for below in [dir, &default] {
            let out = below.join("out");
            for words in [
                "build -q --force tree -o OUT",
                "build -q --force -f erofs tree -o new/image.erofs --blob-device OUT",
                "convert -q --force -f squashfs i.dwarfs -o OUT",
                "recompress -q --force -l1 i.dwarfs -o OUT",
                "merge -q --force --overlay i.dwarfs i.dwarfs -o OUT",
                "parity -q --force i.dwarfs -o OUT",
                "digest --force i.dwarfs -o OUT",
                "extract -q --force --tar i.dwarfs -o OUT",
                "cloop --force i.dwarfs -o OUT",
            ] {
                let _ = fs::remove_file(&out);
                fs::write(&out, "old").unwrap();
                std::os::unix::fs::chown(&out, Some(2000), Some(2001)).unwrap();
                if list {
                    setxattr(&out, LIST, &list_for_one(), XattrFlags::empty()).unwrap();
                } else {
                    let _ = rustix::fs::removexattr(&out, LIST);
                    fs::set_permissions(&out, fs::Permissions::from_mode(mode)).unwrap();
                }
                let before = access(&out);
                let words = words.replace("OUT", out.to_str().unwrap());
                let mut command = support::sinter();
                let output = command
                    .args(words.split(' '))
                    .current_dir(dir)
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{words}: {output:?}");
                assert!(fs::read(&out).unwrap() != b"old");
                let (mode, owner, group, list) = before;
                // a program with the owner's rights is not what was written now
                assert_eq!(access(&out), (mode & 0o777, owner, group, list), "{words}");
            }
        }
        // from now on files in there have a list from the beginning
        let named = "system.posix_acl_default";
        setxattr(&default, named, &list_for_one(), XattrFlags::empty()).unwrap();
    }
}

#[test]
fn a_replacement_with_another_owner_grants_no_access() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let dir = work.path();
    shell(
        dir,
        "chmod 755 .; mkdir tree open; echo secret >tree/f; chmod 777 open",
    );
    let out = dir.join("open/out");
    let build = |user: &str| {
        let mut command = Command::new("setpriv");
        command
            .args(user.split(' '))
            .arg(env!("CARGO_BIN_EXE_sinter"));
        command
            .args(["build", "-q", "--force", "-f", "dwarfs", "tree", "-o"])
            .arg(&out);
        let output = command.current_dir(dir).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !build("--reuid 2000 --regid 100 --clear-groups") {
        sinterfs_testkit::skip("another user cannot run the program");
        return;
    }
    for (user, mode, list, expected) in [
        // its owner, with a group of which they are no member
        (
            "--reuid 2000 --regid 100 --clear-groups",
            0o640,
            false,
            (0o600, 2000, 100),
        ),
        (
            "--reuid 2000 --regid 100 --clear-groups",
            0o644,
            false,
            (0o644, 2000, 100),
        ),
        (
            "--reuid 2000 --regid 100 --groups 2001",
            0o640,
            false,
            (0o640, 2000, 2001),
        ),
        (
            "--reuid 2000 --regid 100 --clear-groups",
            0,
            true,
            (0o600, 2000, 100),
        ),
        // another user
        (
            "--reuid 3000 --regid 100 --clear-groups",
            0o664,
            false,
            (0o644, 3000, 100),
        ),
        (
            "--reuid 3000 --regid 100 --clear-groups",
            0o604,
            false,
            (0o600, 3000, 100),
        ),
    ] {
        fs::remove_file(&out).unwrap();
        fs::write(&out, "old").unwrap();
        std::os::unix::fs::chown(&out, Some(2000), Some(2001)).unwrap();
        if list && setxattr(&out, LIST, &list_for_one(), XattrFlags::empty()).is_err() {
            fs::set_permissions(&out, fs::Permissions::from_mode(0o600)).unwrap();
        } else if !list {
            fs::set_permissions(&out, fs::Permissions::from_mode(mode)).unwrap();
        }
        assert!(build(user), "{user} {mode:o}");
        let (mode, owner, group, now) = access(&out);
        assert_eq!((mode, owner, group), expected, "{user}");
        assert!(now.is_none());
    }
}
