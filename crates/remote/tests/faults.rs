//! A server that fails in every way that the client has to expect: right bytes or an error within
//! the deadline, never others, and no memory beyond what was asked for.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sinterfs_block::digest::{Verified, digest_range};
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Kind, Result};
use sinterfs_remote::cache::CacheOptions;
use sinterfs_remote::{Address, Remote, RemoteOptions};
use sinterfs_testkit::http_server::{Fault, HttpServer, bytes};
use sinterfs_testkit::{Random, noise};

const MILLI: Duration = Duration::from_millis(1);

/// Times so short that a failure ends soon.
fn options() -> RemoteOptions {
    RemoteOptions {
        deadline: 1500 * MILLI,
        stall: 300 * MILLI,
        ..RemoteOptions::default()
    }
}

struct Scene {
    server: HttpServer,
    content: Vec<u8>,
    dir: tempfile::TempDir,
}

impl Scene {
    fn new(len: usize) -> Self {
        let server = HttpServer::start();
        server.delay(MILLI);
        let content = noise(5, len);
        server.put("/image", content.clone(), "\"one\"");
        let dir = tempfile::tempdir().unwrap();
        Self {
            server,
            content,
            dir,
        }
    }

    fn open(&self, options: &RemoteOptions) -> Result<Remote> {
        let url = self.server.url("/image");
        Remote::open(&Address::parse(Path::new(&url)).unwrap(), options)
    }

    fn cached(&self) -> RemoteOptions {
        RemoteOptions {
            cache: Some(CacheOptions {
                // however full the disk of the test is
                free_percent: 0,
                ..CacheOptions::new(self.dir.path().join("cache"))
            }),
            ..options()
        }
    }

    /// Answers the first requests by these faults, and all others well.
    fn first(&self, faults: &[Fault]) {
        let (faults, next) = (faults.to_vec(), AtomicUsize::new(0));
        self.server.plan(move |_| {
            let number = next.fetch_add(1, Ordering::Relaxed);
            faults.get(number).cloned().unwrap_or(Fault::None)
        });
    }

    fn assert_right(&self, source: &dyn ReadAt, start: usize, len: usize) {
        let read = source.read(start as u64, len as u64);
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        assert!(read[..] == self.content[start..start + len], "wrong bytes");
    }
}

#[test]
fn an_answer_that_is_unusual_but_right_is_taken() {
    let elsewhere = HttpServer::start();
    let scene = Scene::new(2 << 20);
    elsewhere.put("/there", scene.content.clone(), "\"one\"");
    let location = format!("Location: {}\r\n", elsewhere.url("/there"));
    for fault in [Fault::Chunked(0), Fault::Answer(302, location)] {
        scene.server.plan(move |_| fault.clone());
        let remote = scene.open(&options()).unwrap();
        scene.assert_right(&remote, 0, 2 << 20);
    }
}

#[test]
fn a_range_that_comes_in_pieces_is_joined() {
    for fault in [
        Fault::Pieces(10_000, true),
        Fault::Pieces(usize::MAX, false),
        Fault::Pieces(100_001, false),
    ] {
        // when it is opened, too, with and without a version that is known
        let scene = Scene::new((1 << 20) + 77);
        let planned = fault.clone();
        scene.server.plan(move |_| planned.clone());
        for options in [options(), scene.cached(), scene.cached()] {
            let remote = scene.open(&options).unwrap();
            assert_eq!(remote.len(), (1 << 20) + 77, "{fault:?}");
            scene.assert_right(&remote, 0, (1 << 20) + 77);
            scene.assert_right(&remote, 1 << 20, 77);
        }
    }
    // of one version and one place alone
    for (next, kind) in [
        (Fault::OtherEtag, Kind::Stale),
        (Fault::WrongRange, Kind::Io),
        (Fault::ContentRange("bytes 0-99999/*"), Kind::Io),
        (Fault::NoRanges, Kind::Unsupported),
        (Fault::Status(416, None), Kind::Io),
    ] {
        let scene = Scene::new(2 << 20);
        let remote = scene.open(&options()).unwrap();
        scene.server.ignore_conditions();
        scene.first(&[Fault::Pieces(70_000, true), next.clone()]);
        let error = remote.read(1 << 20, 200_000).unwrap_err();
        assert_eq!(error.kind(), kind, "{next:?}: {error}");
        scene.assert_right(&remote, 1 << 20, 200_000);
    }
}

#[test]
fn a_length_that_nobody_knows_is_an_error() {
    let scene = Scene::new(2 << 20);
    scene.server.plan(|request| {
        let is_last = request
            .headers
            .iter()
            .any(|(_, value)| value.starts_with("bytes=-"));
        if is_last {
            Fault::Status(416, None)
        } else {
            Fault::Pieces(usize::MAX, false)
        }
    });
    let error = scene.open(&options()).unwrap_err();
    assert!(error.to_string().contains("how long"), "{error}");
}

#[test]
fn a_host_that_is_not_there_fails_at_once() {
    for url in [
        "http://127.0.0.1:9/x",
        "http://nobody.invalid/x",
        "oci://127.0.0.1:9/x:1",
    ] {
        let begin = Instant::now();
        let address = Address::parse(Path::new(url)).unwrap();
        let error = Remote::open(&address, &RemoteOptions::default()).unwrap_err();
        assert!(begin.elapsed() < 5000 * MILLI, "{url}: {error}");
        assert_eq!(error.kind(), Kind::Io, "{url}: {error}");
    }
}

#[test]
fn temporary_failures_are_retried() {
    for fault in [
        Fault::Silent(600 * MILLI),
        Fault::Stall(600 * MILLI),
        Fault::Chunked(1),
        Fault::Chunked(1 << 30),
        Fault::Longer(7),
        Fault::Longer(1 << 30),
        Fault::Status(408, None),
        Fault::Status(425, None),
        Fault::Answer(429, "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n".into()),
        Fault::Answer(503, "Retry-After: soon\r\n".into()),
        Fault::Answer(503, "Retry-After: -5\r\n".into()),
        Fault::Close,
    ] {
        let scene = Scene::new(2 << 20);
        let remote = scene.open(&options()).unwrap();
        scene.first(std::slice::from_ref(&fault));
        scene.server.take();
        scene.assert_right(&remote, 1 << 20, 100_000);
        assert!(scene.server.take().len() >= 2, "{fault:?} was not met");
    }
}

#[test]
fn impossible_answers_are_errors_with_their_range() {
    let wait = "Retry-After: 99999999999999999999999\r\n";
    let loops = "Location: /image\r\n";
    for (fault, words) in [
        (Fault::Silent(3000 * MILLI), "sends nothing"),
        (Fault::Trickle(1, 20 * MILLI), "takes too long"),
        (Fault::Chunked(1 << 30), "more than the range"),
        (Fault::ContentRange(""), "does not say which bytes"),
        (Fault::ContentRange("bytes"), "does not say which bytes"),
        (Fault::ContentRange("bytes */2097152"), "does not say"),
        (Fault::ContentRange("bytes 9-2/2097152"), "does not say"),
        (
            Fault::ContentRange("bytes 1048576-18446744073709551615/18446744073709551615"),
            "does not say",
        ),
        // fewer bytes than were asked for, and more
        (Fault::ContentRange("bytes 1048576-1048579/2097152"), ""),
        (Fault::ContentRange("bytes 0-2097151/2097152"), ""),
        (Fault::Answer(429, wait.into()), "answered 429"),
        (Fault::Answer(302, loops.into()), "redirect"),
        (Fault::Answer(302, String::new()), "302"),
        (
            Fault::Answer(302, "Location: file:///etc/passwd\r\n".into()),
            "",
        ),
        (Fault::Answer(204, String::new()), "answered 204"),
        (Fault::Status(407, None), "answered 407"),
        (Fault::Status(410, None), "answered 410"),
        (Fault::Status(416, None), "shorter than it was"),
        (Fault::Status(501, None), "answered 501"),
    ] {
        let scene = Scene::new(2 << 20);
        let remote = scene.open(&options()).unwrap();
        let planned = fault.clone();
        scene.server.plan(move |_| planned.clone());
        let begin = Instant::now();
        let error = remote.read(1 << 20, 100_000).unwrap_err();
        // the machine may be slow
        assert!(begin.elapsed() < 10_000 * MILLI, "{fault:?}");
        let text = error.to_string();
        assert!(text.contains(words), "{fault:?}: {text}");
        assert!(text.contains("bytes at 0x100000 from"), "{fault:?}: {text}");
        assert!(error.kind() != Kind::Corrupt, "{fault:?}: {text}");
        // nothing of it is kept
        scene.server.plan(|_| Fault::None);
        scene.assert_right(&remote, 1 << 20, 100_000);
    }
}

#[test]
fn a_body_that_is_cut_goes_on_where_it_was() {
    let scene = Scene::new(9 << 20);
    let remote = scene.open(&options()).unwrap();
    scene.server.take();
    scene.first(&[Fault::Truncate(3 << 20), Fault::Truncate(2 << 20)]);
    scene.assert_right(&remote, 1 << 20, 8 << 20);
    let sent = scene.server.take();
    let asked: Vec<_> = sent.iter().filter_map(|one| one.range).collect();
    // the last leaves were there
    let (at, end) = (1 << 20, asked[0].1);
    assert_eq!(
        asked,
        [(at, end), (at + (3 << 20), end), (at + (5 << 20), end)]
    );
    // of an object that is another one meanwhile nothing is joined
    let other = Scene::new(9 << 20);
    let remote = other.open(&options()).unwrap();
    other.server.ignore_conditions();
    other.first(&[Fault::Truncate(3 << 20), Fault::OtherEtag]);
    let error = remote.read(1 << 20, 8 << 20).unwrap_err();
    assert_eq!(error.kind(), Kind::Stale, "{error}");
}

#[test]
fn a_slow_link_has_time_as_long_as_bytes_come() {
    let scene = Scene::new(4 << 20);
    let options = RemoteOptions {
        deadline: 800 * MILLI,
        ..options()
    };
    let remote = scene.open(&options).unwrap();
    scene.first(&[Fault::Trickle(128 << 10, 50 * MILLI)]);
    let begin = Instant::now();
    scene.assert_right(&remote, 1 << 20, 5 << 19);
    assert!(begin.elapsed() > 900 * MILLI, "{:?}", begin.elapsed());
}

#[test]
fn a_flipped_bit_is_fetched_again_and_does_not_stay_in_the_cache() {
    let scene = Scene::new(2 << 20);
    let memory = MemorySource(scene.content.clone());
    let digests = digest_range(&memory, 0, memory.len()).unwrap();
    for options in [options(), scene.cached()] {
        scene.server.plan(|_| Fault::None);
        let remote = Arc::new(scene.open(&options).unwrap());
        let verified = Verified::new(remote, 0, digests.clone()).unwrap();
        for (start, len) in [(1 << 20, 300_000), (1_500_000, 9), (0, 2 << 20)] {
            scene.first(&[Fault::Flip]);
            scene.assert_right(&verified, start, len);
        }
        // a server that always does it
        scene.server.plan(|_| Fault::Flip);
        let remote = Arc::new(scene.open(&self::options()).unwrap());
        let verified = Verified::new(remote, 0, digests.clone()).unwrap();
        let mut read = vec![7; 300_000];
        let error = verified.read_at(1 << 20, &mut read).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt, "{error}");
        assert!(read.iter().all(|byte| *byte == 0));
    }
    let offline = RemoteOptions {
        offline: true,
        ..scene.cached()
    };
    scene.assert_right(&scene.open(&offline).unwrap(), 0, 2 << 20);
}

#[test]
fn a_full_file_system_ends_the_cache_and_not_the_reads() {
    let scene = Scene::new(3 << 20);
    // there is no free room to leave: what was written is in the way
    let cache = scene.cached().cache.map(|cache| CacheOptions {
        free_percent: 100,
        limit: 16 << 20,
        ..cache
    });
    let options = RemoteOptions { cache, ..options() };
    let directory = &options.cache.as_ref().unwrap().directory;
    let remote = scene.open(&options).unwrap();
    for start in (0..3 << 20).step_by(256 << 10) {
        scene.assert_right(&remote, start, 256 << 10);
    }
    // asked for after each sixteenth of the limit
    let stored: u64 = sinterfs_remote::cache::list(directory)
        .unwrap()
        .iter()
        .map(|object| object.stored)
        .sum();
    assert!(stored < 2 << 20, "{stored}");
}

/// Faults in any order, with and without a cache, from many threads.
#[test]
fn faults_in_any_order_give_right_bytes_or_an_error() {
    let faults = [
        Fault::Status(500, None),
        Fault::Status(429, Some(0)),
        Fault::Status(403, None),
        Fault::Truncate(0),
        Fault::Truncate(70_000),
        Fault::Close,
        Fault::NoRanges,
        Fault::WrongRange,
        Fault::More,
        Fault::Longer(100),
        Fault::Chunked(0),
        Fault::Chunked(100),
        Fault::OtherEtag,
        Fault::ContentRange("bytes 0-9/10"),
        Fault::Stall(400 * MILLI),
    ];
    for seed in 0..4 {
        let scene = Scene::new(3 << 20);
        let options = if seed % 2 == 0 {
            options()
        } else {
            scene.cached()
        };
        let remote = scene.open(&options).unwrap();
        let planned = faults.clone();
        scene.server.plan(move |request| {
            let mut random = Random(seed << 32 | request.number as u64);
            match random.below(2) {
                0 => planned[random.below(planned.len())].clone(),
                _ => Fault::None,
            }
        });
        let right = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let (remote, scene, right) = (&remote, &scene, &right);
                scope.spawn(move || {
                    let mut random = Random(thread);
                    for _ in 0..12 {
                        let start = random.below(3 << 20);
                        let len = random.below(400_000).min((3 << 20) - start);
                        if let Ok(read) = remote.read(start as u64, len as u64) {
                            assert!(read[..] == scene.content[start..start + len]);
                            right.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert!(right.load(Ordering::Relaxed) >= 12, "seed {seed}");
        scene.server.plan(|_| Fault::None);
        scene.assert_right(&remote, 0, 3 << 20);
        drop(remote);
        if options.cache.is_some() {
            scene.server.take();
            let again = scene.open(&options).unwrap();
            scene.assert_right(&again, 0, 3 << 20);
            let asked = scene.server.take();
            assert_eq!(asked.len(), 1, "{asked:?}");
            assert!(bytes(&asked) <= 64 << 10);
        }
    }
}
