//! Several sources as layers: what `sinter build` makes of them is what overlayfs shows of the same
//! layers.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::listing::{Listing, differences, listing};
use support::{is_root, lacking, run, scratch, shell, sinter};

/// Layers that the kernel stacks; they come apart when dropped.
struct Stacked(PathBuf);

impl Stacked {
    /// Mounts directories on top of each other, the lowest first, with the last one to write to or
    /// not.
    fn new(work: &Path, layers: &[&str], writable: bool) -> Option<Self> {
        let (upper, lower) = if writable {
            layers
                .split_last()
                .map(|(upper, lower)| (Some(upper), lower))?
        } else {
            (None, layers)
        };
        let lower: Vec<_> = lower.iter().rev().copied().collect();
        let mut options = format!("lowerdir={}", lower.join(":"));
        if let Some(upper) = upper {
            options += &format!(",upperdir={upper},workdir=scratch");
        }
        fs::create_dir_all(work.join("scratch")).unwrap();
        fs::create_dir_all(work.join("merged")).unwrap();
        let mut mount = Command::new("mount");
        mount
            .current_dir(work)
            .args(["-t", "overlay", "overlay", "-o", &options, "merged"]);
        let output = mount.output().unwrap();
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            lacking("overlay", &format!("no overlayfs: {why}"));
            return None;
        }
        Some(Self(work.join("merged")))
    }
}

impl Drop for Stacked {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

const BASE: &str = r#"
    mkdir -p etc/dir usr/lib usr/share/doc gone/deep swap var/log opaque/below
    for name in etc/a etc/b etc/dir/c usr/lib/lib.so usr/share/doc/copyright gone/deep/file swap/in var/log/x \
        opaque/one opaque/below/two top; do echo "base $name" >$name; done
    ln usr/lib/lib.so usr/lib/lib.so.1; ln -s usr/lib lib; echo was >dir-later; mkfifo pipe
    chown 12:34 etc/a; chmod 750 var; touch -d '2001-02-03 04:05:06.123456789' etc/* usr/lib/* var etc
    setfattr -n trusted.keep -v base etc
"#;
const FIRST: &str = r#"
    rm etc/a; rm -r gone; echo first >etc/b; echo new >etc/new; rm -r swap; echo file >swap
    rm -r opaque; mkdir opaque; echo first >opaque/three; echo more >>usr/lib/lib.so.1
    rm dir-later; mkdir dir-later; echo x >dir-later/y; chmod 700 var; rm lib; mkdir lib; echo own >lib/own
    touch -d '2011-02-03 04:05:06' etc/b etc
"#;
const SECOND: &str = r#"
    echo back >etc/a; rm etc/new; rm swap; mkdir swap; echo again >swap/in2; mkdir gone; echo other >gone/file
    rm opaque/three; rm usr/lib/lib.so; echo second >opaque/four; rm -r dir-later; ln -s nowhere dir-later
    ln etc/a etc/a2; rm pipe; mknod pipe c 1 3
"#;

/// Makes three layers, the upper two as overlayfs leaves them.
fn layers(work: &Path) -> bool {
    shell(work, "mkdir 0 1 2");
    shell(&work.join("0"), BASE);
    for (layers, script) in [(&["0", "1"][..], FIRST), (&["0", "1", "2"], SECOND)] {
        let Some(stacked) = Stacked::new(work, layers, true) else {
            return false;
        };
        shell(&stacked.0, script);
        drop(stacked);
        shell(work, "rm -rf scratch");
    }
    true
}

/// Rewrites whiteouts as the layers of OCI have them.
const TO_OCI: &str = r#"
    cp -a $layer oci$layer; cd oci$layer
    find . -type c | while read path; do
        test "$(stat -c %t:%T "$path")" = 0:0 || continue
        rm "$path"; : >"$(dirname "$path")/.wh.$(basename "$path")"
    done
    find . -type d | while read path; do
        if getfattr --only-values -n trusted.overlay.opaque "$path" >/dev/null 2>&1; then
            : >"$path/.wh..wh..opq"
        fi
        time=$(stat -c %y "../$layer/$path")
        for name in opaque origin impure; do setfattr -x trusted.overlay.$name "$path" 2>/dev/null || true; done
        touch -d "$time" "$path"
    done
    find . -type f | while read path; do
        setfattr -x trusted.overlay.origin "$path" 2>/dev/null || true
    done
"#;

fn built(work: &Path, sources: &[&str], flags: &[&str]) -> Listing {
    let mut command = sinter();
    command
        .current_dir(work)
        .args(["build", "--force", "-l1", "-q", "-o", "x.erofs"]);
    let output = command.args(flags).args(sources).output().unwrap();
    assert!(output.status.success(), "{sources:?}: {output:?}");
    let to = work.join("to");
    let _ = fs::remove_dir_all(&to);
    run([
        "extract".as_ref(),
        work.join("x.erofs").as_os_str(),
        "-q".as_ref(),
        "-o".as_ref(),
        to.as_os_str(),
    ]);
    listing(&to, i64::MAX)
}

#[test]
fn three_layers_match_overlayfs() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    if !layers(work) {
        return;
    }
    let expected = {
        let stacked = Stacked::new(work, &["0", "1", "2"], false).unwrap();
        listing(&stacked.0, i64::MAX)
    };
    assert!(
        expected.len() > 20 && !expected.contains_key("etc/new"),
        "{expected:?}"
    );
    for layer in ["1", "2"] {
        shell(work, &TO_OCI.replace("$layer", layer));
    }
    let tar = "tar --format=posix --xattrs --xattrs-include='*' --numeric-owner";
    for name in ["0", "1", "2", "oci1", "oci2"] {
        shell(work, &format!("{tar} -C {name} -cf {name}.tar ."));
        // without the root, and without directories that are there already
        shell(
            work,
            &format!("zstd -q {name}.tar; {tar} -C {name} -cf {name}.parts.tar $(ls -A {name})"),
        );
    }
    run(["build", "-l1", "-q", "--time-resolution=1ns", "-o"]
        .map(Into::into)
        .into_iter()
        .chain([
            work.join("0.dwarfs").into_os_string(),
            work.join("0").into_os_string(),
        ]));
    for sources in [
        &["0", "1", "2"][..],
        &["0.tar", "1.tar", "2.tar"],
        &["0.dwarfs", "1.tar.zst", "2"],
        &["0", "oci1.tar", "oci2.tar"],
        &["0.tar", "oci1.tar.zst", "2.tar"],
        &["0.dwarfs", "oci1.parts.tar", "oci2.parts.tar"],
    ] {
        let differences = differences(&expected, &built(work, sources, &[]));
        assert!(differences.is_empty(), "{sources:?}:\n{differences}");
    }
    let both = built(work, &["0", "oci1", "2"], &["--whiteouts=all"]);
    let differences = differences(&expected, &both);
    assert!(differences.is_empty(), "{differences}");
}

#[test]
fn marks_are_files_where_nobody_asks() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir a; cd a; : >.wh.x; mknod gone c 0 0; echo y >x; : >.wh..wh..opq; tar -cf ../a.tar .",
    );
    let names = |listing: Listing| listing.into_keys().collect::<Vec<_>>();
    let all = [".wh..wh..opq", ".wh.x", "gone", "x"];
    for source in ["a", "a.tar"] {
        assert_eq!(names(built(work, &[source], &[])), all);
        assert_eq!(
            names(built(work, &[source, source], &["--whiteouts=none"])),
            all
        );
        assert_eq!(names(built(work, &[source], &["--whiteouts=all"])), ["x"]);
        assert_eq!(
            names(built(work, &[source], &["--whiteouts=oci"])),
            ["gone", "x"]
        );
    }
    // an opaque directory hides what is below the layer, not what is in it
    shell(
        work,
        "mkdir b; : >b/below; mkdir c; : >c/x; : >c/.wh.z; tar -C c -cf c.tar x .wh.z",
    );
    assert_eq!(names(built(work, &["b", "a.tar"], &[])), ["x"]);
    assert_eq!(
        names(built(work, &["b", "c.tar"], &["--exclude=be*"])),
        ["x"]
    );
    assert_eq!(
        names(built(work, &["b", "a"], &[])),
        [".wh..wh..opq", ".wh.x", "below", "x"]
    );
    // a directory without a member of its own leaves the one below as it is
    shell(
        work,
        "mkdir -m 700 b/d; : >b/d/y; touch -d 2001-02-03 b/d; mkdir e e/d; : >e/d/x; tar -C e -cf e.tar d/x",
    );
    let found = built(work, &["b", "e.tar"], &[]);
    assert!(
        found["d"].starts_with("40700 ") && found["d"].contains(" at 98115"),
        "{found:?}"
    );
    assert_eq!(names(found), ["below", "d", "d/x", "d/y"]);
}

/// Makes an OCI layout of layers, and one with images for two platforms.
const LAYOUT: &str = r#"
import gzip, hashlib, json, os
def blob(dir, data):
    digest = hashlib.sha256(data).hexdigest()
    os.makedirs(dir + '/blobs/sha256', exist_ok=True)
    open(dir + '/blobs/sha256/' + digest, 'wb').write(data)
    return {'digest': 'sha256:' + digest, 'size': len(data)}
def manifest(dir, layers):
    kind = 'application/vnd.oci.image.layer.v1.tar'
    all = [dict(blob(dir, data), mediaType=kind + more) for data, more in layers]
    platform = b'{"os": "linux", "architecture": "amd64"}'
    config = dict(blob(dir, platform), mediaType='application/vnd.oci.image.config.v1+json')
    return blob(dir, json.dumps({'schemaVersion': 2, 'config': config, 'layers': all}).encode())
def layout(dir, manifests):
    json.dump({'imageLayoutVersion': '1.0.0'}, open(dir + '/oci-layout', 'w'))
    json.dump({'schemaVersion': 2, 'manifests': manifests}, open(dir + '/index.json', 'w'))
read = lambda name: open(name, 'rb').read()
three = [(read('0.tar'), ''), (gzip.compress(read('oci1.tar')), '+gzip'), (read('oci2.tar.zst'), '+zstd')]
layout('one', [manifest('one', three)])
arm = dict(manifest('two', three[:1]), platform={'os': 'linux', 'architecture': 'arm64', 'variant': 'v8'})
amd = dict(manifest('two', three), platform={'os': 'linux', 'architecture': 'amd64'})
made = dict(manifest('two', three[:2]), platform={'os': 'unknown', 'architecture': 'unknown'})
inner = blob('two', json.dumps({'schemaVersion': 2, 'manifests': [arm, amd, made]}).encode())
layout('two', [inner])
"#;

#[test]
fn excluded_entries_of_a_layer_still_hide_lower_layers() {
    let dir = scratch();
    let work = dir.path();
    shell(
        work,
        "mkdir -p 0 1/n; echo 0 >0/n; echo 0 >0/keep; echo 1 >1/n/in",
    );
    shell(work, "tar -C 0 -cf 0.tar .; tar -C 1 -cf 1.tar .");
    for sources in [["0", "1"], ["0.tar", "1.tar"]] {
        let found = built(work, &sources, &["--exclude=n/"]);
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["keep"]);
    }
}

#[test]
fn an_oci_layout_is_its_layers() {
    if !is_root() {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir 0 oci1 oci2; cd 0; mkdir -p a/b; echo 0 >a/b/c; echo 0 >gone; cd ../oci1; mkdir a; echo 1 >a/x",
    );
    shell(
        work,
        ": >oci1/.wh.gone; mkdir -p oci2/a; : >oci2/a/.wh..wh..opq; echo 2 >oci2/a/y",
    );
    for name in ["0", "oci1", "oci2"] {
        shell(
            work,
            &format!("tar -C {name} -cf {name}.tar .; zstd -q {name}.tar"),
        );
    }
    shell(work, &format!("python3 - <<'end'\n{LAYOUT}\nend\n"));
    let all = ["a", "a/y"];
    let names = |listing: Listing| listing.into_keys().collect::<Vec<_>>();
    assert_eq!(names(built(work, &["one"], &[])), all);
    // one image, whose platform is in its configuration only; its layers are unpacked, asked or not
    for flag in ["--platform=linux/amd64", "--platform=linux", "--layers"] {
        assert_eq!(names(built(work, &["one"], &[flag])), all, "{flag}");
    }
    assert_eq!(
        names(built(work, &["two"], &["--platform=linux/amd64"])),
        all
    );
    let arm = built(work, &["two"], &["--platform=linux/arm64"]);
    assert_eq!(names(arm), ["a", "a/b", "a/b/c", "gone"]);
    shell(work, "mkdir more; : >more/z");
    assert_eq!(names(built(work, &["one", "more"], &[])), ["a", "a/y", "z"]);
    for (flags, expected) in [
        (&["two"][..], "linux/arm64/v8, linux/amd64"),
        (&["two", "--platform=plan9/mips"], "no image for plan9/mips"),
        (
            &["one", "--platform=linux/arm64"],
            "no image for linux/arm64; there are: linux/amd64",
        ),
        (&["0.tar", "--platform=plan9/mips"], "no source is one"),
    ] {
        let output = support::try_run(["build", "-o", "x"].iter().chain(flags).map(
            |arg| match *arg {
                "one" | "two" | "x" | "0.tar" => work.join(arg).into_os_string(),
                arg => arg.into(),
            },
        ));
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && words.contains(expected),
            "{words}"
        );
    }
    // a layer with another byte, and one with more
    for (damage, expected) in [
        ("seek=700 conv=notrunc", "has the SHA-256"),
        ("oflag=append conv=notrunc", "its descriptor says"),
    ] {
        let script = "cp -r one hurt; blob=hurt/blobs/sha256/$(sha256sum <0.tar | cut -d' ' -f1)";
        shell(
            work,
            &format!("{script}; printf x | dd of=$blob bs=1 {damage} 2>/dev/null"),
        );
        let args = [
            "build".into(),
            "-o".into(),
            work.join("x"),
            work.join("hurt"),
        ];
        let output = support::try_run(args);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && words.contains(expected),
            "{words}"
        );
        fs::remove_dir_all(work.join("hurt")).unwrap();
    }
    // a document that is not what its digest says
    shell(
        work,
        "for blob in one/blobs/sha256/*; do grep -q schemaVersion $blob || continue; printf ' ' >>$blob; done",
    );
    let output = support::try_run(
        ["build", "-o"]
            .map(Into::into)
            .into_iter()
            .chain([work.join("x"), work.join("one")].map(PathBuf::into_os_string)),
    );
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(3) && words.contains("SHA-256"),
        "{words}"
    );
}

#[test]
fn layers_must_match_their_digests() {
    let work = scratch();
    let layout = work.path().join("layout");
    let refused_or_built = |algorithm: &str, hex: &str| {
        let _ = fs::remove_dir_all(&layout);
        fs::create_dir_all(layout.join("blobs").join(algorithm)).unwrap();
        fs::write(
            layout.join("oci-layout"),
            r#"{"imageLayoutVersion":"1.0.0"}"#,
        )
        .unwrap();
        let layer = fs::read(work.path().join("layer.tar")).unwrap();
        fs::write(layout.join("blobs").join(algorithm).join(hex), layer).unwrap();
        let kind = "application/vnd.oci.image.layer.v1.tar";
        let manifest =
            format!(r#"{{"layers":[{{"mediaType":"{kind}","digest":"{algorithm}:{hex}"}}]}}"#);
        fs::write(layout.join("index.json"), manifest).unwrap();
        let mut command = sinter();
        command.args(["build", "-q", "--force", "-f", "dwarfs", "-o"]);
        let output = command
            .arg(work.path().join("x"))
            .arg(&layout)
            .output()
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), words)
    };
    shell(
        work.path(),
        "mkdir d; echo content > d/file; tar -cf layer.tar d",
    );
    let sum = Command::new("sha512sum")
        .arg(work.path().join("layer.tar"))
        .output()
        .unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let right = sum.split(' ').next().unwrap();
    let (built, words) = refused_or_built("sha512", right);
    assert!(built, "{words}");
    let last = if right.ends_with('0') { '1' } else { '0' };
    let wrong = format!("{}{last}", &right[..127]);
    for (algorithm, hex) in [("sha512", &*wrong), ("foo", "abc")] {
        let (built, words) = refused_or_built(algorithm, hex);
        let why = if algorithm == "foo" { "foo" } else { "SHA-512" };
        assert!(!built && words.contains(why), "{words}");
    }
}

#[test]
fn whiteouts_make_no_directory() {
    let dir = scratch();
    let work = dir.path();
    shell(
        work,
        r#"
        mkdir -p 1/test/deep 1/kept 2/test/deep 2/kept 2/file 2/nowhere/at 2/made
        echo t >1/test/deep/t; echo k >1/kept/k; echo l >1/kept/l; echo f >1/file
        touch 2/.wh.test 2/test/deep/.wh.t 2/kept/.wh.k 2/file/.wh.x
        touch 2/nowhere/at/.wh.all 2/made/.wh.x
        tar -C 1 -cf 1.tar test kept file
        tar -C 2 --no-recursion -cf 2.tar .wh.test test/deep/.wh.t kept/.wh.k file/.wh.x \
            nowhere/at/.wh.all made made/.wh.x
        tar -C 2 --no-recursion -cf 3.tar test/deep/.wh.t
        "#,
    );
    for sources in [&["1.tar", "2.tar"][..], &["1.tar", "2.tar", "3.tar"]] {
        let found = built(work, sources, &[]);
        let names: Vec<_> = found.into_keys().collect();
        assert_eq!(names, ["file", "kept", "kept/l", "made"], "{sources:?}");
    }
}

#[test]
fn hard_links_lead_to_lower_layers() {
    let dir = scratch();
    let work = dir.path();
    shell(
        work,
        r#"
        mkdir -p 1/usr/bin 2/usr/bin 3
        echo content >1/usr/bin/obj
        chmod 755 1/usr/bin/obj
        echo old >1/bash; echo other >1/gone
        cp 1/usr/bin/obj 2/usr/bin/obj; ln 2/usr/bin/obj 2/bash; ln 2/usr/bin/obj 2/sh
        ln 2/usr/bin/obj 3/third; ln 2/usr/bin/obj 3/bash; echo own >3/own; ln 3/own 3/own2
        touch 3/.wh.gone
        tar -C 1 --xattrs -cf 1.tar bash gone usr; tar -C 2 -cf 2.tar usr/bin/obj bash sh
        tar --delete -f 2.tar usr/bin/obj
        tar -C 3 -cf 3.tar bash third own own2 .wh.gone; tar --delete -f 3.tar bash
        mkdir -p 4/bin; ln 2/usr/bin/obj 4/bin/obj; ln 4/bin/obj 4/fourth; ln -s usr/bin 1/bin
        tar -C 1 --xattrs -cf 1.tar bash bin gone usr
        tar -C 4 -cf 4.tar bin/obj fourth; tar --delete -f 4.tar bin/obj
        "#,
    );
    let found = built(work, &["1.tar", "2.tar", "3.tar", "4.tar"], &[]);
    assert_eq!(found["bash"], found["usr/bin/obj"]);
    let names: Vec<_> = found.into_keys().collect();
    assert_eq!(
        names,
        [
            "bash",
            "bin",
            "fourth",
            "own",
            "own2",
            "sh",
            "third",
            "usr",
            "usr/bin",
            "usr/bin/obj"
        ]
    );
    shell(
        work,
        "cd to; test $(stat -c %h bash) = 5 -a fourth -ef sh -a bash -ef sh -a sh -ef third \
         -a sh -ef usr/bin/obj
         test own -ef own2; grep -qx content bash; test -x third",
    );
    // what no lower layer has is named
    for sources in [&["2.tar"][..], &["3.tar", "2.tar"]] {
        let mut command = sinter();
        command
            .current_dir(work)
            .args(["build", "--force", "-l1", "-q", "-o", "x.dwarfs"]);
        let output = command.args(sources).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{sources:?}: {output:?}");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        for name in ["2.tar/bash", "2.tar/sh"] {
            let named = words.lines().find(|line| line.contains(name));
            assert!(
                named.is_some_and(|line| line.contains("left out")),
                "{words}"
            );
        }
    }
}

/// Layers as archives, of which the upper ones have members below symlinks of lower ones.
const BELOW_SYMLINKS: &str = r#"
    mkdir -p 0/usr/lib/deep 0/other; echo base >0/usr/lib/base; echo base >0/usr/lib/gone
    ln -s usr/lib 0/lib; ln -s /usr/lib/../lib/deep 0/other/up; ln -s missing/place 0/dangling
    ln -s ../../../../other 0/out; ln -s loop 0/loop; ln -s usr/lib/base 0/file
    ln -s usr 0/explicit
    mkdir -p 1/lib/deep 1/other/up 1/dangling 1/out 1/loop 1/file 1/explicit
    echo one >1/lib/own; echo one >1/lib/deep/own; : >1/lib/.wh.gone; echo one >1/other/up/x
    for name in dangling out loop file explicit; do echo one >1/$name/x; done
    mkdir -p 2/lib; echo two >2/lib/own; ln 2/lib/own 2/lib/again
    tar -C 0 -cf 0.tar .
    tar -C 1 -cf 1.tar --no-recursion lib/own lib/deep/own lib/.wh.gone other/up/x dangling/x \
        out/x loop/x file/x explicit explicit/x
    tar -C 2 -cf 2.tar --no-recursion lib/own lib/again
"#;

#[test]
fn members_below_symlinks_of_lower_layers_are_where_they_lead() {
    let work = scratch();
    shell(work.path(), BELOW_SYMLINKS);
    let image = work.path().join("image");
    for format in ["dwarfs", "squashfs", "erofs"] {
        let mut build = sinter();
        build
            .current_dir(work.path())
            .args(["build", "-q", "--force", "-f", format]);
        run_in(build.args([
            "--whiteouts",
            "oci",
            "0.tar",
            "1.tar",
            "2.tar",
            "-o",
            "image",
        ]));
        let list = run(["ls", "-R", image.to_str().unwrap()]);
        let list = String::from_utf8(list.stdout).unwrap();
        let has = |name: &str| list.lines().any(|line| line == name);
        for name in [
            "lib",
            "usr/lib/base",
            "usr/lib/own",
            "usr/lib/again",
            "usr/lib/deep/own",
            "usr/lib/deep/x",
            "other/x",
            "missing/place/x",
            // a member for the directory replaces the symlink
            "explicit/x",
            // and so does a directory where the symlink leads to none
            "loop/x",
            "file/x",
        ] {
            assert!(has(name), "{format}: no {name} in {list}");
        }
        for name in ["lib/own", "usr/lib/gone", "usr/x", "other/up/x", "out/x"] {
            assert!(!has(name), "{format}: {name} in {list}");
        }
        let cat = |name: &str| run(["cat", image.to_str().unwrap(), name]).stdout;
        assert_eq!(cat("usr/lib/own"), b"two\n", "{format}");
        assert_eq!(cat("lib/again"), b"two\n", "{format}");
    }
}

fn run_in(command: &mut Command) {
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
}
