//! What holds for every image, however it was made: shared by the mutation test and by the fuzz
//! targets.
//!
//! In: bytes. Out: an error, or success after everything was read. **Invariant** that is asserted:
//! what is listed is found, extents follow each other without gaps and cover the file, a read gives
//! the same bytes in one part and in several, walks end.

use std::ops::ControlFlow;
use std::sync::Arc;

use sinterfs::image::{Limits, MemorySource, ReadAt};
use sinterfs::model::{Backing, Cursor, Image, Ino};
use sinterfs::{Error, FileType, OpenOptions, open_source};
use sinterfs_block::checksum;
use sinterfs_erofs::lookalike::{Lookalike, Shown};

/// Makes the checksums of an image's metadata right again, as far as its structure can be followed.
pub fn reseal(image: &mut [u8]) {
    reseal_dwarfs(image);
    reseal_erofs(image);
    for start in [0, 512] {
        reseal_cramfs(image, start);
    }
    reseal_romfs(image);
    reseal_udf(image);
}

/// Computes the checksums of the descriptors of a UDF file system with blocks of 2048 bytes.
fn reseal_udf(image: &mut [u8]) {
    let mut structures = image.chunks(2048).skip(16).take(32);
    if !structures.any(|block| block.get(1..6) == Some(b"NSR02")) {
        return;
    }
    for block in image.chunks_exact_mut(2048).skip(17) {
        if !matches!(block[..4], [1..=9, 0, 2 | 3, 0] | [0..=10, 1, 2 | 3, 0]) {
            continue;
        }
        let covered = usize::from(u16::from_le_bytes([block[10], block[11]]));
        let crc = block.get(16..16 + covered).unwrap_or_default().iter();
        let crc = crc.fold(0_u16, |crc, byte| {
            (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
                (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
            })
        });
        block[8..10].copy_from_slice(&crc.to_le_bytes());
        block[4] = 0;
        block[4] = block[..16]
            .iter()
            .fold(0, |sum, byte| sum.wrapping_add(*byte));
    }
}

/// Removes the feature "superblock checksum" from an EROFS image, as an older tool writes it.
fn reseal_erofs(image: &mut [u8]) {
    let magic = 0xe0f5_e1e2_u32.to_le_bytes();
    if image.get(1024..1028) == Some(&magic)
        && let Some(features) = image.get_mut(1032)
    {
        *features &= !1;
    }
}

/// Computes the checksum of a little-endian CRAMFS image.
fn reseal_cramfs(image: &mut [u8], start: usize) {
    let Some(image) = image.get_mut(start..).filter(|image| image.len() > 76) else {
        return;
    };
    if !image.starts_with(&0x28cd_3d45_u32.to_le_bytes()) {
        return;
    }
    let size = u32::from_le_bytes(image[4..8].try_into().unwrap()) as usize;
    let size = size.clamp(76, image.len());
    image[32..36].fill(0);
    let sum = !checksum::crc32(u32::MAX, &image[..size]);
    image[32..36].copy_from_slice(&sum.to_le_bytes());
}

/// Computes the checksum of a romfs image: the big-endian words of its first 512 bytes add up to 0.
fn reseal_romfs(image: &mut [u8]) {
    if !image.starts_with(b"-rom1fs-") || image.len() < 16 {
        return;
    }
    image[12..16].fill(0);
    let words = image[..image.len().min(512)].chunks_exact(4);
    let sum = words.fold(0_u32, |sum, word| {
        sum.wrapping_add(u32::from_be_bytes(word.try_into().unwrap()))
    });
    image[12..16].copy_from_slice(&sum.wrapping_neg().to_be_bytes());
}

/// Makes the quick checksums of all DwarFS sections right again, as far as headers can be followed.
fn reseal_dwarfs(image: &mut [u8]) {
    let mut at = 0usize;
    while let Some(header) = image
        .get(at..at + 64)
        .filter(|header| header.starts_with(b"DWARFS\x02"))
    {
        let len = u64::from_le_bytes(header[0x38..0x40].try_into().unwrap());
        let Some(end) = usize::try_from(len)
            .ok()
            .and_then(|len| (at + 64).checked_add(len))
        else {
            return;
        };
        if end > image.len() {
            return;
        }
        let sum = checksum::xxh3_64(&image[at + 0x30..end]);
        image[at + 0x28..at + 0x30].copy_from_slice(&sum.to_le_bytes());
        at = end;
    }
}

/// Opens an image, walks it, reads every file and checks it.
pub fn read_everything(bytes: Vec<u8>) -> sinterfs::Result<()> {
    let options = OpenOptions {
        limits: Limits {
            metadata: 64 << 20,
            block: 64 << 20,
            ..Limits::default()
        },
        cache_bytes: 16 << 20,
        ..OpenOptions::default()
    };
    let opened = open_source(Arc::new(MemorySource(bytes)), &options)?;
    let image = &**opened.raw();
    // DwarFS validates all names and inodes when it opens an image; other formats read metadata on
    // demand, and who walks them refuses what is out of order (`ops::walk`)
    let is_validated = image.info().format == "dwarfs";
    let mut todo = vec![image.info().root];
    let mut budget = 20_000;
    // a block that thousands of files share is decoded for each of them if it is damaged
    let mut unreadable = 0;
    while let Some(dir) = todo.pop() {
        let mut found: Vec<(Vec<u8>, Ino, FileType)> = Vec::new();
        image.read_dir(dir, Cursor::START, &mut |entry| {
            found.push((entry.name.to_vec(), entry.ino, entry.kind));
            ControlFlow::Continue(())
        })?;
        for (name, ino, kind) in found {
            budget -= 1;
            let is_found = image.lookup(dir, &name)? == Some(ino);
            let inode = image.inode(ino)?;
            let is_consistent = budget > 0 && is_found && inode.kind == kind;
            assert!(
                is_consistent || !is_validated,
                "not found, of another type, or without end"
            );
            if !is_consistent {
                return Err(Error::corrupt("refused by whoever walks it"));
            }
            match kind {
                FileType::Directory => todo.push(ino),
                FileType::File if unreadable > 100 => {}
                FileType::File => unreadable += u32::from(!read_file(image, ino, inode.size)),
                FileType::Symlink => drop(image.read_link(ino)?),
                _ => {}
            }
        }
    }
    look_alike(Arc::clone(opened.raw()))?;
    opened.info()?;
    opened.dump(&mut std::io::sink(), &mut sinterfs::ops::Unread::default())?;
    Ok(())
}

/// Reads what a kernel would be shown of the image: all metadata, and some content.
fn look_alike(image: Arc<dyn Image>) -> sinterfs::Result<()> {
    let made = Lookalike::new(image, Shown::default())?;
    let mut buf = vec![0; 1 << 16];
    for range in made.metadata() {
        for at in range.clone().step_by(buf.len()) {
            let len = (range.end - at).min(buf.len() as u64) as usize;
            made.read_at(at, &mut buf[..len])?;
        }
    }
    let content = 16 << 30;
    for at in (content..made.len()).step_by(1 << 20).take(20) {
        let len = (made.len() - at).min(buf.len() as u64) as usize;
        let _ = made.read_at(at, &mut buf[..len]);
    }
    Ok(())
}

/// Reads the beginning, the end and some places of a file; huge sparse files are not read whole.
/// Returns whether all reads succeeded.
fn read_file(image: &dyn Image, ino: Ino, size: u64) -> bool {
    let mut buf = vec![0; 8192];
    let mut is_readable = true;
    for offset in [0, size / 3, size.saturating_sub(100), size, u64::MAX] {
        match image.read_at(ino, offset, &mut buf) {
            Ok(got) => assert_eq!(
                got as u64,
                size.saturating_sub(offset).min(buf.len() as u64),
                "a short read at {offset} of {size}"
            ),
            Err(_) => is_readable = false,
        }
    }
    // larger blocks may not fit into the cache, and are decoded for each part
    if image.info().totals.block_size <= 1 << 20 {
        read_in_parts(image, ino, size, &mut buf);
    }
    // a small image can have files of more extents than there is time for
    let (mut covered, mut budget) = (0, 200_000);
    let told = image.extents(ino, 0, &mut |extent| {
        assert_eq!(extent.offset, covered, "a gap between extents");
        covered += extent.len;
        budget -= 1;
        match budget {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    });
    assert!(
        told.is_err() || covered == size || budget == 0,
        "extents cover {covered} of {size}"
    );
    is_readable
}

/// Reads ranges in one part and in two: the bytes are the same.
fn read_in_parts(image: &dyn Image, ino: Ino, size: u64, buf: &mut [u8]) {
    let mut parts = vec![0; buf.len()];
    for (offset, cut) in [(0, 1), (size / 2, 4000), (size.saturating_sub(5000), 4096)] {
        let Ok(whole) = image.read_at(ino, offset, buf) else {
            continue;
        };
        let cut = whole.min(cut);
        let (front, back) = parts[..whole].split_at_mut(cut);
        for (part, at) in [(front, offset), (back, offset + cut as u64)] {
            let got = image.read_at(ino, at, part);
            assert_eq!(
                got.ok(),
                Some(part.len()),
                "a part of a range at {at} of {size}"
            );
        }
        assert!(
            parts[..whole] == buf[..whole],
            "other bytes at {offset} of {size}"
        );
    }
}
