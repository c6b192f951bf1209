//! Build, then mount and extract, and compare with the source by the vectors' own program: nothing
//! may differ but what DwarFS can't keep (hard links of symlinks and special files).

mod support;

use std::path::Path;

use support::{Mounted, compare, is_root, make_tree, run, scratch, vectors};

/// What DwarFS can't keep.
const LOST: &[&str] = &["--drop", "link,nlink:lp"];

fn check(shared: &Path, source: &Path, work: &Path, flags: &[&str], compared: &[&str]) {
    let image = work.join("image.dwarfs");
    let mut args = vec!["build", "--quiet", "--force"];
    args.extend(flags);
    let output = support::sinter()
        .args(args)
        .arg(source)
        .arg("-o")
        .arg(&image)
        .output()
        .expect("sinter starts");
    assert!(
        output.status.success(),
        "{flags:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let compared = [LOST, compared].concat();

    let mounted = Mounted::new(&image, &work.join("mnt"), &[]);
    compare(shared, &compared, source, &mounted.0);
    drop(mounted);

    let extracted = work.join("extracted");
    run([Path::new("extract"), &image, Path::new("-o"), &extracted]);
    compare(shared, &compared, source, &extracted);
    std::fs::remove_dir_all(&extracted).expect("the tree is removed");
    run([Path::new("check"), Path::new("--deep"), &image]);
}

#[test]
fn the_vectors_tree_with_every_level() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--size", "small", "--pre1970"]);
    for level in 0..=9 {
        let level = format!("-l{level}");
        check(
            &shared,
            &source,
            work.path(),
            &[&level, "--time-resolution", "1ns"],
            &[],
        );
    }
}

#[test]
fn the_vectors_tree_with_odd_settings() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--size", "small", "--shape", "b"]);
    let cases: &[(&[&str], &[&str])] = &[
        (&["-b", "1k", "-C", "zstd:level=3"], &["--mtime-seconds"]),
        (
            &["-b", "4k", "-C", "brotli:quality=5", "-B", "100", "-j", "3"],
            &["--mtime-seconds"],
        ),
        (
            &[
                "-C",
                "lzma:level=6:binary=x86",
                "--metadata-compression",
                "lz4hc:level=9",
            ],
            &["--mtime-seconds"],
        ),
        (
            &["--time-resolution", "2s", "--order", "revpath"],
            &["--mtime-unit", "2000000000"],
        ),
        (
            &[
                "--time-resolution",
                "100ms",
                "--no-history",
                "--no-section-index",
            ],
            &["--mtime-unit", "100000000"],
        ),
        (
            &["--keep-all-times", "--time-resolution", "1us"],
            &["--mtime-unit", "1000"],
        ),
    ];
    for (flags, compared) in cases {
        check(&shared, &source, work.path(), flags, compared);
    }
}

#[test]
fn the_full_tree_with_a_huge_sparse_file() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    let source = work.path().join("tree");
    make_tree(&shared, &source, &["--huge"]);
    check(
        &shared,
        &source,
        work.path(),
        &["-l5", "--time-resolution", "1ns"],
        &[],
    );
}

/// Sets attributes on files of a new directory; `false` if its file system has none.
fn with_attributes(source: &Path) -> bool {
    std::fs::create_dir(source).expect("a directory");
    for name in ["a", "b", "plain"] {
        std::fs::write(source.join(name), name).expect("a file");
    }
    std::fs::hard_link(source.join("a"), source.join("again")).expect("a hard link");
    let set = |name: &str, attribute: &str, value: &[u8]| {
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(source.join(name), attribute, value, flags).is_ok()
    };
    let done = set("a", "user.x", b"value")
        && set("b", "user.x", b"value")
        && set("b", "user.y", &[0; 3000])
        && set(".", "user.root", b"");
    if !done {
        support::skip("the temporary directory has no extended attributes");
    }
    done
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 4096];
    let len = rustix::fs::getxattr(path, name, &mut value[..]).ok()?;
    Some(value[..len].to_vec())
}

#[test]
fn extended_attributes_are_kept() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    if !with_attributes(&path("tree")) {
        return;
    }
    let build = |image: &str, flags: &[&str]| {
        let mut command = support::sinter();
        let command = command.args(["build", "--time-resolution=1ns", "--force", "--json"]);
        let output = command
            .args(flags)
            .arg(path("tree"))
            .arg("-o")
            .arg(path(image))
            .output();
        let output = output.expect("sinter starts");
        assert!(output.status.success(), "{output:?}");
        let report = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!report.contains("attributes"), "{report}");
    };
    build("with.dwarfs", &["--strict"]);
    build("without.dwarfs", &["--no-xattrs"]);
    run([
        Path::new("check"),
        Path::new("--deep"),
        &path("with.dwarfs"),
    ]);
    let extract = |image: &str| {
        let _ = std::fs::remove_dir_all(path("out"));
        run([
            Path::new("extract"),
            &path(image),
            Path::new("-o"),
            &path("out"),
        ]);
    };
    for image in [
        "with.dwarfs",
        "recompressed.dwarfs",
        "rebuilt.dwarfs",
        "convert.erofs",
    ] {
        match image {
            "recompressed.dwarfs" => run([
                Path::new("recompress"),
                Path::new("-l3"),
                &path("with.dwarfs"),
                Path::new("-o"),
                &path(image),
            ]),
            "rebuilt.dwarfs" => run([
                Path::new("recompress"),
                Path::new("--all-root"),
                &path("recompressed.dwarfs"),
                Path::new("-o"),
                &path(image),
            ]),
            "convert.erofs" => run([
                Path::new("convert"),
                &path("rebuilt.dwarfs"),
                Path::new("-o"),
                &path(image),
            ]),
            _ => continue,
        };
        extract(image);
        let of =
            |name: &str, attribute_name: &str| attribute(&path("out").join(name), attribute_name);
        for name in ["a", "again", "b"] {
            assert_eq!(
                of(name, "user.x").as_deref(),
                Some(&b"value"[..]),
                "{image}"
            );
        }
        assert_eq!(of("b", "user.y").as_deref(), Some(&[0; 3000][..]));
        assert_eq!(of(".", "user.root").as_deref(), Some(&b""[..]));
        assert_eq!(of("plain", "user.x"), None);
    }
    extract("without.dwarfs");
    assert_eq!(attribute(&path("out/a"), "user.x"), None);
}

/// Where a section of a type lies, header included.
fn section(image: &[u8], kind: u16) -> std::ops::Range<usize> {
    let mut at = 0;
    loop {
        let header = &image[at..at + 64];
        let len = u64::from_le_bytes(header[56..64].try_into().expect("8 bytes"));
        let end = at + 64 + usize::try_from(len).expect("a length");
        if header[52..54] == kind.to_le_bytes() {
            return at..end;
        }
        at = end;
    }
}

#[test]
fn reports_and_omits_foreign_attributes() {
    const XATTRS: u16 = 0x5801;
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    if !with_attributes(&path("tree")) {
        return;
    }
    let build = |time: &str| {
        let time = format!("--set-time={time}");
        let flags = [
            "build",
            "--force",
            "-q",
            "--metadata-compression=none",
            &time,
        ];
        let mut command = support::sinter();
        let command = command
            .args(flags)
            .arg(path("tree"))
            .arg("-o")
            .arg(path("image.dwarfs"));
        assert!(command.status().expect("sinter starts").success());
        std::fs::read(path("image.dwarfs")).expect("an image")
    };
    let (old, new) = (build("1000000"), build("2000000"));
    let (from, to) = (section(&old, XATTRS), section(&new, XATTRS));
    assert_eq!(from, to);
    let mut stale = new.clone();
    stale[to.clone()].copy_from_slice(&old[from]);
    let mut damaged = new;
    damaged[to.end - 5] ^= 1;
    for (image, why) in [
        (stale, "belong to other metadata"),
        (damaged, "cannot be used"),
    ] {
        std::fs::write(path("image.dwarfs"), image).expect("an image");
        let _ = std::fs::remove_dir_all(path("out"));
        let sinter = |args: &[&str]| {
            let mut command = support::sinter();
            let output = command.current_dir(work.path()).args(args).output();
            let output = output.expect("sinter starts");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            (
                output.status.code(),
                told + &String::from_utf8_lossy(&output.stdout),
            )
        };
        let (code, told) = sinter(&["extract", "image.dwarfs", "-o", "out"]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(why), "{told}");
        assert_eq!(std::fs::read(path("out/b")).expect("a file"), b"b");
        assert_eq!(attribute(&path("out/b"), "user.x"), None);
        let (code, told) = sinter(&["check", "image.dwarfs"]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains(why), "{told}");
        let convert = [
            "convert",
            "image.dwarfs",
            "-f",
            "erofs",
            "--force",
            "-o",
            "new.erofs",
        ];
        let (code, told) = sinter(&convert);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("attributes that cannot be used"), "{told}");
        let (code, told) = sinter(&[&convert[..], &["--strict"]].concat());
        assert_eq!(code, Some(2), "{told}");
    }
}

#[test]
fn the_system_s_own_files() {
    let (Some(shared), true) = (vectors(), is_root()) else {
        return;
    };
    let work = scratch();
    for source in ["/etc", "/usr/bin"] {
        check(
            &shared,
            Path::new(source),
            work.path(),
            &["-l1", "-x"],
            // files of a running system may have names outside of the directory
            &["--mtime-seconds", "--drop", "nlink"],
        );
    }
}
