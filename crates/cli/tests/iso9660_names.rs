//! The program called as genisoimage and xorrisofs: images that hold what those of the real tools
//! hold, boot images that they would find, and options that are refused and not ignored.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::archives::words_of;
use support::{called, compare, is_root, make_tree, run, scratch, skip, try_run, vectors};

fn extracted(image: &Path, to: &Path) {
    let words = [Path::new("extract"), Path::new("-q"), Path::new("-o")];
    run(words.into_iter().chain([to, image]));
}

#[test]
fn images_match_the_real_tools() {
    let Some(shared) = vectors() else {
        return;
    };
    if !is_root() {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--plain"]);
    let cases = [
        "-D -R -J -V NAME",
        "-D -rational-rock -volid NAME -A application",
        "-D -r -file-mode 0640 -dir-mode 0750 -m *.conf -uid 7",
    ];
    for name in ["genisoimage", "xorrisofs"] {
        for options in cases {
            // xorriso takes paths below /dev for drives
            let theirs = match name {
                "xorrisofs" => format!("stdio:{}", path("theirs").display()),
                _ => "theirs".to_owned(),
            };
            let words: Vec<&str> = options.split(' ').chain(["-quiet", "-o"]).collect();
            let ours = called(work.path(), name, &[&words[..], &["ours", "tree"]].concat());
            assert!(ours.status.success(), "{}", words_of(&ours));
            let _ = fs::remove_file(path("theirs"));
            let real = Command::new(name)
                .current_dir(work.path())
                .args([&words[..], &[&theirs, "tree"]].concat())
                .output();
            let Ok(real) = real else {
                skip(&format!("no {name}"));
                break;
            };
            assert!(real.status.success(), "{}", words_of(&real));
            extracted(&path("ours"), &path("a"));
            extracted(&path("theirs"), &path("b"));
            // xorrisofs does not record hard links, which does no harm here
            let less: &[&str] = match name {
                "xorrisofs" => &["--mtime-seconds", "--no-links", "--drop", "nlink"],
                _ => &["--mtime-seconds"],
            };
            compare(&shared, less, &path("b"), &path("a"));
            for tree in ["a", "b"] {
                fs::remove_dir_all(path(tree)).unwrap();
            }
        }
    }
}

#[test]
fn names_of_joliet_may_be_long() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir_all(path("tree/dir")).unwrap();
    for len in [64, 65, 99, 104, 140] {
        fs::write(path("tree/dir").join("n".repeat(len)), "").unwrap();
    }
    let names = |image: &str| {
        let mut command = Command::new("isoinfo");
        let command = command.current_dir(work.path());
        command.args(["-J", "-f", "-i", image]).output().ok()
    };
    for words in ["-J -R", "-J -joliet-long -allow-limited-size -R"] {
        let words: Vec<&str> = words.split(' ').collect();
        let ours = called(
            work.path(),
            "genisoimage",
            &[&words[..], &["-o", "ours", "tree"]].concat(),
        );
        assert!(ours.status.success(), "{}", words_of(&ours));
        let Some(found) = names("ours") else {
            skip("no isoinfo");
            return;
        };
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        let longest = found.lines().map(str::len).max().unwrap();
        // beside `/dir/` and the version
        let most = if words.len() > 2 { 103 } else { 64 };
        assert_eq!(longest, most + 7, "{found}");
        assert_eq!(found.lines().count(), 6, "{found}");
    }
}

#[test]
fn boot_images_are_files_of_the_tree() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir_all(path("tree/boot")).unwrap();
    fs::write(path("tree/boot/bios"), vec![b'B'; 3000]).unwrap();
    fs::write(path("tree/boot/efi"), vec![b'E'; 5000]).unwrap();
    fs::write(path("mbr"), vec![b'M'; 440]).unwrap();
    let words = "-o image -R -c boot/catalog -b boot/bios -no-emul-boot -boot-load-size 4 \
                 -boot-info-table -eltorito-alt-boot -e boot/efi -no-emul-boot -isohybrid-mbr mbr \
                 -isohybrid-gpt-basdat tree";
    let words: Vec<&str> = words.split_whitespace().collect();
    let output = called(work.path(), "xorrisofs", &words);
    assert!(output.status.success(), "{}", words_of(&output));
    let info = run([Path::new("info"), &path("image")]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    for expected in [
        "BIOS, no emulation, 4 sectors",
        "UEFI, no emulation, 10 sectors",
    ] {
        assert!(info.contains(expected), "{info}");
    }
    let bytes = fs::read(path("image")).unwrap();
    assert!(bytes[..432] == [b'M'; 432] && bytes[512..520] == *b"EFI PART");
}

#[test]
fn refuses_unsupported_options() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/boot"), "boot").unwrap();
    for (words, hint) in [
        ("-o i", "the directory is missing"),
        ("-o i -b boot tree", "-no-emul-boot"),
        ("-o i -no-emul-boot tree", "no -b or -e"),
        ("-o i -b nothing -no-emul-boot tree", "tree/nothing"),
        ("-o i -iso-level 0 tree", "must be from 1 to 4"),
        ("-o i -partition_offset 16 tree", "one set of descriptors"),
        ("-o i -input-charset latin1 tree", "only utf-8"),
        ("-o i -A a,b tree", "-A: the value must not contain a comma"),
        ("-o i -isohybrid-gpt-basdat tree", "-isohybrid-mbr FILE"),
        ("-o i -file-mode rw tree", "not an octal number"),
        ("-o i -udf tree", "UDF trees are not written"),
        ("-o i -frobnicate tree", "--help"),
    ] {
        let args: Vec<&str> = words.split(' ').collect();
        let output = called(work.path(), "mkisofs", &args);
        let said = words_of(&output);
        assert!(
            !output.status.success() && said.contains(hint),
            "{words}: {said}"
        );
        assert!(!path("i").exists(), "{words}");
    }
    let help = called(work.path(), "mkisofs", &["-help"]);
    let text = String::from_utf8_lossy(&help.stdout).into_owned();
    assert!(help.status.success() && text.contains("Not supported"));
}

#[test]
fn exit_codes_are_those_of_the_real_tools() {
    let work = scratch();
    fs::create_dir(work.path().join("tree")).unwrap();
    for (name, words, code) in [
        ("genisoimage", "-o i", 1),
        ("genisoimage", "-o i missing", 2),
        ("genisoimage", "-o missing/i tree", 2),
        ("xorrisofs", "-frobnicate -o i tree", 5),
        ("xorrisofs", "-o i missing", 5),
        ("xorrisofs", "-o missing/i tree", 5),
    ] {
        let args: Vec<&str> = words.split(' ').collect();
        let ours = called(work.path(), name, &args);
        let said = words_of(&ours);
        assert_eq!(ours.status.code(), Some(code), "{name} {words}: {said}");
        let mut real = Command::new(name);
        let Ok(real) = real.current_dir(work.path()).args(&args).output() else {
            skip(&format!("no {name}"));
            continue;
        };
        assert_eq!(real.status.code(), Some(code), "the real {name} {words}");
    }
}

#[test]
fn discs_with_two_trees_are_read_by_udf() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/README.TXT"), "needs UDF").unwrap();
    fs::write(path("tree/install.wim"), vec![7; 300_000]).unwrap();
    std::os::unix::fs::symlink("README.TXT", path("tree/link")).unwrap();
    let disc = |name: &str, options: &[&str]| {
        let made = Command::new("/usr/bin/genisoimage")
            .current_dir(work.path())
            .args(["-quiet", "-udf", "-o", name])
            .args(options)
            .arg("tree")
            .output();
        made.is_ok_and(|made| made.status.success())
    };
    if !disc("plain.iso", &["-iso-level", "3", "-hide", "install.wim"]) {
        skip("no genisoimage");
        return;
    }
    assert!(disc("rock-ridge.iso", &["-R"]));
    assert!(disc("hidden.iso", &["-R", "-hide", "install.wim"]));
    let said = |words: &[&str], image: &Path| {
        let output = try_run(words.iter().map(Path::new).chain([image]));
        let (out, told) = (output.stdout, output.stderr);
        let text = [out, told].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        (output.status.code().unwrap(), text.concat())
    };
    let plain = path("plain.iso");
    let (code, listed) = said(&["ls"], &plain);
    assert_eq!((code, &*listed), (0, "README.TXT\ninstall.wim\n"));
    let (code, listed) = said(&["ls", "--image", "iso9660"], &plain);
    assert!(
        code == 0 && !listed.to_lowercase().contains("install"),
        "{listed}"
    );
    assert_eq!(said(&["ls", "--image", "udf"], &plain).0, 0);
    assert_eq!(said(&["ls", "--image", "other"], &plain).0, 5);
    let (_, info) = said(&["info"], &plain);
    assert!(info.contains("UDF") && info.contains("ISO 9660"), "{info}");
    let (code, checked) = said(&["check"], &plain);
    assert!(code == 0 && checked.contains("UDF"), "{checked}");
    let out = path("out.dwarfs");
    let to = ["convert", "--force", "-o", out.to_str().unwrap()];
    let (code, told) = said(&to, &plain);
    assert!(code == 0 && told.contains("ISO 9660"), "{told}");
    // a symlink is an empty file in this UDF tree, and a file is not in the other tree
    let (code, told) = said(&to, &path("hidden.iso"));
    assert!(code == 1 && told.contains("/link"), "{told}");
    let whole = [&to[..], &["--image", "iso9660"]].concat();
    assert_eq!(said(&whole, &path("hidden.iso")).0, 0);
    // the tree of ISO 9660 has everything
    let (code, told) = said(&to, &path("rock-ridge.iso"));
    assert_eq!(code, 0, "{told}");
    let (_, listed) = said(&["ls", "-l"], &path("rock-ridge.iso"));
    assert!(listed.contains("link -> README.TXT"), "{listed}");

    let mut bytes = fs::read(&plain).unwrap();
    let set = (257..400).find(|block| bytes[block * 2048..][..2] == [0, 1]);
    bytes[set.unwrap() * 2048 + 20] ^= 1;
    let damaged = path("damaged.iso");
    fs::write(&damaged, bytes).unwrap();
    let (code, told) = said(&to, &damaged);
    assert!(code == 1 && told.contains("UDF tree"), "{told}");
    assert_eq!(said(&whole, &damaged).0, 0);
    assert_eq!(said(&["check"], &damaged).0, 1);
    assert_eq!(said(&["ls", "--image", "udf"], &damaged).0, 3);
}
