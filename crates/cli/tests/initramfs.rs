//! An initramfs as source: several archives, each compressed in its own way, with zeros between.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use support::archives::{build_from, has};
use support::{run, scratch, shell};

/// Looks into an image and the archive that it was made of.
fn looks_the_same(image: &Path, archive: &Path) {
    for words in [
        "ls -R @",
        "tree @",
        "find @",
        "cat @ etc/name",
        "grep 29999 @",
        "extract --tar @",
    ] {
        let said = |of: &Path| {
            let words = words.split(' ').map(|word| match word {
                "@" => of.as_os_str(),
                word => OsStr::new(word),
            });
            run(words).stdout
        };
        let (expected, found) = (said(image), said(archive));
        assert!(!found.is_empty() && expected == found, "{words}");
    }
}

#[test]
fn an_initramfs_of_several_archives_is_one_tree() {
    let tools = ["cpio", "gzip", "xz", "zstd", "lz4"];
    if !tools.into_iter().all(has) {
        return;
    }
    let work = scratch();
    let script = "mkdir -p one/kernel/x86 two/etc two/kernel three/etc
        echo microcode >one/kernel/x86/code; ln one/kernel/x86/code one/kernel/hard
        echo two >two/etc/name; seq 1 30000 >two/etc/numbers; echo three >three/etc/name
        for part in one two three; do
            (cd $part; find . | sort | cpio -o -H newc --quiet >../$part.cpio)
        done
        mkdir tree; cp -a one/. two/. three/. tree";
    shell(work.path(), script);
    let image = work.path().join("image.dwarfs");
    let to = work.path().join("to");
    for make in [
        "cat one.cpio two.cpio three.cpio",
        "cat one.cpio; head -c 4096 /dev/zero; cat two.cpio; head -c 508 /dev/zero; cat three.cpio",
        "cat one.cpio; cat two.cpio three.cpio | gzip",
        "cat one.cpio; head -c 1024 /dev/zero; cat two.cpio three.cpio | zstd -q",
        "cat one.cpio two.cpio; xz --check=crc32 <three.cpio",
        "cat one.cpio two.cpio three.cpio | zstd -q",
        "cat one.cpio two.cpio three.cpio | lz4 -lq",
        "cat one.cpio two.cpio three.cpio | lz4 -q",
        "cat one.cpio two.cpio three.cpio | xz --format=lzma",
        "cat one.cpio; head -c 512 /dev/zero; cat two.cpio three.cpio | lz4 -lq",
        "cat one.cpio; cat two.cpio three.cpio | xz --format=lzma",
        "lz4 -lq <one.cpio; head -c 3 /dev/zero; lz4 -lq <two.cpio; lz4 -lq <three.cpio",
        "xz --format=lzma <one.cpio; lz4 -lq <two.cpio; head -c 4 /dev/zero; gzip <three.cpio",
        "gzip <one.cpio; head -c 700 /dev/zero; cat two.cpio; xz --format=lzma <three.cpio",
        "bzip2 <one.cpio; xz --check=crc32 <two.cpio; zstd -q <three.cpio; head -c 9 /dev/zero",
    ] {
        shell(work.path(), &format!("( {make} ) >initrd"));
        let initrd = work.path().join("initrd");
        let output = build_from(&[initrd.as_os_str()], &image, &[]);
        assert!(output.status.success(), "{make}: {output:?}");
        assert!(output.stderr.is_empty(), "{make}: {output:?}");
        for from in [&image, &initrd] {
            let _ = fs::remove_dir_all(&to);
            run([
                "extract".as_ref(),
                from.as_os_str(),
                "-q".as_ref(),
                "-o".as_ref(),
                to.as_os_str(),
            ]);
            shell(
                work.path(),
                "diff -r tree to; test to/kernel/hard -ef to/kernel/x86/code",
            );
        }
        looks_the_same(&image, &initrd);
    }
    for compress in ["gzip", "lz4 -lq", "xz --format=lzma"] {
        shell(
            work.path(),
            &format!("( cat one.cpio; {compress} <two.cpio | head -c 2000 ) >initrd"),
        );
        let output = build_from(&[work.path().join("initrd").as_os_str()], &image, &[]);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        // the blocks of LZ4 are behind the magic of their frame
        let at = fs::metadata(work.path().join("one.cpio")).unwrap().len();
        let at = [at, at + 4].map(|at| format!("at {at:#x}: "));
        assert!(at.iter().any(|at| message.contains(at)), "{message}");
        assert!(!output.status.success(), "{output:?}");
    }
}
