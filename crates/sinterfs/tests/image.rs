//! The public interface: reading images of several formats, and options of builds.

#![allow(clippy::unwrap_used, reason = "a test may fail")]
#![allow(
    clippy::disallowed_methods,
    reason = "a test may fail where no thread starts"
)]

use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sinterfs::build::{CramfsOptions, DwarfsOptions, FormatOptions};
use sinterfs::{Builder, FileType, Image, Kind};
use sinterfs_testkit::noise;

/// Builds a tree as an image of each format and opens them.
fn images(dir: &Path) -> Vec<Image> {
    let source = dir.join("source");
    std::fs::create_dir_all(source.join("many")).unwrap();
    for number in 0..700 {
        std::fs::write(
            source.join(format!("many/{number:03}")),
            format!("{number}"),
        )
        .unwrap();
    }
    std::fs::create_dir_all(source.join("a/b/c")).unwrap();
    std::fs::write(source.join("a/b/noise"), noise(1, 2_500_000)).unwrap();
    std::fs::set_permissions(
        source.join("a/b/noise"),
        std::fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    std::os::unix::fs::symlink("/a/b", source.join("link")).unwrap();
    ["image.dwarfs", "image.squashfs", "image.erofs"]
        .into_iter()
        .map(|name| {
            let image = dir.join(name);
            Builder::new(&source).level(3).build(&image).unwrap();
            sinterfs::open(image).unwrap()
        })
        .collect()
}

#[test]
fn entries_and_walks_show_everything() {
    let dir = tempfile::tempdir().unwrap();
    for image in images(dir.path()) {
        let root = image.root().entries().unwrap();
        let names: Vec<_> = root.map(|entry| entry.unwrap().name().to_owned()).collect();
        assert_eq!(names, ["a", "link", "many"], "{}", image.format());
        let many = image.read_dir("/many").unwrap();
        let many: Vec<_> = many.map(|entry| entry.unwrap()).collect();
        assert_eq!(many.len(), 700);
        assert_eq!(many[699].path(), Path::new("many/699"));
        assert!(many.iter().all(sinterfs::image::Entry::is_file));
        let walk = image.walk().map(|entry| entry.unwrap());
        let paths: Vec<PathBuf> = walk.map(|entry| entry.path().to_owned()).collect();
        assert_eq!(paths.len(), 706);
        let first = ["a", "a/b", "a/b/c", "a/b/noise", "link", "many", "many/000"];
        let first: Vec<_> = first.iter().map(PathBuf::from).collect();
        assert_eq!(paths[..7], first);
        let mut walk = image.walk();
        let mut count = 0;
        while let Some(entry) = walk.next() {
            count += 1;
            if entry.unwrap().name() == "many" {
                walk.skip_directory();
            }
        }
        assert_eq!(count, 6);
    }
}

#[test]
fn paths_lead_through_symlinks() {
    let dir = tempfile::tempdir().unwrap();
    for image in images(dir.path()) {
        let metadata = image.metadata("link/noise").unwrap();
        assert_eq!((metadata.len(), metadata.mode()), (2_500_000, 0o100_640));
        assert!(metadata.modified().is_some());
        assert!(image.metadata("link").unwrap().is_dir());
        let link = image.symlink_metadata("link").unwrap();
        assert_eq!(link.file_type(), FileType::Symlink);
        assert_eq!(image.read_link("link").unwrap(), Path::new("/a/b"));
        assert!(image.xattrs("link").unwrap().is_empty());
        let listed = image.read_dir("link").unwrap().next().unwrap().unwrap();
        assert_eq!(listed.path(), Path::new("link/c"));
        let kind = |error: sinterfs::Error| error.kind();
        assert_eq!(kind(image.read("a/b").unwrap_err()), Kind::Invalid);
        assert_eq!(kind(image.read("a/x").unwrap_err()), Kind::NotFound);
        let below = image.read("link/noise/x").unwrap_err();
        assert_eq!(below.kind(), Kind::NotDirectory);
        let below = std::io::Error::from(below).kind();
        assert_eq!(below, std::io::ErrorKind::NotADirectory);
        assert_eq!(
            kind(image.read_dir("a/b/noise").unwrap_err()),
            Kind::Invalid
        );
        assert_eq!(kind(image.read_link("a").unwrap_err()), Kind::Invalid);
    }
}

#[test]
fn files_read_and_seek() {
    let dir = tempfile::tempdir().unwrap();
    let expected = noise(1, 2_500_000);
    for image in images(dir.path()) {
        assert_eq!(image.read("a/b/noise").unwrap(), expected);
        let mut file = image.file("a/b/noise").unwrap();
        let mut content = Vec::new();
        file.read_to_end(&mut content).unwrap();
        assert_eq!(content, expected);
        assert_eq!(file.read(&mut [0; 3]).unwrap(), 0);
        assert_eq!(file.seek(SeekFrom::End(-4)).unwrap(), 2_499_996);
        let mut end = String::new();
        let _ = file.read_to_string(&mut end);
        assert!(file.seek(SeekFrom::Current(-9_000_000)).is_err());
        let mut part = [0; 100];
        std::thread::scope(|scope| {
            let file = &file;
            scope.spawn(move || assert_eq!(file.read_at(1_000_000, &mut part).unwrap(), 100));
            scope.spawn(move || {
                let mut part = [0; 100];
                assert_eq!(file.read_at(2_499_950, &mut part).unwrap(), 50);
            });
        });
        let error = image.file("a").unwrap_err();
        assert_eq!(
            std::io::Error::from(error).kind(),
            std::io::ErrorKind::InvalidInput
        );
    }
}

#[test]
fn options_of_one_format_choose_it() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("file"), "content").unwrap();
    let options = DwarfsOptions {
        with_digest: true,
        ..DwarfsOptions::default()
    };
    let image = dir.path().join("image");
    let builder = Builder::new(&source).format(FormatOptions::Dwarfs(options));
    assert_eq!(builder.build(&image).unwrap().format, "dwarfs");
    let info = sinterfs::open(&image).unwrap().info().unwrap();
    assert!(info.iter().any(|(name, _)| name == "root digest"));
    let error = builder.build(&image).unwrap_err();
    assert_eq!(error.settings(), [sinterfs::Setting("replace")]);
    let mut squashfs = FormatOptions::named("squashfs").unwrap();
    let error = squashfs.set("with_digest", "true").unwrap_err();
    assert_eq!(error.settings(), [sinterfs::Setting("with_digest")]);
    let error = squashfs.set("nonsense", "true").unwrap_err();
    assert!(error.to_string().contains("exports"), "{error}");
}

#[test]
fn the_smaller_formats_have_options_too() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    std::fs::write(source.join("file"), "content").unwrap();
    let cramfs = CramfsOptions {
        order: "big".parse().unwrap(),
        ..CramfsOptions::default()
    };
    let mut iso = FormatOptions::named("iso").unwrap();
    iso.set("publisher", "US").unwrap();
    for (mut options, words) in [
        (FormatOptions::Cramfs(cramfs), ["VOLUME", "big-endian"]),
        (iso, ["VOLUME", "US"]),
        (FormatOptions::named("wim").unwrap(), ["VOLUME", "file"]),
    ] {
        options.set("label", "VOLUME").unwrap();
        let (name, image) = (options.format(), dir.path().join(options.format()));
        let built = Builder::new(&source).format(options).build(&image);
        assert_eq!(built.unwrap().format, name);
        let opened = sinterfs::open(&image).unwrap();
        assert_eq!(opened.format(), name);
        let info = format!("{:?}", opened.info().unwrap());
        for word in words {
            assert!(info.contains(word), "{name}: no {word}: {info}");
        }
    }
}

#[test]
fn builds_take_the_levels_that_people_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    std::fs::create_dir(&source).unwrap();
    let mut ranges = 0;
    for format in sinterfs::build::formats() {
        let builds = |codec: &str, level: i64| {
            let builder = Builder::new(&source)
                .format(FormatOptions::named(format.name).unwrap())
                .compression(format!("{codec}:level={level}"))
                .replace(true);
            builder.build(dir.path().join("image")).is_ok()
        };
        // those of samples take no other content
        let of_bytes = |codec: &&&str| !codec.ends_with("(audio)");
        for shown in format.codecs.iter().filter(of_bytes) {
            let (codec, options) = shown.split_once([':', '[']).unwrap_or((shown, ""));
            let Some((_, range)) = options.split_once("level=") else {
                continue;
            };
            let range = range.split([']', '[', ':']).next().unwrap();
            let Some((first, last)) = range.split_once("..") else {
                assert_eq!(range, "N", "{shown}");
                continue;
            };
            let (first, last): (i64, i64) = (first.parse().unwrap(), last.parse().unwrap());
            assert!(builds(codec, first), "{}: {shown}", format.name);
            assert!(builds(codec, last), "{}: {shown}", format.name);
            assert!(!builds(codec, last + 1), "{}: {shown}", format.name);
            ranges += 1;
        }
    }
    assert!(ranges >= 10, "{ranges} ranges");
}
