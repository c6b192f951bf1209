//! Images that are overwritten in place while they are mounted: a program that reads gets the
//! bytes that were packed, or an error.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;

use sinterfs_testkit::noise;
use support::{Mounted, kernel_serves, scratch};

const FILES: u64 = 4;
const LEN: usize = 1_500_003;

/// Reads a file through the mount, and not from the pages that the kernel kept of it.
fn read_anew(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path).unwrap();
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
    let mut content = vec![0; LEN];
    file.read_exact_at(&mut content, 0).map(|()| content)
}

#[test]
fn a_mount_gives_no_bytes_that_were_written_over_the_image() {
    let work = scratch();
    let (tree, image) = (work.path().join("tree"), work.path().join("image.dwarfs"));
    fs::create_dir(&tree).unwrap();
    let contents: Vec<_> = (0..FILES).map(|number| noise(number, LEN)).collect();
    for (number, content) in contents.iter().enumerate() {
        fs::write(tree.join(format!("f{number}")), content).unwrap();
    }
    let mut ways = vec!["--fuse"];
    ways.extend(kernel_serves().then_some("--kernel"));
    for flags in [&["-C", "none"][..], &["-l1"], &[]] {
        let sound = support::build("dwarfs", &tree, &image, flags);
        let position = |content: &[u8]| {
            let found = sound.windows(64).position(|here| here == &content[..64]);
            found.expect("content that is stored as it is") as u64
        };
        let changed = position(&contents[2][1_000_000..]);
        for way in &ways {
            let mounted = Mounted::new(&image, &work.path().join("mnt"), &[way]);
            let path = |number: usize| mounted.0.join(format!("f{number}"));
            for (number, content) in contents.iter().enumerate() {
                assert!(fs::read(path(number)).unwrap() == *content);
            }
            let writer = File::options().write(true).open(&image).unwrap();
            writer.write_all_at(b"EVIL", changed).unwrap();
            // twice: an error does not make what was written the truth
            for _ in 0..2 {
                let error = read_anew(&path(2)).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(5), "{way} {flags:?}: {error}");
            }
            for number in [0, 1, 3] {
                assert!(read_anew(&path(number)).unwrap() == contents[number]);
            }
            let old = &sound[changed as usize..][..4];
            writer.write_all_at(old, changed).unwrap();
            assert!(read_anew(&path(2)).unwrap() == contents[2]);
        }
    }
}
