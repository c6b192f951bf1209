//! The program called as mksquashfs, mkfs.erofs, mkdwarfs and the like: images that hold what the
//! real tools' hold, and options that are refused and not ignored.

mod callers;
mod composefs;
mod lines;
mod mksquashfs;
mod options;
mod pseudo_file;
mod readers;
mod refusals;
mod squashfs_ng;
#[path = "../support/mod.rs"]
mod support;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::archives::{has, words_of};
use support::{called, compare, is_root, make_tree, run, scratch, shell, skip, vectors};

fn call(work: &Path, name: &str, args: &[&str]) {
    let output = called(work, name, args);
    assert!(output.status.success(), "{args:?}: {}", words_of(&output));
}

/// Finds a real tool: in the directory that a variable names, or where the system has it.
fn real(variable: &str, tool: &str) -> Option<PathBuf> {
    let dirs = std::env::var_os(variable)
        .into_iter()
        .chain(std::env::var_os("PATH"));
    let paths: Vec<PathBuf> = dirs
        .flat_map(|dirs| std::env::split_paths(&dirs).collect::<Vec<_>>())
        .collect();
    paths
        .iter()
        .map(|dir| dir.join(tool))
        .find(|path| path.is_file())
}

/// Returns a tool of squashfs-tools, to be run.
fn squashfs_tool(tool: &str) -> Command {
    Command::new(real("SINTER_PEER_SQUASHFS", tool).unwrap_or_else(|| tool.into()))
}

fn extracted(image: &Path, to: &Path) {
    run([
        OsStr::new("extract"),
        OsStr::new("-q"),
        OsStr::new("-o"),
        to.as_os_str(),
        image.as_os_str(),
    ]);
}

/// Makes an image by both, and compares what they hold.
fn same(
    shared: &Path,
    work: &Path,
    real: &Path,
    name: &str,
    [ours, theirs]: [&[&str]; 2],
    options: &[&str],
) {
    call(work, name, ours);
    let output = Command::new(real)
        .current_dir(work)
        .args(theirs)
        .output()
        .expect("the tool");
    assert!(output.status.success(), "{}", words_of(&output));
    let (a, b) = (work.join("a"), work.join("b"));
    extracted(&work.join("ours"), &a);
    extracted(&work.join("theirs"), &b);
    compare(shared, options, &b, &a);
    for tree in [a, b] {
        std::fs::remove_dir_all(tree).expect("the tree is removed");
    }
}

/// What `unsquashfs -s` prints that options decide.
fn flags(work: &Path, unsquashfs: &Path, image: &str) -> Vec<String> {
    let output = Command::new(unsquashfs)
        .current_dir(work)
        .args(["-s", image])
        .output();
    let text = String::from_utf8(output.expect("unsquashfs").stdout).expect("text");
    let told = [
        "Compression",
        "Block size",
        "Filesystem is",
        "Inodes are",
        "Data is",
        "Fragments are",
        "Xattrs are",
        "Always-use-fragments",
        "Duplicates are",
        "Tailends are",
        "Uids/Gids",
        "\tcompression-level",
        "\tDictionary",
        "\tFilters",
    ];
    let lines = text
        .lines()
        .filter(|line| told.iter().any(|start| line.starts_with(start)));
    lines.map(str::to_owned).collect()
}

#[test]
fn mksquashfs_gives_the_same() {
    let Some(shared) = vectors() else { return };
    let (tool, judge) = (
        real("SINTER_PEER_SQUASHFS", "mksquashfs"),
        real("SINTER_PEER_SQUASHFS", "unsquashfs"),
    );
    let (Some(tool), Some(judge)) = (tool, judge) else {
        return skip("mksquashfs is missing");
    };
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make_tree(&shared, &work.join("tree"), &["--size", "small"]);
    std::fs::write(work.join("list"), "text\n# a comment\nmodes/f0755\n").expect("a list");
    for flags_of in [
        &[][..],
        &[
            "-comp",
            "zstd",
            "-Xcompression-level",
            "3",
            "-b",
            "64K",
            "-all-root",
        ],
        &[
            "-comp",
            "xz",
            "-b",
            "1M",
            "-no-fragments",
            "-no-xattrs",
            "-Xbcj",
            "x86",
            "-Xdict-size",
            "75%",
        ],
        &[
            "-comp",
            "lz4",
            "-Xhc",
            "-always-use-fragments",
            "-nopad",
            "-no-exports",
        ],
        &[
            "-comp",
            "lzo",
            "-force-uid",
            "7",
            "-force-gid",
            "8",
            "-noI",
            "-noD",
            "-noF",
            "-noX",
        ],
        &[
            "-no-duplicates",
            "-no-sparse",
            "-processors",
            "2",
            "-mem",
            "512M",
            "-ef",
            "list",
        ],
        &["-wildcards", "-e", "text", "... *.conf", "modes/f0[47]*"],
        &["-quiet", "-no-progress", "-e", "./tree/text", "deep/d00"],
        &["-mkfs-time", "1234567", "-all-time", "7654321"],
        &[
            "-comp",
            "gzip",
            "-Xcompression-level",
            "4",
            "-noId",
            "-no-recovery",
            "-exports",
            "-xattrs",
        ],
    ] {
        let args = |image| [&["tree", image, "-noappend"], flags_of].concat();
        let options = ["--mtime-seconds", "--skip-xattr", "system.posix_acl"];
        same(
            &shared,
            work,
            &tool,
            "mksquashfs",
            [&args("ours"), &args("theirs")],
            &options,
        );
        assert_eq!(
            flags(work, &judge, "ours"),
            flags(work, &judge, "theirs"),
            "{flags_of:?}"
        );
    }
}

#[test]
fn mkfs_erofs_gives_the_same() {
    let Some(shared) = vectors() else { return };
    // older ones lack half of the options
    let knows = |tool: &PathBuf| {
        let said = Command::new(tool).arg("--version").output();
        let said = said.map(|said| words_of(&said) + &String::from_utf8_lossy(&said.stdout));
        said.is_ok_and(|said| said.contains(" 1.9") || said.contains(" 2."))
    };
    let Some(tool) = real("SINTER_PEER_EROFS", "mkfs.erofs").filter(knows) else {
        eprintln!("NOT RUN: there is no mkfs.erofs 1.9 (SINTER_PEER_EROFS)");
        return;
    };
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make_tree(&shared, &work.join("tree"), &["--size", "small"]);
    for flags in [
        &[][..],
        &["-zlz4hc,9", "-C65536", "-Eztailpacking", "-x-1"],
        &["-zlz4hc,3", "-Eall-fragments,fragments"],
        &["-zlz4", "-Eztailpacking,dedupe"],
        &["-zlz4hc", "-Elegacy-compress", "--hard-dereference"],
        &["-b512", "-x1"],
        &["-b2048", "--chunksize=4096", "-Eforce-chunk-indexes"],
        &["-z", "lz4hc,level=12", "-T", "1234567", "--all-root"],
        &[
            "-zdeflate,level=9",
            "-Efragments,dedupe",
            "-C",
            "32768",
            "--quiet",
        ],
        &[
            "-zzstd,level=3",
            "--force-uid=3",
            "--force-gid",
            "4",
            "-Lname",
            "--workers=2",
        ],
        &[
            "--chunksize=4096",
            "--exclude-path=text/book.txt",
            "-U",
            "5eed0000-0000-4000-8000-000000000001",
        ],
        &[
            "-zlzma,6",
            "-d0",
            "-T1234567",
            "--mkfs-time",
            "--force-uid=1",
            "--force-gid=2",
            "--uid-offset=5",
            "--gid-offset=5",
        ],
    ] {
        let args = |image| [flags, &[image, "tree"]].concat();
        // whiteouts get a mark of overlayfs there
        let options = ["--mtime-seconds", "--skip-xattr", "trusted.overlay"];
        same(
            &shared,
            work,
            &tool,
            "mkfs.erofs",
            [&args("ours"), &args("theirs")],
            &options,
        );
    }
}

#[test]
fn mkdwarfs_gives_the_same() {
    let Some(shared) = vectors() else { return };
    let Some(tool) = support::peer("mkdwarfs") else {
        return;
    };
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    make_tree(&shared, &work.join("tree"), &["--size", "small"]);
    for flags in [
        &["-l1"][..],
        &["-l", "4", "-S", "18", "-N2", "-B1", "--order=nilsimsa"],
        &[
            "-C",
            "lzma:level=6:dict_size=20",
            "--categorize",
            "--time-resolution=1ns",
            "-l3",
        ],
        &[
            "-Cnull",
            "--set-owner=5",
            "--set-group",
            "6",
            "--set-time=77",
            "--chmod=ug+r",
            "-l1",
        ],
        &[
            "--pack-metadata=all",
            "--no-history",
            "--no-section-index",
            "--no-create-timestamp",
            "-l2",
        ],
    ] {
        let fixed = [
            "-i",
            "tree",
            "-f",
            "--with-devices",
            "--with-specials",
            "--log-level=error",
        ];
        let args = |image| [&fixed, flags, &["-o", image]].concat();
        let options = ["--no-xattrs", "--drop", "link,nlink:lpcbs"];
        same(
            &shared,
            work,
            &tool,
            "mkdwarfs",
            [&args("ours"), &args("theirs")],
            &options,
        );
    }
}

/// Makes a tree, and archives of it with and without its root.
const ARCHIVED: &str = "mkdir -p t/d/sub/x t/e; echo a >t/d/sub/f; echo b >'t/d/a*b'; \
    echo c >t/d/axb; ln t/d/sub/f t/d/g; ln -s f t/d/l; seq 60000 >t/e/big; chmod 750 t; \
    chmod 4711 t/d/axb; find t -exec touch -h -d '2020-02-29 23:59:58Z' {} +; \
    tar --format=ustar --sort=name -C t -cf rooted.tar .; \
    tar --format=ustar --sort=name -C t -cf listed.tar d e";

/// Makes one image by the real tool and one by ours, and compares listings, files and flags.
fn same_image(work: &Path, tool: &str, line: &str, flags: &[&str], but_root: bool) {
    let ours = work.join("bin").display().to_string();
    let _ = std::fs::create_dir(&ours);
    let link = Path::new(&ours).join(tool);
    let _ = std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sinter"), link);
    shell(work, "rm -rf real.sqfs ours.sqfs real ours");
    shell(
        work,
        &format!("{tool} {}", line.replace("IMAGE", "real.sqfs")),
    );
    let line = line.replace("IMAGE", "ours.sqfs");
    shell(work, &format!("PATH={ours}:$PATH {tool} {line}"));
    let printed = |option: &str, image: &str| {
        let mut real = squashfs_tool("unsquashfs");
        let output = real.current_dir(work).args([option, image]).output();
        let output = output.expect("unsquashfs");
        assert!(output.status.success(), "{line}: {}", words_of(&output));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let listing = |image: &str| {
        let listed = printed("-lln", image);
        let rows = listed.lines().skip(usize::from(but_root));
        rows.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(listing("ours.sqfs"), listing("real.sqfs"), "{tool} {line}");
    shell(
        work,
        "unsquashfs -n -q -d real real.sqfs >/dev/null; \
         unsquashfs -n -q -d ours ours.sqfs >/dev/null; diff -r --no-dereference real ours",
    );
    // gensquashfs makes files of hard links
    if tool != "gensquashfs" {
        let links = "test $(stat -c %h ours/d/g) = $(stat -c %h real/d/g)";
        shell(work, links);
    }
    let facts = |image: &str| {
        let facts = printed("-s", image);
        let wanted = facts.lines().filter(|fact| {
            let fact = fact.trim();
            flags.iter().any(|flag| fact.contains(flag))
        });
        wanted.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(facts("ours.sqfs"), facts("real.sqfs"), "{tool} {line}");
}

#[test]
fn archives_and_directories_are_packed_as_by_tools_of_squashfs() {
    let tools = [
        "mksquashfs",
        "sqfstar",
        "tar2sqfs",
        "gensquashfs",
        "unsquashfs",
    ];
    if !tools.into_iter().all(has) {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, ARCHIVED);
    let flags = &["Compression", "Block size", "exportable", "Always-use"];
    // with -T the real ones do not use fragments for tails, but have the flag
    let told = |line: &str| {
        if line.contains("-T") {
            &flags[..3]
        } else {
            flags
        }
    };
    for (line, but_root) in [
        ("-quiet -no-progress IMAGE <listed.tar", true),
        ("-quiet -no-progress IMAGE 'd/a*b' e/ <listed.tar", true),
        (
            "-quiet -no-progress IMAGE '... f' 'd/a\\*b' <listed.tar",
            true,
        ),
        (
            "-quiet -no-progress -comp zstd -b 64K -exports -root-mode 711 -root-time 7 \
             -root-uid 3 -root-gid 4 -force-uid 5 -force-gid 6 IMAGE <rooted.tar",
            true,
        ),
        (
            "-quiet -no-progress -all-time 1000 -nopad IMAGE <listed.tar",
            true,
        ),
    ] {
        same_image(work, "sqfstar", line, flags, but_root);
    }
    for line in [
        "-q IMAGE <rooted.tar",
        "-q -c gzip -X level=3 -b 65536 -e -T IMAGE <rooted.tar",
        "-q -k --compressor=zstd IMAGE <listed.tar",
        "-q -c zstd -X level=3 -j 2 --no-xattr IMAGE <rooted.tar",
        "-q -S --root-becomes d IMAGE <rooted.tar",
        "-q -S -r ./d/ IMAGE <listed.tar",
    ] {
        same_image(work, "tar2sqfs", line, told(line), false);
    }
    for line in [
        "-q -D t IMAGE",
        "-q -k -D t -c gzip -u 3 -g 4 -e IMAGE",
        "-q -x -k --pack-dir t --all-root -o -T IMAGE",
    ] {
        same_image(work, "gensquashfs", line, told(line), false);
    }
    shell(work, "mkdir k; cp -a t/d k/d; cp -a k/d k/e");
    for (line, but_root) in [
        ("t/d t/e IMAGE -root-time 7", false),
        (
            "t/e t/d k/e IMAGE -root-time 7 -root-mode 750 -root-uid 3",
            false,
        ),
        ("t/d t/e/ IMAGE -root-time 7 -e sub/x big -all-root", false),
        (
            "t/d t/e IMAGE -root-time 7 -force-uid 5 -e ./t/d/sub/x",
            false,
        ),
        (
            "t/d t/e IMAGE -root-time 7 -wildcards -e 'd/a*' e/big",
            false,
        ),
        ("k/d IMAGE -keep-as-directory -root-time 7", false),
        ("- IMAGE -tar -root-time 7 <listed.tar", true),
        (
            "- IMAGE -tar -no-tailends -exports -comp zstd <listed.tar",
            true,
        ),
    ] {
        let line = match line.split_once(" <") {
            Some((options, input)) => format!("{options} -quiet -no-progress <{input}"),
            None => line.replace("IMAGE", "IMAGE -quiet -no-progress"),
        };
        same_image(work, "mksquashfs", &line, flags, but_root);
    }
    // an image that exists stays
    for (tool, line) in [
        ("sqfstar", "ours.sqfs"),
        ("tar2sqfs", "-q ours.sqfs"),
        ("gensquashfs", "-q -D t ours.sqfs"),
        ("sqfstar", "new.sqfs ./e"),
        ("tar2sqfs", "-q -B 1024 new.sqfs"),
        ("tar2sqfs", "-q -c zstd -X dictsize=8192 new.sqfs"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let refused = called(work, tool, &words);
        assert!(!refused.status.success(), "{tool} {line}");
        assert!(!work.join("new.sqfs").exists());
    }
}
