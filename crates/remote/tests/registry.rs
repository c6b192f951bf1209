//! Registries as servers that count and fail: requests for an image, tokens that end, redirects
//! that expire, uploads that break off.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sinterfs_block::checksum::sha256;
use sinterfs_block::verity::hex;
use sinterfs_block::{MemorySource, ReadAt};
use sinterfs_model::{Kind, Result};
use sinterfs_remote::cache::CacheOptions;
use sinterfs_remote::{Address, PushedImage, Remote, RemoteOptions};
use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer, waves};
use sinterfs_testkit::noise;

const MANIFEST: &str = "/v2/team/x/manifests/1";

fn options() -> RemoteOptions {
    RemoteOptions {
        deadline: Duration::from_secs(9),
        stall: Duration::from_secs(2),
        ..RemoteOptions::default()
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&sha256(bytes)))
}

/// A registry with one artifact.
struct Scene {
    server: HttpServer,
    content: Vec<u8>,
    manifest: String,
}

impl Scene {
    fn new() -> Self {
        let content = noise(5, 2 << 20);
        let blob = digest(&content);
        let manifest = format!(
            "{{\"schemaVersion\":2,\"layers\":[{{\"digest\":\"{blob}\",\"size\":{},\
             \"mediaType\":\"application/vnd.sinterfs.dwarfs.v1\"}}]}}",
            content.len()
        );
        let server = HttpServer::start();
        server.delay(Duration::from_millis(2));
        server.put(MANIFEST, manifest.as_str(), "");
        server.put(&format!("/v2/team/x/blobs/{blob}"), content.clone(), "");
        Self {
            server,
            content,
            manifest,
        }
    }

    fn address(&self, version: &str) -> Address {
        let url = self.server.url(&format!("/team/x{version}"));
        let url = url.replace("http://", "oci://");
        Address::parse(Path::new(&url)).unwrap()
    }

    fn open(&self) -> Result<Remote> {
        Remote::open(&self.address(":1"), &options())
    }
}

fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let found = request.headers.iter().find(|(found, _)| found == name);
    found.map(|(_, value)| value.as_str())
}

#[test]
fn an_image_is_opened_in_two_waves_and_from_the_cache_in_none() {
    let scene = Scene::new();
    // requests of one wave are sent before the first of them is answered, on a busy machine, too
    scene.server.delay(Duration::from_millis(300));
    let remote = scene.open().unwrap();
    let len = remote.len();
    assert!(remote.read(0, 1000).unwrap()[..] == scene.content[..1000]);
    assert!(remote.read(len - 9, 9).unwrap()[..] == scene.content[scene.content.len() - 9..]);
    let sent = scene.server.take();
    assert_eq!((sent.len(), waves(&sent)), (3, 2), "{sent:?}");
    scene.server.delay(Duration::from_millis(2));
    let dir = tempfile::tempdir().unwrap();
    let cached = RemoteOptions {
        cache: Some(CacheOptions {
            // however full the disk of the test is
            free_percent: 0,
            ..CacheOptions::new(dir.path().join("cache"))
        }),
        ..options()
    };
    let named = digest(scene.manifest.as_bytes());
    let path = format!("/v2/team/x/manifests/{named}");
    scene.server.put(&path, scene.manifest.as_str(), "");
    let pinned = scene.address(&format!("@{named}"));
    let remote = Remote::open(&pinned, &cached).unwrap();
    assert!(remote.read(0, len).unwrap()[..] == scene.content[..]);
    assert!(!scene.server.take().is_empty());
    // another tag of the same blob needs its manifest alone, a digest nothing
    let tagged = Remote::open(&scene.address(":1"), &cached).unwrap();
    assert!(tagged.read(0, len).unwrap()[..] == scene.content[..]);
    assert_eq!(scene.server.take().len(), 1);
    scene.server.plan(|_| Fault::Close);
    let again = Remote::open(&pinned, &cached).unwrap();
    assert!(again.read(1 << 20, 99).unwrap()[..] == scene.content[1 << 20..][..99]);
    assert!(scene.server.take().is_empty());
    let offline = RemoteOptions {
        offline: true,
        ..cached
    };
    assert_eq!(
        Remote::open(&scene.address(":1"), &offline).unwrap().len(),
        len
    );
    let unknown = Remote::open(&scene.address(":2"), &offline).unwrap_err();
    assert_eq!(unknown.kind(), Kind::NotFound);
}

#[test]
fn failures_give_right_bytes_or_an_error() {
    for (fault, expected) in [
        (Fault::Status(429, Some(1)), None),
        (Fault::Status(503, None), None),
        (Fault::Truncate(1000), None),
        (Fault::More, None),
        (Fault::Close, None),
        (Fault::WrongRange, Some((Kind::Io, "another range"))),
        (
            Fault::NoRanges,
            Some((Kind::Unsupported, "does not serve parts")),
        ),
        (Fault::Status(403, None), Some((Kind::Io, "403"))),
        (Fault::Chunked(0), None),
        (Fault::Pieces(10_000, true), None),
        (Fault::Pieces(10_000, false), None),
        (Fault::Truncate(0), None),
        (Fault::Silent(Duration::from_secs(1)), None),
        (Fault::Stall(Duration::from_secs(1)), None),
        (
            Fault::Chunked(1 << 30),
            Some((Kind::Io, "more than it may")),
        ),
        (Fault::Longer(1 << 30), Some((Kind::Io, "more than it may"))),
        (Fault::ContentRange(""), Some((Kind::Io, "another range"))),
        (
            Fault::ContentRange("bytes 1048576-18446744073709551615/*"),
            Some((Kind::Io, "another range")),
        ),
        (Fault::Status(401, None), Some((Kind::Io, "401"))),
        (
            Fault::Answer(307, "Location: file:///etc/passwd\r\n".into()),
            Some((Kind::Io, "")),
        ),
    ] {
        let scene = Scene::new();
        let remote = scene.open().unwrap();
        remote.read(0, 9).unwrap();
        let first = Arc::new(AtomicUsize::new(0));
        let planned = fault.clone();
        scene
            .server
            .plan(move |_| match first.fetch_add(1, Ordering::Relaxed) {
                0 => planned.clone(),
                _ => Fault::None,
            });
        let read = remote.read(1 << 20, 300_000);
        match expected {
            None => assert!(
                read.unwrap()[..] == scene.content[1 << 20..][..300_000],
                "{fault:?}"
            ),
            Some((kind, words)) => {
                let error = read.unwrap_err();
                assert_eq!(error.kind(), kind, "{fault:?}: {error}");
                assert!(error.to_string().contains(words), "{fault:?}: {error}");
            }
        }
    }
}

#[test]
fn a_blob_that_comes_in_pieces_is_joined_and_compared() {
    let scene = Scene::new();
    scene.server.plan(|_| Fault::Pieces(60_000, false));
    let remote = scene.open().unwrap();
    let len = remote.len();
    assert!(remote.read(0, len).unwrap()[..] == scene.content[..]);
}

#[test]
fn a_manifest_is_the_one_that_was_named() {
    let scene = Scene::new();
    let named = digest(scene.manifest.as_bytes());
    let path = format!("/v2/team/x/manifests/{named}");
    scene
        .server
        .put(&path, scene.manifest.replace("dwarfs", "erofs"), "");
    let pinned = scene.address(&format!("@{named}"));
    let error = Remote::open(&pinned, &options()).unwrap_err();
    assert!(error.to_string().contains("digest"), "{error}");
    for (manifest, words) in [
        ("not JSON".to_owned(), "not JSON"),
        ("{}".to_owned(), "not an image manifest"),
        (
            scene.manifest.replace("sha256:", "sha256:../"),
            "not an image manifest",
        ),
        (" ".repeat(5 << 20), "more than it may"),
    ] {
        scene.server.put(MANIFEST, manifest, "");
        let error = scene.open().unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let missing = Remote::open(&scene.address(":2"), &options()).unwrap_err();
    assert_eq!(missing.kind(), Kind::NotFound, "{missing}");
}

/// Has the registry want a token of its own place, of which the last one given is valid.
fn want_tokens(scene: &Scene, given: &Arc<AtomicUsize>) {
    let challenge = format!(
        "WWW-Authenticate: Bearer realm=\"{}\",service=\"here\"\r\n",
        scene.server.url("/token")
    );
    let given = Arc::clone(given);
    scene.server.plan(move |request| {
        if request.path.starts_with("/token") {
            return Fault::None;
        }
        let valid = format!("Bearer SECRET-{}", given.load(Ordering::Relaxed));
        if header(request, "authorization") == Some(&valid) {
            Fault::None
        } else {
            Fault::Answer(401, challenge.clone())
        }
    });
}

#[test]
fn tokens_are_renewed_while_an_image_is_read() {
    let scene = Scene::new();
    let given = Arc::new(AtomicUsize::new(1));
    scene.server.put("/token", "{\"token\":\"SECRET-1\"}", "");
    want_tokens(&scene, &given);
    let remote = scene.open().unwrap();
    remote.read(0, 9).unwrap();
    let sent = scene.server.take();
    let asked: Vec<_> = sent
        .iter()
        .filter(|one| one.path.starts_with("/token"))
        .collect();
    let scope = "/token?scope=repository%3Ateam%2Fx%3Apull&service=here";
    assert_eq!(
        asked.iter().map(|one| &*one.path).collect::<Vec<_>>(),
        [scope]
    );
    // the token ends: a read takes a new one
    scene
        .server
        .put("/token", "{\"access_token\":\"SECRET-2\"}", "");
    given.store(2, Ordering::Relaxed);
    assert!(remote.read(1 << 20, 9).unwrap()[..] == scene.content[1 << 20..][..9]);
    // no further one is given
    given.store(3, Ordering::Relaxed);
    let error = remote.read(1 << 19, 9).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    let text = format!("{error} {error:?}");
    assert!(text.contains("401") && !text.contains("SECRET"), "{text}");
    for answer in ["{}", "{\"token\":\"\"}", "{\"token\":\"a\\r\\nSECRET: b\"}"] {
        scene.server.put("/token", answer, "");
        let error = scene.open().unwrap_err();
        assert!(!format!("{error} {error:?}").contains("SECRET"), "{error}");
    }
}

#[test]
fn where_a_registry_leads_to_is_kept_until_it_expires() {
    let scene = Scene::new();
    let elsewhere = HttpServer::start();
    elsewhere.put("/blob", scene.content.clone(), "");
    let given = Arc::new(AtomicUsize::new(1));
    scene.server.put("/token", "{\"token\":\"SECRET-1\"}", "");
    want_tokens(&scene, &given);
    let remote = scene.open().unwrap();
    remote.read(0, 9).unwrap();
    remote.read((2 << 20) - 9, 9).unwrap();
    scene.server.take();
    let location = format!("Location: {}\r\n", elsewhere.url("/blob?signature=SECRET"));
    scene
        .server
        .plan(move |_| Fault::Answer(307, location.clone()));
    let right = |offset: usize| {
        let read = remote.read(offset as u64, 9).unwrap();
        assert!(read[..] == scene.content[offset..][..9]);
    };
    right(300_000);
    right(700_000);
    let (there, here) = (elsewhere.take(), scene.server.take());
    assert_eq!((there.len(), here.len()), (2, 1), "{there:?} {here:?}");
    assert!(header(&here[0], "authorization").is_some());
    assert!(
        there
            .iter()
            .all(|one| header(one, "authorization").is_none())
    );
    // the signature ends; the registry gives another one
    let first = AtomicUsize::new(0);
    elsewhere.plan(move |_| match first.fetch_add(1, Ordering::Relaxed) {
        0 => Fault::Status(403, None),
        _ => Fault::None,
    });
    right(1_100_000);
    assert_eq!((elsewhere.take().len(), scene.server.take().len()), (2, 1));
    elsewhere.plan(|_| Fault::Status(404, None));
    let error = remote.read(1_500_000, 9).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("SECRET"), "{error}");
}

#[test]
fn an_upload_that_breaks_off_goes_on_where_it_was() {
    let scene = Scene::new();
    let patches = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&patches);
    let place = "Location: /up?state=a%2Fb\r\n".to_owned();
    scene.server.plan(move |request| match &*request.method {
        "POST" => Fault::Answer(202, place.clone()),
        "PATCH" => match counted.fetch_add(1, Ordering::Relaxed) {
            1 => Fault::Close,
            _ => Fault::Answer(202, place.clone()),
        },
        // half of the second request has arrived
        "GET" => Fault::Answer(204, format!("{place}Range: 0-{}\r\n", (6 << 20) - 1)),
        "PUT" => Fault::Answer(201, "Location: /there\r\n".to_owned()),
        _ => Fault::None,
    });
    let image = PushedImage {
        replace: true,
        config: None,
        content: Arc::new(MemorySource(noise(7, 9 << 20))),
        format: "squashfs",
        root: None,
        architecture: None,
        signature: None,
    };
    let pushed = sinterfs_remote::push(&image, &scene.address(":new"), &options()).unwrap();
    let sent = scene.server.take();
    let ranges: Vec<_> = sent
        .iter()
        .filter_map(|one| header(one, "content-range"))
        .collect();
    let (four, six, nine) = ((4 << 20) - 1, (6 << 20) - 1, (9 << 20) - 1);
    let eight = (8 << 20) - 1;
    assert_eq!(
        ranges,
        [
            format!("0-{four}"),
            format!("{}-{eight}", four + 1),
            format!("{}-{nine}", six + 1),
            "0-1".to_owned()
        ]
    );
    let last = sent.last().unwrap();
    assert_eq!(
        (&*last.method, &*last.path),
        ("PUT", "/v2/team/x/manifests/new")
    );
    assert!(pushed.contains("/team/x@sha256:"), "{pushed}");
    // a registry that finds another digest refuses; the upload is cancelled, nothing is named
    let place = "Location: /up\r\n".to_owned();
    scene.server.plan(move |request| match &*request.method {
        "POST" | "PATCH" => Fault::Answer(202, place.clone()),
        "PUT" => Fault::Status(400, None),
        _ => Fault::None,
    });
    let error = sinterfs_remote::push(&image, &scene.address(":new"), &options()).unwrap_err();
    assert_eq!(error.kind(), Kind::Io);
    let sent = scene.server.take();
    assert_eq!(sent.last().unwrap().method, "DELETE");
    assert!(
        sent.iter().all(|one| !one.path.contains("manifests")),
        "{sent:?}"
    );
}

/// A registry that lists referrers, and one that has them as a tag.
#[test]
fn a_tag_that_names_another_image_is_not_replaced_unless_asked() {
    let scene = Scene::new();
    scene.server.plan(|request| match &*request.method {
        "HEAD" => Fault::Status(200, None),
        "PUT" => Fault::Answer(201, "Location: /there\r\n".to_owned()),
        _ => Fault::None,
    });
    let image = |replace| PushedImage {
        replace,
        content: Arc::new(MemorySource(vec![1; 1000])),
        format: "dwarfs",
        root: None,
        architecture: None,
        config: None,
        signature: None,
    };
    let pushed = |replace, tag: &str| {
        scene.server.take();
        let pushed = sinterfs_remote::push(&image(replace), &scene.address(tag), &options());
        let sent = scene.server.take();
        (pushed, sent.iter().any(|one| one.method == "PUT"))
    };
    let (refused, has_sent) = pushed(false, ":1");
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(!has_sent);
    for (replace, tag) in [(true, ":1"), (false, ":2")] {
        let (done, has_sent) = pushed(replace, tag);
        assert!(done.is_ok() && has_sent, "{done:?}");
    }
}

#[test]
fn signatures_are_found_by_the_list_and_by_the_tag() {
    let scene = Scene::new();
    let server = &scene.server;
    let subject = digest(scene.manifest.as_bytes());
    let artifact = |signature: &str, digests: Option<&str>, of: &str| {
        let mut layers = Vec::new();
        for (kind, bytes) in [("minisig", Some(signature)), ("digests", digests)] {
            let Some(bytes) = bytes else {
                continue;
            };
            let name = digest(bytes.as_bytes());
            server.put(&format!("/v2/team/x/blobs/{name}"), bytes, "");
            layers.push(format!(
                "{{\"mediaType\":\"application/vnd.sinterfs.{kind}.v1\",\"digest\":\"{name}\",\
                 \"size\":{}}}",
                bytes.len()
            ));
        }
        let manifest = format!(
            "{{\"layers\":[{}],\"subject\":{{\"digest\":\"{of}\"}}}}",
            layers.join(",")
        );
        let name = digest(manifest.as_bytes());
        server.put(&format!("/v2/team/x/manifests/{name}"), manifest, "");
        name
    };
    let kind = "application/vnd.sinterfs.signature.v1";
    let list = |entries: &[(&str, &str)]| {
        let entry = |(kind, digest): &(&str, &str)| {
            format!("{{\"artifactType\":\"{kind}\",\"digest\":\"{digest}\"}}")
        };
        let entries: Vec<String> = entries.iter().map(entry).collect();
        format!("{{\"manifests\":[{}]}}", entries.join(","))
    };
    let found = || {
        let found = sinterfs_remote::signatures(&scene.address(":1"), 20, &options());
        found.map(|all| {
            let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
            let one = |one: sinterfs_remote::AttachedSignature| {
                (text(one.signature), one.digests.map(text))
            };
            all.into_iter().map(one).collect::<Vec<_>>()
        })
    };
    assert_eq!(found().unwrap(), []);
    let one = artifact("first", None, &subject);
    let two = artifact("second", Some("digests"), &subject);
    let other = artifact("third", None, &digest(b"another image"));
    let long = artifact("fourth", Some("these are too many digests"), &subject);
    let huge = artifact(&"x".repeat(70_000), None, &subject);
    let empty = artifact("", None, &subject);
    let (tag, api) = (
        format!("/v2/team/x/manifests/{}", subject.replace(':', "-")),
        format!("/v2/team/x/referrers/{subject}"),
    );
    server.put(&tag, list(&[(kind, &one)]), "");
    assert_eq!(found().unwrap(), [("first".to_owned(), None)]);
    // some registries answer with a page
    server.put(&api, "<html>", "");
    assert_eq!(found().unwrap(), [("first".to_owned(), None)]);
    let entries = [
        (kind, &*other),
        ("application/x", &*one),
        (kind, "sha256:../../x"),
        (kind, &*huge),
        (kind, &*two),
        (kind, &*long),
    ];
    server.put(&api, list(&entries), "");
    let expected = [
        ("second".to_owned(), Some("digests".to_owned())),
        ("fourth".to_owned(), None),
    ];
    assert_eq!(found().unwrap(), expected);
    // other bytes than those of the digest are an error
    let name = digest(b"second");
    server.put(&format!("/v2/team/x/blobs/{name}"), "secomd", "");
    assert_eq!(found().unwrap_err().kind(), Kind::Corrupt);
    server.put(&api, list(&[(kind, &empty)]), "");
    assert_eq!(found().unwrap(), [(String::new(), None)]);
    let offline = RemoteOptions {
        offline: true,
        ..options()
    };
    let refused = sinterfs_remote::signatures(&scene.address(":1"), 20, &offline);
    assert_eq!(refused.unwrap_err().kind(), Kind::NotFound);
}
