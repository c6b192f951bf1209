//! Images from servers that we did not write: nginx, plain and with TLS by an authority of its own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sinterfs_testkit::noise;
use support::{build, run, scratch, shell, sinter, skip};

/// A server that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // the test may have ended it
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn wait_for(port: u16) {
    for _ in 0..200 {
        if TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("no server on port {port}");
}

fn nginx(dir: &Path, server: &str) -> Option<Server> {
    let program = ["/usr/sbin/nginx", "/usr/bin/nginx"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let Some(program) = program else {
        skip("no nginx");
        return None;
    };
    let conf = format!(
        "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error.log;
         events {{}}
         http {{
           access_log off;
           client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2; fastcgi_temp_path {dir}/t3;
           uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
           server {{ root {dir}/www; {server} }}
         }}",
        dir = dir.display()
    );
    std::fs::write(dir.join("nginx.conf"), conf).unwrap();
    let mut command = Command::new(program);
    command
        .arg("-c")
        .arg(dir.join("nginx.conf"))
        .arg("-p")
        .arg(dir);
    let child = command.stderr(Stdio::null()).spawn().unwrap();
    Some(Server(child))
}

/// Makes a tree and its images below `www`.
fn site(dir: &Path) {
    std::fs::create_dir_all(dir.join("www")).unwrap();
    let tree = dir.join("tree");
    std::fs::create_dir_all(tree.join("sub")).unwrap();
    std::fs::write(tree.join("sub/large"), noise(1, 9 << 20)).unwrap();
    for number in 0..100 {
        std::fs::write(tree.join(format!("f{number}")), noise(number, 999)).unwrap();
    }
    for format in ["dwarfs", "squashfs", "erofs"] {
        build(format, &tree, &dir.join(format!("www/x.{format}")), &[]);
    }
}

#[test]
fn nginx_serves_images() {
    let dir = scratch();
    site(dir.path());
    let port = free_port();
    let Some(_server) = nginx(dir.path(), &format!("listen 127.0.0.1:{port};")) else {
        return;
    };
    wait_for(port);
    for format in ["dwarfs", "squashfs", "erofs"] {
        let url = format!("http://127.0.0.1:{port}/x.{format}");
        let file = dir.path().join(format!("www/x.{format}"));
        let local = run([Path::new("ls"), Path::new("-lR"), &file]);
        let there = run(["ls", "-lR", "--cache", "none", &url]);
        assert_eq!(local.stdout, there.stdout);
        let out = dir.path().join("out");
        run([
            "extract",
            "--cache",
            "none",
            &url,
            "-o",
            out.to_str().unwrap(),
        ]);
        shell(dir.path(), "diff -r tree out; rm -r out");
        run(["check", "--deep", "--cache", "none", &url]);
    }
    let missing = support::try_run([
        "ls",
        "--cache",
        "none",
        &format!("http://127.0.0.1:{port}/no"),
    ]);
    assert_eq!(missing.status.code(), Some(5), "{missing:?}");
}

/// Starts a proxy that connects everything to a port of this machine; returns its own port, and
/// what it was asked.
fn proxy(to: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&asked);
    let serve = move || {
        for client in listener.incoming() {
            let (mut client, mut head) = (client.unwrap(), Vec::new());
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                client.read_exact(&mut byte).unwrap();
                head.push(byte[0]);
            }
            heard.lock().unwrap().push(String::from_utf8(head).unwrap());
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server, client),
            ] {
                // ends with the connection
                let copy = move || std::io::copy(&mut from, &mut to);
                std::thread::Builder::new().spawn(copy).unwrap();
            }
        }
    };
    std::thread::Builder::new().spawn(serve).unwrap();
    (port, asked)
}

#[test]
fn tls_with_an_authority_of_its_own() {
    let dir = scratch();
    site(dir.path());
    shell(
        dir.path(),
        "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca 2>log
         openssl req -newkey rsa:2048 -nodes -keyout key -out csr -subj /CN=localhost 2>>log
         printf 'subjectAltName=DNS:localhost,DNS:host.example,IP:127.0.0.1\\n' > ext
         openssl x509 -req -in csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile ext \\
           -out pem 2>>log",
    );
    let port = free_port();
    let server = format!(
        "listen 127.0.0.1:{port} ssl; ssl_certificate {dir}/pem; ssl_certificate_key {dir}/key;
         location /down {{ return 302 http://127.0.0.1:{port}/x.dwarfs; }}",
        dir = dir.path().display()
    );
    let Some(_server) = nginx(dir.path(), &server) else {
        return;
    };
    wait_for(port);
    let ls = |path: &str, authority: &str| {
        let mut command = sinter();
        command.args(["ls", "-R", "--cache", "none"]);
        command.arg(format!("https://localhost:{port}/{path}"));
        command
            .env("SSL_CERT_FILE", dir.path().join(authority))
            .output()
            .unwrap()
    };
    let there = ls("x.dwarfs", "ca.pem");
    assert!(there.status.success(), "{there:?}");
    let file = dir.path().join("www/x.dwarfs");
    assert_eq!(
        there.stdout,
        run([Path::new("ls"), Path::new("-R"), &file]).stdout
    );
    // a proxy that is named is the only way to a host that no other way leads to
    let (proxy, asked) = proxy(port);
    let mut through = sinter();
    through.args(["ls", "-R", "--cache", "none"]);
    through.arg("https://host.example/x.dwarfs?secret=HIDDEN");
    through.env("SSL_CERT_FILE", dir.path().join("ca.pem"));
    through.env("HTTPS_PROXY", format!("http://127.0.0.1:{proxy}"));
    let through = through.output().unwrap();
    assert!(through.status.success(), "{through:?}");
    assert_eq!(through.stdout, there.stdout);
    let asked = asked.lock().unwrap().concat();
    assert!(asked.starts_with("CONNECT host.example:443 "), "{asked}");
    assert!(!asked.contains("HIDDEN"), "{asked}");
    // who does not trust the authority is not served, nor is anybody led away from TLS
    for (path, authority) in [("x.dwarfs", "missing.pem"), ("down", "ca.pem")] {
        let mut refused = sinter();
        refused.args(["ls", "--cache", "none"]);
        refused.arg(format!("https://localhost:{port}/{path}"));
        let refused = refused
            .env("SSL_CERT_FILE", dir.path().join(authority))
            .output()
            .unwrap();
        assert_eq!(refused.status.code(), Some(7), "{refused:?}");
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        let why = [
            "the connection is not trusted",
            "redirects from https to http",
        ];
        assert!(why.iter().any(|why| words.contains(why)), "{words}");
    }
}
