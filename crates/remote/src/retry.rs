//! Trying again what may pass: with jitter, the server's own wishes, a deadline.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::{Cause, Failure};

/// The first wait between two tries; each further one is twice as long, up to the last.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LAST_WAIT: Duration = Duration::from_secs(10);

/// When work has to be done. A request that makes progress gets more time.
#[derive(Debug)]
pub(crate) struct Deadline(Mutex<Instant>);

impl Deadline {
    pub(crate) fn new(at: Instant) -> Self {
        Self(Mutex::new(at))
    }

    fn at(&self) -> MutexGuard<'_, Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Allows at least this much time from now on.
    pub(crate) fn extend(&self, more: Duration) {
        let mut at = self.at();
        *at = (*at).max(Instant::now() + more);
    }

    /// Does something unless the deadline comes first.
    async fn within<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            let at = *self.at();
            match timeout_at(at, &mut work).await {
                Ok(done) => return Some(done),
                Err(_) if *self.at() > at => {}
                Err(_) => return None,
            }
        }
    }
}

/// Does something until it succeeds, fails for good, or the deadline comes.
pub(crate) async fn until<T, F: Future<Output = Result<T, Failure>>>(
    deadline: Instant,
    once: impl FnMut() -> F,
) -> Result<T, Failure> {
    within(&Deadline::new(deadline), once).await
}

/// Does the same, with a deadline that progress may put off.
pub(crate) async fn within<T, F: Future<Output = Result<T, Failure>>>(
    deadline: &Deadline,
    mut once: impl FnMut() -> F,
) -> Result<T, Failure> {
    let (mut tries, mut wait) = (1_u32, FIRST_WAIT);
    let mut earlier = None;
    loop {
        let begin = *deadline.at();
        let failure = match deadline.within(once()).await {
            Some(Ok(done)) => return Ok(done),
            Some(Err(failure)) => failure,
            // why the tries before it failed says more than that the last one was cut short
            None => earlier.unwrap_or_else(|| Failure::temporary("the answer takes too long")),
        };
        let Cause::Temporary(after) = failure.cause else {
            return Err(failure);
        };
        if *deadline.at() > begin {
            // some of it has come
            wait = FIRST_WAIT;
        }
        let pause = after.unwrap_or_default().max(jittered(wait));
        if Instant::now() + pause >= *deadline.at() {
            let times = if tries == 1 { "try" } else { "tries" };
            let what = format!("{} (after {tries} {times})", failure.what);
            return Err(Failure::new(Cause::Final, what));
        }
        sleep(pause).await;
        wait = wait.saturating_mul(2).min(LAST_WAIT);
        tries = tries.saturating_add(1);
        earlier = Some(failure);
    }
}

/// Waits once after a failure that may pass; after the deadline it is final.
pub(crate) async fn pause(failure: &Failure, deadline: Instant) -> Result<(), Failure> {
    let after = match failure.cause {
        Cause::Temporary(after) => after.unwrap_or_default().max(jittered(FIRST_WAIT)),
        _ => Duration::ZERO,
    };
    if Instant::now() + after >= deadline {
        return Err(Failure::new(Cause::Final, failure.what.clone()));
    }
    sleep(after).await;
    Ok(())
}

/// Returns a time between a half and the whole, so that many clients do not come back at once.
pub(crate) fn jittered(wait: Duration) -> Duration {
    // seeded by the system for each value
    let random = RandomState::new().hash_one(0_u8) % 512;
    let part = u32::try_from(random).unwrap_or(0).saturating_add(512);
    wait.saturating_mul(part) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_that_the_deadline_cuts_does_not_hide_why_the_others_failed() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let mut tries = 0;
        let ended = runtime.unwrap().block_on(async {
            let deadline = Instant::now() + Duration::from_millis(300);
            until(deadline, || {
                tries += 1;
                let first = tries == 1;
                async move {
                    if !first {
                        sleep(Duration::from_secs(60)).await;
                    }
                    Err::<(), _>(Failure::temporary("no route"))
                }
            })
            .await
        });
        assert_eq!(ended.unwrap_err().what, "no route (after 2 tries)");
    }
}
