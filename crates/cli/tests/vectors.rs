//! Every image that the formats' own tools made for the shared vectors, through the program:
//! `ls --json`, `extract` and `mount` must show what the manifest of its source says.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sinterfs_testkit::http_server::HttpServer;
use support::vectors::{all_vectors, vectors_of};
use support::{Mounted, compare, is_root, run, scratch, try_run, vectors};

#[test]
fn listings_equal_the_manifests() {
    let Some(shared) = vectors() else { return };
    let work = scratch();
    for vector in all_vectors(&shared, work.path()) {
        let listing = run(vector.args(["ls", "-R", "--json"]));
        let file = work.path().join("listing.jsonl");
        std::fs::write(&file, listing.stdout).expect("the listing is written");
        let mut options = vector.options();
        options.extend(["--no-hash", "--no-xattrs", "--drop", "ino,allocated"]);
        compare(&shared, &options, &vector.manifest, &file);
    }
}

/// The same archive, contents and all, of the image behind a URL.
#[test]
fn vectors_are_the_same_by_url() {
    let Some(shared) = vectors() else { return };
    let work = scratch();
    let server = HttpServer::start();
    server.delay(Duration::ZERO);
    for vector in all_vectors(&shared, work.path()) {
        let content = std::fs::read(&vector.image).expect("the image");
        server.put("/image", content, "\"1\"");
        let url = server.url("/image");
        let local = try_run(vector.args(["extract", "--tar", "-q"]));
        let command = ["extract", "--tar", "-q", "--cache", "none", &url];
        let there = try_run(command.into_iter().chain(vector.more()));
        for output in [&local, &there] {
            // only sockets are left out
            let messages = String::from_utf8_lossy(&output.stderr);
            assert!(
                messages.lines().all(|line| line.contains("sockets")),
                "{messages}"
            );
            assert_eq!(output.status.code(), Some(i32::from(!messages.is_empty())));
        }
        assert!(local.stdout == there.stdout, "{}", vector.image.display());
    }
}

#[test]
fn extracted_trees_equal_the_manifests() {
    let Some(shared) = vectors() else { return };
    if !is_root() {
        return;
    }
    let work = scratch();
    for vector in all_vectors(&shared, work.path()) {
        let to = work.path().join("extracted");
        run(vector.args(["extract", "-o", to.to_str().expect("UTF-8")]));
        compare(&shared, &vector.options(), &vector.manifest, &to);
        std::fs::remove_dir_all(&to).expect("the tree is removed");
    }
}

#[test]
fn mounted_trees_equal_the_manifests() {
    let Some(shared) = vectors() else { return };
    if !is_root() {
        return;
    }
    let work = scratch();
    for vector in all_vectors(&shared, work.path()) {
        let more = [vec!["--fuse"], vector.more()].concat();
        let mounted = Mounted::new(&vector.image, &work.path().join("mnt"), &more);
        compare(&shared, &vector.options(), &vector.manifest, &mounted.0);
    }
}

#[test]
fn trees_mounted_through_the_kernel_equal_the_manifests() {
    let Some(shared) = vectors() else { return };
    if !is_root() || !support::kernel_serves() {
        return;
    }
    let work = scratch();
    for vector in all_vectors(&shared, work.path()) {
        let more = [vec!["--kernel"], vector.more()].concat();
        let mounted = Mounted::new(&vector.image, &work.path().join("mnt"), &more);
        compare(&shared, &vector.options(), &vector.manifest, &mounted.0);
    }
}

/// A loop mount by the kernel that ends when dropped.
struct KernelMount(PathBuf);

impl KernelMount {
    /// Mounts an image on a directory; `None` if the kernel does not.
    fn new(format: &str, image: &Path, dir: &Path, offset: u64) -> Option<Self> {
        std::fs::create_dir_all(dir).expect("a mount point");
        let options = format!("loop,ro,offset={offset}");
        let output = Command::new("mount")
            .args(["-t", format, "-o", &options])
            .args([image, dir])
            .output()
            .expect("mount");
        output.status.success().then(|| Self(dir.to_owned()))
    }
}

impl Drop for KernelMount {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()), "umount");
    }
}

#[test]
fn the_kernel_shows_the_same() {
    let Some(shared) = vectors() else { return };
    if !is_root() {
        return;
    }
    // LZMA of SquashFS, and an image without padding, are no images to the kernel; further devices
    // of EROFS would have to be block devices
    for (format, least) in [("squashfs", 26), ("erofs", 45)] {
        let (work, mut seen) = (scratch(), 0);
        let mut vectors = vectors_of(format, &shared, work.path());
        vectors.retain(|vector| vector.devices.is_empty());
        for vector in vectors {
            let offset = if vector.image.ends_with("offset.img") {
                4096
            } else {
                0
            };
            let dir = work.path().join("kernel");
            let kernel = KernelMount::new(format, &vector.image, &dir, offset);
            let Some(kernel) = kernel else {
                continue;
            };
            let mnt = work.path().join("mnt");
            let more = [vec!["--fuse"], vector.more()].concat();
            let ours = Mounted::new(&vector.image, &mnt, &more);
            compare(&shared, &[], &kernel.0, &ours.0);
            seen += 1;
        }
        match seen {
            0 => support::skip(&format!("the kernel mounts no {format} image here")),
            _ => assert!(seen >= least, "the kernel mounted only {seen} of {format}"),
        }
    }
}

#[test]
fn an_image_that_leads_out_is_refused() {
    let Some(shared) = vectors() else { return };
    let image = shared.join("upstream/squashfs-tools-ng/pathtraversal.sqfs");
    let work = scratch();
    let to = work.path().join("deep/inside");
    let output = try_run([Path::new("extract"), &image, Path::new("-o"), &to]);
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("directory table at 0x"), "{told}");
    let made: Vec<_> = std::fs::read_dir(work.path()).expect("a list").collect();
    assert!(made.len() <= 1, "something was made outside of the target");
}
