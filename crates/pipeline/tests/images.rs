//! Images as sources, and several sources as one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs_model::{
    Content, Cursor, ExtentSource, Image as _, Ino, Kind, Meta, NodeId, Quiet, Rdev, Source, Tree,
};
use sinterfs_pipeline::{Options, Order, build};
use sinterfs_source::image::{Damage, content_map};
use sinterfs_source::merge::{MergeInput, MergeOptions, WhiteoutMarks};
use sinterfs_source::{ImageSource, Merge};
use sinterfs_testkit::{Builder, Id, MemImage, Piece, meta, noise, sample};
use support::{Image, Memory, MemoryWriter};

fn source(image: &Arc<MemImage>) -> ImageSource {
    ImageSource::new(Arc::clone(image) as _, "", Arc::default())
}

/// Every name of an image, with its inode.
fn names_of_image(image: &MemImage) -> BTreeMap<Vec<u8>, Ino> {
    let root = image.info().root;
    let (mut names, mut open) = (
        BTreeMap::from([(Vec::new(), root)]),
        vec![(Vec::new(), root)],
    );
    while let Some((path, dir)) = open.pop() {
        let mut show = |entry: sinterfs_model::Dirent<'_>| {
            let path = join(&path, entry.name);
            names.insert(path.clone(), entry.ino);
            if entry.kind == sinterfs_model::FileType::Directory {
                open.push((path, entry.ino));
            }
            ControlFlow::Continue(())
        };
        image.read_dir(dir, Cursor::START, &mut show).unwrap();
    }
    names
}

fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() {
        return name.to_vec();
    }
    [dir, b"/", name].concat()
}

/// Every name of a tree, with its node.
fn names(tree: &Tree) -> BTreeMap<Vec<u8>, NodeId> {
    let mut names = BTreeMap::from([(Vec::new(), NodeId::ROOT)]);
    let mut open = vec![(Vec::new(), NodeId::ROOT)];
    while let Some((path, dir)) = open.pop() {
        for link in tree.children(dir) {
            let path = join(&path, tree.bytes(link.name));
            names.insert(path.clone(), link.node);
            open.push((path, link.node));
        }
    }
    names
}

fn pack(source: &dyn Source, threads: usize) -> Image {
    let (writer, image) = MemoryWriter::new(64 << 10);
    let options = Options {
        threads,
        ..Options::default()
    };
    let observer = Memory::default();
    build(source, writer, &options, &observer).unwrap();
    assert_eq!(observer.warned(), [""; 0]);
    std::mem::take(&mut *image.lock().unwrap())
}

#[test]
fn the_tree_is_that_of_the_image() {
    let image = Arc::new(sample(0x5a));
    let tree = source(&image).scan(&Quiet).unwrap();
    let (expected, found) = (names_of_image(&image), names(&tree));
    assert!(expected.keys().eq(found.keys()));
    let mut first_of: BTreeMap<Ino, NodeId> = BTreeMap::new();
    for (path, ino) in &expected {
        let (inode, id) = (image.inode(*ino).unwrap(), found[path]);
        let node = tree.node(id);
        assert_eq!(node.meta, inode.meta);
        assert_eq!(node.content.kind(), inode.kind);
        // one inode is one node
        assert_eq!(*first_of.entry(*ino).or_insert(id), id);
        if inode.kind != sinterfs_model::FileType::Directory {
            assert_eq!(node.links, inode.nlink);
        }
        match node.content {
            Content::File { size } => assert_eq!(size, inode.size),
            Content::Symlink(target) => {
                assert_eq!(tree.bytes(target), image.read_link(*ino).unwrap());
            }
            Content::CharDevice(rdev) | Content::BlockDevice(rdev) => assert_eq!(rdev, inode.rdev),
            _ => assert_eq!(inode.rdev, Rdev::default()),
        }
    }
    assert!(tree.stats().hard_links > 0 && first_of.len() < expected.len());
    let with_xattrs = first_of
        .keys()
        .filter(|ino| !image.xattrs(**ino).unwrap().is_empty());
    assert_eq!(tree.with_xattrs(), with_xattrs.count() as u64);
}

/// Runs of data and holes of a file of an image.
fn layout(image: &MemImage, ino: Ino) -> Vec<(bool, u64)> {
    let mut runs: Vec<(bool, u64)> = Vec::new();
    let mut show = |extent: sinterfs_model::Extent| {
        let data = extent.source != ExtentSource::Hole;
        match runs.last_mut() {
            Some(last) if last.0 == data => last.1 += extent.len,
            _ => runs.push((data, extent.len)),
        }
        ControlFlow::Continue(())
    };
    image.extents(ino, 0, &mut show).unwrap();
    runs
}

fn check_content(image: &MemImage, packed: &Image, prefix: &[u8]) {
    let files = packed.files();
    let mut seen = 0;
    for (path, ino) in names_of_image(image) {
        let inode = image.inode(ino).unwrap();
        let path = String::from_utf8_lossy(&join(prefix, &path)).into_owned();
        // a hard link is there by its first name
        let Some((bytes, runs)) = files.get(path.trim_start_matches('/')) else {
            assert!(
                inode.kind != sinterfs_model::FileType::File || inode.nlink > 1,
                "{path}"
            );
            continue;
        };
        let mut expected = vec![0; inode.size as usize];
        assert_eq!(
            image.read_at(ino, 0, &mut expected).unwrap(),
            expected.len()
        );
        assert!(*bytes == expected, "{path}");
        assert_eq!(*runs, layout(image, ino), "{path}");
        seen += 1;
    }
    assert!(seen > 5);
}

#[test]
fn content_and_holes_are_those_of_the_image() {
    let image = Arc::new(sample(0));
    let one = pack(&source(&image), 1);
    check_content(&image, &one, b"");
    assert_eq!(one.dump(), pack(&source(&image), 3).dump());
}

#[test]
fn a_content_map_says_where_the_image_has_its_files() {
    let image = Arc::new(sample(7));
    let source = source(&image);
    let tree = source.scan(&Quiet).unwrap();
    let map = content_map(&source, &tree).unwrap();
    for (path, ino) in names_of_image(&image) {
        let node = names(&tree)[&path];
        if !matches!(tree.node(node).content, Content::File { .. }) {
            continue;
        }
        let mut extents = Vec::new();
        image
            .extents(ino, 0, &mut |extent| {
                extents.push(match extent.source {
                    ExtentSource::Hole => sinterfs_model::MapExtent::Hole { len: extent.len },
                    ExtentSource::Block { block, offset } => sinterfs_model::MapExtent::Data {
                        block: sinterfs_model::BlockId(block as u32),
                        offset: offset as u32,
                        len: extent.len as u32,
                    },
                });
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(map.extents(node), extents);
    }
}

#[test]
fn the_first_pass_reads_blocks_in_their_order() {
    let mut builder = Builder::new(Meta::default(), 4096);
    // names run against the order of the blocks
    for number in (0..200_u32).rev() {
        let name = format!("file{number:03}");
        let content = [Piece::Data(noise(u64::from(number) + 1, 4096))];
        builder.file(Builder::ROOT, name.as_bytes(), Meta::default(), &content);
    }
    let image = Arc::new(builder.finish(0));
    let (writer, _) = MemoryWriter::new(64 << 10);
    let options = Options {
        threads: 1,
        order: Order::Similarity,
        ..Options::default()
    };
    build(&source(&image), writer, &options, &Quiet).unwrap();
    let touched = image.touched();
    assert_eq!(touched[..200], (0..200).collect::<Vec<u64>>());
    // and everything once more
    assert!(touched.len() <= 400, "{}", touched.len());
}

#[test]
fn damage_is_kept_for_the_caller() {
    let image = Arc::new(sample(0));
    let names = names_of_image(&image);
    image.damage(names[&b"docs/big"[..]], 1_000_000);
    let damage = Arc::new(Damage::default());
    let source = ImageSource::new(Arc::clone(&image) as _, "the.image", Arc::clone(&damage));
    let (writer, _) = MemoryWriter::new(64 << 10);
    let observer = Memory::default();
    let report = build(&source, writer, &Options::default(), &observer).unwrap();
    assert_eq!(report.unreadable, 1);
    assert!(damage.is_found());
    let error = damage.take().unwrap();
    assert_eq!(error.kind(), Kind::Corrupt);
    assert!(
        error.to_string().starts_with("the.image/zz-big: "),
        "{error}"
    );
}

fn file(builder: &mut Builder, dir: Id, name: &str, text: &str) -> Id {
    let content = [Piece::Data(text.as_bytes().to_vec())];
    builder.file(dir, name.as_bytes(), meta(0o644, 5, 0), &content)
}

/// `bin/tool`, `lib/{x,y}` (one file), `lib/deep/z`, `only-below`, `thing` (a directory with a
/// file).
fn lower() -> Arc<MemImage> {
    let mut b = Builder::new(meta(0o700, 100, 0), 4096);
    let bin = b.dir(Builder::ROOT, b"bin", meta(0o711, 1, 0));
    file(&mut b, bin, "tool", "tool of the lower");
    let lib = b.dir(Builder::ROOT, b"lib", meta(0o755, 2, 0));
    let x = file(&mut b, lib, "x", "shared content");
    b.link(lib, b"y", x);
    let deep = b.dir(lib, b"deep", meta(0o755, 3, 0));
    file(&mut b, deep, "z", "deep");
    file(&mut b, Builder::ROOT, "only-below", "below");
    let thing = b.dir(Builder::ROOT, b"thing", meta(0o755, 4, 0));
    file(&mut b, thing, "inside", "inside");
    Arc::new(b.finish(0))
}

/// `bin/tool`, `lib/{x,w}` (one file), `lib/deep` (a file), `thing` (a file), `above`.
fn upper() -> Arc<MemImage> {
    let mut b = Builder::new(meta(0o750, 200, 0), 4096);
    let bin = b.dir(Builder::ROOT, b"bin", meta(0o722, 1, 0));
    file(&mut b, bin, "tool", "tool of the upper");
    let lib = b.dir(Builder::ROOT, b"lib", meta(0o700, 2, 0));
    let x = file(&mut b, lib, "x", "shared content");
    b.link(lib, b"w", x);
    file(&mut b, lib, "deep", "a file");
    file(&mut b, Builder::ROOT, "thing", "no directory");
    file(&mut b, Builder::ROOT, "above", "above");
    Arc::new(b.finish(9))
}

fn part(image: &Arc<MemImage>, at: &str, name: &str) -> MergeInput {
    MergeInput {
        source: Box::new(source(image)),
        at: at.as_bytes().to_vec(),
        picks: Vec::new(),
        name: name.to_owned(),
        marks: WhiteoutMarks::default(),
    }
}

fn how(strict: bool) -> MergeOptions {
    MergeOptions {
        strict,
        ..MergeOptions::default()
    }
}

fn shown(packed: &Image) -> Vec<String> {
    let tree = packed.tree.as_ref().unwrap();
    let files = packed.files();
    let name = |(path, node): (&Vec<u8>, &NodeId)| {
        let path = String::from_utf8_lossy(path).into_owned();
        let mode = tree.node(*node).meta.mode;
        let first = String::from_utf8_lossy(&tree.path(*node)).into_owned();
        match files.get(&first) {
            Some((bytes, _)) => format!("{path}={}", String::from_utf8_lossy(bytes)),
            None => format!("{path}/{mode:o}"),
        }
    };
    names(tree).iter().map(name).collect()
}

#[test]
fn an_overlay_shows_what_lies_on_top() {
    let (lower, upper) = (lower(), upper());
    let merge = |strict| {
        let parts = vec![part(&lower, "", "lower"), part(&upper, "", "upper")];
        Merge::new(parts, how(strict)).unwrap()
    };
    let overlay = merge(false);
    let packed = pack(&overlay, 2);
    assert_eq!(
        shown(&packed),
        [
            "/750",
            "above=above",
            "bin/722",
            "bin/tool=tool of the upper",
            "lib/700",
            "lib/deep=a file",
            "lib/w=shared content",
            "lib/x=shared content",
            "lib/y=shared content",
            "only-below=below",
            "thing=no directory",
        ]
    );
    let tree = packed.tree.as_ref().unwrap();
    let found = names(tree);
    // x is hidden, y is what is left of its file; w and x are the upper one's
    assert_eq!(tree.node(found[&b"lib/y"[..]]).links, 1);
    assert_eq!(found[&b"lib/w"[..]], found[&b"lib/x"[..]]);
    let conflicts = overlay.conflicts();
    let paths: Vec<_> = conflicts.first.iter().map(|c| c.path.clone()).collect();
    assert_eq!(conflicts.count, 4);
    assert_eq!(paths, [&b"thing"[..], b"lib/deep", b"lib/x", b"bin/tool"]);
    assert!(
        conflicts
            .first
            .iter()
            .all(|c| c.hidden == "lower" && c.kept == "upper")
    );

    let error = merge(true).scan(&Quiet).unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("4 names"), "{error}");
    // the other way round a directory hides a file
    let parts = vec![part(&upper, "", "upper"), part(&lower, "", "lower")];
    let other = Merge::new(parts, how(false)).unwrap();
    let packed = pack(&other, 1);
    assert!(shown(&packed).contains(&"thing/inside=inside".to_owned()));
    assert_eq!(other.conflicts().count, 4);
}

#[test]
fn sources_go_where_they_are_put() {
    let (lower, upper) = (lower(), upper());
    let parts = vec![
        part(&lower, "one", "lower"),
        part(&upper, "two", "upper"),
        part(&upper, "one/lib/more", "upper again"),
        part(&lower, "new/place", "lower again"),
    ];
    let merge = Merge::new(parts, how(true)).unwrap();
    let packed = pack(&merge, 2);
    check_names(&packed);
    let tree = packed.tree.as_ref().unwrap();
    let mode = |path: &str| tree.node(names(tree)[path.as_bytes()]).meta.mode;
    assert_eq!(tree.node(NodeId::ROOT).meta.times.modified.secs, 200);
    // made up, and as the sources have it
    assert_eq!(
        (mode(""), mode("new"), mode("new/place")),
        (0o755, 0o755, 0o700)
    );
    assert_eq!(
        (mode("one"), mode("one/lib"), mode("one/lib/more")),
        (0o700, 0o755, 0o750)
    );
    assert_eq!(merge.conflicts().count, 0);
    // equal content is stored once, whatever source it is from
    let texts = "tool of the lower tool of the upper shared content deep below inside a file";
    assert!(packed.stored() < texts.len() + 30, "{}", packed.stored());
}

fn check_names(packed: &Image) {
    let shown = shown(packed);
    for name in [
        "one/lib/more/lib/w=shared content",
        "one/lib/deep/z=deep",
        "two/bin/tool=tool of the upper",
        "new/place/bin/tool=tool of the lower",
    ] {
        assert!(shown.iter().any(|line| line == name), "{name}: {shown:#?}");
    }
}

#[test]
fn a_way_to_a_source_meets_what_is_there() {
    let (lower, upper) = (lower(), upper());
    // `thing` is a directory below, and then a way; `only-below` is a file there
    let parts = vec![
        part(&lower, "", "lower"),
        part(&upper, "thing/in", "upper"),
        part(&upper, "only-below/in", "upper"),
    ];
    let merge = Merge::new(parts, how(false)).unwrap();
    let packed = pack(&merge, 1);
    let tree = packed.tree.as_ref().unwrap();
    let found = names(tree);
    assert_eq!(tree.node(found[&b"thing"[..]]).meta.times.modified.secs, 4);
    assert!(found.contains_key(&b"thing/inside"[..]) && found.contains_key(&b"thing/in/above"[..]));
    assert!(found.contains_key(&b"only-below/in/above"[..]));
    assert_eq!(merge.conflicts().count, 1);
}

#[test]
fn places_must_be_plain_paths() {
    for at in ["/", "a//b", "a/", "/a", "..", "a/./b", "a\0"] {
        let merge = Merge::new(vec![part(&lower(), at, "lower")], how(false));
        assert_eq!(merge.unwrap_err().kind(), Kind::Invalid, "{at}");
    }
    let nothing = Merge::new(Vec::new(), how(true)).unwrap();
    assert_eq!(nothing.scan(&Quiet).unwrap().nodes().len(), 1);
}
