//! `sinter convert`: the new image holds what the old one does, and what it can't is reported.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use support::{
    KernelMount, Mounted, compare, is_root, kernel_mounts, make_tree, run, scratch, sinter,
    try_run, vectors,
};

/// What SquashFS can't keep.
const COARSE: &[&str] = &["--mtime-seconds", "--skip-xattr", "system.posix_acl"];

/// What DwarFS can't keep.
const LOST: &[&str] = &["--drop", "link,nlink:lp"];

fn convert(from: &Path, to: &Path, flags: &[&str]) -> Output {
    let mut command = sinter();
    command.args(["convert", "--force"]).args(flags).arg(from);
    command.arg("-o").arg(to).output().unwrap()
}

fn converted(from: &Path, to: &Path, flags: &[&str]) -> serde_json::Value {
    let output = convert(from, to, &[flags, &["--json"]].concat());
    assert!(output.status.success(), "{flags:?}: {output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn build(tree: &Path, to: &Path, flags: &[&str]) {
    let mut command = sinter();
    command.args(["build", "-q", "-l1"]).args(flags).arg(tree);
    let output = command.arg("-o").arg(to).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// Compares an image with a tree by mount and by extraction.
fn check(shared: &Path, compared: &[&str], tree: &Path, image: &Path, work: &Path) {
    let mounted = Mounted::new(image, &work.join("mnt"), &[]);
    compare(shared, compared, tree, &mounted.0);
    drop(mounted);
    let out = work.join("out");
    run([Path::new("extract"), image, Path::new("-o"), &out]);
    compare(shared, compared, tree, &out);
    fs::remove_dir_all(&out).unwrap();
    run([Path::new("check"), Path::new("--deep"), image]);
}

#[test]
fn dwarfs_to_dwarfs_keeps_everything() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--pre1970"]);
    let exact = ["--time-resolution", "1ns", "--keep-all-times", "-b64k"];
    build(&path("tree"), &path("old.dwarfs"), &exact);
    let report = converted(&path("old.dwarfs"), &path("new.dwarfs"), &["-l5"]);
    assert!(report["hole_bytes"].as_u64().unwrap() > 0, "{report}");
    assert_eq!(report["losses"], serde_json::json!([]));
    check(
        &shared,
        LOST,
        &path("tree"),
        &path("new.dwarfs"),
        work.path(),
    );
    // the same bytes for any number of threads, however little of the old image is held
    for flags in [["-j1", "--cache-size=512M"], ["-j3", "--cache-size=1"]] {
        converted(
            &path("old.dwarfs"),
            &path("again.dwarfs"),
            &[&flags[..], &["-l5"]].concat(),
        );
        assert!(fs::read(path("again.dwarfs")).unwrap() == fs::read(path("new.dwarfs")).unwrap());
    }
    // the history goes on
    let info = run([Path::new("info"), &path("new.dwarfs")]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(
        info.contains("sinter build") && info.contains("sinter convert"),
        "{info}"
    );
    assert_eq!(fs::read_dir(work.path()).unwrap().count(), 5);
}

#[test]
fn squashfs_of_other_tools_becomes_dwarfs() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let new = work.path().join("new.dwarfs");
    let tree = shared.join("manifests/small.jsonl.gz");
    for name in [
        "gzip",
        "xz-bcj-x86",
        "zstd-1m",
        "tailends",
        "offset",
        "nopad",
    ] {
        let image = shared.join(format!("images/squashfs/{name}.img"));
        let report = converted(&image, &new, &["-l1"]);
        let losses = report["losses"].to_string();
        assert!(losses.contains("hard links of symlinks"), "{losses}");
        check(&shared, &[LOST, COARSE].concat(), &tree, &new, work.path());
        let strict = convert(&image, &new, &["--strict"]);
        assert_eq!(strict.status.code(), Some(4), "{strict:?}");
    }
}

#[test]
fn erofs_of_other_tools_becomes_squashfs() {
    let (Some(shared), true) = (vectors(), kernel_mounts("squashfs")) else {
        return;
    };
    let work = scratch();
    let new = work.path().join("new.squashfs");
    let image = shared.join("images/erofs/full-lzma.img");
    let report = converted(&image, &new, &["-C", "zstd:level=1"]);
    assert!(
        report["losses"].to_string().contains("POSIX ACLs"),
        "{report}"
    );
    let mounted = KernelMount::new("squashfs", &new, &work.path().join("kernel"));
    let tree = shared.join("manifests/full1.jsonl.gz");
    // what mkfs.erofs adds of its own
    let compared = [COARSE, &["--skip-xattr", "trusted.overlay.origin"]].concat();
    compare(&shared, &compared, &tree, &mounted.0);
}

#[test]
fn erofs_of_other_tools_becomes_ours_without_loss() {
    let (Some(shared), true) = (vectors(), kernel_mounts("erofs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let image = shared.join("images/erofs/full-lzma.img");
    let tree = shared.join("manifests/full1.jsonl.gz");
    let mut before = image;
    for (name, flags) in [
        ("a.erofs", ["-C", "zstd:level=1"]),
        ("b.erofs", ["-C", "none"]),
        ("c.erofs", ["-C", "lz4"]),
    ] {
        let report = converted(&before, &path(name), &flags);
        assert_eq!(report["losses"], serde_json::json!([]));
        let mounted = KernelMount::new("erofs", &path(name), &path("kernel"));
        let compared = ["--skip-xattr", "trusted.overlay.origin"];
        compare(&shared, &compared, &tree, &mounted.0);
        before = path(name);
    }
}

#[test]
fn to_squashfs_and_back_keeps_shared_features() {
    let (Some(shared), true, true) = (vectors(), is_root(), kernel_mounts("squashfs")) else {
        return;
    };
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    let exact = ["--time-resolution", "1ns", "--keep-all-times", "-b1m"];
    build(&path("tree"), &path("a.dwarfs"), &exact);
    let report = converted(
        &path("a.dwarfs"),
        &path("b.squashfs"),
        &["-C", "zstd:level=3", "-b", "128k"],
    );
    let losses = report["losses"].to_string();
    for lost in ["fractions of a second", "times of access"] {
        assert!(losses.contains(lost), "{losses}");
    }
    let few = [
        &["-C", "zstd:level=3", "-b", "128k"][..],
        &["-j3", "--cache-size=1", "--memory=64m"],
    ]
    .concat();
    converted(&path("a.dwarfs"), &path("again.squashfs"), &few);
    assert!(fs::read(path("b.squashfs")).unwrap() == fs::read(path("again.squashfs")).unwrap());
    let both = [LOST, COARSE].concat();
    let mounted = KernelMount::new("squashfs", &path("b.squashfs"), &path("kernel"));
    compare(&shared, &both, &path("tree"), &mounted.0);
    drop(mounted);
    converted(&path("b.squashfs"), &path("c.dwarfs"), &["-l1"]);
    check(
        &shared,
        &both,
        &path("tree"),
        &path("c.dwarfs"),
        work.path(),
    );
    // attributes, and links of all kinds, go from one SquashFS image to another
    build(&path("tree"), &path("d.squashfs"), &[]);
    let report = converted(
        &path("d.squashfs"),
        &path("e.sqfs"),
        &["-C", "xz", "-b64k", "--tailends"],
    );
    assert_eq!(report["losses"], serde_json::json!([]));
    let mounted = KernelMount::new("squashfs", &path("e.sqfs"), &path("kernel"));
    compare(&shared, COARSE, &path("tree"), &mounted.0);
}

#[test]
fn huge_sparse_files_are_converted_quickly() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    for (name, len) in [("small", 100_000_000_007), ("large", 2 << 40)] {
        let file = fs::File::create(path("tree").join(name)).unwrap();
        file.set_len(len).unwrap();
        file.write_all_at(b"data", len / 3).unwrap();
    }
    build(&path("tree"), &path("a.dwarfs"), &[]);
    let start = std::time::Instant::now();
    converted(
        &path("a.dwarfs"),
        &path("b.squashfs"),
        &["-b128k", "--memory=64m"],
    );
    converted(&path("b.squashfs"), &path("c.dwarfs"), &["-l1"]);
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    let list = |name: &str| run([Path::new("ls"), Path::new("-l"), &path(name)]).stdout;
    assert_eq!(list("c.dwarfs"), list("a.dwarfs"));
    for (name, len) in [("small", 100_000_000_007_u64), ("large", 2 << 40)] {
        let image =
            sinterfs::open_with(path("c.dwarfs"), &sinterfs::OpenOptions::default()).unwrap();
        let image = image.raw();
        let ino = image
            .lookup(image.info().root, name.as_bytes())
            .unwrap()
            .unwrap();
        assert!(image.inode(ino).unwrap().allocated < 1 << 20);
        let mut found = [0; 6];
        image.read_at(ino, len / 3 - 1, &mut found).unwrap();
        assert_eq!(&found, b"\0data\0");
    }
}

#[test]
fn reports_losses_and_refuses_them_if_strict() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/file"), "x").unwrap();
    build(
        &path("tree"),
        &path("old.dwarfs"),
        &["--time-resolution", "1ns"],
    );
    let coarse = ["--time-resolution", "2min"];
    let told = convert(&path("old.dwarfs"), &path("new.dwarfs"), &coarse);
    let words = String::from_utf8_lossy(&told.stderr);
    assert!(
        told.status.success()
            && words.contains("not kept by dwarfs: last digits of 2 times (--time"),
        "{words}"
    );
    fs::remove_file(path("new.dwarfs")).unwrap();
    let media = ["-f", "squashfs", "--categorize=text,pcmaudio"];
    let refused = convert(&path("old.dwarfs"), &path("new.squashfs"), &media);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    for kinds in [
        "--categorize=text,binary",
        "--categorize",
        "--no-categorize",
    ] {
        let made = convert(&path("old.dwarfs"), &path("new.squashfs"), &[kinds]);
        assert!(made.status.success(), "{made:?}");
    }
    let strict = convert(
        &path("old.dwarfs"),
        &path("new.dwarfs"),
        &[&coarse[..], &["--strict"]].concat(),
    );
    assert_eq!(strict.status.code(), Some(4), "{strict:?}");
    assert!(!path("new.dwarfs").exists());
    assert!(
        convert(&path("old.dwarfs"), &path("new.dwarfs"), &["--strict"])
            .status
            .success()
    );
}

#[test]
fn damage_and_wrong_input_leave_nothing() {
    let work = scratch();
    let path = |name: &str| -> PathBuf { work.path().join(name) };
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/file"), vec![7; 100_000]).unwrap();
    build(&path("tree"), &path("old.dwarfs"), &["-C", "none"]);
    let mut bytes = fs::read(path("old.dwarfs")).unwrap();
    let content = bytes
        .windows(100)
        .position(|window| window == [7; 100])
        .unwrap();
    bytes[content + 50_000] ^= 1;
    fs::write(path("bad.dwarfs"), bytes).unwrap();
    let damaged = convert(&path("bad.dwarfs"), &path("new.dwarfs"), &[]);
    assert_eq!(damaged.status.code(), Some(3), "{damaged:?}");
    let words = String::from_utf8_lossy(&damaged.stderr);
    assert!(
        words.contains("bad.dwarfs") && words.contains("corrupt image: block 0 at"),
        "{words}"
    );
    for (from, code) in [("tree", 2), ("tree/file", 4), ("nowhere", 5)] {
        let failed = convert(&path(from), &path("new.dwarfs"), &[]);
        assert_eq!(failed.status.code(), Some(code), "{from}: {failed:?}");
    }
    assert!(!path("new.dwarfs").exists());
    let help = try_run(["convert", "--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("Examples:"));
}

/// The formats that are written, with what names the objects of one that has them.
fn formats(store: &Path) -> [(&'static str, Vec<String>, Vec<String>); 7] {
    let store = store.display().to_string();
    [
        (
            "dwarfs",
            vec!["--time-resolution=1ns".to_owned(), "-l1".to_owned()],
            Vec::new(),
        ),
        ("squashfs", Vec::new(), Vec::new()),
        ("erofs", Vec::new(), Vec::new()),
        (
            "composefs",
            vec![format!("--digest-store={store}")],
            vec![format!("--objects={store}")],
        ),
        ("cramfs", Vec::new(), Vec::new()),
        ("wim", Vec::new(), Vec::new()),
        ("iso9660", Vec::new(), Vec::new()),
    ]
}

/// A tree with something of all that one format keeps and another does not.
fn mixed_tree(tree: &Path) {
    fs::create_dir(tree).unwrap();
    let script = "mkdir -p a/empty; seq 1 9000 >a/file; ln a/file a/hard; ln -s file a/symlink
        ln a/symlink a/hard-symlink; : >none; mkfifo pipe; mknod null c 1 3; mknod disk b 259 70000
        truncate -s 1M holes; printf end >>holes; printf x >\"$(printf 'odd\\377')\"
        chown 1234:4321 a/file; chown 3000000:2999999 none; chmod 4751 a/file; chmod 1777 a/empty
        setfattr -n user.word -v text a/file; setfattr -n trusted.word -v text a/empty
        setfacl -m u:12345:rw,g:54321:x,m:rwx none
        touch -h -d '1969-12-31 12:00:00.25 UTC' a/symlink
        touch -d '2021-02-03 04:05:06.789012345 UTC' a/file none null holes a/empty a .";
    support::shell(tree, script);
}

/// Runs a command and returns what it reports as lost.
fn losses(command: &str, from: &Path, to: &Path, flags: &[&Vec<String>]) -> serde_json::Value {
    let mut program = sinter();
    program.args([command, "--force", "--json"]);
    program.args(flags.iter().copied().flatten());
    let output = program.arg(from).arg("-o").arg(to).output().unwrap();
    // 1 if an entry is not kept, which is named
    let is_done = matches!(output.status.code(), Some(0 | 1));
    assert!(is_done, "{command} {flags:?}: {output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    report["losses"].clone()
}

#[test]
fn every_pair_of_formats_keeps_as_much_as_a_build_of_the_files() {
    let tools = ["setfattr", "setfacl"];
    if !is_root() || !tools.iter().all(|tool| support::archives::has(tool)) {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    mixed_tree(&path("tree"));
    let store = path("store");
    for (from, build_flags, open_flags) in formats(&store) {
        let (old, out) = (path(&format!("old.{from}")), path("out"));
        let format = vec!["-f".to_owned(), from.to_owned()];
        let first = losses("build", &path("tree"), &old, &[&format, &build_flags]);
        let keeps_all = from == "erofs";
        assert_eq!(first == serde_json::json!([]), keeps_all, "{from}: {first}");
        let mut extract = sinter();
        extract.args(["extract", "-q"]).args(&open_flags).arg(&old);
        let extracted = extract.arg("-o").arg(&out).output().unwrap();
        assert!(extracted.status.success(), "{from}: {extracted:?}");
        for (to, flags, open) in formats(&store) {
            let (built, made) = (path("built"), path("made"));
            let format = vec!["-f".to_owned(), to.to_owned()];
            let of_files = losses("build", &out, &built, &[&format, &flags]);
            let lost = losses("convert", &old, &made, &[&format, &flags, &open_flags]);
            assert_eq!(lost, of_files, "{from} to {to}");
            let mut diff = sinter();
            let diff = diff.arg("diff").args(&open).args([&built, &made]).output();
            let diff = diff.unwrap();
            assert!(
                diff.status.success() && diff.stdout.is_empty(),
                "{from} to {to}: {diff:?}"
            );
        }
        fs::remove_dir_all(&out).unwrap();
    }
}

/// Makes an image by a script in a directory; `None` without its tools.
fn made(work: &Path, script: &str) -> Option<PathBuf> {
    let script = format!("export PATH=$PATH:/usr/sbin; {script}");
    let mut command = std::process::Command::new("sh");
    let made = command.current_dir(work).args(["-ec", &script]).output();
    let made = made.unwrap();
    if made.status.code() == Some(127) {
        support::skip(&format!("no tool of: {script}"));
        return None;
    }
    assert!(made.status.success(), "{made:?}");
    Some(work.join("old"))
}

/// Returns how many of something a conversion counts as lost.
fn count(losses: &serde_json::Value, what: &str) -> u64 {
    let mut all = losses.as_array().unwrap().iter();
    let found = all.find(|loss| loss["what"] == what);
    found.map_or(0, |loss| loss["count"].as_u64().unwrap())
}

#[test]
fn counts_image_parts_that_are_not_files() {
    let work = scratch();
    fs::create_dir_all(work.path().join("tree/dir")).unwrap();
    fs::write(work.path().join("tree/file"), "content").unwrap();
    fs::write(work.path().join("tree/boot"), [7; 2048]).unwrap();
    let (new, none) = (work.path().join("new"), Vec::new());
    let formats = ["composefs", "squashfs", "erofs", "cramfs", "wim", "iso9660"];
    let counted = |old: &Path, expected: &[(&str, u64)]| {
        for format in formats {
            let flags = vec!["-f".to_owned(), format.to_owned()];
            let lost = losses("convert", old, &new, &[&none, &flags]);
            for (what, number) in expected {
                assert_eq!(count(&lost, what), *number, "{format}: {what}: {lost}");
            }
        }
    };
    let iso = "genisoimage -quiet -R -b boot -c catalog -no-emul-boot -o old tree";
    if let Some(old) = made(work.path(), iso) {
        let times = "files with times of access and of inode change";
        // the root, the directory, the files and the boot catalog
        counted(&old, &[(times, 5), ("boot images of El Torito", 1)]);
        let lost = losses("convert", &old, &new, &[&none]);
        assert_eq!(count(&lost, times), 0, "DwarFS keeps them: {lost}");
    }
    let fat = "rm -f old; truncate -s 2M old; mkfs.fat old >said; export MTOOLS_SKIP_CHECK=1
        mcopy -s -i old tree/* ::; mattrib -i old +h +s ::/file; mattrib -i old +h ::/dir";
    if let Some(old) = made(work.path(), fat) {
        counted(&old, &[("attributes of Windows", 2), ("times of birth", 3)]);
    }
    // both of these have a root, the directory, the files and one more of their own
    let ext = "rm -f old; mke2fs -q -t ext4 -I 256 -d tree old 2M
        debugfs -w -R 'sif file flags 0x80050' old; debugfs -w -R 'sif dir projid 7' old";
    if let Some(old) = made(work.path(), ext) {
        let (flags, projects) = (("inode flags (chattr)", 1), ("numbers of projects", 1));
        counted(&old, &[("times of birth", 5), flags, projects]);
        let cloop = work.path().join("device");
        run([Path::new("cloop"), &old, Path::new("-o"), &cloop]);
        counted(&cloop, &[("times of birth", 5), flags]);
    }
    if let Some(old) = made(work.path(), &format!("rm -f old; {iso}")) {
        with_times_of_creation(&old);
        counted(&old, &[("times of birth", 5)]);
    }
    let wim = "rm -f old; touch -a -d 2020-01-02 tree/file
        wimlib-imagex capture tree old --unix-data >said";
    if let Some(old) = made(work.path(), wim) {
        let lost = losses("convert", &old, &new, &[&none]);
        // reading the tree may have changed those of other files
        assert!(count(&lost, "times of access") > 0, "{lost}");
    }
}

#[test]
fn counts_ntfs_metadata_once_for_each_inode() {
    if !is_root() {
        return support::skip("only root mounts NTFS");
    }
    let work = scratch();
    // a file of two names with a stream, and a directory with an object ID
    let wim = "truncate -s 16M ntfs; mkntfs -Fq ntfs >said; mkdir at
        ntfs-3g -o streams_interface=windows ntfs at
        echo content >at/file; ln at/file at/again; echo more >at/file:stream; mkdir at/dir
        setfattr -n system.ntfs_object_id -v 0x0123456789abcdef0123456789abcdef at/dir
        umount at; wimlib-imagex capture ntfs old >said";
    let Some(old) = made(work.path(), wim) else {
        return;
    };
    let new = work.path().join("new");
    let lost = losses("convert", &old, &new, &[&Vec::new()]);
    for (what, number) in [
        ("attributes of Windows", 3),
        ("security descriptors", 3),
        ("object IDs", 1),
        ("items of unknown kinds", 0),
        ("named streams of more than 64 KiB", 0),
    ] {
        assert_eq!(count(&lost, what), number, "{what}: {lost}");
    }
    let shown = run([Path::new("stat"), &new, Path::new("again")]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("user.stream"), "{shown}");
}

/// Makes the times of modification in TF entries of genisoimage's those of creation: it writes
/// times of modification, access and change.
fn with_times_of_creation(image: &Path) {
    let mut bytes = fs::read(image).unwrap();
    let entry = b"TF\x1a\x01\x0e";
    for at in 0..bytes.len() - entry.len() {
        if bytes[at..].starts_with(entry) {
            bytes[at + 4] = 0x0d;
        }
    }
    fs::write(image, bytes).unwrap();
}
