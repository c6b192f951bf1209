//! Trying again what may pass: with jitter, the server's own wishes, a deadline.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::failure::{Cause, Failure};

/// The first wait between two tries; each further one is twice as long, up to the last.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LAST_WAIT: Duration = Duration::from_secs(10);

/// Does something until it succeeds, fails for good, or the deadline comes.
pub(crate) async fn until<T, F: Future<Output = Result<T, Failure>>>(
    deadline: Instant,
    mut once: impl FnMut() -> F,
) -> Result<T, Failure> {
    let (mut tries, mut wait) = (1_u32, FIRST_WAIT);
    let mut earlier = None;
    loop {
        let failure = match timeout_at(deadline, once()).await {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(failure)) => failure,
            // why the tries before it failed says more than that the last one was cut short
            Err(_) => earlier.unwrap_or_else(|| Failure::temporary("the answer takes too long")),
        };
        let Cause::Temporary(after) = failure.cause else {
            return Err(failure);
        };
        let pause = after.unwrap_or_default().max(jittered(wait));
        if Instant::now() + pause >= deadline {
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
fn jittered(wait: Duration) -> Duration {
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
