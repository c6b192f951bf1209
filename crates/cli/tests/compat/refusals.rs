//! Options of other programs that are refused, and those that ask for help.

use std::ffi::OsStr;

use super::support::archives::words_of;
use super::support::{run, scratch};
use super::{call, called};

#[test]
fn what_is_not_done_is_refused() {
    let work = scratch();
    let work = work.path();
    std::fs::create_dir(work.join("tree")).expect("a directory");
    std::fs::write(work.join("tree/file"), "content").expect("a file");
    for (name, args, hint) in [
        (
            "mksquashfs",
            &["tree", "i", "-stream"][..],
            "standard output",
        ),
        ("mksquashfs", &["tree", "i", "-regex", "-e", "("], "regular"),
        ("mksquashfs", &["tree/none", "i"], "No such file"),
        ("mksquashfs", &["tree", "/dev", "i", "-tarstyle"], "mixed"),
        ("mksquashfs", &["tree", "i", "-max-depth", "0"], "1 to 255"),
        (
            "mksquashfs",
            &["tree", "i", "-default-mode", "700"],
            "option of -tar",
        ),
        ("mksquashfs", &["-", "i"], "-tar"),
        ("mksquashfs", &["tree", "i", "-tar"], "standard input"),
        ("mksquashfs", &["i"], "missing"),
        ("mksquashfs", &["tree", "i", "-frobnicate"], "--help"),
        (
            "mksquashfs",
            &["tree", "i", "-force-uid", "no such user"],
            "'-force-uid': no user is named",
        ),
        (
            "mksquashfs",
            &["tree", "i", "-comp", "xz", "-Xdict-size", "101%"],
            "1 to 100",
        ),
        (
            "mksquashfs",
            &["tree", "i", "-action", "fragment(boot)@true"],
            "-sort",
        ),
        (
            "mksquashfs",
            &["tree", "i", "-comp", "gzip", "-Xhc"],
            "option of lz4",
        ),
        (
            "mksquashfs",
            &["tree", "i", "-mkfs-time", "no time"],
            "seconds since 1970",
        ),
        ("mksquashfs", &["tree", "i", "-b"], "needs a value"),
        (
            "mkfs.erofs",
            &["-Elegacy-compress", "-zlz4", "-C8192", "i", "tree"],
            "kernels before 5.4",
        ),
        ("mkfs.erofs", &["-b8192", "i", "tree"], "4096"),
        (
            "mkfs.erofs",
            &["-b512", "-zlz4", "i", "tree"],
            "uncompressed images",
        ),
        (
            "mkfs.erofs",
            &["--tar=headerball", "i", "tree"],
            "refers to it",
        ),
        (
            "mkfs.erofs",
            &["--tar=i", "-zlz4", "i", "tree"],
            "not compressed",
        ),
        ("mkfs.erofs", &["--clean=rvsp", "i", "tree"], "all data"),
        (
            "mkfs.erofs",
            &["--incremental", "i", "tree"],
            "image that exists",
        ),
        ("mkfs.erofs", &["-xfew", "i", "tree"], "not a number"),
        (
            "mkfs.erofs",
            &["--uid-offset=1", "i", "tree"],
            "--id-offset",
        ),
        (
            "mkdwarfs",
            &["-i", "tree", "-o", "i", "--recompress"],
            "sinter recompress",
        ),
        ("mkdwarfs", &["tree", "i"], "-i"),
        ("unsquashfs", &["-cat", "i"], "were not provided: <PATH>..."),
        (
            "unsquashfs",
            &["-mkfs-time", "-s", "i"],
            "exclude each other",
        ),
        ("unsquashfs", &["-ex", "a", "i"], "`;` ends it"),
    ] {
        let output = called(work, name, args);
        let said = words_of(&output);
        assert!(
            !output.status.success() && said.contains(hint),
            "{name} {args:?}: {said}"
        );
        assert!(!work.join("i").exists(), "{name} {args:?}");
    }
    for name in [
        "mksquashfs",
        "mkfs.erofs",
        "mkdwarfs",
        "sqfs2tar",
        "dwarfsextract",
    ] {
        let help = called(work, name, &["--help"]);
        let text = String::from_utf8_lossy(&help.stdout).into_owned();
        assert!(
            help.status.success() && text.contains("Not supported"),
            "{name}: {text}"
        );
    }
}

#[test]
fn help_is_an_option_and_no_value() {
    let work = scratch();
    let work = work.path();
    std::fs::create_dir(work.join("tree")).expect("a directory");
    std::fs::write(work.join("tree/-h"), "content").expect("a file");
    for (name, words) in [
        ("mksquashfs", &["-h"][..]),
        ("mksquashfs", &["tree", "i", "-help"]),
        ("mkfs.erofs", &["i", "tree", "-h"]),
        ("mkdwarfs", &["-H"]),
        ("unsquashfs", &["-h", "i"]),
        ("sqfs2tar", &["-h"]),
        ("dwarfsextract", &["-i", "i", "-h"]),
    ] {
        let output = called(work, name, words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success() && text.contains("Usage: "),
            "{name} {words:?}"
        );
        assert!(!work.join("i").exists(), "{name} {words:?}");
    }
    for (name, word) in [
        ("mksquashfs", "-version"),
        ("mkfs.erofs", "-V"),
        ("unsquashfs", "-v"),
        ("sqfs2tar", "-V"),
    ] {
        let text = String::from_utf8(called(work, name, &[word]).stdout).expect("text");
        assert!(text.starts_with(name), "{name} {word}: {text}");
    }
    // what these programs take for no such thing
    for (name, words) in [
        ("mksquashfs", &["-V"][..]),
        ("mkdwarfs", &["-V"]),
        ("dwarfsextract", &["-H"]),
        ("sqfs2tar", &["-?"]),
        ("mksquashfs", &[]),
        ("mksquashfs", &["tree", "i", "-comp", "-h"]),
    ] {
        let output = called(work, name, words);
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{name} {words:?}"
        );
    }
    // values and names that look like it: a label, an excluded file, a directory, a path in the
    // image
    call(work, "mkfs.erofs", &["-L", "-V", "e", "tree"]);
    let info = run([OsStr::new("info"), work.join("e").as_os_str()]).stdout;
    assert!(String::from_utf8_lossy(&info).contains("-V"));
    call(work, "mksquashfs", &["tree", "s", "-e", "-h"]);
    let listed = run([OsStr::new("ls"), work.join("s").as_os_str()]).stdout;
    assert_eq!(String::from_utf8_lossy(&listed), "");
    call(work, "unsquashfs", &["-d", "-version", "e", "-h"]);
    assert!(work.join("-version/-h").is_file());
}
