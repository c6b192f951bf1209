//! The literals section of a block (RFC 8878, section 3.1.1.3.1).
//!
//! In: the literals and the code of the block before. Out: the section in its shortest form, and
//! the code that the next block may use again.

use super::huffman::Code;
use super::logarithm::FRACTION;

/// The most literals in one stream.
const SINGLE_STREAM: usize = 1023;

/// Kinds of literals.
const RAW: u32 = 0;
const REPEATED: u32 = 1;
const COMPRESSED: u32 = 2;
const BY_CODE_BEFORE: u32 = 3;

/// How literals are coded.
enum Choice {
    Raw,
    New(Box<Code>),
    Before,
}

/// Appends the section. Returns the new code, if the section has one.
pub(super) fn write(literals: &[u8], before: Option<&Code>, out: &mut Vec<u8>) -> Option<Code> {
    if let [first, .., last] = literals
        && first == last
        && literals.iter().all(|byte| byte == first)
    {
        uncompressed_header(REPEATED, literals.len(), out);
        out.push(*first);
        return None;
    }
    let mut counts = [0; 256];
    for &byte in literals {
        counts[usize::from(byte)] += 1;
    }
    let start = out.len();
    let choice = choose(&counts, literals.len(), before);
    let (kind, code) = match (&choice, before) {
        (Choice::New(code), _) => (COMPRESSED, Some(code.as_ref())),
        (Choice::Before, Some(code)) => (BY_CODE_BEFORE, Some(code)),
        _ => (RAW, None),
    };
    if let Some(code) = code {
        compressed(literals, code, kind, out);
        if out.len() - start < literals.len() {
            return match choice {
                Choice::New(code) => Some(*code),
                _ => None,
            };
        }
        out.truncate(start);
    }
    uncompressed_header(RAW, literals.len(), out);
    out.extend(literals);
    None
}

/// Chooses how to code literals by what it costs.
fn choose(counts: &[u32; 256], len: usize, before: Option<&Code>) -> Choice {
    let bits_of = |bytes: usize| (bytes as u64 * 8) << FRACTION;
    let mut least = bits_of(len);
    let mut choice = Choice::Raw;
    if let Some(cost) = before.and_then(|code| code.cost(counts))
        && cost < least
    {
        least = cost;
        choice = Choice::Before;
    }
    if let Some(code) = Code::new(counts)
        && let Some(cost) = code.cost(counts)
        && cost + bits_of(code.description().len()) < least
    {
        choice = Choice::New(Box::new(code));
    }
    choice
}

/// Writes a header of literals that are not compressed.
fn uncompressed_header(kind: u32, len: usize, out: &mut Vec<u8>) {
    let len = len as u32;
    match len {
        ..32 => out.push((kind | len << 3) as u8),
        32..4096 => out.extend(((kind | 1 << 2 | len << 4) as u16).to_le_bytes()),
        _ => out.extend(&(kind | 3 << 2 | len << 4).to_le_bytes()[..3]),
    }
}

/// Writes literals by a code.
fn compressed(literals: &[u8], code: &Code, kind: u32, out: &mut Vec<u8>) {
    let header = out.len();
    let (format, header_len, bits) = if literals.len() <= SINGLE_STREAM {
        (0, 3, 10)
    } else if literals.len() < 1 << 14 {
        (2, 4, 14)
    } else {
        (3, 5, 18)
    };
    out.resize(header + header_len, 0);
    if kind == COMPRESSED {
        out.extend(code.description());
    }
    if format == 0 {
        code.encode(literals, out);
    } else {
        let jumps = out.len();
        out.resize(jumps + 6, 0);
        let mut jump = jumps;
        for stream in literals.chunks(literals.len().div_ceil(4)) {
            let start = out.len();
            code.encode(stream, out);
            let len = (out.len() - start) as u16;
            if jump < jumps + 6 {
                out[jump..jump + 2].copy_from_slice(&len.to_le_bytes());
            }
            jump += 2;
        }
    }
    let stored = out.len() - header - header_len;
    let sizes = literals.len() as u64 | (stored as u64) << bits;
    let word = u64::from(kind | format << 2) | sizes << 4;
    out[header..header + header_len].copy_from_slice(&word.to_le_bytes()[..header_len]);
}
