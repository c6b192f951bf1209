//! composefs images that we build: the bytes of mkcomposefs' images of the same trees, stores that
//! hold what they name, and what the kernel's overlayfs makes of both.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use sinterfs::verify::verity::{hex, verity};
use support::{
    Mounted, compare, is_root, kernel_mounts, make_tree, run, scratch, skip, try_run, vectors,
};

/// Images of the vectors: the tree, the options of `make-tree.py` for it, and our options.
const IMAGES: [(&str, &str, &[&str], &[&str]); 6] = [
    ("v1", "small", &["--size", "small"], &["--min-version", "1"]),
    ("v0", "small", &["--size", "small"], &["--max-version", "0"]),
    (
        "user-xattrs",
        "small",
        &["--size", "small"],
        &["--user-xattrs"],
    ),
    (
        "skip-devices",
        "small",
        &["--size", "small"],
        &["--skip-devices", "--skip-xattrs", "--use-epoch"],
    ),
    ("pre1970", "pre", &["--size", "small", "--pre1970"], &[]),
    ("sparse", "huge", &["--size", "small", "--huge"], &[]),
];

fn unpacked(file: &Path) -> Vec<u8> {
    let output = Command::new("gzip").arg("-dc").arg(file).output().unwrap();
    assert!(output.status.success());
    output.stdout
}

fn build(words: &[&str], source: &Path, image: &Path) {
    let fixed = ["build", "-q", "-f", "composefs", "--force"];
    let paths = [Path::new("-o"), image, source];
    let words = fixed.iter().chain(words).map(Path::new);
    run(words.chain(paths));
}

/// Lists the objects of a store, with what shows whether one was touched.
fn objects(store: &Path) -> BTreeMap<String, (u64, u64, i64)> {
    let mut found = BTreeMap::new();
    for dir in fs::read_dir(store).unwrap() {
        let dir = dir.unwrap();
        assert!(dir.file_type().unwrap().is_dir(), "{:?}", dir.path());
        for object in fs::read_dir(dir.path()).unwrap() {
            let path = object.unwrap().path();
            let name = path.strip_prefix(store).unwrap();
            let stat = fs::metadata(&path).unwrap();
            let touched = (stat.ino(), stat.len(), stat.mtime_nsec());
            found.insert(name.to_str().unwrap().to_owned(), touched);
        }
    }
    found
}

#[test]
fn trees_give_the_images_of_mkcomposefs_and_their_objects() {
    let Some(shared) = vectors() else { return };
    if !is_root() {
        return;
    }
    let work = scratch();
    let (store, image) = (work.path().join("store"), work.path().join("image"));
    let mut known = BTreeMap::new();
    for (name, tree, options, words) in IMAGES {
        let source = work.path().join(tree);
        if !source.exists() {
            make_tree(&shared, &source, options);
        }
        let vector = shared.join("images/composefs").join(name);
        let theirs = unpacked(&vector.with_extension("img.gz"));
        let with_store = [words, &["-j4", "--digest-store", store.to_str().unwrap()]].concat();
        build(&with_store, &source, &image);
        assert!(fs::read(&image).unwrap() == theirs, "{name}");
        build(&[words, &["-j1"]].concat(), &source, &image);
        assert!(
            fs::read(&image).unwrap() == theirs,
            "{name} without a store"
        );

        let now = objects(&store);
        let named = fs::read_to_string(vector.with_extension("objects")).unwrap();
        for object in named.lines() {
            assert!(now.contains_key(object), "{name}: no object {object}");
        }
        // what an earlier image brought is as it was
        for (object, before) in &known {
            assert_eq!(now.get(object), Some(before), "{object} was touched");
        }
        known = now;
    }
    let sparse = known.values().find(|(_, len, _)| *len == 5 << 30);
    assert!(sparse.is_some());
    for (object, (_, len, _)) in &known {
        let path = store.join(object);
        if *len > 1 << 30 {
            // the hole is one there, too
            assert!(fs::metadata(&path).unwrap().blocks() * 512 < 1 << 24);
            continue;
        }
        let digest = verity(&fs::read(path).unwrap());
        assert_eq!(object.replace('/', ""), hex(&digest));
    }
}

#[test]
fn the_kernel_shows_the_tree() {
    let Some(shared) = vectors() else { return };
    if !kernel_mounts("erofs") || !kernel_mounts("overlay") {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    let store = path("store");
    let store_words = ["--digest-store", store.to_str().unwrap()];
    build(&store_words, &path("tree"), &path("image"));
    for dir in ["metadata", "merged"] {
        fs::create_dir(path(dir)).unwrap();
    }
    let metadata = Mount::new(
        &["-t", "erofs", "-o", "loop,ro"],
        &path("image"),
        path("metadata"),
    );
    let lower = format!(
        "ro,metacopy=on,redirect_dir=follow,lowerdir={}::{}",
        path("metadata").display(),
        store.display()
    );
    let merged = Mount::new(
        &["-t", "overlay", "-o", &lower],
        Path::new("overlay"),
        path("merged"),
    );
    let options = [
        "--no-links",
        "--skip",
        "special/whiteout",
        "--skip-xattr",
        "trusted.overlay.opaque",
        "--skip-xattr",
        "trusted.overlay.whiteouts",
        "--skip-xattr",
        "user.overlay",
    ];
    let manifest = shared.join("manifests/small.jsonl.gz");
    compare(&shared, &options, &manifest, &path("merged"));
    drop(merged);
    drop(metadata);
}

#[test]
fn refuses_objects_with_other_content() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    for (name, byte) in [("good", b'g'), ("bad", b'b')] {
        fs::write(path("tree").join(name), vec![byte; 300_000]).unwrap();
    }
    let store = path("store");
    let objects = ["--objects", store.to_str().unwrap()];
    build(
        &["--digest-store", objects[1]],
        &path("tree"),
        &path("image"),
    );
    let words = |verb: &'static str| {
        let words = [verb, objects[0], objects[1]].map(PathBuf::from);
        words.into_iter().chain([path("image")])
    };
    let deep = || words("check").chain([PathBuf::from("--deep")]);
    run(deep());

    let bad = vec![b'b'; 300_000];
    let object = hex(&verity(&bad));
    let object = store.join(&object[..2]).join(&object[2..]);
    let mut other = bad.clone();
    other[299_999] = b'B';
    fs::write(&object, &other).unwrap();
    let told = |output: std::process::Output| {
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let name = &hex(&verity(&bad));
    let output = told(try_run(deep()));
    assert!(
        output.contains(name) && output.contains("bad: "),
        "{output}"
    );
    assert!(!output.contains("good"), "{output}");
    let to = path("extracted");
    let output = told(try_run(
        words("extract").chain([PathBuf::from("-o"), to.clone()]),
    ));
    assert!(output.contains(name), "{output}");
    assert!(fs::read(to.join("good")).unwrap() == vec![b'g'; 300_000]);
    assert!(!to.join("bad").exists());
    let output = told(try_run(words("cat").chain([PathBuf::from("bad")])));
    assert!(output.contains(name), "{output}");

    if !is_root() {
        return;
    }
    let mounted = Mounted::new(&path("image"), &path("mnt"), &objects);
    assert!(fs::read(mounted.0.join("bad")).unwrap() == other);
    drop(mounted);
    let verified = [objects[0], objects[1], "--verify"];
    let mounted = Mounted::new(&path("image"), &path("mnt"), &verified);
    assert!(fs::read(mounted.0.join("bad")).is_err());
    assert!(fs::read(mounted.0.join("good")).is_ok());
    drop(mounted);

    if !support::kernel_overlays() {
        return;
    }
    let kernel = [objects[0], objects[1], "--kernel"];
    let mounted = Mounted::new(&path("image"), &path("mnt"), &kernel);
    assert!(fs::read(mounted.0.join("bad")).unwrap() == other);
    drop(mounted);
    let mount = || words("mount").chain(["--kernel", "--verify"].map(PathBuf::from));
    let refused = told(try_run(mount().chain([path("mnt")])));
    assert!(refused.contains(name), "{refused}");
    assert_eq!(fs::read_dir(path("mnt")).unwrap().count(), 0);
    fs::write(&object, &bad).unwrap();
    run(mount().chain([path("mnt")]));
    let again = told(try_run(mount().chain([path("mnt")])));
    assert!(again.contains("already mounted"), "{again}");
    assert!(fs::read(path("mnt/bad")).unwrap() == bad);
    run([PathBuf::from("umount"), path("mnt")]);
    assert_eq!(fs::read_dir(path("mnt")).unwrap().count(), 0);
}

/// A mount of the kernel's.
struct Mount(PathBuf);

impl Mount {
    fn new(words: &[&str], source: &Path, dir: PathBuf) -> Self {
        let mounted = Command::new("mount")
            .args(words)
            .args([source, &dir])
            .status()
            .unwrap();
        assert!(mounted.success());
        Self(dir)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Sets an attribute; returns whether the file system and the user may have it.
fn set_attribute(path: &Path, name: &str, value: &str) -> bool {
    let set = Command::new("setfattr")
        .args(["-n", name, "-v", value])
        .arg(path)
        .status();
    set.is_ok_and(|status| status.success())
}

/// Returns all attributes of overlayfs below a directory, as getfattr prints them.
fn overlay_attributes(root: &Path) -> String {
    let words = ["-R", "-d", "-m", r"^(user|trusted)\.overlay", "."];
    let printed = Command::new("getfattr")
        .args(words)
        .current_dir(root)
        .output();
    let text = String::from_utf8(printed.unwrap().stdout).unwrap();
    let mut files: Vec<_> = text.split("\n\n").map(str::trim).collect();
    files.sort_unstable();
    files.join("\n")
}

#[test]
fn attributes_of_overlayfs_of_users_are_the_files_own() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let (tree, store) = (path("tree"), path("store"));
    fs::create_dir_all(tree.join("d")).unwrap();
    fs::write(tree.join("f"), "x\n").unwrap();
    fs::write(tree.join("e"), "").unwrap();
    fs::write(tree.join("big"), [b'b'; 5000]).unwrap();
    for (file, name, value) in [
        ("d", "user.overlay.opaque", "y"),
        ("d", "user.overlay.whiteouts", "q"),
        ("d", "user.overlay.overlay.opaque", "y"),
        ("d", "trusted.overlay.opaque", "y"),
        ("f", "user.overlay.origin", "z"),
        ("f", "trusted.overlay.overlay.whiteout", "z"),
        ("e", "user.overlay.whiteout", "1"),
        ("big", "user.overlay.metacopy", "1"),
        ("big", "user.overlay.redirect", "/ab/cd"),
        ("big", "trusted.overlay.metacopy", "1"),
    ] {
        if !set_attribute(&tree.join(file), name, value) {
            skip("setfattr cannot set attributes here");
            return;
        }
    }
    let (image, again) = (path("i.cfs"), path("again.cfs"));
    let store_words = ["--digest-store", store.to_str().unwrap()];
    build(&store_words, &tree, &image);
    let expected = overlay_attributes(&tree);
    assert!(expected.contains("user.overlay.redirect"), "{expected}");
    let extract = |image: &Path, more: &[&Path], out: &Path| {
        let words = ["extract", "-q"].map(Path::new);
        let words = words.into_iter().chain(more.iter().copied());
        run(words.chain([image, Path::new("-o"), out]));
        assert_eq!(overlay_attributes(out), expected, "{}", image.display());
        assert_eq!(fs::read(out.join("big")).unwrap(), [b'b'; 5000]);
    };
    extract(&image, &[Path::new("--objects"), &store], &path("out"));
    for name in ["i.dwarfs", "i.squashfs", "i.erofs", "i.iso"] {
        let words = ["convert", "-q", "--objects"].map(Path::new);
        let converted = path(name);
        run(words
            .into_iter()
            .chain([&store, &image, Path::new("-o"), &converted]));
        extract(&converted, &[], &path(&format!("{name}.out")));
    }
    // and back into the same bytes
    let words = ["convert", "-q", "--objects"].map(Path::new);
    run(words
        .into_iter()
        .chain([&store, &image, Path::new("-o"), &again]));
    assert!(fs::read(&again).unwrap() == fs::read(&image).unwrap());
    let output = run([Path::new("info"), Path::new("--dump"), &image]);
    let dump = String::from_utf8(output.stdout).unwrap();
    for own in [
        " user.overlay.opaque=y",
        " user.overlay.whiteouts=q",
        " user.overlay.whiteout=1",
        " user.overlay.redirect=/ab/cd",
    ] {
        assert!(dump.contains(own), "{own}: {dump}");
    }
    let objects = ["--objects", store.to_str().unwrap()];
    let mounted = Mounted::new(&image, &path("m"), &objects);
    assert_eq!(overlay_attributes(&path("m")), expected);
    drop(mounted);
}

#[test]
fn a_dump_gives_the_image_that_it_is_of() {
    let Some(shared) = vectors() else { return };
    let work = scratch();
    let vector = shared.join("images/composefs/from-dump-hardlinks");
    let theirs = unpacked(&vector.with_extension("img.gz"));
    let (dump, image) = (work.path().join("dump"), work.path().join("i.cfs"));
    fs::write(&dump, unpacked(&vector.with_extension("dump.gz"))).unwrap();
    let words = ["build", "-q", "--print-digest", "-o"].map(Path::new);
    let output = run(words
        .into_iter()
        .chain([&image, Path::new("--from-dump"), &dump]));
    assert!(fs::read(&image).unwrap() == theirs);
    let digest = String::from_utf8(output.stdout).unwrap();
    assert_eq!(digest.trim(), hex(&verity(&theirs)));
    let output = run([Path::new("info"), Path::new("--dump"), &image]);
    assert!(output.stdout == fs::read(&dump).unwrap());

    let image = work.path().join("other.cfs");
    fs::write(
        &dump,
        "/ 0 40755 2 0 0 0 0.0 - - -\n/a/b 0 100644 1 0 0 0 0.0 - - -\n",
    )
    .unwrap();
    let words = ["build", "-o"].map(Path::new);
    let output = try_run(
        words
            .into_iter()
            .chain([&image, Path::new("--from-dump"), &dump]),
    );
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && !image.exists());
    assert!(
        told.contains("line 2: the directory a does not stand above"),
        "{told}"
    );
}

#[test]
fn reports_losses_and_refuses_useless_options() {
    let work = scratch();
    let (source, image) = (work.path().join("tree"), work.path().join("i.cfs"));
    fs::create_dir(&source).unwrap();
    fs::write(source.join("a"), [b'a'; 100]).unwrap();
    fs::hard_link(source.join("a"), source.join("b")).unwrap();
    let words = ["build", "--json", "-o"].map(Path::new);
    let output = run(words.into_iter().chain([&*image, &source]));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["losses"][0]["count"], 1);
    assert_eq!(
        (&report["objects"], &report["object_bytes"]),
        (&1.into(), &100.into())
    );
    assert_eq!(report["digest"], hex(&verity(&fs::read(&image).unwrap())));
    let inside = source.join("store/deeper");
    let inside = inside.to_str().unwrap();
    for words in [
        &["--strict"][..],
        &["-l9"],
        &["-C", "zstd"],
        &["-b", "8k"],
        &["--order", "path"],
        &["--label", "x"],
        &["--min-version", "2"],
        &["--min-version", "1", "--max-version", "0"],
        &["--digest-store", inside],
        &["-f", "dwarfs", "--digest-store", "x"],
        &["-f", "erofs", "--user-xattrs"],
        &["-f", "dwarfs", "--print-digest"],
    ] {
        let target = work.path().join("other.cfs");
        let fixed = [Path::new("build"), Path::new("-o"), &target, &source];
        let output = try_run(fixed.into_iter().chain(words.iter().map(Path::new)));
        assert!(!output.status.success(), "{words:?}");
        assert!(!target.exists() && !Path::new(inside).exists(), "{words:?}");
    }
}
