//! The cache under one reader and under many.

#![allow(clippy::disallowed_methods, reason = "a test fails without threads")]

use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use sinterfs_model::{Error, Kind};

use super::*;
use crate::codec::{CodecId, Decoder, Encoding};
use crate::{Bytes, MemorySource, ReadAt, Window};

fn whole(bytes: Vec<u8>) -> impl FnOnce() -> Result<Opened> {
    || Ok(Opened::Decoded(bytes))
}

/// Reads from the start of a block.
fn read(
    cache: &BlockCache,
    key: u128,
    len: usize,
    open: impl FnOnce() -> Result<Opened>,
) -> Result<Vec<u8>> {
    let mut buf = vec![0; len];
    cache.read(key, 0, &mut buf, open).map(|()| buf)
}

/// Opens nothing: for what must be in memory.
fn never() -> Result<Opened> {
    panic!("the block was not in memory")
}

#[test]
fn a_block_is_decoded_once() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    for _ in 0..3 {
        assert_eq!(read(&cache, 7, 3, whole(vec![1, 2, 3])).unwrap(), [1, 2, 3]);
    }
    assert_eq!(
        cache.stats(),
        CacheStats {
            hits: 2,
            misses: 1,
            bytes: 3
        }
    );
    cache.clear();
    assert_eq!(read(&cache, 7, 1, whole(vec![4])).unwrap(), [4]);
    cache.clear();
    assert_eq!(cache.stats().bytes, 0);
}

#[test]
fn nothing_is_read_past_the_end_of_a_block() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    for (offset, len) in [(0, 4), (3, 1), (4, 0), (u64::MAX, 1), (1, 1 << 20)] {
        let error = cache.read(1, offset, &mut vec![0; len], whole(vec![1, 2, 3]));
        assert_eq!(error.unwrap_err().kind(), Kind::Corrupt);
    }
    for (offset, expected) in [(0, &[1, 2, 3][..]), (2, &[3]), (3, &[])] {
        let mut buf = vec![0; expected.len()];
        cache
            .read(1, offset, &mut buf, whole(vec![1, 2, 3]))
            .unwrap();
        assert_eq!(buf, expected);
    }
}

#[test]
fn many_readers_share_one_decode() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    let decodes = AtomicUsize::new(0);
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                let block = read(&cache, 1, 100, || {
                    decodes.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(50));
                    Ok(Opened::Decoded(vec![9; 100]))
                });
                assert_eq!(block.unwrap(), [9; 100]);
            });
        }
    });
    assert_eq!(decodes.into_inner(), 1);
    assert_eq!(
        cache.stats(),
        CacheStats {
            hits: 7,
            misses: 1,
            bytes: 100
        }
    );
}

#[test]
fn all_waiters_see_the_failure_and_the_next_read_tries_again() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    let decodes = AtomicUsize::new(0);
    let (started, waiting) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            let error = read(&cache, 1, 1, || {
                started.send(()).unwrap();
                decodes.fetch_add(1, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(200));
                Err(Error::corrupt("bad block")
                    .at("block 1", 0x40)
                    .because("deep down"))
            });
            assert!(error.is_err());
        });
        waiting.recv().unwrap();
        for _ in 0..4 {
            scope.spawn(|| {
                let error = read(&cache, 1, 1, || {
                    decodes.fetch_add(1, Ordering::Relaxed);
                    Ok(Opened::Decoded(Vec::new()))
                });
                let error = error.unwrap_err();
                assert_eq!(error.kind(), Kind::Corrupt);
                assert_eq!(
                    error.to_string(),
                    "corrupt image: block 1 at 0x40: bad block: deep down"
                );
            });
        }
    });
    assert_eq!(decodes.into_inner(), 1);
    assert_eq!(cache.stats().bytes, 0);
    assert_eq!(read(&cache, 1, 1, whole(vec![5])).unwrap(), [5]);
}

#[test]
fn a_panicking_decode_does_not_block_the_key() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = read(&cache, 1, 1, || panic!("expected by this test"));
    }));
    assert!(panicked.is_err());
    assert_eq!(read(&cache, 1, 1, whole(vec![5])).unwrap(), [5]);
}

#[test]
fn a_block_above_the_capacity_is_served_but_not_kept() {
    for capacity in [0, 10] {
        let cache = BlockCache::new(capacity, 1 << 10);
        for _ in 0..2 {
            let block = read(&cache, 1, 1000, whole(vec![0; 1000])).unwrap();
            assert_eq!(block.len(), 1000);
        }
        assert_eq!(
            cache.stats(),
            CacheStats {
                hits: 0,
                misses: 2,
                bytes: 0
            }
        );
    }
}

#[test]
fn memory_stays_within_the_capacity() {
    let cache = BlockCache::new(100_000, 1_000);
    for key in 0..10_000 {
        read(&cache, key, 1_000, whole(vec![0; 1_000])).unwrap();
        assert!(cache.stats().bytes <= 100_000);
    }
    assert!(
        cache.stats().bytes >= 50_000,
        "the capacity is used: {cache:?}"
    );
}

#[test]
fn few_big_blocks_fit_exactly() {
    let cache = BlockCache::new(4 << 20, 1 << 20);
    for _ in 0..2 {
        for key in 0..4 {
            read(&cache, key, 1 << 20, whole(vec![0; 1 << 20])).unwrap();
        }
    }
    assert_eq!(cache.stats().misses, 4);
}

/// Some megabytes that compress, no two parts of them alike.
fn sample(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut bytes = Vec::with_capacity(len + 32);
    while bytes.len() < len {
        state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
        bytes.extend(format!("{:x} of many, ", state >> 40).bytes());
    }
    bytes.truncate(len);
    bytes
}

const STREAMS: [&str; 4] = [
    "zstd:level=1",
    "zstd:level=3:window=27",
    "lzma:level=0",
    "brotli:quality=1",
];

/// A way to open the block that an encoding makes of some bytes.
fn encoded(text: &str, raw: &[u8]) -> impl Fn() -> Result<Opened> + use<> {
    let encoding: Encoding = text.parse().unwrap();
    let stream = Bytes::from(encoding.encode(raw).unwrap());
    let len = raw.len() as u64;
    move || {
        let stream = stream.clone();
        let decoder = Decoder::new(encoding.codec(), stream, len)?;
        decoder
            .map(|decoder| Opened::Encoded(Box::new(decoder)))
            .ok_or_else(no_steps)
    }
}

fn no_steps() -> Error {
    Error::unsupported("a codec without steps")
}

#[test]
fn a_block_is_decoded_only_as_far_as_it_is_needed() {
    let raw = sample(8 << 20);
    for text in STREAMS {
        let cache = BlockCache::new(64 << 20, 8 << 20);
        let open = encoded(text, &raw);
        let mut buf = vec![0; 4096];
        cache.read(1, 1 << 20, &mut buf, &open).unwrap();
        assert!(buf == raw[1 << 20..][..4096], "{text}");
        // the stream, a bit over 1 MiB, and as much as a window
        let bytes = cache.stats().bytes;
        assert!((1 << 20..6 << 20).contains(&bytes), "{text}: {bytes}");
        for offset in [0, 1 << 19, 1 << 20] {
            cache.read(1, offset, &mut buf, never).unwrap();
            assert!(buf == raw[offset as usize..][..4096]);
        }
        assert_eq!((cache.stats().hits, cache.stats().misses), (3, 1));
        cache.read(1, (8 << 20) - 4096, &mut buf, never).unwrap();
        assert!(buf == raw[raw.len() - 4096..]);
        let finished = CacheStats {
            hits: 3,
            misses: 2,
            bytes: 8 << 20,
        };
        assert_eq!(cache.stats(), finished, "{text}");
    }
}

#[test]
fn many_readers_of_a_block_in_progress_see_the_truth() {
    let raw = sample(3_000_001);
    for text in STREAMS {
        let (open, opened) = (encoded(text, &raw), AtomicUsize::new(0));
        let cache = BlockCache::new(64 << 20, 4 << 20);
        thread::scope(|scope| {
            for seed in 0..8_usize {
                let (cache, raw, open, opened) = (&cache, &raw, &open, &opened);
                scope.spawn(move || {
                    let mut state = seed.wrapping_mul(0x9e37_79b9) + 1;
                    for round in 0..60 {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        // later rounds reach further
                        let reach = raw.len() * (round + 1) / 60;
                        let start = (state >> 8) % reach;
                        let len = ((state >> 16) % 100_000).min(raw.len() - start);
                        let mut buf = vec![0; len];
                        let done = cache.read(1, start as u64, &mut buf, || {
                            opened.fetch_add(1, Ordering::Relaxed);
                            open()
                        });
                        done.unwrap();
                        assert!(buf == raw[start..start + len], "{text} {start} {len}");
                    }
                });
            }
        });
        assert_eq!(opened.into_inner(), 1, "{text}");
    }
}

#[test]
fn a_heavy_block_is_finished_in_the_background() {
    let raw = sample(4 << 20);
    let cache = BlockCache::new(64 << 20, 4 << 20);
    let open = encoded("lzma:level=0", &raw);
    cache.read(1, 3 << 20, &mut [0], &open).unwrap();
    for _ in 0..3000 {
        if cache.stats().bytes == 4 << 20 {
            cache.read(1, (4 << 20) - 1, &mut [0], never).unwrap();
            assert_eq!((cache.stats().hits, cache.stats().misses), (1, 1));
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("not finished: {cache:?}");
}

#[test]
fn what_lies_before_a_damage_is_read() {
    let raw = sample(4 << 20);
    for text in STREAMS {
        let encoding: Encoding = text.parse().unwrap();
        let mut stream = encoding.encode(&raw).unwrap();
        let cut = stream.len() * 3 / 4;
        match encoding.codec() {
            // its sizes stand at the end
            CodecId::Xz => stream[cut..cut + 2000].fill(0x55),
            // without a checksum, nothing but the end is surely missed
            _ => stream.truncate(cut),
        }
        let stream = Bytes::from(stream);
        let open = || {
            let (stream, len) = (stream.clone(), raw.len() as u64);
            let decoder = Decoder::new(encoding.codec(), stream, len)?;
            decoder
                .map(|decoder| Opened::Encoded(Box::new(decoder)))
                .ok_or_else(no_steps)
        };
        let cache = BlockCache::new(64 << 20, 4 << 20);
        let mut before = vec![0; 1 << 20];
        cache.read(1, 0, &mut before, open).unwrap();
        assert!(before == raw[..1 << 20]);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let error = cache.read(1, (4 << 20) - 1, &mut [0], open).unwrap_err();
                    assert_eq!(error.kind(), Kind::Corrupt, "{text}: {error}");
                    let mut before = vec![0; 1 << 20];
                    cache.read(1, 0, &mut before, open).unwrap();
                    assert!(before == raw[..1 << 20]);
                });
            }
        });
        // the failure is not kept: the block is opened anew
        let _ = cache.read(1, (4 << 20) - 1, &mut [0], open);
        assert_eq!(cache.stats().bytes, 0, "{text}");
    }
}

#[test]
fn a_block_in_progress_can_be_evicted() {
    let raw = sample(1 << 20);
    let cache = BlockCache::new(3 << 20, 1 << 20);
    let open = encoded("zstd:level=1", &raw);
    for _ in 0..3 {
        for key in 0..20 {
            for offset in [0, 1 << 18, 1 << 19, (1 << 20) - 100] {
                let mut buf = [0; 100];
                cache.read(key, offset, &mut buf, &open).unwrap();
                assert!(buf == raw[offset as usize..][..100]);
                assert!(cache.stats().bytes <= 3 << 20, "{cache:?}");
            }
        }
    }
}

#[test]
fn a_block_in_use_is_not_evicted() {
    let raw = sample(1 << 20);
    let cache = BlockCache::new(3 << 20, 1 << 20);
    let fill = || {
        for key in 10..40 {
            read(&cache, key, 1, whole(vec![0; 1 << 20])).unwrap();
        }
    };
    fill();
    // as a thread that decodes it does
    let (in_use, _) = cache.block(1, encoded("zstd:level=1", &raw)).unwrap();
    in_use.read(0, &mut [0; 1000]).unwrap();
    cache.blocks.update_weight(1, &in_use);
    fill();
    assert!(cache.holds(1));
    assert!(cache.stats().bytes <= 3 << 20, "{cache:?}");
    cache.set_capacity(1000);
    assert!(cache.holds(1));
    drop(in_use);
    cache.set_capacity(1000);
    assert!(!cache.holds(1) && cache.stats().bytes == 0);
}

#[test]
fn a_block_larger_than_the_cache_leaves_it_after_its_use() {
    let raw = sample(2 << 20);
    let cache = BlockCache::new(1 << 20, 1 << 20);
    let open = encoded("zstd:level=1", &raw);
    let mut buf = [0; 10];
    for offset in [0, (2 << 20) - 10] {
        cache.read(1, offset, &mut buf, &open).unwrap();
        assert!(buf == raw[offset as usize..][..10]);
    }
    assert!(cache.stats().bytes <= 1 << 20, "{cache:?}");
}

#[test]
fn stored_blocks_take_no_memory() {
    let raw = sample(1 << 20);
    let source: Arc<dyn ReadAt> = Arc::new(MemorySource(raw.clone()));
    let cache = BlockCache::new(1 << 20, 1 << 20);
    let open = || {
        Ok(Opened::Stored(Window::new(
            Arc::clone(&source),
            100,
            1 << 19,
        )?))
    };
    let mut buf = vec![0; 1 << 19];
    cache.read(1, 0, &mut buf, open).unwrap();
    assert!(buf == raw[100..][..1 << 19]);
    cache.read(1, (1 << 19) - 1, &mut buf[..1], never).unwrap();
    assert_eq!(buf[0], raw[100 + (1 << 19) - 1]);
    assert!(cache.read(1, 1 << 19, &mut buf[..1], open).is_err());
    assert!(cache.stats().bytes < 1000);
}

#[test]
fn an_operating_system_error_keeps_its_number() {
    let error = Error::io("cannot read", std::io::Error::from_raw_os_error(5)).path("/x");
    let copied = copy(&error);
    assert_eq!(copied.io_source().unwrap().raw_os_error(), Some(5));
    assert_eq!(copied.to_string(), error.to_string());
}

#[test]
fn a_file_keeps_what_memory_does_not() {
    let cache = BlockCache::new(1000, 100);
    cache.spill_to(tempfile::tempfile().unwrap());
    let opened = AtomicUsize::new(0);
    let bytes = |key: u128| -> Vec<u8> { (0..100).map(|at| (key * 7 + at) as u8).collect() };
    let open = |key: u128| {
        opened.fetch_add(1, Ordering::Relaxed);
        if key.is_multiple_of(2) {
            return Ok(Opened::Decoded(bytes(key)));
        }
        let stream = "zstd".parse::<Encoding>()?.encode(&bytes(key))?;
        let decoder = Decoder::new(CodecId::Zstd, Bytes::from(stream), 100)?;
        decoder
            .map(|decoder| Opened::Encoded(Box::new(decoder)))
            .ok_or_else(no_steps)
    };
    let mut part = [0; 10];
    for offset in [0, 85, 90] {
        for key in 0..200 {
            cache.read(key, offset, &mut part, || open(key)).unwrap();
            assert_eq!(part[..], bytes(key)[offset as usize..][..10], "{key}");
        }
    }
    assert_eq!(opened.load(Ordering::Relaxed), 200);
    assert!(cache.stats().bytes <= 1000);
    // not past the end, and no error is kept
    assert!(cache.read(3, 91, &mut part, || open(3)).is_err());
    assert!(read(&cache, 777, 1, || Err(Error::corrupt("no"))).is_err());
    assert_eq!(read(&cache, 777, 1, whole(vec![5])).unwrap(), [5]);
}

#[test]
fn a_whole_block_goes_to_its_reader_and_is_not_kept() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    let decoded = AtomicUsize::new(0);
    let decode = |room: &mut [u8]| {
        decoded.fetch_add(1, Ordering::Relaxed);
        room.fill(7);
        Ok(())
    };
    let open = || Ok(Opened::Decoded(vec![7; 100]));
    let mut buf = [0; 100];
    for _ in 0..2 {
        buf.fill(0);
        cache.read_whole(5, &mut buf, open, decode).unwrap();
        assert_eq!(buf, [7; 100]);
    }
    assert_eq!(decoded.load(Ordering::Relaxed), 2);
    assert_eq!(cache.stats().bytes, 0);
    // a block that is there already is read from memory
    cache.read(5, 10, &mut buf[..5], open).unwrap();
    cache.read_whole(5, &mut buf, open, decode).unwrap();
    assert_eq!(decoded.load(Ordering::Relaxed), 2);
    assert_eq!(cache.stats().hits, 1);
}

/// Four blocks of an image, each of so many bytes.
struct Four {
    raw: Vec<u8>,
    encoding: &'static str,
}

impl NextBlocks for Four {
    fn next(&self, key: u128) -> Option<u128> {
        Some((key + 1) % 4)
    }

    fn open(&self, key: u128) -> Result<Opened> {
        match key {
            // damage is for those who ask
            2 => Err(Error::corrupt("a bad block")),
            _ => encoded(self.encoding, &self.raw)(),
        }
    }

    fn block_size(&self) -> u64 {
        self.raw.len() as u64
    }
}

/// An image of four blocks, of which a server has the second one and the last one.
struct FetchedInPart(Four);

impl NextBlocks for FetchedInPart {
    fn next(&self, key: u128) -> Option<u128> {
        self.0.next(key)
    }

    fn is_here(&self, key: u128) -> bool {
        key.is_multiple_of(2)
    }

    fn open(&self, _: u128) -> Result<Opened> {
        encoded(self.0.encoding, &self.0.raw)()
    }

    fn block_size(&self) -> u64 {
        self.0.block_size()
    }
}

#[test]
fn what_would_have_to_be_fetched_is_not_decoded_ahead() {
    let (raw, encoding) = (sample(2 << 20), "zstd:level=1");
    let image = Arc::new(FetchedInPart(Four { raw, encoding }));
    let cache = BlockCache::new(64 << 20, 2 << 20);
    cache.decode_ahead(Some(Arc::downgrade(&image) as Weak<dyn NextBlocks>));
    // of blocks 0 to 3, each read in turn
    for offset in [0, 128 << 10, 256 << 10] {
        let needs = |_| {
            let ends = [0, 1, 2, 3].map(|key| Need { key, end: 2 << 20 });
            ends.to_vec()
        };
        cache.before_read(77, offset, 128 << 10, needs);
    }
    assert!(soon(|| cache.holds(0) && cache.holds(2)), "{cache:?}");
    wait_often(&cache, &image.0);
    thread::sleep(Duration::from_millis(50));
    assert!(!cache.holds(1) && !cache.holds(3), "{cache:?}");
}

/// An image that has none of the blocks that are read.
struct Another;

impl NextBlocks for Another {
    fn next(&self, _: u128) -> Option<u128> {
        None
    }

    fn open(&self, _: u128) -> Result<Opened> {
        unreachable!("it has no blocks")
    }

    fn block_size(&self) -> u64 {
        1
    }
}

/// Waits until something is so, as threads have work to do until then.
fn soon(is_so: impl Fn() -> bool) -> bool {
    (0..1000).any(|_| {
        let so = is_so();
        thread::sleep(Duration::from_millis(if so { 0 } else { 10 }));
        so
    })
}

/// Waits for a decoder a little too often.
fn wait_often(cache: &BlockCache, image: &Four) {
    for _ in 0..2 {
        let mut buf = [0; 100];
        let open = || {
            thread::sleep(Duration::from_millis(120));
            image.open(0)
        };
        cache.clear();
        cache.read(0, 1000, &mut buf, open).unwrap();
        assert_eq!(buf, image.raw[1000..1100]);
    }
}

#[test]
fn who_waits_often_finds_more_decoded() {
    for encoding in STREAMS {
        let raw = sample(2 << 20);
        let image = Arc::new(Four { raw, encoding });
        let cache = BlockCache::new(64 << 20, 2 << 20);
        let (another, weak) = (Arc::new(Another), Arc::downgrade(&image));
        cache.decode_ahead(Some(Arc::downgrade(&another) as Weak<dyn NextBlocks>));
        cache.decode_ahead(Some(weak as Weak<dyn NextBlocks>));
        wait_often(&cache, &image);
        assert!(
            soon(|| cache.stats().bytes == 4 << 20),
            "{encoding}: {cache:?}"
        );
        assert!(cache.holds(1) && !cache.holds(2));
        let mut buf = vec![0; 2 << 20];
        for key in [0, 1] {
            cache.read(key, 0, &mut buf, never).unwrap();
            assert!(buf == image.raw, "{encoding}");
        }
        let found = cache.read(2, 0, &mut buf, || image.open(2));
        assert_eq!(found.unwrap_err().kind(), Kind::Corrupt);
    }
}

#[test]
fn nothing_is_decoded_ahead_without_room_or_wish() {
    let raw = sample(2 << 20);
    let encoding = "zstd:level=1";
    let image = Arc::new(Four { raw, encoding });
    let weak = || Some(Arc::downgrade(&image) as Weak<dyn NextBlocks>);
    let (tight, unasked) = (
        BlockCache::new(3 << 20, 2 << 20),
        BlockCache::new(64 << 20, 2 << 20),
    );
    tight.decode_ahead(weak());
    for cache in [&tight, &unasked] {
        wait_often(cache, &image);
        thread::sleep(Duration::from_millis(100));
        assert!(cache.stats().bytes < 2 << 20, "{cache:?}");
        assert!(!cache.holds(1));
    }
}

/// Reads a file that consists of blocks 0, 1 and 3 of an image in turn, up to some offset.
fn read_in_turn(cache: &BlockCache, image: &Four, offsets: std::ops::Range<u64>) {
    const UNIT: u64 = 128 << 10;
    let len = image.block_size();
    for offset in offsets.step_by(UNIT as usize) {
        let needs = |window: u64| {
            let ends = [0, 1, 3].map(|key| Need { key, end: len });
            let (first, last) = (offset / len, (offset + window - 1) / len);
            let blocks = (first..=last.min(2)).map(|at| ends[at as usize]);
            blocks.collect()
        };
        cache.before_read(77, offset, UNIT, needs);
        let key = [0, 1, 3][(offset / len) as usize];
        let (start, mut buf) = (offset % len, vec![0; UNIT as usize]);
        let open = || image.open(key);
        cache.read(key, start, &mut buf, open).unwrap();
        assert!(buf == image.raw[start as usize..][..UNIT as usize]);
    }
}

#[test]
fn what_is_read_in_turn_is_decoded_ahead_and_kept_however_small_the_cache_is() {
    for encoding in STREAMS {
        let raw = sample(2 << 20);
        let image = Arc::new(Four { raw, encoding });
        let cache = BlockCache::new(9 << 20, 2 << 20);
        cache.decode_ahead(Some(Arc::downgrade(&image) as Weak<dyn NextBlocks>));
        // full of what others read
        let fill = || {
            for key in 10..30 {
                read(&cache, key, 1, whole(vec![0; 2 << 20])).unwrap();
            }
        };
        fill();
        read_in_turn(&cache, &image, 0..1 << 20);
        let is_decoded = || {
            cache
                .blocks
                .cached(1)
                .is_some_and(|block| block.has(2 << 20))
        };
        assert!(soon(is_decoded), "{encoding}: {cache:?}");
        fill();
        assert!(is_decoded(), "{encoding}: evicted before it was read");
        read_in_turn(&cache, &image, 1 << 20..6 << 20);
        cache.clear();
        fill();
        assert!(cache.stats().bytes <= 9 << 20, "{cache:?}");
    }
}
