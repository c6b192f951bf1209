//! Work in parts that idle threads share with its owner.
//!
//! In: a number of parts, and permits of idle threads. Out: the results in order. **Invariants:** a
//! result depends only on its part; all threads have ended on return; a panic in one is a panic of
//! the caller.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

use sinterfs_workers::{WorkerPermit, WorkerPermits};

/// Who helps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Helped<'a> {
    pub(super) permits: &'a WorkerPermits,
    /// The most helpers at a time, since each takes memory.
    pub(super) helpers: usize,
}

/// Calls `work` with each part from 0 on, in the caller and in the places of idle threads; each has
/// tools of its own.
pub(super) fn share<T, R: Send>(
    helped: Helped<'_>,
    parts: usize,
    tools: &mut T,
    new_tools: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let part = next.fetch_add(1, Ordering::Relaxed);
        (part < parts).then_some(part)
    };
    let help = |permit: WorkerPermit<'_>| {
        let mut tools = new_tools();
        let mut done = Vec::new();
        while !permit.is_recalled()
            && let Some(part) = take()
        {
            done.push((part, work(&mut tools, part)));
        }
        done
    };
    let mut done = Vec::with_capacity(parts);
    std::thread::scope(|scope| {
        let mut helpers: Vec<ScopedJoinHandle<'_, _>> = Vec::new();
        while let Some(part) = take() {
            let busy = helpers
                .iter()
                .filter(|helper| !helper.is_finished())
                .count();
            let most = helped.helpers.min(parts - 1 - part).saturating_sub(busy);
            helpers.extend(call(scope, helped.permits, most, &help));
            done.push((part, work(tools, part)));
        }
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    done.sort_unstable_by_key(|&(part, _)| part);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Starts threads in the places of idle ones, `most` at most.
fn call<'scope, R: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    permits: &'scope WorkerPermits,
    most: usize,
    help: &'scope (impl Fn(WorkerPermit<'scope>) -> R + Sync),
) -> Vec<ScopedJoinHandle<'scope, R>> {
    let permit = || permits.try_take();
    let start = |permit| {
        let builder = std::thread::Builder::new().name("compress".to_owned());
        // the system may refuse to start a thread: fewer do the same work
        builder.spawn_scoped(scope, move || help(permit)).ok()
    };
    std::iter::from_fn(permit)
        .take(most)
        .map_while(start)
        .collect()
}
