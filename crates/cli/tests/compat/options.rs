//! Options that were refused before: what they do, where no line of `callers.tsv` shows it.

use std::path::Path;

use super::support::archives::words_of;
use super::support::{is_root, scratch, shell};
use super::{called, extracted};

fn run(work: &Path, name: &str, args: &[&str]) -> String {
    let output = called(work, name, args);
    let said = words_of(&output);
    assert!(output.status.success(), "{name} {args:?}: {said}");
    String::from_utf8(output.stdout).expect("text") + &said
}

#[test]
fn an_index_finds_content_in_the_archive() {
    let work = scratch();
    let work = work.path();
    let script = "mkdir -p tree/d; seq 9000 >tree/d/long; echo short >tree/short; : >tree/empty
        ln -s short tree/link; tar -C tree -cf in.tar .; gzip -k in.tar";
    shell(work, script);
    run(work, "mkfs.erofs", &["--tar=i", "index", "in.tar"]);
    let device = ["--device=in.tar", "--extract=apart", "index"];
    run(work, "fsck.erofs", &device);
    shell(work, "cat index in.tar >both");
    run(work, "fsck.erofs", &["--extract=joined", "both"]);
    let script = "diff -r tree apart; diff -r tree joined
        test $(stat -c %s index) -lt $(stat -c %s in.tar)";
    shell(work, script);
    // what the archive does not have as it is has no place to refer to
    let output = called(work, "mkfs.erofs", &["--tar=i", "wrong", "in.tar.gz"]);
    assert!(!output.status.success() && !work.join("wrong").exists());
    let output = called(work, "mkfs.erofs", &["--tar=i", "-zlz4", "wrong", "in.tar"]);
    assert!(!output.status.success() && !work.join("wrong").exists());
}

#[test]
fn whiteouts_of_aufs_become_those_of_overlayfs() {
    let work = scratch();
    let work = work.path();
    let script = "mkdir -p tree/over; : >tree/.wh.gone; : >tree/over/.wh..wh..opq
        echo x >tree/over/file; tar -C tree -cf in.tar .";
    shell(work, script);
    run(work, "mkfs.erofs", &["--tar=f", "--aufs", "out", "in.tar"]);
    let listed = run(work, "dump.erofs", &["--ls", "--path=/", "out"]);
    assert!(!listed.contains(".wh."), "{listed}");
    assert!(listed.contains("gone"), "{listed}");
    let stripped = ["--tar=f", "--aufs", "--ovlfs-strip=1", "bare", "in.tar"];
    run(work, "mkfs.erofs", &stripped);
    let listed = run(work, "dump.erofs", &["--ls", "--path=/", "bare"]);
    assert!(!listed.contains("gone"), "{listed}");
}

#[test]
fn unsquashfs_forces_owners_and_modes() {
    let work = scratch();
    let work = work.path();
    shell(work, "mkdir -p tree/d; echo x >tree/d/file");
    run(work, "mksquashfs", &["tree", "in.sqfs", "-quiet"]);
    let modes = [
        "-force-file-mode",
        "600",
        "-force-dir-mode",
        "u=rwx,go=",
        "in.sqfs",
    ];
    run(work, "unsquashfs", &[&["-d", "modes"][..], &modes].concat());
    shell(
        work,
        "test $(stat -c %a modes/d modes/d/file | tr -d '\\n') = 700600",
    );
    if is_root() {
        let owners = [
            "-d",
            "owners",
            "-force-uid",
            "7",
            "-force-gid",
            "8",
            "in.sqfs",
        ];
        run(work, "unsquashfs", &owners);
        shell(work, "test $(stat -c %u.%g owners/d/file) = 7.8");
    }
}

#[test]
fn paths_outside_of_the_sources_exclude_nothing() {
    let work = scratch();
    let work = work.path();
    shell(work, "mkdir -p tree/proc; echo x >tree/proc/file");
    let said = run(
        work,
        "mksquashfs",
        &["tree", "out", "-e", "/proc", "-e", "/sys"],
    );
    assert!(said.contains("-e /proc has no effect"), "{said}");
    run(work, "unsquashfs", &["-d", "back", "out"]);
    shell(work, "diff -r tree back");
}

#[test]
fn genisoimage_leaves_out_backups_and_xorrisofs_packs_them() {
    let work = scratch();
    let work = work.path();
    let script = "mkdir -p tree/d; cd tree; touch a~ b.bak 'c#d' e 'd/#x' d/g.bak2
        cd ..; mkdir less; cp -a tree/e less; mkdir less/d; touch less/d/g.bak2";
    shell(work, script);
    for (name, same) in [("genisoimage", "less"), ("xorrisofs", "tree")] {
        run(
            work,
            name,
            &["-quiet", "-R", "-no-bak", "-o", "out", "tree"],
        );
        extracted(&work.join("out"), &work.join(format!("of-{name}")));
        shell(work, &format!("diff -r {same} of-{name}"));
    }
}
