//! Container images in a registry that lies, and servers that lead elsewhere or say nothing.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use sinterfs_testkit::http_server::{Fault, HttpServer};

use super::support::{run, scratch, shell, sinter};

/// Makes the files of a registry: tags with sound and unsound images, as hexadecimal.
const REGISTRY: &str = r#"
import gzip, hashlib, io, json, tarfile
files, V = {}, 'application/vnd.oci.image.'
def put(path, data): files[path] = data.hex()
def blob(data, kind):
    digest = 'sha256:' + hashlib.sha256(data).hexdigest()
    put('/v2/x/blobs/' + digest, data)
    return {'mediaType': V + kind, 'digest': digest, 'size': len(data)}
def tar(name):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w') as made:
        made.addfile(tarfile.TarInfo(name), io.BytesIO())
    return out.getvalue()
sha = lambda data: 'sha256:' + hashlib.sha256(data).hexdigest()
def image(layers, ids, tag=None):
    about = {'architecture': 'amd64', 'os': 'linux'}
    if ids is not None: about['rootfs'] = {'type': 'layers', 'diff_ids': ids}
    config = blob(json.dumps(about).encode(), 'config.v1+json')
    whole = {'schemaVersion': 2, 'mediaType': V + 'manifest.v1+json'}
    whole.update(config=config, layers=layers)
    whole = json.dumps(whole).encode()
    if tag: put('/v2/x/manifests/' + tag, whole)
    put('/v2/x/manifests/' + sha(whole), whole)
    return {'mediaType': V + 'manifest.v1+json', 'digest': sha(whole), 'size': len(whole)}
a, b = tar('a'), tar('b')
la, lb = blob(gzip.compress(a), 'layer.v1.tar+gzip'), blob(b, 'layer.v1.tar')
sound = image([la, lb], [sha(a), sha(b)], 'sound')
image([la, lb, la], [sha(a), sha(b), sha(a)], 'again')
image([la, lb], None, 'silent')
image([la, lb], [sha(b), sha(a)], 'swapped')
image([la, lb], [sha(gzip.compress(a)), sha(b)], 'stored')
image([la, lb], [sha(a)], 'fewer')
image([lb] * 20000, None, 'many')
def index(tag, *more):
    all = [dict(sound, platform={'os': 'linux', 'architecture': 'amd64'}), *more]
    put('/v2/x/manifests/' + tag, json.dumps({'schemaVersion': 2, 'manifests': all}).encode())
statement = image([lb], None)
index('index', dict(statement, platform={'os': 'unknown', 'architecture': 'unknown'}))
json.dump(files, open('registry.json', 'w'))
"#;

fn registry(dir: &Path) -> HttpServer {
    std::fs::write(dir.join("registry.py"), REGISTRY).unwrap();
    shell(dir, "python3 registry.py");
    let files = std::fs::read(dir.join("registry.json")).unwrap();
    let files: serde_json::Value = serde_json::from_slice(&files).unwrap();
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    for (path, content) in files.as_object().unwrap() {
        let digits = content.as_str().unwrap().as_bytes().chunks(2);
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
        let content: Result<Vec<u8>, _> = digits.map(byte).collect();
        server.put(path, content.unwrap(), "");
    }
    server
}

fn try_build(dir: &Path, server: &HttpServer, tag: &str, more: &[&str]) -> Output {
    let url = server.url(&format!("/x:{tag}")).replace("http", "oci");
    let mut build = sinter();
    build.current_dir(dir).env("DOCKER_CONFIG", dir);
    build.args(["build", "-q", "--force", "--cache", "none", &url]);
    build.args(["-o", "x.dwarfs"]).args(more).output().unwrap()
}

#[test]
fn layers_have_the_digests_of_the_configuration_and_a_bound() {
    let dir = scratch();
    let dir = dir.path();
    let server = registry(dir);
    for tag in ["sound", "again", "silent"] {
        let built = try_build(dir, &server, tag, &[]);
        assert!(built.status.success(), "{tag}: {built:?}");
        let list = run([Path::new("ls"), &dir.join("x.dwarfs")]).stdout;
        assert_eq!(String::from_utf8_lossy(&list), "a\nb\n", "{tag}");
    }
    // a layer that comes again is fetched once
    server.take();
    try_build(dir, &server, "again", &[]);
    let sent = server.take();
    let mut paths: Vec<_> = sent
        .iter()
        .filter(|one| one.path.contains("blobs"))
        .collect();
    let all = paths.len();
    paths.dedup_by_key(|one| one.path.clone());
    assert_eq!(all, paths.len(), "{sent:?}");
    for (tag, code, words) in [
        ("swapped", 3, "the configuration says"),
        ("stored", 3, "the configuration says"),
        ("fewer", 3, "1 layers in the configuration"),
        ("many", 6, "1000 layers"),
    ] {
        let begin = Instant::now();
        let refused = try_build(dir, &server, tag, &[]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(code), "{tag}: {said}");
        assert!(said.contains(words), "{tag}: {said}");
        assert!(begin.elapsed() < Duration::from_secs(20), "{tag}");
    }
}

#[test]
fn statements_about_images_are_neither_offered_nor_chosen() {
    let dir = scratch();
    let dir = dir.path();
    let server = registry(dir);
    let built = try_build(dir, &server, "index", &["--platform", "linux/amd64"]);
    assert!(built.status.success(), "{built:?}");
    for platform in ["unknown/unknown", "linux/arm"] {
        let refused = try_build(dir, &server, "index", &["--platform", platform]);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success(), "{platform}: {said}");
        assert!(said.contains("there are: linux/amd64"), "{said}");
        assert!(!said.trim_end().ends_with("unknown"), "{said}");
    }
}

#[test]
fn a_build_that_waits_for_a_server_stops_when_it_is_asked_to() {
    let dir = scratch();
    let dir = dir.path();
    let server = registry(dir);
    let url = server.url("/x:sound").replace("http", "oci");
    for slow in ["/manifests/", "/blobs/"] {
        server.plan(move |request| {
            if request.path.contains(slow) {
                Fault::Silent(Duration::from_secs(30))
            } else {
                Fault::None
            }
        });
        let mut build = sinter();
        build.current_dir(dir).env("DOCKER_CONFIG", dir);
        build.args([
            "build", "-q", "--force", "--cache", "none", &url, "-o", "y.dwarfs",
        ]);
        let mut child = build.stderr(Stdio::null()).spawn().unwrap();
        // until it waits
        while !server.take().iter().any(|one| one.path.contains(slow)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let begin = Instant::now();
        shell(dir, &format!("kill -TERM {}", child.id()));
        assert!(!child.wait().unwrap().success());
        assert!(begin.elapsed() < Duration::from_secs(5), "{slow}");
        assert!(!dir.join("y.dwarfs").exists());
    }
}

/// What another origin may see.
const PUBLIC: [&str; 8] = [
    "accept",
    "accept-encoding",
    "content-length",
    "host",
    "if-match",
    "if-none-match",
    "range",
    "user-agent",
];

#[test]
fn no_secret_goes_where_a_server_leads_to() {
    let (here, there) = (HttpServer::start(), HttpServer::start());
    let to = there.url("");
    here.plan(move |request| {
        let path = request.path.split('?').next().unwrap();
        Fault::Answer(307, format!("Location: {to}{path}\r\n"))
    });
    let dir = scratch();
    std::fs::create_dir(dir.path().join("tree")).unwrap();
    let tree = dir.path().join("tree");
    let endpoint = here.url("");
    for (reads, url, variables) in [
        (true, "s3://b/i", ["AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"]),
        (false, "s3://b/i", ["AWS_ENDPOINT_URL", "AWS_ALLOW_HTTP"]),
        (
            true,
            "az://b/i",
            ["AZURE_STORAGE_ENDPOINT", "AZURE_ALLOW_HTTP"],
        ),
        (true, &here.url("/i?sig=SECRET"), ["X", "Y"]),
    ] {
        let mut command = sinter();
        command
            .env(variables[0], &endpoint)
            .env(variables[1], "true");
        command
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "KEYID");
        command
            .env("AWS_SECRET_ACCESS_KEY", "SECRET")
            .env("AWS_SESSION_TOKEN", "SECRETTOKEN");
        command.env("AZURE_STORAGE_ACCOUNT_NAME", "account");
        command.env("AZURE_STORAGE_ACCOUNT_KEY", "U0VDUkVU");
        if reads {
            command.args(["ls", "--cache", "none", url]);
        } else {
            command
                .args(["build", "-q", "--force", "-f", "dwarfs"])
                .arg(&tree)
                .args(["-o", url]);
        }
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && !said.contains("SECRET"),
            "{said}"
        );
        let (asked, sent) = (here.take(), there.take());
        assert!(!asked.is_empty(), "{url}: {said}");
        assert_eq!(!sent.is_empty(), reads, "{url}: {said} {sent:?}");
        for (name, value) in sent.iter().flat_map(|one| &one.headers) {
            assert!(
                PUBLIC.contains(&&**name) && !value.contains("SECRET"),
                "{name}: {value}"
            );
        }
    }
}

#[test]
fn no_password_goes_where_the_place_of_tokens_leads_to() {
    let dir = scratch();
    let (here, there) = (HttpServer::start(), HttpServer::start());
    let to = there.url("/token");
    let realm = here.url("/token");
    here.plan(move |request| {
        if request.path.starts_with("/token") {
            return Fault::Answer(307, format!("Location: {to}\r\n"));
        }
        Fault::Answer(
            401,
            format!("WWW-Authenticate: Bearer realm=\"{realm}\"\r\n"),
        )
    });
    let host = here.url("").replace("http://", "");
    // user:SECRET
    let config = format!("{{\"auths\":{{\"{host}\":{{\"auth\":\"dXNlcjpTRUNSRVQ=\"}}}}}}");
    std::fs::write(dir.path().join("config.json"), config).unwrap();
    let mut command = sinter();
    command.env("DOCKER_CONFIG", dir.path());
    let url = format!("oci://{host}/x:1");
    let output = command
        .args(["ls", "--cache", "none", &url])
        .output()
        .unwrap();
    assert!(!output.status.success());
    let asked = here.take();
    let has_proof = |one: &sinterfs_testkit::http_server::HttpRequest| {
        one.headers.iter().any(|(name, _)| name == "authorization")
    };
    assert!(asked.iter().any(has_proof), "{asked:?}");
    let sent = there.take();
    assert!(!sent.is_empty() && !sent.iter().any(has_proof), "{sent:?}");
}
