//! `sinter extract --tar`, `--cpio` and `--mtree`: what other programs make of them, and that their
//! bytes depend on the tree alone.

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use support::archives::{BSDCPIO, BSDTAR, GNU_CPIO, GNU_TAR, PYTHON, Reader, has, words_of};
use support::vectors::{Vector, all_vectors, vectors_of};
use support::{build, compare, is_root, make_tree, run, scratch, sinter, try_run, vectors};

/// Unpacks a vector's archive with a program and compares with its manifest.
fn through(reader: &Reader, kind: &str, shared: &Path, vector: &Vector, to: &Path, more: &[&str]) {
    let mut args = vec![kind];
    args.extend(vector.more());
    args.push(vector.image.to_str().expect("UTF-8"));
    reader.unpack(&args, to);
    let options = [&vector.options(), reader.options, more].concat();
    compare(shared, &options, &vector.manifest, to);
    std::fs::remove_dir_all(to).expect("the tree is removed");
}

fn all_through(reader: &Reader, only: impl Fn(&Vector) -> bool) {
    let Some(shared) = vectors() else { return };
    if !is_root() || !has(reader.words[0]) {
        return;
    }
    let work = scratch();
    for vector in all_vectors(&shared, work.path()).iter().filter(|v| only(v)) {
        let old = vector.manifest.ends_with("pre.jsonl.gz") && reader.words == BSDTAR.words;
        let more: &[&str] = if old { &["--no-mtime"] } else { &[] };
        through(
            reader,
            "--tar",
            &shared,
            vector,
            &work.path().join("x"),
            more,
        );
    }
}

#[test]
fn gnu_tar_restores_every_vector() {
    all_through(&GNU_TAR, |_| true);
}

#[test]
fn bsdtar_restores_every_vector() {
    all_through(&BSDTAR, |_| true);
}

#[test]
fn python_restores_names_and_contents() {
    // one of each format; it copies holes, so none with large ones
    all_through(&PYTHON, |vector| {
        let name = vector.image.file_name().expect("a name");
        ["l7.img", "gzip.img", "zstd.img"]
            .iter()
            .any(|one| name == *one)
    });
}

#[test]
fn cpio_and_bsdcpio_restore_our_cpio_archives() {
    let Some(shared) = vectors() else { return };
    if !is_root() || !has("cpio") || !has("bsdcpio") {
        return;
    }
    let work = scratch();
    for (format, image) in [
        ("squashfs", "gzip.img"),
        ("dwarfs", "l7.img"),
        ("erofs", "zstd.img"),
    ] {
        let all = vectors_of(format, &shared, work.path());
        let vector = all.iter().find(|vector| vector.image.ends_with(image));
        for reader in [&GNU_CPIO, &BSDCPIO] {
            let vector = vector.expect("the vector");
            through(
                reader,
                "--cpio",
                &shared,
                vector,
                &work.path().join("x"),
                &[],
            );
        }
    }
}

#[test]
fn every_reader_takes_files_in_the_order_of_the_image() {
    let Some(shared) = vectors() else { return };
    if !is_root() || !has("cpio") || !has("bsdtar") || !has("bsdcpio") {
        return;
    }
    let work = scratch();
    for (format, image) in [
        ("squashfs", "gzip.img"),
        ("dwarfs", "l7.img"),
        ("erofs", "zstd.img"),
    ] {
        let mut all = vectors_of(format, &shared, work.path());
        let vector = all.iter_mut().find(|v| v.image.ends_with(image));
        let vector = vector.expect("the vector");
        vector.devices.push("--order=image".to_owned());
        let to = work.path().join("x");
        for reader in [&GNU_TAR, &BSDTAR, &PYTHON] {
            through(reader, "--tar", &shared, vector, &to, &[]);
        }
        for reader in [&GNU_CPIO, &BSDCPIO] {
            through(reader, "--cpio", &shared, vector, &to, &[]);
        }
        let written = |how: [&str; 2]| {
            let output = try_run(vector.args(["extract", "--tar", "-q"].into_iter().chain(how)));
            // only sockets are left out
            let messages = words_of(&output);
            assert!(
                messages.lines().all(|line| line.contains("sockets")),
                "{messages}"
            );
            output.stdout
        };
        assert!(written(["-j1", "--cache-size=1k"]) == written(["-j5", "--cache-size=64m"]));
    }
}

#[test]
fn mtree_finds_the_extracted_tree_to_be_the_same() {
    let Some(shared) = vectors() else { return };
    if !is_root() || !has("mtree") || !has("bsdtar") {
        return;
    }
    let work = scratch();
    let (tree, list) = (work.path().join("tree"), work.path().join("list"));
    let [tree_name, list_name] = [&tree, &list].map(|path| path.to_str().expect("UTF-8"));
    for format in ["dwarfs", "squashfs", "erofs"] {
        let all = vectors_of(format, &shared, work.path());
        let vector = all.iter().find(|v| v.manifest.ends_with("small.jsonl.gz"));
        let vector = vector.expect("a vector");
        run(vector.args(["extract", "-q", "--force", "-o", tree_name]));
        run(vector.args(["extract", "-q", "--force", "--mtree", "-o", list_name]));
        let checked = || {
            let mut mtree = Command::new("mtree");
            mtree
                .args(["-p", tree_name, "-f", list_name])
                .output()
                .expect("mtree")
        };
        let same = checked();
        let said = String::from_utf8_lossy(&same.stdout).into_owned();
        assert!(
            same.status.success() && said.is_empty(),
            "{said} {}",
            words_of(&same)
        );

        let lines = std::fs::read_to_string(&list)
            .expect("the list")
            .lines()
            .count()
            - 1;
        let listed = Command::new("bsdtar")
            .args(["-tf", list_name])
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("bsdtar");
        let seen = listed.stdout.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(seen, lines, "{}", words_of(&listed));

        std::fs::write(tree.join("text/copy1.txt"), "changed").expect("a change");
        assert!(!checked().status.success());
        std::fs::remove_dir_all(&tree).expect("the tree is removed");
    }
}

#[test]
fn attributes_and_access_control_lists_come_back() {
    let Some(shared) = vectors() else { return };
    if !is_root() || !has("bsdtar") {
        return;
    }
    let work = scratch();
    let tree = work.path().join("tree");
    make_tree(&shared, &tree, &["--size", "small"]);
    for format in ["dwarfs", "erofs"] {
        let image = work.path().join(format);
        build(format, &tree, &image, &[]);
        for reader in [&GNU_TAR, &BSDTAR] {
            let to = work.path().join("x");
            reader.unpack(&["--tar", image.to_str().expect("UTF-8")], &to);
            let unkept = ["--mtime-seconds", "--drop", "link,nlink:lpcb"];
            compare(&shared, &[&unkept, reader.options].concat(), &tree, &to);
            std::fs::remove_dir_all(&to).expect("the tree is removed");
        }
    }
}

#[test]
fn holes_stay_holes() {
    if !is_root() || !has("bsdtar") {
        return;
    }
    let work = scratch();
    let tree = work.path().join("tree");
    std::fs::create_dir(&tree).expect("a directory");
    let file = std::fs::File::create(tree.join("disk")).expect("a file");
    std::os::unix::fs::FileExt::write_all_at(&file, b"start", 0).expect("data");
    std::os::unix::fs::FileExt::write_all_at(&file, b"late", 4 << 30).expect("data");
    file.set_len(5 << 30).expect("a hole");
    let image = work.path().join("image");
    build("dwarfs", &tree, &image, &[]);
    for reader in [&GNU_TAR, &BSDTAR] {
        let to = work.path().join("x");
        reader.unpack(&["--tar", image.to_str().expect("UTF-8")], &to);
        let found = std::fs::metadata(to.join("disk")).expect("the file");
        assert_eq!(found.len(), 5 << 30);
        assert!(found.blocks() < 1000, "{} blocks", found.blocks());
        std::fs::remove_dir_all(&to).expect("the tree is removed");
    }
    let output = try_run([
        "extract",
        "--cpio",
        "--strict",
        image.to_str().expect("UTF-8"),
    ]);
    assert_eq!(output.status.code(), Some(4), "{}", words_of(&output));
    assert!(words_of(&output).contains("4 GiB"), "{}", words_of(&output));
}

#[test]
fn the_bytes_depend_on_the_tree_alone() {
    let Some(shared) = vectors() else { return };
    if !is_root() {
        return;
    }
    let work = scratch();
    let tree = work.path().join("tree");
    make_tree(&shared, &tree, &["--size", "small", "--plain"]);
    let mut seen = Vec::new();
    for (format, flags) in [
        ("dwarfs", ["-l7", "-b64k"]),
        ("dwarfs", ["-l1", "-b1m"]),
        ("squashfs", ["-l5", "-b128k"]),
        ("erofs", ["-l5", "-b64k"]),
    ] {
        let image = work.path().join("image");
        build(format, &tree, &image, &flags);
        for how in [["-j1", "--cache-size=1k"], ["-j5", "--cache-size=64m"]] {
            for kind in ["--tar", "--cpio", "--mtree"] {
                let mut command = sinter();
                command
                    .args(["extract", kind, "-q", "--no-times", "--no-sparse"])
                    .args(how)
                    .arg(&image);
                let output = command.output().expect("sinter");
                assert!(output.status.success(), "{}", words_of(&output));
                seen.push((kind, output.stdout));
            }
        }
    }
    for kind in ["--tar", "--cpio", "--mtree"] {
        let mut all = seen.iter().filter(|(one, _)| *one == kind);
        let (_, first) = all.next().expect("one");
        assert!(all.all(|(_, bytes)| bytes == first), "{kind}");
    }
}

#[test]
fn a_selection_with_its_parents() {
    let work = scratch();
    let tree = work.path().join("tree");
    std::fs::create_dir_all(tree.join("usr/share/doc")).expect("directories");
    for name in ["usr/share/doc/a.txt", "usr/share/b.txt", "usr/c.bin"] {
        std::fs::write(tree.join(name), name).expect("a file");
    }
    let image = work.path().join("image");
    build("squashfs", &tree, &image, &[]);
    let listed = |flags: &[&str]| {
        let tar = work.path().join("tar");
        let mut command = sinter();
        command
            .args(["extract", "--tar", "-q", "--force", "-o"])
            .arg(&tar)
            .arg(&image);
        let output = command.args(flags).output().expect("sinter");
        assert!(output.status.success(), "{}", words_of(&output));
        let output = Command::new("tar")
            .arg("tf")
            .arg(&tar)
            .output()
            .expect("tar");
        String::from_utf8(output.stdout).expect("names")
    };
    assert_eq!(
        listed(&["--glob", "**/*.txt"]),
        "usr/\nusr/share/\nusr/share/b.txt\nusr/share/doc/\nusr/share/doc/a.txt\n"
    );
    let stripped = listed(&["--strip-components", "2", "usr/share"]);
    assert_eq!(stripped, "b.txt\ndoc/\ndoc/a.txt\n");
    assert!(listed(&[]).ends_with("usr/share/doc/a.txt\n./\n"));
}

#[test]
fn damage_leaves_a_whole_archive() {
    let work = scratch();
    let (tree, image, tar) = (
        work.path().join("tree"),
        work.path().join("image"),
        work.path().join("tar"),
    );
    std::fs::create_dir(&tree).expect("a directory");
    let bytes: Vec<u8> = (0..300_000_u32)
        .flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 7).to_le_bytes())
        .collect();
    std::fs::write(tree.join("a"), &bytes).expect("a file");
    std::fs::write(tree.join("b"), "intact").expect("a file");
    let mut stored = build(
        "squashfs",
        &tree,
        &image,
        &["--compression", "zstd", "-b64k"],
    );
    let middle = stored.len() / 2;
    stored[middle..middle + 50_000].fill(0x55);
    std::fs::write(&image, stored).expect("the damage");
    let args = |more: &'static str| {
        let words = ["extract", "--tar", more, "--force", "-o"].map(std::ffi::OsStr::new);
        words
            .into_iter()
            .chain([tar.as_os_str(), image.as_os_str()])
            .collect::<Vec<_>>()
    };
    let output = try_run(args("-j2"));
    assert_eq!(output.status.code(), Some(1), "{}", words_of(&output));
    assert!(
        words_of(&output).contains("1 could not be read"),
        "{}",
        words_of(&output)
    );
    let listed = Command::new("tar")
        .arg("xOf")
        .arg(&tar)
        .arg("b")
        .output()
        .expect("tar");
    assert_eq!(listed.stdout, b"intact");
    std::fs::remove_file(&tar).expect("the archive");
    let output = try_run(args("--stop-on-error"));
    assert_eq!(output.status.code(), Some(3), "{}", words_of(&output));
    assert!(!tar.exists(), "half an archive has its name");
}

#[test]
fn an_archive_is_not_overwritten_unasked() {
    let work = scratch();
    let (image, tar) = (work.path().join("image"), work.path().join("tar"));
    build("dwarfs", work.path(), &image, &[]);
    std::fs::write(&tar, "mine").expect("a file");
    let words = ["extract", "--tar", "-o"].map(std::ffi::OsStr::new);
    let args = || {
        words
            .into_iter()
            .chain([tar.as_os_str(), image.as_os_str()])
    };
    assert_eq!(try_run(args()).status.code(), Some(2));
    assert_eq!(std::fs::read(&tar).expect("the file"), b"mine");
    for wrong in ["--keep", "--no-permissions", "--owner", "--cpio", "--json"] {
        let output = try_run(["extract", "--tar", wrong, image.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}
