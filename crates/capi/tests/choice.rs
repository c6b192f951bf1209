//! One image of several in a file, chosen by a C program: of a WIM file that wimlib made, of a disk
//! with the partition table of sfdisk.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use sinterfs::errno::Errno;
use sinterfs_testkit::{shared, skip};
use support::{Installed, output};

/// The program, with the library that it needs.
struct Choose {
    installed: Installed,
    program: PathBuf,
}

impl Choose {
    fn new() -> Self {
        let installed = Installed::new();
        let program = installed.compile(&["cc", "-std=c99"], "tests/c/choose.c");
        Self { installed, program }
    }

    fn says(&self, file: &Path, path: &str, option: &str, value: impl AsRef<OsStr>) -> String {
        let mut command = self.installed.command(&self.program);
        command.arg(file).args([path, option]).arg(value);
        String::from_utf8(output(&mut command).stdout).unwrap()
    }
}

fn shell(dir: &Path, script: &str) {
    let script = format!("set -e; PATH=$PATH:/usr/sbin; {script}");
    let mut sh = Command::new("sh");
    output(sh.args(["-c", &script]).current_dir(dir));
}

fn has(tool: &str) -> bool {
    let script = format!("PATH=$PATH:/usr/sbin command -v {tool}");
    let mut sh = Command::new("sh");
    let is_there = sh.args(["-c", &script]).output().unwrap().status.success();
    if !is_there {
        skip(&format!("no {tool}"));
    }
    is_there
}

/// Compares what the program says with an errno and a part of the message.
fn expect(said: &str, errno: Errno, part: &str) {
    let number = format!("{}: ", errno.raw_os_error());
    assert!(said.starts_with(&number) && said.contains(part), "{said}");
}

#[test]
fn an_image_of_a_wim_file_is_chosen() {
    if !has("wimlib-imagex") {
        return;
    }
    let work = tempfile::tempdir().unwrap();
    shell(
        work.path(),
        "mkdir a b; printf one >a/which; printf two >b/which; wimlib-imagex capture a x.wim first; \
         wimlib-imagex append b x.wim second",
    );
    let (choose, wim) = (Choose::new(), work.path().join("x.wim"));
    for (value, found) in [
        ("1", "one"),
        ("first", "one"),
        ("2", "two"),
        ("second", "two"),
    ] {
        assert_eq!(choose.says(&wim, "which", "image", value), found);
    }
    let said = choose.says(&wim, "which", "image", "third");
    expect(&said, Errno::NOENT, "third");
    let said = choose.says(&wim, "which", "image", OsStr::from_bytes(b"\xff"));
    expect(&said, Errno::INVAL, "UTF-8");
    let said = choose.says(&wim, "which", "partition", "1");
    expect(&said, Errno::INVAL, "partition");
}

#[test]
fn a_partition_of_a_disk_is_chosen() {
    let [Some(squashfs), Some(erofs)] = ["squashfs/zstd.img", "erofs/full-lzma.img"]
        .map(|name| shared(format!("vectors/images/{name}")))
    else {
        return;
    };
    if !has("sfdisk") {
        return;
    }
    let (choose, work) = (Choose::new(), tempfile::tempdir().unwrap());
    let disk = work.path().join("disk");
    let mut bytes = vec![0; 40 << 20];
    for (start, image) in [(1 << 20, &squashfs), (20 << 20, &erofs)] {
        let content = fs::read(image).unwrap();
        bytes[start..][..content.len()].copy_from_slice(&content);
    }
    fs::write(&disk, bytes).unwrap();
    shell(
        work.path(),
        "printf 'label: dos\\nstart=2048,size=36864\\nstart=40960,size=36864\\n' | sfdisk -q disk",
    );
    let path = "conf/unit-001.conf";
    for (image, number) in [(&squashfs, "1"), (&erofs, "2")] {
        let said = choose.says(&disk, path, "partition", number);
        assert_eq!(said.len(), 73, "{said}");
        let said = choose.says(image, path, "image", "1");
        expect(
            &said,
            Errno::INVAL,
            "`image` is for wim, udf and iso9660 images",
        );
    }
    let said = choose.says(&disk, path, "partition", "3");
    expect(&said, Errno::NOENT, "no partition 3");
}
