//! zip archives of other programs: what every verb makes of them is what 7-Zip unpacks.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::archives::{build_from, has};
use support::{Mounted, run, scratch, shell, sinter, try_run};

/// A tree with text, bytes that do not compress, zeros, links and a name that is not ASCII.
const TREE: &str = "
mkdir -p t/dir/sub t/empty && cd t
seq 1 20000 > dir/numbers
chmod 750 dir/numbers
seq 1 30000 | gzip -n > dir/sub/dense
head -c 3000000 /dev/zero > zeros
printf x > 'dir/na\u{ef}ve'
: > nothing
ln -s dir/numbers link
ln -s ../nowhere dir/dangling
";

/// Programs that write zips, and how they are called in the tree.
const WRITERS: [(&str, &str); 8] = [
    ("zip", "zip -qry ../a.zip ."),
    ("zip", "zip -qry -Z bzip2 ../a.zip ."),
    ("zip", "zip -qry0 - . > ../a.zip"),
    ("7zz", "7zz a -tzip -snl -mm=LZMA ../a.zip . > ../log"),
    ("7zz", "7zz a -tzip -snl -mm=Deflate ../a.zip . > ../log"),
    ("bsdtar", "bsdtar --format zip -cf ../a.zip *"),
    (
        "jar",
        "jar cf ../a.zip dir/sub dir/numbers nothing empty zeros",
    ),
    ("go", "GOCACHE=$PWD/../cache go run ../main.go > ../a.zip"),
];

/// Writes the tree with Go's package of zips.
const GO: &str = r#"package main

import (
	"archive/zip"
	"os"
)

func main() {
	writer := zip.NewWriter(os.Stdout)
	if err := writer.AddFS(os.DirFS("dir/sub")); err != nil {
		panic(err)
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
}
"#;

/// Unpacks an archive with 7-Zip.
fn theirs(archive: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    let mut command = Command::new("7zz");
    command.args(["x", "-y", "-snld"]).arg(archive);
    command.arg(format!("-o{}", to.display()));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn same_trees(one: &Path, other: &Path, what: &str) {
    let mut command = Command::new("diff");
    command.args(["-r", "--no-dereference"]).arg(one).arg(other);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{what}: {output:?}");
}

fn extract(archive: &Path, to: &Path) -> Output {
    let _ = fs::remove_dir_all(to);
    let mut command = sinter();
    command.args(["extract", "-q", "-o"]).arg(to).arg(archive);
    command.output().unwrap()
}

#[test]
fn zips_of_every_writer_are_what_7zip_unpacks() {
    if !has("7zz") {
        return;
    }
    let work = scratch();
    shell(work.path(), TREE);
    fs::write(work.path().join("main.go"), GO).unwrap();
    let archive = work.path().join("a.zip");
    let (ours, their) = (work.path().join("ours"), work.path().join("theirs"));
    let mut count = 0;
    for (program, script) in WRITERS.into_iter().filter(|(program, _)| has(program)) {
        let _ = fs::remove_file(&archive);
        shell(&work.path().join("t"), script);
        theirs(&archive, &their);
        let output = extract(&archive, &ours);
        assert!(output.status.success(), "{program}: {output:?}");
        same_trees(&ours, &their, script);
        let image = work.path().join("i");
        let output = build_from(&[archive.as_os_str()], &image, &[]);
        assert!(output.status.success(), "{program}: {output:?}");
        let output = try_run([Path::new("diff"), &archive, &image]);
        assert!(output.status.success(), "{program}: {output:?}");
        count += 1;
    }
    assert!(count >= 5, "only {count} writers");
}

/// Makes an archive with Info-ZIP of three files, of which the second is at a known place.
fn archive(work: &Path) -> PathBuf {
    shell(
        work,
        "mkdir d && seq 1 1000 > d/a && printf 'stored as it is' > d/b && seq 5 500 > d/c && \
         ln -s b d/l && chmod 640 d/b && zip -qry a.zip d",
    );
    work.join("a.zip")
}

#[test]
fn every_verb_looks_into_a_zip() {
    if !has("zip") {
        return;
    }
    let work = scratch();
    let archive = archive(work.path());
    let shown = |args: &[&str]| {
        let output = run(args.iter().copied().chain([archive.to_str().unwrap()]));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(
        shown(&["ls", "-R"]).contains("d/b"),
        "{}",
        shown(&["ls", "-R"])
    );
    let info = shown(&["info"]);
    assert!(info.contains("zip") && info.contains("deflate"), "{info}");
    assert!(shown(&["check"]).contains("no problem"));
    let output = run(["cat", archive.to_str().unwrap(), "d/l"]);
    assert_eq!(output.stdout, b"stored as it is");
    // the archive from a pipe, and after a program
    let whole = fs::read(&archive).unwrap();
    let program = work.path().join("program");
    fs::write(&program, [&b"#!/bin/sh\nexit\n"[..], &whole].concat()).unwrap();
    let output = run([Path::new("cat"), &program, Path::new("d/b")]);
    assert_eq!(output.stdout, b"stored as it is");
    let piped = format!(
        "cat a.zip | {} cat - d/b > piped",
        sinter().get_program().to_str().unwrap()
    );
    shell(work.path(), &piped);
    assert_eq!(
        fs::read(work.path().join("piped")).unwrap(),
        b"stored as it is"
    );
}

#[test]
fn archives_are_mounted() {
    if !(has("zip") && Path::new("/dev/fuse").exists() && support::is_root()) {
        return;
    }
    let work = scratch();
    let archive = archive(work.path());
    shell(work.path(), "tar -czf a.tgz d");
    for archive in [archive, work.path().join("a.tgz")] {
        let mounted = Mounted::new(&archive, &work.path().join("m"), &[]);
        same_trees(&work.path().join("d"), &mounted.0.join("d"), "the mount");
    }
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_there() {
    if !has("zip") {
        return;
    }
    let work = scratch();
    let archive = archive(work.path());
    // d/b becomes encrypted: the bit of the flags in the directory
    let mut bytes = fs::read(&archive).unwrap();
    let entry = |bytes: &[u8], name: &[u8]| {
        let at = |at: usize| {
            bytes[at..].starts_with(b"PK\x01\x02") && bytes[at + 46..].starts_with(name)
        };
        (0..bytes.len() - 46).find(|&start| at(start)).unwrap()
    };
    let of_b = entry(&bytes, b"d/b");
    bytes[of_b + 8] |= 1;
    fs::write(&archive, &bytes).unwrap();
    let to = work.path().join("to");
    let output = extract(&archive, &to);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("d/b") && words.contains("is encrypted"),
        "{words}"
    );
    assert!(to.join("d/a").exists() && !to.join("d/b").exists());
    // a byte of its content changes
    bytes[of_b + 8] &= !1;
    let local = u32::from_le_bytes(bytes[of_b + 42..of_b + 46].try_into().unwrap()) as usize;
    let extra = usize::from(bytes[local + 28]);
    bytes[local + 30 + 3 + extra] ^= 1;
    fs::write(&archive, &bytes).unwrap();
    let output = try_run(["cat", archive.to_str().unwrap(), "d/b"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(
        words.contains("checksum") && output.stdout.is_empty(),
        "{words}"
    );
    let output = try_run(["cat", archive.to_str().unwrap(), "d/c"]);
    assert!(output.status.success(), "{output:?}");
    let output = try_run(["check", archive.to_str().unwrap()]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("d/b"), "{words}");
}

#[test]
fn names_that_lead_outside_and_many_members() {
    let work = scratch();
    let script = "
python3 - <<'END'
import zipfile, warnings
warnings.simplefilter('ignore')
with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_LZMA) as z:
    for name, text in [('../out', 'no'), ('/abs', 'yes'), ('d', '1'), ('d', '2')]:
        z.writestr(name, text)
    z.writestr(zipfile.ZipInfo('dos\\\\name'), 'x')
with zipfile.ZipFile('many.zip', 'w') as z:
    for i in range(66000):
        z.writestr('d%d/f%d' % (i % 100, i), 'x')
with zipfile.ZipFile('long.zip', 'w') as z:
    with z.open('f', 'w', force_zip64=True) as f:
        f.write(b'64 bits')
END
";
    shell(work.path(), script);
    let to = work.path().join("to");
    let output = extract(&work.path().join("a.zip"), &to);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("has `..` in its path"), "{words}");
    assert_eq!(fs::read(to.join("abs")).unwrap(), b"yes");
    assert_eq!(fs::read(to.join("d")).unwrap(), b"2");
    assert!(!work.path().join("out").exists());
    let output = run([
        Path::new("ls"),
        Path::new("-R"),
        &work.path().join("many.zip"),
    ]);
    let names = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        names.lines().filter(|line| line.contains("/f")).count(),
        66_000
    );
    let output = run([
        Path::new("cat"),
        &work.path().join("long.zip"),
        Path::new("f"),
    ]);
    assert_eq!(output.stdout, b"64 bits");
}
