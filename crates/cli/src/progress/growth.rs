//! How the share that is done grows from one moment to the next.
//!
//! In: the estimates of each moment. Out: what is shown. **Invariant:** the share never shrinks,
//! and while it stands still no time is estimated: it would only grow, second by second.

use super::overall::Overall;

/// Seconds without growth after which an estimate is not shown.
const STILL: f64 = 2.0;

/// The largest share so far, and when it was reached.
#[derive(Debug, Default)]
pub struct Growth {
    share: f64,
    seconds: f64,
}

impl Growth {
    /// Adapts the estimates of a moment, in seconds since the start.
    pub fn apply(&mut self, overall: &mut Overall, seconds: f64) {
        let Some(share) = overall.share else {
            return;
        };
        if share > self.share {
            (self.share, self.seconds) = (share, seconds);
        }
        overall.share = Some(self.share);
        if seconds - self.seconds > STILL {
            overall.left = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use sinterfs::model::Stage;

    use super::*;

    #[test]
    fn the_share_never_shrinks_and_no_estimate_grows_while_it_stands_still() {
        let mut growth = Growth::default();
        let mut shown = |share, seconds| {
            let mut overall = Overall {
                stage: Stage::Compress,
                share,
                left: Some(seconds),
            };
            growth.apply(&mut overall, seconds);
            (overall.share, overall.left)
        };
        assert_eq!(shown(None, 0.5), (None, Some(0.5)));
        assert_eq!(shown(Some(0.2), 4.0), (Some(0.2), Some(4.0)));
        assert_eq!(shown(Some(0.1), 5.0), (Some(0.2), Some(5.0)));
        assert_eq!(shown(Some(0.2), 6.5), (Some(0.2), None));
        assert_eq!(shown(Some(0.2), 60.0), (Some(0.2), None));
        assert_eq!(shown(Some(0.3), 61.0), (Some(0.3), Some(61.0)));
    }
}
