//! Cuts a unit around content that is stored already: what an earlier unit has, too, is referred
//! to, and the rest is cut as `cut` does.
//!
//! In: a unit, its repeats, and the encoded units that these are in. Out: as of `cut`. Readers
//! decode a pcluster from its start only, so a reference begins where some pcluster does and has
//! its content up to the end of the repeat. **Invariant:** references in blocks begin in different
//! logical clusters; the result depends only on the unit, earlier units and the options.

use sinterfs_model::{Repeat, Result};

use super::compression::Compression;
use super::cut::{Cut, CutRule, Cutter, lcluster};
use super::encoded::{EncodedUnit, PclusterRef, piece};
use super::limits::BLOCK;

/// Repeats of less than one byte of a unit in this many cost more than they save: full indexes for
/// the whole file.
const RARE: usize = 256;

/// The bytes that a reference in blocks has to save: the pcluster before it ends early and is not
/// full.
const LEAST_IN_BLOCKS: u64 = BLOCK;

/// The bytes that a reference has to save elsewhere: two records of 16 bytes, and what the codec
/// loses by seeing less.
const MIN_SAVING: u64 = 512;

/// The number of starts of references that are tried if the first falls into a logical cluster in
/// which something else begins.
const STARTS: usize = 3;

/// Cuts a unit, whose number is given. `find` returns an earlier unit.
pub(super) fn cut(
    compression: &Compression,
    rule: CutRule,
    (unit, raw): (u32, &[u8]),
    repeats: &[Repeat],
    find: impl Fn(u32) -> Result<EncodedUnit>,
) -> Result<Cut> {
    let mut cutter = Cutter::new(compression, rule, (unit, raw));
    let repeated: usize = repeats.iter().map(|repeat| repeat.len as usize).sum();
    if !rule.in_blocks || repeated >= raw.len() / RARE {
        for repeat in repeats {
            follow(&mut cutter, repeat, &find)?;
        }
    }
    cutter.store(raw.len())?;
    Ok(cutter.cut)
}

/// Refers to the content of a repeat, if that saves something, and stores what is before it.
fn follow(
    cutter: &mut Cutter<'_>,
    repeat: &Repeat,
    find: impl Fn(u32) -> Result<EncodedUnit>,
) -> Result<()> {
    let is_within = repeat.block.0 == cutter.unit;
    if is_within {
        // the source has to be cut first, wherever its last pcluster ends
        let source_end = (repeat.offset + repeat.len).min(repeat.start) as usize;
        while cutter.done < source_end {
            cutter.store_next(cutter.raw.len())?;
        }
    }
    if cutter.done >= (repeat.start + repeat.len) as usize {
        return Ok(());
    }
    let skipped = cutter.done.saturating_sub(repeat.start as usize) as u32;
    let repeat = Repeat {
        start: repeat.start + skipped,
        offset: repeat.offset + skipped,
        len: repeat.len - skipped,
        ..*repeat
    };
    let in_blocks = cutter.rule.in_blocks;
    let found = if is_within {
        references(&cutter.cut.refs, &repeat, in_blocks)
    } else {
        references(&find(repeat.block.0)?.refs, &repeat, in_blocks)
    };
    let (mut rest, mut misses) = (found.as_slice(), 0);
    while misses < STARTS && saves_enough(rest, in_blocks) {
        let added = refer(cutter, rest)?;
        misses += usize::from(added == 0);
        // the next one cannot be addressed by indexes
        rest = rest.get(added + 1..).unwrap_or_default();
    }
    Ok(())
}

/// Returns whether references save more than they cost.
fn saves_enough(found: &[PclusterRef], in_blocks: bool) -> bool {
    let saved = |one: &PclusterRef| {
        if one.is_plain() {
            u64::from(one.raw)
        } else {
            u64::from(one.stored) * u64::from(one.raw) / u64::from(one.whole.max(1))
        }
    };
    let least = if in_blocks {
        LEAST_IN_BLOCKS
    } else {
        MIN_SAVING
    };
    found.iter().map(saved).sum::<u64>() >= least
}

/// Stores the content before references, adds as many references as indexes can express, and
/// returns their number; leaves everything as it was if these save too little.
fn refer(cutter: &mut Cutter<'_>, found: &[PclusterRef]) -> Result<usize> {
    let Some(first) = found.first() else {
        return Ok(0);
    };
    let in_blocks = cutter.rule.in_blocks;
    let before = (cutter.done, cutter.cut.refs.len(), cutter.cut.bytes.len());
    let last = cutter.cut.refs.last().copied();
    let mut fits = make_room(cutter, first.start);
    if fits {
        cutter.store(first.start as usize)?;
        let new = cutter.cut.refs.get(before.1.saturating_sub(1)..);
        let mut new = new.unwrap_or_default().iter().chain([first]);
        fits = !in_blocks || begin_apart(&mut new);
    }
    let len = cutter.raw.len();
    let expressible = |one: &&PclusterRef| !in_blocks || can_be_indexed(one, len);
    let taken = if fits { found } else { &[] };
    let added = taken.iter().take_while(expressible).count();
    let taken = taken.get(..added).unwrap_or_default();
    if saves_enough(taken, in_blocks) {
        cutter.cut.refs.extend_from_slice(taken);
        cutter.done = taken.last().map_or(cutter.done, |one| one.end() as usize);
        return Ok(added);
    }
    let (done, refs, bytes) = before;
    cutter.done = done;
    cutter.cut.refs.truncate(refs);
    cutter.cut.bytes.truncate(bytes);
    if let (Some(changed), Some(last)) = (cutter.cut.refs.last_mut(), last) {
        *changed = last;
    }
    Ok(0)
}

/// Returns whether indexes can express a reference in a unit of `len` bytes: what follows begins in
/// another logical cluster, or nothing does; and a pcluster of several blocks has one index more
/// for their number.
fn can_be_indexed(one: &PclusterRef, len: usize) -> bool {
    let is_last = one.end() as usize == len;
    has_indexes(one, one.end()) || is_last && u64::from(one.stored) <= BLOCK
}

/// Makes the content between the last reference and the next one, at `start`, begin in a separate
/// logical cluster by taking some content from the last one. Returns whether it does.
fn make_room(cutter: &mut Cutter<'_>, start: u32) -> bool {
    let (unit, done) = (cutter.unit, cutter.done as u32);
    let Some(last) = cutter.cut.refs.last_mut() else {
        return true;
    };
    let is_near = cutter.rule.in_blocks && done < start && lcluster(done) == lcluster(start);
    if !is_near {
        return true;
    }
    let Some(end) = (lcluster(start) * BLOCK as u32).checked_sub(1) else {
        return false;
    };
    if last.unit == unit || !has_indexes(last, end) {
        return false;
    }
    last.raw = end - last.start;
    cutter.done = end as usize;
    true
}

/// Returns whether a reference that ends at an offset has enough indexes.
fn has_indexes(one: &PclusterRef, end: u32) -> bool {
    let needed = if u64::from(one.stored) > BLOCK { 2 } else { 1 };
    lcluster(one.start) + needed <= lcluster(end)
}

/// Returns whether references begin in different logical clusters.
fn begin_apart<'a>(refs: &mut impl Iterator<Item = &'a PclusterRef>) -> bool {
    let mut last = None;
    refs.all(|one| last.replace(lcluster(one.start)) < Some(lcluster(one.start)))
}

/// Returns references to the pclusters of a unit that hold a repeat.
fn references(refs: &[PclusterRef], repeat: &Repeat, in_blocks: bool) -> Vec<PclusterRef> {
    let end = repeat.offset + repeat.len;
    let from = refs.partition_point(|one| one.end() <= repeat.offset);
    let refs = refs.get(from..).unwrap_or_default().iter();
    let within = refs.take_while(|one| one.start < end);
    let found = within.filter_map(|one| {
        let skipped = repeat.offset.saturating_sub(one.start);
        // uncompressed content outside blocks can be read from any byte
        let from_any = one.is_plain() && !in_blocks;
        if skipped > 0 && !from_any {
            return None;
        }
        let raw = one.end().min(end) - one.start - skipped;
        let start = repeat.start + one.start + skipped - repeat.offset;
        Some(if from_any {
            let lens = piece(raw as usize, raw as usize);
            PclusterRef::new(start, (one.unit, one.at + skipped), lens)
        } else {
            PclusterRef { start, raw, ..*one }
        })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sinterfs_model::BlockId;

    use super::super::search::TailRule;
    use super::*;

    fn text(mut state: u32, len: usize) -> Vec<u8> {
        let mut word = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            format!("{:05} ", state >> 25)
        };
        let words = std::iter::repeat_with(|| word().into_bytes()).flatten();
        words.take(len).collect()
    }

    fn encoded(refs: &[PclusterRef]) -> EncodedUnit {
        EncodedUnit {
            refs: Arc::from(refs),
            is_flat: false,
            inline: None,
        }
    }

    /// Cuts a unit that has a part in common with another, wherever both begin, and checks what
    /// indexes and readers need.
    fn check(
        compression: &str,
        rule: CutRule,
        (skip, offset, len): (usize, usize, usize),
    ) -> usize {
        let compression = compression.parse().unwrap();
        let first = text(1, 400_000);
        let none = |_| panic!("nothing is looked for");
        let old = cut(&compression, rule, (0, &first), &[], none)
            .unwrap()
            .refs;
        let raw = [&text(2, skip), &first[offset..offset + len], b"the end"].concat();
        let repeat = Repeat {
            start: skip as u32,
            len: len as u32,
            block: BlockId(0),
            offset: offset as u32,
        };
        let find = |unit| {
            assert_eq!(unit, 0);
            Ok(encoded(&old))
        };
        let cut = cut(&compression, rule, (1, &raw), &[repeat], find).unwrap();
        let Cut { refs, bytes, .. } = cut;
        let inline = cut.inline.unwrap_or(piece(0, 0));
        let not_in_refs = cut.shared_tail + inline.decoded_len as usize;
        assert!(not_in_refs == 0 || rule.tail != TailRule::default());
        let (mut end, mut stored, mut referred) = (0, 0, 0);
        for part in &refs {
            assert_eq!(part.start, end);
            end = part.end();
            let own = &raw[part.start as usize..end as usize];
            if part.unit == 1 {
                assert_eq!((part.at, part.raw), (stored, part.whole));
                stored += part.stored;
                continue;
            }
            referred += own.len();
            let source = old.iter().find(|old| {
                (old.at..old.at + old.stored).contains(&part.at)
                    && (old.at == part.at || part.is_plain())
            });
            let source = source.unwrap();
            let from = (source.start + part.at - source.at) as usize;
            assert_eq!(&first[from..from + own.len()], own, "{part:?}");
        }
        assert_eq!(end as usize + not_in_refs, raw.len());
        assert_eq!(stored + inline.stored_len, bytes.len() as u32);
        if rule.in_blocks {
            assert!(begin_apart(&mut refs.iter()), "{refs:?}");
            let starts = refs.iter().skip(1).map(|part| part.start).chain([end]);
            for (part, next) in refs.iter().zip(starts) {
                assert!(has_indexes(part, next) || next == end, "{refs:?}");
            }
        }
        referred
    }

    #[test]
    fn references_begin_where_readers_can_begin_to_decode() {
        for (compression, most, in_blocks) in [
            ("lz4hc:level=3", 4096, true),
            ("lz4", 16_384, true),
            ("zstd:level=1", 65_536, true),
            ("zstd:level=1", 16_384, false),
        ] {
            let mut most_referred = 0;
            for n in 0..40 {
                let tail = if in_blocks {
                    TailRule {
                        inline: n % 3 == 1,
                        shared: n % 3 * 5000,
                    }
                } else {
                    TailRule::default()
                };
                let rule = CutRule {
                    most,
                    in_blocks,
                    zeros_behind: false,
                    tail,
                };
                let (skip, offset) = (n * 1237 % 9000, n * 7919 % 90_000);
                let referred = check(compression, rule, (skip, offset, 300_000 - n * 777));
                most_referred = referred.max(most_referred);
            }
            assert!(most_referred > 150_000, "{compression}: {most_referred}");
        }
    }

    #[test]
    fn content_is_stored_again_where_references_save_nothing() {
        let rule = CutRule {
            most: 4096,
            in_blocks: true,
            zeros_behind: false,
            tail: TailRule::default(),
        };
        assert_eq!(check("lz4", rule, (10_000, 5000, 4100)), 0);
        assert_eq!(check("lz4", rule, (0, 1, 3000)), 0);
    }
}
