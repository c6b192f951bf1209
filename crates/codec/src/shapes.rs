//! Bytes of many shapes, for tests of encoders.

use sinterfs_testkit::noise;

/// Words in an order without a pattern.
pub(super) fn prose(len: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "the ",
        "block ",
        "of ",
        "a ",
        "match ",
        "and ",
        "its ",
        "length, ",
        "nearest ",
        "byte ",
        "is ",
        "then ",
        "coded ",
        "by ",
        "range.\n",
        "distance ",
    ];
    let mut text = Vec::with_capacity(len + 16);
    for byte in noise(seed, len) {
        if text.len() >= len {
            break;
        }
        text.extend(WORDS[usize::from(byte & 15)].bytes());
    }
    text.truncate(len);
    text
}

/// A string of which every part was there before, but never with the same end.
fn fibonacci(len: usize) -> Vec<u8> {
    let (mut a, mut b) = (b"a".to_vec(), b"ab".to_vec());
    while b.len() < len {
        let next = [&b[..], &a].concat();
        a = std::mem::replace(&mut b, next);
    }
    b.truncate(len);
    b
}

/// All strings of 3 letters of 64, once each.
fn de_bruijn() -> Vec<u8> {
    let (letters, order) = (64u32, 3);
    let mut word = vec![0u32; order + 1];
    let mut sequence = Vec::new();
    // Lyndon words in order, by Duval's algorithm
    let mut len = 1;
    while len > 0 {
        if order.is_multiple_of(len) {
            sequence.extend(word[1..=len].iter().map(|&letter| letter as u8 + 32));
        }
        for index in len + 1..=order {
            word[index] = word[index - len];
        }
        len = order;
        while len > 0 && word[len] == letters - 1 {
            len -= 1;
        }
        if len > 0 {
            word[len] += 1;
        }
    }
    assert_eq!(sequence.len(), 1 << 18);
    sequence
}

/// Blocks of some length in which matches are many, long or misleading.
pub(super) fn hard_inputs(len: usize) -> Vec<Vec<u8>> {
    let cycle = |pattern: &[u8]| -> Vec<u8> { pattern.iter().copied().cycle().take(len).collect() };
    let mut sparse = vec![0; len];
    for at in (0..len).step_by(61) {
        sparse[at] = (at / 61) as u8;
    }
    vec![
        vec![0; len],
        cycle(b"abc"),
        cycle(b"ab"),
        cycle(&prose(50, 1)),
        cycle(&[&[0; 90][..], &[1; 90]].concat()),
        fibonacci(len),
        de_bruijn().repeat(4),
        sparse,
    ]
}
