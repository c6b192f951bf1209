//! Commands that are asked to stop while a server keeps them waiting: they end at once, and leave
//! nothing on the server or here.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer};
use sinterfs_testkit::noise;

use super::support::{scratch, shell, sinter};

/// How long a server says nothing.
const SILENCE: Fault = Fault::Silent(Duration::from_secs(60));

/// Starts a command, and asks it to stop when the server has got a request of a kind; returns the
/// requests.
fn stop_at(
    command: &mut Command,
    server: &HttpServer,
    signal: &str,
    is_awaited: impl Fn(&HttpRequest) -> bool,
) -> Vec<HttpRequest> {
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let mut requests = Vec::new();
    let begin = Instant::now();
    while !requests.iter().any(&is_awaited) {
        assert!(begin.elapsed() < Duration::from_secs(60), "{requests:?}");
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended: {requests:?}"
        );
        std::thread::sleep(Duration::from_millis(50));
        requests.extend(server.take());
    }
    end(&mut child, signal);
    requests.extend(server.take());
    requests
}

/// Sends a signal to a process, which ends soon.
fn end(child: &mut Child, signal: &str) {
    let begin = Instant::now();
    shell(Path::new("/"), &format!("kill -{signal} {}", child.id()));
    assert!(!child.wait().unwrap().success());
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
}

fn tree(dir: &Path) {
    std::fs::create_dir(dir.join("tree")).unwrap();
    std::fs::write(dir.join("tree/noise"), noise(1, 20 << 20)).unwrap();
    let mut build = sinter();
    build
        .current_dir(dir)
        .args(["build", "-q", "-l0", "tree", "-o", "i.dwarfs"]);
    assert!(build.status().unwrap().success());
}

#[test]
fn a_push_that_is_stopped_cancels_its_upload() {
    let dir = scratch();
    let dir = dir.path();
    tree(dir);
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    server.plan(|request| match &*request.method {
        "POST" => Fault::Answer(202, "Location: /v2/x/upload/1\r\n".to_owned()),
        "PATCH" => SILENCE,
        "DELETE" => Fault::Status(204, None),
        _ => Fault::Status(404, None),
    });
    let url = server.url("/x:tag").replace("http", "oci");
    for (signal, words) in [
        ("TERM", &["push", "i.dwarfs", &url][..]),
        ("INT", &["build", "-q", "-l0", "tree", "-o", &url]),
        ("HUP", &["convert", "-q", "-l0", "i.dwarfs", "-o", &url]),
    ] {
        let mut command = sinter();
        command
            .current_dir(dir)
            .env("DOCKER_CONFIG", dir)
            .args(words);
        let requests = stop_at(&mut command, &server, signal, |one| one.method == "PATCH");
        let cancelled = |one: &HttpRequest| one.method == "DELETE" && one.path == "/v2/x/upload/1";
        assert!(requests.iter().any(cancelled), "{words:?}: {requests:?}");
    }
}

#[test]
fn an_upload_to_a_store_that_is_stopped_is_aborted() {
    let dir = scratch();
    let dir = dir.path();
    tree(dir);
    let server = HttpServer::start();
    server.delay(Duration::from_millis(1));
    let begun = "<?xml version=\"1.0\"?><InitiateMultipartUploadResult><Bucket>b</Bucket>\
                 <Key>i</Key><UploadId>U1</UploadId></InitiateMultipartUploadResult>";
    server.put("/b/i?uploads", begun, "");
    server.put("/b/i?uploads=", begun, "");
    server.plan(|request| match &*request.method {
        "PUT" => SILENCE,
        "DELETE" => Fault::Status(204, None),
        _ => Fault::None,
    });
    for (signal, words) in [
        ("TERM", &["build", "-q", "-l0", "tree"][..]),
        (
            "INT",
            &["convert", "-q", "-l0", "-f", "squashfs", "i.dwarfs"],
        ),
        ("TERM", &["extract", "-q", "--tar", "i.dwarfs"]),
    ] {
        let mut command = sinter();
        command
            .current_dir(dir)
            .args(words)
            .args(["-o", "s3://b/i"]);
        command
            .env("AWS_ENDPOINT_URL", server.url(""))
            .env("AWS_ALLOW_HTTP", "true");
        command
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "KEY");
        command.env("AWS_SECRET_ACCESS_KEY", "SECRET");
        let requests = stop_at(&mut command, &server, signal, |one| one.method == "PUT");
        let aborted =
            |one: &HttpRequest| one.method == "DELETE" && one.path.contains("uploadId=U1");
        assert!(requests.iter().any(aborted), "{words:?}: {requests:?}");
    }
}

#[test]
fn a_mount_that_waits_for_a_server_ends_when_it_is_asked_to() {
    let dir = scratch();
    let dir = dir.path();
    let server = HttpServer::start();
    server.plan(|_| SILENCE);
    let (url, point) = (server.url("/i.dwarfs"), dir.join("point"));
    std::fs::create_dir(&point).unwrap();
    let list = dir.join("list");
    let line = format!("{url} {} cachesize=8m\n", point.display());
    std::fs::write(&list, line).unwrap();
    let (point, list) = (point.to_str().unwrap(), list.to_str().unwrap());
    for signal in ["TERM", "INT"] {
        for words in [
            &["mount", "-f", &url, point][..],
            &["mount", &url, point],
            &["mount", "--fuse", &url, point],
            &["mount", "-f", "--all", list],
            &["mount", "--all", list],
        ] {
            let mut command = sinter();
            command.args(words);
            stop_at(&mut command, &server, signal, |_| true);
            let begin = Instant::now();
            while is_named_by_a_process(words[words.len() - 1]) {
                assert!(
                    begin.elapsed() < Duration::from_secs(10),
                    "{words:?}: it goes on"
                );
                std::thread::sleep(Duration::from_millis(50));
            }
            let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
            assert!(!mounts.contains(point), "{words:?}");
        }
    }
}

/// Returns whether a process has an argument.
fn is_named_by_a_process(argument: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap();
    let lines = processes.filter_map(|one| std::fs::read(one.ok()?.path().join("cmdline")).ok());
    let mut arguments = lines.flat_map(|line| {
        let parts = line.split(|&byte| byte == 0).map(<[u8]>::to_vec);
        parts.collect::<Vec<_>>()
    });
    arguments.any(|one| one == argument.as_bytes())
}
