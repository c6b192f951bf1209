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
    registry_by(dir, "", more)
}

/// Starts a registry with more about HTTP, and more about the rest.
fn registry_by(dir: &Path, http: &str, more: &str) -> Option<Registry> {
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
         http: {{addr: '127.0.0.1:{port}', secret: x{http}}}\n{more}",
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
        if format == "dwarfs" {
            let from = ["--from", file.to_str().unwrap(), "--cache", "none"];
            run([&["pull", "--force", &url, "-o", out], &from[..]].concat());
            assert!(std::fs::read(&pulled).unwrap() == image);
        }
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
         printf '{\"architecture\":\"arm64\",\"os\":\"linux\",' > config
         printf '\"config\":{\"Cmd\":[\"/a\"]},' >> config
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
        "mtime,uid,gid,mode,xattrs",
        image.to_str().unwrap(),
    ];
    let merged = dir.path().join("merged");
    run([&same[..], &[merged.to_str().unwrap()]].concat());
    // its configuration is kept, as of the same image in a layout
    let local = dir.path().join("local.dwarfs");
    let layout = format!("oci:{}", dir.path().join("oci").display());
    run(["build", "-q", &layout, "-o", local.to_str().unwrap()]);
    let container = |image: &Path| {
        let output = run(["info", "--json", image.to_str().unwrap()]);
        let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        all["container"].clone()
    };
    assert!(!container(&local).is_null());
    assert_eq!(container(&image), container(&local));
    // it is no image that can be read in place
    let refused = try_run(["ls", "--cache", "none", &url]);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
    for format in ["erofs", "dwarfs"] {
        let into = url.replace("ordinary:1", &format!("converted:{format}"));
        converted_in_registry(&url, &into, format, &merged);
    }
}

/// Converts an ordinary image of a registry to one that is read in place, by the registry alone.
fn converted_in_registry(url: &str, into: &str, format: &str, merged: &Path) {
    let convert = [
        "convert", "-q", "--cache", "none", "-f", format, url, "-o", into,
    ];
    run(convert);
    let ignored = "mtime,uid,gid,mode,xattrs";
    let (into_path, cache) = (Path::new(into), ["--cache", "none", "--ignore", ignored]);
    let same = ["diff"].iter().chain(&cache).map(Path::new);
    run(same.chain([into_path, merged]));
    if format == "erofs" {
        let name = into.replace("oci://", "docker://");
        let mut skopeo = Command::new("skopeo");
        let config = skopeo.args(["inspect", "--config", "--tls-verify=false"]);
        let config = config
            .args(["--override-arch", "arm64", &name])
            .output()
            .unwrap();
        let config: serde_json::Value = serde_json::from_slice(&config.stdout).unwrap();
        assert_eq!(config["config"]["Cmd"][0], "/a", "{config}");
        assert_eq!(config["architecture"], "arm64", "{config}");
    }
    // the tag stays, unless that is asked for
    let refused = try_run(convert);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let dir = merged.parent().unwrap();
    let told = run([&convert[..], &["--force", "--json"]].concat());
    names_what_was_pushed(dir, &told.stdout, into);
    let again = into.replace("converted", "recompressed");
    let recompress = [
        "recompress",
        "--json",
        "--cache",
        "none",
        into,
        "-o",
        &again,
    ];
    let anew = ["--rebuild"].iter().filter(|_| format == "erofs");
    let told = run(recompress.iter().chain(anew));
    names_what_was_pushed(dir, &told.stdout, &again);
    // what cannot be pushed is not built first
    let (untagged, _) = into.rsplit_once(':').unwrap();
    let tree = merged.to_str().unwrap();
    let scratch = ["--force", "--scratch", "/nonexistent"];
    let refused = try_run([&["build", tree, "-o", untagged], &scratch[..]].concat());
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let archive = ["extract", "--tar", "--cache", "none", into, "-o", &again];
    let refused = try_run(archive);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
}

/// Fails unless a report in JSON has the name of an image with the digest that skopeo computes.
fn names_what_was_pushed(dir: &Path, report: &[u8], url: &str) {
    let told: serde_json::Value = serde_json::from_slice(report).unwrap();
    let name = url.replace("oci://", "docker://");
    let digest = format!(
        "skopeo inspect --raw --tls-verify=false {name} > manifest
         skopeo manifest-digest manifest"
    );
    let mut computing = Command::new("sh");
    let digest = computing.args(["-ec", &digest]).current_dir(dir).output();
    let digest = String::from_utf8(digest.unwrap().stdout).unwrap();
    let (repository, _) = url.rsplit_once(':').unwrap();
    assert_eq!(told["pushed"], format!("{repository}@{}", digest.trim()));
}

/// Writes the file of a registry's servers to `hosts`.
fn write_hosts(dir: &Path, name: &str, text: &str) {
    let hosts = dir.join("hosts").join(name);
    std::fs::create_dir_all(&hosts).unwrap();
    std::fs::write(hosts.join("hosts.toml"), text).unwrap();
}

#[test]
fn mirrors_of_hosts_toml_are_asked_first_and_never_in_the_way() {
    let dir = scratch();
    let (here, there) = (dir.path().join("here"), dir.path().join("there"));
    std::fs::create_dir(&here).unwrap();
    std::fs::create_dir(&there).unwrap();
    let (Some(own), Some(mirror)) = (registry(&here, ""), registry(&there, "")) else {
        return;
    };
    let tree = tree(dir.path());
    let file = dir.path().join("image");
    let image = build("dwarfs", &tree, &file, &[]);
    let url = format!("oci://127.0.0.1:{}/x:1", own.port);
    let at_mirror = format!("oci://127.0.0.1:{}/x:1", mirror.port);
    run([Path::new("push"), &file, Path::new(&at_mirror)]);
    let name = format!("127.0.0.1_{}_", own.port);
    let line = format!("[host.\"http://127.0.0.1:{}\"]\n", mirror.port);
    write_hosts(dir.path(), &name, &line);
    let (hosts, out) = (dir.path().join("hosts"), dir.path().join("out"));
    let (hosts, out) = (hosts.to_str().unwrap(), out.to_str().unwrap());
    let cache = dir.path().join("cache");
    let flags = ["--force", "--cache", cache.to_str().unwrap(), "-o", out];
    let pull = || {
        let _ = std::fs::remove_file(out);
        let pulled = try_run([&["pull", "--hosts", hosts, &url], &flags[..]].concat());
        (
            pulled.status.code(),
            std::fs::read(out).ok() == Some(image.clone()),
            pulled,
        )
    };
    let forget = || std::fs::remove_dir_all(&cache).unwrap();
    // the registry itself has nothing
    let (code, is_same, output) = pull();
    assert!(code == Some(0) && is_same, "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let without = try_run(["ls", "--cache", "none", &url]);
    assert_eq!(without.status.code(), Some(5), "{without:?}");
    // a push goes to the registry, and then other bytes at the mirror do no harm
    let push = ["push", "--hosts", hosts, file.to_str().unwrap(), &url];
    run(push);
    shell(
        &there,
        "f=$(find registry -name data -size +9M)
         printf X | dd of=$f bs=1 seek=4999999 conv=notrunc 2>/dev/null",
    );
    forget();
    let (code, is_same, output) = pull();
    assert!(code == Some(0) && is_same, "{output:?}");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("a mirror sent wrong bytes"), "{words}");
    // nor are they left in the cache
    let (code, is_same, output) = pull();
    assert!(
        code == Some(0) && is_same && output.stderr.is_empty(),
        "{output:?}"
    );
    // nor where the whole is compared with a root digest
    forget();
    let root = String::from_utf8(run(["digest", file.to_str().unwrap()]).stdout).unwrap();
    let _ = std::fs::remove_file(out);
    let pull_by_root = ["pull", "--hosts", hosts, &url, "--digest", root.trim()];
    let output = try_run([&pull_by_root[..], &flags[..]].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(std::fs::read(out).unwrap() == image);
    // one that has lost the blob, one that has lost all, one that is down
    let lose = ["-name data -size +9M", "-name link", "-type f"];
    for what in lose {
        shell(&there, &format!("find registry {what} -delete"));
        forget();
        let (code, is_same, output) = pull();
        assert!(code == Some(0) && is_same, "{what}: {output:?}");
        assert!(output.stderr.is_empty(), "{what}: {output:?}");
    }
    drop(mirror);
    forget();
    let (code, is_same, output) = pull();
    assert!(code == Some(0) && is_same, "{output:?}");
    // what is not known is refused, with the name of the file
    write_hosts(dir.path(), &name, &format!("{line}skip_verify = true\n"));
    let (code, _, output) = pull();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(code, Some(4), "{words}");
    assert!(
        words.contains("hosts.toml") && words.contains("skip_verify"),
        "{words}"
    );
}

#[test]
fn a_registry_with_an_authority_of_its_own() {
    let dir = scratch();
    shell(
        dir.path(),
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca 2>log
         openssl req -newkey rsa:2048 -nodes -keyout key -out csr -subj /CN=localhost 2>>log
         printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\\n' > ext
         openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile ext \\
           -out pem 2>>log",
    );
    let tls = format!(
        ", tls: {{certificate: {dir}/pem, key: {dir}/key}}",
        dir = dir.path().display()
    );
    let Some(registry) = registry_by(dir.path(), &tls, "") else {
        return;
    };
    let tree = tree(dir.path());
    let file = dir.path().join("image");
    let image = build("dwarfs", &tree, &file, &[]);
    let server = format!("server = \"https://localhost:{}\"\n", registry.port);
    let hosts = dir.path().join("hosts");
    let (hosts, file) = (hosts.to_str().unwrap(), file.to_str().unwrap());
    let url = "oci://registry.example/team/x:1";
    let own = "registry.example";
    write_hosts(dir.path(), own, &format!("{server}ca = \"../../ca.pem\"\n"));
    run(["push", "--hosts", hosts, file, url]);
    let listed = run(["ls", "-R", "--cache", "none", "--hosts", hosts, url]);
    assert_eq!(listed.stdout, run(["ls", "-R", file]).stdout);
    let out = dir.path().join("out");
    let out = out.to_str().unwrap();
    run(["pull", "--cache", "none", "--hosts", hosts, url, "-o", out]);
    assert!(std::fs::read(out).unwrap() == image);
    // into the cache, from which it is listed without the registry
    let cache = dir.path().join("cache");
    let cache = ["--cache", cache.to_str().unwrap()];
    let warm = try_run([&["cache", "warm", url], &cache[..]].concat());
    assert!(!warm.status.success(), "{warm:?}");
    run([&["cache", "warm", "--hosts", hosts, url], &cache[..]].concat());
    let offline = ["ls", "-R", "--offline", "--hosts", hosts, url];
    let listed = run([&offline[..], &cache[..]].concat());
    assert_eq!(listed.stdout, run(["ls", "-R", file]).stdout);
    // as a mirror, which is asked by TLS with its own authority
    let mirror = format!(
        "[host.\"https://127.0.0.1:{}/v2\"]\nca = [\"{}/ca.pem\"]\n",
        registry.port,
        dir.path().display()
    );
    write_hosts(dir.path(), "_default", &mirror);
    let other = "oci://127.0.0.1:1/team/x:1";
    let listed = run(["ls", "-R", "--cache", "none", "--hosts", hosts, other]);
    assert_eq!(listed.stdout, run(["ls", "-R", file]).stdout);
    // nobody else trusts it
    write_hosts(dir.path(), own, &server);
    let refused = try_run(["ls", "--cache", "none", "--hosts", hosts, url]);
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(7), "{words}");
    assert!(words.contains("the connection is not trusted"), "{words}");
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
        // helpers get the server by a pipe, and who closes that pipe unread may fail the writer
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

#[test]
fn signatures_are_attached_to_images_and_compared() {
    let dir = scratch();
    let Some(registry) = registry(dir.path(), "") else {
        return;
    };
    let tree = tree(dir.path());
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for name in ["ours", "theirs", "nobody"] {
        run(["keygen", "--no-password", &at(name)]);
    }
    let (ours, theirs, nobody) = (at("ours.pub"), at("theirs.pub"), at("nobody.pub"));
    let out = at("out");
    let none = ["--cache", "none"];
    // digests in the image, and digests of the whole file
    for (format, flags) in [("dwarfs", &["--with-digest"][..]), ("squashfs", &[])] {
        let file = at(&format!("image.{format}"));
        let image = build(format, &tree, Path::new(&file), flags);
        let name = format!("127.0.0.1:{}/{format}:1", registry.port);
        let url = format!("oci://{name}");
        let signed =
            |key: &str, args: &[&str]| try_run([args, &none[..], &["--signed-by", key]].concat());
        let listed = |key: &str| signed(key, &["ls", "-R", &url]);
        let pushed = run(["push", &file, &url]);
        assert_eq!(listed(&ours).status.code(), Some(5), "{:?}", listed(&ours));
        let again = run(["push", &file, &url, "--sign", &at("ours.key")]);
        assert_eq!(again.stdout, pushed.stdout);
        let plain = run(["ls", "-R", &file]).stdout;
        let found = listed(&ours);
        assert!(found.status.success() && found.stdout == plain, "{found:?}");
        let refused = listed(&theirs);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        // a second one, made by another program of the same kind, stands beside the first
        let made = at("made.minisig");
        run([
            "sign",
            &file,
            "--force",
            "--key",
            &at("theirs.key"),
            "-o",
            &made,
        ]);
        for _ in 0..2 {
            run(["push", &file, &url, "--signature", &made]);
        }
        for key in [&ours, &theirs] {
            assert!(listed(key).status.success(), "{:?}", listed(key));
        }
        assert_eq!(listed(&nobody).status.code(), Some(3));
        // what another client sees: the tag of the digest lists both
        let digest = String::from_utf8(pushed.stdout).unwrap();
        let tag = digest.trim().split_once('@').unwrap().1.replace(':', "-");
        let list = format!("docker://127.0.0.1:{}/{format}:{tag}", registry.port);
        let mut skopeo = Command::new("skopeo");
        let raw = skopeo.args(["inspect", "--raw", "--tls-verify=false", &list]);
        let raw = raw.output().unwrap();
        let list: serde_json::Value = serde_json::from_slice(&raw.stdout).unwrap();
        let entries = list["manifests"].as_array().unwrap();
        assert_eq!(entries.len(), 2, "{list}");
        for entry in entries {
            assert_eq!(
                entry["artifactType"],
                "application/vnd.sinterfs.signature.v1"
            );
        }
        let by_digest = digest.trim();
        let found = signed(&ours, &["check", "--deep", by_digest]);
        assert!(found.status.success(), "{found:?}");
        let pull = |key: &str| signed(key, &["pull", "--force", by_digest, "-o", &out]);
        let pulled = pull(&theirs);
        assert!(pulled.status.success(), "{pulled:?}");
        assert!(std::fs::read(&out).unwrap() == image);
        std::fs::remove_file(&out).unwrap();
        assert_eq!(pull(&nobody).status.code(), Some(3));
        assert!(!Path::new(&out).exists());
        // a signature of another image is none of this one
        std::fs::write(tree.join("small"), format!("other {format}\n")).unwrap();
        build(format, &tree, Path::new(&at("other")), flags);
        let refused = try_run(["push", &at("other"), &url]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        run(["push", "--force", &at("other"), &url]);
        assert_eq!(listed(&ours).status.code(), Some(5));
        run(["push", &at("other"), &url, "--signature", &made]);
        assert_eq!(listed(&theirs).status.code(), Some(3));
        std::fs::write(tree.join("small"), "small\n").unwrap();
        // other bytes of the signed image are an error when they are read
        shell(
            dir.path(),
            &format!(
                "h=$(sha256sum < image.{format} | cut -c1-64)
                 f=$(echo registry/docker/registry/v2/blobs/sha256/*/$h/data)
                 printf X | dd of=$f bs=1 seek=4999999 conv=notrunc 2>/dev/null"
            ),
        );
        assert!(signed(&ours, &["ls", "-R", by_digest]).status.success());
        let words = signed(&ours, &["cat", by_digest, "sub/large"]);
        assert_eq!(words.status.code(), Some(3), "{:?}", words.stderr);
        assert_eq!(pull(&ours).status.code(), Some(3));
    }
    let refused = try_run([
        "push",
        &at("other"),
        "oci://127.0.0.1:1/x:1",
        "--signature",
        &ours,
    ]);
    assert_eq!(refused.status.code(), Some(3), "{refused:?}");
}
