//! Images that must have a digest: whatever is flipped, cut, appended, swapped or put before one,
//! what is read of it is what it was, or nothing is.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::fs;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

use sinterfs::build::{BuildRequest, Destination, DwarfsOptions, FormatOptions, NewHeader, build};
use sinterfs::image::MemorySource;
use sinterfs::model::{Cursor, Image, Ino};
use sinterfs::verify::{
    Anchor, CheckOptions, Root, Trust, check, embed_signature, sign, signable, write_digests,
};
use sinterfs::{FileType, Kind, OpenOptions, Quiet, open_source};
use sinterfs_testkit::noise;

/// An image, its root digest, and where in its file the covered bytes are.
struct Made {
    bytes: Vec<u8>,
    root: Root,
    covered: Range<usize>,
    read: Vec<String>,
}

fn small_tree(tree: &Path) {
    fs::create_dir_all(tree.join("dir")).unwrap();
    fs::write(tree.join("dir/a"), "some text\n".repeat(20)).unwrap();
    fs::write(tree.join("b"), noise(5, 700)).unwrap();
    std::os::unix::fs::symlink("dir/a", tree.join("link")).unwrap();
}

/// Returns the options of an image with digests.
fn dwarfs(section_index: bool) -> FormatOptions {
    FormatOptions::Dwarfs(DwarfsOptions {
        with_digest: true,
        section_index,
        ..DwarfsOptions::default()
    })
}

fn request(tree: &Path, image: &Path) -> BuildRequest {
    BuildRequest {
        destination: Destination::File {
            path: image.to_owned(),
            replace: true,
        },
        format: Some(dwarfs(true)),
        compression: Some("none".to_owned()),
        block_size: Some(1 << 16),
        ..BuildRequest::new(tree)
    }
}

/// Builds an image behind a header.
fn made(make: impl Fn(&Path), header: &[u8], change: impl Fn(&mut BuildRequest)) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let (tree, image) = (dir.path().join("tree"), dir.path().join("image"));
    make(&tree);
    let mut request = request(&tree, &image);
    fs::write(dir.path().join("header"), header).unwrap();
    request.header = (!header.is_empty()).then(|| NewHeader::File(dir.path().join("header")));
    change(&mut request);
    let report = build(&request, &Quiet).unwrap();
    let bytes = fs::read(&image).unwrap();
    let root = Root::from(report.pipeline.image.root_digest.unwrap());
    let section = find(&bytes, b"SINTERDG");
    let mut covered = [0; 8];
    covered.copy_from_slice(&bytes[section + 16..section + 24]);
    let end = section - 64;
    assert_eq!(
        usize::try_from(u64::from_le_bytes(covered)).unwrap(),
        end - header.len()
    );
    let read = read(&bytes, None).unwrap();
    Made {
        covered: header.len()..end,
        bytes,
        root,
        read,
    }
}

fn find(bytes: &[u8], magic: &[u8]) -> usize {
    let at = bytes.windows(magic.len()).rposition(|here| here == magic);
    at.unwrap()
}

fn options(root: Option<Root>) -> OpenOptions {
    OpenOptions {
        trust: root.map(Trust::of).map(Box::new),
        ..OpenOptions::default()
    }
}

/// Reads everything of an image into words.
fn read(bytes: &[u8], root: Option<Root>) -> sinterfs::Result<Vec<String>> {
    let source = Arc::new(MemorySource(bytes.to_vec()));
    let opened = open_source(source, &options(root))?;
    let mut words = Vec::new();
    read_dir(&**opened.raw(), opened.raw().info().root, &mut words)?;
    Ok(words)
}

fn read_dir(image: &dyn Image, dir: Ino, words: &mut Vec<String>) -> sinterfs::Result<()> {
    let mut entries = Vec::new();
    image.read_dir(dir, Cursor::START, &mut |entry| {
        entries.push((entry.name.to_vec(), entry.ino));
        ControlFlow::Continue(())
    })?;
    for (name, ino) in entries {
        let inode = image.inode(ino)?;
        words.push(format!("{name:?} {inode:?} {:?}", image.xattrs(ino)?));
        match inode.kind {
            FileType::Directory => read_dir(image, ino, words)?,
            FileType::Symlink => words.push(format!("{:?}", image.read_link(ino)?)),
            _ => {
                let mut content = vec![0; usize::try_from(inode.size).unwrap()];
                assert_eq!(image.read_at(ino, 0, &mut content)?, content.len());
                words.push(format!("{content:?}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_bit_that_is_flipped_anywhere_is_never_served() {
    let header = b"#!/bin/sh\nexec sinter mount \"$0\" DWARFS\n";
    for section_index in [true, false] {
        let made = made(small_tree, header, |request| {
            request.format = Some(dwarfs(section_index));
        });
        assert_eq!(read(&made.bytes, Some(made.root)).unwrap(), made.read);
        let mut refused = 0;
        for at in 0..made.bytes.len() {
            for bit in 0..8 {
                let mut flipped = made.bytes.clone();
                flipped[at] ^= 1 << bit;
                match read(&flipped, Some(made.root)) {
                    Ok(words) => {
                        assert!(!made.covered.contains(&at), "bit {bit} of byte {at} passed");
                        assert_eq!(words, made.read, "bit {bit} of byte {at}");
                    }
                    Err(error) => {
                        assert!(!error.to_string().is_empty());
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused >= made.covered.len() * 8);
    }
}

/// A tree whose image has many leaves.
fn large_tree(tree: &Path) {
    small_tree(tree);
    for number in 0..6_u64 {
        fs::write(tree.join(format!("f{number}")), noise(number, 90_000)).unwrap();
    }
}

#[test]
fn of_a_large_image_damage_costs_what_is_in_its_leaf() {
    let made = made(large_tree, b"", |request| {
        request.block_size = Some(1 << 18);
    });
    assert_eq!(read(&made.bytes, Some(made.root)).unwrap(), made.read);
    for at in (0..made.bytes.len()).step_by(4999) {
        let mut flipped = made.bytes.clone();
        flipped[at] ^= 0x10;
        match read(&flipped, Some(made.root)) {
            Ok(words) => assert!(
                !made.covered.contains(&at) && words == made.read,
                "byte {at}"
            ),
            Err(error) => assert_eq!(error.kind(), Kind::Corrupt, "{error}"),
        }
    }
    // other files are read as ever
    let mut flipped = made.bytes.clone();
    flipped[100_000] ^= 1;
    let source = Arc::new(MemorySource(flipped));
    let opened = open_source(source, &options(Some(made.root))).unwrap();
    let image = opened.raw();
    let (mut sound, mut damaged) = (0, 0);
    for number in 0..6 {
        let name = format!("f{number}");
        let ino = image
            .lookup(image.info().root, name.as_bytes())
            .unwrap()
            .unwrap();
        let mut content = vec![0; 90_000];
        match image.read_at(ino, 0, &mut content) {
            Ok(_) => {
                assert!(content == noise(number, 90_000));
                sound += 1;
            }
            Err(error) => {
                assert!(
                    error.to_string().contains("do not match their digest"),
                    "{error}"
                );
                damaged += 1;
            }
        }
    }
    assert!(
        sound >= 2 && damaged >= 1,
        "{sound} sound, {damaged} damaged"
    );
}

#[test]
fn cut_and_extended_images() {
    let made = made(small_tree, b"", |_| ());
    for len in 0..made.bytes.len() {
        match read(&made.bytes[..len], Some(made.root)) {
            Ok(words) => {
                // nothing but the digests themselves is missing
                assert!(len >= made.covered.end, "cut at {len}");
                assert_eq!(words, made.read);
            }
            Err(error) => assert_ne!(error.kind(), Kind::Io, "{error}"),
        }
    }
    for more in [&b"x"[..], &[0; 4096], &made.bytes, b"DWARFS\x02\x05"] {
        let longer = [&made.bytes, more].concat();
        if let Ok(words) = read(&longer, Some(made.root)) {
            assert_eq!(words, made.read);
        }
    }
}

#[test]
fn other_images_are_refused_wherever_they_stand() {
    let own = made(small_tree, b"", |_| ());
    let other = made(large_tree, b"", |_| ());
    let bare = made(small_tree, b"", |request| request.level = 1).bytes;
    let refused = |bytes: &[u8], why: &str| {
        let error = read(bytes, Some(own.root)).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(&other.bytes, "the digests in the image have the root");
    refused(&bare[..], "the digests in the image have the root");
    // a bait before the image
    refused(&[&other.bytes[..], &own.bytes].concat(), "have the root");
    let without = &other.bytes[..other.covered.end];
    refused(
        &[without, &own.bytes].concat(),
        "a second METADATA_V2_SCHEMA",
    );
    // the digests of another image, and its index
    let spliced = [without, &own.bytes[own.covered.end..]].concat();
    refused(&spliced, "");
    // no digests at all
    refused(without, "no digests");
    // files are never opened as far as a wrong digest goes
    let wrong = "00".repeat(32).parse().unwrap();
    assert!(read(&own.bytes, Some(wrong)).is_err());
}

#[test]
fn digests_that_leave_something_out_are_refused() {
    let own = made(small_tree, b"", |_| ());
    let other = made(small_tree, b"", |request| request.block_size = Some(4096));
    // sound digests of the first sections only, then other sections
    let end = own.bytes.len();
    let section = own.covered.end..end;
    let forged = [
        &own.bytes[own.covered.clone()],
        &other.bytes[other.covered.clone()],
        &own.bytes[section],
    ]
    .concat();
    assert!(read(&forged, Some(own.root)).is_err());
    // sound ones twice: the first counts, and nothing behind it is read
    let twice = [&own.bytes[..], &other.bytes[..]].concat();
    if let Ok(words) = read(&twice, Some(own.root)) {
        assert_eq!(words, own.read);
    }
}

/// Returns the image with other digests in its section, and no index.
fn with_digests(made: &Made, stored: &[u8]) -> Vec<u8> {
    let at = made.covered.end;
    let mut section = made.bytes[at..at + 64].to_vec();
    section[56..].copy_from_slice(&(stored.len() as u64).to_le_bytes());
    section.extend_from_slice(stored);
    let xxh3 = sinterfs_block::checksum::xxh3_64(&section[48..]);
    section[40..48].copy_from_slice(&xxh3.to_le_bytes());
    let sha = sinterfs_block::checksum::sha512_256(&section[40..]);
    section[8..40].copy_from_slice(&sha);
    [&made.bytes[..at], &section].concat()
}

#[test]
fn digests_of_both_versions_are_read_and_a_wrong_table_is_found() {
    let made = made(large_tree, b"", |_| ());
    let (end, source) = (made.covered.end as u64, MemorySource(made.bytes.clone()));
    let plain = sinterfs_block::digest::digest_range(&source, 0, end).unwrap();
    assert_ne!(plain.root(), made.root);
    let old = with_digests(&made, plain.stored());
    assert_eq!(read(&old, Some(plain.root())).unwrap(), made.read);
    assert_eq!(
        read(&old, Some(made.root)).unwrap_err().kind(),
        Kind::Corrupt
    );
    // the table as it is
    let section = find(&made.bytes, b"SINTERDG");
    let count = made.bytes[section + 24..section + 32].try_into().unwrap();
    let count = usize::try_from(u64::from_le_bytes(count)).unwrap();
    let leaves = made.covered.end.div_ceil(1 << 16);
    let table = section + 32 + 32 * leaves;
    let table = made.bytes[table..table + 8 * count].as_chunks::<8>().0;
    let table: Vec<u64> = table.iter().map(|one| u64::from_le_bytes(*one)).collect();
    let again = |table: &[u64]| {
        let mut builder = sinterfs_block::digest::DigestBuilder::default();
        builder.update(&made.bytes[made.covered.clone()]);
        let digests = builder.finish_with_table(table).unwrap();
        (with_digests(&made, digests.stored()), digests.root())
    };
    assert_eq!(again(&table).1, made.root);
    // tables that somebody made wrongly, and vouches for
    let moved = |at: usize, by: u64| {
        let mut table = table.clone();
        table[at] = table[at].wrapping_add(by);
        table
    };
    let mut swapped = table.clone();
    swapped.swap(0, 1);
    for wrong in [
        Vec::new(),
        table[1..].to_vec(),
        table[..count - 1].to_vec(),
        [&table[..], &[end]].concat(),
        [&table[..], &[end - 64]].concat(),
        moved(0, 1),
        moved(1, 1),
        moved(count - 1, 1 << 40),
        moved(1, 1 << 48),
        vec![0; 5000],
        swapped,
    ] {
        let (image, root) = again(&wrong);
        assert!(read(&image, Some(made.root)).is_err(), "{wrong:?}");
        if let Ok(words) = read(&image, Some(root)) {
            assert_eq!(words, made.read, "{wrong:?}");
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, &image).unwrap();
        let depth = CheckOptions {
            deep: false,
            threads: 1,
        };
        let found = check(file.path(), &options(None), depth, &Quiet).unwrap();
        let words = found.problems.join("\n");
        assert!(words.contains("list of sections"), "{wrong:?}: {words}");
    }
}

#[test]
fn check_compares_every_byte_that_is_covered() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("image");
    let made = made(large_tree, b"header", |_| ());
    let depth = CheckOptions {
        deep: false,
        threads: 2,
    };
    fs::write(&path, &made.bytes).unwrap();
    for root in [None, Some(made.root)] {
        let report = check(&path, &options(root), depth, &Quiet).unwrap();
        assert_eq!(report.problems, Vec::<String>::new());
        assert_eq!(report.root_digest, Some(made.root));
    }
    for at in [made.covered.start + 9, 77_777, made.covered.end - 1] {
        let mut flipped = made.bytes.clone();
        flipped[at] ^= 0x80;
        fs::write(&path, &flipped).unwrap();
        for root in [None, Some(made.root)] {
            let report = check(&path, &options(root), depth, &Quiet).unwrap();
            let told = |problem: &String| problem.contains("do not match their digest");
            assert!(report.problems.iter().any(told), "{at}: {report:?}");
        }
    }
}

#[test]
fn digests_beside_images_of_other_formats_cover_every_byte() {
    for format in ["squashfs", "erofs"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let (tree, digests) = (dir.path().join("tree"), dir.path().join("digests"));
        small_tree(&tree);
        let mut request = request(&tree, &path);
        request.format = Some(FormatOptions::named(format).unwrap());
        request.block_size = None;
        request.compression = None;
        build(&request, &Quiet).unwrap();
        let root = write_digests(&path, &digests, false).unwrap();
        let bytes = fs::read(&path).unwrap();
        let sound = read(&bytes, None).unwrap();
        let mut options = options(Some(root));
        options.trust = Some(Box::new(Trust {
            digests: Some(digests.clone()),
            ..Trust::of(root)
        }));
        let read = |bytes: &[u8]| {
            let opened = open_source(Arc::new(MemorySource(bytes.to_vec())), &options)?;
            let mut words = Vec::new();
            read_dir(&**opened.raw(), opened.raw().info().root, &mut words)?;
            Ok::<_, sinterfs::Error>(words)
        };
        assert_eq!(read(&bytes).unwrap(), sound);
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << (at % 8);
            assert!(read(&flipped).is_err(), "{format}: byte {at}");
        }
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
        let longer = [&bytes[..], &[1; 5000]].concat();
        assert_eq!(read(&longer).unwrap(), sound);
        let stored = fs::read(&digests).unwrap();
        for at in 0..stored.len() {
            let mut flipped = stored.clone();
            flipped[at] ^= 1;
            fs::write(&digests, flipped).unwrap();
            assert!(read(&bytes).is_err(), "{format}: byte {at} of the digests");
        }
    }
}

#[test]
fn a_signature_in_the_image_is_as_good_as_one_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let (image, key) = (dir.path().join("image"), dir.path().join("key"));
    let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    fs::write(&key, pair.sk.to_box(None).unwrap().to_string()).unwrap();
    let public = pair.pk.to_base64();
    let options = OpenOptions {
        trust: Some(Box::new(Trust {
            anchor: Anchor::Signature {
                key: public.into(),
                signature: None,
            },
            digests: None,
            image: None,
        })),
        ..OpenOptions::default()
    };
    let header = b"#!/bin/sh\n";
    for section_index in [true, false] {
        let made = made(small_tree, header, |request| {
            request.format = Some(dwarfs(section_index));
        });
        let read = |bytes: &[u8]| {
            let opened = open_source(Arc::new(MemorySource(bytes.to_vec())), &options)?;
            let mut words = Vec::new();
            read_dir(&**opened.raw(), opened.raw().info().root, &mut words)?;
            Ok::<_, sinterfs::Error>(words)
        };
        fs::write(&image, &made.bytes).unwrap();
        assert_eq!(read(&made.bytes).unwrap_err().kind(), Kind::NotFound);
        for comment in ["first", "a later one"] {
            let of = signable(&image, 1, &Quiet).unwrap();
            assert!(of.root == made.root && of.header.is_some());
            let signature = sign(of, &key, None, comment).unwrap();
            embed_signature(&image, &signature).unwrap();
            let signed = fs::read(&image).unwrap();
            assert_eq!(signed[..made.covered.end], made.bytes[..made.covered.end]);
            assert_eq!(read(&signed).unwrap(), made.read);
            let depth = CheckOptions {
                deep: true,
                threads: 1,
            };
            let report = check(&image, &options, depth, &Quiet).unwrap();
            assert_eq!(report.signed.as_deref(), Some(comment));
            assert!(
                report.problems.is_empty() && report.notes.is_empty(),
                "{report:?}"
            );
            let report = check(&image, &OpenOptions::default(), depth, &Quiet).unwrap();
            assert!(
                report.problems.is_empty() && report.notes.is_empty(),
                "{report:?}"
            );
        }
        let signed = fs::read(&image).unwrap();
        for at in 0..signed.len() {
            let mut flipped = signed.clone();
            flipped[at] ^= 1 << (at % 8);
            match read(&flipped) {
                Ok(words) => assert!(!made.covered.contains(&at) && words == made.read, "{at}"),
                Err(error) => assert_ne!(error.kind(), Kind::Io, "{error}"),
            }
            if let Ok(words) = read(&signed[..at]) {
                assert_eq!(words, made.read);
            }
        }
        // the signature of another image
        let other = sign(Root::from([1; 32]), &key, None, "x").unwrap();
        embed_signature(&image, &other).unwrap();
        let error = read(&fs::read(&image).unwrap()).unwrap_err();
        assert!(error.to_string().contains("not of this image"), "{error}");
    }
}
