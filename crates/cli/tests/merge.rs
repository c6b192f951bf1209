//! `sinter merge`: what comes out is what was put in, whatever mix of images and directories it is.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Output;

use support::{compare, is_root, make_tree, peer, run, scratch, sinter, vectors};

fn build(tree: &Path, to: &Path, flags: &[&str]) {
    let output = sinter()
        .args(["build", "-l1", "-q"])
        .args(flags)
        .arg(tree)
        .arg("-o")
        .arg(to)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn merge(work: &Path, args: &[&str]) -> Output {
    sinter()
        .current_dir(work)
        .args(["merge", "--force"])
        .args(args)
        .output()
        .unwrap()
}

fn merged(work: &Path, args: &[&str]) -> serde_json::Value {
    let output = merge(work, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn extract(image: &Path, to: &Path) {
    run([
        OsStr::new("extract"),
        image.as_os_str(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
}

#[test]
fn images_and_directories_give_the_same_image() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("a"), &["--size", "small", "--pre1970"]);
    make_tree(&shared, &path("b"), &["--size", "small", "--shape", "b"]);
    for name in ["a", "b"] {
        let to = path(&format!("{name}.dwarfs"));
        build(&path(name), &to, &["--time-resolution", "1ns", "-b64k"]);
    }
    let same = ["-l5", "--time-resolution", "1ns", "-o"];
    let report = merged(
        work.path(),
        &[&same[..], &["one.dwarfs", "a.dwarfs", "b.dwarfs"]].concat(),
    );
    merged(
        work.path(),
        &[&same[..], &["two.dwarfs", "a", "b.dwarfs", "-j1"]].concat(),
    );
    assert!(
        report["duplicate_files"].as_u64().unwrap() > 100,
        "{report}"
    );
    // holes as fine as the file system reports them and as the image has them may differ
    let len = |name: &str| fs::metadata(path(name)).unwrap().len();
    assert!(len("one.dwarfs").abs_diff(len("two.dwarfs")) * 100 < len("two.dwarfs"));
    // together they are smaller than apart
    merged(
        work.path(),
        &[&same[..], &["a5.dwarfs", "--at", "/=a.dwarfs"]].concat(),
    );
    assert!(len("one.dwarfs") < len("a5.dwarfs") * 3 / 2);
    for name in ["one.dwarfs", "two.dwarfs"] {
        extract(&path(name), &path("out"));
        for tree in ["a", "b"] {
            let lost = ["--drop", "link,nlink:lp"];
            compare(&shared, &lost, &path(tree), &path("out").join(tree));
        }
        fs::remove_dir_all(path("out")).unwrap();
        run([
            OsStr::new("check"),
            "--deep".as_ref(),
            path(name).as_os_str(),
        ]);
        if let Some(dwarfsck) = peer("dwarfsck") {
            let mut command = std::process::Command::new(dwarfsck);
            let status = command
                .arg("-i")
                .arg(path(name))
                .args(["--check-integrity", "-q"])
                .status();
            assert!(status.unwrap().success());
        }
    }
    // as many threads as you like
    merged(
        work.path(),
        &[&same[..], &["again.dwarfs", "a.dwarfs", "b.dwarfs", "-j3"]].concat(),
    );
    assert!(fs::read(path("one.dwarfs")).unwrap() == fs::read(path("again.dwarfs")).unwrap());
    // and as little memory: most decoded blocks lie in a scratch file
    let small = [
        "--cache-size",
        "1",
        "low-memory.dwarfs",
        "a.dwarfs",
        "b.dwarfs",
    ];
    merged(work.path(), &[&same[..], &small[2..], &small[..2]].concat());
    assert!(fs::read(path("one.dwarfs")).unwrap() == fs::read(path("low-memory.dwarfs")).unwrap());
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 9);
}

/// Two trees that meet in `dir/same`, `dir/file` and `thing`.
fn layers(work: &Path) -> [PathBuf; 2] {
    let trees = ["low", "high"].map(|name| work.join(name));
    for (tree, text) in trees.iter().zip(["low", "high"]) {
        fs::create_dir_all(tree.join("dir")).unwrap();
        for name in ["dir/same", "dir/file"] {
            fs::write(tree.join(name), text).unwrap();
        }
        fs::write(tree.join(format!("only-{text}")), text).unwrap();
        fs::hard_link(tree.join("dir/file"), tree.join(format!("dir/{text}-link"))).unwrap();
        let sparse = fs::File::create(tree.join(format!("sparse-{text}"))).unwrap();
        sparse.set_len(1 << 20).unwrap();
        sparse.write_all_at(b"data", 700_000).unwrap();
    }
    fs::create_dir(trees[0].join("thing")).unwrap();
    fs::write(trees[0].join("thing/inside"), "inside").unwrap();
    fs::write(trees[1].join("thing"), "a file").unwrap();
    for name in ["low", "high"] {
        build(&work.join(name), &work.join(format!("{name}.dwarfs")), &[]);
    }
    trees
}

#[test]
fn overlays_report_and_count_hidden_entries() {
    let work = scratch();
    layers(work.path());
    let out = work.path().join("out");
    for (sources, threads) in [
        (["low.dwarfs", "high.dwarfs"], "-j1"),
        (["low", "high.dwarfs"], "-j2"),
    ] {
        let args = [&["--overlay", "-o", "new.dwarfs", threads][..], &sources].concat();
        let report = merged(work.path(), &args);
        assert_eq!(report["hidden_names"], 3, "{report}");
        let told = merge(work.path(), &args);
        let words = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(
            told.status.success() && words.contains("3 names hidden"),
            "{words}"
        );
        assert!(
            words.contains("thing: the entry of high.dwarfs hides that of low"),
            "{words}"
        );

        extract(&work.path().join("new.dwarfs"), &out);
        let text = |name: &str| fs::read_to_string(out.join(name)).unwrap();
        assert_eq!(
            (text("dir/same"), text("dir/file")),
            ("high".into(), "high".into())
        );
        assert_eq!(
            (text("thing"), text("only-low")),
            ("a file".into(), "low".into())
        );
        // a name of a hidden link is left, and is alone
        assert_eq!(text("dir/low-link"), "low");
        assert_eq!(fs::metadata(out.join("dir/low-link")).unwrap().nlink(), 1);
        assert_eq!(fs::metadata(out.join("dir/high-link")).unwrap().nlink(), 2);
        for name in ["sparse-low", "sparse-high"] {
            let found = fs::metadata(out.join(name)).unwrap();
            assert_eq!(found.len(), 1 << 20);
            assert!(found.blocks() * 512 < 200_000, "{name} lost its holes");
        }
        fs::remove_dir_all(&out).unwrap();

        fs::remove_file(work.path().join("new.dwarfs")).unwrap();
        let strict = merge(work.path(), &[&args[..], &["--strict"]].concat());
        assert_eq!(strict.status.code(), Some(2));
        assert!(!work.path().join("new.dwarfs").exists());
    }
}

#[test]
fn refuses_conflicting_and_invalid_sources() {
    let work = scratch();
    layers(work.path());
    fs::create_dir(work.path().join("sub")).unwrap();
    fs::copy(
        work.path().join("low.dwarfs"),
        work.path().join("sub/low.img"),
    )
    .unwrap();
    fs::write(work.path().join("text"), "no image\n".repeat(100)).unwrap();
    for (args, code, word) in [
        (&["low.dwarfs", "sub/low.img"][..], 2, "the same name"),
        (&["low", "low.dwarfs"], 2, "the same name"),
        (&["low.dwarfs", "--at", "x"], 2, "PATH=SOURCE"),
        (
            &["low.dwarfs", "--at", "a/../b=high.dwarfs"],
            2,
            "plain names",
        ),
        (&["low.dwarfs", "nothing"], 5, "nothing"),
        (&["low.dwarfs", "text"], 4, "text"),
        (&[], 2, ""),
    ] {
        let output = merge(work.path(), &[args, &["-o", "new.dwarfs"]].concat());
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {words}");
        assert!(words.contains(word), "{words}");
        assert!(!work.path().join("new.dwarfs").exists());
    }
}

#[test]
fn a_damaged_image_ends_it() {
    let work = scratch();
    layers(work.path());
    let path = work.path().join("low.dwarfs");
    let mut bytes = fs::read(&path).unwrap();
    bytes[80] ^= 1;
    fs::write(&path, bytes).unwrap();
    let output = merge(
        work.path(),
        &["low.dwarfs", "high.dwarfs", "-o", "new.dwarfs"],
    );
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(
        words.contains("low.dwarfs/") && words.lines().count() == 1,
        "{words}"
    );
    assert!(!work.path().join("new.dwarfs").exists());
}

#[test]
fn empty_images_and_many_files() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("empty")).unwrap();
    build(&path("empty"), &path("empty.dwarfs"), &[]);
    let report = merged(
        work.path(),
        &["empty.dwarfs", "--at", "/=empty", "-o", "none.dwarfs"],
    );
    assert_eq!(
        (&report["files"], &report["directories"]),
        (&0.into(), &2.into())
    );
    let output = sinter()
        .args(["recompress", "--rebuild", "-q", "-o"])
        .args([path("nothing.dwarfs"), path("empty.dwarfs")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");

    for number in 0..70_000 {
        let dir = path("many").join(format!("{}", number % 70));
        if number < 70 {
            fs::create_dir_all(&dir).unwrap();
        }
        fs::write(
            dir.join(format!("{number}")),
            format!("{} {number}", number / 3),
        )
        .unwrap();
    }
    build(
        &path("many"),
        &path("many.dwarfs"),
        &["--time-resolution", "1ns"],
    );
    merged(
        work.path(),
        &[
            "many.dwarfs",
            "--at",
            "/=empty.dwarfs",
            "-l1",
            "-o",
            "new.dwarfs",
        ],
    );
    for flags in [&["-l4"][..], &["--rebuild-metadata", "-l1"]] {
        let output = sinter()
            .args(["recompress", "--force", "-q", "-o"])
            .args([path("again.dwarfs"), path("new.dwarfs")])
            .args(flags)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        let list = |image: &str, at: &str| {
            let image = path(image);
            let output = run([
                OsStr::new("ls"),
                "-R".as_ref(),
                image.as_os_str(),
                at.as_ref(),
            ]);
            output.stdout.len()
        };
        assert!(list("again.dwarfs", "/") > 70_000 * 5);
        run([
            OsStr::new("check"),
            "--deep".as_ref(),
            path("again.dwarfs").as_os_str(),
        ]);
        let cat = run([
            OsStr::new("cat"),
            path("again.dwarfs").as_os_str(),
            "many/69/69999".as_ref(),
        ]);
        assert_eq!(cat.stdout, b"23333 69999");
    }
}
