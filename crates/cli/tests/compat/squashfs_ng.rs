//! Readers of squashfs-tools-ng: what rdsquashfs and sqfsdiff print and unpack, beside the real
//! ones.

use std::path::Path;
use std::process::{Command, Output};

use super::support::archives::{has, words_of};
use super::support::{scratch, shell};
use super::{call, called};

/// Makes files of all types that anybody may make, with names that need quotes, and devices as
/// root.
const LISTED: &str = "umask 022; mkdir -p t/d/e t/d/sub t/z 't/sp ce' t/only/links; echo a >t/f; \
    ln t/f t/d/g; ln -s ../f t/d/s; ln -s 'a \"b' t/only/links/l; echo q >'t/d/sub/a\"q\\b'; \
    truncate -s 12345678 t/d/big; seq 60000 >t/d/data; echo x >\"$(printf 't/\\377')\"; \
    for n in 1023 1024 1025 1535 1536 99999 1048576 1572863 1572864; do truncate -s $n t/d/sub/$n; \
    done; chmod 4755 t/f; chmod 1777 t/d/e; chmod 2070 t/d/sub; chmod 7 t/d/data; \
    chmod 0 t/d/sub/1023; mkfifo t/p; find t -exec touch -h -d '2020-02-29 23:59:59Z' {} +; \
    if [ \"$(id -u)\" = 0 ]; then mknod t/b b 8 1; mknod t/c c 136 200; chown 1:12345 t/p; \
    chown 98765:4294967294 t/z; fi";

/// Runs the real tool.
fn real(work: &Path, tool: &str, arguments: &[&str]) -> Output {
    let mut real = Command::new(tool);
    let output = real.current_dir(work).args(arguments).output();
    output.expect("the tool")
}

fn same_output(work: &Path, tool: &str, arguments: &[&str]) {
    let (ours, real) = (called(work, tool, arguments), real(work, tool, arguments));
    assert_eq!(
        String::from_utf8_lossy(&ours.stdout),
        String::from_utf8_lossy(&real.stdout),
        "{tool} {arguments:?}: {}",
        words_of(&ours)
    );
    assert!(ours.stdout == real.stdout, "{tool} {arguments:?}");
    assert_eq!(
        ours.status.code(),
        real.status.code(),
        "{tool} {arguments:?}: {}",
        words_of(&ours)
    );
}

#[test]
fn rdsquashfs_prints_and_unpacks_the_same() {
    if !has("rdsquashfs") {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, LISTED);
    let attributes = ["--pseudo", "f x user.a=value", "--pseudo", "d x user.b=2"];
    super::support::build(
        "squashfs",
        &work.join("t"),
        &work.join("image"),
        &attributes,
    );
    for arguments in [
        &["-d", "image"][..],
        &["--describe", "-p", "from/here", "image"],
        &["-d", "-L", "image"],
        &["-d", "-D", "-F", "-S", "-L", "-E", "image"],
        &["-l", "/", "image"],
        &["-l", "d", "image"],
        &["-l", "//d//sub/", "image"],
        &["--list=d/g", "image"],
        &["-ld/s", "-L", "image"],
        &["-l", ".", "-D", "-S", "image"],
        &["-l", "nothing", "image"],
        &["-l", "f/x", "image"],
        &["-c", "f", "image"],
        &["--cat", "d/data", "image"],
        &["-c", "d", "image"],
        &["-x", "f", "image"],
        &["-x", "d", "image"],
        &["-x", "z", "image"],
        // the last one counts
        &["-c", "f", "-d", "-x", "d", "image"],
        &["image"],
        &["-l", "/", "missing"],
        &["-y", "image"],
    ] {
        same_output(work, "rdsquashfs", arguments);
    }
    for flags in [&["-D", "-S", "-F"][..], &["-T", "-C", "-O", "-E", "-Z"]] {
        let unpack = ["-q", "-u", "/", "-p"];
        let to = |dir| [flags, &unpack, &[dir, "image"]].concat();
        call(work, "rdsquashfs", &to("ours"));
        let output = real(work, "rdsquashfs", &to("real"));
        assert!(output.status.success(), "{}", words_of(&output));
        let times = if flags.contains(&"-T") { "%T@" } else { "" };
        let list = format!(
            "for dir in ours real; do (cd $dir; find . -mindepth 1 -printf \
             '%P %M %U %G {times} %l ' \\( -type f -printf '%s' -o -true \\) -printf '\\n' | \
             sort >../$dir.list); done; cmp ours.list real.list || diff -a ours.list real.list; \
             diff -r --no-dereference --exclude=p --exclude=b --exclude=c ours real; \
             rm -rf ours real"
        );
        shell(work, &list);
    }
    // the real one (1.2) fails for a part
    call(work, "rdsquashfs", &["-u", "d/sub", "-p", "part", "image"]);
    shell(work, "test \"$(ls part | wc -l)\" = 10; test -f part/1024");
    let refused = called(work, "rdsquashfs", &["-u", "f", "-p", "new", "image"]);
    assert!(words_of(&refused).contains("not a directory"));
    assert!(!refused.status.success() && !work.join("new").exists());
}

/// Makes two trees that differ in every way that is reported.
const COMPARED: &str = "mkdir -p u/d/sub u/empty u/lone/sub u/z u/tofile u/d-; echo a >u/f; \
    echo 1 >u/lone/sub/f; echo q >'u/d/sub/a\"q\\b'; seq 9 >u/d/data; : >u/d/.h; mkfifo u/p; \
    ln -s one u/d/s; echo ab >u/same; echo m >u/m; echo z >u/tofile/z; echo n >u/c; \
    find u -exec touch -h -d @1000 {} +; cp -a u v; cd v; rm -r f d/.h empty lone tofile; \
    echo new >newfile; mkdir -p newdir/deep; echo x >newdir/deep/y; echo tofile >tofile; \
    echo cd >same; echo longer >m; ln -sfn other d/s; chmod 700 z; chmod 600 m; seq 8 >d/data; \
    rm c; mkdir c; touch -d @5 d/sub d-; if [ \"$(id -u)\" = 0 ]; then chown 5:6 p; chown 3 m; \
    mknod ../u/b b 8 1; mknod b b 9 9; fi";

#[test]
fn sqfsdiff_tells_the_same() {
    if !has("sqfsdiff") || !has("mksquashfs") {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, COMPARED);
    shell(
        work,
        "mksquashfs u u.img -quiet -no-progress; mksquashfs v v.img -quiet -no-progress -b 64K",
    );
    let both = ["-a", "u.img", "-b", "v.img"];
    for flags in [&[][..], &["-C"], &["-O"], &["-P"], &["-T"], &["-COPT"]] {
        // one letter in an argument each: there are no groups of letters here
        let flags: Vec<&str> = match flags {
            ["-COPT"] => vec!["-C", "-O", "-P", "-T"],
            flags => flags.to_vec(),
        };
        same_output(work, "sqfsdiff", &[&both[..], &flags].concat());
        let turned = ["--old", "v.img", "--new=u.img"];
        same_output(work, "sqfsdiff", &[&turned[..], &flags].concat());
    }
    for arguments in [
        &["-a", "u.img", "-b", "u.img"][..],
        &["-a", "u.img", "-b", "missing"],
        &["-a", "u.img"],
        &["-a", "u.img", "-b", "u.img", "more"],
    ] {
        same_output(work, "sqfsdiff", arguments);
    }
    let unpacked = |to| [&both[..], &["-e", to]].concat();
    assert_eq!(
        called(work, "sqfsdiff", &unpacked("ours")).status.code(),
        Some(1)
    );
    assert_eq!(
        real(work, "sqfsdiff", &unpacked("real")).status.code(),
        Some(1)
    );
    shell(work, "diff -r ours real");
    // a directory is a tree, too
    let output = called(work, "sqfsdiff", &["-a", "u", "-b", "u.img"]);
    assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b""[..]));
    let refused = called(work, "sqfsdiff", &[&both[..], &["-S"]].concat());
    assert!(words_of(&refused).contains("sinter info"));
    assert_eq!(refused.status.code(), Some(2));
}
