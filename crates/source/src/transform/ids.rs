//! Maps of owners and groups: ranges of ids that are replaced by other ranges.
//!
//! Enters `FROM:TO[:COUNT]`; leaves an id for an id. **Invariant:** the first range that contains
//! an id decides; an id in no range is kept.

use sinterfs_model::{Error, Result};

/// A map of owners or of groups.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IdMap {
    ranges: Vec<Range>,
}

/// Maps `count` ids from `from` on to those from `to` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    from: u32,
    to: u32,
    count: u32,
}

impl IdMap {
    /// Parses ranges in order of precedence.
    ///
    /// # Errors
    /// `Invalid` for anything but a range of ids below 2^32 - 1.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self> {
        let ranges = texts.into_iter().map(|text| range(text.as_ref()));
        Ok(Self {
            ranges: ranges.collect::<Result<_>>()?,
        })
    }

    /// Returns whether the map is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Returns the id that an id is mapped to.
    pub fn apply(&self, id: u32) -> u32 {
        let held = self.ranges.iter().find_map(|range| {
            let beyond = id.checked_sub(range.from)?;
            let held = beyond < range.count;
            held.then(|| range.to.saturating_add(beyond))
        });
        held.unwrap_or(id)
    }
}

fn range(text: &str) -> Result<Range> {
    let wrong = || {
        let what = "a map is FROM:TO or FROM:TO:COUNT, of numbers below 4294967295";
        Error::invalid(format!("`{text}`: {what}"))
    };
    let numbers = text.split(':').map(|part| match part.as_bytes() {
        // `parse` takes a sign, too
        [b'0'..=b'9', ..] => part.parse::<u32>().map_err(|_| wrong()),
        _ => Err(wrong()),
    });
    let numbers = numbers.collect::<Result<Vec<u32>>>()?;
    let (from, to, count) = match *numbers {
        [from, to] => (from, to, 1),
        [from, to, count] if count > 0 => (from, to, count),
        _ => return Err(wrong()),
    };
    let fits = |first: u32| first.checked_add(count).is_some();
    if fits(from) && fits(to) {
        Ok(Range { from, to, count })
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_range_that_holds_a_number_decides() {
        let map = IdMap::parse(["0:100000:1000", "5:7", "4294967294:3"]).unwrap();
        let of = |ids: &[u32]| ids.iter().map(|&id| map.apply(id)).collect::<Vec<_>>();
        assert_eq!(of(&[0, 5, 999]), [100_000, 100_005, 100_999]);
        assert_eq!(of(&[1000, 4_294_967_294, u32::MAX]), [1000, 3, u32::MAX]);
        assert!(IdMap::parse(Vec::<String>::new()).unwrap().is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        let most = "0:4294967295";
        for wrong in [
            "",
            "1",
            "1:",
            ":1",
            "a:1",
            "1:2:0",
            "1:2:3:4",
            "+1:2",
            most,
            "1:2:4294967295",
        ] {
            assert!(IdMap::parse([wrong]).is_err(), "{wrong}");
        }
    }
}
