//! Cuts a unit into pclusters of whole blocks, or into the extents that need none.
//!
//! In: the content of a unit. Out: what it is decoded from, in order, and the bytes to be stored.
//! **Invariant:** references, the inline tail and the shared tail cover the unit without gaps; the
//! result depends only on the content and the options. `dedupe` cuts around earlier content by the
//! same steps.

use sinterfs_model::{Result, StoredPart};

use super::compression::Compression;
use super::encoded::{PclusterRef, piece};
use super::limits::BLOCK;
use super::search::{ClusterSearch, Step, TailRule, saves_blocks};

/// The way in which a unit is cut.
#[derive(Debug, Clone, Copy)]
pub(super) struct CutRule {
    /// The most stored bytes of a pcluster, or the most content of an extent.
    pub(super) most: usize,
    /// Whether pclusters fill whole blocks.
    pub(super) in_blocks: bool,
    /// Whether they begin with what they hold; else with zeros.
    pub(super) zeros_behind: bool,
    /// The options for the tail.
    pub(super) tail: TailRule,
}

/// A unit that was cut.
#[derive(Debug, Default)]
pub(super) struct Cut {
    /// The location of its content.
    pub(super) refs: Vec<PclusterRef>,
    /// Its stored parts, an inline tail last.
    pub(super) bytes: Vec<u8>,
    /// The tail that goes after the inode.
    pub(super) inline: Option<StoredPart>,
    /// The length of the tail that shares pclusters with others; its bytes are not among `bytes`.
    pub(super) shared_tail: usize,
    /// Whether the unit is stored uncompressed as a whole.
    pub(super) is_flat: bool,
}

impl Cut {
    /// Returns the pieces of a unit that refers to no other.
    pub(super) fn pieces(&self) -> Vec<StoredPart> {
        let own = self.refs.iter().map(|one| StoredPart {
            decoded_len: one.raw,
            stored_len: one.stored,
        });
        own.chain(self.inline).collect()
    }
}

/// Cuts a unit, whose number is given.
pub(super) fn cut(
    compression: &Compression,
    rule: CutRule,
    (unit, raw): (u32, &[u8]),
) -> Result<Cut> {
    let mut cutter = Cutter::new(compression, rule, (unit, raw));
    cutter.store(raw.len())?;
    Ok(cutter.cut)
}

/// A unit that is being cut, from its start on.
#[derive(Debug)]
pub(super) struct Cutter<'a> {
    pub(super) rule: CutRule,
    pub(super) unit: u32,
    pub(super) raw: &'a [u8],
    /// The bytes of content that have been cut.
    pub(super) done: usize,
    pub(super) cut: Cut,
    search: ClusterSearch<'a>,
    compression: &'a Compression,
}

impl<'a> Cutter<'a> {
    /// Begins to cut a unit.
    pub(super) fn new(
        compression: &'a Compression,
        rule: CutRule,
        (unit, raw): (u32, &'a [u8]),
    ) -> Self {
        Self {
            rule,
            unit,
            raw,
            done: 0,
            cut: Cut::default(),
            search: ClusterSearch::new(compression),
            compression,
        }
    }

    /// Stores content up to an offset.
    pub(super) fn store(&mut self, to: usize) -> Result<()> {
        while self.done < to {
            self.store_next(to)?;
        }
        Ok(())
    }

    /// Stores the next pcluster, or some uncompressed content, which end at an offset at the
    /// latest.
    pub(super) fn store_next(&mut self, to: usize) -> Result<()> {
        let rest = self.raw.get(self.done..to).unwrap_or_default();
        let most = self.rule.most;
        if !self.rule.in_blocks {
            let piece = rest.get(..most).unwrap_or(rest);
            let stream = self.compression.encode(piece)?;
            self.add(piece.len(), stream.as_deref().unwrap_or(piece));
            return Ok(());
        }
        let tail = if to == self.raw.len() {
            self.rule.tail
        } else {
            TailRule::default()
        };
        match self.search.next(rest, most, tail)? {
            Step::SharedTail => {
                self.cut.shared_tail = rest.len();
                self.done += rest.len();
            }
            Step::InlineTail(stream) => {
                self.cut.inline = Some(piece(rest.len(), stream.len()));
                self.cut.bytes.extend_from_slice(&stream);
                self.done += rest.len();
            }
            Step::Plain(len) => {
                for block in rest.get(..len).unwrap_or(rest).chunks(BLOCK as usize) {
                    self.add_plain(block);
                }
            }
            Step::Pcluster(taken, stream) => match self.shorten(taken, to)? {
                Some((shorter, stream)) => self.add(shorter, &stream),
                None => self.add(taken, &stream),
            },
        }
        Ok(())
    }

    /// Encodes less than a pcluster has room for if what remains before `to` would begin in the
    /// logical cluster in which the content from `to` on begins.
    fn shorten(&mut self, taken: usize, to: usize) -> Result<Option<(usize, Vec<u8>)>> {
        let end = self.done + taken;
        if end >= to || to >= self.raw.len() || lcluster(end as u32) != lcluster(to as u32) {
            return Ok(None);
        }
        let end = lcluster(to as u32) as usize * BLOCK as usize - BLOCK as usize / 2;
        let rest = self.raw.get(self.done..end).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (taken, stream) = self.search.fill(rest, self.rule.most)?;
        let is_pcluster = taken == rest.len() && saves_blocks(taken, &stream);
        Ok(is_pcluster.then_some((taken, stream)))
    }

    /// Adds content that was encoded; in blocks with zeros before it, which readers skip, or after
    /// it.
    fn add(&mut self, raw: usize, stream: &[u8]) {
        let at = self.cut.bytes.len();
        let stored = if self.rule.in_blocks {
            stream.len().next_multiple_of(BLOCK as usize)
        } else {
            stream.len()
        };
        if !self.rule.zeros_behind {
            self.cut.bytes.resize(at + stored - stream.len(), 0);
        }
        self.cut.bytes.extend_from_slice(stream);
        self.cut.bytes.resize(at + stored, 0);
        self.push(raw, stored, at);
    }

    /// Adds a block of uncompressed content.
    fn add_plain(&mut self, raw: &[u8]) {
        let at = self.cut.bytes.len();
        self.cut.bytes.extend_from_slice(raw);
        self.cut.bytes.resize(at + BLOCK as usize, 0);
        self.push(raw.len(), BLOCK as usize, at);
    }

    fn push(&mut self, raw: usize, stored: usize, at: usize) {
        let place = (self.unit, at as u32);
        let pcluster = PclusterRef::new(self.done as u32, place, piece(raw, stored));
        self.cut.refs.push(pcluster);
        self.done += raw;
    }
}

/// Returns the number of the logical cluster at an offset.
pub(super) fn lcluster(at: u32) -> u32 {
    at / BLOCK as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns content that compresses differently from one part to the next.
    fn content(len: usize) -> Vec<u8> {
        let mut state = 5_u32;
        let mut byte = |spread: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16).wrapping_rem(spread) as u8
        };
        (0..len)
            .map(|at| byte(2 + (at / 50_000 * 31 % 254) as u32))
            .collect()
    }

    fn cut_up(codec: &str, raw: &[u8], most: usize, shared: usize) -> Cut {
        let tail = TailRule {
            inline: false,
            shared,
        };
        let rule = CutRule {
            most,
            in_blocks: true,
            zeros_behind: false,
            tail,
        };
        cut(&codec.parse().unwrap(), rule, (0, raw)).unwrap()
    }

    #[test]
    fn pclusters_follow_each_other_and_are_full() {
        let raw = content(1 << 20);
        for text in [
            "lz4",
            "lz4:level=-2",
            "lz4hc:level=9",
            "lzma:level=1",
            "deflate",
            "zstd:level=3",
        ] {
            let most = 16 * BLOCK as usize;
            let cut = cut_up(text, &raw, most, 0);
            let pieces = cut.pieces();
            let sum = |part: fn(&StoredPart) -> u32| pieces.iter().map(part).sum::<u32>() as usize;
            assert_eq!(sum(|piece| piece.decoded_len), raw.len(), "{text}");
            assert_eq!(sum(|piece| piece.stored_len), cut.bytes.len());
            let (_, inner) = pieces.split_last().unwrap();
            for piece in inner {
                assert!(u64::from(piece.decoded_len) >= BLOCK, "{text}: {piece:?}");
                assert!(piece.stored_len as usize <= most && piece.stored_len % 4096 == 0);
            }
            let compression: Compression = text.parse().unwrap();
            let whole = compression.encode(&raw).unwrap().unwrap().len();
            let stored = cut.bytes.len();
            assert!(stored < whole + whole / 8, "{text}: {stored} {whole}");
        }
    }

    #[test]
    fn a_tail_is_shared_if_it_fills_no_pcluster() {
        let raw = content(1 << 20);
        for text in ["lz4", "lz4hc:level=9", "lzma:level=1", "zstd:level=3"] {
            for len in [5000, 100_000, 999_999, 1 << 20] {
                let cut = cut_up(text, &raw[..len], 8192, 1 << 17);
                let in_refs: u32 = cut.refs.iter().map(|one| one.raw).sum();
                assert_eq!(in_refs as usize + cut.shared_tail, len);
                assert!(cut.shared_tail <= 1 << 17 && cut.bytes.len().is_multiple_of(4096));
                if let [.., last] = cut.refs[..] {
                    // the tail would not have filled it
                    assert!(last.stored == 8192 || cut.shared_tail == 0 || last.raw == 4096);
                }
            }
        }
        let noise = sinterfs_testkit::noise(1, 50_001);
        let cut = cut_up("lz4", &noise, 8192, 1 << 17);
        assert_eq!((cut.refs.len(), cut.shared_tail), (12, 50_001 - 12 * 4096));
        assert_eq!(cut.bytes[..], noise[..12 * 4096]);
    }

    #[test]
    fn incompressible_content_is_stored_uncompressed() {
        let noise = sinterfs_testkit::noise(2, 50_001);
        for text in ["lz4", "lzma", "zstd"] {
            let cut = cut_up(text, &noise, 8192, 0);
            assert_eq!(cut.refs.len(), 13);
            assert_eq!(cut.bytes[..50_001], noise);
        }
    }
}
