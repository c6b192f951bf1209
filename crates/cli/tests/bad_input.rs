//! What goes wrong ends in one line that says what and where, with its exit code, and nothing
//! damaged.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};
use sinterfs_testkit::noise;
use support::{is_root, run, scratch, sinter, try_run};

/// A small tree and its image.
fn image(work: &Path) -> std::path::PathBuf {
    let tree = work.join("tree");
    fs::create_dir_all(tree.join("dir")).unwrap();
    for i in 0..50u32 {
        let text: String = (0..200)
            .map(|j| format!("{} ", i.wrapping_mul(2_654_435_761) ^ j))
            .collect();
        fs::write(tree.join(format!("dir/file{i}")), text).unwrap();
    }
    let image = work.join("image.dwarfs");
    run([
        Path::new("build"),
        &tree,
        Path::new("-o"),
        &image,
        Path::new("-l1"),
    ]);
    image
}

/// Checks exit code and words of a failure: exactly one line, and it says `word`.
fn fails(output: &Output, code: i32, word: &str) {
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{words}");
    assert_eq!(words.lines().count(), 1, "{words}");
    assert!(
        words.starts_with("sinter: ") && words.contains(word),
        "no `{word}` in: {words}"
    );
}

#[test]
fn refuses_files_that_are_not_images() {
    let work = scratch();
    let text = work.path().join("text");
    fs::write(&text, "not an image at all\n".repeat(100)).unwrap();
    let empty = work.path().join("empty");
    fs::write(&empty, "").unwrap();
    let zip = work.path().join("zip");
    fs::write(&zip, b"PK\x03\x04\x14\0").unwrap();
    for verb in ["ls", "info", "check"] {
        fails(&try_run([Path::new(verb), &text]), 4, "text");
        fails(&try_run([Path::new(verb), &empty]), 4, "the file is empty");
        fails(
            &try_run([Path::new(verb), &zip]),
            3,
            "the archive has no end",
        );
        fails(&try_run([verb, "/no/such/file"]), 5, "/no/such/file");
        assert!(matches!(
            try_run([Path::new(verb), work.path()]).status.code(),
            Some(2 | 7)
        ));
    }
}

#[test]
fn truncated_images_are_refused() {
    let work = scratch();
    let image = image(work.path());
    let bytes = fs::read(&image).unwrap();
    let cut = work.path().join("cut");
    for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
        fs::write(&cut, &bytes[..at]).unwrap();
        let output = try_run([Path::new("check"), &cut]);
        assert!(
            matches!(output.status.code(), Some(1 | 3 | 4)),
            "cut at {at}: {output:?}"
        );
    }
}

#[test]
fn a_flipped_bit_is_found_by_check() {
    let work = scratch();
    let image = image(work.path());
    let bytes = fs::read(&image).unwrap();
    let bad = work.path().join("bad");
    for at in (0..bytes.len()).step_by(bytes.len() / 60 + 1) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        fs::write(&bad, flipped).unwrap();
        let output = try_run([Path::new("check"), &bad]);
        assert!(!output.status.success(), "flip at {at} was not noticed");
        assert!(
            output.status.code().is_some(),
            "flip at {at}: killed by a signal"
        );
    }
}

#[test]
fn an_existing_output_is_kept() {
    let work = scratch();
    let image = image(work.path());
    let before = fs::read(&image).unwrap();
    let tree = work.path().join("tree");
    let output = try_run([Path::new("build"), &tree, Path::new("-o"), &image]);
    fails(&output, 2, "--force");
    assert_eq!(fs::read(&image).unwrap(), before);
    run([
        Path::new("build"),
        &tree,
        Path::new("-o"),
        &image,
        Path::new("--force"),
        Path::new("-l0"),
    ]);
    assert_ne!(fs::read(&image).unwrap(), before);
}

#[test]
fn wrong_arguments_are_explained() {
    let work = scratch();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let out = work.path().join("out");
    let build = |flags: &[&str]| {
        let mut command = sinter();
        command
            .arg("build")
            .arg(&tree)
            .arg("-o")
            .arg(&out)
            .args(flags);
        command.output().unwrap()
    };
    fails(&build(&["-C", "zstd:level=99"]), 2, "level");
    fails(&build(&["-C", "gzip"]), 2, "gzip");
    fails(&build(&["-b", "3000"]), 2, "power of two");
    fails(&build(&["--chmod", "q+z"]), 2, "q+z");
    fails(&build(&["--time-resolution", "1parsec"]), 2, "parsec");
    let unknown = build(&["--format", "tape"]);
    assert_eq!(unknown.status.code(), Some(2));
    let words = String::from_utf8_lossy(&unknown.stderr);
    assert!(
        words.contains("'tape'") && words.contains("possible values: dwarfs"),
        "{words}"
    );
    fails(&build(&["--exclude", "a[b"]), 2, "a[b");
    assert_eq!(build(&["-l", "10"]).status.code(), Some(2));
    fails(
        &try_run(["build", "/no/such/dir", "-o", "/dev/null"]),
        5,
        "/no/such/dir",
    );
    assert!(!out.exists());
}

#[test]
fn unmountable_places_are_explained() {
    let work = scratch();
    let image = image(work.path());
    let missing = work.path().join("missing");
    fails(
        &try_run([Path::new("mount"), &image, &missing]),
        5,
        "missing",
    );
    fails(
        &try_run([Path::new("mount"), &image, &image]),
        2,
        "directory",
    );
    let umount = try_run([Path::new("umount"), work.path()]);
    assert!(matches!(umount.status.code(), Some(2 | 5)), "{umount:?}");
}

#[test]
fn a_full_disk_leaves_nothing() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let small = work.path().join("small");
    let source = work.path().join("source");
    fs::create_dir_all(&small).unwrap();
    fs::create_dir_all(&source).unwrap();
    fs::write(source.join("noise"), noise(1, 8 << 20)).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "none"])
        .arg(&small)
        .status();
    assert!(mount.unwrap().success());
    let built = ["image.dwarfs", "image.squashfs", "image.erofs"].map(|name| {
        let output = try_run([
            Path::new("build"),
            &source,
            Path::new("-o"),
            &small.join(name),
            Path::new("-q"),
        ]);
        (output, fs::read_dir(&small).unwrap().count())
    });
    assert!(
        Command::new("umount")
            .arg(&small)
            .status()
            .unwrap()
            .success()
    );
    for (output, left) in built {
        fails(&output, 7, "space");
        assert_eq!(left, 0);
    }
}

#[test]
fn a_killed_or_interrupted_build_leaves_nothing() {
    let work = scratch();
    let source = work.path().join("source");
    let target = work.path().join("target");
    fs::create_dir_all(&source).unwrap();
    fs::create_dir_all(&target).unwrap();
    // digits: hard work for a codec, unlike noise, which is stored as it is
    let digits: Vec<u8> = noise(2, 48 << 20)
        .iter()
        .map(|byte| b'0' + byte % 10)
        .collect();
    fs::write(source.join("digits"), digits).unwrap();
    let images = [
        ("image.dwarfs", "lzma:level=9"),
        ("image.squashfs", "lzma:level=9"),
        ("image.erofs", "zstd:level=22"),
    ];
    let ends = [(Signal::INT, Some(130)), (Signal::KILL, None)];
    for ((name, codec), (signal, code)) in images
        .into_iter()
        .flat_map(|image| ends.map(|end| (image, end)))
    {
        let mut child = sinter()
            .arg("build")
            .arg(&source)
            .args(["-q", "-C", codec, "-b", "1M", "-o"])
            .arg(target.join(name))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(700));
        let start = Instant::now();
        rustix::process::kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            code,
            "the build was over before the signal?"
        );
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{signal:?} took too long"
        );
        assert_eq!(
            fs::read_dir(&target).unwrap().count(),
            0,
            "{signal:?} left something behind"
        );
    }
}

#[test]
fn a_directory_without_permission_is_reported() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let image = image(work.path());
    let closed = work.path().join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(work.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o500)).unwrap();
    let program = work.path().join("sinter");
    fs::copy(env!("CARGO_BIN_EXE_sinter"), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .arg("build")
        .arg(work.path().join("tree"))
        .arg("-q")
        .arg("-o")
        .arg(closed.join("image"))
        .output()
        .unwrap();
    fails(&output, 7, "closed");
    drop(image);
}

#[test]
fn a_mount_survives_its_image_being_cut() {
    if !is_root() {
        return;
    }
    let ways = ["--fuse", "--kernel"];
    for way in ways
        .into_iter()
        .take(1 + usize::from(support::kernel_serves()))
    {
        survives_being_cut(way);
    }
}

fn survives_being_cut(way: &str) {
    let work = scratch();
    let image = image(work.path());
    let mounted = support::Mounted::new(&image, &work.path().join("mnt"), &[way]);
    fs::File::options()
        .write(true)
        .open(&image)
        .unwrap()
        .set_len(0)
        .unwrap();
    let read = fs::read(mounted.0.join("dir/file0"));
    assert_eq!(
        read.unwrap_err().raw_os_error(),
        Some(rustix::io::Errno::IO.raw_os_error())
    );
    assert_eq!(fs::read_dir(mounted.0.join("dir")).unwrap().count(), 50);
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let work = scratch();
    let image = image(work.path());
    let mut cases: Vec<Vec<&str>> = ["info", "ls", "check"].map(|verb| vec![verb]).to_vec();
    cases.extend([
        vec!["info", "--json"],
        vec!["check", "--json"],
        vec!["info", "--dump"],
    ]);
    for case in cases {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = sinter()
            .args(&case)
            .arg(&image)
            .stdout(full)
            .output()
            .unwrap();
        fails(&output, 7, "space");
    }
}

#[test]
fn standard_output_that_is_closed_or_read_only_is_an_error() {
    let work = scratch();
    image(work.path());
    let run = |redirection: &str, command: &str| {
        let script = format!("\"$0\" {command} {redirection}");
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &script, env!("CARGO_BIN_EXE_sinter")]);
        shell.current_dir(work.path()).output().unwrap()
    };
    for verb in [
        "ls IMAGE",
        "find IMAGE",
        "tree IMAGE",
        "du IMAGE",
        "stat IMAGE .",
        "info IMAGE",
        "info --dump IMAGE",
        "check IMAGE",
        "digest IMAGE",
        "extract -q --tar IMAGE",
        "convert -q -f squashfs IMAGE -o -",
        "--help",
        "--version",
        "build --help",
        "completions bash",
        "man",
    ] {
        let command = verb.replace("IMAGE", "image.dwarfs");
        for redirection in [">&-", "1</dev/null", "<&- >&-"] {
            let output = run(redirection, &command);
            let words = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                output.status.code(),
                Some(7),
                "{command}{redirection}: {words}"
            );
            assert!(words.contains("Bad file descriptor"), "{command}: {words}");
        }
        assert_ne!(
            run(">/dev/full", &command).status.code(),
            Some(0),
            "{command}"
        );
        // who discards what is printed has no error
        for redirection in [">/dev/null", "1<>/dev/null", ">/dev/null 2>&-"] {
            let output = run(redirection, &command);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{command}{redirection}: {output:?}"
            );
        }
    }
    // nothing is printed
    let quiet = "convert -q -f squashfs image.dwarfs -o new";
    assert_eq!(run(">&- 2>&-", quiet).status.code(), Some(0));
    for name in ["unsquashfs", "rdsquashfs", "mksquashfs", "mkfs.erofs"] {
        let link = work.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), link).unwrap();
        let script = format!("./{name} --help >&-");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(work.path());
        let output = shell.output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{name}");
    }
}

#[test]
fn sizes_beyond_64_bits_are_refused() {
    let work = scratch();
    let source = work.path().join("source");
    fs::create_dir(&source).unwrap();
    for name in ["a", "b", "c"] {
        let file = fs::File::create(source.join(name)).unwrap();
        if file.set_len(i64::MAX as u64 - 4095).is_err() {
            support::skip("this file system has no files of 8 EiB");
            return;
        }
    }
    let image = work.path().join("image");
    fails(
        &try_run([
            Path::new("build"),
            &source,
            Path::new("-o"),
            &image,
            Path::new("-q"),
        ]),
        6,
        "",
    );
    assert!(!image.exists());
}

#[test]
fn an_image_does_not_hold_the_one_it_replaces() {
    let work = scratch();
    let tree = work.path().join("tree");
    drop(image(work.path()));
    let inside = tree.join("image.dwarfs");
    run([
        Path::new("build"),
        &tree,
        Path::new("-o"),
        &inside,
        Path::new("-q"),
    ]);
    let args = ["build", "-q", "--force", "--set-time", "1", "-o"];
    let build = || {
        let output = sinter()
            .args(args)
            .arg(&inside)
            .arg(&tree)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        fs::read(&inside).unwrap()
    };
    assert_eq!(build(), build());
    let listing = run([Path::new("ls"), &inside]);
    assert_eq!(String::from_utf8_lossy(&listing.stdout), "dir\n");
}

#[test]
fn a_name_that_promises_another_format_is_refused() {
    let work = scratch();
    let tree = work.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let zip = work.path().join("image.zip");
    fails(
        &try_run([Path::new("build"), &tree, Path::new("-o"), &zip]),
        4,
        "--format dwarfs",
    );
    let fifo = work.path().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    fails(&try_run([Path::new("info"), &fifo]), 2, "regular file");
}

#[test]
fn metadata_that_is_stored_twice_survives_damage() {
    let work = scratch();
    let small = image(work.path());
    let (twice, new) = (work.path().join("twice.dwarfs"), work.path().join("new"));
    let (tree, path) = (work.path().join("tree"), twice.to_str().unwrap());
    let new = new.to_str().unwrap();
    let build = ["build", "-q", "-l1", "--metadata-copy", "--with-digest"];
    let mut command = sinter();
    command.args(build).arg(&tree).args(["-o", path]);
    assert!(command.status().unwrap().success());
    let mut bytes = fs::read(&twice).unwrap();
    assert!(bytes.len() as u64 > fs::metadata(&small).unwrap().len());
    run(["check", path]);
    // a rewrite makes a copy of its own
    run(["recompress", "-q", path, "-o", new]);
    let told = run(["info", new]);
    assert!(String::from_utf8_lossy(&told.stdout).contains("METADATA_COPY"));
    run(["check", new]);
    // all from the schema to the history, whose offsets are in the index
    let (schema, history) = (section(&bytes, 7), section(&bytes, 10));
    bytes[schema..history].fill(0xff);
    fs::write(&twice, &bytes).unwrap();
    let told = |output: &Output| {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.contains("its copy is used"), "{words}");
    };
    let output = run(["ls", path]);
    told(&output);
    assert!(String::from_utf8_lossy(&output.stdout).contains("dir"));
    let output = try_run(["check", path]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let target = work.path().join("out");
    told(&try_run([
        Path::new("extract"),
        &twice,
        Path::new("-o"),
        &target,
    ]));
    for i in 0..50 {
        let name = format!("dir/file{i}");
        let (one, other) = (fs::read(tree.join(&name)), fs::read(target.join(&name)));
        assert_eq!(one.unwrap(), other.unwrap());
    }
    // what is written anew is whole; what is copied is refused
    let again = |flags: &[&str]| {
        let all = ["recompress", "-q", "--force", path, "-o", new];
        try_run(all.iter().chain(flags))
    };
    assert_eq!(again(&[]).status.code(), Some(3));
    let rebuilt = again(&["--rebuild", "-l1"]);
    assert!(rebuilt.status.success(), "{rebuilt:?}");
    run(["check", new]);
    run(["diff", new, small.to_str().unwrap()]);
    // both copies
    let copy = section(&bytes, 0x5804);
    bytes[copy + 100] ^= 1;
    fs::write(&twice, &bytes).unwrap();
    fails(&try_run(["ls", path]), 3, "its copy cannot be used");
    let other = ["build", "--format", "squashfs", "--metadata-copy"];
    let output = try_run(other.iter().chain(&[small.to_str().unwrap(), "-o", new]));
    fails(&output, 2, "--metadata-copy");
}

/// Returns the offset of the first section of a type, which the index has: the last bytes of an
/// image are the entry of the index itself.
fn section(image: &[u8], kind: u64) -> usize {
    let entry = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let place = |entry: u64| usize::try_from(entry & ((1 << 48) - 1)).unwrap();
    let index = place(entry(image.last_chunk::<8>().unwrap())) + 64;
    let mut entries = image[index..].chunks_exact(8).map(entry);
    place(entries.find(|entry| entry >> 48 == kind).unwrap())
}
