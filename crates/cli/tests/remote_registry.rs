//! Images in a registry: Debian's docker-registry holds what is pushed, skopeo says what it is.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sinterfs_testkit::noise;
use support::{build, run, scratch, shell, sinter, skip, try_run};

/// A registry that ends with the test.
struct Registry {
    child: Child,
    port: u16,
}

impl Drop for Registry {
    fn drop(&mut self) {
        // the test may have ended it
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn registry(dir: &Path, more: &str) -> Option<Registry> {
    if !Path::new("/usr/bin/docker-registry").exists() {
        skip("no docker-registry");
        return None;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let conf = format!(
        "version: 0.1\nlog: {{level: error}}\n\
         storage: {{filesystem: {{rootdirectory: {}/registry}}}}\n\
         http: {{addr: '127.0.0.1:{port}', secret: x}}\n{more}",
        dir.display()
    );
    std::fs::write(dir.join("registry.yml"), conf).unwrap();
    let mut command = Command::new("/usr/bin/docker-registry");
    command.arg("serve").arg(dir.join("registry.yml"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let registry = Registry {
        child: command.spawn().unwrap(),
        port,
    };
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(registry);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the registry does not start");
}

fn tree(dir: &Path) -> PathBuf {
    let tree = dir.join("tree");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    std::fs::write(tree.join("sub/large"), noise(1, 12 << 20)).unwrap();
    std::fs::write(tree.join("small"), "small\n").unwrap();
    tree
}

#[test]
fn images_are_pushed_read_in_place_and_pulled() {
    let dir = scratch();
    let Some(registry) = registry(dir.path(), "") else {
        return;
    };
    let tree = tree(dir.path());
    for format in ["dwarfs", "squashfs", "erofs"] {
        let file = dir.path().join(format!("image.{format}"));
        let image = build(format, &tree, &file, &[]);
        let url = format!("oci://127.0.0.1:{}/team/{format}:v1", registry.port);
        let pushed = run([Path::new("push"), &file, Path::new(&url)]).stdout;
        let by_digest = String::from_utf8(pushed).unwrap().trim().to_owned();
        assert!(by_digest.contains("@sha256:"), "{by_digest}");
        let again = run([Path::new("push"), &file, Path::new(&url)]).stdout;
        assert_eq!(String::from_utf8(again).unwrap().trim(), by_digest);
        for url in [&url, &by_digest] {
            let there = run(["ls", "-lR", "--cache", "none", url]).stdout;
            assert_eq!(
                there,
                run([Path::new("ls"), Path::new("-lR"), &file]).stdout
            );
        }
        run(["check", "--deep", "--cache", "none", &by_digest]);
        let same = try_run(["diff", "--cache", "none", file.to_str().unwrap(), &url]);
        assert!(same.status.success(), "{same:?}");
        let pulled = dir.path().join("pulled");
        let out = pulled.to_str().unwrap();
        run(["pull", "--force", "--cache", "none", &url, "-o", out]);
        assert!(std::fs::read(&pulled).unwrap() == image, "{format}");
        let refused = try_run(["pull", "--cache", "none", &url, "-o", out]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        // what another client says of it
        let name = format!("docker://127.0.0.1:{}/team/{format}:v1", registry.port);
        let mut skopeo = Command::new("skopeo");
        let raw = skopeo
            .args(["inspect", "--raw", "--tls-verify=false", &name])
            .output()
            .unwrap();
        assert!(raw.status.success(), "{raw:?}");
        let manifest: serde_json::Value = serde_json::from_slice(&raw.stdout).unwrap();
        let layer = &manifest["layers"][0];
        assert_eq!(layer["size"], image.len());
        if format == "erofs" {
            assert_eq!(layer["mediaType"], "application/vnd.erofs.layer.v1");
            assert_eq!(
                manifest["config"]["mediaType"],
                "application/vnd.oci.image.config.v1+json"
            );
        } else {
            let kind = format!("application/vnd.sinterfs.{format}.v1");
            assert_eq!(layer["mediaType"], kind);
            assert_eq!(
                manifest["artifactType"],
                "application/vnd.sinterfs.image.v1"
            );
        }
        let missing = url.replace(":v1", ":v2");
        let output = try_run(["ls", "--cache", "none", &missing]);
        assert_eq!(output.status.code(), Some(5), "{output:?}");
    }
}

#[test]
fn a_pull_that_was_interrupted_goes_on() {
    let dir = scratch();
    let Some(registry) = registry(dir.path(), "") else {
        return;
    };
    let tree = tree(dir.path());
    let file = dir.path().join("image");
    let image = build("squashfs", &tree, &file, &[]);
    let url = format!("oci://127.0.0.1:{}/x:1", registry.port);
    run([Path::new("push"), &file, Path::new(&url)]);
    let (cache, out) = (dir.path().join("cache"), dir.path().join("out"));
    let start = || {
        let mut command = sinter();
        command
            .args(["pull", &url, "-o"])
            .arg(&out)
            .arg("--cache")
            .arg(&cache);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let mut killed = start();
    std::thread::sleep(Duration::from_millis(60));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!out.exists());
    assert!(start().wait().unwrap().success());
    assert!(std::fs::read(&out).unwrap() == image);
    // bytes that are not those of the digest are no image
    shell(
        dir.path(),
        "f=$(find registry -name data -size +9M)
         printf X | dd of=$f bs=1 seek=4999999 conv=notrunc",
    );
    let wrong = dir.path().join("wrong");
    let mut command = sinter();
    command
        .args(["pull", "--cache", "none", &url, "-o"])
        .arg(&wrong);
    let refused = command.output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    assert!(!wrong.exists());
    // and with everything cached, the registry may be gone
    drop(registry);
    let mut command = sinter();
    command
        .args(["check", "--deep", "--offline", &url, "--cache"])
        .arg(&cache);
    let checked = command.output().unwrap();
    assert!(checked.status.success(), "{checked:?}");
}

#[test]
fn an_ordinary_image_is_a_source() {
    let dir = scratch();
    let Some(registry) = registry(dir.path(), "") else {
        return;
    };
    shell(
        dir.path(),
        "mkdir lower upper
         echo old > lower/a; echo gone > lower/b; echo kept > lower/c
         echo new > upper/a; : > upper/.wh.b
         mkdir merged; echo new > merged/a; echo kept > merged/c
         tar -C lower -czf lower.tgz . && tar -C upper -czf upper.tgz .
         mkdir -p oci/blobs/sha256
         echo '{\"imageLayoutVersion\":\"1.0.0\"}' > oci/oci-layout
         add() { h=$(sha256sum $1 | cut -c1-64); cp $1 oci/blobs/sha256/$h
           printf '{\"mediaType\":\"%s\",\"digest\":\"sha256:%s\",' $2 $h
           printf '\"size\":%s}' $(stat -c%s $1); }
         L=application/vnd.oci.image.layer.v1.tar+gzip
         a=$(add lower.tgz $L); b=$(add upper.tgz $L)
         d1=$(zcat lower.tgz | sha256sum | cut -c1-64)
         d2=$(zcat upper.tgz | sha256sum | cut -c1-64)
         printf '{\"architecture\":\"amd64\",\"os\":\"linux\",' > config
         printf '\"rootfs\":{\"type\":\"layers\",\"diff_ids\":' >> config
         printf '[\"sha256:%s\",\"sha256:%s\"]}}' $d1 $d2 >> config
         c=$(add config application/vnd.oci.image.config.v1+json)
         M=application/vnd.oci.image.manifest.v1+json
         printf '{\"schemaVersion\":2,\"mediaType\":\"%s\",' $M > manifest
         printf '\"config\":%s,\"layers\":[%s,%s]}' \"$c\" \"$a\" \"$b\" >> manifest
         m=$(add manifest $M)
         printf '{\"schemaVersion\":2,\"manifests\":[%s]}' \"$m\" > oci/index.json",
    );
    let name = format!("127.0.0.1:{}/ordinary:1", registry.port);
    let copy = format!("skopeo copy -q --dest-tls-verify=false oci:oci docker://{name}");
    shell(dir.path(), &copy);
    let image = dir.path().join("image.dwarfs");
    let url = format!("oci://{name}");
    run([
        "build",
        "-q",
        "--cache",
        "none",
        &url,
        "-o",
        image.to_str().unwrap(),
    ]);
    let same = [
        "diff",
        "--ignore",
        "mtime,uid,gid,mode",
        image.to_str().unwrap(),
    ];
    let merged = dir.path().join("merged");
    run([&same[..], &[merged.to_str().unwrap()]].concat());
    // it is no image that can be read in place
    let refused = try_run(["ls", "--cache", "none", &url]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
}

/// A line for `me` with the password `SECRET`, as `htpasswd -nbB` makes it.
const HTPASSWD: &str = "me:$2b$05$aaaaaaaaaaaaaaaaaaaaaOBDN1sqK5rV/FVWjnVSUqE2EFzOPanjG\n";

#[test]
fn credentials_are_those_of_docker_login() {
    let dir = scratch();
    std::fs::write(dir.path().join("htpasswd"), HTPASSWD).unwrap();
    let auth = format!(
        "auth: {{htpasswd: {{realm: x, path: {}/htpasswd}}}}\n",
        dir.path().display()
    );
    let Some(registry) = registry(dir.path(), &auth) else {
        return;
    };
    let tree = tree(dir.path());
    let file = dir.path().join("image");
    build("squashfs", &tree, &file, &[]);
    let url = format!("oci://127.0.0.1:{}/x:1", registry.port);
    let push = |config: &Path| {
        let mut command = sinter();
        command
            .arg("push")
            .arg(&file)
            .arg(&url)
            .env("DOCKER_CONFIG", config);
        command.output().unwrap()
    };
    let refused = push(&dir.path().join("none"));
    assert_eq!(refused.status.code(), Some(7), "{refused:?}");
    let config = dir.path().join("docker");
    std::fs::create_dir(&config).unwrap();
    // "me:SECRET"
    let login = format!(
        "{{\"auths\":{{\"127.0.0.1:{}\":{{\"auth\":\"bWU6U0VDUkVU\"}}}}}}",
        registry.port
    );
    std::fs::write(config.join("config.json"), login).unwrap();
    let pushed = push(&config);
    assert!(pushed.status.success(), "{pushed:?}");
    for output in [&refused, &pushed] {
        assert!(
            !String::from_utf8_lossy(&output.stderr).contains("SECRET"),
            "{output:?}"
        );
    }
    let ls = |name: &str, value: &Path| {
        let mut ls = sinter();
        let path = std::env::var("PATH").unwrap();
        ls.args(["ls", "--cache", "none", &url])
            .env("DOCKER_CONFIG", dir.path().join("none"))
            .env("PATH", format!("{}:{path}", dir.path().display()))
            .env(name, value);
        ls.output().unwrap()
    };
    let file = config.join("config.json");
    for (name, value) in [("DOCKER_CONFIG", &config), ("REGISTRY_AUTH_FILE", &file)] {
        let listed = ls(name, value);
        assert_eq!(listed.stdout, b"small\nsub\n", "{listed:?}");
    }
    // a helper that knows the password, one that knows none, and one that fails
    std::fs::write(&file, "{\"credsStore\":\"test\"}").unwrap();
    let helper = |script: &str| {
        let path = dir.path().join("docker-credential-test");
        // helpers are told the server, and who closes that pipe unread may fail the writer
        let script = format!("#!/bin/sh\ncat > /dev/null\n{script}\n");
        std::fs::write(&path, script).unwrap();
        shell(dir.path(), "chmod +x docker-credential-test");
        ls("DOCKER_CONFIG", &config)
    };
    let found = helper("echo '{\"ServerURL\":\"x\",\"Username\":\"me\",\"Secret\":\"SECRET\"}'");
    assert_eq!(found.stdout, b"small\nsub\n", "{found:?}");
    let none = helper("echo credentials not found in native keychain; exit 1");
    let failed = helper("echo the SECRET; exit 1");
    for (output, words) in [(none, "401"), (failed, "docker-credential-test")] {
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(7), "{text}");
        assert!(text.contains(words) && !text.contains("SECRET"), "{text}");
    }
}
