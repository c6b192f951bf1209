//! Signatures of images by the whole program, beside those of minisign: each accepts what the other
//! signs, and whatever is wrong is refused with a reason.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sinterfs_testkit::{noise, skip};
use support::{Mounted, run, scratch, sinter, try_run};

/// Makes a pair of keys with minisign; `None` if there is no minisign.
fn keys(work: &Path, name: &str) -> Option<(PathBuf, PathBuf)> {
    let (public, secret) = (
        work.join(format!("{name}.pub")),
        work.join(format!("{name}.key")),
    );
    let mut command = Command::new("minisign");
    command
        .args(["-G", "-W", "-f", "-p"])
        .arg(&public)
        .arg("-s")
        .arg(&secret);
    match command.stdout(Stdio::null()).status() {
        Ok(status) => {
            assert!(status.success());
            Some((public, secret))
        }
        Err(_) => {
            skip("minisign is not installed");
            None
        }
    }
}

fn image(work: &Path, name: &str, seed: u64, flags: &[&str]) -> PathBuf {
    let (tree, image) = (work.join("tree"), work.join(name));
    fs::create_dir_all(&tree).unwrap();
    fs::write(tree.join("file"), noise(seed, 200_000)).unwrap();
    let mut command = sinter();
    command.args(["build", "-q", "--force", "-l1"]).args(flags);
    let built = command.arg(&tree).arg("-o").arg(&image).status().unwrap();
    assert!(built.success());
    image
}

fn refused(output: &Output, code: i32, why: &str) {
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words}");
    assert!(words.contains(why), "{words}");
}

fn sign(image: &Path, key: &Path, more: &[&str]) -> Output {
    let mut command = sinter();
    command
        .arg("sign")
        .arg(image)
        .arg("--key")
        .arg(key)
        .args(more);
    command.output().unwrap()
}

fn check(image: &Path, key: &Path, more: &[&str]) -> Output {
    let mut command = sinter();
    command
        .arg("check")
        .arg(image)
        .arg("--signed-by")
        .arg(key)
        .args(more);
    command.output().unwrap()
}

fn minisign(words: &[&str], paths: [(&str, &Path); 2]) -> Output {
    let mut command = Command::new("minisign");
    command.args(words);
    for (flag, path) in paths {
        command.arg(flag).arg(path);
    }
    command.output().unwrap()
}

/// Writes the line that is signed where minisign looks for it.
fn state(image: &Path) -> PathBuf {
    let mut path = image.as_os_str().to_owned();
    path.push(".root");
    let line = run([Path::new("digest"), Path::new("--statement"), image]).stdout;
    fs::write(&path, line).unwrap();
    path.into()
}

#[test]
fn minisign_accepts_ours_and_we_its() {
    let work = scratch();
    let Some((public, secret)) = keys(work.path(), "own") else {
        return;
    };
    for (name, flags) in [
        ("image.dwarfs", &["--with-digest"][..]),
        ("plain.dwarfs", &[]),
        ("image.squashfs", &[]),
        ("image.erofs", &[]),
    ] {
        let image = image(work.path(), name, 1, flags);
        let signed = sign(&image, &secret, &["--comment", "release 7"]);
        assert!(signed.status.success(), "{signed:?}");
        let line = state(&image);
        let theirs = minisign(&["-V"], [("-m", &line), ("-p", &public)]);
        assert!(theirs.status.success(), "{theirs:?}");
        let words = String::from_utf8_lossy(&theirs.stdout).into_owned();
        assert!(words.contains("Trusted comment: release 7"), "{words}");
        let ours = check(&image, &public, &[]);
        assert!(ours.status.success(), "{ours:?}");
        assert!(String::from_utf8_lossy(&ours.stdout).contains("signed: release 7\n"));
        // not without the option
        refused(&sign(&image, &secret, &[]), 2, "--force");
        // the other way
        let signed = minisign(&["-S", "-t", "release 8"], [("-m", &line), ("-s", &secret)]);
        assert!(signed.status.success(), "{signed:?}");
        let ours = check(&image, &public, &["--json"]);
        assert!(ours.status.success(), "{ours:?}");
        let told: serde_json::Value = serde_json::from_slice(&ours.stdout).unwrap();
        assert_eq!(told["signed"], "release 8");
    }
}

#[test]
fn whatever_is_wrong_is_refused() {
    let work = scratch();
    let (Some((public, secret)), Some((other, _))) =
        (keys(work.path(), "own"), keys(work.path(), "other"))
    else {
        return;
    };
    let signed = image(work.path(), "image.dwarfs", 1, &["--with-digest"]);
    refused(
        &check(&signed, &public, &[]),
        5,
        "the image has no signature",
    );
    assert!(sign(&signed, &secret, &[]).status.success());
    assert!(check(&signed, &public, &[]).status.success());
    refused(
        &check(&signed, &other, &[]),
        3,
        "the signature is of another key",
    );
    // another image under the name, with the digests it has and without
    for flags in [&["--with-digest"][..], &[]] {
        image(work.path(), "image.dwarfs", 2, flags);
        refused(
            &check(&signed, &public, &[]),
            3,
            "the signature is not of this image",
        );
        let mount = work.path().join("mnt");
        fs::create_dir_all(&mount).unwrap();
        let mut command = sinter();
        command
            .arg("mount")
            .arg(&signed)
            .arg(&mount)
            .arg("--signed-by")
            .arg(&public);
        refused(
            &command.output().unwrap(),
            3,
            "the signature is not of this image",
        );
    }
    // a bit of the image
    let flags = ["--with-digest", "-C", "none", "-b", "512k"];
    let signed = image(work.path(), "image.dwarfs", 1, &flags);
    assert!(sign(&signed, &secret, &["--force"]).status.success());
    assert!(check(&signed, &public, &[]).status.success());
    let mut bytes = fs::read(&signed).unwrap();
    bytes[100_000] ^= 1;
    fs::write(&signed, bytes).unwrap();
    refused(
        &check(&signed, &public, &[]),
        1,
        "do not match their digest",
    );
    refused(&sign(&signed, &secret, &["--force"]), 3, "do not match");
    // files that are none
    let mut signature = signed.clone().into_os_string();
    signature.push(".root.minisig");
    fs::write(&signature, "untrusted comment: x\n").unwrap();
    refused(&check(&signed, &public, &[]), 3, "no signature of minisign");
    refused(
        &check(&signed, &secret, &[]),
        2,
        "no public key of minisign",
    );
    refused(&sign(&signed, &public, &[]), 3, "");
    let both = try_run(["ls", "x", "--digest", &"0".repeat(64), "--signed-by", "y"]);
    refused(&both, 2, "cannot be used with");
}

#[test]
fn a_mount_by_a_key() {
    let work = scratch();
    let Some((public, secret)) = keys(work.path(), "own") else {
        return;
    };
    let image = image(work.path(), "image.dwarfs", 1, &["--with-digest"]);
    let elsewhere = work.path().join("signature");
    let to = elsewhere.to_str().unwrap();
    assert!(sign(&image, &secret, &["-o", to]).status.success());
    let line = fs::read_to_string(&public).unwrap();
    let line = line.lines().nth(1).unwrap();
    let flags = ["--signed-by", line, "--signature", to];
    let mounted = Mounted::new(&image, &work.path().join("mnt"), &flags);
    assert!(fs::read(mounted.0.join("file")).unwrap() == noise(1, 200_000));
    drop(mounted);
    // as fstab says it, with the signature where it is looked for
    assert!(sign(&image, &secret, &[]).status.success());
    let option = format!("signed_by={}", public.display());
    let mounted = Mounted::new(&image, &work.path().join("mnt"), &["-o", &option]);
    assert!(fs::read(mounted.0.join("file")).unwrap() == noise(1, 200_000));
}

#[test]
fn an_image_holds_its_signature() {
    let work = scratch();
    let Some((public, secret)) = keys(work.path(), "own") else {
        return;
    };
    let signed = image(work.path(), "image.dwarfs", 1, &["--with-digest"]);
    let embed = ["--embed", "--comment", "inside"];
    assert!(sign(&signed, &secret, &embed).status.success());
    let checked = check(&signed, &public, &[]);
    assert!(checked.status.success(), "{checked:?}");
    assert!(String::from_utf8_lossy(&checked.stdout).contains("signed: inside\n"));
    let (path, new) = (signed.to_str().unwrap(), work.path().join("new.dwarfs"));
    run(["check", "--deep", path]);
    if let Some(dwarfsck) = support::peer("dwarfsck") {
        let mut command = Command::new(dwarfsck);
        command.arg("-i").arg(path).arg("--check-integrity");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    // no new image has the old one's
    for verb in [
        &["recompress"][..],
        &["recompress", "--rebuild-metadata"],
        &["convert"],
    ] {
        let new = new.to_str().unwrap();
        run(verb
            .iter()
            .chain(&[path, "-o", new, "--force", "--with-digest"]));
        let told = String::from_utf8(run(["info", new]).stdout).unwrap();
        assert!(
            told.contains("DIGEST") && !told.contains("SIGNATURE"),
            "{told}"
        );
    }
    refused(&check(&new, &public, &[]), 5, "the image has no signature");
    let bare = image(work.path(), "bare.dwarfs", 1, &[]);
    refused(&sign(&bare, &secret, &embed), 2, "no digests to sign");
    let other = image(work.path(), "image.squashfs", 1, &[]);
    let before = fs::read(&other).unwrap();
    refused(&sign(&other, &secret, &embed), 4, "hold no signatures");
    assert!(fs::read(&other).unwrap() == before);
}

#[test]
fn bytes_around_an_image_are_signed_or_named() {
    let work = scratch();
    let dir = work.path();
    let key = dir.join("k");
    run(["keygen", key.to_str().unwrap(), "--no-password"]);
    let (secret, public) = (dir.join("k.key"), dir.join("k.pub"));
    let header = dir.join("header");
    fs::write(&header, "#!/bin/sh\necho hello\n".repeat(300)).unwrap();
    let before = format!("--header={}", header.display());
    let len = 6300;
    for embedded in [false, true] {
        let image = image(dir, "app.dwarfs", 1, &["--with-digest", &before]);
        let embed: &[&str] = if embedded { &["--embed"] } else { &["--force"] };
        assert!(sign(&image, &secret, embed).status.success());
        let sound = fs::read(&image).unwrap();
        let good = check(&image, &public, &["--deep"]);
        assert!(good.status.success(), "{good:?}");
        let lists = |image: &Path| {
            let mut command = sinter();
            command.arg("ls").arg(image).arg("--signed-by").arg(&public);
            command.output().unwrap()
        };
        assert!(lists(&image).status.success());
        // one bit of the program
        let mut changed = sound.clone();
        changed[4096] ^= 1;
        fs::write(&image, &changed).unwrap();
        refused(&check(&image, &public, &[]), 3, "not of this image");
        refused(&lists(&image), 3, "not of this image");
        // something behind the image
        fs::write(&image, [&sound[..], b"more"].concat()).unwrap();
        let after = check(&image, &public, &[]);
        refused(&after, 1, "4 bytes after the image are not covered");
        assert!(lists(&image).status.success());
        if !embedded {
            // a header before an image that was signed without one
            let plain = &sound[len..];
            fs::write(&image, plain).unwrap();
            assert!(sign(&image, &secret, &["--force"]).status.success());
            assert!(check(&image, &public, &[]).status.success());
            fs::write(&image, &sound).unwrap();
            let named = check(&image, &public, &[]);
            refused(&named, 1, "6300 bytes before the image are not covered");
            let at = format!("--offset={len}");
            assert!(check(&image, &public, &[&at]).status.success());
            assert!(lists(&image).status.success());
        }
    }
}

#[test]
fn the_statement_of_an_image_behind_a_header_is_signed_by_minisign() {
    let work = scratch();
    let dir = work.path();
    let Some((public, secret)) = keys(dir, "vendor") else {
        return;
    };
    let header = dir.join("header");
    fs::write(&header, "#!/bin/sh\n").unwrap();
    let before = format!("--header={}", header.display());
    let image = image(dir, "app.dwarfs", 1, &["--with-digest", &before]);
    let statement = run(["digest", "--statement", image.to_str().unwrap()]).stdout;
    let words = String::from_utf8(statement.clone()).unwrap();
    assert!(words.starts_with("sinterfs-digest-v2 ") && words.contains(" header "));
    let root = dir.join("app.dwarfs.root");
    fs::write(&root, statement).unwrap();
    let signed = minisign(&["-S", "-W"], [("-m", &root), ("-s", &secret)]);
    assert!(signed.status.success(), "{signed:?}");
    assert!(check(&image, &public, &[]).status.success());
}
