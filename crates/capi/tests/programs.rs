//! Programs in C, C++ and Go that read images by the library: what they print against the manifests
//! of the shared vectors, their memory under valgrind.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use sinterfs_testkit::{read_file, shared, skip};
use support::{Installed, Vector, output, source, vectors};

const C99: [&str; 2] = ["cc", "-std=c99"];
/// POSIX besides C99, for programs of the tests.
const POSIX: [&str; 3] = ["cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L"];
const CXX: [&str; 4] = ["c++", "-std=c++11", "-x", "c++"];

/// Formats, and how many vectors each has at least.
const FORMATS: [(&str, usize); 4] = [
    ("dwarfs", 31),
    ("squashfs", 28),
    ("erofs", 47),
    ("cramfs", 4),
];

fn print_manifest(installed: &Installed, command: &mut Command, of: &Vector, to: &Path) {
    command.env("LD_LIBRARY_PATH", installed.lib());
    command.arg(&of.image).arg("0").args(&of.devices);
    fs::write(to, output(command).stdout).unwrap();
}

#[test]
fn every_vector_matches_its_manifest() {
    let Some(compare) = shared("vectors/manifest.py") else {
        return;
    };
    let installed = Installed::new();
    let program = installed.compile(&POSIX, "tests/c/manifest.c");
    let work = tempfile::tempdir().unwrap();
    let printed = work.path().join("printed.jsonl");
    for (format, least) in FORMATS {
        let vectors = vectors(&[format], work.path()).unwrap();
        assert!(vectors.len() >= least, "only {} of {format}", vectors.len());
        for vector in vectors {
            print_manifest(&installed, &mut Command::new(&program), &vector, &printed);
            let mut python = Command::new("python3");
            python.arg(&compare).arg("--compare").args(&vector.compare);
            output(python.arg(&vector.manifest).arg(&printed));
        }
    }
}

#[test]
fn no_memory_is_lost_or_misused() {
    let work = tempfile::tempdir().unwrap();
    let Some(mut vectors) = vectors(&["dwarfs", "squashfs", "erofs"], work.path()) else {
        return;
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        return skip("no valgrind");
    }
    let wanted = ["dwarfs/l7", "squashfs/zstd", "erofs/lzma-1m"];
    vectors.retain(|vector| wanted.contains(&&*format!("{}/{}", vector.format, vector.name)));
    assert_eq!(vectors.len(), wanted.len());
    let installed = Installed::new();
    let program = installed.compile(&POSIX, "tests/c/manifest.c");
    let misuse = installed.compile(&POSIX, "tests/c/misuse.c");
    let valgrind = || {
        let mut command = installed.command("valgrind");
        command.args(["-q", "--error-exitcode=9", "--leak-check=full"]);
        command.args(["--errors-for-leak-kinds=definite,indirect"]);
        command
    };
    for vector in vectors {
        let printed = work.path().join("printed");
        print_manifest(&installed, valgrind().arg(&program), &vector, &printed);
        let mut command = valgrind();
        command.arg(&misuse).arg(&vector.image);
        output(command.args(["conf", "conf/unit-001.conf"]));
    }
}

#[test]
fn failures_have_their_numbers() {
    let Some(image) = shared("vectors/images/dwarfs/l7.img") else {
        return;
    };
    let installed = Installed::new();
    for compiler in [&POSIX[..], &CXX] {
        let program = installed.compile(compiler, "tests/c/misuse.c");
        let mut command = installed.command(program);
        output(command.arg(&image).args(["conf", "conf/unit-001.conf"]));
    }
}

#[test]
fn threads_share_an_image_and_a_file() {
    let Some(image) = shared("vectors/images/dwarfs/l9-small-block.img") else {
        return;
    };
    let installed = Installed::new();
    let program = installed.compile(&POSIX, "tests/c/threads.c");
    output(
        installed
            .command(program)
            .arg(image)
            .args(["text/book.txt", "300"]),
    );
}

#[test]
fn images_are_mounted_and_unmounted() {
    let Some(image) = shared("vectors/images/squashfs/zstd.img") else {
        return;
    };
    if !Path::new("/dev/fuse").exists() {
        return skip("no /dev/fuse");
    }
    let installed = Installed::new();
    let program = installed.compile(&POSIX, "tests/c/mount.c");
    let work = tempfile::tempdir().unwrap();
    let dir = work.path().join("dir");
    fs::create_dir(&dir).unwrap();
    let mut command = installed.command(program);
    command.arg(image).args([&dir, &work.path().join("record")]);
    let printed = output(command.arg("conf/unit-001.conf")).stdout;
    assert_eq!(printed.len(), 73);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    let record = fs::read_to_string(work.path().join("record")).unwrap();
    assert_eq!(record, "conf/unit-001.conf\n");
}

#[test]
fn the_examples_run_as_c99_and_as_cxx() {
    let Some(image) = shared("vectors/images/squashfs/zstd.img") else {
        return;
    };
    let installed = Installed::new();
    let mut listings = Vec::new();
    for compiler in [&C99[..], &CXX] {
        let cat = installed.compile(compiler, "examples/cat.c");
        let shown = output(
            installed
                .command(&cat)
                .arg(&image)
                .arg("/links/dir/unit-001.conf"),
        );
        assert_eq!(shown.stdout.len(), 73);
        let missing = installed
            .command(&cat)
            .arg(&image)
            .arg("nowhere")
            .output()
            .unwrap();
        assert_eq!(missing.status.code(), Some(1));
        let told = String::from_utf8(missing.stderr).unwrap();
        assert!(
            told.contains("nowhere: no such file or directory (errno 2)"),
            "{told}"
        );
        let list = installed.compile(compiler, "examples/list.c");
        listings.push(output(installed.command(list).arg(&image)).stdout);
    }
    assert_eq!(listings[0], listings[1]);
    let lines = listings[0].split(|&byte| byte == b'\n');
    assert!(lines.count() >= 1139);
}

#[test]
fn pkg_config_lists_the_needs_of_the_static_library() {
    let Some(image) = shared("vectors/images/erofs/full-lzma.img") else {
        return;
    };
    let installed = Installed::new();
    let (program, lib) = (installed.0.path().join("cat"), installed.lib());
    fs::remove_file(lib.join("libsinterfs.so")).unwrap();
    let mut cc = Command::new("cc");
    cc.arg(source("examples/cat.c")).arg("-o").arg(&program);
    output(cc.args(installed.flags(&["--static", "--cflags", "--libs"])));
    let shown = output(Command::new(program).arg(image).arg("conf/unit-001.conf"));
    assert_eq!(shown.stdout.len(), 73);
}

#[test]
fn go_reads_every_file_by_cgo() {
    let Some(image) = shared("vectors/images/dwarfs/l7.img") else {
        return;
    };
    if Command::new("go").arg("version").output().is_err() {
        return skip("no go");
    }
    let installed = Installed::new();
    let mut go = installed.command("go");
    go.args(["run", "-mod=mod", "."]).arg(image);
    go.current_dir(source("examples/go"));
    go.env("PKG_CONFIG_PATH", installed.lib().join("pkgconfig"));
    go.env("GOFLAGS", "").env("GOTOOLCHAIN", "local");
    go.env("GOCACHE", installed.0.path().join("cache"));
    let printed = output(&mut go).stdout;
    // names need not be UTF-8; those that are compared are ASCII
    let printed = String::from_utf8_lossy(&printed);
    let manifest = read_file(&shared("vectors/manifests/small.jsonl.gz").unwrap());
    let manifest = String::from_utf8(manifest).unwrap();
    let sizes = manifest.lines().filter_map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        Some((row["size"].as_u64()?, row["path"].as_str()?.to_owned()))
    });
    let mut seen = 0;
    for (size, path) in sizes.filter(|(_, path)| path.is_ascii() && !path.contains(['\\', '\n'])) {
        let line = format!("{size} {path}");
        assert!(printed.lines().any(|printed| printed == line), "{line}");
        seen += 1;
    }
    assert!(seen > 500, "only {seen} files");
}
