//! Writes images anew that others made: the new image shows what the old one does, whatever changes
//! around it, and what is damaged is refused.

#![allow(clippy::unwrap_used, reason = "this is a test")]

mod manifest;
mod support;

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use sinterfs_block::MemorySource;
use sinterfs_dwarfs::check::check;
use sinterfs_dwarfs::layout::{SectionCompression, SectionType};
use sinterfs_dwarfs::read::{Dwarfs, ReadOptions};
use sinterfs_dwarfs::rewrite::{
    BlockRules, MetadataRule, RewriteOptions, RewriteReport, Selection, rewrite,
};
use sinterfs_dwarfs::write::{DwarfsOptions, HistoryInfo};
use sinterfs_model::{Kind, Limits, Quiet, Result};

/// Where a written image goes.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn history() -> HistoryInfo {
    HistoryInfo {
        arguments: vec!["again".to_owned()],
        ..HistoryInfo::default()
    }
}

/// Encodes everything with one codec.
fn options(encoding: &str) -> RewriteOptions<'static> {
    RewriteOptions {
        blocks: BlockRules {
            encoding: Some(encoding.parse().unwrap()),
            ..BlockRules::default()
        },
        metadata: MetadataRule::Encode,
        metadata_encoding: encoding.parse().unwrap(),
        history: Some(history()),
        own: DwarfsOptions::default(),
        threads: 2,
    }
}

/// Changes nothing.
fn keep() -> RewriteOptions<'static> {
    RewriteOptions {
        blocks: BlockRules::default(),
        metadata: MetadataRule::Keep,
        ..options("none")
    }
}

fn written(image: &Dwarfs, options: &RewriteOptions<'_>) -> Result<(Vec<u8>, RewriteReport)> {
    let sink = Sink::default();
    let report = rewrite(image, Box::new(sink.clone()), options, &Quiet)?;
    let bytes = std::mem::take(&mut *sink.0.lock().unwrap());
    assert_eq!(report.image.image_bytes, bytes.len() as u64);
    Ok((bytes, report))
}

/// Images of the vectors and of upstream, small ones only where time is short.
fn images() -> Option<Vec<PathBuf>> {
    let own = support::shared("vectors/images/dwarfs")?;
    let upstream = support::shared("vectors/upstream/dwarfs")?;
    let mut paths = Vec::new();
    for directory in [
        own,
        upstream.join("compat"),
        upstream.join("bugs"),
        upstream,
    ] {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            let is_image = [".img", ".img.gz", ".dwarfs"]
                .iter()
                .any(|e| name.ends_with(e));
            if is_image && !name.contains("future-features") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    assert_eq!(paths.len(), 31 + 20);
    Some(paths)
}

fn assert_sound(name: &str, bytes: &[u8]) {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    let report = check(source, &ReadOptions::default(), true, 1, &Quiet).unwrap();
    assert!(report.is_sound(), "{name}: {:?}", report.findings);
}

#[test]
fn every_image_shows_the_same_afterwards() {
    let Some(paths) = images() else { return };
    for path in paths {
        let name = path.display().to_string();
        let image = support::open(support::read_file(&path)).unwrap();
        let expected = manifest::of_image(&image);
        let (kept, report) = written(&image, &keep()).unwrap();
        assert_eq!(report.recoded, 0);
        let lz4 = written(&image, &options("lz4")).unwrap().0;
        let small = written(&image, &options("zstd:level=3")).unwrap().0;
        for (what, bytes) in [("kept", &kept), ("lz4", &lz4), ("zstd", &small)] {
            let case = format!("{name}, {what}");
            let new = support::open(bytes.clone()).unwrap();
            assert_eq!(manifest::of_image(&new), expected, "{case}");
            assert_sound(&case, bytes);
            assert_eq!(
                new.categories().unwrap().len(),
                image.categories().unwrap().len()
            );
            assert_eq!(new.created().unwrap(), image.created().unwrap(), "{case}");
            let mut runs = image.history().unwrap();
            let mut found = new.history().unwrap();
            assert_eq!(found.pop().unwrap().arguments, ["again"], "{case}");
            // what is always there for upstream's sake
            for run in &mut runs {
                run.version.git_desc = Some(run.version.to_string());
            }
            assert_eq!(found, runs, "{case}");
            assert!(new.has_index() && new.minor_version() == 5, "{case}");
        }
        // there and back again: the same blocks as those that were written at once
        let back = written(&support::open(lz4).unwrap(), &options("zstd:level=3"))
            .unwrap()
            .0;
        let no_history = |mut o: RewriteOptions<'static>| {
            o.history = None;
            o
        };
        let strip = |bytes: &[u8]| {
            let image = support::open(bytes.to_vec()).unwrap();
            written(&image, &no_history(keep())).unwrap().0
        };
        assert!(strip(&back) == strip(&small), "{name}");
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let Some(root) = support::shared("vectors/images/dwarfs") else {
        return;
    };
    let image = support::open(support::read_file(&root.join("lookback.img"))).unwrap();
    assert!(image.block_count() > 20);
    let with = |threads| {
        let options = RewriteOptions {
            threads,
            ..options("zstd:level=5")
        };
        written(&image, &options).unwrap().0
    };
    let one = with(1);
    assert!(one == with(2) && one == with(7) && one == with(0));
}

fn compressions(image: &Dwarfs) -> Vec<(String, SectionCompression)> {
    let blocks = 0..u32::try_from(image.block_count()).unwrap();
    blocks
        .map(|block| {
            let category = image.block_category(u64::from(block)).unwrap();
            let info = image.block_info(block).unwrap().0;
            (category.unwrap_or_default(), info.compression)
        })
        .collect()
}

#[test]
fn categories_have_rules_of_their_own() {
    let Some(root) = support::shared("vectors/images/dwarfs") else {
        return;
    };
    let image = support::open(support::read_file(&root.join("categorize.img"))).unwrap();
    let rewritten = |options: &RewriteOptions<'_>| {
        let bytes = written(&image, options).unwrap().0;
        assert_sound("categories", &bytes);
        support::open(bytes).unwrap()
    };
    let before = compressions(&image);
    let is = |wanted: SectionCompression| before.iter().filter(|(_, c)| *c == wanted).count();
    assert!(is(SectionCompression::FLAC) > 0 && is(SectionCompression::RICEPP) > 0);

    // audio, images and what does not compress stay as they are
    for ((name, old), (_, new)) in before.iter().zip(compressions(&rewritten(&options("lz4")))) {
        match name.as_str() {
            "incompressible" | "pcmaudio/waveform" | "fits/image" => assert_eq!(*old, new),
            _ => assert_eq!(new, SectionCompression::LZ4, "{name}"),
        }
    }
    // unless they are named
    let mut named = options("lz4");
    named.blocks.by_category = vec![("pcmaudio/waveform".to_owned(), "zstd".parse().unwrap())];
    named.blocks.selection = Some(Selection {
        names: vec!["pcmaudio/waveform".to_owned()],
        inverted: false,
    });
    for ((name, old), (_, new)) in before.iter().zip(compressions(&rewritten(&named))) {
        let zstd = [SectionCompression::ZSTD, SectionCompression::NONE];
        match name.as_str() {
            "pcmaudio/waveform" => assert!(zstd.contains(&new), "{new}"),
            _ => assert_eq!(*old, new, "{name}"),
        }
    }
    // and by their own codecs again
    let zstd = written(&image, &named).unwrap().0;
    let zstd = support::open(zstd).unwrap();
    let mut flac = options("lz4");
    flac.blocks.by_category = vec![
        (
            "pcmaudio/waveform".to_owned(),
            "flac:level=5".parse().unwrap(),
        ),
        ("fits/image".to_owned(), "ricepp".parse().unwrap()),
    ];
    let bytes = written(&zstd, &flac).unwrap().0;
    assert_sound("flac", &bytes);
    let again = support::open(bytes).unwrap();
    assert_eq!(manifest::of_image(&again), manifest::of_image(&image));
    for ((name, old), (_, new)) in before.iter().zip(compressions(&again)) {
        if ["pcmaudio/waveform", "fits/image"].contains(&name.as_str()) {
            assert_eq!(*old, new, "{name}");
        }
    }
    flac.blocks.by_category[0].0 = "<default>".to_owned();
    assert_eq!(written(&image, &flac).unwrap_err().kind(), Kind::Invalid);

    let mut others = options("lz4");
    others.blocks.selection = Some(Selection {
        names: vec!["<default>".to_owned()],
        inverted: true,
    });
    let after = compressions(&rewritten(&others));
    assert!(
        before
            .iter()
            .zip(&after)
            .all(|(a, b)| a.0 != "<default>" || a == b)
    );
    assert!(before != after);

    // zstd 22 is not made larger by lz4
    let mut smaller = options("lz4");
    smaller.blocks.keep_smaller = true;
    assert_eq!(compressions(&rewritten(&smaller)), before);

    for rules in [
        BlockRules {
            by_category: vec![("no/such".to_owned(), "lz4".parse().unwrap())],
            ..BlockRules::default()
        },
        BlockRules {
            selection: Some(Selection {
                names: vec!["no/such".to_owned()],
                inverted: true,
            }),
            ..BlockRules::default()
        },
    ] {
        let blocks = rules;
        let error = written(&image, &RewriteOptions { blocks, ..keep() }).unwrap_err();
        assert!(
            error.kind() == Kind::Invalid && error.what().contains("fits/image"),
            "{error}"
        );
    }
}

#[test]
fn sections_of_unknown_types_stay() {
    let Some(root) = support::shared("vectors/images/dwarfs") else {
        return;
    };
    let bytes = support::read_file(&root.join("no-section-index.img"));
    let mut stranger = support::section_with_hashes(&bytes[..64], b"what is this?");
    stranger[0x34] = 77;
    let like = stranger.clone();
    let stranger = support::section_with_hashes(&like[..64], b"what is this?");
    let image = support::open([bytes.clone(), stranger].concat()).unwrap();
    for options in [keep(), options("zstd")] {
        let (bytes, _) = written(&image, &options).unwrap();
        let new = support::open(bytes.clone()).unwrap();
        let sections = new.sections().unwrap();
        let found = sections
            .iter()
            .find(|section| section.kind.0.get() == 77)
            .unwrap();
        let start = usize::try_from(found.offset).unwrap() + 64;
        assert_eq!(&bytes[start..start + 13], b"what is this?");
        let kinds: Vec<SectionType> = sections.iter().map(|section| section.kind).collect();
        assert_eq!(
            kinds[kinds.len() - 2..],
            [SectionType::HISTORY, SectionType::SECTION_INDEX]
        );
    }
}

#[test]
fn damage_is_refused() {
    let Some(root) = support::shared("vectors/upstream/dwarfs") else {
        return;
    };
    for name in [
        "compat/compat-v0.9.10.dwarfs",
        "compat/compat-v0.4.1.dwarfs",
    ] {
        let bytes = support::read_file(&root.join(name));
        let image = support::open(bytes.clone()).unwrap();
        let whole = manifest::of_image(&image);
        for at in (0..bytes.len()).step_by(61) {
            let mut broken = bytes.clone();
            broken[at] ^= 0x10;
            let options = if at % 2 == 0 { keep() } else { options("lz4") };
            let Ok(image) = support::open(broken) else {
                continue;
            };
            if let Ok((bytes, _)) = written(&image, &options) {
                // what a hash is not taken over may change: magic, version, the index
                let new = support::open(bytes).unwrap();
                assert_eq!(manifest::of_image(&new), whole, "{name}, byte {at}");
            }
        }
    }
}

#[test]
fn upstreams_broken_images_are_refused_or_made_sound() {
    let Some(archive) = support::shared("vectors/upstream/dwarfs/badfs.tar.xz") else {
        return;
    };
    let mut tar = Vec::new();
    liblzma::read::XzDecoder::new(&std::fs::read(archive).unwrap()[..])
        .read_to_end(&mut tar)
        .unwrap();
    let options_of = |offset| ReadOptions {
        offset,
        limits: Limits {
            metadata: 16 << 20,
            block: 16 << 20,
            sections: 1 << 16,
        },
        cache_bytes: 32 << 20,
        ..ReadOptions::default()
    };
    let (mut seen, mut refused) = (0, 0);
    for bytes in files_of_tar(&tar) {
        seen += 1;
        let source = Arc::new(MemorySource(bytes.to_vec()));
        let Ok(image) = Dwarfs::open(source, &options_of(Some(0))) else {
            refused += 1;
            continue;
        };
        for rules in [keep(), options("lz4")] {
            match written(&image, &rules) {
                Ok((bytes, _)) => {
                    // sound but for what nobody reads: the new image says what the old one did
                    let new = support::open(bytes).unwrap();
                    manifest::of_image(&new);
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert_eq!(seen, 1284);
    assert!(refused >= 1284, "{refused}");
}

/// Lists the contents of the regular files of a tar.
fn files_of_tar(tar: &[u8]) -> Vec<&[u8]> {
    let (mut files, mut at) = (Vec::new(), 0);
    while at + 512 <= tar.len() && tar[at] != 0 {
        let digits = std::str::from_utf8(&tar[at + 124..at + 135]).unwrap();
        let len = usize::from_str_radix(digits, 8).unwrap();
        if tar[at + 156] == b'0' {
            files.push(&tar[at + 512..at + 512 + len]);
        }
        at += 512 + len.next_multiple_of(512);
    }
    files
}
