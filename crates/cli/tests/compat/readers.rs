//! Programs that read images, called by the names of others: what they print and restore.

use std::process::Command;

use super::mksquashfs::shell;
use super::support::archives::{has, words_of};
use super::support::scratch;
use super::{call, called};

/// Makes files of all types with owners that have names and owners that have none.
pub(super) const LISTED: &str = "mkdir -p tree/d/e tree/d/sub tree/z; echo a >tree/f; \
    ln tree/f tree/d/g; ln -s ../f tree/d/s; truncate -s 12345678 tree/d/big; chmod 4755 tree/f; \
    chmod 1777 tree/d/e; \
    chmod 2070 tree/d/sub; echo b >'tree/d/sub/a name'; \
    touch tree/d/.h; printf x >\"$(printf 'tree/\\377')\"; \
    mkfifo tree/p; find tree -exec touch -h -d '2020-02-29 23:59:59Z' {} +; \
    if [ \"$(id -u)\" = 0 ]; then mknod tree/b b 8 1; mknod tree/c c 136 200; \
    chown 1:12345 tree/p; chown 98765:4294967294 tree/z; fi";

#[test]
fn listings_are_those_of_unsquashfs() {
    if !has("unsquashfs") || !has("mksquashfs") {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, LISTED);
    shell(work, "mksquashfs tree image -quiet -no-progress");
    let calls: [&[&str]; 24] = [
        &["-mkfs-time", "image"],
        &["-fstime", "image"],
        &["-max", "1", "-l", "image"],
        &["-max-depth", "2", "-llc", "image", "d"],
        &["-l", "image"],
        &["-ls", "image"],
        &["-ll", "image"],
        &["-lls", "image"],
        &["-lln", "image"],
        &["-lc", "image"],
        &["-llc", "image"],
        &["-UTC", "-ll", "image"],
        &["-d", "", "-ll", "image"],
        &["-d", "/x/y", "-l", "image"],
        &["-ll", "image", "d/e"],
        &["-l", "image", "d/sub", "d/g", "f", "d"],
        &["-lc", "image", "d", "z"],
        &["-l", "image", "d/s*"],
        &["-l", "image", "/d//sub/"],
        &["-l", "image", "./f", "d/../f"],
        &["-l", "image", "*/s*/x"],
        &["-l", "image", "*/*"],
        &["-l", "image", "d/[!e-g]*", "?"],
        &["-ll", "image", "nothing/here"],
    ];
    for arguments in calls {
        let mut real = super::squashfs_tool("unsquashfs");
        let real = real.current_dir(work).env("TZ", "UTC").args(arguments);
        let real = real.output().expect("unsquashfs");
        let ours = called(work, "unsquashfs", arguments);
        assert_eq!(
            String::from_utf8_lossy(&ours.stdout),
            String::from_utf8_lossy(&real.stdout),
            "{arguments:?}: {}",
            words_of(&ours)
        );
        assert!(ours.stdout == real.stdout, "{arguments:?}");
        assert_eq!(ours.status.code(), real.status.code(), "{arguments:?}");
    }
    // unsquashfs 4.7 has these
    for spelled in ["-full", "-full-precision"] {
        let output = called(work, "unsquashfs", &[spelled, "-ll", "image", "d/big"]);
        let listed = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = " 12345678 2020-02-29 23:59:59 squashfs-root/d/big\n";
        assert!(listed.ends_with(line), "{listed}: {}", words_of(&output));
    }
    for flags in [
        "-comp xz -Xbcj x86,arm -Xdict-size 8192 -all-root",
        "-comp xz -Xdict-size 8192 -no-xattrs -no-exports",
        "-comp gzip -Xcompression-level 3 -Xwindow-size 10 -no-fragments",
        "-comp gzip -Xstrategy filtered,fixed -always-use-fragments",
        "-comp lz4 -Xhc -no-duplicates",
        "-comp zstd -Xcompression-level 3 -noI",
        "-comp lzo -Xalgorithm lzo1x_999 -Xcompression-level 3 -noId -noD",
        "-comp lzo -Xalgorithm lzo1x_1 -noF -noX -b 64K",
        "-comp lzma -mkfs-time 1000000000",
    ] {
        shell(
            work,
            &format!("mksquashfs tree image -noappend -quiet -no-progress {flags}"),
        );
        let arguments = ["-s", "image"];
        let mut real = super::squashfs_tool("unsquashfs");
        let real = real.current_dir(work).env("TZ", "UTC").args(arguments);
        let real = real.output().expect("unsquashfs").stdout;
        // in the words of versions before 4.7
        let expected = String::from_utf8_lossy(&real)
            .replace(
                "Always-use-fragments option is not",
                "Tailends are not packed into",
            )
            .replace("Always-use-fragments option is", "Tailends are packed into")
            .replace("packed into specified", "packed into fragments");
        let ours = called(work, "unsquashfs", &arguments).stdout;
        assert_eq!(String::from_utf8_lossy(&ours), expected, "{flags}");
    }
    // paths in a file
    shell(work, "printf 'd/sub\n# a comment\nf\n' >list");
    let arguments = ["-n", "-ef", "list", "-d", "some", "image"];
    call(work, "unsquashfs", &arguments);
    shell(
        work,
        "unsquashfs -n -q -ef list -d real image >/dev/null; diff -r some real",
    );
    // what is left out, and the levels that are unpacked
    shell(work, "printf 'f\n' >list");
    for flags in [
        "-max-depth 1",
        "-exclude-file list",
        "-excf list -user-xattrs -mem 16M",
        "-no-exit-code -ignore-errors",
    ] {
        shell(work, "rm -rf some real");
        let flags: Vec<&str> = flags.split(' ').collect();
        let ours = [&["-n", "-d", "some"][..], &flags, &["image"]].concat();
        call(work, "unsquashfs", &ours);
        let flags = flags.join(" ").replace(" -mem 16M", "");
        let compared = format!(
            "unsquashfs -n -q -d real {flags} image >/dev/null; find some | sed s/some/real/ | \
             sort >a; find real | sort | diff - a"
        );
        shell(work, &compared);
    }
    shell(work, "rm -rf some real");
    let arguments = ["-excludes", "-n", "-d", "some", "image", "d/s*", "f"];
    call(work, "unsquashfs", &arguments);
    assert!(work.join("some/d/big").is_file() && !work.join("some/f").exists());
    assert!(!work.join("some/d/sub").exists() && !work.join("some/d/s").exists());
    // what is printed is chosen by the same rules
    let printed = called(
        work,
        "unsquashfs",
        &["-excludes", "-cat", "image", "d/g", "d/g"],
    );
    assert!(printed.stdout.is_empty(), "{printed:?}");
    let printed = called(work, "unsquashfs", &["-cat", "image", "d/g", "nothing"]);
    assert_eq!(printed.stdout, b"a\n", "{printed:?}");
    // rules for paths, which 4.5 has, too
    for flags in [
        "image d/s*",
        "-regex image ^d$/^s.b",
        "-regex image d/[gs]",
        "-follow image d/s",
        "-no-wild image d/*",
        "-excludes image d f",
        "-regex -excludes image ^d$/^s",
    ] {
        // 4.5.1 has other rules there
        let is_new = flags.contains("-follow") || flags.contains("-no-wild");
        if is_new && !super::mksquashfs::are_current() {
            continue;
        }
        shell(work, "rm -rf some real");
        let words: Vec<&str> = flags.split(' ').collect();
        let ours = called(
            work,
            "unsquashfs",
            &[&["-n", "-d", "some"][..], &words].concat(),
        );
        let line = words
            .iter()
            .map(|word| format!("'{word}'"))
            .collect::<Vec<_>>()
            .join(" ");
        // a path that is not there leaves the directories before it there, and nothing here
        let listing = if flags.contains("-no-wild") {
            "find . -type f"
        } else {
            "find . | sort"
        };
        let compared = format!(
            "set +e; unsquashfs -n -q -d real {line} >real.out 2>&1; mkdir -p some real; \
             (cd some; {listing}) >a; (cd real; {listing}) | diff a - || exit 1; \
             unsquashfs -l {line} >real.list 2>/dev/null; true"
        );
        shell(work, &compared);
        let listed = called(work, "unsquashfs", &[&["-l"][..], &words].concat());
        let real = std::fs::read(work.join("real.list")).expect("a listing");
        // 4.5.1 leaves nothing out of listings
        if !flags.contains("-excludes") && !flags.contains("-follow") {
            let real = String::from_utf8_lossy(&real);
            assert_eq!(String::from_utf8_lossy(&listed.stdout), real, "{flags}");
        }
        assert!(
            ours.status.code().is_some_and(|code| code != 1),
            "{flags}: {}",
            words_of(&ours)
        );
    }
    let arguments = [
        "-n",
        "-d",
        "none",
        "-missing",
        "-follow",
        "image",
        "d/nothing",
    ];
    assert_eq!(
        called(work, "unsquashfs", &arguments).status.code(),
        Some(1)
    );
    assert!(!work.join("none").exists());
    let arguments = [
        "-n",
        "-d",
        "none",
        "-all-time",
        "1000",
        "-ex",
        "d",
        ";",
        "image",
    ];
    call(work, "unsquashfs", &arguments);
    shell(
        work,
        "test \"$(stat -c %Y none/f)\" = 1000; test ! -e none/d; rm -r none",
    );
    // paths that match nothing are no reason for an exit code if that is asked
    let arguments = ["-n", "-d", "none", "image", "nothing"];
    assert_eq!(
        called(work, "unsquashfs", &arguments).status.code(),
        Some(2)
    );
    let arguments = [&["-no-exit"][..], &arguments].concat();
    assert_eq!(
        called(work, "unsquashfs", &arguments).status.code(),
        Some(0)
    );
    if has("sqfscat") {
        let arguments = ["image", "f", "d/sub/a name"];
        let real = Command::new("sqfscat")
            .current_dir(work)
            .args(arguments)
            .output();
        let ours = called(work, "sqfscat", &arguments);
        assert_eq!(ours.stdout, real.expect("sqfscat").stdout);
        assert_eq!(ours.stdout, b"a\nb\n");
    }
}

#[test]
fn readers_under_their_names() {
    let work = scratch();
    let work = work.path();
    std::fs::create_dir_all(work.join("tree/dir")).expect("directories");
    std::fs::write(work.join("tree/dir/file"), "content").expect("a file");
    call(work, "mksquashfs", &["tree", "image", "-quiet"]);
    call(work, "unsquashfs", &["-q", "image"]);
    let read = |path: &str| std::fs::read_to_string(work.join(path)).expect("the file");
    assert_eq!(read("squashfs-root/dir/file"), "content");
    call(
        work,
        "unsquashfs",
        &["-d", "there", "-f", "image", "dir/f*"],
    );
    assert_eq!(read("there/dir/file"), "content");
    let listed = called(work, "unsquashfs", &["-ll", "image"]);
    assert!(String::from_utf8_lossy(&listed.stdout).contains("dir/file"));
    assert_eq!(
        called(work, "unsquashfs", &["-cat", "image", "dir/file"]).stdout,
        b"content"
    );
    let refused = called(work, "sqfs2tar", &["-d", "dir", "image"]);
    assert!(!refused.status.success() && words_of(&refused).contains("-k"));
    let part = called(work, "sqfs2tar", &["-k", "-d", "dir", "image"]);
    assert!(part.status.success() && part.stdout.len() > 512);
    let tar = called(work, "sqfs2tar", &["image"]).stdout;
    assert_eq!(
        tar,
        called(work, "dwarfsextract", &["-i", "image", "-fgnutar"]).stdout
    );
    assert_eq!(tar.len() % 10_240, 0);
    std::fs::create_dir(work.join("out")).expect("a directory");
    call(work, "dwarfsextract", &["-i", "image", "-o", "out"]);
    assert_eq!(read("out/dir/file"), "content");
    // of other formats than EROFS, `sinter info` is shown
    let shown = |words: &[&str]| {
        let output = called(work, "dump.erofs", words);
        assert!(output.status.success(), "{words:?}: {}", words_of(&output));
        String::from_utf8(output.stdout).expect("text")
    };
    assert!(shown(&["image"]).contains("SquashFS"));
    assert_eq!(shown(&["-s", "image"]), shown(&["image"]));
    assert_eq!(shown(&["--cat", "--path=dir/file", "image"]), "content");
    call(work, "mkfs.erofs", &["-T0", "erofs", "tree"]);
    for (words, expected) in [
        (
            &["erofs"][..],
            "Filesystem blocksize:                         4096\n",
        ),
        (
            &["erofs"],
            "Filesystem created:                           Thu Jan  1 00:00:00 1970\n",
        ),
        (
            &["--path=/dir/file", "erofs"],
            "Size: 7  On-disk size: 7  regular file\n",
        ),
        (&["--ls", "--path", "/dir", "erofs"], "    1  file\n"),
        (
            &["-e", "--path=/dir/file", "erofs"],
            "/dir/file: 1 extents found\n",
        ),
        (&["-S", "erofs"], "Filesystem regular file count:\t\t1\n"),
        (&["--blkid-udev", "erofs"], "ID_FS_TYPE=erofs\n"),
    ] {
        let shown = shown(words);
        assert!(shown.contains(expected), "{words:?}: {shown}");
    }
    let of_root = shown(&["--path=/", "erofs"]);
    let nid = of_root
        .split("NID: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    assert_eq!(shown(&["--nid", nid.expect("a number"), "erofs"]), of_root);
    for (words, hint) in [
        (&["--ls", "image"][..], "--path PATH"),
        (&["-s", "--cat", "--path=/dir/file", "image"], "excludes"),
        (&["--path=/nothing", "erofs"], "no such file"),
    ] {
        let refused = called(work, "dump.erofs", words);
        assert!(words_of(&refused).contains(hint), "{words:?}: {refused:?}");
        assert_eq!(refused.status.code(), Some(1), "{words:?}");
    }
    call(work, "fsck.erofs", &["-d1", "image"]);
    call(work, "fsck.erofs", &["--extract", "image"]);
    call(
        work,
        "fsck.erofs",
        &["--extract=new", "--no-preserve", "image"],
    );
    assert_eq!(read("new/dir/file"), "content");
    let refused = called(work, "fsck.erofs", &["--overwrite", "image"]);
    assert!(!refused.status.success() && words_of(&refused).contains("--extract=DIR"));
    call(work, "dwarfsck", &["image", "-q"]);
    call(
        work,
        "dwarfsck",
        &["-i", "image", "--check-integrity", "-n1"],
    );
    let listed = called(work, "dwarfsck", &["-i", "image", "-l"]);
    let names = String::from_utf8_lossy(&listed.stdout);
    assert!(names.contains("dir/file"), "{listed:?}");
    let mut damaged = std::fs::read(work.join("image")).expect("an image");
    // what follows may be padding
    damaged.truncate(200);
    std::fs::write(work.join("damaged"), damaged).expect("a file");
    for name in ["fsck.erofs", "dwarfsck"] {
        assert!(!called(work, name, &["damaged"]).status.success(), "{name}");
    }
}

#[test]
fn images_are_described_as_by_dump_erofs() {
    let real = |tool: &str| {
        let dirs = std::env::var_os("SINTER_PEER_EROFS")?;
        let mut dirs = std::env::split_paths(&dirs);
        dirs.find_map(|dir| Some(dir.join(tool)).filter(|path| path.is_file()))
    };
    let (Some(dump), Some(mkfs)) = (real("dump.erofs"), real("mkfs.erofs")) else {
        eprintln!("NOT RUN: there is no dump.erofs 1.9 (SINTER_PEER_EROFS)");
        return;
    };
    let work = scratch();
    let work = work.path();
    shell(work, LISTED);
    shell(
        work,
        "seq 60000 >tree/text.txt; seq 5000 >tree/d/mid.so; mkdir tree/many; \
         (cd tree/many; touch $(seq -f name-%04g 300)); setfattr -n user.a -v b tree/f; true",
    );
    shell(
        work,
        "cp tree/text.txt tree/copy.x; cp tree/text.txt tree/c.txt.gz; cp tree/text.txt tree/end.",
    );
    for flags in [
        &[][..],
        &["-zlz4hc", "-C16384", "-Eztailpacking"],
        &["-zlz4:deflate", "-C65536", "-Efragments,dedupe"],
        &["--chunksize=4096"],
    ] {
        let mut make = Command::new(&mkfs);
        make.current_dir(work)
            .args(flags)
            .args(["-T0", "--quiet", "image", "tree"]);
        let made = make.output().expect("mkfs.erofs");
        assert!(made.status.success(), "{}", words_of(&made));
        for arguments in [
            &["image"][..],
            &["-s", "-S", "image"],
            &["--path=/", "--ls", "image"],
            &["--path=/many", "-e", "image"],
            &["--path=/text.txt", "-e", "image"],
            &["--path=/d/mid.so", "image"],
            &["--path=/d/g", "-e", "image"],
            &["--path=/d/s", "image"],
            &["--path=/p", "image"],
            &["--blkid-udev", "image"],
        ] {
            let mut real = Command::new(&dump);
            let real = real
                .current_dir(work)
                .env("TZ", "UTC")
                .args(arguments)
                .output();
            let ours = called(work, "dump.erofs", arguments);
            assert_eq!(
                String::from_utf8_lossy(&ours.stdout),
                String::from_utf8_lossy(&real.expect("dump.erofs").stdout),
                "{flags:?} {arguments:?}: {}",
                words_of(&ours)
            );
        }
    }
}
