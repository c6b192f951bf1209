//! `sinter info --report`: the page holds what is in the image and nothing that a browser would
//! fetch or obey, is the same each time, and is drawn by Chromium.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sinterfs_testkit::noise;
use support::{build, run, scratch, sinter, skip, try_run};

const FORMATS: [&str; 3] = ["dwarfs", "squashfs", "erofs"];

/// A name which, behind a directory called `<`, ends a script and begins one.
const OBEYED: &str = "script><script>document.title='obeyed'<!--<script>";

const HOSTILE: &[&[u8]] = &[
    b"<script>document.title=1<",
    b"\"'><img src=x onerror=alert(1)>",
    b"<!--",
    b"]]>&lt;\\u003c",
    b"\xff\xfe\x1b[31m\n",
    "\u{202e}txt\u{2028}".as_bytes(),
];

/// Makes a tree with equal files, hard links, holes, many small files and names that mean something
/// to browsers.
fn tree(work: &Path) -> PathBuf {
    let tree = work.join("tree");
    fs::create_dir_all(tree.join("dir/deep/deeper")).unwrap();
    for (number, name) in HOSTILE.iter().enumerate() {
        let path = tree.join(OsStr::from_bytes(name));
        fs::write(path, noise(number as u64, 5_000)).unwrap();
    }
    fs::create_dir(tree.join("<")).unwrap();
    fs::write(tree.join("<").join(OBEYED), noise(99, 100_000)).unwrap();
    for number in 0..300_u64 {
        let text = format!("line {number}\n").repeat(200);
        fs::write(tree.join(format!("dir/deep/{number}.txt")), text).unwrap();
    }
    fs::write(tree.join("dir/noise.bin"), noise(77, 400_000)).unwrap();
    fs::write(tree.join("dir/deep/deeper/same.bin"), noise(77, 400_000)).unwrap();
    fs::hard_link(tree.join("dir/noise.bin"), tree.join("linked.bin")).unwrap();
    let holes = fs::File::create(tree.join("holes")).unwrap();
    holes.set_len(3 << 20).unwrap();
    tree
}

/// Makes the page of an image.
fn page(image: &Path) -> String {
    let output = sinter()
        .args(["info", "--report", "-"])
        .arg(image)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn data(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    assert!(!json.contains('<') && !json.contains('>') && !json.contains('&'));
    serde_json::from_str(json).unwrap()
}

/// Returns the sums of a node, and that each node is what its children are.
fn sums(node: &Value) -> (u64, u64, u64) {
    let own = (&node["f"], &node["s"], &node["c"]);
    let own = (
        own.0.as_u64().unwrap(),
        own.1.as_u64().unwrap(),
        own.2.as_u64().unwrap(),
    );
    if let Some(children) = node["k"].as_array() {
        let all = children.iter().map(sums);
        let all = all.fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        assert_eq!(all, own, "{}", node["n"]);
    }
    own
}

#[test]
fn the_tree_is_the_image() {
    let work = scratch();
    let tree = tree(work.path());
    for format in FORMATS {
        let image = work.path().join(format!("image.{format}"));
        let bytes = build(format, &tree, &image, &["-l1"]);
        let page = page(&image);
        let data = data(&page);
        let (files, size, stored) = sums(&data["tree"]);
        assert_eq!(stored, data["image"].as_u64().unwrap(), "{format}");
        // SquashFS pads what it counts to whole pages
        assert!(
            bytes.len() as u64 - stored < 4096,
            "{format}: {stored} {}",
            bytes.len()
        );
        // what is in files, hard links once, by our account of what was written
        assert_eq!(files, HOSTILE.len() as u64 + 300 + 4, "{format}");
        let texts: u64 = (0..300)
            .map(|n| 200 * format!("line {n}\n").len() as u64)
            .sum();
        let all = HOSTILE.len() as u64 * 5_000 + texts + 900_000 + (3 << 20);
        assert_eq!(size, all, "{format}");
        assert_eq!(data["files"], all, "{format}");
        let blocks = data["blocks"].as_u64().unwrap();
        assert!(blocks > 500_000 && blocks < 700_000, "{format}: {blocks}");
        assert_eq!(data["unused"], 0, "{format}");
        let distinct = data["distinct"].as_u64().unwrap();
        assert!(
            distinct + 400_000 <= all - data["holes"].as_u64().unwrap(),
            "{format}"
        );
        assert_eq!(page, self::page(&image), "{format}");
    }
}

#[test]
fn chunks_that_files_share_count_once() {
    let work = scratch();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let bytes = noise(5, 1 << 20);
    fs::write(tree.join("all"), &bytes).unwrap();
    fs::write(tree.join("beginning"), &bytes[..300_000]).unwrap();
    fs::write(tree.join("end"), &bytes[512 << 10..]).unwrap();
    let image = work.path().join("image.erofs");
    let flags = ["-C", "none", "--chunk-size", "64k"];
    let len = build("erofs", &tree, &image, &flags).len() as u64;
    let data = data(&page(&image));
    assert_eq!(sums(&data["tree"]).2, len);
    let distinct = data["distinct"].as_u64().unwrap();
    assert!(
        (1 << 20..(1 << 20) + (64 << 10)).contains(&distinct),
        "{distinct}"
    );
}

#[test]
fn nothing_is_fetched_and_no_name_is_obeyed() {
    let work = scratch();
    let tree = tree(work.path());
    for format in FORMATS {
        let image = work.path().join(OBEYED);
        build(format, &tree, &image, &["-l1"]);
        let page = page(&image);
        for fetched in [
            "http:", "https:", "//www", "url(", "@import", "<link", "<img", "<iframe", " src=",
        ] {
            let bare = page.replace("img src=x", "");
            assert!(!bare.contains(fetched), "{format}: {fetched}");
        }
        assert_eq!(page.matches("<script").count(), 2, "{format}");
        assert_eq!(page.matches("</script").count(), 2, "{format}");
        assert!(!page.contains("<!--"), "{format}");
    }
}

#[test]
fn it_is_written_like_every_output() {
    let work = scratch();
    let tree = tree(work.path());
    let image = work.path().join("image.dwarfs");
    build("dwarfs", &tree, &image, &["-l1"]);
    let (out, path) = (work.path().join("page.html"), image.to_str().unwrap());
    let args = |more: &[&'static str]| {
        let mut args = vec!["info", path, "--report", out.to_str().unwrap()];
        args.extend(more);
        args.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    run(args(&[]));
    assert_eq!(fs::read_to_string(&out).unwrap(), page(&image));
    assert!(!try_run(args(&[])).status.success());
    run(args(&["--force"]));
    let before = fs::read(&image).unwrap();
    let onto = try_run(["info", "--force", "--report", path, path]);
    assert!(!onto.status.success());
    assert_eq!(fs::read(&image).unwrap(), before);
}

#[test]
fn a_million_bytes_of_names_make_a_small_page() {
    let work = scratch();
    let tree = work.path().join("tree");
    for dir in 0..40 {
        let dir = tree.join(format!("directory-{dir}"));
        fs::create_dir_all(&dir).unwrap();
        for number in 0..500 {
            let name = format!("{number}-{}.x{number}", "long-name".repeat(5));
            fs::write(dir.join(name), number.to_string()).unwrap();
        }
    }
    let image = work.path().join("image.dwarfs");
    build("dwarfs", &tree, &image, &["-l1"]);
    let page = page(&image);
    assert!(page.len() < 600_000, "{}", page.len());
    let data = data(&page);
    assert_eq!(sums(&data["tree"]).0, 20_000);
}

/// The page without what only `build` knows.
fn untimed(page: &str) -> String {
    let (before, rest) = page.split_once("<h2>How long it took</h2>").unwrap();
    let (_, after) = rest.split_once("</table>\n").unwrap();
    [before, after].concat()
}

#[test]
fn a_build_reports_its_duration() {
    let work = scratch();
    let tree = tree(work.path());
    let (image, html) = (work.path().join("image"), work.path().join("page.html"));
    for format in ["dwarfs", "squashfs", "erofs", "composefs"] {
        let output = support::try_build(
            format,
            &tree,
            &image,
            &["--json", "--report", html.to_str().unwrap()],
        );
        assert!(output.status.success(), "{format}: {output:?}");
        let page = fs::read_to_string(&html).unwrap();
        assert_eq!(untimed(&page), self::page(&image), "{format}");
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let timings = &told["timings"];
        let number = |value: &Value| value.as_f64().unwrap();
        let wall = number(&timings["seconds"]);
        assert_eq!(number(&told["seconds"]), wall);
        let mut names = Vec::new();
        for stage in timings["stages"].as_array().unwrap() {
            let (from, to) = (number(&stage["from"]), number(&stage["to"]));
            assert!(0.0 <= from && from <= to && to <= wall, "{format}: {stage}");
            names.push(stage["stage"].as_str().unwrap().to_owned());
        }
        assert!(!names.is_empty(), "{format}");
        for name in &names {
            assert!(
                page.contains(&format!("<bdi>{name}</bdi>")),
                "{format}: {name}"
            );
        }
        if format != "composefs" {
            let all = [
                "scan", "dedupe", "order", "segment", "compress", "write", "finish", "sync",
            ];
            assert_eq!(names, all, "{format}");
        }
    }
    let verbose = support::try_build("dwarfs", &tree, &image, &["-v"]);
    let words = String::from_utf8_lossy(&verbose.stderr);
    assert!(
        words.contains("\ncompress  ") && words.contains("\nsync  "),
        "{words}"
    );
}

#[test]
fn chromium_draws_it() {
    let Some(chromium) = chromium() else {
        skip("no chromium");
        return;
    };
    let work = scratch();
    let tree = tree(work.path());
    for format in FORMATS {
        let image = work.path().join(OBEYED);
        let html = work.path().join("page.html");
        build(
            format,
            &tree,
            &image,
            &["-l1", "--report", html.to_str().unwrap()],
        );
        let output = Command::new(&chromium)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
            ])
            .args([
                "--enable-logging=stderr",
                "--window-size=1200,1600",
                "--dump-dom",
            ])
            .arg(format!(
                "--user-data-dir={}",
                work.path().join("profile").display()
            ))
            .arg(format!("file://{}", html.display()))
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{format}: {words}");
        assert!(!words.contains("CONSOLE"), "{format}: {words}");
        let dom = String::from_utf8_lossy(&output.stdout);
        let (_, boxes) = dom.split_once("data-boxes=\"").expect("the script's mark");
        let boxes: usize = boxes.split('"').next().unwrap().parse().unwrap();
        assert!(boxes > 10, "{format}: {boxes}");
        assert!(!dom.contains("<title>obeyed"), "{format}");
        assert_eq!(dom.matches("<script").count(), 2, "{format}");
    }
}

fn chromium() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let dirs = std::env::split_paths(&paths).collect::<Vec<_>>();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut paths = names
        .iter()
        .flat_map(|name| dirs.iter().map(move |dir| dir.join(name)));
    paths.find(|path| path.is_file())
}
