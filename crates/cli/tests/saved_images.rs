//! Archives of container images, as skopeo writes them, and as docker save did and does: their
//! layers are those of the OCI layout that they were made of.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(clippy::print_stderr, reason = "a skipped test says so")]

mod support;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use support::archives::{has, words_of};
use support::{scratch, shell, sinter};

/// Makes the layers, and an OCI layout of them in `one`.
const LAYOUT: &str = r#"
mkdir 0 1 2; mkdir -p 0/a/b; echo 0 >0/a/b/c; echo 0 >0/gone; mkdir 1/a; echo 1 >1/a/x; : >1/.wh.gone
mkdir -p 2/a; : >2/a/.wh..wh..opq; echo 2 >2/a/y
find 0 1 2 -exec touch -h -d '2020-01-02' {} +
for n in 0 1 2; do tar -C $n --format=posix --sort=name -cf $n.tar .; done
python3 - <<'end'
import gzip, hashlib, json, os
read = lambda name: open(name, 'rb').read()
def blob(data, kind):
    digest = hashlib.sha256(data).hexdigest()
    os.makedirs('one/blobs/sha256', exist_ok=True)
    open('one/blobs/sha256/' + digest, 'wb').write(data)
    kind = 'application/vnd.oci.image.' + kind
    return {'mediaType': kind, 'digest': 'sha256:' + digest, 'size': len(data)}
tars = [read(str(n) + '.tar') for n in range(3)]
ids = ['sha256:' + hashlib.sha256(tar).hexdigest() for tar in tars]
config = json.dumps({'architecture': 'amd64', 'os': 'linux', 'config': {}, 'rootfs': {'type': 'layers', 'diff_ids': ids}}).encode()
layers = [blob(gzip.compress(tar), 'layer.v1.tar+gzip') for tar in tars]
manifest = {'schemaVersion': 2, 'config': blob(config, 'config.v1+json'), 'layers': layers}
manifest['mediaType'] = 'application/vnd.oci.image.manifest.v1+json'
manifest = blob(json.dumps(manifest).encode(), 'manifest.v1+json')
json.dump({'imageLayoutVersion': '1.0.0'}, open('one/oci-layout', 'w'))
json.dump({'schemaVersion': 2, 'manifests': [manifest]}, open('one/index.json', 'w'))
# as Docker wrote it before 25: a directory for each layer, symlinks where layers are equal
os.makedirs('old')
named = hashlib.sha256(config).hexdigest() + '.json'
open('old/' + named, 'wb').write(config)
names = []
for n, tar in enumerate(tars):
    os.makedirs(f'old/id{n}')
    open(f'old/id{n}/data.tar', 'wb').write(tar)
    os.symlink(f'../id{n}/data.tar', f'old/id{n}/layer.tar')
    names.append(f'id{n}/layer.tar')
image = {'Config': named, 'RepoTags': ['x/y:1'], 'Layers': names}
json.dump([image], open('old/manifest.json', 'w'))
# and since: an OCI layout with a manifest beside it
both = {'Config': 'blobs/sha256/' + named[:-5], 'RepoTags': ['x/y:1'], 'Layers': ['blobs/sha256/' + l['digest'][7:] for l in layers]}
json.dump([both], open('both.json', 'w'))
json.dump([image, dict(image, RepoTags=['x/z:2'])], open('two.json', 'w'))
# a layout with two images, one of them with two tags
one = json.load(open('one/index.json'))['manifests'][0]
os.system('cp -r one tagged; mv one keep; cp -r tagged one')
base = {'architecture': 'amd64', 'os': 'linux', 'config': {}}
base = json.dumps(dict(base, rootfs={'type': 'layers', 'diff_ids': ids[:1]})).encode()
other = {'schemaVersion': 2, 'config': blob(base, 'config.v1+json'), 'layers': layers[:1]}
other['mediaType'] = 'application/vnd.oci.image.manifest.v1+json'
other = blob(json.dumps(other).encode(), 'manifest.v1+json')
os.system('rm -rf tagged; mv one tagged; mv keep one')
named = lambda image, tag: dict(image, annotations={'org.opencontainers.image.ref.name': tag})
all = [named(one, 'x.org/full:1'), named(one, 'full'), named(other, 'base')]
json.dump({'schemaVersion': 2, 'manifests': all}, open('tagged/index.json', 'w'))
end
tar -C tagged -cf tagged.tar .
tar -C old -cf old.tar .
cp -r one new; cp both.json new/manifest.json; tar -C new -cf new.tar .
"#;

fn try_build(work: &Path, sources: &[&str], more: &[&str]) -> Output {
    let mut build = sinter();
    build.current_dir(work).args([
        "build",
        "-q",
        "-l1",
        "--no-history",
        "--force",
        "-o",
        "x.dwarfs",
    ]);
    build.args(sources).args(more).output().unwrap()
}

fn built(work: &Path, sources: &[&str], more: &[&str]) -> Vec<u8> {
    let output = try_build(work, sources, more);
    assert!(
        output.status.success(),
        "{sources:?}: {}",
        words_of(&output)
    );
    fs::read(work.join("x.dwarfs")).unwrap()
}

/// Has each image's configuration name other digests of layers.
const OTHER_DIGESTS: &str = r#"
python3 - <<'end'
import hashlib, json, os
read = lambda name: open(name, 'rb').read()
def add(data):
    digest = hashlib.sha256(data).hexdigest()
    open('one/blobs/sha256/' + digest, 'wb').write(data)
    return {'digest': 'sha256:' + digest, 'size': len(data)}
index = json.load(open('one/index.json'))
manifest = json.loads(read('one/blobs/sha256/' + index['manifests'][0]['digest'][7:]))
config = json.loads(read('one/blobs/sha256/' + manifest['config']['digest'][7:]))
ids = config['rootfs']['diff_ids']
ids[0], ids[1] = ids[1], ids[0]
config = json.dumps(config).encode()
manifest['config'].update(add(config))
index['manifests'][0].update(add(json.dumps(manifest).encode()))
json.dump(index, open('one/index.json', 'w'))
named = hashlib.sha256(config).hexdigest() + '.json'
open('old/' + named, 'wb').write(config)
image = json.load(open('old/manifest.json'))
image[0]['Config'] = named
json.dump(image, open('old/manifest.json', 'w'))
end
tar -C old -cf old.tar .; tar -C one -cf new.tar .
"#;

#[test]
fn layers_have_the_digests_of_the_configuration() {
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    shell(work, OTHER_DIGESTS);
    for source in [
        "one",
        "oci:one",
        "old.tar",
        "new.tar",
        "oci-archive:new.tar",
    ] {
        let refused = try_build(work, &[source], &["--layers"]);
        let words = words_of(&refused);
        assert_eq!(refused.status.code(), Some(3), "{source}: {words}");
        assert!(
            words.contains("the configuration says"),
            "{source}: {words}"
        );
    }
}

#[test]
fn saved_images_are_their_layers() {
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    let expected = built(work, &["one"], &[]);
    let list = sinter()
        .current_dir(work)
        .args(["ls", "-R", "x.dwarfs"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&list.stdout), ".\na\na/y\n");
    shell(work, "gzip -k old.tar; zstd -q new.tar");
    for source in ["old.tar", "new.tar", "old.tar.gz", "new.tar.zst"] {
        assert!(
            built(work, &[source], &["--layers"]) == expected,
            "{source}"
        );
        // who does not ask gets the files of the archive
        assert!(built(work, &[source], &[]) != expected, "{source}");
    }
    assert!(
        built(
            work,
            &["new.tar"],
            &["--layers", "--platform", "linux/amd64"]
        ) == expected
    );
    let mut piped = Command::new("sh");
    let script = "cat old.tar | \"$0\" build - --layers -q -l1 --no-history --force -o x.dwarfs";
    piped
        .current_dir(work)
        .args(["-c", script, env!("CARGO_BIN_EXE_sinter")]);
    assert!(
        piped
            .env_remove("SOURCE_DATE_EPOCH")
            .status()
            .unwrap()
            .success()
    );
    assert!(fs::read(work.join("x.dwarfs")).unwrap() == expected);
    // among other layers, which stay what they are
    shell(
        work,
        "mkdir more; : >more/z; touch -d '2020-01-02' more/z more; tar -C more -cf more.tar .",
    );
    let expected = built(work, &["one", "more.tar"], &[]);
    assert!(built(work, &["old.tar", "more.tar"], &["--layers"]) == expected);
}

#[test]
fn we_read_images_of_skopeo() {
    if !has("skopeo") {
        return;
    }
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    shell(
        work,
        "skopeo --insecure-policy copy -q oci:one docker-archive:docker.tar:x/y:1",
    );
    shell(
        work,
        "skopeo --insecure-policy copy -q oci:one oci-archive:oci.tar",
    );
    let expected = built(work, &["one"], &[]);
    for source in ["docker.tar", "oci.tar"] {
        assert!(
            built(work, &[source], &["--layers"]) == expected,
            "{source}"
        );
    }
}

#[test]
fn images_are_chosen_by_tag_and_named_as_skopeo_does() {
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    shell(
        work,
        "cp old/manifest.json keep.json; cp two.json old/manifest.json; tar -C old -cf two.tar .; \
         cp keep.json old/manifest.json; tar -C one -cf one.tar .",
    );
    let full = built(work, &["one"], &[]);
    let base = built(work, &["0.tar"], &[]);
    for source in [
        "oci:one",
        "oci:tagged:full",
        "oci:tagged:x.org/full:1",
        "oci-archive:tagged.tar:full",
        "oci-archive:one.tar",
        "docker-archive:old.tar",
        "docker-archive:old.tar:x/y:1",
        "docker-archive:two.tar:docker.io/x/z:2",
        "docker-archive:two.tar:@1",
    ] {
        assert!(built(work, &[source], &[]) == full, "{source}");
    }
    // an archive has no configuration
    let files_alone = &["--xattrs-exclude=^user\\.oci\\."];
    for source in ["oci:tagged:base", "oci-archive:tagged.tar:base"] {
        assert!(built(work, &[source], files_alone) == base, "{source}");
    }
    for (source, expected) in [
        ("tagged", "x.org/full:1, full, base"),
        ("oci:tagged", "oci:DIR:TAG"),
        (
            "oci:tagged:nope",
            "no image nope; there are: x.org/full:1, full, base",
        ),
        ("oci:0", "holds no container image"),
        ("dir:0", "holds no container image"),
        ("oci-archive:old.tar", "has no OCI layout"),
        ("oci-archive:0.tar", "holds no container image"),
        ("docker-archive:two.tar", "docker-archive:FILE:NAME"),
        (
            "docker-archive:two.tar:x/w",
            "no image x/w; there are: x/y:1, x/z:2",
        ),
        ("docker-archive:two.tar:@2", "no image @2"),
    ] {
        let output = try_build(work, &[source], &[]);
        let words = words_of(&output);
        assert!(
            !output.status.success() && words.contains(expected),
            "{source}: {words}"
        );
    }
    if !has("skopeo") {
        return;
    }
    shell(
        work,
        "skopeo --insecure-policy copy -q oci:one dir:flat; \
         skopeo --insecure-policy copy -q oci:one oci:many:a/b:1; \
         skopeo --insecure-policy copy -q oci:tagged:base oci:many:base; \
         skopeo --insecure-policy copy -q oci:one docker-archive:docker.tar:debian:latest",
    );
    for source in [
        "dir:flat",
        "flat",
        "oci:many:a/b:1",
        "docker-archive:docker.tar:debian",
    ] {
        assert!(built(work, &[source], &[]) == full, "{source}");
    }
    assert!(built(work, &["oci:many:base"], files_alone) == base);
    // a directory of one image has no index: its configuration names the platform
    assert!(built(work, &["dir:flat"], &["--platform", "linux/amd64"]) == full);
    let output = try_build(work, &["dir:flat"], &["--platform", "linux/arm64"]);
    let words = words_of(&output);
    assert!(words.contains("there are: linux/amd64"), "{words}");
    assert!(!output.status.success());
}

#[test]
fn an_image_becomes_a_container_image_and_one_again() {
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "mkdir -p t/d/e; echo a >t/d/f; ln t/d/f t/g; ln -s d/f t/l; chmod 4711 t/d/f; \
         truncate -s 300000 t/sparse; echo end >>t/sparse; chmod 750 t/d; \
         mkdir bad; : >bad/.wh.x; mkdir other; : >other/file",
    );
    let pack = |tree: &str, image: &str| {
        let image = work.join(image);
        support::build("dwarfs", &work.join(tree), &image, &["-l1"]);
    };
    pack("t", "t.dwarfs");
    pack("bad", "bad.dwarfs");
    let extract = |words: &[&str]| {
        let mut extract = sinter();
        let extract = extract
            .current_dir(work)
            .args(["extract", "--oci", "--json"]);
        extract.args(words).output().unwrap()
    };
    let written = |words: &[&str]| -> String {
        let output = extract(words);
        assert!(output.status.success(), "{words:?}: {}", words_of(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["digest"].as_str().unwrap().to_owned()
    };
    let one = written(&["t.dwarfs", "-o", "layout:v1"]);
    // neither threads nor the name of the tag count, the platform does
    assert_eq!(written(&["t.dwarfs", "-o", "layout:v2", "-j1"]), one);
    assert_eq!(written(&["t.dwarfs", "-o", "oci:second"]), one);
    let mips = ["t.dwarfs", "-o", "layout:mips", "--platform=plan9/mips"];
    assert_ne!(written(&mips), one);
    for (words, expected) in [
        (&["t.dwarfs", "-o", "layout:v1"][..], "--force"),
        (&["bad.dwarfs", "-o", "new:v1"], ".wh."),
        (&["t.dwarfs", "-o", "other:v1"], "something else"),
        (
            &["t.dwarfs", "-o", "new", "--platform=linux"],
            "not a platform",
        ),
        (&["t.dwarfs"], "-o DIR"),
    ] {
        let output = extract(words);
        let said = words_of(&output);
        assert!(
            !output.status.success() && said.contains(expected),
            "{words:?}: {said}"
        );
        assert!(!work.join("new").exists());
    }
    assert_eq!(written(&["t.dwarfs", "-o", "layout:v1", "--force"]), one);
    let converted = ["convert", "t.dwarfs", "-o", "oci:layout:v3"];
    let output = sinter().current_dir(work).args(converted).output().unwrap();
    assert!(words_of(&output).contains(&one), "{output:?}");
    let refused = [&converted[..], &["-l9"]].concat();
    let output = sinter().current_dir(work).args(refused).output().unwrap();
    assert!(words_of(&output).contains("'-l'"), "{output:?}");
    for source in ["oci:layout:v1", "oci:second", "oci:layout:v2"] {
        // the platform is an attribute of the root
        let _ = built(work, &[source], &["--no-xattrs"]);
        let words = ["diff", "t.dwarfs", "x.dwarfs"].map(str::to_owned);
        let output = sinter().current_dir(work).args(words).output().unwrap();
        assert!(output.status.success(), "{source}: {output:?}");
    }
    let output = try_build(work, &["oci:layout"], &["--platform=plan9/386"]);
    assert!(words_of(&output).contains("plan9/mips"), "{output:?}");
    if !has("skopeo") {
        return;
    }
    // which compares all digests
    shell(
        work,
        "skopeo --insecure-policy copy -q oci:layout:v1 dir:copied; \
         skopeo --override-os=plan9 --override-arch=mips inspect oci:layout:mips >told; \
         grep -q '\"Os\": \"plan9\"' told",
    );
    let manifest = fs::read(work.join("copied/manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let layer = manifest["layers"][0]["digest"].as_str().unwrap();
    let layer = layer.strip_prefix("sha256:").unwrap();
    shell(
        work,
        &format!("mkdir back; tar -C back -xpf copied/{layer}; diff -r --no-dereference t back"),
    );
}

/// Adds how it is run to the only image of `layout`.
const CONFIGURE: &str = r#"python3 - <<'end'
import hashlib, json
path = lambda blob: 'layout/blobs/sha256/' + blob['digest'][7:]
read = lambda blob: json.load(open(path(blob)))
def written(value, old):
    data = json.dumps(value).encode()
    blob = dict(old, digest='sha256:' + hashlib.sha256(data).hexdigest(), size=len(data))
    open(path(blob), 'wb').write(data)
    return blob
index = json.load(open('layout/index.json'))
manifest = read(index['manifests'][0])
config = read(manifest['config'])
run = {'Cmd': ['/bin/sh', '-c', 'x y'], 'Env': ['A=1'], 'ExposedPorts': {'80/tcp': {}},
    'Hostname': 'h'}
config.update(architecture='arm64', variant='v8', config=run, history=[{'created_by': 'x'}])
manifest['config'] = written(config, manifest['config'])
del index['manifests'][0]['platform']
index['manifests'] = [written(manifest, index['manifests'][0])]
json.dump(index, open('layout/index.json', 'w'))
end
"#;

#[test]
fn the_configuration_is_kept() {
    let work = scratch();
    let work = work.path();
    let said = |words: &[&str]| -> String {
        let output = sinter().current_dir(work).args(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", words_of(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    shell(work, "mkdir t; echo a >t/a; touch -d '2020-01-02' t/a t");
    said(&["build", "-q", "t", "-o", "t.dwarfs"]);
    said(&["extract", "-q", "--oci", "t.dwarfs", "-o", "layout"]);
    shell(work, CONFIGURE);
    let mut digests = Vec::new();
    for image in ["x.dwarfs", "x.squashfs", "x.erofs"] {
        said(&["build", "-q", "oci:layout", "-o", image]);
        let info = said(&["info", image]);
        for row in ["arm64", "v8", "/bin/sh, -c, x y", "A=1", "80/tcp"] {
            assert!(info.contains(row), "{image}: {info}");
        }
        assert!(!info.contains("Hostname"), "{info}");
        let info: serde_json::Value =
            serde_json::from_str(&said(&["info", "--json", image])).unwrap();
        assert_eq!(info["container"]["Cmd"][2], "x y");
        let target = format!("oci:again:{image}");
        let report = said(&["convert", "--json", image, "-o", &target]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        digests.push(report["digest"].clone());
    }
    // it is the same container image, whatever it was stored as
    assert!(
        digests.iter().all(|digest| *digest == digests[0]),
        "{digests:?}"
    );
    let blob = |digest: &serde_json::Value| -> serde_json::Value {
        let hex = digest.as_str().unwrap().strip_prefix("sha256:").unwrap();
        let path = work.join("again/blobs/sha256").join(hex);
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    };
    let config = blob(&blob(&digests[0])["config"]["digest"]);
    assert_eq!(
        (&config["architecture"], &config["variant"]),
        (&"arm64".into(), &"v8".into())
    );
    assert_eq!(config["config"]["Cmd"][2], "x y");
    assert!(config.get("history").is_none() && config["config"].get("Hostname").is_none());
    // another platform has no variant
    let target = ["x.dwarfs", "-o", "oci:again:other", "--platform=linux/386"];
    let report = said(&[&["convert", "--json"][..], &target].concat());
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let config = blob(&blob(&report["digest"])["config"]["digest"]);
    assert_eq!(config["architecture"], "386");
    assert!(config.get("variant").is_none() && config["config"]["Env"][0] == "A=1");
    // files alone: a directory, images without attributes, those of composefs
    said(&["extract", "-q", "x.dwarfs", "-o", "out"]);
    said(&["build", "-q", "out", "-o", "out.dwarfs"]);
    said(&["diff", "t.dwarfs", "out.dwarfs"]);
    for words in [
        ["--no-xattrs", "p.dwarfs"],
        ["--print-digest", "p.composefs"],
    ] {
        said(&["build", "-q", "oci:layout", words[0], "-o", words[1]]);
        assert!(
            !said(&["info", words[1]]).contains("container"),
            "{words:?}"
        );
    }
    // a configuration that was damaged
    shell(
        work,
        "cd layout/blobs/sha256; grep -l Hostname * | while read f; do printf x >>$f; done",
    );
    let output = try_build(work, &["oci:layout"], &[]);
    assert_eq!(output.status.code(), Some(3), "{}", words_of(&output));
}

#[test]
fn saved_images_read_as_archives_get_a_hint() {
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    let mut sources = vec!["old.tar", "new.tar"];
    if has("skopeo") {
        let copy = "skopeo --insecure-policy copy -q oci:one docker-archive:docker.tar:x/y:1";
        shell(work, copy);
        sources.push("docker.tar");
    }
    for source in sources {
        for more in [&[][..], &["0.tar"]] {
            let output = try_build(work, &[&[source], more].concat(), &[]);
            let words = words_of(&output);
            assert!(output.status.success(), "{words}");
            assert!(
                words.contains("instead of the tree of their layers"),
                "{source}: {words}"
            );
        }
        assert!(!try_build(work, &[source], &["--strict"]).status.success());
        let output = try_build(work, &[source], &["--layers"]);
        let words = words_of(&output);
        assert!(
            output.status.success() && !words.contains("layers"),
            "{source}: {words}"
        );
    }
    // what is called so without being one
    shell(work, "echo '{}' >0/manifest.json; tar -C 0 -cf app.tar .");
    assert!(!words_of(&try_build(work, &["app.tar"], &[])).contains("layers"));
}

#[test]
fn a_tar_may_lack_its_last_padding_but_no_content() {
    let work = scratch();
    let work = work.path();
    shell(
        work,
        "head -c 600 /dev/urandom >file; touch -d 2020-01-02 file; \
         tar --format=ustar -cf whole.tar file; head -c 1112 whole.tar >cut.tar; \
         head -c 1111 whole.tar >short.tar; gzip -k cut.tar",
    );
    let whole = built(work, &["whole.tar"], &[]);
    for source in ["cut.tar", "cut.tar.gz"] {
        let output = try_build(work, &[source], &[]);
        let words = words_of(&output);
        assert_eq!(output.status.code(), Some(1), "{words}");
        assert!(words.contains("may be cut off"), "{words}");
        assert!(
            fs::read(work.join("x.dwarfs")).unwrap() == whole,
            "{source}"
        );
    }
    let output = try_build(work, &["short.tar"], &[]);
    let words = words_of(&output);
    assert!(
        !output.status.success() && words.contains("ends before"),
        "{words}"
    );
}

#[test]
fn refuses_damaged_images_and_other_archives() {
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    let damages = [
        (
            "x=old; cp two.json old/manifest.json",
            "several images: x/y:1, x/z:2",
        ),
        ("x=old; printf X >>old/id1/data.tar", "the layer is sha256:"),
        ("x=old; rm old/id1/data.tar", "does not hold it"),
        (
            "x=old; rm old/id1/layer.tar; ln -s /etc/passwd old/id1/layer.tar",
            "does not hold it",
        ),
        (
            "x=old; rm old/id1/layer.tar; ln -s layer.tar old/id1/layer.tar",
            "does not hold it",
        ),
        (
            "x=old; for f in old/*[0-9a-f].json; do printf ' ' >>$f; done",
            "the configuration has the SHA-256",
        ),
        ("x=old; printf '[]' >old/manifest.json", "holds no image"),
        ("x=old; printf '{' >old/manifest.json", "not JSON"),
        (
            "x=old; sed -i 's/\"id2.layer.tar\"/7/' old/manifest.json",
            "without a configuration and layers",
        ),
        (
            "x=one; f=$(ls -S one/blobs/sha256/* | tail -n 1); printf X >>$f",
            "bytes, its descriptor says",
        ),
    ];
    for (damage, expected) in damages {
        shell(
            work,
            &format!(
                "rm -rf keep; mkdir keep; cp -a old one keep; {damage}; tar -C $x -cf hurt.tar ."
            ),
        );
        shell(work, "rm -rf old one; mv keep/* .");
        let output = try_build(work, &["hurt.tar"], &["--layers"]);
        let words = words_of(&output);
        let fits =
            words.contains(expected) || expected.starts_with("bytes") && words.contains("SHA-256");
        assert!(!output.status.success() && fits, "{damage}: {words}");
        assert!(!work.join("x.dwarfs").exists());
    }
    for (sources, more, expected) in [
        (&["0.tar"][..], &["--layers"][..], "no source is one"),
        (&["0"], &["--layers"], "no source is one"),
        (
            &["old.tar"],
            &["--layers", "--platform", "linux/amd64"],
            "the archive has none",
        ),
    ] {
        let output = try_build(work, sources, more);
        let words = words_of(&output);
        assert!(
            !output.status.success() && words.contains(expected),
            "{words}"
        );
    }
}

#[test]
fn writers_of_one_layout_leave_all_their_images() {
    const WRITERS: usize = 8;
    let work = scratch();
    let work = work.path();
    let image = |number: usize| format!("{number}.dwarfs");
    for number in 0..WRITERS {
        shell(work, &format!("mkdir {number}; echo {number} >{number}/f"));
        let tree = work.join(number.to_string());
        support::build("dwarfs", &tree, &work.join(image(number)), &["-l1"]);
    }
    let start = |number: usize| {
        let mut extract = sinter();
        extract.current_dir(work).args(["extract", "-q", "--oci"]);
        extract.args([image(number), "-o".to_owned(), format!("one:{number}")]);
        extract.spawn().unwrap()
    };
    let writers: Vec<_> = (0..WRITERS).map(start).collect();
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    for number in 0..WRITERS {
        let out = format!("out{number}");
        let built = try_build(work, &[&format!("oci:one:{number}")], &[]);
        assert!(built.status.success(), "{}", words_of(&built));
        fs::rename(work.join("x.dwarfs"), work.join(&out)).unwrap();
        let mut cat = sinter();
        let cat = cat.current_dir(work).args(["cat", &out, "f"]);
        assert_eq!(
            cat.output().unwrap().stdout,
            format!("{number}\n").into_bytes()
        );
    }
    let names = fs::read_dir(work.join("one/blobs/sha256")).unwrap();
    let hidden = names.filter(|name| {
        let name = name.as_ref().unwrap().file_name();
        name.as_encoded_bytes().starts_with(b".")
    });
    assert_eq!(hidden.count(), 0);
}

#[test]
fn what_is_left_out_of_the_archive_of_an_image_is_named() {
    let work = scratch();
    let work = work.path();
    shell(work, LAYOUT);
    // a member that no tree can hold, and an archive that is cut behind its last member
    shell(
        work,
        r#"
        echo x >odd; for name in old new; do
            cp $name.tar odd-$name.tar; tar -rf odd-$name.tar --transform 's,odd,../odd,' -P odd
            tar -C $name -b1 -cf cut-$name.tar .; truncate -s -1024 cut-$name.tar
        done
        "#,
    );
    let whole = built(work, &["old.tar"], &["--layers"]);
    for (source, named) in [
        ("odd-old.tar", "../odd"),
        ("odd-new.tar", "../odd"),
        ("docker-archive:odd-old.tar", "../odd"),
        ("oci-archive:odd-new.tar", "../odd"),
        ("cut-old.tar", "cut-old.tar: "),
        ("oci-archive:cut-new.tar", "cut-new.tar: "),
    ] {
        let made = try_build(work, &[source], &["--layers"]);
        let words = words_of(&made);
        assert_eq!(made.status.code(), Some(1), "{source}: {words}");
        assert_eq!(words.matches(named).count(), 1, "{source}: {words}");
        assert!(
            fs::read(work.join("x.dwarfs")).unwrap() == whole,
            "{source}"
        );
        let refused = try_build(work, &[source], &["--layers", "--strict"]);
        assert!(!refused.status.success(), "{source}");
        let mut build = sinter();
        build
            .current_dir(work)
            .args(["build", "-q", "--force", "-f", "composefs", "--layers"]);
        let made = build.args([source, "-o", "x.cfs"]).output().unwrap();
        assert_eq!(made.status.code(), Some(1), "{source}: {}", words_of(&made));
        // the tree of the archive itself
        let made = try_build(
            work,
            &[source.split_once(':').map_or(source, |(_, path)| path)],
            &[],
        );
        assert_eq!(made.status.code(), Some(1), "{source}");
        assert_eq!(words_of(&made).matches(named).count(), 1, "{source}");
    }
}
