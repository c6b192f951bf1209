//! Sources that fail: below the reader of every format, and below what is made of images.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use sinterfs_model::{Cursor, FileType, Ino, Quiet, Result};
use sinterfs_ops::{Archive, ArchiveFormat, ArchiveOptions, ExtractOptions, extract};
use sinterfs_testkit::{Fault, at_every_call};

use super::{FaultySink, image_of, make_tree, of_image, open, request, write, written};
use crate::image::Image;

/// What was read of an image: the content of files, targets of symlinks, names of directories.
#[derive(Default)]
struct Seen {
    found: BTreeMap<Vec<u8>, Vec<u8>>,
    failures: usize,
}

impl Seen {
    /// Reads all of an image, as far as reads succeed.
    fn of(image: &Image) -> Self {
        let mut seen = Self::default();
        let mut todo = vec![(Vec::new(), image.raw().info().root)];
        while let Some((path, ino)) = todo.pop() {
            match entry(image, ino) {
                Ok((content, below)) => {
                    for (name, ino) in below {
                        todo.push(([&path[..], b"/", &name].concat(), ino));
                    }
                    seen.found.insert(path, content);
                }
                Err(_) => seen.failures += 1,
            }
        }
        seen
    }
}

type Entries = Vec<(Vec<u8>, Ino)>;

/// Reads one entry: its content, and what is below it.
fn entry(image: &Image, ino: Ino) -> Result<(Vec<u8>, Entries)> {
    let raw = image.raw();
    let inode = raw.inode(ino)?;
    let attributes = raw.xattrs(ino)?;
    let mut content = format!("{:?} {attributes:?}\n", inode.meta).into_bytes();
    let mut below = Vec::new();
    match inode.kind {
        FileType::Directory => raw.read_dir(ino, Cursor::START, &mut |entry| {
            below.push((entry.name.to_vec(), entry.ino));
            ControlFlow::Continue(())
        })?,
        FileType::File => {
            let mut bytes = vec![0; usize::try_from(inode.size).unwrap()];
            let got = raw.read_at(ino, 0, &mut bytes)?;
            assert_eq!(got, bytes.len(), "a short read");
            content.extend(bytes);
        }
        FileType::Symlink => content.extend(raw.read_link(ino)?),
        _ => {}
    }
    Ok((content, below))
}

/// Images of all formats that are written, and the small ones of the fuzz targets, which have other
/// formats and codecs.
fn images() -> Vec<(String, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    make_tree(&tree);
    let mut images: Vec<_> = written()
        .map(|format| (format.to_owned(), image_of(&request(&tree, format))))
        .collect();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/image");
    for entry in fs::read_dir(seeds).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        images.push((name, fs::read(path).unwrap()));
    }
    images
}

#[test]
fn a_reader_gives_errors_and_no_other_bytes() {
    for (name, image) in images() {
        let truth = Seen::of(&open(&image, &Fault::never()).unwrap());
        assert!(truth.failures == 0 && truth.found.len() > 3, "{name}");
        let faults = at_every_call(|fault| {
            let Ok(opened) = open(&image, fault) else {
                assert!(fault.happened());
                return;
            };
            let seen = Seen::of(&opened);
            for (path, content) in &seen.found {
                let path_shown = String::from_utf8_lossy(path);
                assert!(
                    truth.found.get(path) == Some(content),
                    "{name}: {path_shown} differs"
                );
            }
            let is_whole = seen.found.len() == truth.found.len();
            assert_eq!(seen.failures == 0, is_whole, "{name}: something is missing");
            if fault.happened() {
                // no failure is kept
                let again = Seen::of(&opened);
                assert!(again.found == truth.found, "{name}: not right afterwards");
            }
        });
        assert!(faults > 3, "{name}: only {faults} faults");
    }
}

/// Returns the content of the files below a directory, by path.
fn files(dir: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_file() {
                let content = fs::read(&path).unwrap();
                found.insert(path, content);
            }
        }
    }
    found
}

#[test]
fn extracted_files_are_whole_or_missing_and_counted() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("target");
    let options = ExtractOptions {
        threads: 2,
        ..ExtractOptions::default()
    };
    for (name, image) in images() {
        let opened = open(&image, &Fault::never()).unwrap();
        extract(&**opened.raw(), &target, &options, &Quiet).unwrap();
        let truth = files(&target);
        fs::remove_dir_all(&target).unwrap();
        let faults = at_every_call(|fault| {
            let Ok(opened) = open(&image, fault) else {
                assert!(fault.happened());
                return;
            };
            let extracted = extract(&**opened.raw(), &target, &options, &Quiet);
            let is_complete = extracted.is_ok_and(|report| report.failed + report.imperfect == 0);
            assert!(is_complete || fault.happened(), "{name}");
            let now = files(&target);
            for (path, content) in &now {
                assert!(truth.get(path) == Some(content), "{name}: {path:?}");
            }
            assert!(!is_complete || now.len() == truth.len(), "{name}");
            let _ = fs::remove_dir_all(&target);
        });
        assert!(faults > 3, "{name}: only {faults} faults");
    }
}

#[test]
fn an_archive_is_right_or_counts_what_is_missing() {
    let options = ArchiveOptions {
        threads: 2,
        ..ArchiveOptions::of(ArchiveFormat::Tar)
    };
    for (name, image) in images() {
        let archive = |fault: &Fault| {
            let opened = open(&image, fault)?;
            let sink = FaultySink::new(&Fault::never());
            let archive = Archive::plan(&**opened.raw(), &options, &Quiet)?;
            let report = archive.write(&mut sink.clone())?;
            Ok::<_, sinterfs_model::Error>((report.failed, sink.bytes()))
        };
        let (failed, sound) = archive(&Fault::never()).unwrap();
        assert_eq!(failed, 0);
        let faults = at_every_call(|fault| match archive(fault) {
            Ok((0, bytes)) => assert!(bytes == sound, "{name}"),
            Ok(_) | Err(_) => assert!(fault.happened(), "{name}"),
        });
        assert!(faults > 3, "{name}: only {faults} faults");
    }
}

#[test]
fn a_conversion_is_right_or_counts_what_is_missing() {
    for (name, image) in images() {
        for format in ["dwarfs", "erofs"] {
            let request = request(Path::new("/"), format);
            let convert = |fault: &Fault| {
                let prepared = of_image(&image, fault)?;
                let sink = FaultySink::new(&Fault::never());
                let report = write(&request, &prepared, &sink, None)?;
                let missing = report.left_out + report.unreadable + report.changed + report.retried;
                Ok::<_, sinterfs_model::Error>((missing, sink.bytes()))
            };
            let (missing, sound) = convert(&Fault::never()).unwrap();
            assert_eq!(missing, 0);
            let faults = at_every_call(|fault| match convert(fault) {
                Ok((0, bytes)) => assert!(bytes == sound, "{name}"),
                Ok(_) | Err(_) => assert!(fault.happened(), "{name}"),
            });
            assert!(faults > 3, "{name}: only {faults} faults");
        }
    }
}
