//! The commands with a URL in place of a file: the same output, in few waves of requests.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer, bytes, waves};
use sinterfs_testkit::noise;
use support::{Mounted, build, run, scratch, shell, sinter, try_run};

/// A tree of some MB with many small files.
fn tree(dir: &Path) -> PathBuf {
    let tree = dir.join("tree");
    for part in 0..40 {
        let sub = tree.join(format!("part-{part:02}"));
        std::fs::create_dir_all(&sub).unwrap();
        for file in 0..50 {
            let len = usize::try_from((part * 977 + file * 131) % 3000).unwrap();
            let path = sub.join(format!("file-{file:02}"));
            std::fs::write(path, noise(part * 50 + file + 1, len)).unwrap();
        }
    }
    std::fs::write(tree.join("large"), noise(9, 3 << 20)).unwrap();
    std::os::unix::fs::symlink("large", tree.join("link")).unwrap();
    tree
}

const FORMATS: [(&str, &[&str]); 6] = [
    ("dwarfs", &["-l5"]),
    ("dwarfs", &["-l4", "-b", "256k", "--with-digest"]),
    ("squashfs", &[]),
    ("erofs", &[]),
    ("erofs", &["-C", "none"]),
    ("cramfs", &[]),
];

fn images(dir: &Path, tree: &Path) -> Vec<(String, Vec<u8>)> {
    let image = dir.join("image");
    let named = FORMATS.iter().enumerate().map(|(number, (format, flags))| {
        let name = format!("/{number}.{format}");
        (name, build(format, tree, &image, flags))
    });
    named.collect()
}

fn remote(args: &[&str], url: &str) -> Output {
    let output = sinter()
        .args(args)
        .args(["--cache", "none", url])
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?} {url}: {output:?}");
    output
}

#[test]
fn every_format_is_the_same_by_url() {
    let dir = scratch();
    let tree = tree(dir.path());
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    for (name, image) in images(dir.path(), &tree) {
        let file = dir.path().join(&name[1..]);
        std::fs::write(&file, &image).unwrap();
        server.put(&name, image, "\"x\"");
        let (url, file) = (server.url(&name), file.to_str().unwrap());
        for args in [
            &["ls", "-lR"][..],
            &["ls", "-R", "--json"],
            &["info"],
            &["check", "--deep"],
        ] {
            let local = run([args, &[file]].concat());
            let there = remote(args, &url);
            let (local, there) = (local.stdout, there.stdout);
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let there = text(&there).replace(&url, file);
            // what is fetched when it is opened stands at the end
            let there = match there.split_once("remote:\n") {
                Some((image, fetched)) if args == ["info"] => {
                    assert!(fetched.contains("bytes to open it"), "{fetched}");
                    image.to_owned()
                }
                _ => there,
            };
            assert_eq!(there, text(&local), "{args:?}");
        }
        let out = dir.path().join("out");
        remote(&["extract", "-o", out.to_str().unwrap()], &url);
        shell(dir.path(), "diff -r --no-dereference tree out; rm -rf out");
        let same = [
            "diff",
            "--ignore",
            "mtime,uid,gid,mode,links,xattrs",
            &url,
            tree.to_str().unwrap(),
        ];
        run(same);
        let cat = sinter()
            .args(["cat", "--cache", "none", &url, "link"])
            .output()
            .unwrap();
        assert!(
            cat.stdout == std::fs::read(tree.join("large")).unwrap(),
            "{name}"
        );
        let again = dir.path().join("again.dwarfs");
        let again = again.to_str().unwrap();
        run([
            "convert", "--force", "-q", "--cache", "none", &url, "-o", again,
        ]);
        run([
            "diff",
            "--ignore",
            "mtime,uid,gid,mode,links,xattrs",
            again,
            tree.to_str().unwrap(),
        ]);
    }
}

#[test]
fn a_listing_takes_two_waves() {
    let dir = scratch();
    let tree = tree(dir.path());
    let server = HttpServer::start();
    for (name, image) in images(dir.path(), &tree) {
        let len = image.len() as u64;
        server.put(&name, image, "\"x\"");
        remote(&["ls", "-lR"], &server.url(&name));
        let requests = server.take();
        let (waves, bytes) = (waves(&requests), bytes(&requests));
        assert!(waves <= 2, "{name}: {waves} waves: {requests:#?}");
        assert!(bytes <= len / 3, "{name}: {bytes} of {len} bytes");
    }
}

#[test]
fn archives_by_url_are_built() {
    let dir = scratch();
    let tree = tree(dir.path());
    shell(
        dir.path(),
        "tar -C tree -cf a.tar . && zstd -q a.tar -o a.tar.zst",
    );
    let server = HttpServer::start();
    for name in ["a.tar", "a.tar.zst"] {
        let archive = std::fs::read(dir.path().join(name)).unwrap();
        server.put(&format!("/{name}"), archive, "\"x\"");
        let url = server.url(&format!("/{name}"));
        let image = dir.path().join("built.dwarfs");
        let image = image.to_str().unwrap();
        run(["build", "--force", "-q", &url, "-o", image]);
        run(["diff", image, tree.to_str().unwrap()]);
    }
}

#[test]
fn a_mount_by_url_serves_and_survives_a_failing_server() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("no /dev/fuse");
        return;
    }
    let dir = scratch();
    let tree = tree(dir.path());
    let image = build("dwarfs", &tree, &dir.path().join("image"), &["-b", "1m"]);
    let server = HttpServer::start();
    server.put("/x.dwarfs", image, "\"x\"");
    // every fifth request fails once
    server.plan(|request| match request.number % 5 {
        4 => Fault::Status(503, Some(0)),
        _ => Fault::None,
    });
    let url = server.url("/x.dwarfs?secret=HIDDEN");
    let point = dir.path().join("mnt");
    let _mounted = Mounted::new(Path::new(&url), &point, &["--fuse", "--cache", "none"]);
    shell(dir.path(), "diff -r --no-dereference tree mnt");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts
        .lines()
        .find(|line| line.contains(point.to_str().unwrap()))
        .unwrap();
    assert!(
        line.starts_with(&server.url("/x.dwarfs")) && !line.contains("HIDDEN"),
        "{line}"
    );
    // arguments can be seen by everybody
    let mut daemons = 0;
    for process in std::fs::read_dir("/proc").unwrap() {
        let words = std::fs::read(process.unwrap().path().join("cmdline"));
        let words = String::from_utf8_lossy(&words.unwrap_or_default()).into_owned();
        if words.contains(&server.url("/x.dwarfs")) {
            assert!(!words.contains("HIDDEN"), "{words}");
            daemons += 1;
        }
    }
    assert_eq!(daemons, 1);
}

#[test]
fn a_mount_that_is_cached_needs_no_server() {
    if !Path::new("/dev/fuse").exists() {
        support::skip("no /dev/fuse");
        return;
    }
    let dir = scratch();
    let tree = tree(dir.path());
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let image = build("dwarfs", &tree, &dir.path().join("image"), &["-b", "1m"]);
    server.put("/x", image, "\"x\"");
    let (url, cache) = (server.url("/x"), dir.path().join("cache"));
    let cache = ["--cache", cache.to_str().unwrap()];
    run([&["cache", "warm", &url][..], &cache].concat());
    let mount = |more: &[&str]| {
        let more = [&["--fuse"], &cache[..], more].concat();
        Mounted::new(Path::new(&url), &dir.path().join("mnt"), &more)
    };
    let mounted = mount(&[]);
    server.plan(|_| Fault::Close);
    server.take();
    shell(dir.path(), "diff -r --no-dereference tree mnt");
    drop(mounted);
    let mounted = mount(&["--offline"]);
    shell(dir.path(), "diff -r --no-dereference tree mnt");
    drop(mounted);
    assert_eq!(server.take().len(), 0);
}

#[test]
fn what_a_server_sent_wrongly_once_is_fetched_again() {
    let dir = scratch();
    let tree = tree(dir.path());
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let image = build("dwarfs", &tree, &dir.path().join("image"), &["-b", "256k"]);
    let len = image.len() as u64;
    server.put("/x", image, "\"x\"");
    let (url, cache) = (server.url("/x"), dir.path().join("cache"));
    let cache = cache.to_str().unwrap();
    // the first two requests are of the head and the tail, which have the index
    server.plan(|request| match request.number {
        2..12 => Fault::Flip,
        _ => Fault::None,
    });
    run(["cache", "warm", &url, "--cache", cache]);
    server.plan(|_| Fault::None);
    let out = dir.path().join("out");
    let extract = [
        "extract",
        "--cache",
        cache,
        &url,
        "-o",
        out.to_str().unwrap(),
    ];
    server.take();
    run(extract);
    shell(dir.path(), "diff -r --no-dereference tree out; rm -rf out");
    assert!(bytes(&server.take()) < len, "all was fetched again");
    run([&extract[..], &["--offline"]].concat());
}

#[test]
fn a_digest_is_required_of_what_a_server_sends() {
    let dir = scratch();
    let tree = tree(dir.path());
    let image = build(
        "dwarfs",
        &tree,
        &dir.path().join("image"),
        &["--with-digest"],
    );
    let file = dir.path().join("image");
    let digest = run([Path::new("digest"), &file]).stdout;
    let digest = String::from_utf8(digest).unwrap();
    let server = HttpServer::start();
    // no entity tag is needed: every byte is compared
    server.put("/x", image.clone(), "");
    let url = server.url("/x");
    remote(&["ls", "-R", "--digest", digest.trim()], &url);
    let refused = try_run(["ls", "--cache", "none", &url]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    remote(&["ls", "--unpinned"], &url);
    let mut other = image;
    let middle = other.len() / 2;
    other[middle] ^= 1;
    server.put("/x", other, "");
    let failed = try_run([
        "check",
        "--deep",
        "--cache",
        "none",
        "--digest",
        digest.trim(),
        &url,
    ]);
    assert_eq!(failed.status.code(), Some(1), "{failed:?}");
    let words = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(words.contains("do not match their digest"), "{words}");
}

#[test]
fn a_verified_open_of_many_sections_takes_three_waves() {
    let dir = scratch();
    let tree = tree(dir.path());
    std::fs::write(tree.join("huge"), noise(77, 66 << 20)).unwrap();
    let file = dir.path().join("image");
    let flags = ["-l0", "-b", "64k", "--with-digest"];
    let image = build("dwarfs", &tree, &file, &flags);
    assert!(sections(&image).len() > 1000);
    let digest = run([Path::new("digest"), &file]).stdout;
    let digest = String::from_utf8(digest).unwrap();
    let server = HttpServer::start();
    server.put("/x", image, "\"x\"");
    let url = server.url("/x");
    remote(&["ls", "-lR", "--digest", digest.trim()], &url);
    let requests = server.take();
    let (waves, bytes) = (waves(&requests), bytes(&requests));
    assert!(waves <= 3, "{waves} waves: {requests:#?}");
    assert!(bytes <= 2 << 20, "{bytes} bytes: {requests:#?}");
}

#[test]
fn messages_name_the_url_without_its_query() {
    let server = HttpServer::start();
    let url = server.url("/missing?X-Amz-Signature=SECRET");
    for (args, code) in [
        (&["ls"][..], 5),
        (&["check"], 5),
        (&["convert", "-o", "/dev/null", "-f", "dwarfs"], 5),
        (&["ls", "--offline"], 5),
    ] {
        let output = try_run([args, &["--cache", "none", &url]].concat());
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {words}");
        assert!(words.contains("/missing:"), "{words}");
        assert!(!words.contains("SECRET"), "{words}");
    }
    let output = try_run(["ls", "https://user:SECRET@localhost/x"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{words}");
    assert!(!words.contains("SECRET"), "{words}");
}

/// Returns the ranges of the sections of a DwarFS image, as their headers give them.
fn sections(image: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut all = Vec::new();
    let mut at = 0;
    while at < image.len() {
        assert_eq!(&image[at..at + 6], b"DWARFS");
        let len = u64::from_le_bytes(image[at + 56..at + 64].try_into().unwrap());
        let end = at + 64 + usize::try_from(len).unwrap();
        all.push(at..end);
        at = end;
    }
    all
}

/// Returns how many bytes a pull may fetch: the sections that the older image lacks, to the borders
/// of their leaves, all headers, the first leaf and the last ones.
fn most_fetched(image: &[u8], older: &[u8]) -> u64 {
    const LEAF: usize = 64 << 10;
    let known = sections(older);
    let known: std::collections::HashSet<&[u8]> = known
        .into_iter()
        .map(|one| &older[one.start + 64..one.end])
        .collect();
    let all = sections(image);
    let mut most = 6 * LEAF + 64 * all.len();
    let mut follows = false;
    for one in all {
        let is_new = one.len() < 8 << 10 || !known.contains(&image[one.start + 64..one.end]);
        if is_new {
            most += one.len() + if follows { 0 } else { 2 * LEAF };
        }
        follows = is_new;
    }
    most as u64
}

#[test]
fn a_pull_takes_what_an_older_image_has() {
    let dir = scratch();
    let tree = tree(dir.path());
    for number in 0..8 {
        let content = noise(100 + number, 1_500_000);
        std::fs::write(tree.join(format!("big-{number}")), content).unwrap();
    }
    let flags = ["-l4", "-b", "256k"];
    let at = |name: &str| dir.path().join(name);
    let older = build("dwarfs", &tree, &at("older"), &flags);
    std::fs::write(tree.join("big-3"), noise(99, 1_500_000)).unwrap();
    std::fs::write(tree.join("part-07/file-01"), noise(98, 970)).unwrap();
    let alone = build("dwarfs", &tree, &at("alone"), &flags);
    let (base, out) = (at("older"), at("out"));
    let (base, out) = (base.to_str().unwrap(), out.to_str().unwrap());
    // old blocks have other numbers there
    let on_base = build("dwarfs", &tree, &at("on-base"), &["-l4", "--base", base]);
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let url = server.url("/x");
    let pull = |more: &[&str]| {
        let args = ["pull", "--force", &url, "-o", out];
        try_run([&args[..], more].concat())
    };
    let is_whole = |image: &[u8]| std::fs::read(out).unwrap() == image;
    let without = ["--cache", "none", "--from", base];
    let mut fetched = 0;
    for (image, tag) in [(&alone, "\"1\""), (&on_base, "\"2\""), (&older, "\"3\"")] {
        server.put("/x", image.clone(), tag);
        server.take();
        let pulled = pull(&without);
        assert!(pulled.status.success() && is_whole(image), "{pulled:?}");
        fetched = bytes(&server.take());
        let (most, len) = (most_fetched(image, &older), image.len() as u64);
        assert!(fetched <= most, "{tag}: {fetched}, at most {most}");
        // built alone, an image has its blocks cut elsewhere behind the first change
        if image != &alone {
            assert!(most < len / 3, "{tag}: {most} of {len}");
        }
        let words = String::from_utf8(pulled.stdout).unwrap();
        assert!(words.contains("from the older image, "), "{words}");
        assert!(words.contains("fetched)"), "{words}");
    }
    assert!(fetched < 1 << 20, "{fetched}");
    // what the older image has lost is fetched
    let mut damaged = older.clone();
    let first = sections(&damaged)[0].clone();
    damaged[first.start + 999] ^= 1;
    std::fs::write(base, &damaged).unwrap();
    server.take();
    let pulled = pull(&without);
    assert!(pulled.status.success() && is_whole(&older), "{pulled:?}");
    let sent = bytes(&server.take());
    assert!(sent >= fetched + first.len() as u64 / 2, "{sent}");
    std::fs::write(base, &older).unwrap();
    // a pull that broke off goes on
    server.put("/x", alone.clone(), "\"1\"");
    let (none, some) = (at("none"), at("some"));
    let whole = pull(&["--cache", none.to_str().unwrap(), "--from", base]);
    assert!(whole.status.success(), "{whole:?}");
    let whole = bytes(&server.take());
    let cache = ["--cache", some.to_str().unwrap(), "--from", base];
    let most = alone.len() as u64 - (512 << 10);
    server.plan(move |request| match request.range {
        Some((start, end)) if end - start > 64 && (128 << 10..most).contains(&start) => {
            Fault::Status(403, None)
        }
        _ => Fault::None,
    });
    assert!(!pull(&cache).status.success());
    server.plan(|_| Fault::None);
    server.take();
    assert!(pull(&cache).status.success() && is_whole(&alone));
    let rest = bytes(&server.take());
    assert!(rest + (256 << 10) <= whole, "{rest} of {whole}");
    // what is no DwarFS image has no sections
    std::fs::write(at("other"), build("squashfs", &tree, &at("squashfs"), &[])).unwrap();
    let other = at("other");
    let refused = pull(&["--cache", "none", "--from", other.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    server.put("/x", std::fs::read(&other).unwrap(), "\"4\"");
    let refused = pull(&without);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
}

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
fn what_a_mount_recorded_is_fetched_at_once() {
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
        let mounted = mount(&["--prefetch", list_of]);
        start(&point, &tree);
        assert_fetched_at_once(&server.take(), needed, format);
        drop(mounted);
        // on another machine, before it is mounted
        let cache = dir.path().join(format!("cache-{format}"));
        let cache = ["--cache", cache.to_str().unwrap()];
        run([&["cache", "warm", "--prefetch", list_of, &url][..], &cache].concat());
        assert_fetched_at_once(&server.take(), needed, format);
        let at_cache = [&["--fuse", "--offline"], &cache[..]].concat();
        let mounted = Mounted::new(Path::new(&url), &point, &at_cache);
        start(&point, &tree);
        drop(mounted);
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

#[test]
fn a_pull_without_a_cache_fetches_each_byte_once() {
    let dir = scratch();
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    // more than memory holds
    let image = noise(7, 160 << 20);
    server.put("/x", image.clone(), "\"1\"");
    let out = dir.path().join("out");
    let words = ["-o", out.to_str().unwrap(), "--cache", "none"];
    run([&["pull", &server.url("/x")], &words[..]].concat());
    assert!(std::fs::read(&out).unwrap() == image);
    let sent = bytes(&server.take());
    assert!(sent <= 161 << 20, "{sent} bytes");
}

#[test]
fn a_pull_takes_equal_leaves_by_digests() {
    let dir = scratch();
    let tree = tree(dir.path());
    for number in 0..8 {
        // what compresses, so that blocks have lengths of their own
        let letters = noise(100 + number, 1_500_000).into_iter();
        let letters: Vec<u8> = letters.map(|byte| b'a' + (byte & 15)).collect();
        std::fs::write(tree.join(format!("big-{number}")), letters).unwrap();
    }
    let at = |name: &str| dir.path().join(name);
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let (url, out) = (server.url("/x"), at("out"));
    let (base, out) = (at("older"), out.to_str().unwrap());
    let pull = |more: &[&str]| {
        let from = ["--from", base.to_str().unwrap(), "--cache", "none"];
        try_run([&["pull", "--force", &url, "-o", out], &from[..], more].concat())
    };
    for (format, flags) in [
        ("squashfs", &["-l4"][..]),
        ("erofs", &["-l4"]),
        ("erofs", &["-C", "none"]),
    ] {
        let original = std::fs::read(tree.join("big-3")).unwrap();
        build(format, &tree, &base, flags);
        // everything behind it moves by some bytes; one file has another name
        std::fs::write(tree.join("big-3"), noise(99, 900_001)).unwrap();
        std::fs::rename(tree.join("big-6"), tree.join("big-6-moved")).unwrap();
        let image = build(format, &tree, &at("newer"), flags);
        std::fs::write(tree.join("big-3"), original).unwrap();
        std::fs::rename(tree.join("big-6-moved"), tree.join("big-6")).unwrap();
        server.put("/x", image.clone(), "\"1\"");
        server.put("/x.digest", Vec::new(), "\"2\"");
        let newer = at("newer");
        let digest = at("newer.digest");
        let made = run([
            Path::new("digest"),
            Path::new("--force"),
            &newer,
            Path::new("-o"),
            &digest,
        ]);
        let root = String::from_utf8(made.stdout).unwrap();
        let stored = std::fs::read(&digest).unwrap();
        server.put("/x.digest", stored.clone(), "\"3\"");
        for proof in [
            &[][..],
            &[
                "--digest",
                root.trim(),
                "--digest-file",
                digest.to_str().unwrap(),
            ],
        ] {
            server.take();
            let pulled = pull(proof);
            assert!(pulled.status.success(), "{format}: {pulled:?}");
            assert!(std::fs::read(out).unwrap() == image, "{format}");
            let (fetched, len) = (bytes(&server.take()), image.len() as u64);
            assert!(
                fetched <= len * 45 / 100,
                "{format} {flags:?}: {fetched} of {len}"
            );
        }
        // digests of something else are of no use, and do no harm
        let mut wrong = stored;
        for byte in &mut wrong[32..] {
            *byte ^= 1;
        }
        server.put("/x.digest", wrong, "\"4\"");
        let pulled = pull(&[]);
        assert!(pulled.status.success(), "{format}: {pulled:?}");
        assert!(std::fs::read(out).unwrap() == image, "{format}");
    }
    server.put("/x.digest", Vec::new(), "\"5\"");
    assert!(!pull(&[]).status.success());
}

#[test]
fn shards_that_workers_build_are_one_tree_by_url() {
    if !support::is_root() || !Path::new("/dev/fuse").exists() {
        support::skip("overlayfs needs root");
        return;
    }
    let dir = scratch();
    let tree = tree(dir.path());
    // each worker packs every fourth directory, all at once, as jobs of any engine would
    let part = |number: usize| dir.path().join(format!("shard-{number}"));
    let workers = (0..4).map(|number| {
        let shard = part(number);
        std::fs::create_dir(&shard).unwrap();
        for directory in (number..40).step_by(4) {
            let name = format!("part-{directory:02}");
            std::fs::rename(tree.join(&name), shard.join(&name)).unwrap();
        }
        let mut worker = sinter();
        worker.args(["build", "-q", "-l2"]).arg(&shard).arg("-o");
        let worker = worker.arg(shard.with_extension("dwarfs"));
        worker.spawn().unwrap()
    });
    let workers: Vec<_> = workers.collect();
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let mut shards = Vec::new();
    for (number, mut worker) in workers.into_iter().enumerate() {
        assert!(worker.wait().unwrap().success());
        let image = std::fs::read(part(number).with_extension("dwarfs")).unwrap();
        let path = format!("/shard-{number}.dwarfs");
        server.put(&path, image, "\"1\"");
        shards.push(server.url(&path));
    }
    let point = dir.path().join("mnt");
    std::fs::create_dir(&point).unwrap();
    let mut words = vec!["mount", "--cache", "none"];
    words.extend(shards.iter().map(String::as_str));
    words.push(point.to_str().unwrap());
    run(words);
    let mounted = Mounted(point);
    for number in 0..4 {
        let same =
            format!("for d in shard-{number}/*; do diff -r $d mnt/${{d#*/}} || exit 1; done");
        shell(dir.path(), &same);
    }
    shell(dir.path(), "test $(ls mnt | wc -l) = 40");
    drop(mounted);
}
