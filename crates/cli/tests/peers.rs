//! Upstream's own tools read what we write. They are in no package registry, so this runs for
//! whoever has them: SINTER_PEER_DWARFS=DIR, with dwarfsck, dwarfsextract and mkdwarfs in it.
//! Elsewhere it says that it did not run, under CI too; the `dwarfs` crate stands in for them
//! there.

mod support;

use std::path::Path;
use std::process::Command;

use support::{compare, is_root, make_tree, peer, run, scratch, vectors};

fn succeeds(command: &mut Command) {
    let output = command.output().expect("the peer starts");
    assert!(
        output.status.success(),
        "{command:?}: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn upstream_reads_our_images() {
    let (Some(dwarfsck), Some(dwarfsextract)) = (peer("dwarfsck"), peer("dwarfsextract")) else {
        return;
    };
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--size", "small"]);
    let image = work.path().join("image.dwarfs");
    let cases: &[&[&str]] = &[
        &["-l0"],
        &["-l1"],
        &["-l3"],
        &["-l5"],
        &["-l7"],
        &["-l9"],
        &["-b", "4k", "-C", "zstd:level=5"],
        &[
            "-C",
            "brotli:quality=5",
            "--metadata-compression",
            "brotli:quality=5",
        ],
        &["-C", "lzma:level=6:binary=x86"],
        &["--keep-all-times"],
        &["--no-history", "--no-section-index"],
    ];
    for flags in cases {
        let build = support::sinter()
            .args(["build", "--quiet", "--force"])
            .args(*flags)
            .arg(&source)
            .arg("-o")
            .arg(&image)
            .status()
            .expect("sinter starts");
        assert!(build.success(), "{flags:?}");
        succeeds(
            Command::new(&dwarfsck)
                .arg("-i")
                .arg(&image)
                .arg("--check-integrity")
                .arg("-q"),
        );
        let extracted = work.path().join("extracted");
        std::fs::create_dir(&extracted).expect("a directory");
        succeeds(
            Command::new(&dwarfsextract)
                .arg("-i")
                .arg(&image)
                .arg("-o")
                .arg(&extracted),
        );
        // dwarfsextract writes through libarchive, which rounds nothing but sets no times of links
        compare(
            &shared,
            &[
                "--no-xattrs",
                "--drop",
                "link,nlink:lp",
                "--mtime-seconds",
                "--drop",
                "mtime:l",
                "--skip",
                ".",
                "--skip",
                "special/socket",
            ],
            &source,
            &extracted,
        );
        std::fs::remove_dir_all(&extracted).expect("the tree is removed");
    }
}

#[test]
fn we_read_images_of_current_upstream() {
    let Some(mkdwarfs) = peer("mkdwarfs") else {
        return;
    };
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--size", "small", "--shape", "b"]);
    let image = work.path().join("image.dwarfs");
    for flags in [
        &["-l7"][..],
        &["-l9", "--categorize"],
        &["-l3", "-P", "all"],
    ] {
        succeeds(
            Command::new(&mkdwarfs)
                .arg("-i")
                .arg(&source)
                .arg("-o")
                .arg(&image)
                .args([
                    "-f",
                    "--with-devices",
                    "--with-specials",
                    "--log-level=error",
                    "--no-progress",
                ])
                .args(flags),
        );
        let extracted = work.path().join("extracted");
        run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
        compare(
            &shared,
            &["--no-xattrs", "--drop", "link,nlink:lp", "--mtime-seconds"],
            &source,
            &extracted,
        );
        std::fs::remove_dir_all(&extracted).expect("the tree is removed");
        run([Path::new("check"), Path::new("--deep"), &image]);
    }
}
