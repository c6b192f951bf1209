//! The commands with a URL in place of a file: the same output, in few waves of requests.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use sinterfs_testkit::http_server::{Fault, HttpServer, bytes, waves};
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
            assert_eq!(text(&there).replace(&url, file), text(&local), "{args:?}");
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
