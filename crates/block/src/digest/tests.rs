//! Digests of known bytes, and readers over damaged, changing and short sources.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sinterfs_model::{Kind, Quiet, Result};

use super::*;
use crate::{MemorySource, ReadAt};

fn sample(len: usize) -> Vec<u8> {
    (0..len as u64).map(|n| ((n * n) >> 7) as u8).collect()
}

fn digests(bytes: &[u8]) -> Digests {
    let mut builder = DigestBuilder::default();
    builder.update(bytes);
    builder.finish().unwrap()
}

fn verified(source: Vec<u8>, start: u64, digests: &Digests) -> Result<Verified> {
    Verified::new(Arc::new(MemorySource(source)), start, digests.clone())
}

#[test]
fn roots_are_those_of_sha256sum() {
    // (printf '\0'; head -c 65536 leaf) | sha256sum, of each leaf; then
    // (printf '\1'; cat header hashes) | sha256sum
    let known = [
        (
            0,
            "8740c8ae3065426547ced26bc414566007f6e7ae45aa575df08f0ba96bda9ff1",
        ),
        (
            3,
            "f5a113d6c3272aae29e1b99b137868454739f05f02a9a6843a3d34fb66d59456",
        ),
        (
            65536,
            "d572f4798318d2734314aaa1c5b4dc512763bb921ca513f1eb7c605dfb399e00",
        ),
        (
            65537,
            "f04c38a507c31469f5834e7aa17050ef431760989b5b97fd0576521cd010a882",
        ),
        (
            200_000,
            "99edebd9ad7fbdd98ecb753c89095d5d16783e51fd58de0ec144198f00f23827",
        ),
    ];
    for (len, root) in known {
        assert_eq!(
            digests(&vec![b'a'; len]).root().to_string(),
            root,
            "{len} bytes"
        );
    }
}

#[test]
fn a_root_is_read_as_it_is_shown() {
    let root = digests(b"abc").root();
    assert_eq!(root.to_string().parse::<Root>().unwrap(), root);
    let upper = root.to_string().to_uppercase();
    assert_eq!(upper.parse::<Root>().unwrap(), root);
    let hex = root.to_string();
    for wrong in [
        "",
        "00",
        &hex[1..],
        &format!("{hex}0"),
        &hex.replace('a', "g"),
    ] {
        if wrong != hex {
            assert_eq!(wrong.parse::<Root>().unwrap_err().kind(), Kind::Invalid);
        }
    }
}

#[test]
fn cuts_make_no_difference() {
    let bytes = sample(200_001);
    let whole = digests(&bytes);
    for step in [1000, 65535, 65536, 65537] {
        let mut builder = DigestBuilder::default();
        bytes.chunks(step).for_each(|part| builder.update(part));
        assert_eq!(builder.finish().unwrap().stored(), whole.stored());
    }
    let mut behind = vec![7; 100];
    behind.extend_from_slice(&bytes);
    let source = MemorySource(behind);
    let of = digest_range(&source, 100, bytes.len() as u64).unwrap();
    assert_eq!(of.root(), whole.root());
}

#[test]
fn every_range_comes_back() {
    let bytes = sample(3 * 65536 + 77);
    let digests = digests(&bytes);
    let mut source = vec![9; 5];
    source.extend_from_slice(&bytes);
    source.extend_from_slice(b"no part of it");
    let verified = verified(source, 5, &digests).unwrap();
    assert_eq!(verified.len(), 5 + bytes.len() as u64);
    let edges = [0, 1, 65535, 65536, 65537, 131_072, 196_608, bytes.len()];
    for start in edges {
        for end in edges.into_iter().filter(|end| *end >= start) {
            let read = verified.read(5 + start as u64, (end - start) as u64);
            assert_eq!(&*read.unwrap(), &bytes[start..end], "{start}..{end}");
        }
    }
    for (at, len) in [(4, 1), (0, 6), (5 + bytes.len() as u64, 1), (u64::MAX, 2)] {
        assert_eq!(verified.read(at, len).unwrap_err().kind(), Kind::Corrupt);
    }
}

#[test]
fn no_flipped_bit_comes_out() {
    let bytes = sample(65536 + 300);
    let digests = digests(&bytes);
    for at in [0, 1, 4095, 65535, 65536, 65836 - 1] {
        for bit in [0, 7] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let verified = verified(damaged, 0, &digests).unwrap();
            let mut buf = vec![1; bytes.len()];
            assert!(verified.read_at(0, &mut buf).is_err());
            assert_eq!(buf, vec![0; bytes.len()], "nothing of it is left");
            assert!(verified.read(at as u64, 1).is_err());
            let other = if at < 65536 { 65600 } else { 100 };
            assert_eq!(verified.read(other, 1).unwrap()[0], bytes[other as usize]);
            assert_eq!(verified.check(3, &Quiet).unwrap().len(), 1);
        }
    }
    let short = bytes[..bytes.len() - 1].to_vec();
    assert_eq!(
        verified(short, 0, &digests).unwrap_err().kind(),
        Kind::Corrupt
    );
}

#[test]
fn no_stored_digests_of_another_size_are_taken() {
    let sound = digests(&sample(200_000));
    let root = sound.root();
    let stored = sound.stored();
    for len in 0..stored.len() {
        assert!(Digests::open(stored[..len].to_vec().into()).is_err());
    }
    assert!(Digests::open([stored, b"x"].concat().into()).is_err());
    for at in 0..stored.len() {
        let mut damaged = stored.to_vec();
        damaged[at] ^= 1;
        if let Ok(digests) = Digests::open(damaged.into()) {
            assert_ne!(digests.root(), root, "byte {at}");
        }
    }
    let mut huge = stored.to_vec();
    huge[16..24].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(Digests::open(huge.into()).is_err());
}

/// A source whose bytes are others from the second read on.
struct Changing(Vec<u8>, AtomicBool);

impl ReadAt for Changing {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        MemorySource(self.0.clone()).read_at(offset, buf)?;
        if self.1.swap(true, Ordering::SeqCst) {
            buf.iter_mut().for_each(|byte| *byte ^= 1);
        }
        Ok(())
    }
}

#[test]
fn a_file_that_changes_after_it_was_verified_is_no_way_in() {
    let bytes = sample(100_000);
    let source = Changing(bytes.clone(), AtomicBool::new(false));
    let verified = Verified::new(Arc::new(source), 0, digests(&bytes)).unwrap();
    assert_eq!(&*verified.read(10, 10).unwrap(), &bytes[10..20]);
    // kept, not read again
    assert_eq!(&*verified.read(20, 10).unwrap(), &bytes[20..30]);
    // read again, and found wrong
    assert!(verified.read(0, 65536).is_err());
    assert!(verified.read(65536, 10).is_err());
}

#[test]
fn a_table_is_covered_by_the_root() {
    let bytes = sample(70_000);
    let with = |table: &[u64]| {
        let mut builder = DigestBuilder::default();
        builder.update(&bytes);
        builder.finish_with_table(table).unwrap()
    };
    let (plain, none, some) = (digests(&bytes), with(&[]), with(&[7, u64::MAX]));
    assert_eq!((plain.table(), none.table()), (None, Some(Vec::new())));
    assert_eq!(some.table(), Some(vec![7, u64::MAX]));
    assert_eq!(some.stored().len(), plain.stored().len() + 16);
    let stored = some.stored();
    for at in 0..stored.len() {
        let mut changed = stored.to_vec();
        changed[at] ^= 1;
        let opened = Digests::open(crate::Bytes::from(changed));
        assert!(
            opened.is_err() || opened.unwrap().root() != some.root(),
            "{at}"
        );
    }
    for len in [stored.len() - 1, stored.len() - 8, stored.len() - 16] {
        let cut = crate::Bytes::from(stored[..len].to_vec());
        assert_eq!(Digests::open(cut).unwrap_err().kind(), Kind::Corrupt);
    }
    // one of version 1 has no table
    let mut old = stored.to_vec();
    old[8] = 1;
    let old = Digests::open(crate::Bytes::from(old));
    assert_eq!(old.unwrap_err().kind(), Kind::Corrupt);
    let source = verified(bytes.clone(), 0, &some).unwrap();
    assert_eq!(&source.read(0, 70_000).unwrap()[..], &bytes[..]);
}
