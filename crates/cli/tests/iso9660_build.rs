//! ISO 9660 images that we write, read by what we did not write: xorriso, isoinfo, isovfy, bsdtar,
//! 7zz and, where it has the driver, the kernel.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::archives::words_of;
use support::{compare, is_root, make_tree, run, scratch, skip, vectors};

/// What ISO 9660 cannot keep: fractions of seconds.
const LOST: &[&str] = &["--mtime-seconds"];

fn build(tree: &Path, image: &Path, flags: &[&str]) -> Vec<u8> {
    support::build("iso9660", tree, image, flags)
}

/// Returns whether a tool is there; else the test says so.
fn has(tool: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|dir| dir.join(tool).is_file());
    if !found {
        skip(&format!("no {tool} ({package})"));
    }
    found
}

fn output(tool: &str, args: &[&str]) -> String {
    let output = Command::new(tool).args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{tool} {args:?}: {text}{errors}");
    text + &errors
}

/// Returns the address of an image for xorriso, which takes paths below /dev for drives.
fn stdio(image: &Path) -> String {
    format!("stdio:{}", image.display())
}

#[test]
fn everybody_reads_the_source() {
    let Some(shared) = vectors() else {
        return;
    };
    let tools = [
        ("xorriso", "xorriso"),
        ("isovfy", "genisoimage"),
        ("7zz", "7zip"),
    ];
    if !is_root() || !tools.iter().all(|(tool, package)| has(tool, package)) {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--plain"]);
    let image = path("image");
    let text = image.to_str().unwrap().to_owned();
    let cases: [&[&str]; 5] = [
        &[],
        &["-C", "zlib", "-E", "zisofs2", "--block-size", "256k"],
        &["-C", "zlib:level=9"],
        &["-l9", "--block-size", "32k"],
        &["-E", "no-joliet", "--no-duplicates"],
    ];
    for flags in cases {
        build(&path("tree"), &image, flags);
        let verified = output("isovfy", &[&text]);
        assert!(verified.contains("No errors found"), "{verified}");
        let check = run(["check".as_ref(), "--deep".as_ref(), image.as_os_str()]);
        assert!(check.status.success());
        let extracted = |name: &str| {
            let dir = path(name);
            let _ = fs::remove_dir_all(&dir);
            fs::create_dir(&dir).unwrap();
            dir
        };
        let dir = extracted("xorriso");
        let args = [
            "-osirrox",
            "on",
            "-hardlinks",
            "on",
            "-indev",
            &stdio(&image),
            "-extract",
            "/",
        ];
        output("xorriso", &[&args[..], &[dir.to_str().unwrap()]].concat());
        // xorriso restores neither owners nor times of symlinks
        let more = ["--skip", ".", "--drop", "uid,gid,mtime:l"];
        compare(&shared, &[LOST, &more].concat(), &path("tree"), &dir);
        output("7zz", &["t", &text]);
        if support::kernel_has("iso9660") {
            let mounted = support::KernelMount::new("iso9660", &image, &path("mnt"));
            let more = ["--no-links", "--drop", "nlink"];
            compare(&shared, &[LOST, &more].concat(), &path("tree"), &mounted.0);
        }
    }
}

#[test]
fn bsdtar_unpacks_known_extensions() {
    let Some(shared) = vectors() else {
        return;
    };
    if !is_root() || !has("bsdtar", "libarchive-tools") {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small", "--plain"]);
    // without long names of files, whose records continue behind the content, and without a target
    // that it misreads in xorriso's images, too
    let long = "find tree -type f -regextype posix-extended -regex '.*/[^/]{90,}' -delete";
    let remove = format!("export LC_ALL=C; {long}; rm tree/links/long");
    support::shell(work.path(), &remove);
    for flags in [&[][..], &["-C", "zlib:level=9"]] {
        let image = path("image");
        build(
            &path("tree"),
            &image,
            &[flags, &["--no-duplicates"]].concat(),
        );
        let to = path("bsdtar");
        let _ = fs::remove_dir_all(&to);
        fs::create_dir(&to).unwrap();
        let [image, dir] = [&image, &to].map(|path| path.to_str().unwrap());
        output("bsdtar", &["-xpf", image, "-C", dir]);
        let more = [LOST, &["--skip", ".", "--no-links", "--drop", "nlink"]].concat();
        compare(&shared, &more, &path("tree"), &to);
    }
}

#[test]
fn bsdtar_reads_long_names_attributes_and_pipes() {
    if !has("bsdtar", "libarchive-tools") {
        return;
    }
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.iso"));
    let long = "n".repeat(130);
    for dir in ["", "d", "d/e"] {
        fs::create_dir(tree.join(dir)).unwrap();
        fs::write(tree.join(dir).join(&long), format!("long in {dir}")).unwrap();
        fs::write(tree.join(dir).join("plain"), format!("plain in {dir}")).unwrap();
    }
    fs::write(work.path().join("boot"), [7; 4096]).unwrap();
    let boot = format!("boot={}", work.path().join("boot").display());
    let partitions = format!("{boot},partitions");
    let flags: [&[&str]; 6] = [
        &[],
        &["-E", "no-joliet"],
        &["-E", "level=4"],
        &["-E", &partitions],
        &["-l9"],
        &["--xattrs-add", "user.large=1", "--no-duplicates"],
    ];
    for flags in flags {
        build(&tree, &image, flags);
        for (path, content) in [
            ("plain".to_owned(), "plain in "),
            (format!("d/{long}"), "long in d"),
            (format!("d/e/{long}"), "long in d/e"),
            ("d/e/plain".to_owned(), "plain in d/e"),
        ] {
            let image = image.to_str().unwrap();
            assert_eq!(
                output("bsdtar", &["-xOf", image, &path]),
                content,
                "{flags:?}"
            );
            let script = "cat \"$1\" | bsdtar -xOf - \"$2\"";
            let piped = output("sh", &["-c", script, "sh", image, &path]);
            assert_eq!(piped, content, "{flags:?} {path} from a pipe");
        }
    }
}

#[test]
fn the_image_does_not_depend_on_threads() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir_all(path("tree/a/b")).unwrap();
    for number in 0..50 {
        let text = format!("{number} ").repeat(number * 3000);
        fs::write(path(&format!("tree/a/{number}")), text).unwrap();
    }
    for flags in [&[][..], &["-C", "zlib"]] {
        let one = build(&path("tree"), &path("one"), &[flags, &["-j1"]].concat());
        let many = build(&path("tree"), &path("many"), &[flags, &["-j7"]].concat());
        assert!(one == many, "an image depends on the number of threads");
    }
}

/// Returns the sector of a boot image, by its number in the catalog of El Torito.
fn boot_sector(image: &Path, number: usize) -> usize {
    let bytes = fs::read(image).unwrap();
    let sector = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let catalog = sector(17 * 2048 + 71) * 2048;
    // behind the validation entry; each further image follows a header
    sector(catalog + 32 + number * 64 + 8)
}

#[test]
fn boot_images_are_found() {
    if !has("xorriso", "xorriso") || !has("isoinfo", "genisoimage") {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    fs::write(path("tree/file"), "content").unwrap();
    fs::write(path("bios"), vec![b'B'; 5000]).unwrap();
    fs::write(path("efi"), vec![b'E'; 1 << 20]).unwrap();
    fs::write(path("mbr"), vec![b'M'; 440]).unwrap();
    let word = |name: &str, file: &str| format!("{name}={}", path(file).display());
    let words = [
        word("boot", "bios"),
        "boot-load-size=4".to_owned(),
        "boot-info-table".to_owned(),
        word("efi-boot", "efi"),
        word("system-area", "mbr"),
        "partitions".to_owned(),
        "publisher=Somebody".to_owned(),
    ];
    let image = path("image");
    build(
        &path("tree"),
        &image,
        &["-E", &words.join(","), "--label", "BOOTS"],
    );
    let text = image.to_str().unwrap();
    let shown = output("isoinfo", &["-d", "-i", text]);
    for expected in [
        "Volume id: BOOTS",
        "Publisher id: Somebody",
        "Joliet with UCS level 3 found",
        "Boot media 0 (No Emulation Boot)",
        "Nsect 4",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let listed = output("isoinfo", &["-R", "-f", "-i", text]);
    assert_eq!(listed.trim(), "/file");
    let verified = output("isovfy", &[text]);
    assert!(verified.contains("No errors found"), "{verified}");
    let torito = output(
        "xorriso",
        &["-indev", &stdio(&image), "-report_el_torito", "plain"],
    );
    for expected in [
        "1  BIOS  y   none  0x0000  0x00      4 ",
        "2  UEFI  y   none",
    ] {
        assert!(torito.contains(expected), "{torito}");
    }
    let area = output(
        "xorriso",
        &["-indev", &stdio(&image), "-report_system_area", "plain"],
    );
    let (bios, efi) = (boot_sector(&image, 0), boot_sector(&image, 1));
    let partition = format!(
        "MBR partition      :   2   0x00  0xef {:12}         2048",
        efi * 4
    );
    let entry = format!("GPT start and size :   1  {}  2048", efi * 4);
    for expected in [
        "MBR partition      :   1   0x80  0x17            0 ",
        &partition,
        "GPT type GUID      :   1  28732ac11ff8d211ba4b00a0c93ec93b",
        &entry,
    ] {
        assert!(area.contains(expected), "{expected}: {area}");
    }
    for bad in ["SORRY", "FAILURE", "damaged", "wrong"] {
        assert!(!area.contains(bad), "{area}");
    }
    // the table in the boot image is the one that xorriso makes
    fs::copy(path("bios"), path("tree/bios")).unwrap();
    let theirs = path("theirs");
    let args = "-b bios -no-emul-boot -boot-load-size 4 -boot-info-table tree";
    support::shell(
        work.path(),
        &format!("xorriso -as mkisofs -o {} {args}", stdio(&theirs)),
    );
    let at = |image: &Path, sector: usize| {
        let bytes = fs::read(image).unwrap();
        let mut boot = bytes[sector * 2048..][..5000].to_vec();
        assert_eq!(boot[12..16], (sector as u32).to_le_bytes());
        boot[12..16].fill(0);
        boot
    };
    assert!(at(&image, bios) == at(&theirs, boot_sector(&theirs, 0)));
    let bytes = fs::read(&image).unwrap();
    assert!(bytes[..432] == [b'M'; 432] && bytes[432..440] == (bios as u64 * 4).to_le_bytes());
    assert!(bytes[efi * 2048..][..1 << 20] == [b'E'; 1 << 20]);
    let info = run(["info".as_ref(), image.as_os_str()]);
    let info = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(
        info.contains("BIOS, no emulation, 4 sectors") && info.contains("UEFI"),
        "{info}"
    );
}

#[test]
fn xattrs_and_acls_are_those_that_xorriso_reads() {
    let Some(shared) = vectors() else {
        return;
    };
    if !is_root() || !has("xorriso", "xorriso") {
        return;
    }
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    make_tree(&shared, &path("tree"), &["--size", "small"]);
    let image = path("image");
    build(&path("tree"), &image, &[]);
    let own = path("own");
    run(["extract", "-o"]
        .map(Path::new)
        .into_iter()
        .chain([&*own, &*image]));
    compare(&shared, LOST, &path("tree"), &own);
    let to = path("xorriso");
    fs::create_dir(&to).unwrap();
    let from = format!("-indev {} -extract / {}", stdio(&image), to.display());
    let words = format!("-acl on -xattr any -hardlinks on -osirrox on {from}");
    output("xorriso", &words.split(' ').collect::<Vec<_>>());
    // xorriso leaves out devices, sockets, empty values and attributes of symlinks
    let more = [
        "--skip-type",
        "cbs",
        "--skip",
        ".",
        "--skip",
        "xattrs/empty-value",
        "--drop",
        "uid,gid,mtime,xattrs:l",
        "--drop",
        "uid,gid",
    ];
    let special = ["--skip", "special"];
    let more = [LOST, &more, &special].concat();
    compare(&shared, &more, &path("tree"), &to);
}

#[test]
fn counts_losses() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    let make = "mkdir tree; touch -d 1850-01-01 tree/old; touch -d 2200-01-01 tree/new; \
                touch tree/large; \
                setfattr -n user.large -v \"$(head -c 50000 /dev/zero | tr '\\0' x)\" tree/large";
    support::shell(work.path(), make);
    let output = support::try_build("iso", &path("tree"), &path("image"), &[]);
    let told = words_of(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    for expected in [
        "2 times of modification before 1900 or after 2155",
        "sinter: large: not kept",
        "1 inodes with more than 48 KiB of extended attributes",
    ] {
        assert!(told.contains(expected), "{told}");
    }
    run([Path::new("check"), Path::new("--deep"), &path("image")]);

    let strict = support::try_build("iso", &path("tree"), &path("none"), &["--strict"]);
    assert!(!strict.status.success() && !path("none").exists());
    assert!(
        words_of(&strict).contains("can't keep"),
        "{}",
        words_of(&strict)
    );
}

#[test]
fn impossible_options_are_refused() {
    let work = scratch();
    let path = |name: &str| work.path().join(name);
    fs::create_dir(path("tree")).unwrap();
    let cases: [(&[&str], &str); 6] = [
        (
            &["-b", "16k", "-l9"],
            "must be a power of two from 32 KiB to 1 MiB",
        ),
        (&["-C", "zstd"], "ISO 9660 has zlib"),
        (
            &["-E", "nonsense"],
            "`nonsense` is not a feature of ISO 9660",
        ),
        (&["-E", "boot-info-table"], "must follow boot=FILE"),
        (&["-E", "boot=/nowhere/file"], "cannot read the boot image"),
        (&["--label", &"x".repeat(33)], "at most 32 bytes"),
    ];
    for (flags, expected) in cases {
        let output = support::try_build("iso", &path("tree"), &path("image"), flags);
        assert!(!output.status.success() && !path("image").exists());
        let told = words_of(&output);
        assert!(told.contains(expected), "{flags:?}: {told}");
    }
}
