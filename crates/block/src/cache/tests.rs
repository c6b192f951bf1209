//! The cache under one reader and under many.

use std::sync::Barrier;
use std::sync::atomic::AtomicUsize;
use std::thread;
use std::time::Duration;

use model::Kind;

use super::*;

#[test]
fn a_block_is_decoded_once() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    for _ in 0..3 {
        let block = cache.get_or_decode(7, || Ok(vec![1, 2, 3])).unwrap();
        assert_eq!(*block, [1, 2, 3]);
    }
    assert_eq!(
        cache.stats(),
        CacheStats {
            hits: 2,
            misses: 1,
            bytes: 3
        }
    );
    assert!(cache.get(8).is_none());
    cache.clear();
    assert!(cache.get(7).is_none());
    assert_eq!(cache.stats().bytes, 0);
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
                let block = cache.get_or_decode(1, || {
                    decodes.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(Duration::from_millis(50));
                    Ok(vec![9; 100])
                });
                assert_eq!(*block.unwrap(), [9; 100]);
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
            let error = cache.get_or_decode(1, || {
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
                let error = cache.get_or_decode(1, || {
                    decodes.fetch_add(1, Ordering::Relaxed);
                    Ok(Vec::new())
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
    assert!(cache.get(1).is_none());
    assert_eq!(*cache.get_or_decode(1, || Ok(vec![5])).unwrap(), [5]);
}

#[test]
fn a_panicking_decode_does_not_block_the_key() {
    let cache = BlockCache::new(1 << 20, 1 << 10);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = cache.get_or_decode(1, || panic!("expected by this test"));
    }));
    assert!(panicked.is_err());
    assert_eq!(*cache.get_or_decode(1, || Ok(vec![5])).unwrap(), [5]);
}

#[test]
fn a_block_above_the_capacity_is_served_but_not_kept() {
    for capacity in [0, 10] {
        let cache = BlockCache::new(capacity, 1 << 10);
        for _ in 0..2 {
            assert_eq!(
                cache.get_or_decode(1, || Ok(vec![0; 1000])).unwrap().len(),
                1000
            );
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
        cache.get_or_decode(key, || Ok(vec![0; 1_000])).unwrap();
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
            cache.get_or_decode(key, || Ok(vec![0; 1 << 20])).unwrap();
        }
    }
    assert_eq!(cache.stats().misses, 4);
}

#[test]
fn an_operating_system_error_keeps_its_number() {
    let error = Error::io("cannot read", std::io::Error::from_raw_os_error(5)).path("/x");
    let copied = copy(&error);
    assert_eq!(copied.io_source().unwrap().raw_os_error(), Some(5));
    assert_eq!(copied.to_string(), error.to_string());
}
