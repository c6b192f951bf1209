//! The cache of remote images: each leaf is fetched once, and whatever happens to the cache or to
//! those who write it, bytes are right.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use sinterfs_testkit::http_server::{Fault, HttpRequest, HttpServer, bytes};
use sinterfs_testkit::noise;
use support::{build, scratch, sinter};

const LEN: usize = 24 << 20;

struct Scene {
    dir: tempfile::TempDir,
    server: HttpServer,
    content: Vec<u8>,
    stored: u64,
}

impl Scene {
    /// Serves an image with one file of random bytes.
    fn new() -> Self {
        let dir = scratch();
        let tree = dir.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        let content = noise(3, LEN);
        std::fs::write(tree.join("file"), &content).unwrap();
        let image = build("squashfs", &tree, &dir.path().join("image"), &[]);
        let stored = image.len() as u64;
        let server = HttpServer::start();
        server.delay(Duration::from_millis(5));
        server.put("/image", image, "\"x\"");
        Self {
            dir,
            server,
            content,
            stored,
        }
    }

    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    fn start(&self, more: &[&str]) -> Child {
        let mut command = sinter();
        command.args(["cat", &self.server.url("/image"), "file", "--cache"]);
        command.arg(self.cache()).args(more);
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Reads the file; its content must be right.
    fn read(&self, more: &[&str]) -> Output {
        let output = self.start(more).wait_with_output().unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{more:?}: {words}");
        assert!(output.stdout == self.content, "{more:?}: wrong bytes");
        output
    }

    fn sent(&self) -> (usize, u64) {
        let requests: Vec<HttpRequest> = self.server.take();
        (requests.len(), bytes(&requests))
    }

    fn cache_verb(&self, args: &[&str]) -> Output {
        let mut command = sinter();
        command
            .arg("cache")
            .args(args)
            .arg("--cache")
            .arg(self.cache());
        command.output().unwrap()
    }

    /// Returns the file of that name of the one object in the cache.
    fn file(&self, name: &str) -> PathBuf {
        let objects = std::fs::read_dir(self.cache().join("v1")).unwrap();
        let mut paths = objects.map(|entry| entry.unwrap().path());
        paths
            .find(|path| path.join("data").exists())
            .unwrap()
            .join(name)
    }
}

#[test]
fn cached_bytes_are_not_fetched_again() {
    let scene = Scene::new();
    scene.read(&[]);
    let (_, first) = scene.sent();
    assert!(
        first <= scene.stored * 105 / 100,
        "{first} of {}",
        scene.stored
    );
    scene.read(&[]);
    // one question: has it changed?
    assert_eq!(scene.sent().0, 1);
    scene.server.plan(|_| Fault::Close);
    scene.read(&["--offline"]);
    assert_eq!(scene.sent().0, 0);
    // a new version is another object
    scene.server.plan(|_| Fault::None);
    let tree = scene.dir.path().join("tree");
    std::fs::write(tree.join("file"), b"new").unwrap();
    let image = build("squashfs", &tree, &scene.dir.path().join("image"), &[]);
    scene.server.put("/image", image, "\"y\"");
    let output = scene.start(&[]).wait_with_output().unwrap();
    assert_eq!(output.stdout, b"new");
}

#[test]
fn eight_processes_at_once_fetch_each_leaf_once() {
    let scene = Scene::new();
    let children: Vec<Child> = (0..8).map(|_| scene.start(&[])).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(
            output.stdout == scene.content,
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // the questions of the seven others have ranges, too, but answers without bodies
    let requests = scene.server.take();
    let fetched = requests.iter().filter(|request| {
        !request
            .headers
            .iter()
            .any(|(name, _)| name == "if-none-match")
    });
    let fetched: Vec<HttpRequest> = fetched.cloned().collect();
    let sent = bytes(&fetched);
    assert!(
        sent <= scene.stored * 105 / 100,
        "{sent} of {}: {fetched:#?}",
        scene.stored
    );
}

#[test]
fn a_killed_reader_leaves_nothing_wrong() {
    let scene = Scene::new();
    for wait in [5, 15, 30, 45, 60, 80, 100, 130] {
        let mut child = scene.start(&[]);
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        let verified = scene.cache_verb(&["verify"]);
        assert!(verified.status.success(), "{verified:?}");
    }
    // another one fetches while one is killed
    let mut killed = scene.start(&[]);
    let other = scene.start(&[]);
    std::thread::sleep(Duration::from_millis(40));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let output = other.wait_with_output().unwrap();
    assert!(output.stdout == scene.content);
    scene.read(&[]);
}

#[test]
fn a_damaged_cache_is_fetched_again() {
    let scene = Scene::new();
    scene.read(&[]);
    type Damage = fn(&Path);
    let damage: [(&str, Damage); 6] = [
        ("data", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            for at in (0..bytes.len()).step_by(1 << 20) {
                bytes[at] ^= 1;
            }
            std::fs::write(path, bytes).unwrap();
        }),
        ("data", |path| std::fs::write(path, b"short").unwrap()),
        ("leaves", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            bytes.rotate_left(8);
            std::fs::write(path, bytes).unwrap();
        }),
        ("leaves", |path| std::fs::write(path, [7; 13]).unwrap()),
        ("about", |path| std::fs::write(path, b"{}").unwrap()),
        ("leaves", |path| std::fs::remove_file(path).unwrap()),
    ];
    for (name, damage) in damage {
        damage(&scene.file(name));
        scene.read(&[]);
        scene.read(&["--offline"]);
    }
    // and `verify` finds it
    let mut bytes = std::fs::read(scene.file("data")).unwrap();
    bytes[5 << 20] ^= 1;
    std::fs::write(scene.file("data"), bytes).unwrap();
    let found = scene.cache_verb(&["verify"]);
    assert_eq!(found.status.code(), Some(1), "{found:?}");
    assert!(String::from_utf8_lossy(&found.stdout).contains(", 1 damaged"));
    let again = scene.cache_verb(&["verify"]);
    assert!(again.status.success(), "{again:?}");
    scene.read(&[]);
}

#[test]
fn a_cache_that_cannot_be_used_is_not_used() {
    let scene = Scene::new();
    // a file where the directory should be
    std::fs::write(scene.cache(), b"").unwrap();
    let output = scene.read(&[]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("not cached"), "{words}");
    std::fs::remove_file(scene.cache()).unwrap();
    // one that other users may write to
    std::fs::create_dir(scene.cache()).unwrap();
    std::fs::set_permissions(scene.cache(), PermissionsExt::from_mode(0o777)).unwrap();
    let output = scene.read(&[]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("other users may write"), "{words}");
}

#[test]
fn nothing_outside_of_the_cache_is_touched() {
    let scene = Scene::new();
    let precious = scene.dir.path().join("precious");
    let kept = scene.dir.path().join("kept");
    std::fs::create_dir(&kept).unwrap();
    let by_url = scene.cache().join("v1/by-url");
    let replace = |path: &Path, make: &dyn Fn(&Path)| {
        let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
        make(path);
    };
    let symlink = |to: &Path, at: &Path| std::os::unix::fs::symlink(to, at).unwrap();
    for name in [
        "data",
        "leaves",
        "about",
        "lock",
        "",
        "by-url",
        "note",
        "hard link",
    ] {
        std::fs::write(&precious, b"precious").unwrap();
        std::fs::write(kept.join("leaves"), b"kept").unwrap();
        let _ = std::fs::remove_dir_all(scene.cache());
        scene.read(&[]);
        match name {
            "" => replace(scene.file("").as_path(), &|path| {
                let path = path.to_str().unwrap().trim_end_matches('/');
                symlink(&kept, Path::new(path));
            }),
            "by-url" => replace(&by_url, &|path| symlink(&kept, path)),
            "note" => {
                for note in std::fs::read_dir(&by_url).unwrap() {
                    replace(&note.unwrap().path(), &|path| symlink(&precious, path));
                }
            }
            "hard link" => replace(&scene.file("data"), &|path| {
                std::fs::hard_link(&precious, path).unwrap();
            }),
            name => replace(&scene.file(name), &|path| symlink(&precious, path)),
        }
        scene.read(&[]);
        for verb in [
            &["ls"][..],
            &["verify"],
            &["gc", "--limit", "1"],
            &["clear"],
        ] {
            // refused or done
            let _ = scene.cache_verb(verb);
        }
        assert_eq!(std::fs::read(&precious).unwrap(), b"precious", "{name}");
        assert_eq!(
            std::fs::read(kept.join("leaves")).unwrap(),
            b"kept",
            "{name}"
        );
        assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn a_full_or_read_only_cache_is_read_past() {
    if !support::is_root() {
        return;
    }
    let scene = Scene::new();
    std::fs::create_dir(scene.cache()).unwrap();
    let mount = |options: &str| {
        let script = format!("mount -t tmpfs -o {options} none cache");
        support::shell(scene.dir.path(), &script);
    };
    let umount = || support::shell(scene.dir.path(), "umount cache");
    mount("size=4m,mode=700");
    let full = scene.read(&[]);
    let again = scene.read(&[]);
    support::shell(scene.dir.path(), "mount -o remount,ro cache");
    let read_only = scene.read(&[]);
    umount();
    drop((full, again, read_only));
}

#[test]
fn the_cache_is_bounded() {
    let scene = Scene::new();
    for number in 0..3 {
        let image = noise(number, 8 << 20);
        scene.server.put(&format!("/{number}"), image, "\"x\"");
        let url = scene.server.url(&format!("/{number}"));
        let warmed = scene.cache_verb(&["warm", &url, "--cache-limit", "20M"]);
        assert!(warmed.status.success(), "{warmed:?}");
    }
    let listed = scene.cache_verb(&["ls", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let listed = listed.as_array().unwrap();
    let stored: u64 = listed
        .iter()
        .map(|row| row["stored"].as_u64().unwrap())
        .sum();
    assert!(stored <= 20 << 20, "{listed:#?}");
    // the last one is there, and whole
    assert_eq!(listed[0]["url"], scene.server.url("/2"));
    assert!(
        listed[0]["stored"].as_u64().unwrap() >= 8 << 20,
        "{listed:#?}"
    );
    let cleared = scene.cache_verb(&["clear"]);
    assert!(cleared.status.success(), "{cleared:?}");
    assert_eq!(scene.cache_verb(&["ls"]).stdout, b"");
}

#[test]
fn a_query_that_decides_is_part_of_the_name() {
    let scene = Scene::new();
    let mut images = Vec::new();
    for number in ["1", "2"] {
        let tree = scene.dir.path().join(number);
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join(number), number).unwrap();
        let image = build("squashfs", &tree, &scene.dir.path().join("some"), &[]);
        let path = format!("/get?id={number}");
        scene.server.put(&path, image, "\"x\"");
        images.push(scene.server.url(&path));
    }
    for more in [&[][..], &["--offline"]] {
        for (url, name) in images.iter().zip(["1\n", "2\n"]) {
            let mut command = sinter();
            command.args(["ls", url, "--cache"]).arg(scene.cache());
            let output = command.args(more).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), name, "{output:?}");
        }
    }
    let listed = String::from_utf8(scene.cache_verb(&["ls"]).stdout).unwrap();
    assert!(!listed.contains("id="), "{listed}");
}

#[test]
fn archives_and_comparisons_use_the_cache() {
    let scene = Scene::new();
    let tar = scene.dir.path().join("t.tar");
    support::shell(scene.dir.path(), "tar cf t.tar tree");
    scene
        .server
        .put("/t.tar", std::fs::read(&tar).unwrap(), "\"t\"");
    let (tar, image) = (scene.server.url("/t.tar"), scene.server.url("/image"));
    let run = |words: &[&str]| {
        let mut command = sinter();
        command.args(words).arg("--cache").arg(scene.cache());
        command.current_dir(scene.dir.path()).output().unwrap()
    };
    for url in [&tar, &image] {
        assert!(scene.cache_verb(&["warm", url]).status.success());
    }
    scene.server.take();
    let both: [&[&str]; 4] = [
        &["convert", "--offline", &tar, "-o", "a.squashfs"],
        &["build", "--offline", &tar, "-o", "b.squashfs"],
        &[
            "merge",
            "--offline",
            "--overlay",
            &tar,
            &image,
            "-o",
            "c.squashfs",
        ],
        &["diff", "--offline", &image, "tree"],
    ];
    for words in both {
        let output = run(words);
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
    assert_eq!(scene.server.take().len(), 0);
}

#[test]
fn a_process_that_is_stopped_holds_nobody_up() {
    let scene = Scene::new();
    scene.read(&[]);
    let by_url = scene.cache().join("v1/by-url");
    let note = std::fs::read_dir(&by_url).unwrap().find_map(|entry| {
        let path = entry.unwrap().path();
        path.extension().is_none().then_some(path)
    });
    let note = note.unwrap();
    std::fs::remove_file(&note).unwrap();
    let lock = std::fs::File::options();
    let lock = lock
        .clone()
        .append(true)
        .open(note.with_extension("lock"))
        .unwrap();
    lock.lock().unwrap();
    // a read that waited for the lock for ever would never end
    scene.read(&[]);
    drop(lock);
}
