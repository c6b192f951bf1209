//! `sinter cloop`: images in compressed devices, which extract_compressed_fs unpacks.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::archives::words_of;
use support::{build, run, scratch, skip, try_run};

#[test]
fn an_image_in_a_device_is_opened_and_unpacked() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/text"), "some text ".repeat(50_000)).unwrap();
    fs::write(path("tree/noise"), sinterfs_testkit::noise(1, 300_000)).unwrap();
    let image = build("squashfs", &path("tree"), &path("image"), &["-l0"]);
    for flags in [&["-j1"][..], &["-j4"], &["-b", "8k", "-l", "0"]] {
        let device = path("device");
        let force = Path::new("--force");
        let words = [
            Path::new("cloop"),
            force,
            &path("image"),
            Path::new("-o"),
            &device,
        ];
        run(words.into_iter().chain(flags.iter().map(Path::new)));
        let shown = run([Path::new("cat"), &device, Path::new("text")]);
        assert_eq!(shown.stdout, fs::read(path("tree/text")).unwrap());
        let extract = Command::new("extract_compressed_fs")
            .args([&device, &path("unpacked")])
            .output();
        let Ok(extract) = extract else {
            return skip("no extract_compressed_fs (cloop-utils)");
        };
        assert!(extract.status.success(), "{}", words_of(&extract));
        let mut unpacked = fs::read(path("unpacked")).unwrap();
        assert!(unpacked[image.len()..].iter().all(|byte| *byte == 0));
        unpacked.truncate(image.len());
        assert!(unpacked == image, "{flags:?}");
    }
    let before = fs::read(path("device")).unwrap();
    let kept = |words: &[&Path], expected: &str| {
        let output = try_run(words);
        assert!(!output.status.success());
        assert!(
            words_of(&output).contains(expected),
            "{}",
            words_of(&output)
        );
        assert!(fs::read(path("device")).unwrap() == before);
    };
    let (cloop, out, device) = (Path::new("cloop"), Path::new("-o"), &path("device"));
    kept(&[cloop, &path("image"), out, device], "exists");
    let force = Path::new("--force");
    kept(
        &[cloop, force, device, out, device],
        "would replace the file that it is made of",
    );
    let (size, wrong) = (Path::new("-b"), Path::new("700"));
    kept(
        &[cloop, force, &path("image"), out, device, size, wrong],
        "must be a multiple of 512",
    );
}
