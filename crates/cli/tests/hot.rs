//! What a program needs first: recorded by a mount, stored at the front of an image, counted while
//! served.

mod support;

use std::path::Path;
use std::process::Command;

use sinterfs_testkit::noise;
use support::{Mounted, peer, run, scratch, sinter, try_run};

const MIB: usize = 1 << 20;

/// Makes bytes that nothing makes shorter than half: 16 letters.
fn letters(seed: u64, len: usize) -> Vec<u8> {
    let letter = |byte: u8| b'a' + (byte & 15);
    noise(seed, len).into_iter().map(letter).collect()
}

/// Makes a tree of some MiB; odd names among those that will be needed first.
fn tree(dir: &Path) {
    std::fs::create_dir_all(dir.join("lib")).expect("a directory");
    let write = |name: &str, bytes: &[u8]| std::fs::write(dir.join(name), bytes).expect("a file");
    for index in 0..20 {
        write(&format!("lib/{index:02}"), &letters(index + 1, MIB / 4));
    }
    write("#first\nof all ", &letters(99, 3 * MIB / 2));
    write("back\\slash", b"short");
    write("twin of 07", &letters(8, MIB / 4));
}

fn words(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The codecs of an image's blocks in their order, and how many are of what is needed first.
fn blocks(image: &Path) -> (Vec<String>, u64) {
    let dump = words(&run([Path::new("info"), Path::new("--dump"), image]).stdout);
    let codec = |line: &str| Some(line.split_once(" BLOCK ")?.1.split_once(' ')?.0.to_owned());
    let codecs = dump.lines().take_while(|line| !line.contains("METADATA"));
    let hot = dump
        .lines()
        .find_map(|line| line.strip_prefix("category \"hotness\" blocks "));
    let count = hot.and_then(|count| count.parse().ok());
    (codecs.filter_map(codec).collect(), count.unwrap_or(0))
}

#[test]
fn recorded_files_come_first() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("needs /dev/fuse");
        return;
    }
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let source = at("tree");
    tree(&source);
    let plain = at("plain.dwarfs");
    run([
        Path::new("build"),
        Path::new("-q"),
        &source,
        Path::new("-o"),
        &plain,
    ]);
    let (list, stats) = (at("list"), at("stats.json"));
    let flags = [
        "--record",
        list.to_str().expect("a path"),
        "--stats",
        stats.to_str().expect("a path"),
    ];
    for through in [&[][..], &["--fuse"]] {
        let mounted = Mounted::new(&plain, &at("mnt"), &[&flags, through].concat());
        for name in [
            "lib/13",
            "#first\nof all ",
            "back\\slash",
            "lib/02",
            "lib/13",
        ] {
            let read = std::fs::read(mounted.0.join(name)).expect("a file");
            assert_eq!(read, std::fs::read(source.join(name)).expect("a file"));
        }
        drop(mounted);
        // the serving process may still be on its way out
        let written = wait_for(&list, |bytes| !bytes.is_empty());
        let expected = "lib/13\n\\#first\\\nof\\ all\\ \nback\\\\slash\nlib/02\n";
        assert_eq!(words(&written), expected);
        // counters of the start are there before those of the end
        let counted = |bytes: &[u8]| -> serde_json::Value {
            serde_json::from_slice(bytes).unwrap_or_default()
        };
        let told = wait_for(&stats, |bytes| counted(bytes)["reads"].as_u64() >= Some(4));
        let told = counted(&told);
        assert!(
            told["read_bytes"].as_u64() >= Some(2 * MIB as u64),
            "{told}"
        );
        assert_eq!(told["failed_reads"], 0);
        let cache = &told["cache"];
        assert!(cache["misses"].as_u64() >= Some(1), "{told}");
        let times = &told["read_microseconds"];
        assert!(times["p50"].as_f64() <= times["max"].as_f64(), "{told}");
        std::fs::remove_file(&list).expect("the list");
        std::fs::remove_file(&stats).expect("the counters");
    }
    std::fs::write(
        &list,
        "lib/13\n\\#first\\\nof\\ all\\ \nback\\\\slash\nlib/02\nlib/07\n",
    )
    .expect("a list");

    let hot = at("hot.dwarfs");
    let build = |image: &Path, more: &[&str]| {
        let mut command = sinter();
        command.args(["build", "-q", "--force", "--hot"]).arg(&list);
        command.args(more).arg(&source).arg("-o").arg(image);
        let output = command.output().expect("sinter starts");
        assert!(output.status.success(), "{}", words(&output.stderr));
        std::fs::read(image).expect("an image")
    };
    // LZMA2 for all else tells blocks apart
    let bytes = build(&hot, &["--for", "archive", "-j1"]);
    assert!(bytes == build(&at("other.dwarfs"), &["--for", "archive", "-j5"]));
    let (codecs, count) = blocks(&hot);
    // 2.3 MiB in blocks of 1 MiB, and all else behind them
    assert_eq!(count, 3);
    assert_eq!(codecs, ["ZSTD", "ZSTD", "ZSTD", "LZMA"]);
    let extracted = at("extracted");
    run([Path::new("extract"), &hot, Path::new("-o"), &extracted]);
    let same = Command::new("diff")
        .arg("-r")
        .args([&source, &extracted])
        .status();
    assert!(same.expect("diff").success());
    run([Path::new("check"), Path::new("--deep"), &hot]);
    if let Some(dwarfsck) = peer("dwarfsck") {
        let output = Command::new(dwarfsck)
            .arg("--check-integrity")
            .arg(&hot)
            .output();
        let output = output.expect("dwarfsck");
        assert!(output.status.success(), "{}", words(&output.stderr));
    }

    for format in ["squashfs", "erofs"] {
        let image = at("image");
        build(&image, &["-f", format]);
        let extracted = at(format);
        run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
        let same = Command::new("diff")
            .arg("-r")
            .args([&source, &extracted])
            .status();
        assert!(same.expect("diff").success());
    }
}

/// Reads a file as soon as it holds what is waited for.
fn wait_for(path: &Path, is_there: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    for _ in 0..200 {
        if let Ok(bytes) = std::fs::read(path)
            && is_there(&bytes)
        {
            return bytes;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{} was not written", path.display());
}

#[test]
fn unread_files_leave_the_record() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("needs /dev/fuse");
        return;
    }
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let source = at("tree");
    tree(&source);
    for format in ["dwarfs", "squashfs"] {
        let (image, stats) = (at("image"), at("stats.json"));
        support::build(format, &source, &image, &[]);
        let flags = ["--idle", "1", "--stats", stats.to_str().expect("a path")];
        let mounted = Mounted::new(&image, &at("mnt"), &flags);
        let cached = |bytes: &[u8]| -> Option<u64> {
            let told: serde_json::Value = serde_json::from_slice(bytes).ok()?;
            told["cache"]["bytes"]
                .as_u64()
                .filter(|_| told["reads"] != 0)
        };
        for name in ["lib/13", "twin of 07"] {
            let read = std::fs::read(mounted.0.join(name)).expect("a file");
            assert_eq!(read, std::fs::read(source.join(name)).expect("a file"));
            wait_for(&stats, |bytes| cached(bytes) == Some(0));
        }
    }
}

#[test]
fn reports_unusable_hot_lists() {
    let work = scratch();
    let at = |name: &str| work.path().join(name);
    let source = at("tree");
    tree(&source);
    std::fs::write(at("list"), "lib/13\nnone/such\n").expect("a list");
    let mut command = sinter();
    command
        .args(["build", "--hot"])
        .arg(at("list"))
        .arg(&source);
    let output = command
        .arg("-o")
        .arg(at("image.dwarfs"))
        .output()
        .expect("sinter starts");
    let told = words(&output.stderr);
    assert!(
        told.contains("none/such") && told.contains("not found"),
        "{told}"
    );
    assert!(at("image.dwarfs").exists());

    let missing = [Path::new("build"), Path::new("--hot"), &at("none"), &source];
    let output = try_run(
        missing
            .into_iter()
            .chain([Path::new("-o"), &at("x.dwarfs")]),
    );
    assert!(!output.status.success() && words(&output.stderr).contains("none"));
    assert!(!at("x.dwarfs").exists());

    std::fs::create_dir(at("mnt")).expect("a mount point");
    for flag in ["--stats", "--record"] {
        let args = [Path::new("mount"), Path::new(flag), &at("none/file")];
        let output = try_run(args.into_iter().chain([&*at("image.dwarfs"), &at("mnt")]));
        assert!(!output.status.success());
        assert!(words(&output.stderr).contains("none/file"), "{output:?}");
    }
}
