//! `sinter pull`: what an older image has is not fetched, and each byte once.

use std::path::Path;
use std::time::Duration;

use sinterfs_testkit::http_server::{Fault, HttpServer, bytes};
use sinterfs_testkit::noise;

use super::support::{build, run, scratch, try_run};
use super::{sections, tree};

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
fn a_pull_reuses_blocks_of_an_older_image() {
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

/// Digests of the version before the image that they lie beside name leaves that only the older
/// image has.
#[test]
fn digests_of_another_version_give_no_mixture() {
    let dir = scratch();
    let tree = tree(dir.path());
    let at = |name: &str| dir.path().join(name);
    let flags = ["-C", "none"];
    std::fs::write(tree.join("kept"), noise(100, 1_500_000)).unwrap();
    build("erofs", &tree, &at("older"), &flags);
    std::fs::write(tree.join("new"), noise(101, 1_500_000)).unwrap();
    let described = build("erofs", &tree, &at("described"), &flags);
    let digest = at("described.digest");
    run([
        Path::new("digest"),
        &at("described"),
        Path::new("-o"),
        &digest,
    ]);
    let middle_of = |seed| {
        let content = noise(seed, 1_500_000);
        let mut windows = described.windows(64);
        let found = windows.position(|window| window == &content[700_000..700_064]);
        found.unwrap()
    };
    let (kept, new) = (middle_of(100), middle_of(101));
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    server.put("/x.digest", std::fs::read(&digest).unwrap(), "\"1\"");
    let (url, out) = (server.url("/x"), at("out"));
    // the second change shows that: it is in what is fetched, or in the superblock
    for changed in [[kept, new], [kept, 1024 + 8]] {
        let mut image = described.clone();
        for at in changed {
            image[at] ^= 1;
        }
        server.put("/x", image.clone(), "\"2\"");
        let pulled = try_run([
            Path::new("pull"),
            Path::new("--force"),
            Path::new(&url),
            Path::new("-o"),
            &out,
            Path::new("--from"),
            &at("older"),
            Path::new("--cache"),
            Path::new("none"),
        ]);
        assert!(pulled.status.success(), "{pulled:?}");
        assert!(std::fs::read(&out).unwrap() == image, "{changed:?}");
        let words = String::from_utf8_lossy(&pulled.stderr).into_owned();
        assert!(words.contains("nothing is taken"), "{words}");
    }
}
