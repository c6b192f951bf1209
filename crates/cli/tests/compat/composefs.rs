//! The tools of composefs: mkcomposefs, composefs-info and mount.composefs, beside what version
//! 1.0.8 printed and wrote; the program itself is asked where `SINTER_PEER_COMPOSEFS` names it.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::support::archives::words_of;
use super::support::{is_root, make_tree, run, scratch, shell, vectors};
use super::{call, called};

/// Two objects.
const ONE: &str = "87/407405e46cfcd06102170219f8aacd27eb71de41d4e0428df415130ab42e75";
const TWO: &str = "a1/e07bae35ce805b138be402082be084fa041a835c13001e04e444758d8f6b74";

/// A dump whose names need escapes.
const DUMP: &str = r"/ 4096 40755 3 0 0 0 1000.0 - - -
/b\\\\s 101 100644 1 0 0 0 1000.0 TWO - DIGEST2
/d 70 40755 2 0 0 0 1000.0 - - -
/d/l 7 120777 1 0 0 0 1000.0 ../to\x20x - -
/d/na\x20me 48894 100644 1 0 0 0 1000.0 ONE - DIGEST1
/d/s 6 100644 1 0 0 0 1000.0 - small\n -
/n\nl 48894 100644 1 0 0 0 1000.0 ONE - DIGEST1
/p 0 10644 1 0 0 0 1000.0 - - -
/\xffy 0 100644 1 0 0 0 1000.0 - - -
";

/// What `composefs-info ls` printed of its image; TAB is one.
const LISTED: &str = r"/b\\\\sTAB@ TWO
/d/TAB
/d/lTAB-> ../to\x20x
/d/na meTAB@ ONE
/d/s
/n\nlTAB@ ONE
/p
/\xffy
";

/// Fills in the names of objects and their digests.
fn filled(text: &str) -> String {
    let text = text.replace("ONE", ONE).replace("TWO", TWO);
    let text = text.replace("DIGEST1", &ONE.replace('/', ""));
    let text = text.replace("DIGEST2", &TWO.replace('/', ""));
    text.replace("TAB", "\t")
}

fn printed(work: &Path, name: &str, arguments: &[&str]) -> String {
    let output = called(work, name, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        words_of(&output)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn facts_are_those_of_the_image_that_the_options_choose() {
    let work = scratch();
    let work = work.path();
    std::fs::write(work.join("dump"), filled(DUMP)).expect("a dump");
    call(work, "mkcomposefs", &["--from-file", "dump", "image"]);
    shell(work, "mkdir tree; echo a >tree/other");
    call(work, "mkcomposefs", &["tree", "first"]);
    shell(work, "cat first image >both");
    let first = std::fs::metadata(work.join("first")).expect("an image");
    let [both, offset] = [work.join("both"), first.len().to_string().into()];
    let listed = |more: &[&Path]| {
        let words = [Path::new("info"), Path::new("--composefs=ls"), &both];
        run(words.iter().chain(more)).stdout
    };
    assert!(listed(&[]).starts_with(b"/other"));
    let second = listed(&[Path::new("--offset"), &offset]);
    assert_eq!(second, filled(LISTED).as_bytes());
}

#[test]
fn composefs_info_prints_what_that_of_composefs_prints() {
    let work = scratch();
    let work = work.path();
    std::fs::write(work.join("dump"), filled(DUMP)).expect("a dump");
    call(work, "mkcomposefs", &["--from-file", "dump", "image"]);
    let info = |arguments: &[&str]| printed(work, "composefs-info", arguments);
    let objects = format!("{ONE}\n{TWO}\n");
    assert_eq!(info(&["ls", "image"]), filled(LISTED));
    assert_eq!(info(&["objects", "image", "image"]), objects);
    let below = info(&["--filter=d", "--filter=p", "ls", "image"]);
    let listed = filled(LISTED);
    let listed = listed
        .lines()
        .filter(|line| line.starts_with("/d/") || *line == "/p");
    assert_eq!(
        below.lines().collect::<Vec<_>>(),
        listed.collect::<Vec<_>>()
    );
    assert_eq!(info(&["--filter=na", "ls", "image"]), "");
    assert_eq!(info(&["missing-objects", "image"]), objects);
    assert_eq!(info(&["dump", "image", "image"]), filled(DUMP).repeat(2));
    // one of the two objects
    shell(work, "mkdir -p store/87 tree; seq 10000 >tree/big");
    shell(work, &format!("cp tree/big store/{ONE}"));
    assert_eq!(
        info(&["--basedir=store", "missing-objects", "image"]),
        format!("{TWO}\n")
    );
    assert_eq!(
        info(&["measure-file", "tree/big"]),
        ONE.replace('/', "") + "\n"
    );
    let digest = printed(work, "mkcomposefs", &["--print-digest", "tree", "image"]);
    assert_eq!(info(&["measure-file", "image"]), digest);
    let only = printed(work, "mkcomposefs", &["--print-digest-only", "tree"]);
    assert_eq!(only, digest);
    let wrong = &format!("digest={}", ONE.replace('/', ""));
    for (name, arguments, hint) in [
        ("composefs-info", &["wrong", "image"][..], "missing-objects"),
        ("composefs-info", &["ls"], "image is missing"),
        ("composefs-info", &["ls", "tree/big"], "not an image"),
        (
            "composefs-info",
            &["--filter=d/s", "ls", "image"],
            "single name",
        ),
        ("mkcomposefs", &["tree"], "image is missing"),
        (
            "mkcomposefs",
            &["--print-digest-only", "tree", "new"],
            "leave its name out",
        ),
        (
            "mount.composefs",
            &["image", "tree", "-o", "verity,rw"],
            "--overlay",
        ),
        (
            "mount.composefs",
            &["image", "tree", "-obasedir=a:b"],
            "one directory",
        ),
        (
            "mount.composefs",
            &["image", "tree", "-o", "ro,digest=00"],
            "64 hexadecimal digits",
        ),
        (
            "mount.composefs",
            &["image", "tree", "-o", wrong],
            "expected 87407405",
        ),
    ] {
        let output = called(work, name, arguments);
        let said = words_of(&output);
        assert!(said.contains(hint), "{name} {arguments:?}: {said}");
        assert_eq!(output.status.code(), Some(1), "{name} {arguments:?}");
        assert!(!work.join("new").exists());
    }
}

#[test]
fn images_of_mkcomposefs_are_described_as_by_composefs_info() {
    let Some(shared) = vectors() else { return };
    let peer = std::env::var_os("SINTER_PEER_COMPOSEFS").map(PathBuf::from);
    let work = scratch();
    let work = work.path();
    let unpack = |from: PathBuf| {
        let output = Command::new("gzip").arg("-dc").arg(from).output();
        output.expect("gzip").stdout
    };
    let mut count = 0;
    for name in ["v0", "v1", "user-xattrs", "from-dump-hardlinks", "pre1970"] {
        let vector = |end: &str| {
            shared
                .join("images/composefs")
                .join(format!("{name}.{end}"))
        };
        std::fs::write(work.join("image"), unpack(vector("img.gz"))).expect("an image");
        let objects = std::fs::read_to_string(vector("objects")).expect("names of objects");
        assert_eq!(
            printed(work, "composefs-info", &["objects", "image"]),
            objects
        );
        if let Some(peer) = &peer {
            for form in ["ls", "dump", "objects"] {
                let mut real = Command::new(peer.join("composefs-info"));
                let real = real.current_dir(work).args([form, "image"]).output();
                let ours = called(work, "composefs-info", &[form, "image"]);
                assert!(
                    ours.stdout == real.expect("the tool").stdout,
                    "{name} {form}"
                );
            }
        }
        count += objects.lines().count();
    }
    assert!(count > 100, "{count}");
    if !is_root() {
        return;
    }
    make_tree(&shared, &work.join("small"), &["--size", "small"]);
    call(
        work,
        "mkcomposefs",
        &["--digest-store=store", "small", "image"],
    );
    let theirs = unpack(shared.join("images/composefs/v1.img.gz"));
    assert!(std::fs::read(work.join("image")).expect("an image") == theirs);
    assert_eq!(
        printed(
            work,
            "composefs-info",
            &["--basedir", "store", "missing-objects", "image"]
        ),
        ""
    );
    // its owner, mode and content come from the image and the store
    std::fs::create_dir(work.join("there")).expect("a directory");
    let digest = printed(work, "composefs-info", &["measure-file", "image"]);
    let options = format!("basedir=store,ro,verity,digest={}", digest.trim());
    let arguments = ["-t", "composefs", "image", "there", "-o", &options];
    call(work, "mount.composefs", &arguments);
    let compared = "diff -r --no-dereference small/text there/text";
    let same = std::panic::catch_unwind(|| shell(work, compared));
    run(["umount".as_ref(), work.join("there").as_os_str()]);
    same.expect("the same files");
}
