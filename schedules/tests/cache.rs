//! The block cache: whatever the order of its threads' steps, readers get the bytes of the block or
//! its error, nothing is opened or decoded twice, and the memory that is counted is the memory that
//! is in use.

use std::sync::Arc;

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::thread;
use sinterfs_model::{Error, Result};
use sinterfs_schedules::cache::{BlockCache, Need, NextBlocks, Opened};
use sinterfs_schedules::codec::{Decoder, DecoderPlan, STEP};

/// Bytes of a block: four steps, the last of them short.
const LEN: usize = 3 * STEP + 5;

/// Tries orders: at random, and such that a few changes of priority matter (PCT).
fn in_many_orders(work: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(work, 1000);
    shuttle::check_pct(work, 1000, 3);
}

fn content(key: u128) -> Vec<u8> {
    (0..LEN).map(|at| at as u8 ^ (key as u8) << 6).collect()
}

fn plan(key: u128) -> DecoderPlan {
    DecoderPlan {
        content: content(key),
        fails_at: None,
        is_heavy: false,
        steps: shuttle::sync::Arc::default(),
    }
}

fn encoded(plan: DecoderPlan) -> Result<Opened> {
    // others may run meanwhile
    plan.steps.load(Ordering::SeqCst);
    Ok(Opened::Encoded(Box::new(Decoder::new(plan))))
}

/// Reads a range and compares it.
fn read(
    cache: &BlockCache,
    key: u128,
    range: std::ops::Range<usize>,
    open: impl FnOnce() -> Result<Opened>,
) -> Result<()> {
    let mut buf = vec![0xee; range.len()];
    cache.read(key, range.start as u64, &mut buf, open)?;
    assert_eq!(buf, content(key)[range], "other bytes");
    Ok(())
}

/// Waits for what another thread does.
fn wait_for(is_so: impl Fn() -> bool) {
    let mut tries = 0;
    while !is_so() {
        tries += 1;
        assert!(tries < 10_000, "it never happens");
        thread::yield_now();
    }
}

#[test]
fn readers_of_a_missing_block_share_one_decode() {
    in_many_orders(|| {
        let cache = BlockCache::new(1 << 20, LEN as u64);
        let (plan, opens) = (plan(1), AtomicUsize::new(0));
        thread::scope(|scope| {
            for range in [0..5, 12..LEN, 3..25] {
                let (cache, plan, opens) = (&cache, &plan, &opens);
                scope.spawn(move || {
                    let open = || {
                        opens.fetch_add(1, Ordering::SeqCst);
                        encoded(plan.clone())
                    };
                    read(cache, 1, range, open).unwrap();
                });
            }
        });
        assert_eq!(opens.load(Ordering::SeqCst), 1);
        assert_eq!(plan.steps.load(Ordering::SeqCst), 4);
        let stats = cache.stats();
        assert_eq!(stats.hits + stats.misses, 3);
        assert_eq!(stats.bytes, LEN as u64, "the memory of the finished block");
    });
}

#[test]
fn a_failed_step_fails_the_reads_behind_it_and_no_others() {
    in_many_orders(|| {
        let cache = BlockCache::new(1 << 20, LEN as u64);
        let failing = DecoderPlan {
            fails_at: Some(2),
            ..plan(1)
        };
        thread::scope(|scope| {
            for (range, is_readable) in [(0..20, true), (15..30, false), (2..5, true)] {
                let (cache, failing) = (&cache, &failing);
                scope.spawn(move || {
                    let found = read(cache, 1, range, || encoded(failing.clone()));
                    assert_eq!(found.is_ok(), is_readable);
                });
            }
        });
        // who read before the damage may have opened the block again
        let last = read(&cache, 1, 0..LEN, || encoded(plan(1)));
        if last.is_err() {
            read(&cache, 1, 0..LEN, || encoded(plan(1))).unwrap();
        }
    });
}

#[test]
fn a_block_that_cannot_be_opened_is_tried_again() {
    in_many_orders(|| {
        let cache = BlockCache::new(1 << 20, LEN as u64);
        let (opens, failures) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..3 {
                let (cache, opens, failures) = (&cache, &opens, &failures);
                scope.spawn(move || {
                    let open = || match opens.fetch_add(1, Ordering::SeqCst) {
                        0 => {
                            thread::yield_now();
                            Err(Error::corrupt("not at first"))
                        }
                        _ => encoded(plan(1)),
                    };
                    let found = read(cache, 1, 0..LEN, open);
                    failures.fetch_add(usize::from(found.is_err()), Ordering::SeqCst);
                });
            }
        });
        assert!(failures.load(Ordering::SeqCst) > 0);
        read(&cache, 1, 0..LEN, || encoded(plan(1))).unwrap();
        let opens = opens.load(Ordering::SeqCst);
        assert!(opens <= 2, "{opens} times opened");
    });
}

#[test]
fn eviction_disturbs_no_reader_and_leaves_nothing_counted() {
    in_many_orders(|| {
        let cache = BlockCache::new(1 << 20, LEN as u64);
        thread::scope(|scope| {
            for heavy in [false, true] {
                let cache = &cache;
                scope.spawn(move || {
                    for at in [0, 11, 25] {
                        let plan = DecoderPlan {
                            is_heavy: heavy,
                            ..plan(1)
                        };
                        read(cache, 1, at..at + 8, || encoded(plan)).unwrap();
                    }
                });
            }
            let cache = &cache;
            scope.spawn(move || {
                cache.clear();
                cache.set_capacity(0);
                cache.forget(1);
                cache.set_capacity(1 << 20);
            });
        });
        // a thread that finishes the block in the background counts nothing either
        cache.clear();
        for _ in 0..40 {
            thread::yield_now();
        }
        assert_eq!(cache.stats().bytes, 0);
    });
}

#[test]
fn a_heavy_block_is_finished_and_counted_as_finished() {
    in_many_orders(|| {
        let cache = BlockCache::new(1 << 20, LEN as u64);
        let plan = DecoderPlan {
            is_heavy: true,
            ..plan(1)
        };
        thread::scope(|scope| {
            for range in [0..5, 20..30] {
                let (cache, plan) = (&cache, &plan);
                scope.spawn(move || read(cache, 1, range, || encoded(plan.clone())).unwrap());
            }
        });
        wait_for(|| plan.steps.load(Ordering::SeqCst) == 4);
        wait_for(|| cache.stats().bytes == LEN as u64);
        for _ in 0..40 {
            thread::yield_now();
        }
        assert_eq!(cache.stats().bytes, LEN as u64);
    });
}

/// An image of four blocks that counts how often each is opened.
struct Four([AtomicUsize; 4]);

impl Four {
    /// Makes an image whose blocks a cache decodes ahead.
    fn decoded_ahead(cache: &BlockCache) -> Arc<Self> {
        let image = Arc::new(Self(std::array::from_fn(|_| AtomicUsize::new(0))));
        let ahead: Arc<dyn NextBlocks> = image.clone();
        cache.decode_ahead(Some(Arc::downgrade(&ahead)));
        image
    }

    /// Returns how often each block was opened.
    fn opens(&self) -> Vec<usize> {
        let opens = self.0.iter().map(|opens| opens.load(Ordering::SeqCst));
        opens.collect()
    }
}

impl NextBlocks for Four {
    fn next(&self, key: u128) -> Option<u128> {
        Some((key + 1) % 4)
    }

    fn open(&self, key: u128) -> Result<Opened> {
        self.0[key as usize].fetch_add(1, Ordering::SeqCst);
        encoded(plan(key))
    }

    fn block_size(&self) -> u64 {
        LEN as u64
    }
}

/// Two threads read four blocks while others decode ahead of them.
fn read_ahead(capacity: usize) -> Vec<usize> {
    let cache = BlockCache::new(capacity as u64, LEN as u64);
    let image = Four::decoded_ahead(&cache);
    thread::scope(|scope| {
        for first in [0, 2] {
            let (cache, image) = (&cache, &image);
            scope.spawn(move || {
                for key in 0..4_u128 {
                    let key = (key + first) % 4;
                    read(cache, key, 5..15, || image.open(key)).unwrap();
                    read(cache, key, 0..LEN, || image.open(key)).unwrap();
                }
            });
        }
    });
    assert!(cache.stats().bytes <= capacity as u64);
    image.opens()
}

#[test]
fn decoding_ahead_opens_no_block_twice() {
    in_many_orders(|| assert_eq!(read_ahead(1 << 20), [1; 4]));
}

#[test]
fn decoding_ahead_with_little_room_gives_the_bytes() {
    in_many_orders(|| assert!(read_ahead(LEN * 2).iter().all(|opens| *opens > 0)));
}

/// Two threads read a file each in turn, whose blocks are prepared meanwhile.
fn read_in_turn(capacity: usize) -> Vec<usize> {
    const UNIT: u64 = 256 << 10;
    let cache = BlockCache::new(capacity as u64, LEN as u64);
    let image = Four::decoded_ahead(&cache);
    thread::scope(|scope| {
        for first in [0, 2] {
            let (cache, image) = (&cache, &image);
            scope.spawn(move || {
                // each block is a unit of the file, the first one two of them
                for (at, key) in [0, 0, 1, 2, 3]
                    .map(|key| (key + first) % 4)
                    .iter()
                    .enumerate()
                {
                    let needs = |_| {
                        let left = (at.saturating_sub(1) as u128)..4;
                        left.map(|block| Need {
                            key: (block + first) % 4,
                            end: LEN as u64,
                        })
                        .collect()
                    };
                    cache.before_read(first, at as u64 * UNIT, UNIT, needs);
                    read(cache, *key, 0..LEN, || image.open(*key)).unwrap();
                }
            });
        }
    });
    // what is prepared is not evicted, and may be all that is
    wait_for(|| cache.stats().bytes <= capacity as u64);
    image.opens()
}

#[test]
fn what_is_prepared_for_readers_in_turn_is_opened_once() {
    in_many_orders(|| assert_eq!(read_in_turn(1 << 20), [1; 4]));
}

#[test]
fn preparing_with_little_room_gives_the_bytes() {
    in_many_orders(|| assert!(read_in_turn(LEN * 4).iter().all(|opens| *opens > 0)));
}
