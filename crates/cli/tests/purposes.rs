//! What an image is packed for: the profile decides about codec and block size, and is recorded.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::path::Path;

use serde_json::Value;
use support::{build, run, scratch, try_build, try_run};

/// Makes a tree of text that compresses a little.
fn tree(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    let mut state = 1_u32;
    for file in 0..8 {
        let mut text = String::new();
        for _ in 0..60_000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text += &format!("{} ", state >> 16);
        }
        std::fs::write(dir.join(format!("file{file}")), text).unwrap();
    }
}

fn info(image: &Path) -> Value {
    let output = run([Path::new("info"), Path::new("--json"), image]);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the codecs of blocks, without their settings.
fn codecs(info: &Value) -> Vec<String> {
    let sections = info["sections"].as_array().unwrap().iter();
    let blocks = sections.filter(|section| section["type"] == "BLOCK");
    let codec = |section: &Value| section["compression"].as_str().unwrap().to_owned();
    blocks.map(codec).collect()
}

#[test]
fn each_purpose_has_its_blocks_and_is_shown() {
    let work = scratch();
    let (dir, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    tree(&dir);
    for (flags, purpose, block_size, codec) in [
        (&[][..], "mount", 16_u64 << 20, "ZSTD"),
        (&["--for", "mount"], "mount", 16 << 20, "ZSTD"),
        (&["--for", "archive"], "archive", 64 << 20, "LZMA"),
        (&["--for", "remote"], "remote", 1 << 20, "ZSTD"),
        (&["--for", "remote", "-l9"], "remote", 1 << 20, "LZMA"),
        (&["--for", "archive", "-b2m"], "archive", 2 << 20, "LZMA"),
    ] {
        build("dwarfs", &dir, &image, flags);
        let shown = info(&image);
        assert_eq!(shown["packed_for"], purpose, "{flags:?}");
        assert_eq!(shown["block_size"], block_size, "{flags:?}");
        assert!(
            codecs(&shown).iter().all(|found| found == codec),
            "{flags:?}: {shown}"
        );
    }
    build("dwarfs", &dir, &image, &["--no-history"]);
    assert!(info(&image).get("packed_for").is_none());
}

#[test]
fn a_purpose_cuts_a_recompressed_image_anew() {
    let work = scratch();
    let dir = work.path().join("tree");
    let at = |name: &str| work.path().join(name).to_str().unwrap().to_owned();
    tree(&dir);
    build("dwarfs", &dir, &work.path().join("old.dwarfs"), &[]);
    let (old, new) = (at("old.dwarfs"), at("new.dwarfs"));
    run(["recompress", "-q", &old, "-o", &new, "--for", "archive"]);
    let shown = info(Path::new(&new));
    assert_eq!(shown["packed_for"], "archive");
    assert_eq!(shown["block_size"], 64 << 20);
    run(["diff", &old, &new]);
    let refused = try_run([
        "recompress",
        "-q",
        &old,
        "-o",
        &new,
        "--force",
        "--read-cost",
        "mount",
    ]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        message.contains("--read-cost is possible only when all content is compressed again"),
        "{message}"
    );
}

#[test]
fn formats_without_solid_blocks_have_no_purposes() {
    let work = scratch();
    let dir = work.path().join("tree");
    tree(&dir);
    for format in ["squashfs", "erofs", "composefs"] {
        let output = try_build(
            format,
            &dir,
            &work.path().join("image"),
            &["--for", "mount"],
        );
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && message.contains("--for"),
            "{format}: {message}"
        );
    }
    let output = try_build(
        "dwarfs",
        &dir,
        &work.path().join("image"),
        &["--for", "fun"],
    );
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("possible values: mount, archive, remote")
    );
}
