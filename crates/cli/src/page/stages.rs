//! How long the stages took that made the image: a table, with when each was at work drawn beside
//! it.

use std::time::Duration;

use super::html::Html;
use crate::timings::{StageTime, Timings};

/// Shows the stages of the run.
pub fn all(html: &mut Html, timings: &Timings) {
    html.heading("How long it took");
    html.table("The stages of this run, which work at the same time where their bars overlap.");
    html.head(&["Stage", "-From", "-To", "-Time", ""]);
    let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    for StageTime { name, from, to } in &timings.stages {
        let wall = to.saturating_sub(*from);
        let [from_text, to_text, wall] = [*from, *to, wall].map(seconds);
        html.span(
            &[name, &from_text, &to_text, &wall],
            [nanos(*from), nanos(*to)],
            nanos(timings.wall),
        );
    }
    html.row(&["all", "", "", &seconds(timings.wall)], None);
    html.raw("</table>\n");
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}
