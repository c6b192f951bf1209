//! Permits: whatever the order of the threads' steps, memory stays within its capacity, no thread
//! waits for ever, and every permit comes back.

use shuttle::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use shuttle::thread;
use sinterfs_schedules::permits::WorkerPermits;

fn in_many_orders(work: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(work, 1000);
    shuttle::check_pct(work, 1000, 3);
}

#[test]
fn reserved_memory_stays_within_the_capacity() {
    in_many_orders(|| {
        let permits = WorkerPermits::new(0, 10);
        let used = AtomicU64::new(0);
        thread::scope(|scope| {
            // 15 stands for the whole capacity
            for lens in [[6, 1], [3, 15], [10, 4], [1, 5]] {
                let (permits, used) = (&permits, &used);
                scope.spawn(move || {
                    for len in lens {
                        let permit = permits.reserve_memory(len);
                        let before = used.fetch_add(len.min(10), Ordering::SeqCst);
                        assert!(before + len.min(10) <= 10, "more than there is");
                        used.fetch_sub(len.min(10), Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        drop(permits.reserve_memory(10));
        // who waited is not counted as idle any more
        assert!(permits.try_take().is_none());
    });
}

#[test]
fn helpers_run_only_in_place_of_idle_workers() {
    in_many_orders(|| {
        let permits = WorkerPermits::new(0, 0);
        let (may_go_on, is_back) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let (permits, may_go_on, is_back) = (&permits, &may_go_on, &is_back);
            scope.spawn(move || {
                permits.while_idle(|| {
                    while !may_go_on.load(Ordering::SeqCst) {
                        thread::yield_now();
                    }
                });
                is_back.store(true, Ordering::SeqCst);
            });
            scope.spawn(move || {
                let permit = loop {
                    match permits.try_take() {
                        Some(permit) => break permit,
                        None => thread::yield_now(),
                    }
                };
                // one worker is idle: there is no second permit
                assert!(permits.try_take().is_none());
                may_go_on.store(true, Ordering::SeqCst);
                while !is_back.load(Ordering::SeqCst) {
                    thread::yield_now();
                }
                assert!(permit.is_recalled());
            });
        });
        assert!(permits.try_take().is_none());
    });
}
