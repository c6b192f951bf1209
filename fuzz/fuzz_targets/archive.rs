//! Archives and lists of files: tar, cpio and mtree, read to the end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sinterfs_archive::{cpio, mtree, tar};

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, archive)) = bytes.split_first() else {
        return;
    };
    match kind % 3 {
        0 => {
            let mut reader = tar::read::Reader::new(archive);
            while let Ok(Some(_)) = reader.next_member() {}
        }
        1 => {
            let mut reader = cpio::read::Reader::new(archive);
            while let Ok(Some(_)) = reader.next_member() {}
        }
        _ => drop(mtree::read::list(archive)),
    }
});
