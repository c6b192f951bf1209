//! The commands with a URL in place of a file: the same output, in few waves of requests.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ahead;
mod containers;
mod pull;
mod shards;
mod stopped;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use sinterfs_testkit::http_server::{Fault, HttpServer, WAVE, bytes, waves};
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
    server.delay(WAVE);
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
fn wrong_bytes_are_fetched_again() {
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
fn bytes_of_a_server_must_match_the_digest() {
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
    server.delay(WAVE);
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
