//! Images with two copies of their metadata: whatever is wrong with one of them, all is read.

use std::sync::Arc;

use sinterfs_block::MemorySource;
use sinterfs_dwarfs::check::check;
use sinterfs_dwarfs::layout::SectionType;
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions};
use sinterfs_dwarfs::write::{DwarfsOptions, WriteOptions};
use sinterfs_model::Quiet;

use crate::listing::{Listing, compare};
use crate::{options, own, pack, sample};

/// Everything, written with a copy of the metadata.
fn image() -> Vec<u8> {
    let options = WriteOptions {
        own: DwarfsOptions {
            metadata_copy: true,
            ..DwarfsOptions::default()
        },
        ..options()
    };
    pack::write(&sample::everything(), &options).0
}

/// Returns the ranges of the sections of a type, with their headers.
fn sections(image: &[u8], kinds: &[SectionType]) -> Vec<std::ops::Range<usize>> {
    let all = own::open(image).sections().unwrap().into_iter();
    let all = all.filter(|section| kinds.contains(&section.kind));
    let range = all.map(|section| {
        let start = usize::try_from(section.offset).unwrap();
        start..start + 64 + usize::try_from(section.len).unwrap()
    });
    range.collect()
}

fn metadata(image: &[u8]) -> Vec<std::ops::Range<usize>> {
    let kinds = [
        SectionType::METADATA_V2_SCHEMA,
        SectionType::METADATA_V2,
        SectionType::XATTRS,
    ];
    sections(image, &kinds)
}

/// Returns the problems that a check finds.
fn problems(image: &[u8]) -> Vec<String> {
    let source = Arc::new(MemorySource(image.to_vec()));
    let report = check(source, &ReadOptions::default(), false, 1, &Quiet).unwrap();
    let problems = report.findings.problems().iter();
    problems.map(ToString::to_string).collect()
}

fn listing(image: &[u8]) -> Listing {
    own::list(&own::open(image))
}

#[test]
fn damaged_metadata_is_read_from_its_copy() {
    let whole = image();
    let expected = listing(&whole);
    assert_eq!(problems(&whole), [""; 0]);
    assert_eq!(own::open(&whole).damaged_metadata().count(), 0);
    let metadata = metadata(&whole);
    assert!(metadata.len() >= 2);
    for range in &metadata {
        // every byte of the header and some of the content alone, then all of it
        let alone = |at: &usize| *at < 64 || at.is_multiple_of(89) || at + 1 == range.len();
        let single = (0..range.len()).filter(alone);
        let single = single.map(|at| range.start + at..range.start + at + 1);
        for damage in single.chain([range.clone()]) {
            let mut image = whole.clone();
            image[damage.clone()]
                .iter_mut()
                .for_each(|byte| *byte ^= 0x55);
            compare(&listing(&image), &expected);
            let found = problems(&image);
            // a minor version is a note; SHA-512/256 is compared by checks only
            let at = damage.start - range.start;
            let is_version = damage.len() == 1 && at == 7;
            let is_seen = damage.len() > 1 || !(7..0x28).contains(&at);
            assert_eq!(found.is_empty(), is_version, "{damage:?} of {range:?}");
            let is_told = found.iter().any(|text| text.contains("its copy is used"));
            assert_eq!(is_told, is_seen, "{found:?}");
        }
    }
    // all of them
    let mut image = whole;
    for range in metadata {
        image[range].fill(0);
    }
    compare(&listing(&image), &expected);
}

#[test]
fn a_damaged_copy_is_reported_and_harmless() {
    let whole = image();
    let expected = listing(&whole);
    let [copy] = &sections(&whole, &[SectionType::METADATA_COPY])[..] else {
        panic!("not one copy");
    };
    for at in [0, 9, 0x29, 64, 64 + 12, 64 + 16, 64 + 24, copy.len() - 1] {
        let mut image = whole.clone();
        image[copy.start + at] ^= 0x55;
        compare(&listing(&image), &expected);
        assert!(!problems(&image).is_empty(), "no problem at {at}");
        // with both damaged there is an error, not other metadata
        for range in metadata(&whole) {
            let mut image = image.clone();
            image[range.start + 70] ^= 1;
            let source = Arc::new(MemorySource(image));
            let opened = Dwarfs::open(source, &ReadOptions::default());
            // the hash that readers do not compare leaves the copy usable
            let is_usable = at == 9
                || opened
                    .as_ref()
                    .is_ok_and(|image| image.unusable_xattrs().is_some());
            assert_eq!(opened.is_ok(), is_usable, "at {at}");
            // the error names both, if both are found
            if let Err(error) = opened {
                let error = error.to_string();
                let place = format!(" at {:#x}", copy.start);
                let words = ["METADATA_V2", "its copy cannot be used", &place];
                let is_said = words.iter().all(|word| error.contains(word));
                assert!(is_said, "{error}");
            }
        }
    }
}

#[test]
fn the_copy_changes_nothing_before_it() {
    let (whole, plain) = (image(), pack::write(&sample::everything(), &options()).0);
    assert_eq!(whole, image());
    let copy = sections(&whole, &[SectionType::METADATA_COPY]).remove(0);
    let same = whole
        .iter()
        .zip(&plain)
        .take_while(|(one, other)| one == other);
    assert!(same.count() >= copy.start);
    compare(&listing(&whole), &listing(&plain));
}

#[test]
fn an_image_that_is_cut_is_refused_or_complete() {
    let whole = image();
    let expected = listing(&whole);
    let (last, mut opened) = (metadata(&whole).pop().unwrap().end, 0);
    for len in (metadata(&whole)[0].start..whole.len()).rev() {
        let source = Arc::new(MemorySource(whole[..len].to_vec()));
        if let Ok(image) = Dwarfs::open(source, &ReadOptions::default()) {
            assert!(len >= last, "opened from {len} bytes");
            compare(&own::list(&image), &expected);
            opened += 1;
        }
    }
    // behind the attributes and behind the copy
    assert_eq!(opened, 2);
}

#[test]
fn the_copy_of_another_image_is_not_used() {
    let other = pack::write(
        &sample::plain(),
        &WriteOptions {
            own: DwarfsOptions {
                metadata_copy: true,
                ..DwarfsOptions::default()
            },
            ..options()
        },
    )
    .0;
    let (mut image, copy) = (image(), sections(&other, &[SectionType::METADATA_COPY]));
    let own_copy = sections(&image, &[SectionType::METADATA_COPY]).remove(0);
    let range = metadata(&image).remove(0);
    let index_start = own_copy.end;
    // without the index, readers follow the headers
    image.truncate(index_start);
    image.splice(own_copy, other[copy[0].clone()].iter().copied());
    assert_eq!(own::open(&image).damaged_metadata().count(), 0);
    let found = problems(&image);
    assert!(
        found.iter().any(|text| text.contains("not of this image")),
        "{found:?}"
    );
    image[range.start + 70] ^= 1;
    let opened = Dwarfs::open(Arc::new(MemorySource(image)), &ReadOptions::default());
    assert!(opened.is_err());
}
