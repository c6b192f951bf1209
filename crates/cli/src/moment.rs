//! Points in time as people write them: dates in UTC, seconds since 1970, and ages.

use std::time::{SystemTime, UNIX_EPOCH};

/// Parses a time to seconds since 1970: `2024-01-31`, `2024-01-31 12:00`, `@1700000000`, or an age
/// before now, as `7d`.
pub fn parse(text: &str) -> Result<i64, String> {
    let invalid = || {
        format!(
            "`{text}` is not a time: expected 2024-01-31, 2024-01-31 12:00, @SECONDS or an age \
             such as 7d"
        )
    };
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.parse().map_err(|_| invalid());
    }
    if let Some(age) = age(text) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = since.map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        return Ok(now.saturating_sub(age));
    }
    date_and_time(text).ok_or_else(invalid)
}

/// Parses a number with a unit of time to seconds.
fn age(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "s" => 1,
        "min" => 60,
        "h" => 3600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return None,
    };
    digits.parse::<u32>().ok().map(|n| i64::from(n) * unit)
}

fn date_and_time(text: &str) -> Option<i64> {
    let (date, time) = text.split_once([' ', 'T']).unwrap_or((text, "00:00"));
    let mut parts = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    );
    let mut clock = time
        .trim_end_matches('Z')
        .splitn(3, ':')
        .map(str::parse::<i64>);
    let (hour, minute) = (clock.next()?.ok()?, clock.next()?.ok()?);
    let second = clock.next().map_or(Some(0), Result::ok)?;
    let is_date = (1..=9999).contains(&year) && (1..=12).contains(&month);
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute);
    if !is_date || !is_time || !(0..=60).contains(&second) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days(year, month, day);
    // a day that its month does not have is one of the next month
    let (_, same_month, _) = crate::calendar::date(days);
    (same_month == month).then_some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Returns the days since 1970 of a date: the reverse of [`crate::calendar::date`].
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_parsed() {
        // by `date -u -d TEXT +%s` of coreutils
        for (text, seconds) in [
            ("1970-01-01", 0),
            ("2024-02-29", 1_709_164_800),
            ("2023-11-14 22:13", 1_699_999_980),
            ("2023-11-14T22:13:20Z", 1_700_000_000),
            ("1901-12-13 20:45:52", -2_147_483_648),
            ("@-5", -5),
        ] {
            assert_eq!(parse(text), Ok(seconds), "{text}");
        }
        for wrong in [
            "",
            "now",
            "2023-02-29",
            "2023-13-01",
            "2023-01-01 24:00",
            "7x",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let hour = parse("1h").unwrap() - parse("2h").unwrap();
        assert!((3599..=3601).contains(&hour));
    }
}
