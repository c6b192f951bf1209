//! One moment of the work as a line for people, or as JSON for programs.
//!
//! **Invariant:** a line is never wider than the terminal; what matters less is left out first.

use serde_json::json;

use super::overall::Overall;
use crate::size::human;
use crate::timings;

/// The width below which there is no bar.
const BAR_FROM: usize = 70;

/// The known state at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub seconds: f64,
    pub overall: Overall,
    /// Files, blocks or entries of the stage, and how many there will be.
    pub items: (u64, u64),
    /// Bytes of the stage, and how many there will be.
    pub bytes: (u64, u64),
    /// Bytes of the image so far, and what they were before encoding.
    pub image: Option<(u64, u64)>,
    /// Bytes that are not stored since they are equal to others.
    pub saved: u64,
    pub warnings: u64,
}

impl Moment {
    /// Formats a line of at most `width` columns; the bar is drawn only `with_bar`.
    pub fn line(&self, width: usize, with_bar: bool) -> String {
        let head = self.head();
        let mut parts = vec![self.done(), self.stored(), self.saved(), Some(self.stage())];
        if width < BAR_FROM {
            // there is room for little: what is done rather than how much
            parts.rotate_right(1);
        }
        let room = width.saturating_sub(1);
        let bar = if with_bar && width >= BAR_FROM {
            self.bar(width)
        } else {
            String::new()
        };
        let mut line = format!("{bar}{head}");
        for part in parts.into_iter().flatten() {
            if line.chars().count() + 3 + part.chars().count() <= room {
                line += " | ";
                line += &part;
            }
        }
        line.chars().take(room).collect()
    }

    /// Returns the share that is done and the time: `42% 1:23 left`.
    fn head(&self) -> String {
        let share = self.overall.share;
        let percent = share.map_or("  -%".to_owned(), |share| format!("{:3.0}%", share * 100.0));
        match self.overall.left.filter(|_| self.seconds > 2.0) {
            Some(left) => format!("{percent} {} left", clock(left)),
            None => format!("{percent} {}", clock(self.seconds)),
        }
    }

    fn bar(&self, width: usize) -> String {
        let columns = (width / 5).min(30);
        let share = self.overall.share.unwrap_or(0.0);
        let full = ((columns as f64 * share) as usize).min(columns);
        format!("[{}{}] ", "#".repeat(full), "-".repeat(columns - full))
    }

    fn done(&self) -> Option<String> {
        match (self.bytes, self.items) {
            ((0, 0), (0, _)) => None,
            ((0, 0), (items, 0)) => Some(format!("{items}")),
            ((0, 0), (items, all)) => Some(format!("{items} of {all}")),
            ((bytes, 0), _) => Some(human(bytes)),
            ((bytes, all), _) => Some(format!("{} of {}", human(bytes), human(all))),
        }
    }

    fn stored(&self) -> Option<String> {
        let (stored, bytes) = self.image.filter(|(stored, _)| *stored > 0)?;
        let percent = stored as f64 * 100.0 / bytes.max(1) as f64;
        Some(format!("image {} ({percent:.0}%)", human(stored)))
    }

    fn saved(&self) -> Option<String> {
        (self.saved > 0).then(|| format!("saved {}", human(self.saved)))
    }

    fn stage(&self) -> String {
        timings::name(self.overall.stage).to_owned()
    }

    /// Formats the moment as one line of JSON.
    pub fn json(&self) -> String {
        let mut line = json!({
            "message_type": "status",
            "stage": timings::name(self.overall.stage),
            "seconds_elapsed": round(self.seconds),
            "items_done": self.items.0,
            "bytes_done": self.bytes.0,
            "warnings": self.warnings,
        });
        let mut set = |name: &str, value: Option<serde_json::Value>| {
            if let Some(value) = value {
                line[name] = value;
            }
        };
        set(
            "percent_done",
            self.overall.share.map(|share| json!(round(share))),
        );
        set(
            "seconds_remaining",
            self.overall.left.map(|left| json!(round(left))),
        );
        let known = |count: u64| (count > 0).then(|| json!(count));
        set("total_items", known(self.items.1));
        set("total_bytes", known(self.bytes.1));
        set("image_bytes", self.image.map(|(stored, _)| json!(stored)));
        set(
            "image_bytes_before_encoding",
            self.image.map(|(_, bytes)| json!(bytes)),
        );
        set("bytes_saved", known(self.saved));
        line.to_string()
    }
}

/// Rounds to thousandths.
fn round(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Formats seconds as `0:07`, `12:34` or `1:02:03`.
fn clock(seconds: f64) -> String {
    let all = seconds.round().clamp(0.0, 359_999.0) as u64;
    let (hours, minutes, seconds) = (all / 3600, all / 60 % 60, all % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use sinterfs::model::Stage;

    use super::*;

    const MOMENT: Moment = Moment {
        seconds: 20.0,
        overall: Overall {
            stage: Stage::Compress,
            share: Some(0.25),
            left: Some(83.0),
        },
        items: (1200, 64_000),
        bytes: (212_000_000, 915_000_000),
        image: Some((61_000_000, 190_000_000)),
        saved: 14_000_000,
        warnings: 0,
    };

    #[test]
    fn lines_fit_any_width() {
        let wide = "[######------------------]  25% 1:23 left | 212 MB of 915 MB | image 61.0 MB \
                    (32%) | saved 14.0 MB | compress";
        assert_eq!(MOMENT.line(120, true), wide);
        assert_eq!(
            MOMENT.line(80, true),
            "[####------------]  25% 1:23 left | 212 MB of 915 MB | image 61.0 MB (32%)"
        );
        assert_eq!(MOMENT.line(40, true), " 25% 1:23 left | compress");
        let narrow = " 25% 1:23 left | compress | 212 MB of 915 MB";
        assert_eq!(MOMENT.line(50, true), narrow);
        for width in 0..200 {
            for with_bar in [false, true] {
                assert!(MOMENT.line(width, with_bar).chars().count() <= width.saturating_sub(1));
            }
        }
    }

    #[test]
    fn json_has_a_type() {
        let line: serde_json::Value = serde_json::from_str(&MOMENT.json()).unwrap();
        assert_eq!(line["message_type"], "status");
        assert_eq!(line["percent_done"], 0.25);
        assert_eq!(line["total_bytes"], 915_000_000);
    }

    #[test]
    fn times() {
        for (seconds, text) in [
            (0.4, "0:00"),
            (59.6, "1:00"),
            (3723.0, "1:02:03"),
            (1e30, "99:59:59"),
        ] {
            assert_eq!(clock(seconds), text);
        }
    }
}
