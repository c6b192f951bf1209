//! Made-up text, the same for the same seed on every machine.

/// Makes `len` bytes of made-up words, different for each seed.
pub fn small_text(seed: u64, len: usize) -> Vec<u8> {
    const SYLLABLES: &[&str] = &[
        "ba", "co", "du", "fe", "gi", "ha", "jo", "ku", "le", "mi", "na", "po", "ru", "se", "ti",
        "va",
    ];
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = Vec::with_capacity(len + 8);
    while text.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        for n in 0..=(state >> 60) % 4 {
            let syllable = (state >> (8 + 4 * n)) % SYLLABLES.len() as u64;
            text.extend_from_slice(SYLLABLES[syllable as usize].as_bytes());
        }
        text.push(if state.is_multiple_of(11) {
            b'\n'
        } else {
            b' '
        });
    }
    text.truncate(len);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_texts_differ() {
        let (a, b) = (small_text(1, 1000), small_text(2, 1000));
        assert_eq!((a.len(), b.len()), (1000, 1000));
        assert_ne!(a, b);
        assert_eq!(a, small_text(1, 1000));
    }
}
