//! Mirrors of a registry, as `hosts.toml` names them: asked first, and never in the way.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::time::Duration;

use sinterfs_block::ReadAt;
use sinterfs_block::checksum::sha256;
use sinterfs_block::verity::hex;
use sinterfs_model::{Kind, Result};
use sinterfs_remote::{Address, Remote, RemoteOptions};
use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer};
use sinterfs_testkit::noise;

/// A registry, a mirror of it with all that it has, and the directory that names the mirror.
struct Scene {
    registry: HttpServer,
    mirror: HttpServer,
    content: Vec<u8>,
    dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let content = noise(5, 1 << 20);
        let blob = format!("sha256:{}", hex(&sha256(&content)));
        let manifest = format!(
            "{{\"layers\":[{{\"digest\":\"{blob}\",\"size\":{},\
             \"mediaType\":\"application/vnd.erofs.layer.v1\"}}]}}",
            content.len()
        );
        let server = || {
            let server = HttpServer::start();
            server.delay(Duration::from_millis(1));
            server.put("/v2/x/manifests/1", manifest.as_str(), "");
            server.put(&format!("/v2/x/blobs/{blob}"), content.clone(), "");
            server
        };
        let (registry, mirror) = (server(), server());
        let scene = Self {
            registry,
            mirror,
            dir: tempfile::tempdir().unwrap(),
            content,
        };
        scene.write("");
        scene
    }

    fn host(&self) -> String {
        let url = self.registry.url("");
        url.trim_start_matches("http://").to_owned()
    }

    fn file(&self) -> std::path::PathBuf {
        self.dir.path().join(self.host()).join("hosts.toml")
    }

    /// Names the mirror, and more about it.
    fn write(&self, more: &str) {
        let text = format!(
            "server = \"{}\"\n[host.\"{}\"]\n{more}\n",
            self.registry.url(""),
            self.mirror.url("")
        );
        std::fs::create_dir_all(self.file().parent().unwrap()).unwrap();
        std::fs::write(self.file(), text).unwrap();
    }

    fn options(&self) -> RemoteOptions {
        RemoteOptions {
            deadline: Duration::from_secs(12),
            stall: Duration::from_secs(3),
            registry_hosts: Some(self.dir.path().to_owned()),
            ..RemoteOptions::default()
        }
    }

    fn open(&self) -> Result<Remote> {
        let url = format!("oci://{}/x:1", self.host());
        Remote::open(&Address::parse(Path::new(&url)).unwrap(), &self.options())
    }

    /// Reads all, and returns the numbers of requests to the mirror and to the registry.
    fn read(&self) -> (usize, usize) {
        let remote = self.open().unwrap();
        let read = remote.read(0, remote.len()).unwrap();
        assert!(read[..] == self.content[..]);
        (self.mirror.take().len(), self.registry.take().len())
    }
}

#[test]
fn a_mirror_is_asked_first() {
    let scene = Scene::new();
    let remote = scene.open().unwrap();
    assert!(remote.read(300_000, 9).unwrap()[..] == scene.content[300_000..][..9]);
    let sent = scene.mirror.take();
    assert!(scene.registry.take().is_empty());
    let namespace = format!("?ns={}", scene.host().replace(':', "%3A"));
    assert!(
        sent.iter().all(|one| one.path.ends_with(&namespace)),
        "{sent:?}"
    );
    // what tags stand for is asked of the registry alone
    scene.write("capabilities = [\"pull\"]");
    let (there, here) = scene.read();
    assert!(there > 0 && here == 1, "{there} {here}");
    scene.write("capabilities = [\"push\"]");
    assert_eq!(scene.read().0, 0);
}

#[test]
fn a_mirror_that_fails_is_never_in_the_way() {
    let scene = Scene::new();
    for fault in [
        Fault::Status(401, None),
        Fault::Status(404, None),
        Fault::Status(429, Some(3)),
        Fault::Status(500, None),
        Fault::Answer(302, "Location: http://127.0.0.1:1/x\r\n".to_owned()),
        Fault::Close,
        Fault::Truncate(9),
        Fault::Stall(Duration::from_secs(9)),
    ] {
        let planned = fault.clone();
        scene.mirror.plan(move |_| planned.clone());
        // one request, then it rests
        let (there, here) = scene.read();
        assert!(there == 1 && here > 1, "{fault:?}: {there} {here}");
        // the manifest comes from it, and nothing else
        let planned = fault.clone();
        scene.mirror.plan(move |request| match request.range {
            Some(_) => planned.clone(),
            None => Fault::None,
        });
        let (there, here) = scene.read();
        assert!(there > 1 && here > 0, "{fault:?}: {there} {here}");
    }
    for fault in [Fault::NoRanges, Fault::WrongRange] {
        let planned = fault.clone();
        scene.mirror.plan(move |request| match request.range {
            Some(_) => planned.clone(),
            None => Fault::None,
        });
        let (there, here) = scene.read();
        assert!(there > 1 && here > 0, "{fault:?}: {there} {here}");
    }
}

#[test]
fn other_bytes_of_a_mirror_are_not_taken() {
    let scene = Scene::new();
    let digest = |bytes: &[u8]| format!("sha256:{}", hex(&sha256(bytes)));
    let small = noise(6, 40_000);
    let manifest = format!(
        "{{\"layers\":[{{\"digest\":\"{}\",\"size\":{},\
         \"mediaType\":\"application/vnd.erofs.layer.v1\"}}]}}",
        digest(&small),
        small.len()
    );
    let named = digest(manifest.as_bytes());
    let (manifests, blob) = (
        format!("/v2/x/manifests/{named}"),
        format!("/v2/x/blobs/{}", digest(&small)),
    );
    let wrong = noise(7, 40_000);
    let url = format!("oci://{}/x@{named}", scene.host());
    let address = Address::parse(Path::new(&url)).unwrap();
    scene.registry.put(&manifests, manifest.as_str(), "");
    scene.registry.put(&blob, small.clone(), "");
    for (manifest, bytes) in [("{}", &small), ("{", &small), (manifest.as_str(), &wrong)] {
        scene.mirror.put(&manifests, manifest, "");
        scene.mirror.put(&blob, bytes.clone(), "");
        let remote = Remote::open(&address, &scene.options()).unwrap();
        assert!(remote.read(0, remote.len()).unwrap()[..] == small[..]);
        assert!(!scene.mirror.take().is_empty() && !scene.registry.take().is_empty());
    }
    // of the registry itself they are an error
    scene.registry.put(&blob, wrong, "");
    let remote = Remote::open(&address, &scene.options()).unwrap();
    let error = remote.read(0, remote.len()).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt, "{error}");
}

#[test]
fn headers_go_to_their_server_alone() {
    let scene = Scene::new();
    scene.write("header = { X-Wanted = [\"SECRET\", \"b\"] }");
    let elsewhere = HttpServer::start();
    let to = elsewhere.url("/there");
    elsewhere.put("/there", scene.content.clone(), "");
    scene.mirror.plan(move |request| match request.range {
        Some(_) => Fault::Answer(307, format!("Location: {to}\r\n")),
        None => Fault::None,
    });
    let (there, here) = scene.read();
    assert!(there > 1 && here == 0, "{there} {here}");
    let sent = elsewhere.take();
    let has = |one: &HttpRequest| one.headers.iter().any(|(name, _)| name == "x-wanted");
    assert!(!sent.is_empty() && !sent.iter().any(has), "{sent:?}");
    scene.open().unwrap();
    let sent = scene.mirror.take();
    let values = sent[0]
        .headers
        .iter()
        .filter(|(name, _)| name == "x-wanted");
    let values: Vec<&str> = values.map(|(_, value)| value.as_str()).collect();
    assert_eq!(values, ["SECRET", "b"]);
}

#[test]
fn another_path_and_another_server_are_taken() {
    let scene = Scene::new();
    let path = scene.mirror.url("/v2");
    let text = format!("[host.\"{path}\"]\noverride_path = true\nskip_verify = false\n");
    std::fs::write(scene.file(), text).unwrap();
    let (there, here) = scene.read();
    assert!(there > 0 && here == 0);
    // the registry is elsewhere: nothing goes to its name
    std::fs::write(
        scene.file(),
        format!("server = \"{}\"\n", scene.mirror.url("")),
    )
    .unwrap();
    let (there, here) = scene.read();
    assert!(there > 0 && here == 0);
    // for all registries
    let default = scene.dir.path().join("_default");
    std::fs::rename(scene.file().parent().unwrap(), &default).unwrap();
    let (there, here) = scene.read();
    assert!(there > 0 && here == 0);
    std::fs::remove_dir_all(&default).unwrap();
    assert_eq!(scene.read().0, 0);
}

#[test]
fn refuses_unsupported_settings() {
    let scene = Scene::new();
    for (more, kind) in [
        ("skip_verify = true", Kind::Unsupported),
        ("client = \"/x\"", Kind::Unsupported),
        ("capabilities = [\"run_request\"]", Kind::Unsupported),
        ("header = 3", Kind::Unsupported),
        ("ca = \"missing.pem\"", Kind::Io),
        ("= =", Kind::Invalid),
        ("[host.\"ftp://x\"]", Kind::Unsupported),
        ("[host.\"https://me:SECRET@x\"]", Kind::Unsupported),
    ] {
        scene.write(more);
        let error = scene.open().unwrap_err();
        assert_eq!(error.kind(), kind, "{more}: {error}");
        let text = error.to_string();
        assert!(text.contains(".toml") || text.contains(".pem"), "{text}");
        assert!(!text.contains("SECRET"), "{text}");
    }
}
