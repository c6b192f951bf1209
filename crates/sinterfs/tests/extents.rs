//! A file's extents from any byte on are those from its beginning, in every format.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use sinterfs::build::{BuildRequest, Destination, FormatOptions, build};
use sinterfs::model::{Extent, Image, Ino};
use sinterfs::{OpenOptions, Quiet, open_with};
use sinterfs_testkit::noise;

/// Lists the extents of a file from a byte on.
fn extents(image: &dyn Image, file: Ino, from: u64) -> Vec<Extent> {
    let mut found = Vec::new();
    let listed = image.extents(file, from, &mut |extent| {
        found.push(extent);
        ControlFlow::Continue(())
    });
    listed.unwrap();
    found
}

fn check(image: &dyn Image, name: &str, len: u64) {
    let root = image.info().root;
    let file = image.lookup(root, name.as_bytes()).unwrap().unwrap();
    let all = extents(image, file, 0);
    let borders = all.iter().map(|extent| extent.offset).chain([len]);
    let near = |at: u64| [at.saturating_sub(1), at, at + 1, at.midpoint(len)];
    for from in borders.flat_map(near).filter(|&from| from < len) {
        let found = extents(image, file, from);
        let first = found.first().unwrap();
        assert!(
            first.offset <= from && from < first.offset + first.len,
            "{name} from {from}: {first:?}"
        );
        let mut at = first.offset;
        for extent in &found {
            assert_eq!(extent.offset, at, "{name} from {from}");
            at += extent.len;
        }
        assert_eq!(at, len, "{name} from {from}");
    }
    assert!(extents(image, file, len).is_empty());
}

#[test]
fn extents_begin_anywhere() {
    let dir = tempfile::tempdir().unwrap();
    let tree = dir.path().join("tree");
    fs::create_dir(&tree).unwrap();
    // ends of all lengths, so that fragments lie across the borders of what is encoded together
    let lens = (0..40).map(|number| 1 + number * 3331 % 200_003);
    let files: Vec<(String, u64)> = lens.map(|len| (format!("f{len}"), len)).collect();
    for (name, len) in &files {
        let mut bytes = noise(*len, usize::try_from(*len).unwrap());
        bytes.iter_mut().for_each(|byte| *byte &= 15);
        fs::write(tree.join(name), bytes).unwrap();
    }
    for (format, kernel) in [
        ("dwarfs", None),
        ("squashfs", None),
        ("erofs", None),
        ("erofs", Some("6.1")),
        ("erofs", Some("5.4")),
    ] {
        let path = dir
            .path()
            .join(format!("image-{}", kernel.unwrap_or("newest")));
        let mut request = BuildRequest {
            destination: Destination::File {
                path: path.clone(),
                replace: true,
            },
            format: Some(FormatOptions::named(format).unwrap()),
            block_size: Some(if kernel == Some("5.4") {
                4096
            } else {
                16 << 10
            }),
            ..BuildRequest::new(&tree)
        };
        if let (Some(kernel), Some(options)) = (kernel, &mut request.format) {
            options.set("target_kernel", kernel).unwrap();
        }
        build(&request, &Quiet).unwrap();
        let opened = open_with(Path::new(&path), &OpenOptions::default()).unwrap();
        for (name, len) in &files {
            check(&**opened.raw(), name, *len);
        }
    }
}
