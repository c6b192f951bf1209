//! `sinter recompress`: the new image shows what the old one does, whoever made that, and
//! upstream's tools read it; what is damaged leaves nothing behind.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::{compare, is_root, peer, run, scratch, sinter, try_run, vectors};

fn recompress(flags: &[&str], image: &Path, to: &Path) -> Output {
    let mut command = sinter();
    command.args(["recompress", "--force"]).args(flags);
    command.arg(image).arg("-o").arg(to).output().unwrap()
}

fn recompressed(flags: &[&str], image: &Path, to: &Path) {
    let output = recompress(flags, image, to);
    assert!(output.status.success(), "{flags:?} {image:?}: {output:?}");
}

/// Lists an image with everything but inode numbers, which are the format's own.
fn listing(image: &Path) -> Vec<String> {
    let output = run([
        OsStr::new("ls"),
        "-R".as_ref(),
        "--json".as_ref(),
        image.as_os_str(),
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    let row = |line: &str| {
        let mut row: serde_json::Value = serde_json::from_str(line).unwrap();
        row.as_object_mut().unwrap().remove("ino").unwrap();
        row.to_string()
    };
    text.lines().map(row).collect()
}

/// Extracts an image and compares it with the manifest of a vector.
fn extracts_as(shared: &Path, image: &Path, row: &serde_json::Value, work: &Path) {
    let to = work.join("extracted");
    run([
        OsStr::new("extract"),
        image.as_os_str(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
    let options: Vec<&str> = row["compare"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    let manifest = shared.join(row["manifest"].as_str().unwrap());
    compare(shared, &options, &manifest, &to);
    fs::remove_dir_all(&to).unwrap();
}

#[test]
fn vectors_show_the_same_afterwards() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let to = work.path().join("new.dwarfs");
    let index = fs::read_to_string(shared.join("images/INDEX.jsonl")).unwrap();
    let rows = index
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|row| row["format"] == "dwarfs");
    let mut seen = 0;
    for (number, row) in rows.enumerate() {
        let file = shared.join("images").join(row["file"].as_str().unwrap());
        let image = unpacked(&file, work.path());
        let before = listing(&image);
        let cases: &[&[&str]] = &[
            &["-l8"],
            &["-C", "lz4", "--metadata-compression", "none"],
            &["--only", "none"],
            &["--only", "metadata", "--pack-metadata", "none"],
            &["--rebuild", "-l4"],
            &["-b", "32k", "-C", "brotli:quality=3"],
        ];
        // three of the cases for every image, one of them byte by byte
        for flags in (1..4).map(|step| cases[(number + step) % cases.len()]) {
            recompressed(flags, &image, &to);
            assert!(before == listing(&to), "{flags:?} {file:?}");
        }
        extracts_as(&shared, &to, &row, work.path());
        run([Path::new("check"), Path::new("--deep"), &to]);
        seen += 1;
    }
    assert!(seen >= 31, "{seen}");
}

/// Returns a vector's image, unpacked where it is stored packed.
fn unpacked(file: &Path, work: &Path) -> PathBuf {
    if file.extension().is_none_or(|extension| extension != "gz") {
        return file.to_owned();
    }
    let output = Command::new("gzip").arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success());
    let to = work.join("unpacked.img");
    fs::write(&to, output.stdout).unwrap();
    to
}

#[test]
fn upstream_reads_recompressed_images() {
    let (Some(dwarfsck), Some(dwarfsextract)) = (peer("dwarfsck"), peer("dwarfsextract")) else {
        return;
    };
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let new = work.path().join("new.dwarfs");
    let succeeds = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    };
    for name in ["l7", "categorize", "pack-all", "lookback", "header"] {
        let old = shared.join(format!("images/dwarfs/{name}.img"));
        let extracted = |image: &Path, to: &str| {
            let to = work.path().join(to);
            fs::create_dir(&to).unwrap();
            let mut command = Command::new(&dwarfsextract);
            succeeds(
                command
                    .arg("-i")
                    .arg(image)
                    .arg("-o")
                    .arg(&to)
                    .args(["-O", "auto"]),
            );
            to
        };
        let before = extracted(&old, "before");
        for flags in [
            &["-l9"][..],
            &["--only", "none"],
            &["--rebuild-metadata", "-C", "lz4hc:level=9"],
            &["--rebuild", "-l6"],
            &["--only", "metadata", "--pack-metadata", "plain"],
        ] {
            recompressed(flags, &old, &new);
            let mut command = Command::new(&dwarfsck);
            succeeds(
                command
                    .arg("-i")
                    .arg(&new)
                    .args(["--check-integrity", "-q", "-O", "auto"]),
            );
            let after = extracted(&new, "after");
            compare(
                &shared,
                &["--skip", ".", "--skip", "special/socket"],
                &before,
                &after,
            );
            fs::remove_dir_all(&after).unwrap();
        }
        fs::remove_dir_all(&before).unwrap();
    }
}

/// A small tree and its image of many blocks.
fn image(work: &Path) -> PathBuf {
    let tree = work.join("tree");
    fs::create_dir_all(tree.join("dir")).unwrap();
    for i in 0..60u32 {
        let words = (0..400).map(|j| format!("{} ", i.wrapping_mul(2_654_435_761) ^ j));
        fs::write(tree.join(format!("dir/file{i}")), words.collect::<String>()).unwrap();
    }
    let image = work.join("old.dwarfs");
    run([
        OsStr::new("build"),
        tree.as_os_str(),
        "-o".as_ref(),
        image.as_os_str(),
        "-l4".as_ref(),
        "-b8k".as_ref(),
    ]);
    image
}

fn info(image: &Path) -> serde_json::Value {
    let output = run([OsStr::new("info"), "--json".as_ref(), image.as_os_str()]);
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_bytes_depend_on_image_and_options_alone() {
    let work = scratch();
    let old = image(work.path());
    let (a, b) = (work.path().join("a"), work.path().join("b"));
    for flags in [
        &["-l8"][..],
        &["--rebuild", "-l5"],
        &["--rebuild-metadata", "-C", "lz4"],
    ] {
        recompressed(&[flags, &["-j1"]].concat(), &old, &a);
        recompressed(&[flags, &["-j3"]].concat(), &old, &b);
        assert!(fs::read(&a).unwrap() == fs::read(&b).unwrap(), "{flags:?}");
    }
    // a time is recorded only if it is given
    let stamped = sinter()
        .args(["recompress", "--force", "-l1", "-o"])
        .args([&b, &old])
        .env("SOURCE_DATE_EPOCH", "1700000000")
        .status()
        .unwrap();
    assert!(stamped.success());
    let text = info(&b).to_string();
    assert!(text.contains("1700000000"), "{text}");
    recompressed(&["-l1"], &old, &a);
    assert!(!info(&a).to_string().contains("1700000000"));
    assert_eq!(listing(&a), listing(&b));
}

#[test]
fn history_header_and_index_stay_or_go_as_asked() {
    let work = scratch();
    let old = image(work.path());
    let new = work.path().join("new.dwarfs");
    let headed = work.path().join("headed");
    let header = work.path().join("header");
    fs::write(&header, "#!/bin/sh\necho DWARFS\n").unwrap();
    recompressed(
        &["--only", "none", "--header", header.to_str().unwrap()],
        &old,
        &headed,
    );
    assert!(
        fs::read(&headed)
            .unwrap()
            .starts_with(&fs::read(&header).unwrap())
    );
    assert_eq!(listing(&headed), listing(&old));
    for (flags, kept) in [
        (&["-l3"][..], true),
        (&["--rebuild", "-l3"], true),
        (&["-l3", "--remove-header"], false),
    ] {
        recompressed(flags, &headed, &new);
        let starts = fs::read(&new)
            .unwrap()
            .starts_with(&fs::read(&header).unwrap());
        assert_eq!(starts, kept, "{flags:?}");
        assert_eq!(listing(&new), listing(&old));
        let found = info(&new);
        let history = found["history"].as_array().unwrap();
        assert_eq!(history.len(), 3, "{flags:?}: {history:?}");
        let command = |run: usize| history[run]["arguments"].as_str().unwrap().to_owned();
        assert!(command(0).starts_with("sinter build "));
        assert!(
            command(2).starts_with("sinter recompress "),
            "{}",
            command(2)
        );
    }
    recompressed(&["-l3", "--no-history", "--no-section-index"], &old, &new);
    let found = info(&new);
    assert!(found.get("history").is_none());
    assert_eq!(found["section_index"], false);
}

#[test]
fn metadata_changes_without_the_blocks() {
    let work = scratch();
    let old = image(work.path());
    let new = work.path().join("new.dwarfs");
    let flags = [
        "--only",
        "none",
        "--set-owner",
        "77",
        "--chmod",
        "F0600",
        "--set-time",
        "5",
    ];
    let output = recompress(&[&flags[..], &["--json"]].concat(), &old, &new);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["recoded_blocks"], 0);
    assert!(report["blocks"].as_u64().unwrap() > 5);
    for row in listing(&new).iter().filter(|row| row.contains("dir/file")) {
        let row: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(
            (&row["uid"], &row["mode"]),
            (&77.into(), &"0600".into()),
            "{row}"
        );
        assert_eq!(row["mtime"], 5_000_000_000_u64);
    }
    run([OsStr::new("check"), "--deep".as_ref(), new.as_os_str()]);
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let work = scratch();
    let old = image(work.path());
    let new = work.path().join("new.dwarfs");
    for flags in [
        &["--order", "path"][..],
        &["-B", "3"],
        &["--memory", "1g"],
        &["--rebuild", "--only", "blocks"],
        &["--rebuild", "--keep-smaller"],
        &["-b", "64k", "--categories", "x"],
        &["--rebuild", "-C", "x::lz4"],
        &["-C", "lz4", "-C", "zstd"],
        &["-C", "x::lz4"],
        &["--categories", "!x"],
        &["--only", "metadata", "-C", "x::lz4"],
        &["--pack-metadata", "everything"],
        &["-b", "12345"],
        &["-C", "zip"],
    ] {
        let output = recompress(flags, &old, &new);
        assert_eq!(output.status.code(), Some(2), "{flags:?}: {output:?}");
        assert!(!new.exists(), "{flags:?}");
    }
    let output = try_run(["recompress", "/no/such/image", "-o", "/dev/null"]);
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn damage_leaves_nothing_behind() {
    let work = scratch();
    let old = image(work.path());
    let whole = listing(&old);
    let bytes = fs::read(&old).unwrap();
    let out = work.path().join("out");
    fs::create_dir(&out).unwrap();
    let broken = work.path().join("broken");
    let mut refused = 0;
    for at in (70..bytes.len()).step_by(bytes.len() / 23) {
        let mut copy = bytes.clone();
        copy[at] ^= 1;
        fs::write(&broken, &copy).unwrap();
        for flags in [&["-l1"][..], &["--only", "none"], &["--rebuild", "-l1"]] {
            let output = recompress(flags, &broken, &out.join("new"));
            if output.status.success() {
                // where no hash is taken over; --rebuild needs no history
                assert_eq!(listing(&out.join("new")), whole);
                fs::remove_file(out.join("new")).unwrap();
                continue;
            }
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(3 | 4)), "{words}");
            assert_eq!(words.lines().count(), 1, "{words}");
            assert!(words.contains("broken"), "{words}");
            assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
            refused += 1;
        }
    }
    assert!(refused > 40, "{refused}");
}
