//! What is fetched before it is read: recorded reads, hot blocks, and the rest of an image.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer, WAVE, bytes, waves};
use sinterfs_testkit::noise;

use super::support::{self, Mounted, build, run, scratch, shell, try_run};
use super::{remote, sections, tree};

/// Makes a tree of 12 large files, of which a start needs four, and some small ones.
fn start_tree(dir: &Path) -> PathBuf {
    let tree = tree(dir);
    for number in 0..12 {
        let content = noise(200 + number, LARGE);
        std::fs::write(tree.join(format!("large-{number:02}")), content).unwrap();
    }
    tree
}

const LARGE: usize = 2 << 20;
const STARTS: [&str; 4] = ["large-03", "large-10", "large-04", "large-07"];

/// Returns how many bytes of an image a start needs at least: the blocks of a DwarFS image that
/// have something of its files, which are stored as they are, or else these files.
fn needed(image: &[u8], tree: &Path) -> u64 {
    let files = STARTS.map(|name| std::fs::read(tree.join(name)).unwrap());
    if !image.starts_with(b"DWARFS") {
        return files.iter().map(|file| file.len() as u64).sum();
    }
    let probes = files.iter().flat_map(|file| file.chunks_exact(4096));
    let probes: std::collections::HashSet<&[u8]> = probes.map(|chunk| &chunk[..16]).collect();
    let mut begins = vec![false; 1 << 16];
    let begin = |bytes: &[u8]| usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    for probe in &probes {
        begins[begin(probe)] = true;
    }
    let has_some = |one: &std::ops::Range<usize>| {
        let mut windows = image[one.clone()].windows(16);
        windows.any(|window| begins[begin(window)] && probes.contains(window))
    };
    let found = sections(image).into_iter().filter(has_some);
    found.map(|one| one.len() as u64).sum()
}

/// Reads the files of a start from a mount.
fn start(point: &Path, tree: &Path) {
    for name in STARTS {
        let read = std::fs::read(point.join(name)).unwrap();
        assert!(read == std::fs::read(tree.join(name)).unwrap(), "{name}");
    }
}

fn assert_fetched_at_once(requests: &[HttpRequest], needed: u64, what: &str) {
    let (waves, bytes) = (waves(requests), bytes(requests));
    assert!(waves <= 3, "{what}: {waves} waves: {requests:#?}");
    assert!(
        bytes <= needed * 110 / 100,
        "{what}: {bytes} bytes, needed {needed}: {requests:#?}"
    );
    assert!(bytes >= needed, "{what}: {bytes} bytes, needed {needed}");
}

#[test]
fn recorded_reads_are_fetched_at_once() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("no /dev/fuse");
        return;
    }
    let dir = scratch();
    let tree = start_tree(dir.path());
    let (point, list) = (dir.path().join("mnt"), dir.path().join("list"));
    let list_of = list.to_str().unwrap();
    let server = HttpServer::start();
    for (format, flags) in [
        ("dwarfs", &["-l1", "-b", "256k"][..]),
        ("squashfs", &["--no-compress=all"]),
        ("erofs", &["-C", "none"]),
    ] {
        let image = build(format, &tree, &dir.path().join("image"), flags);
        let needed = needed(&image, &tree);
        server.put("/x", image.clone(), "\"1\"");
        let url = server.url("/x");
        let none = ["--fuse", "--cache", "none"];
        let mount = |more: &[&str]| Mounted::new(Path::new(&url), &point, &[&none, more].concat());
        let mounted = mount(&["--record", list_of]);
        start(&point, &tree);
        drop(mounted);
        // the serving process may still be on its way out
        let recorded = || std::fs::read_to_string(&list).unwrap_or_default();
        for _ in 0..100 {
            if recorded().contains("# bytes read: ") {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(
            recorded().starts_with("large-03\nlarge-10\n"),
            "{}",
            recorded()
        );
        server.take();
        server.delay(WAVE);
        let mounted = mount(&["--prefetch", list_of]);
        start(&point, &tree);
        assert_fetched_at_once(&server.take(), needed, format);
        drop(mounted);
        // on another machine, before it is mounted
        let cache = dir.path().join(format!("cache-{format}"));
        let cache = ["--cache", cache.to_str().unwrap()];
        run([&["cache", "warm", "--prefetch", list_of, &url][..], &cache].concat());
        assert_fetched_at_once(&server.take(), needed, format);
        server.delay(Duration::from_millis(1));
        let at_cache = [&["--fuse", "--offline"], &cache[..]].concat();
        let mounted = Mounted::new(Path::new(&url), &point, &at_cache);
        start(&point, &tree);
        drop(mounted);
        // what is not in the cache then is said
        let small = dir.path().join(format!("small-{format}"));
        let small = ["--cache", small.to_str().unwrap(), "--cache-limit", "1M"];
        let warm = ["cache", "warm", "--prefetch", list_of, &url];
        let full = try_run([&warm[..], &small].concat());
        assert_eq!(full.status.code(), Some(1), "{full:?}");
        // of another version nothing is taken
        server.put("/x", image, "\"2\"");
        let other = ["cache", "warm", "--prefetch", list_of, &url];
        let other = try_run([&other[..], &cache].concat());
        assert_eq!(other.status.code(), Some(2), "{other:?}");
        let mounted = mount(&["--prefetch", list_of]);
        start(&point, &tree);
        drop(mounted);
    }
    let file = dir.path().join("image");
    let refused = [file.to_str().unwrap(), point.to_str().unwrap()];
    let refused = try_run([&["mount", "--prefetch", list_of], &refused[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

#[test]
fn the_hot_region_is_fetched_at_once() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("no /dev/fuse");
        return;
    }
    let dir = scratch();
    let tree = start_tree(dir.path());
    let list = dir.path().join("list");
    std::fs::write(&list, STARTS.join("\n")).unwrap();
    let flags = ["-l1", "--hot", list.to_str().unwrap()];
    let image = build("dwarfs", &tree, &dir.path().join("image"), &flags);
    let needed = needed(&image, &tree);
    let server = HttpServer::start();
    server.put("/x", image, "\"1\"");
    let url = server.url("/x");
    let info = remote(&["info", "--json"], &url).stdout;
    let info: serde_json::Value = serde_json::from_slice(&info).unwrap();
    let told = info["remote"]["bytes_of_a_start_(--hot)"].as_u64().unwrap();
    assert!((needed..needed + 4096).contains(&told), "{told}, {needed}");
    server.take();
    server.delay(WAVE);
    let point = dir.path().join("mnt");
    let mounted = Mounted::new(Path::new(&url), &point, &["--fuse", "--cache", "none"]);
    start(&point, &tree);
    assert_fetched_at_once(&server.take(), needed, "hot");
    drop(mounted);
}

#[test]
fn the_rest_is_fetched_while_it_is_mounted() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("no /dev/fuse");
        return;
    }
    let dir = scratch();
    let tree = start_tree(dir.path());
    let image = build(
        "squashfs",
        &tree,
        &dir.path().join("image"),
        &["--no-compress=all"],
    );
    let len = image.len() as u64;
    let server = HttpServer::start();
    server.delay(Duration::from_millis(5));
    server.put("/x", image, "\"1\"");
    let (url, cache) = (server.url("/x"), dir.path().join("cache"));
    let cache = ["--cache", cache.to_str().unwrap()];
    let point = dir.path().join("mnt");
    let flags = [&["--fuse", "--fill"], &cache[..]].concat();
    let mounted = Mounted::new(Path::new(&url), &point, &flags);
    start(&point, &tree);
    let stored = || {
        let listed = run([&["cache", "ls", "--json"], &cache[..]].concat()).stdout;
        let listed: serde_json::Value = serde_json::from_slice(&listed).unwrap();
        listed[0]["stored"].as_u64().unwrap()
    };
    for _ in 0..200 {
        if stored() >= len {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    server.plan(|_| Fault::Close);
    assert!(bytes(&server.take()) <= len * 105 / 100);
    shell(dir.path(), "diff -r --no-dereference tree mnt");
    drop(mounted);
    // at a rate of so many bytes a second
    server.plan(|_| Fault::None);
    let other = dir.path().join("other");
    let other = ["--cache", other.to_str().unwrap()];
    let begin = std::time::Instant::now();
    run([&["cache", "warm", "--rate", "16M", &url][..], &other].concat());
    let seconds = begin.elapsed().as_secs_f64();
    let least = (len - (8 << 20)) as f64 / f64::from(16 << 20);
    assert!(seconds >= least, "{seconds} s, at least {least}");
    let requests = server.take();
    assert!(bytes(&requests) <= len * 105 / 100, "{requests:#?}");
    // no further than the cache goes
    let small = dir.path().join("small");
    let small = ["--cache", small.to_str().unwrap(), "--cache-limit", "16M"];
    let full = try_run([&["cache", "warm", &url][..], &small].concat());
    assert_eq!(full.status.code(), Some(1), "{full:?}");
    let sent = bytes(&server.take());
    assert!(sent < len / 2 + (16 << 20), "{sent} of {len}");
}
