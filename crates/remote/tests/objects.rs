//! Reads of a server that counts, and of one that fails: right bytes or an error, never others.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sinterfs_block::ReadAt;
use sinterfs_model::Kind;
use sinterfs_remote::{Address, RecordedReads, Remote, RemoteOptions};
use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer, WAVE, bytes, waves};
use sinterfs_testkit::noise;

const LEAF: u64 = 64 << 10;

/// Short times, so that failures end soon.
fn options() -> RemoteOptions {
    RemoteOptions {
        deadline: Duration::from_secs(4),
        stall: Duration::from_millis(400),
        ..RemoteOptions::default()
    }
}

fn server(len: usize) -> (HttpServer, Vec<u8>) {
    let server = HttpServer::start();
    let content = noise(7, len);
    server.put("/image", content.clone(), "\"one\"");
    (server, content)
}

fn open(server: &HttpServer) -> sinterfs_model::Result<Remote> {
    open_with(server, &options())
}

/// Opens it with the usual times, so that no request is made again while a busy machine waits.
fn open_patiently(server: &HttpServer) -> Remote {
    open_with(server, &RemoteOptions::default()).unwrap()
}

fn open_with(server: &HttpServer, options: &RemoteOptions) -> sinterfs_model::Result<Remote> {
    let url = server.url("/image");
    Remote::open(&Address::parse(Path::new(&url)).unwrap(), options)
}

#[test]
fn head_and_tail_come_in_one_wave() {
    let (server, content) = server(3_000_001);
    server.delay(WAVE);
    let remote = open_patiently(&server);
    assert_eq!(remote.len(), content.len() as u64);
    assert_eq!(remote.etag(), Some("\"one\""));
    for (start, len) in [(0, 65_536), (2_999_000, 1001), (2_800_000, 200_001)] {
        let read = remote.read(start, len).unwrap();
        assert!(read[..] == content[start as usize..(start + len) as usize]);
    }
    let requests = server.take();
    assert_eq!((requests.len(), waves(&requests)), (2, 1), "{requests:#?}");
}

#[test]
fn every_range_of_every_length_is_right() {
    for len in [1, 1000, 65_535, 65_536, 65_537, 400_000, 20_000_001] {
        let (server, content) = server(len);
        server.delay(Duration::from_millis(1));
        let remote = open(&server).unwrap();
        let mut at = 0;
        for step in 0..40 {
            let count = (len / 7 + step * 13).min(len - at);
            let read = remote.read(at as u64, count as u64).unwrap();
            assert!(read[..] == content[at..at + count], "{at} {count} of {len}");
            at = (at * 31 + 4097 * step) % len;
        }
        let whole = remote.read(0, len as u64).unwrap();
        assert!(whole[..] == content[..]);
        let past = remote.read(len as u64 - 1, 2).unwrap_err();
        assert_eq!(past.kind(), Kind::Corrupt);
    }
}

#[test]
fn a_large_read_is_one_wave_of_large_requests() {
    let (server, content) = server(40 << 20);
    let remote = open_patiently(&server);
    server.take();
    server.delay(WAVE);
    let read = remote.read(LEAF, 24 << 20).unwrap();
    assert!(read[..] == content[LEAF as usize..][..24 << 20]);
    let requests = server.take();
    assert_eq!((requests.len(), waves(&requests)), (3, 1));
    assert_eq!(bytes(&requests), 24 << 20);
}

#[test]
fn no_more_than_eight_requests_at_once() {
    let (server, _) = server(96 << 20);
    let remote = open_patiently(&server);
    server.take();
    // hints, with gaps, so that none are merged
    let ranges: Vec<_> = (0..40).map(|n| n * (2 << 20)..n * (2 << 20) + 1).collect();
    remote.will_need(&ranges);
    remote.read(81 << 20, 1).unwrap();
    for range in &ranges {
        remote.read(range.start, 1).unwrap();
    }
    let requests = server.take();
    let mut waves = std::collections::HashMap::new();
    for request in &requests {
        *waves.entry(request.wave).or_insert(0) += 1;
    }
    assert!(waves.values().all(|&count| count <= 8), "{waves:?}");
    // the first leaf was there, and each other one came once
    assert_eq!(requests.len(), 40, "{requests:#?}");
}

#[test]
fn many_threads_want_one_leaf_and_it_comes_once() {
    let (server, content) = server(8 << 20);
    let remote = Arc::new(open_patiently(&server));
    server.take();
    std::thread::scope(|scope| {
        for thread in 0..16_u64 {
            let (remote, content) = (Arc::clone(&remote), &content);
            scope.spawn(move || {
                for leaf in [20, 21, 40, 60] {
                    let at = leaf * LEAF + thread;
                    let read = remote.read(at, 1000).unwrap();
                    assert!(read[..] == content[at as usize..][..1000]);
                }
            });
        }
    });
    let requests = server.take();
    let mut seen = std::collections::HashSet::new();
    for (start, end) in requests.iter().filter_map(|request| request.range) {
        for leaf in start / LEAF..end.div_ceil(LEAF) {
            assert!(seen.insert(leaf), "leaf {leaf} came twice: {requests:#?}");
        }
    }
}

#[test]
fn hints_change_no_answer_and_save_waves() {
    let (server, content) = server(16 << 20);
    let remote = open_patiently(&server);
    server.take();
    server.delay(WAVE);
    let ranges = [
        1 << 20..(1 << 20) + 5,
        5 << 20..6 << 20,
        u64::MAX - 1..u64::MAX,
    ];
    remote.will_need(&ranges);
    for range in &ranges[..2] {
        let len = range.end - range.start;
        let read = remote.read(range.start, len).unwrap();
        assert!(read[..] == content[range.start as usize..range.end as usize]);
    }
    assert_eq!(waves(&server.take()), 1);
}

#[test]
fn a_reader_does_not_wait_for_recorded_reads() {
    let (server, content) = server(81 << 20);
    server.delay(WAVE);
    // too far from each other to be merged, and more than are fetched while this thread sleeps
    let ranges: Vec<_> = (1..80).map(|n| [n << 20, (n << 20) + LEAF]).collect();
    let line = format!(
        "# bytes read: {{\"etag\": \"\\\"one\\\"\", \"length\": {}, \"ranges\": {ranges:?}}}",
        content.len()
    );
    let recorded = RecordedReads::find(line.as_bytes()).unwrap().unwrap();
    let replaying = RemoteOptions {
        recorded: Some(Arc::new(recorded)),
        ..RemoteOptions::default()
    };
    let remote = open_with(&server, &replaying).unwrap();
    let last = ranges[78][0];
    assert!(remote.read(last, 9).unwrap()[..] == content[last as usize..][..9]);
    drop(remote);
    std::thread::sleep(3 * WAVE);
    let requests = server.take();
    let start_of = |request: &HttpRequest| request.range.unwrap().0;
    let at = requests.iter().position(|one| start_of(one) == last);
    // besides head and tail, as many as are fetched ahead at once
    assert!(at.unwrap() <= 2 + 6, "{requests:#?}");
    // nor is anything fetched that nobody can read any more
    assert!(requests.len() < 2 + 79, "{requests:#?}");
}

/// Faults that go away, each at the second request.
#[test]
fn temporary_failures_are_retried() {
    for fault in [
        Fault::Status(500, None),
        Fault::Status(503, Some(1)),
        Fault::Status(429, Some(1)),
        Fault::Truncate(1000),
        Fault::Truncate(0),
        Fault::Stall(Duration::from_secs(1)),
        Fault::Close,
        Fault::More,
    ] {
        let (server, content) = server(4 << 20);
        let remote = open(&server).unwrap();
        server.take();
        let planned = fault.clone();
        server.plan(move |request| match request.number {
            0 => planned.clone(),
            _ => Fault::None,
        });
        let begin = Instant::now();
        let read = remote.read(1 << 20, 300_000).unwrap();
        assert!(read[..] == content[1 << 20..][..300_000], "{fault:?}");
        if let Fault::Status(_, Some(seconds)) = fault {
            assert!(begin.elapsed() >= Duration::from_secs(seconds), "{fault:?}");
        }
    }
}

#[test]
fn permanent_failures_are_errors_within_the_deadline() {
    for (fault, kind, words) in [
        (Fault::Status(500, None), Kind::Io, "answered 500"),
        (Fault::Status(503, Some(3600)), Kind::Io, "answered 503"),
        (Fault::Status(403, None), Kind::Io, "answered 403"),
        (Fault::Status(401, None), Kind::Io, "answered 401"),
        (Fault::Status(404, None), Kind::NotFound, "answered 404"),
        (Fault::Status(412, None), Kind::Stale, "replaced"),
        (Fault::OtherEtag, Kind::Stale, "replaced"),
        (Fault::NoRanges, Kind::Unsupported, "parts of files"),
        (Fault::WrongRange, Kind::Io, ""),
        (Fault::Truncate(5), Kind::Io, "tries"),
        (
            Fault::Stall(Duration::from_secs(9)),
            Kind::Io,
            "sends nothing",
        ),
        (Fault::Close, Kind::Io, "tries"),
    ] {
        let (server, content) = server(4 << 20);
        let remote = open(&server).unwrap();
        let planned = fault.clone();
        server.plan(move |_| planned.clone());
        let begin = Instant::now();
        let error = remote.read(1 << 20, 300_000).unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(30), "{fault:?}");
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
        let text = error.to_string();
        assert!(text.contains(words), "{fault:?}: {text}");
        assert!(text.contains("at 0x100000 from http://127.0.0.1"), "{text}");
        // the failure is not kept
        server.plan(|_| Fault::None);
        let read = remote.read(1 << 20, 300_000).unwrap();
        assert!(read[..] == content[1 << 20..][..300_000], "{fault:?}");
    }
}

#[test]
fn a_changed_object_is_an_error_and_never_a_mixture() {
    for ignores_conditions in [false, true] {
        for (len, etag) in [(2 << 20, "\"two\""), (3 << 20, "\"one\"")] {
            let (server, content) = server(2 << 20);
            if ignores_conditions {
                server.ignore_conditions();
            }
            let remote = open(&server).unwrap();
            server.put("/image", noise(8, len), etag);
            let error = remote.read(1 << 20, 1000).unwrap_err();
            assert_eq!(error.kind(), Kind::Stale, "{error}");
            // what was there before is still that of the first version
            assert!(remote.read(0, 1000).unwrap()[..] == content[..1000]);
        }
    }
}

#[test]
fn refuses_objects_without_a_version_unless_allowed() {
    for etag in ["", "W/\"weak\""] {
        let (server, content) = server(1 << 20);
        server.put("/image", content.clone(), etag);
        let error = open(&server).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported);
        assert!(error.to_string().contains("ETag"), "{error}");
        let unpinned = RemoteOptions {
            unpinned: true,
            ..options()
        };
        let remote = open_with(&server, &unpinned).unwrap();
        assert!(remote.read(300_000, 9).unwrap()[..] == content[300_000..][..9]);
    }
}

#[test]
fn errors_of_opening_name_the_cause() {
    let (server, _) = server(1 << 20);
    for (fault, kind) in [
        (Fault::Status(404, None), Kind::NotFound),
        (Fault::Status(403, None), Kind::Io),
        (Fault::NoRanges, Kind::Unsupported),
        (Fault::Status(416, None), Kind::Io),
    ] {
        let planned = fault.clone();
        server.plan(move |_| planned.clone());
        let error = open(&server).unwrap_err();
        assert_eq!(error.kind(), kind, "{fault:?}: {error}");
    }
    // a server without suffix ranges: the tail is read when it is needed
    server.plan(|request| {
        let suffix = request
            .headers
            .iter()
            .any(|(_, value)| value.starts_with("bytes=-"));
        if suffix {
            Fault::Status(416, None)
        } else {
            Fault::None
        }
    });
    open(&server).unwrap().read((1 << 20) - 5, 5).unwrap();
}

#[test]
fn no_secret_is_in_an_error() {
    let (server, _) = server(1 << 20);
    let url = server.url("/image?X-Amz-Signature=SECRET");
    let address = Address::parse(Path::new(&url)).unwrap();
    let remote = Remote::open(&address, &options()).unwrap();
    let sent = server.take();
    assert!(
        sent[0].path.ends_with("?X-Amz-Signature=SECRET"),
        "{sent:?}"
    );
    for fault in [
        Fault::Status(403, None),
        Fault::Status(500, None),
        Fault::Close,
        Fault::WrongRange,
        Fault::Truncate(0),
    ] {
        server.plan(move |_| fault.clone());
        let error = remote.read(500_000, 9).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{error}");
    }
}
