//! `sinter parity`, `repair` and `check --parity`: images of every format come back byte by byte,
//! and where that is not possible nothing is changed.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use sinterfs_testkit::{Random, noise};
use support::{build, is_root, run, scratch, shell, sinter, skip, try_run};

#[test]
fn images_of_every_format_are_repaired() {
    let work = scratch();
    let dir = work.path();
    shell(
        dir,
        "mkdir tree; seq 30000 >tree/text; ln -s text tree/link",
    );
    fs::write(dir.join("tree/noise"), noise(3, 200_000)).unwrap();
    let mut random = Random(11);
    for format in ["dwarfs", "squashfs", "erofs", "cramfs"] {
        let (image, new) = (dir.join("image"), dir.join("new"));
        let sound = build(format, &dir.join("tree"), &image, &[]);
        let (path, new_path) = (image.to_str().unwrap(), new.to_str().unwrap());
        run(["parity", "-q", "--force", path]);
        let parity_file = dir.join("image.parity");
        let parity = fs::read(&parity_file).unwrap();
        assert!(parity.len() < sound.len() / 10 + 3000, "{}", parity.len());
        let nothing = run(["repair", path]);
        assert!(String::from_utf8_lossy(&nothing.stderr).contains("nothing is damaged"));
        for round in 0..8 {
            let mut bytes = sound.clone();
            let at = random.below(bytes.len());
            let end = (at + random.below(sound.len() / 30)).min(bytes.len());
            match round % 4 {
                0 => bytes[at..end].fill(0),
                1 => bytes.truncate(bytes.len() - sound.len() / 30),
                2 => drop(bytes.drain(at..end)),
                _ => bytes[at] ^= 0x80,
            }
            if bytes == sound {
                continue;
            }
            let mut damaged_parity = parity.clone();
            if round > 3 {
                damaged_parity[random.below(parity.len())] ^= 1;
            }
            fs::write(&image, &bytes).unwrap();
            fs::write(&parity_file, &damaged_parity).unwrap();
            let checked = try_run(["check", "--parity", path]);
            assert_ne!(checked.status.code(), Some(0), "{format} {round}");
            let words = String::from_utf8_lossy(&checked.stderr).into_owned();
            assert!(words.contains("sinter repair"), "{words}");
            run(["repair", "-q", "--force", path, "-o", new_path]);
            assert!(
                fs::read(&new).unwrap() == sound,
                "{format} {round}: other bytes"
            );
            assert!(fs::read(&image).unwrap() == bytes, "the image was changed");
            run(["repair", "-q", path]);
            assert!(
                fs::read(&image).unwrap() == sound,
                "{format} {round}: other bytes"
            );
            let kept = dir.join("image.damaged");
            assert!(fs::read(&kept).unwrap() == bytes, "the damaged image");
            fs::remove_file(&kept).unwrap();
            assert!(
                fs::read(&parity_file).unwrap() == parity,
                "another parity file"
            );
            run(["check", "-q", "--parity", path]);
        }
    }
}

/// Sets the time at which a file was changed, in seconds before now.
fn set_age(path: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    let file = fs::File::options().append(true).open(path).unwrap();
    file.set_modified(time).unwrap();
}

#[test]
fn a_newer_image_is_not_replaced_by_an_older_one() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(6, 50_000)).unwrap();
    let (image, parity) = (dir.join("image"), dir.join("image.parity"));
    let path = image.to_str().unwrap();
    // all content of DwarFS has checksums; of SquashFS only the times differ
    for (format, age) in [("dwarfs", 1000), ("squashfs", 1)] {
        fs::write(dir.join("tree/text"), "one").unwrap();
        let old = build(format, &dir.join("tree"), &image, &[]);
        run(["parity", "-q", "--force", "--percent", "100", path]);
        set_age(&parity, 100);
        fs::write(dir.join("tree/text"), "two").unwrap();
        let words = run(["build", "--force", "-f", format, "-o", path]
            .into_iter()
            .chain([dir.join("tree").to_str().unwrap()]));
        let words = String::from_utf8_lossy(&words.stderr).into_owned();
        assert!(words.contains("is of the former image"), "{words}");
        set_age(&image, age);
        let new = fs::read(&image).unwrap();
        assert!(new != old);
        let refused = try_run(["repair", path]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            words.contains("newer") && words.contains("--force"),
            "{words}"
        );
        let checked = try_run(["check", "--parity", path]);
        assert_eq!(checked.status.code(), Some(1), "{checked:?}");
        let words = String::from_utf8_lossy(&checked.stderr).into_owned();
        assert!(words.contains("sinter parity --force"), "{words}");
        assert!(fs::read(&image).unwrap() == new);
        assert_eq!(fs::read_dir(dir).unwrap().count(), 3, "{format}");
        // on request the old one comes back, and the new one is there, too
        for kept in ["image.damaged", "image.damaged.2"] {
            let forced = run(["repair", "--force", path]);
            let words = String::from_utf8_lossy(&forced.stderr).into_owned();
            assert!(words.trim_end().ends_with(kept), "{words}");
            assert!(fs::read(&image).unwrap() == old);
            assert!(fs::read(dir.join(kept)).unwrap() == new);
            fs::copy(dir.join(kept), &image).unwrap();
        }
        set_age(&image, age);
        run(["parity", "-q", "--force", path]);
        run(["check", "-q", "--parity", path]);
        for kept in ["image.damaged", "image.damaged.2"] {
            fs::remove_file(dir.join(kept)).unwrap();
        }
    }
}

#[test]
fn parity_of_another_image_replaces_nothing_damaged() {
    let work = scratch();
    let dir = work.path();
    let tree = |name: &str, seed: u64, text: &str| {
        let tree = dir.join(name);
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join("text"), text).unwrap();
        fs::write(tree.join("noise"), noise(seed, 120_000)).unwrap();
        tree
    };
    // a stranger's, and an earlier one with the same large file
    let (mine, other) = (tree("mine", 1, "mine"), tree("other", 2, "evil"));
    let earlier = tree("earlier", 1, "this was before");
    let (image, parity) = (dir.join("image"), dir.join("image.parity"));
    let path = image.to_str().unwrap();
    for (format, flags) in [
        ("dwarfs", &[][..]),
        ("dwarfs", &["--with-digest"]),
        ("squashfs", &["--no-compress=all"]),
        ("squashfs", &[]),
        ("erofs", &["-Cnone"]),
        ("erofs", &[]),
    ] {
        for theirs in [&other, &earlier] {
            let restored = build(format, theirs, &dir.join("theirs"), flags);
            run(["parity", "-q", "--percent", "100", "-o"]
                .iter()
                .map(AsRef::as_ref)
                .chain([parity.as_os_str(), dir.join("theirs").as_os_str()]));
            build(format, &mine, &image, flags);
            flip(&image, 30_000);
            let damaged = fs::read(&image).unwrap();
            let refused = try_run(["repair", path]);
            let words = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(
                refused.status.code(),
                Some(2),
                "{format} {flags:?}: {words}"
            );
            assert!(words.contains("--force"), "{words}");
            assert!(fs::read(&image).unwrap() == damaged);
            assert!(!dir.join("image.damaged").exists());
            let new = dir.join("new");
            run(["repair", "-q", path, "-o", new.to_str().unwrap()]);
            assert!(fs::read(&new).unwrap() == restored);
            run(["repair", "-q", "--force", path]);
            assert!(fs::read(&image).unwrap() == restored);
            assert!(fs::read(dir.join("image.damaged")).unwrap() == damaged);
            for name in ["image.damaged", "image.parity", "image", "theirs", "new"] {
                fs::remove_file(dir.join(name)).unwrap();
            }
        }
    }
}

#[test]
fn parity_of_the_former_image_is_gone_before_the_new_one_is_there() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(6, 50_000)).unwrap();
    let image = dir.join("image.dwarfs");
    let make = |more: &[&str]| {
        let mut command = sinter();
        command.args(["build", "-q", "--parity", "50", "-o"]);
        command.arg(&image).arg(dir.join("tree")).args(more);
        command.output().unwrap()
    };
    assert!(make(&[]).status.success());
    let parity = dir.join("image.dwarfs.parity");
    let former = [&image, &parity].map(|path| fs::read(path).unwrap());
    // without --force nothing is changed
    assert!(!make(&[]).status.success());
    assert!(former == [&image, &parity].map(|path| fs::read(path).unwrap()));
    fs::write(dir.join("tree/noise"), noise(7, 50_000)).unwrap();
    assert!(make(&["--force"]).status.success());
    run(["check", "-q", "--parity", image.to_str().unwrap()]);
    assert_eq!(fs::read_dir(dir).unwrap().count(), 3);
}

#[test]
fn a_signature_that_is_added_later_stays() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(7, 50_000)).unwrap();
    let image = dir.join("image");
    build("dwarfs", &dir.join("tree"), &image, &["--with-digest"]);
    let (path, keys) = (image.to_str().unwrap(), dir.join("keys"));
    run(["parity", "-q", "--percent", "100", path]);
    run(["keygen", "--no-password", keys.to_str().unwrap()]);
    let key = dir.join("keys.key");
    let signed = run(["sign", "--embed", "--key", key.to_str().unwrap(), path]);
    let words = String::from_utf8_lossy(&signed.stderr).into_owned();
    assert!(words.contains("is of the former image"), "{words}");
    let signed = fs::read(&image).unwrap();
    let refused = try_run(["repair", path]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(fs::read(&image).unwrap() == signed);
    run(["parity", "-q", "--force", path]);
}

#[test]
fn parity_that_a_damaged_image_needs_is_not_replaced() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(8, 100_000)).unwrap();
    let (image, parity) = (dir.join("image"), dir.join("image.parity"));
    let path = image.to_str().unwrap();
    for format in ["dwarfs", "squashfs"] {
        let sound = build(format, &dir.join("tree"), &image, &[]);
        run(["parity", "-q", "--force", path]);
        let made = fs::read(&parity).unwrap();
        let mut bytes = sound.clone();
        bytes[50_000] ^= 1;
        fs::write(&image, &bytes).unwrap();
        set_age(&image, 100);
        let refused = try_run(["parity", "--force", path]);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        assert!(fs::read(&parity).unwrap() == made);
        run(["repair", "-q", path]);
        assert!(fs::read(&image).unwrap() == sound);
        assert!(fs::read(dir.join("image.damaged")).unwrap() == bytes);
        fs::remove_file(dir.join("image.damaged")).unwrap();
        run(["parity", "-q", "--force", path]);
        fs::remove_file(&parity).unwrap();
    }
}

#[test]
fn parity_is_written_with_an_image() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(8, 100_000)).unwrap();
    let (image, parity) = (dir.join("image"), dir.join("image.parity"));
    let path = image.to_str().unwrap();
    let tree = dir.join("tree");
    let tree = tree.to_str().unwrap();
    // in all commands that write images, of several formats
    let commands = [
        &["build", tree, "-f", "dwarfs"][..],
        &["recompress", path, "-l1"],
        &["recompress", path, "--rebuild", "-l2"],
        &["convert", path, "-f", "squashfs"],
        &["merge", "--overlay", path, path, "-f", "erofs"],
    ];
    for command in commands {
        let flags = ["-o", path, "--force", "--parity", "20"];
        let output = run(command.iter().chain(&flags));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains("of parity"), "{words}");
        assert!(!words.contains("former image"), "{words}");
        run(["check", "-q", "--parity", path]);
        let output = run(command.iter().chain(&flags).chain(&["--json"]));
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let sound = fs::read(&image).unwrap();
        let parity = fs::read(&parity).unwrap();
        assert!(parity.len() > sound.len() / 5);
        assert_eq!(told["parity_bytes"], parity.len() as u64, "{command:?}");
        let mut bytes = sound.clone();
        bytes[40_000..55_000].fill(0);
        fs::write(&image, &bytes).unwrap();
        // not all formats have checksums that distinguish this from a newer image
        run(["repair", "-q", "--force", path]);
        assert!(fs::read(&image).unwrap() == sound, "{command:?}");
    }
    // what would prevent it is found before an image is written
    fs::remove_file(&image).unwrap();
    let refused = |flags: &[&str], word: &str| {
        let output = try_run(["build", tree, "--parity", "5"].iter().chain(flags));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains(word), "{words}");
        assert!(!image.exists());
    };
    refused(&["-o", path], "the parity exists");
    refused(&["-o", "-", "-q"], "in a file");
    refused(&["-o", "/dev/null", "-q"], "regular file");
    refused(&["-o", path, "--force", "--parity", "0"], "--parity");
    let source = fs::read(&parity).unwrap();
    let path_of_parity = parity.to_str().unwrap();
    refused(&[path_of_parity, "-o", path, "--force"], "source");
    assert!(fs::read(&parity).unwrap() == source);
}

/// An image of a file of noise in a directory of its own, its bytes, and its parity, written.
fn protected(dir: &Path) -> (PathBuf, Vec<u8>, PathBuf) {
    fs::create_dir_all(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(9, 100_000)).unwrap();
    let image = dir.join("image");
    let sound = build("dwarfs", &dir.join("tree"), &image, &[]);
    run(["parity".as_ref(), "-q".as_ref(), image.as_os_str()]);
    (image, sound, dir.join("image.parity"))
}

/// Changes a byte of a file in place.
fn flip(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn undamaged_files_are_not_rewritten() {
    let work = scratch();
    let (image, sound, parity) = protected(work.path());
    let made = fs::read(&parity).unwrap();
    let inode = |path: &Path| fs::metadata(path).unwrap().ino();
    let before = [inode(&image), inode(&parity)];
    flip(&parity, 3000);
    run(["repair".as_ref(), image.as_os_str()]);
    assert!(fs::read(&parity).unwrap() == made);
    assert_eq!(inode(&image), before[0], "the image was replaced");
    assert_ne!(inode(&parity), before[1]);
    let before = inode(&parity);
    flip(&image, 3000);
    run(["repair".as_ref(), image.as_os_str()]);
    assert!(fs::read(&image).unwrap() == sound);
    assert_eq!(inode(&parity), before, "the parity was replaced");
}

#[test]
fn parity_that_cannot_be_written_is_enough() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let dir = work.path();
    let (image, sound, parity) = protected(dir);
    let other = dir.join("read-only");
    fs::create_dir(&other).unwrap();
    fs::rename(&parity, other.join("parity")).unwrap();
    let named = other.join("parity");
    let mut bind = Command::new("mount");
    let bound = bind.arg("--bind").args([&other, &other]).status();
    if !bound.is_ok_and(|status| status.success()) {
        skip("needs the right to mount");
        return;
    }
    let _guard = Unmount(&other);
    let mut remount = Command::new("mount");
    let remount = remount.args(["-o", "remount,ro,bind"]).arg(&other).status();
    assert!(remount.unwrap().success());
    assert!(
        fs::write(other.join("x"), "x").is_err(),
        "it can be written"
    );
    let repair = || {
        let mut command = sinter();
        command.arg("repair").arg(&image).arg("--parity");
        command.arg(&named).output().unwrap()
    };
    flip(&image, 3000);
    let output = repair();
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read(&image).unwrap() == sound);
    // the image comes first, also if the parity is damaged and cannot be restored
    let mut remount = Command::new("mount");
    let remount = remount.args(["-o", "remount,rw,bind"]).arg(&other).status();
    assert!(remount.unwrap().success());
    flip(&named, 3000);
    let mut remount = Command::new("mount");
    let remount = remount.args(["-o", "remount,ro,bind"]).arg(&other).status();
    assert!(remount.unwrap().success());
    flip(&image, 50_000);
    let output = repair();
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert!(fs::read(&image).unwrap() == sound);
}

/// Unmounts a directory in the end.
struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.0).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn a_restored_image_has_the_attributes_of_the_old_one() {
    let work = scratch();
    let (image, sound, parity) = protected(work.path());
    for path in [&image, &parity] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap();
        let _ = rustix::fs::setxattr(path, "user.note", b"mine", rustix::fs::XattrFlags::empty());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(path, Some(1000), Some(1001)).unwrap();
        }
        flip(path, 3000);
        set_age(path, 5000);
    }
    let state = |path: &Path| {
        let found = fs::metadata(path).unwrap();
        let mut value = [0; 100];
        let xattr = rustix::fs::getxattr(path, "user.note", &mut value[..]);
        (
            (found.uid(), found.gid(), found.mode()),
            (found.mtime(), found.mtime_nsec()),
            xattr.map(|len| value[..len].to_vec()),
        )
    };
    let before = [state(&image), state(&parity)];
    run(["repair".as_ref(), "-q".as_ref(), image.as_os_str()]);
    assert!(fs::read(&image).unwrap() == sound);
    assert_eq!([state(&image), state(&parity)], before);
}

#[test]
fn a_device_is_not_repaired_in_place() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let dir = work.path();
    let (image, mut sound, parity) = protected(dir);
    sound.resize(sound.len().next_multiple_of(4096), 0);
    fs::write(&image, &sound).unwrap();
    fs::remove_file(&parity).unwrap();
    run(["parity".as_ref(), "-q".as_ref(), image.as_os_str()]);
    flip(&image, 3000);
    let damaged = fs::read(&image).unwrap();
    let mut attach = Command::new("losetup");
    let attached = attach.args(["-f", "--show"]).arg(&image).output();
    let device = match attached {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
        _ => {
            skip("needs losetup and a loop device");
            return;
        }
    };
    let device = device.trim();
    let _guard = Detach(device);
    let (parity, new) = (parity.to_str().unwrap(), dir.join("new"));
    for force in [&[][..], &["--force"]] {
        let refused = try_run(["repair", "--parity", parity, device].iter().chain(force));
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }
    assert!(fs::read(device).unwrap() == damaged);
    run([
        "repair",
        "--parity",
        parity,
        device,
        "-o",
        new.to_str().unwrap(),
    ]);
    assert!(fs::read(&new).unwrap() == sound);
}

/// Detaches a loop device in the end.
struct Detach<'a>(&'a str);

impl Drop for Detach<'_> {
    fn drop(&mut self) {
        let status = Command::new("losetup").args(["-d", self.0]).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn parity_may_be_elsewhere_and_of_any_file() {
    let work = scratch();
    let dir = work.path();
    let (image, _, parity) = protected(dir);
    let elsewhere = dir.join("elsewhere");
    fs::rename(&parity, &elsewhere).unwrap();
    let option = format!("--parity={}", elsewhere.display());
    let path = image.to_str().unwrap();
    run(["check", &option, path]);
    assert_eq!(try_run(["check", "--parity", path]).status.code(), Some(5));
    assert_eq!(
        try_run(["check", &option, path, path]).status.code(),
        Some(2)
    );
    flip(&image, 3000);
    let output = try_run(["check", &option, path]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("can restore them"), "{words}");
    assert!(words.contains("damaged: 1 of "), "{words}");
    // a file that is no image
    let text = dir.join("text");
    fs::write(&text, noise(10, 50_000)).unwrap();
    let path = text.to_str().unwrap();
    run(["parity", "-q", path]);
    assert_eq!(try_run(["check", path]).status.code(), Some(4));
    let output = run(["check", "--parity", path]);
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(words.contains("only compared with its parity"), "{words}");
    flip(&dir.join("text.parity"), 3000);
    assert_eq!(try_run(["check", "--parity", path]).status.code(), Some(1));
    flip(&text, 3000);
    let output = try_run(["check", "--parity", path]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("can restore them"), "{words}");
}

#[test]
fn irreparable_files_are_left_unchanged() {
    let work = scratch();
    let dir = work.path();
    fs::create_dir(dir.join("tree")).unwrap();
    fs::write(dir.join("tree/noise"), noise(4, 300_000)).unwrap();
    let image = dir.join("image");
    let sound = build("squashfs", &dir.join("tree"), &image, &[]);
    let path = image.to_str().unwrap();
    let missing = try_run(["repair", path]);
    assert_eq!(missing.status.code(), Some(5));
    run(["parity", "-q", path]);
    assert_eq!(
        try_run(["parity", path]).status.code(),
        Some(2),
        "it exists"
    );
    let mut bytes = sound.clone();
    bytes[10_000..50_000].fill(0xaa);
    fs::write(&image, &bytes).unwrap();
    let new = dir.join("new");
    let to_new = ["repair", path, "-o", new.to_str().unwrap()];
    for words in [&["repair", path][..], &to_new] {
        let output = try_run(words);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("too few"), "{said}");
    }
    assert!(fs::read(&image).unwrap() == bytes);
    let names = fs::read_dir(dir).unwrap().count();
    assert_eq!(names, 3, "the tree, the image and its parity");
    fs::write(dir.join("image.parity"), noise(5, 10_000)).unwrap();
    let output = try_run(["repair", path]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
}
