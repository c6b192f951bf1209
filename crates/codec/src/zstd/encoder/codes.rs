//! The codes of lengths and offsets (RFC 8878, section 3.1.1.3.2.1.1), and their predefined tables
//! (section 3.1.1.3.2.2).
//!
//! In: the number of literals, the length of a match, or the value of an offset. Out: a code and
//! how many bits follow it.

/// The shortest match.
pub(super) const MIN_MATCH: usize = 3;

/// The longest match that has a code.
pub(super) const MAX_MATCH: usize = 131_074;

/// The number of codes of each kind.
pub(super) const LITERAL_LENGTH_CODES: usize = 36;
pub(super) const MATCH_LENGTH_CODES: usize = 53;
pub(super) const OFFSET_CODES: usize = 32;

/// The most codes of any kind.
pub(super) const MAX_CODES: usize = MATCH_LENGTH_CODES;

static LITERAL_LENGTH_BITS: [u8; LITERAL_LENGTH_CODES] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11,
    12, 13, 14, 15, 16,
];

static MATCH_LENGTH_BITS: [u8; MATCH_LENGTH_CODES] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
];

/// The predefined distributions; -1 is a probability of less than one.
pub(super) static LITERAL_LENGTH_DEFAULT: [i16; LITERAL_LENGTH_CODES] = [
    4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1,
    -1, -1, -1, -1,
];
pub(super) static MATCH_LENGTH_DEFAULT: [i16; MATCH_LENGTH_CODES] = [
    1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
];
pub(super) static OFFSET_DEFAULT: [i16; 29] = [
    1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1,
];

/// The codes of numbers of literals below 64.
static LITERAL_LENGTH_CODE: [u8; 64] = small_codes(&LITERAL_LENGTH_BITS);

/// The codes of lengths of matches below 128, after the shortest.
static MATCH_LENGTH_CODE: [u8; 128] = small_codes(&MATCH_LENGTH_BITS);

const fn small_codes<const SIZE: usize>(bits: &[u8]) -> [u8; SIZE] {
    let mut codes = [0; SIZE];
    let mut value = 0;
    let mut code = 0;
    while value < SIZE {
        let mut rest = 1 << bits[code];
        while rest > 0 && value < SIZE {
            codes[value] = code as u8;
            value += 1;
            rest -= 1;
        }
        code += 1;
    }
    codes
}

/// Returns the code of a number of literals.
#[inline(always)]
pub(super) fn literal_length_code(count: u32) -> u8 {
    match LITERAL_LENGTH_CODE.get(count as usize) {
        Some(&code) => code,
        None => (count.ilog2() + 19) as u8,
    }
}

/// Returns the code of a length of a match less the shortest.
#[inline(always)]
pub(super) fn match_length_code(rest: u32) -> u8 {
    match MATCH_LENGTH_CODE.get(rest as usize) {
        Some(&code) => code,
        None => (rest.ilog2() + 36) as u8,
    }
}

/// Returns the code of an offset's value.
#[inline(always)]
pub(super) fn offset_code(value: u32) -> u8 {
    (value | 1).ilog2() as u8
}

/// Returns how many bits follow the code of a number of literals.
#[inline(always)]
pub(super) fn literal_length_bits(code: u8) -> u32 {
    LITERAL_LENGTH_BITS
        .get(usize::from(code))
        .copied()
        .unwrap_or_default()
        .into()
}

/// Returns how many bits follow the code of a match's length.
#[inline(always)]
pub(super) fn match_length_bits(code: u8) -> u32 {
    MATCH_LENGTH_BITS
        .get(usize::from(code))
        .copied()
        .unwrap_or_default()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_follow_each_other() {
        // where each code begins, by the bits of those before it
        let starts = |bits: &[u8]| -> Vec<u32> {
            let ends = bits.iter().scan(0, |end, &bits| {
                let start = *end;
                *end += 1u32 << bits;
                Some(start)
            });
            ends.collect()
        };
        for (code, start) in (0..).zip(starts(&LITERAL_LENGTH_BITS)) {
            assert_eq!(literal_length_code(start), code, "{start}");
            let last = start + (1 << literal_length_bits(code)) - 1;
            assert_eq!(literal_length_code(last), code, "{last}");
        }
        for (code, start) in (0..).zip(starts(&MATCH_LENGTH_BITS)) {
            assert_eq!(match_length_code(start), code, "{start}");
            let last = start + (1 << match_length_bits(code)) - 1;
            assert_eq!(match_length_code(last), code, "{last}");
        }
        assert_eq!(
            usize::from(match_length_code((MAX_MATCH - MIN_MATCH) as u32)),
            MATCH_LENGTH_CODES - 1
        );
    }
}
