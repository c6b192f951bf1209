//! Images inside of devices: compressed ones (`sinter cloop`), which extract_compressed_fs unpacks,
//! and disks that sfdisk divides.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::archives::words_of;
use support::{build, run, scratch, skip, try_run};

#[test]
fn an_image_in_a_device_is_opened_and_unpacked() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/text"), "some text ".repeat(50_000)).unwrap();
    fs::write(path("tree/noise"), sinterfs_testkit::noise(1, 300_000)).unwrap();
    let image = build("squashfs", &path("tree"), &path("image"), &["-l0"]);
    for flags in [&["-j1"][..], &["-j4"], &["-b", "8k", "-l", "0"]] {
        let device = path("device");
        let force = Path::new("--force");
        let words = [
            Path::new("cloop"),
            force,
            &path("image"),
            Path::new("-o"),
            &device,
        ];
        run(words.into_iter().chain(flags.iter().map(Path::new)));
        let shown = run([Path::new("cat"), &device, Path::new("text")]);
        assert_eq!(shown.stdout, fs::read(path("tree/text")).unwrap());
        let extract = Command::new("extract_compressed_fs")
            .args([&device, &path("unpacked")])
            .output();
        let Ok(extract) = extract else {
            return skip("no extract_compressed_fs (cloop-utils)");
        };
        assert!(extract.status.success(), "{}", words_of(&extract));
        let mut unpacked = fs::read(path("unpacked")).unwrap();
        assert!(unpacked[image.len()..].iter().all(|byte| *byte == 0));
        unpacked.truncate(image.len());
        assert!(unpacked == image, "{flags:?}");
    }
    let before = fs::read(path("device")).unwrap();
    let kept = |words: &[&Path], expected: &str| {
        let output = try_run(words);
        assert!(!output.status.success());
        assert!(
            words_of(&output).contains(expected),
            "{}",
            words_of(&output)
        );
        assert!(fs::read(path("device")).unwrap() == before);
    };
    let (cloop, out, device) = (Path::new("cloop"), Path::new("-o"), &path("device"));
    kept(&[cloop, &path("image"), out, device], "exists");
    let force = Path::new("--force");
    kept(
        &[cloop, force, device, out, device],
        "would replace the file that it is made of",
    );
    let (size, wrong) = (Path::new("-b"), Path::new("700"));
    kept(
        &[cloop, force, &path("image"), out, device, size, wrong],
        "must be a multiple of 512",
    );
}

#[test]
fn version_4_and_the_name_of_the_other_program() {
    use std::os::unix::process::CommandExt;
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/text"), "some text ".repeat(50_000)).unwrap();
    let image = build("squashfs", &path("tree"), &path("image"), &["-l0"]);
    let cloop = |flags: &[&str]| {
        let mut program = support::sinter();
        program.current_dir(work.path());
        program.args(["cloop", "--force", "-o", "device", "image"]);
        program.args(flags).output().unwrap()
    };
    let mut sizes = Vec::new();
    for (flags, version) in [
        (&[][..], "2.0"),
        (&["-C", "xz", "-l6"], "4.0"),
        (&["-C", "lz4"], "4.0"),
        (&["-C", "lzo"], "4.0"),
        (&["--version", "4"], "4.0"),
    ] {
        let made = cloop(flags);
        assert!(made.status.success(), "{flags:?}: {}", words_of(&made));
        let device = path("device");
        let start = fs::read(&device).unwrap();
        let expected = format!("#!/bin/sh\n#V{version} Format\n");
        assert!(start.starts_with(expected.as_bytes()), "{flags:?}");
        let shown = run([Path::new("cat"), &device, Path::new("text")]);
        assert_eq!(shown.stdout, fs::read(path("tree/text")).unwrap());
        sizes.push(start.len());
    }
    assert!(sizes[1] < sizes[0] && sizes[2] < image.len(), "{sizes:?}");
    for (flags, expected) in [
        (
            &["--version", "2", "-C", "xz"][..],
            "version 2 supports only zlib",
        ),
        (&["--version", "3"], "is read, but not written"),
        (&["-C", "xz", "-l", "10"], "must be from 0 to 9"),
    ] {
        let output = cloop(flags);
        assert!(!output.status.success(), "{flags:?}");
        let said = words_of(&output);
        assert!(said.contains(expected), "{flags:?}: {said}");
    }
    for (line, code) in [
        ("-q -B 32768 -L 9 -t 2 image theirs", 0),
        ("-b -m image theirs", 0),
        ("-L-2 image theirs", 0),
        ("-L 10 -a 3 image theirs", 0),
        ("-s 5 image theirs", 1),
        ("image 65536", 1),
        ("image -", 1),
    ] {
        let mut program = support::sinter();
        program
            .arg0("create_compressed_fs")
            .current_dir(work.path());
        let output = program.args(line.split(' ')).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(code),
            "{line}: {}",
            words_of(&output)
        );
        if code == 0 {
            let blocks = if line.contains("-B 32768") {
                32_768
            } else {
                65_536
            };
            let device = fs::read(path("theirs")).unwrap();
            assert_eq!(device[128..132], u32::to_be_bytes(blocks), "{line}");
            let shown = run([Path::new("cat"), &path("theirs"), Path::new("text")]);
            assert_eq!(shown.stdout, fs::read(path("tree/text")).unwrap(), "{line}");
        }
    }
}

#[test]
fn an_appimage_is_a_program_with_an_image() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/AppRun"), "some text").unwrap();
    let image = build("squashfs", &path("tree"), &path("image"), &[]);
    // the runtime of type 2: a program for ELF with the magic in its identification
    let mut program = b"\x7fELF\x02\x01\x01\x00AI\x02".to_vec();
    program.extend(sinterfs_testkit::noise(3, 190_000));
    fs::write(path("tool.AppImage"), [program, image].concat()).unwrap();
    let tool = path("tool.AppImage");
    let said = |words: &[&str]| {
        let words = words.iter().map(Path::new).chain([&*tool]);
        String::from_utf8(run(words).stdout).unwrap()
    };
    assert!(said(&["info"]).contains("AppImage, type 2"));
    assert_eq!(said(&["ls"]), "AppRun\n");
    said(&["check", "--deep"]);
    let cat = run([Path::new("cat"), &tool, Path::new("AppRun")]);
    assert_eq!(cat.stdout, b"some text");
    run([Path::new("extract"), &tool, Path::new("-o"), &path("out")]);
    assert_eq!(fs::read(path("out/AppRun")).unwrap(), b"some text");
    run([
        Path::new("convert"),
        &tool,
        Path::new("-o"),
        &path("x.dwarfs"),
    ]);
    run([Path::new("diff"), &path("x.dwarfs"), &tool]);
}

/// Makes a disk with images in partitions; false without sfdisk. Partition 2 holds noise.
fn make_disk(disk: &Path, label: &str, images: [&[u8]; 2]) -> bool {
    let mut bytes = vec![0; 8 << 20];
    let starts = [2048, 4096, 8192];
    let noise = sinterfs_testkit::noise(7, 1 << 20);
    for (start, content) in starts.into_iter().zip([images[0], &noise, images[1]]) {
        bytes[start * 512..][..content.len()].copy_from_slice(content);
    }
    fs::write(disk, bytes).unwrap();
    let script = format!(
        "printf 'label: {label}\\nstart=2048,size=2048\\nstart=4096,size=4096\\n\
         start=8192,size=4096\\n' | PATH=$PATH:/usr/sbin sfdisk -q {}",
        disk.display()
    );
    let found = Command::new("sh")
        .args(["-c", "PATH=$PATH:/usr/sbin command -v sfdisk"])
        .output()
        .unwrap();
    if !found.status.success() {
        skip("no sfdisk (fdisk)");
        return false;
    }
    support::shell(disk.parent().unwrap(), &script);
    true
}

#[test]
fn an_image_in_a_partition_is_opened() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    for name in ["one", "two"] {
        fs::create_dir(path(name)).unwrap();
        fs::write(path(name).join("name"), name).unwrap();
    }
    let one = build("squashfs", &path("one"), &path("image"), &[]);
    let two = build("erofs", &path("two"), &path("image"), &[]);
    let disk = path("disk");
    let content = |words: &[&str]| {
        let file = [Path::new("cat"), &disk, Path::new("name")];
        let words = words.iter().map(Path::new);
        try_run(file.into_iter().chain(words))
    };
    let shown = |words: &[&str]| String::from_utf8(content(words).stdout).unwrap();
    for label in ["gpt", "dos"] {
        if !make_disk(&disk, label, [&one, &two]) {
            return;
        }
        let output = content(&[]);
        assert!(!output.status.success());
        let words = words_of(&output);
        assert!(words.contains("1 (squashfs), 3 (erofs)"), "{words}");
        assert!(words.contains("--partition"), "{words}");
        assert_eq!(shown(&["--partition", "1"]), "one");
        assert_eq!(shown(&["--partition=3"]), "two");
        for (number, why) in [("2", "not an image"), ("9", "no partition 9")] {
            let output = content(&["--partition", number]);
            let words = words_of(&output);
            assert!(words.contains(why), "{number}: {words}");
        }
        let info = run([Path::new("info"), Path::new("--json"), &disk]);
        let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
        let partitions = info["partitions"].as_array().unwrap();
        let formats: Vec<_> = partitions
            .iter()
            .map(|part| part["format"].as_str())
            .collect();
        assert_eq!(formats, [Some("squashfs"), None, Some("erofs")]);
        assert_eq!(partitions[2]["start"], 8192 * 512);
        // the other verbs
        let three = ["--partition", "3"].map(Path::new);
        run([Path::new("check"), Path::new("--deep"), &disk]
            .into_iter()
            .chain(three));
        let extract = [Path::new("extract"), &disk, Path::new("-o"), &path("out")];
        run(extract.into_iter().chain(three));
        assert_eq!(fs::read_to_string(path("out/name")).unwrap(), "two");
        fs::remove_dir_all(path("out")).unwrap();
        let to = path("converted.dwarfs");
        let convert = [Path::new("convert"), &disk, Path::new("-o"), &to];
        run(convert.into_iter().chain(three));
        assert_eq!(
            run([Path::new("cat"), &to, Path::new("name")]).stdout,
            b"two"
        );
        fs::remove_file(&to).unwrap();
        // a disk in a compressed device
        let words = [Path::new("cloop"), &disk, Path::new("-o"), &path("device")];
        run(words.into_iter().chain([Path::new("--force")]));
        fs::rename(path("device"), &disk).unwrap();
        assert_eq!(shown(&["--partition", "1"]), "one");
    }
}

#[test]
fn the_only_image_of_a_disk_is_opened_with_a_note() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/name"), "content").unwrap();
    let image = build("squashfs", &path("tree"), &path("image"), &[]);
    let disk = path("disk");
    if !make_disk(&disk, "gpt", [&[], &image]) {
        return;
    }
    let cat = || {
        let output = run([Path::new("cat"), &disk, Path::new("name")]);
        assert_eq!(output.stdout, b"content");
        words_of(&output)
    };
    assert!(cat().contains("opened partition 3"), "{}", cat());
    let mut bytes = fs::read(&disk).unwrap();
    bytes[512 + 50] ^= 1;
    fs::write(&disk, &bytes).unwrap();
    assert!(
        cat().contains("the CRC of its header is wrong"),
        "{}",
        cat()
    );
    let last = bytes.len() - 512;
    bytes[last + 50] ^= 1;
    fs::write(&disk, &bytes).unwrap();
    let output = try_run([Path::new("cat"), &disk, Path::new("name")]);
    assert!(
        words_of(&output).contains("both copies"),
        "{}",
        words_of(&output)
    );
    let words = ["ls", "--partition", "1"].map(Path::new);
    let output = try_run(words.into_iter().chain([&*path("image")]));
    let words = words_of(&output);
    assert!(words.contains("no partition table"), "{words}");
}

#[test]
fn the_partition_of_the_firmware_is_passed_over() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/name"), "root").unwrap();
    build("squashfs", &path("tree"), &path("image"), &[]);
    fs::write(path("boot"), "boot").unwrap();
    let script = "PATH=$PATH:/usr/sbin
        for tool in sfdisk mkfs.fat mcopy; do command -v $tool >tool || exit 127; done
        truncate -s 2M fat; mkfs.fat fat >said; mcopy -i fat boot ::name; truncate -s 8M disk
        truncate -s 8M mbr; truncate -s 8M boots
        printf 'label: gpt\nstart=2048,size=4096,type=U\nstart=8192,size=4096\n' | sfdisk -q disk
        printf 'label: dos\nstart=2048,size=4096,type=c\nstart=8192,size=4096\n' | sfdisk -q mbr
        printf 'label: gpt\nstart=2048,size=4096,type=U\nstart=8192,size=4096,type=U\n' |
            sfdisk -q boots
        for disk in disk mbr boots; do
            dd if=fat of=$disk bs=512 seek=2048 conv=notrunc status=none
            dd if=image of=$disk bs=512 seek=8192 conv=notrunc status=none
        done
        dd if=fat of=boots bs=512 seek=8192 conv=notrunc status=none";
    let mut shell = Command::new("sh");
    let made = shell
        .current_dir(work.path())
        .args(["-ec", script])
        .output();
    let made = made.unwrap();
    if made.status.code() == Some(127) {
        return skip("no sfdisk (fdisk), mkfs.fat (dosfstools) or mcopy (mtools)");
    }
    assert!(made.status.success(), "{}", words_of(&made));
    for (disk, besides) in [
        ("disk", "besides the firmware's partition"),
        ("mbr", "besides FAT"),
    ] {
        let disk = path(disk);
        let cat = |words: &[&str]| {
            let file = [Path::new("cat"), &disk, Path::new("name")];
            let words = words.iter().map(Path::new);
            run(file.into_iter().chain(words))
        };
        let found = cat(&[]);
        assert_eq!(found.stdout, b"root");
        assert!(words_of(&found).contains(besides), "{}", words_of(&found));
        assert_eq!(cat(&["--partition", "1"]).stdout, b"boot");
        let info = String::from_utf8(run([Path::new("info"), &disk]).stdout).unwrap();
        assert!(info.contains("SquashFS"), "{info}");
    }
    let several = try_run([Path::new("ls"), &path("boots")]);
    let words = words_of(&several);
    assert!(
        words.contains("images in partitions 1 (fat), 2 (fat)"),
        "{words}"
    );
}
