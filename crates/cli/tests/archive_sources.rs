//! Archives as sources: what `sinter build` makes of them is what GNU tar and bsdtar unpack.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::archives::{build_from, has};
use support::listing::{Listing, differences, listing};
use support::{is_root, run, scratch, shell, sinter, try_run};

/// The time before which nothing was made that these tests make.
fn now() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap().as_secs()).unwrap() - 5
}

/// Builds from an archive and lists what is unpacked of the image; what is unpacked of the archive
/// itself must be the same.
fn ours(work: &Path, archive: &Path, made: i64) -> Listing {
    let (image, to) = (work.join("ours.erofs"), work.join("ours"));
    let output = build_from(&[archive.as_os_str()], &image, &[]);
    // 1 if the archive has no end, as some of upstream
    let is_made = matches!(output.status.code(), Some(0 | 1));
    assert!(is_made, "{}: {output:?}", archive.display());
    let _ = fs::remove_dir_all(&to);
    run([
        "extract".as_ref(),
        image.as_os_str(),
        "-q".as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
    let found = listing(&to, made);
    let _ = fs::remove_dir_all(&to);
    let mut command = sinter();
    command.args(["extract", "-q", "-o"]).arg(&to).arg(archive);
    // 1 if members were left out, which the build told, too
    let output = command.output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    let direct = differences(&found, &listing(&to, made));
    assert!(direct.is_empty(), "{}:\n{direct}", archive.display());
    found
}

/// Unpacks an archive with a program and lists what came; `None` if the program refuses it.
fn theirs(work: &Path, archive: &Path, program: &str, made: i64) -> Option<Listing> {
    let to = work.join(program);
    let _ = fs::remove_dir_all(&to);
    fs::create_dir(&to).unwrap();
    let mut command = Command::new(program);
    command.args(["--numeric-owner", "--acls", "--xattrs"]);
    if program == "tar" {
        command.arg("--xattrs-include=*");
    }
    let output = command.arg("-xpf").arg(archive).arg("-C").arg(&to).output();
    output.unwrap().status.success().then(|| listing(&to, made))
}

#[test]
fn upstream_tars_match_tar_and_bsdtar() {
    let found = sinterfs_testkit::shared("vectors/upstream");
    let (Some(root), true, true, true) = (found, is_root(), has("tar"), has("bsdtar")) else {
        return;
    };
    let (work, made) = (scratch(), now());
    let mut count = 0;
    for path in tars_below(&root) {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        if name.contains("/file-size/") {
            // a header of a large file and nothing behind it: nobody takes these
            assert!(theirs(work.path(), &path, "tar", made).is_none(), "{name}");
            let output = build_from(&[path.as_os_str()], &work.path().join("cut"), &[]);
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{name}: {words}");
            assert!(words.contains("ends before"), "{name}: {words}");
            continue;
        }
        let ours = ours(work.path(), &path, made);
        for program in ["tar", "bsdtar"] {
            // GNU tar knows no attributes in libarchive's words, and takes the number of whoever
            // has the name in an access control list on this machine; bsdtar takes the number
            // beside the name
            let known = ["xattr-libarchive.tar", "acl.tar"];
            if program == "tar" && known.iter().any(|known| name.ends_with(known)) {
                continue;
            }
            let theirs = theirs(work.path(), &path, program, made).expect(&name);
            let differences = differences(&theirs, &ours);
            assert!(differences.is_empty(), "{name}, {program}:\n{differences}");
        }
        count += 1;
    }
    assert!(count >= 25, "only {count} tars");
}

fn tars_below(root: &Path) -> Vec<PathBuf> {
    let (mut tars, mut open) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => open.push(path),
                Some(extension) if extension == "tar" => tars.push(path),
                _ => {}
            }
        }
    }
    tars.sort();
    tars
}

/// Makes a tree with what archives can hold.
fn make_tree(dir: &Path) {
    fs::create_dir_all(dir).unwrap();
    let script = r#"
        deep=; for part in 1 2 3 4; do deep=$deep$(printf '%080d' $part)/; done
        mkdir -p a/empty "$deep"
        echo short >a/file; ln a/file a/hard; ln -s file a/symlink; ln a/symlink a/hard-symlink
        ln -s "$deep" a/far; : >none
        seq 1 30000 >"$deep/numbers"; ln "$deep/numbers" 'with space'
        printf x >"$(printf 'odd\\\n\377')"
        truncate -s 3M holes; printf begin | dd of=holes conv=notrunc status=none
        printf middle | dd of=holes bs=1 seek=1500000 conv=notrunc status=none
        truncate -s 1M only-a-hole
        mkfifo pipe; mknod null c 1 3; mknod disk b 259 70000
        chown 1234:4321 a/file none; chown 3000000:2999999 a; chown -h 7:8 a/symlink
        chmod 4751 a/file; chmod 1777 a/empty; chmod 0 none
        setfattr -n trusted.sinter -v 0x00ff3d0a a/file
        setfattr -n trusted.a=b%c -v text a/empty
        setfacl -m u:12345:rw,g:54321:x,m:rwx a/hard
        setfacl -d -m u:12345:r a/empty
        touch -h -d '1969-12-31 12:00:00.25 UTC' a/symlink
        touch -d '2031-02-03 04:05:06.789012345 UTC' a/file
        touch -d '2001-02-03 04:05:06.5 UTC' a/empty a . holes
    "#;
    shell(dir, script);
}

fn can_make_trees() -> bool {
    let tools = ["tar", "setfattr", "setfacl"];
    is_root() && tools.iter().all(|tool| has(tool))
}

#[test]
fn every_dialect_of_gnu_tar() {
    if !can_make_trees() {
        return;
    }
    let (work, made) = (scratch(), now());
    make_tree(&work.path().join("tree"));
    let all = "--xattrs --xattrs-include='*' --acls --numeric-owner";
    for flags in [
        "--format=v7".to_owned(),
        "--format=ustar".to_owned(),
        "--format=oldgnu".to_owned(),
        "--format=gnu".to_owned(),
        "--format=oldgnu --sparse".to_owned(),
        "--format=gnu --sparse --label=volume".to_owned(),
        format!("--format=posix {all}"),
        format!("--format=posix --sparse --sparse-version=0.0 {all}"),
        format!("--format=posix --sparse --sparse-version=0.1 {all}"),
        format!("--format=posix --sparse --sparse-version=1.0 {all}"),
        "--format=posix --hard-dereference --pax-option=globexthdr.name=g,comment=words".to_owned(),
    ] {
        // the old forms have no room for some names and numbers: these are reported and left out
        shell(
            work.path(),
            &format!("tar -C tree -cf x.tar {flags} . 2>said || grep -q . said"),
        );
        let archive = work.path().join("x.tar");
        let theirs = theirs(work.path(), &archive, "tar", made).expect(&flags);
        assert!(theirs.len() > 5, "{flags}");
        let differences = differences(&theirs, &ours(work.path(), &archive, made));
        assert!(differences.is_empty(), "{flags}:\n{differences}");
    }
}

#[test]
fn every_dialect_of_bsdtar_and_of_python() {
    if !(can_make_trees() && has("bsdtar") && has("python3")) {
        return;
    }
    let (work, made) = (scratch(), now());
    make_tree(&work.path().join("tree"));
    // bsdtar writes and reads a fraction of a second before 1970 as one behind it, and reads its
    // own escapes in names of attributes as names
    shell(
        work.path(),
        "touch -h -d '1969-12-31 12:00:00 UTC' tree/a/symlink; setfattr -x trusted.a=b%c tree/a/empty",
    );
    let python = "import tarfile; t = tarfile.open('x.tar', 'w', format=tarfile.FORMAT_FORMAT); \
                  t.add('tree', '.'); t.close()";
    let mut scripts = Vec::new();
    for format in ["pax", "ustar", "gnutar"] {
        let flags = "--acls --xattrs --numeric-owner";
        scripts.push(format!(
            "bsdtar -C tree -cf x.tar {flags} --format={format} . 2>said || grep -q . said"
        ));
    }
    for format in ["GNU", "PAX"] {
        scripts.push(format!(
            "python3 -c \"{}\"",
            python.replace("FORMAT_FORMAT", &format!("{format}_FORMAT"))
        ));
    }
    for script in scripts {
        shell(work.path(), &script);
        let archive = work.path().join("x.tar");
        let theirs = theirs(work.path(), &archive, "bsdtar", made).expect(&script);
        assert!(theirs.len() > 12, "{script}");
        let differences = differences(&theirs, &ours(work.path(), &archive, made));
        assert!(differences.is_empty(), "{script}:\n{differences}");
    }
}

#[test]
fn a_tar_of_a_directory_gives_the_bytes_of_the_directory() {
    if !can_make_trees() {
        return;
    }
    let work = scratch();
    make_tree(&work.path().join("tree"));
    let flags =
        "--format=posix --sort=name --sparse --xattrs --xattrs-include='*' --acls --numeric-owner";
    shell(work.path(), &format!("tar -C tree -cf x.tar {flags} ."));
    for program in ["gzip", "zstd", "xz", "bzip2"] {
        if has(program) {
            shell(work.path(), &format!("{program} -ck x.tar >x.{program}"));
        }
    }
    let build = |source: &str, flags: &[&str]| {
        let (image, source) = (work.path().join("image"), work.path().join(source));
        let output = build_from(&[source.as_os_str()], &image, flags);
        assert!(output.status.success(), "{output:?}");
        fs::read(image).unwrap()
    };
    for flags in [
        &["-f", "dwarfs", "--time-resolution=1ns"][..],
        &["-f", "dwarfs", "-j1"],
        &["-f", "erofs"],
    ] {
        let of_directory = build("tree", flags);
        for archive in ["x.tar", "x.gzip", "x.zstd", "x.xz", "x.bzip2"] {
            if work.path().join(archive).exists() {
                assert!(
                    build(archive, flags) == of_directory,
                    "{archive}, {flags:?}"
                );
            }
        }
    }
}

#[test]
fn a_pipe_and_a_named_pipe_are_archives() {
    if !has("tar") {
        return;
    }
    let work = scratch();
    shell(
        work.path(),
        "mkdir tree; seq 1 99999 >tree/a; cp tree/a tree/b; tar -cf x.tar tree; gzip -k x.tar",
    );
    let expected = work.path().join("expected");
    let archive = work.path().join("x.tar");
    assert!(
        build_from(&[archive.as_os_str()], &expected, &[])
            .status
            .success()
    );
    let expected = fs::read(expected).unwrap();
    let flags = ["build", "-l1", "-q", "--force", "-o"];
    for (script, source) in [
        ("cat x.tar", "-"),
        ("cat x.tar.gz", "-"),
        ("mkfifo pipe; cat x.tar >pipe&", "pipe"),
    ] {
        let mut writer = Command::new("sh");
        let writer = writer
            .args(["-ec", script])
            .current_dir(work.path())
            .stdout(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        if source == "pipe" {
            writer.wait().unwrap();
        }
        let mut command = sinter();
        command
            .stdin(writer.stdout.take().unwrap())
            .current_dir(work.path());
        let output = command
            .args(flags)
            .args(["image", source])
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        assert!(
            fs::read(work.path().join("image")).unwrap() == expected,
            "{script}"
        );
        writer.wait().unwrap();
    }
    // standard input may be a file
    let mut command = sinter();
    command
        .stdin(fs::File::open(&archive).unwrap())
        .current_dir(work.path());
    let output = command.args(flags).args(["image", "-"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read(work.path().join("image")).unwrap() == expected);
}

#[test]
fn members_cannot_be_elsewhere() {
    if !(has("tar") && has("python3")) {
        return;
    }
    let work = scratch();
    let python = r#"
import tarfile, io
def add(t, name, type=tarfile.REGTYPE, link='', content=b''):
    m = tarfile.TarInfo(name); m.type = type; m.linkname = link; m.size = len(content)
    t.addfile(m, io.BytesIO(content))
t = tarfile.open('x.tar', 'w', format=tarfile.USTAR_FORMAT)
add(t, '/abs/./file', content=b'1'); add(t, '../up'); add(t, 'a/../../up'); add(t, '..')
add(t, 'to', tarfile.SYMTYPE, '/etc'); add(t, 'to/passwd', content=b'x')
add(t, 'file', content=b'1'); add(t, 'file/below')
add(t, 'no', tarfile.LNKTYPE, 'nowhere'); add(t, 'dir', tarfile.DIRTYPE); add(t, 'link', tarfile.LNKTYPE, 'dir')
add(t, 'twice', content=b'1'); add(t, 'keeps', tarfile.LNKTYPE, './twice'); add(t, 'twice', content=b'22')
add(t, 'was', tarfile.DIRTYPE); add(t, 'was/below'); add(t, 'was', tarfile.SYMTYPE, 'file')
add(t, '', tarfile.REGTYPE)
t.close()
"#;
    shell(work.path(), &format!("python3 - <<'end'\n{python}\nend\n"));
    let (archive, image) = (work.path().join("x.tar"), work.path().join("x.dwarfs"));
    let mut command = sinter();
    command
        .args(["build", "-l1", "--force"])
        .arg(&archive)
        .arg("-o")
        .arg(&image);
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert_eq!(
        words.matches("has `..` in its path, left out").count(),
        3,
        "{words}"
    );
    assert_eq!(
        words.matches("not a directory, left out").count(),
        2,
        "{words}"
    );
    assert_eq!(words.matches("hard link to").count(), 2, "{words}");
    assert!(
        words.contains("replace a directory that is not empty"),
        "{words}"
    );
    assert!(words.contains("9 left out"), "{words}");
    let to = work.path().join("to");
    run([
        "extract".as_ref(),
        image.as_os_str(),
        "-q".as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
    let found = listing(&to, 0);
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "abs",
            "abs/file",
            "dir",
            "file",
            "keeps",
            "to",
            "twice",
            "was",
            "was/below"
        ]
    );
    assert_eq!(fs::read(to.join("twice")).unwrap(), b"22");
    assert_eq!(fs::read(to.join("keeps")).unwrap(), b"1");
    // what is left out on purpose is not missed
    let output = build_from(
        &[archive.as_os_str()],
        &image,
        &["--exclude", "t*", "--exclude=/abs/file"],
    );
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let _ = fs::remove_dir_all(&to);
    run([
        "extract".as_ref(),
        image.as_os_str(),
        "-q".as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
    let found = listing(&to, 0);
    let names: Vec<_> = found.keys().map(String::as_str).collect();
    assert_eq!(names, ["abs", "dir", "file", "keeps", "was", "was/below"]);
}

#[test]
fn archives_that_are_cut_or_damaged_leave_no_image() {
    if !(has("tar") && has("gzip")) {
        return;
    }
    let work = scratch();
    shell(
        work.path(),
        "seq 1 9999 >a; seq 1 9999 >b; tar --format=posix -cf x.tar a b; gzip -k x.tar; : >empty",
    );
    let tar = fs::read(work.path().join("x.tar")).unwrap();
    let gzip = fs::read(work.path().join("x.tar.gz")).unwrap();
    let image = work.path().join("image");
    let code = |bytes: &[u8]| {
        let _ = fs::remove_file(&image);
        let path = work.path().join("damaged");
        fs::write(&path, bytes).unwrap();
        let output = build_from(&[path.as_os_str()], &image, &[]);
        let is_made = matches!(output.status.code(), Some(0 | 1));
        assert_eq!(is_made, image.exists(), "{output:?}");
        output.status.code()
    };
    // without the zeros at the end it is read, as GNU tar has it, but it may be cut
    let end = tar
        .iter()
        .rposition(|&byte| byte != 0)
        .unwrap()
        .next_multiple_of(512);
    assert_eq!(code(&tar[..end]), Some(1));
    for (bytes, words) in [
        (&tar[..end], "may be cut off"),
        (&[&tar[..], &tar[..]].concat(), "data after its end"),
    ] {
        let path = work.path().join("damaged");
        fs::write(&path, bytes).unwrap();
        let arguments = ["build", "--force", "-l1", "-o"].map(OsStr::new);
        let output = try_run(
            arguments
                .iter()
                .copied()
                .chain([image.as_os_str(), path.as_os_str()]),
        );
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert_eq!(told.matches(words).count(), 1, "{told}");
        every_verb(&path, 1, &[words]);
        let output = build_from(&[path.as_os_str()], &image, &["--strict"]);
        assert!(!output.status.success(), "{output:?}");
    }
    for len in [600, 1024, 2000, 30_000, end - 600] {
        assert_eq!(code(&tar[..len]), Some(3), "{len}");
    }
    for len in [20, gzip.len() / 2, gzip.len() - 1] {
        assert_eq!(code(&gzip[..len]), Some(3), "{len}");
    }
    let mut broken = tar.clone();
    broken[1024 + 5] ^= 1;
    assert_eq!(code(&broken), Some(3));
    let mut broken = gzip.clone();
    broken[gzip.len() / 2] ^= 1;
    assert_eq!(code(&broken), Some(3));
    assert_eq!(code(&[0; 10240]), Some(0));
    assert!(code(b"").is_some_and(|code| code > 1));
    assert!(code(b"no archive and no image").is_some_and(|code| code > 1));
}

#[test]
fn every_dialect_of_cpio() {
    if !(can_make_trees() && has("cpio") && has("bsdcpio")) {
        return;
    }
    let (work, made) = (scratch(), now());
    make_tree(&work.path().join("tree"));
    // these have neither attributes nor parts of seconds, and odc no larger numbers
    let plain = "cd tree; rm holes only-a-hole disk; chown -R 7:8 .; find . -print0 | xargs -0 touch -h -d @1000000000; \
                 setfacl -Rb .; setfattr -x trusted.sinter a/file; setfattr -x trusted.a=b%c a/empty; chmod 4755 a/file";
    shell(work.path(), plain);
    for script in [
        "cpio -o -H newc",
        "cpio -o -H crc",
        "cpio -o -H odc",
        "bsdcpio -o -H newc",
        "bsdcpio -o -H odc",
    ] {
        let script = format!("cd tree; find . -print0 | {script} -0 >../x.cpio 2>../said");
        shell(work.path(), &script);
        shell(
            work.path(),
            "rm -rf theirs; mkdir theirs; cd theirs; bsdcpio -idm --quiet <../x.cpio",
        );
        let theirs = listing(&work.path().join("theirs"), made);
        assert!(theirs.len() > 12, "{script}");
        let differences = differences(
            &theirs,
            &ours(work.path(), &work.path().join("x.cpio"), made),
        );
        assert!(differences.is_empty(), "{script}:\n{differences}");
    }
}

#[test]
fn sums_of_cpio_are_compared() {
    if !has("cpio") {
        return;
    }
    let dir = scratch();
    let work = dir.path();
    let script = "mkdir tree; cd tree; seq 1 30000 >long; ln long hard; echo x >short; : >empty; ln -s short s; mkdir d
        find . | sort | cpio -o -H crc --quiet >../a.cpio; cp ../a.cpio ../b.cpio";
    shell(work, script);
    let archive = work.join("a.cpio");
    let image = work.join("image");
    let output = build_from(&[archive.as_os_str()], &image, &["-f", "dwarfs"]);
    assert!(output.status.success(), "{output:?}");
    let mut bytes = fs::read(&archive).unwrap();
    let at = bytes.windows(6).position(|six| six == b"29999\n").unwrap();
    bytes[at] = b'3';
    fs::write(work.join("b.cpio"), bytes).unwrap();
    let output = build_from(
        &[work.join("b.cpio").as_os_str()],
        &work.join("x"),
        &["-f", "dwarfs"],
    );
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{words}");
    assert!(
        words.contains("sums up to") && !work.join("x").exists(),
        "{words}"
    );
    // GNU cpio says so, too, of the same sums
    let mut cpio = Command::new("cpio");
    cpio.current_dir(work)
        .args(["-i", "--only-verify-crc", "-F", "b.cpio"]);
    let theirs = cpio.output().unwrap();
    let theirs = String::from_utf8_lossy(&theirs.stderr).into_owned();
    let sums = theirs.split(['(', ')']).nth(1).unwrap_or_default();
    let found = sums.split([' ', ',']).next().unwrap_or_default();
    assert!(
        words.contains(found.trim_start_matches("0x")),
        "{theirs} {words}"
    );
}

#[test]
fn debian_packages_match_dpkg() {
    if !(can_make_trees() && has("dpkg-deb")) {
        return;
    }
    let (work, made) = (scratch(), now());
    make_tree(&work.path().join("tree"));
    // dpkg keeps neither attributes nor parts of seconds, and takes no devices
    let script = "cd tree; rm holes only-a-hole pipe null disk odd*; setfacl -Rb .
        setfattr -x trusted.sinter a/file; setfattr -x trusted.a=b%c a/empty; chmod 4755 a/file
        mkdir DEBIAN; printf 'Package: a\\nVersion: 1\\nArchitecture: all\\nMaintainer: a <a@b>\\n\
        Description: a\\n' >DEBIAN/control; chmod 755 .
        find . -print0 | xargs -0 touch -h -d @1000000000";
    shell(work.path(), script);
    for compression in ["none", "gzip", "xz", "zstd"] {
        let script = format!(
            "dpkg-deb -Z{compression} -b tree x.deb >said; rm -rf theirs; dpkg-deb -x x.deb theirs"
        );
        shell(work.path(), &script);
        let theirs = listing(&work.path().join("theirs"), made);
        assert!(theirs.len() > 8, "{compression}");
        let package = work.path().join("x.deb");
        let found = differences(&theirs, &ours(work.path(), &package, made));
        assert!(found.is_empty(), "{compression}:\n{found}");
        let bytes = fs::read(&package).unwrap();
        fs::write(&package, &bytes[..bytes.len() / 2]).unwrap();
        let output = build_from(&[package.as_os_str()], &work.path().join("cut"), &[]);
        assert!(!output.status.success(), "{compression}");
    }
}

#[test]
fn rpm_packages_match_bsdtar() {
    if !(can_make_trees() && has("rpmbuild") && has("bsdtar")) {
        return;
    }
    let (work, made) = (scratch(), now());
    make_tree(&work.path().join("tree"));
    // a package has neither attributes nor parts of seconds, and owners by name alone
    let script =
        "cd tree; rm -r holes only-a-hole pipe null disk odd* 0* a/far a/hard-symlink 'with space'
        setfacl -Rb .; setfattr -x trusted.sinter a/file; setfattr -x trusted.a=b%c a/empty
        chown -Rh 0:0 .; chmod 4755 a/file; seq 1 30000 >numbers
        find . -print0 | xargs -0 touch -h -d @1000000000
        cd ..; printf 'Name: a\nVersion: 1\nRelease: 1\nSummary: a\nLicense: a\nBuildArch: noarch\n\
        %%description\na\n%%files\n/*\n' >a.spec";
    shell(work.path(), script);
    for payload in [
        "w6.gzdio",
        "w2.xzdio",
        "w3.zstdio",
        "w9.bzdio",
        "w2.lzdio",
        "w.ufdio",
    ] {
        let script = format!(
            "rm -rf root rpms; mkdir root; cp -a tree/. root
            rpmbuild -bb --quiet --define \"_topdir $PWD/top\" --define \"_rpmdir $PWD/rpms\" \
                --define '_binary_payload {payload}' --define '__os_install_post true' \
                --define '__spec_install_pre true' --buildroot \"$PWD/root\" a.spec >said 2>&1
            mv rpms/noarch/*.rpm x.rpm"
        );
        shell(work.path(), &script);
        let package = work.path().join("x.rpm");
        let theirs = theirs(work.path(), &package, "bsdtar", made).unwrap();
        assert!(theirs.len() > 6, "{payload}: {theirs:?}");
        let found = differences(&theirs, &ours(work.path(), &package, made));
        assert!(found.is_empty(), "{payload}:\n{found}");
        let bytes = fs::read(&package).unwrap();
        fs::write(&package, &bytes[..bytes.len() / 2]).unwrap();
        let output = build_from(&[package.as_os_str()], &work.path().join("cut"), &[]);
        assert!(!output.status.success(), "{payload}");
    }
}

#[test]
fn a_directory_of_an_archive_is_the_root() {
    let work = scratch();
    let script = "mkdir -p t/d/sub t/e; echo x >t/e/f; ln t/e/f t/d/hard; echo y >t/d/sub/g; \
        chmod 750 t/d; tar --sort=name -C t -czf a.tgz e d";
    shell(work.path(), script);
    let path = |name: &str| work.path().join(name);
    let image = path("image.dwarfs");
    let archive = path("a.tgz");
    let flags = ["--archive-root", "/d/", "--exclude", "/sub/h"];
    let output = build_from(&[archive.as_os_str()], &image, &flags);
    assert!(output.status.success(), "{output:?}");
    let compared = "cmp to/hard t/e/f; diff -r to t/d; test \"$(stat -c %a to)\" = 750";
    run([
        "extract".as_ref(),
        image.as_os_str(),
        "-q".as_ref(),
        "-o".as_ref(),
        path("to").as_os_str(),
    ]);
    shell(work.path(), compared);
    for (source, root, code) in [
        (&archive, "nothing", 5),
        (&archive, "d/hard", 2),
        (&archive, "d/..", 2),
        (&path("t"), "d", 2),
    ] {
        let failed = build_from(&[source.as_os_str()], &image, &["--archive-root", root]);
        assert_eq!(failed.status.code(), Some(code), "{root}: {failed:?}");
    }
}

/// Returns the number of bytes in words such as `1.5 MB`.
fn bytes_of(words: &str) -> f64 {
    let (number, unit) = words.split_once(' ').expect("a number and a unit");
    let power = ["B", "kB", "MB", "GB"]
        .iter()
        .position(|known| *known == unit);
    number.parse::<f64>().expect("a number") * 1000_f64.powi(power.expect("a unit") as i32)
}

#[test]
fn the_peak_of_memory_is_within_the_bound_that_is_printed() {
    if !has("tar") || !has("python3") {
        return;
    }
    let work = scratch();
    let tree = work.path().join("tree");
    for dir in 0..8 {
        let dir = tree.join(format!("directory number {dir}"));
        fs::create_dir_all(&dir).expect("a directory");
        for file in 0..1000 {
            let name = format!("a file with a name of some length, {file:05}");
            fs::write(dir.join(name), format!("{file}")).expect("a file");
        }
    }
    let status = Command::new("tar")
        .args(["-cf", "tree.tar", "tree"])
        .current_dir(&work)
        .status();
    assert!(status.expect("tar").success());
    // only the one that waits for a program learns its peak
    let script = "import resource, subprocess, sys\n\
                  code = subprocess.call(sys.argv[1:])\n\
                  print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n\
                  sys.exit(code)";
    for format in ["dwarfs", "squashfs", "erofs", "iso9660", "wim", "cramfs"] {
        for (source, level) in [("tree.tar", "-l1"), ("tree", "-l1"), ("tree.tar", "-l5")] {
            let mut command = Command::new("python3");
            command.args([
                "-c",
                script,
                env!("CARGO_BIN_EXE_sinter"),
                "build",
                "-v",
                "--force",
            ]);
            command
                .args(["-f", format, level, source, "-o", "image"])
                .current_dir(&work);
            let output = command.output().expect("python3");
            let words = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{format} {source}: {words}");
            let bound = words.split_once("memory bound ").expect("a bound").1;
            let bound = bytes_of(bound.split_once(':').expect("its parts").0);
            let peak: f64 = words
                .lines()
                .last()
                .unwrap_or_default()
                .parse()
                .expect("a peak");
            assert!(peak <= bound, "{format} {source} {level}: {peak} > {bound}");
        }
    }
}

/// Runs every command that looks into an archive; each ends with a code, and its messages have all
/// the words. Returns what the commands printed.
fn every_verb(archive: &Path, code: i32, words: &[&str]) -> Vec<String> {
    let dir = archive.parent().unwrap();
    let commands: [&[&str]; 9] = [
        &["ls", "-R", "ARCHIVE"],
        &["find", "ARCHIVE"],
        &["tree", "ARCHIVE"],
        &["du", "-a", "ARCHIVE"],
        &["extract", "-q", "-o", "verb.d", "ARCHIVE"],
        &[
            "build", "-q", "-f", "erofs", "--force", "-o", "verb.i", "ARCHIVE",
        ],
        &[
            "build", "-q", "--force", "-o", "verb.i", "ARCHIVE", "ARCHIVE",
        ],
        &["merge", "-q", "--force", "-o", "verb.i", "ARCHIVE"],
        &["diff", "ARCHIVE", "ARCHIVE"],
    ];
    let mut printed = Vec::new();
    for command in commands {
        let _ = fs::remove_dir_all(dir.join("verb.d"));
        let mut run = sinter();
        for word in command {
            match *word {
                "ARCHIVE" => run.arg(archive),
                word => run.arg(word),
            };
        }
        let output = run.current_dir(dir).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{command:?}: {told}");
        for word in words {
            assert!(told.contains(word), "{command:?}, {word}: {told}");
        }
        printed.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    printed
}

/// A program that writes tars and cpio archives with sizes that their types do not have.
const SIZES: &str = r#"
def h(name, size, flag, link=b''):
    b = bytearray(512)
    b[0:len(name)] = name; b[100:108] = b'0000755\0'; b[108:116] = b[116:124] = b'0000000\0'
    b[124:136] = b'%011o\0' % size; b[136:148] = b'07000000000\0'; b[148:156] = b' ' * 8
    b[156:157] = flag; b[157:157 + len(link)] = link; b[257:265] = b'ustar\x0000'
    b[148:156] = b'%06o\0 ' % sum(b)
    return bytes(b)
f = lambda n: h(n, 5, b'0') + b'hello'.ljust(512, b'\0')
pax = lambda record: h(b'pax', len(record), b'x') + record.ljust(512, b'\0')
end, junk = bytes(1024), b'J' * 1024
def w(name, *parts): open(name, 'wb').write(b''.join(parts))
rest = f(b'lost') + f(b'kept') + end
for n, flag, name, link in (('5', b'5', b'd/', b''), ('2', b'2', b's', b'x'),
                            ('6', b'6', b'p', b''), ('3', b'3', b'c', b''),
                            ('4', b'4', b'b', b''), ('7', b'7', b'd/', b'')):
    w(n + '.tar', h(name, 1024, flag, link), rest)
    w('pax%s.tar' % n, pax(b'13 size=1024\n'), h(name, 0, flag, link), rest)
    w('junk%s.tar' % n, h(name, 1024, flag, link), junk, rest)
w('4096.tar', h(b'd/', 4096, b'5'), f(b'd/lost'), end)
w('link.tar', f(b'a'), pax(b'12 mtime=12\n'), h(b'l', 5, b'1', b'a'), rest)
w('twice.tar', f(b'a'), pax(b'12 mtime=12\n'), h(b'l', 5, b'1', b'a'),
  b'hello'.ljust(512, b'\0'), rest)
w('junkl.tar', f(b'a'), pax(b'12 mtime=12\n'), h(b'l', 1024, b'1', b'a'), junk, rest)
w('junkq.tar', h(b'q', 1024, b'Q'), junk, rest)
w('junkm.tar', h(b'm', 1024, b'M'), junk, rest)
w('junkv.tar', h(b'v', 1024, b'V'), junk, rest)
def m(mode, name, content, size=None):
    size = len(content) if size is None else size
    numbers = (len(name), mode, 0, 0, 1, 1000, size, 0, 0, 0, 0, len(name) + 1, 0)
    b = b'070701' + b''.join(b'%08x' % x for x in numbers)
    b += name + b'\0'; b += bytes(-len(b) % 4) + content
    return b + bytes(-len(b) % 4)
rest = m(0o100644, b'lost', b'hello') + m(0o100644, b'kept', b'hello')
last = m(0, b'TRAILER!!!', b'')
for n, mode in (('d', 0o40755), ('p', 0o10644), ('c', 0o20644), ('s', 0o140644)):
    w('junk%s.cpio' % n, m(mode, b'member', junk), rest, last)
    w('none%s.cpio' % n, m(mode, b'member', b'', 512), rest, last)
w('noend.cpio', rest)
"#;

#[test]
fn a_size_without_content_hides_no_member() {
    if !has("python3") {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, &format!("python3 - <<'end'\n{SIZES}\nend\n"));
    let mut found: Vec<_> = fs::read_dir(work)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    found.sort();
    assert_eq!(found.len(), 34);
    for archive in found {
        let name = archive.file_name().unwrap().to_string_lossy().into_owned();
        let words: &[&str] = match &*name {
            "junkl.tar" => &[&name, "passed over"],
            "junkm.tar" | "junkv.tar" => &[&name, "skipped"],
            "junkq.tar" => &[&name, "type 'Q'"],
            "noend.cpio" => &[&name, "may be cut off"],
            _ if name.starts_with("none") => &["member", "512 bytes, without content"],
            _ if name.starts_with("junk") => &[&name, "1024 bytes of content", "passed over"],
            _ => &[],
        };
        let code = i32::from(!words.is_empty());
        for (index, printed) in every_verb(&archive, code, words).iter().enumerate() {
            assert!(index > 3 || printed.contains("lost"), "{name}: {printed}");
        }
        let lost = if name == "4096.tar" { "d/lost" } else { "lost" };
        let path = archive.as_os_str();
        let output = try_run(["cat".as_ref(), path, lost.as_ref()]);
        assert_eq!(output.stdout, b"hello", "{name}: {output:?}");
        assert_eq!(output.status.code(), Some(code), "{name}");
        let output = try_run(["stat".as_ref(), path, lost.as_ref()]);
        assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        // 1 means that nothing matched
        let output = try_run(["grep".as_ref(), "hello".as_ref(), path]);
        assert_eq!(output.status.code(), Some(3 * code), "{name}: {output:?}");
    }
    // the programs that read tars share the reader
    for (name, script) in [
        ("sqfstar", "./sqfstar out <5.tar"),
        ("tar2sqfs", "./tar2sqfs out <5.tar"),
        ("mkfs.erofs", "./mkfs.erofs --tar=f out 5.tar"),
    ] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), work.join(name)).unwrap();
        shell(work, &format!("rm -f out; {script} >/dev/null"));
        let output = run(["ls".as_ref(), work.join("out").as_os_str()]);
        assert!(
            output.stdout.starts_with(b"d") && has_line(&output.stdout, "lost"),
            "{output:?}"
        );
    }
}

fn has_line(printed: &[u8], line: &str) -> bool {
    String::from_utf8_lossy(printed)
        .lines()
        .any(|found| found.contains(line))
}

#[test]
fn other_programs_take_nothing_for_an_empty_root() {
    let work = scratch();
    let work = work.path();
    fs::write(work.join("empty.tar"), b"").unwrap();
    for (name, script) in [
        ("sqfstar", "./sqfstar out </dev/null"),
        ("tar2sqfs", "./tar2sqfs out </dev/null"),
        ("mksquashfs", "./mksquashfs - out -tar </dev/null"),
        ("mkfs.erofs", "./mkfs.erofs --tar=f out empty.tar"),
    ] {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), work.join(name)).unwrap();
        shell(work, &format!("rm -f out; {script} >/dev/null"));
        let image = work.join("out");
        run(["check".as_ref(), image.as_os_str()]);
        assert_eq!(
            run(["ls".as_ref(), image.as_os_str()]).stdout,
            b"",
            "{name}"
        );
    }
    for source in ["-", "empty.tar"] {
        let mut command = sinter();
        command
            .current_dir(work)
            .args(["build", "-q", "-o", "image", source]);
        let output = command.output().unwrap();
        assert!(output.status.code() > Some(1), "{source}: {output:?}");
        assert!(!work.join("image").exists(), "{source}");
    }
}
