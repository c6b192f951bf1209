//! Digests and signatures: what is accepted is what was signed, byte by byte.
//!
//! In: changes of an image, of its stored digests, of a signature and of the signed root. Asserted:
//! digests with the true root are the true digests; a verified source returns the true bytes or an
//! error for any range; a signature is accepted for the root that was signed, and for no other.

use std::sync::{Arc, LazyLock};

use minisign_verify::{PublicKey, Signature};
use sinterfs::verify::{Root, signed_statement};
use sinterfs_block::digest::{Digests, Verified, digest_range};
use sinterfs_block::{Bytes, MemorySource, ReadAt};

/// Bytes of the image: three leaves, the last one short.
const LEN: usize = (2 << 16) + 1000;

/// What is true.
struct Truth {
    image: Vec<u8>,
    digests: Digests,
    root: Root,
    key: PublicKey,
    signature: String,
}

static TRUTH: LazyLock<Truth> = LazyLock::new(|| {
    let image: Vec<u8> = (0..LEN).map(|at| ((at * 7) >> 3) as u8).collect();
    let digests = digest_range(&MemorySource(image.clone()), 0, LEN as u64).expect("digests");
    let root = digests.root();
    let keys = minisign::KeyPair::generate_unencrypted_keypair().expect("keys");
    let statement = signed_statement(root);
    let signature = minisign::sign(None, &keys.sk, statement.as_bytes(), Some("true"), None);
    let key = keys.pk.to_box().expect("a key").to_string();
    Truth {
        image,
        digests,
        root,
        key: PublicKey::decode(&key).expect("a key"),
        signature: signature.expect("a signature").to_string(),
    }
});

/// Splits off a part: a byte with its length, then the part.
fn parts(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some((len, rest)) = bytes.split_first() else {
        return (&[], &[]);
    };
    rest.split_at(usize::from(*len).min(rest.len()))
}

/// Applies changes of 4 bytes each: two for the place, a kind, a value.
fn change(bytes: &mut Vec<u8>, changes: &[u8]) {
    for change in changes.chunks_exact(4) {
        // places in steps of 3 reach the whole image
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) * 3;
        let at = place % bytes.len().max(1);
        match change[2] % 4 {
            0 if at < bytes.len() => bytes[at] ^= change[3],
            1 if at < bytes.len() => bytes[at] = change[3],
            2 => bytes.truncate(at),
            _ => bytes.insert(at, change[3]),
        }
    }
}

fn verified_reads(image: Vec<u8>, reads: &[u8]) {
    let truth = &*TRUTH;
    let source = Arc::new(MemorySource(image));
    // shorter than what the digests cover
    let Ok(verified) = Verified::new(source, 0, truth.digests.clone()) else {
        return;
    };
    for read in reads.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([read[0], read[1]])) * 3;
        let mut buf = vec![0xee; usize::from(u16::from_le_bytes([read[2], read[3]])) * 2];
        match verified.read_at(at as u64, &mut buf) {
            Ok(()) => assert!(buf == truth.image[at..at + buf.len()], "other bytes"),
            Err(_) => assert!(
                buf.iter().all(|byte| matches!(byte, 0 | 0xee)),
                "bytes of a read that failed"
            ),
        }
    }
}

/// Changes, reads and verifies as one input says.
pub fn run(bytes: &[u8]) {
    let (of_image, rest) = parts(bytes);
    let (reads, rest) = parts(rest);
    let (of_digests, rest) = parts(rest);
    let (of_signature, root) = parts(rest);
    let truth = &*TRUTH;
    let mut image = truth.image.clone();
    change(&mut image, of_image);
    verified_reads(image, reads);

    let mut stored = truth.digests.stored().to_vec();
    change(&mut stored, of_digests);
    if let Ok(digests) = Digests::open(Bytes::from(stored.clone())) {
        let is_true = stored == truth.digests.stored();
        assert_eq!(
            digests.root() == truth.root,
            is_true,
            "a root of other digests"
        );
    }

    let mut signature = truth.signature.clone().into_bytes();
    change(&mut signature, of_signature);
    let Ok(signature) = String::from_utf8(signature) else {
        return;
    };
    let root = <[u8; 32]>::try_from(root).map_or(truth.root, Root::from);
    if let Ok(decoded) = Signature::decode(&signature)
        && truth
            .key
            .verify(signed_statement(root).as_bytes(), &decoded, false)
            .is_ok()
    {
        assert!(root == truth.root, "a signature of another root");
        assert_eq!(
            decoded.trusted_comment(),
            "true",
            "a comment that nobody signed"
        );
    } else {
        let is_whole = signature == truth.signature && root == truth.root;
        assert!(!is_whole, "the true signature is refused");
    }
}
