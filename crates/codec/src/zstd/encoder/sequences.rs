//! The sequences section of a block (RFC 8878, section 3.1.1.3.2).
//!
//! In: sequences with the values of their offsets, and the distributions of the block before. Out:
//! the section with the cheapest distributions.

use super::bits::BitWriter;
use super::codes::{
    LITERAL_LENGTH_DEFAULT, MATCH_LENGTH_DEFAULT, MAX_CODES, MIN_MATCH, OFFSET_DEFAULT,
    literal_length_bits, literal_length_code, match_length_bits, match_length_code, offset_code,
};
use super::fse::{Distribution, EncodingTable, MIN_LOG};
use super::logarithm::FRACTION;

/// Where a distribution comes from.
const PREDEFINED: u8 = 0;
const ONE_SYMBOL: u8 = 1;
const DESCRIBED: u8 = 2;
const AS_BEFORE: u8 = 3;

/// A sequence with its codes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Coded {
    literals: u32,
    /// The match's length less the shortest.
    length: u32,
    /// The value of the offset: 1 to 3 are recent ones.
    offset: u32,
    literals_code: u8,
    length_code: u8,
    offset_code: u8,
}

impl Coded {
    /// Codes a sequence; the length is at least [`MIN_MATCH`].
    #[inline(always)]
    pub(super) fn new(literals: u32, length: u32, offset: u32) -> Self {
        let length = length.wrapping_sub(MIN_MATCH as u32);
        Self {
            literals,
            length,
            offset,
            literals_code: literal_length_code(literals),
            length_code: match_length_code(length),
            offset_code: offset_code(offset),
        }
    }
}

/// The distributions that the next block may use again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Distributions {
    literals: Option<Distribution>,
    offsets: Option<Distribution>,
    lengths: Option<Distribution>,
}

/// One kind of codes.
struct CodeKind {
    /// The largest table, as a power of two.
    max_log: u32,
    default_log: u32,
    default: &'static [i16],
}

const LITERALS: CodeKind = CodeKind {
    max_log: 9,
    default_log: 6,
    default: &LITERAL_LENGTH_DEFAULT,
};
const OFFSETS: CodeKind = CodeKind {
    max_log: 8,
    default_log: 5,
    default: &OFFSET_DEFAULT,
};
const LENGTHS: CodeKind = CodeKind {
    max_log: 9,
    default_log: 6,
    default: &MATCH_LENGTH_DEFAULT,
};

/// How one kind of codes is stored.
struct Choice {
    mode: u8,
    description: Vec<u8>,
    /// `None` if there is one symbol, which takes no bits.
    table: Option<EncodingTable>,
    /// What the next block may use again.
    next: Option<Distribution>,
}

/// Appends the section, and notes its distributions.
pub(super) fn write(sequences: &[Coded], before: &mut Distributions, out: &mut Vec<u8>) {
    match sequences.len() {
        count @ ..128 => out.push(count as u8),
        count @ ..0x7f00 => out.extend([(count >> 8) as u8 | 0x80, count as u8]),
        count => {
            out.push(0xff);
            out.extend(((count - 0x7f00) as u16).to_le_bytes());
        }
    }
    if sequences.is_empty() {
        return;
    }
    let mut counts = [[0u32; MAX_CODES]; 3];
    let [of_literals, of_offsets, of_lengths] = &mut counts;
    for sequence in sequences {
        of_literals[usize::from(sequence.literals_code)] += 1;
        of_offsets[usize::from(sequence.offset_code)] += 1;
        of_lengths[usize::from(sequence.length_code)] += 1;
    }
    let literals = choose(&LITERALS, of_literals, before.literals.as_ref());
    let offsets = choose(&OFFSETS, of_offsets, before.offsets.as_ref());
    let lengths = choose(&LENGTHS, of_lengths, before.lengths.as_ref());
    out.push(literals.mode << 6 | offsets.mode << 4 | lengths.mode << 2);
    for choice in [&literals, &offsets, &lengths] {
        out.extend(&choice.description);
    }
    encode(sequences, [&literals, &offsets, &lengths], out);
    *before = Distributions {
        literals: literals.next,
        offsets: offsets.next,
        lengths: lengths.next,
    };
}

/// Chooses the cheapest way to store codes so frequent.
fn choose(kind: &CodeKind, counts: &[u32; MAX_CODES], before: Option<&Distribution>) -> Choice {
    let occurring = counts.iter().filter(|&&count| count > 0).count();
    if occurring == 1 {
        let symbol = counts.iter().position(|&count| count > 0).unwrap_or(0);
        return Choice {
            mode: ONE_SYMBOL,
            description: vec![symbol as u8],
            table: None,
            next: None,
        };
    }
    let predefined = Distribution::predefined(kind.default_log, kind.default);
    let mut least = predefined.cost(counts).unwrap_or(u64::MAX);
    let mut best = Choice {
        mode: PREDEFINED,
        description: Vec::new(),
        table: None,
        next: None,
    };
    let mut distribution = predefined;
    if let Some(before) = before
        && let Some(cost) = before.cost(counts)
        && cost < least
    {
        least = cost;
        distribution = *before;
        best.mode = AS_BEFORE;
        best.next = Some(*before);
    }
    let mut description = Vec::new();
    for log in MIN_LOG..=kind.max_log {
        if occurring > 1 << log {
            continue;
        }
        let own = Distribution::of_counts(counts, log);
        description.clear();
        own.describe(&mut description);
        let bits = (description.len() as u64 * 8) << FRACTION;
        let cost = own.cost(counts).map_or(u64::MAX, |cost| cost + bits);
        if cost < least {
            least = cost;
            distribution = own;
            best.mode = DESCRIBED;
            best.next = Some(own);
            best.description.clone_from(&description);
        }
    }
    best.table = Some(EncodingTable::new(&distribution));
    best
}

/// Writes the sequences from the last to the first.
fn encode(sequences: &[Coded], choices: [&Choice; 3], out: &mut Vec<u8>) {
    let Some((last, others)) = sequences.split_last() else {
        return;
    };
    let [literals, offsets, lengths] = choices.map(|choice| choice.table.as_ref());
    let mut bits = BitWriter::new(out);
    let mut literal_state = literals.map(|table| table.last(last.literals_code));
    let mut offset_state = offsets.map(|table| table.last(last.offset_code));
    let mut length_state = lengths.map(|table| table.last(last.length_code));
    extra_bits(last, &mut bits);
    for sequence in others.iter().rev() {
        if let (Some(table), Some(state)) = (offsets, &mut offset_state) {
            table.encode(state, sequence.offset_code, &mut bits);
        }
        if let (Some(table), Some(state)) = (lengths, &mut length_state) {
            table.encode(state, sequence.length_code, &mut bits);
        }
        if let (Some(table), Some(state)) = (literals, &mut literal_state) {
            table.encode(state, sequence.literals_code, &mut bits);
        }
        bits.flush();
        extra_bits(sequence, &mut bits);
    }
    let states = [
        (lengths, length_state),
        (offsets, offset_state),
        (literals, literal_state),
    ];
    for (table, state) in states {
        if let (Some(table), Some(state)) = (table, state) {
            table.finish(state, &mut bits);
        }
    }
    bits.finish_backward();
}

/// Writes what follows the codes of a sequence: up to 16, 16 and 31 bits.
#[inline(always)]
fn extra_bits(sequence: &Coded, bits: &mut BitWriter<'_>) {
    bits.add(
        sequence.literals,
        literal_length_bits(sequence.literals_code),
    );
    bits.add(sequence.length, match_length_bits(sequence.length_code));
    bits.flush();
    bits.add(sequence.offset, sequence.offset_code.into());
    bits.flush();
}
