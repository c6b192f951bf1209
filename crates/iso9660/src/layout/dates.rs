//! Dates of 7 and of 17 bytes.
//!
//! In: bytes. Out: hundredths of seconds since 1970 in UTC; `None` for a date that is not set.
//! ECMA-119, sections 8.4.26.1 and 9.1.5.

/// Hundredths in a second.
const HUNDREDTHS: i64 = 100;

/// Seconds in the unit of time zones, a quarter of an hour.
const QUARTER: i64 = 900;

/// A date of 7 bytes: years since 1900, month, day, hour, minute, second, time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShortDate(pub [u8; 7]);

impl ShortDate {
    /// Returns the time in hundredths of seconds since 1970.
    pub fn hundredths(self) -> Option<i64> {
        let [year, month, day, hour, minute, second, zone] = self.0;
        let time = [hour, minute, second].map(i64::from);
        let days = days(1900 + i64::from(year), month.into(), day.into())?;
        Some(seconds(days, time, zone) * HUNDREDTHS)
    }

    /// Encodes a time in seconds since 1970, in UTC; `None` for one before 1900 or after 2155.
    pub fn from_seconds(seconds: i64) -> Option<Self> {
        let (year, month, day) = date(seconds.div_euclid(86400));
        let year = u8::try_from(year - 1900).ok()?;
        let [hour, minute, second] = clock(seconds);
        Some(Self([year, month, day, hour, minute, second, 0]))
    }
}

/// A date of 17 bytes: digits of year, month, day, hour, minute, second and hundredths, time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongDate(pub [u8; 17]);

impl LongDate {
    /// The date that means none.
    pub const NONE: Self = Self(*b"0000000000000000\0");

    /// Makes the date of digits in UTC.
    pub fn in_utc(digits: [u8; 16]) -> Self {
        let mut bytes = Self::NONE.0;
        for (to, from) in bytes.iter_mut().zip(digits) {
            *to = from;
        }
        Self(bytes)
    }

    /// Returns whether digits are a date in UTC.
    pub fn is_date(digits: &[u8; 16]) -> bool {
        let is_time = |at: usize, most: &[u8; 2]| digits.get(at..at + 2) <= Some(most);
        digits.iter().all(u8::is_ascii_digit)
            && [(8, b"23"), (10, b"59"), (12, b"60")]
                .iter()
                .all(|(at, most)| is_time(*at, most))
            && Self::in_utc(*digits).hundredths().is_some()
    }

    /// Returns the time in hundredths of seconds since 1970.
    pub fn hundredths(self) -> Option<i64> {
        let (digits, zone) = self.0.split_at(16);
        let number = |from: usize, count: usize| {
            let text = digits.get(from..from + count)?;
            let text = std::str::from_utf8(text).ok()?;
            text.parse::<u16>().ok().map(i64::from)
        };
        let (year, month, day) = (number(0, 4)?, number(4, 2)?, number(6, 2)?);
        let time = [number(8, 2)?, number(10, 2)?, number(12, 2)?];
        let days = days(year, month, day)?;
        let zone = zone.first().copied().unwrap_or(0);
        Some(seconds(days, time, zone) * HUNDREDTHS + number(14, 2)?)
    }

    /// Encodes a time in seconds since 1970, in UTC; none for one before year 1 or after 9999.
    pub fn from_seconds(seconds: i64) -> Self {
        let (year, month, day) = date(seconds.div_euclid(86400));
        if !(1..=9999).contains(&year) {
            return Self::NONE;
        }
        let [hour, minute, second] = clock(seconds);
        let text = format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}00\0");
        let found = text.as_bytes().first_chunk::<17>();
        found.map_or(Self::NONE, |bytes| Self(*bytes))
    }
}

/// Counts the days from 1970 to a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // years begin in March here, so that a leap day is the last day of one
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Returns year, month and day of a number of days since 1970.
fn date(days: i64) -> (i64, u8, u8) {
    let days = days.saturating_add(719_468);
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let small = |number: i64| u8::try_from(number).unwrap_or(1);
    (year, small(month), small(day))
}

fn clock(seconds: i64) -> [u8; 3] {
    let of_day = seconds.rem_euclid(86400);
    [of_day / 3600, of_day / 60 % 60, of_day % 60].map(|part| u8::try_from(part).unwrap_or(0))
}

fn seconds(days: i64, [hour, minute, second]: [i64; 3], zone: u8) -> i64 {
    // treat UTC offsets beyond +-13 h as unset
    let zone = i64::from(zone.cast_signed());
    let zone = if (-52..=52).contains(&zone) { zone } else { 0 };
    days * 86400 + hour * 3600 + minute * 60 + second - zone * QUARTER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_round_trip() {
        let known = [
            (0, "1970010100000000"),
            (951_782_399, "2000022823595900"),
            (951_782_400, "2000022900000000"),
            (1_700_000_000, "2023111422132000"),
            (-1, "1969123123595900"),
            (5_869_583_999, "2155123123595900"),
        ];
        for (seconds, text) in known {
            let long = LongDate::from_seconds(seconds);
            assert_eq!(&long.0[..16], text.as_bytes());
            assert_eq!(long.hundredths(), Some(seconds * 100));
            let short = ShortDate::from_seconds(seconds).unwrap();
            assert_eq!(short.hundredths(), Some(seconds * 100), "{text}");
        }
        assert_eq!(ShortDate::from_seconds(5_869_584_000), None);
        assert_eq!(ShortDate::from_seconds(-2_208_988_801), None);
        assert_eq!(ShortDate([0; 7]).hundredths(), None);
        assert_eq!(LongDate::NONE.hundredths(), None);
        assert_eq!(LongDate([b'x'; 17]).hundredths(), None);
        assert!(LongDate::is_date(b"2023111422132055"));
        for wrong in [
            b"2023131422132055",
            b"2023111424132055",
            b"20231114 2132055",
        ] {
            assert!(!LongDate::is_date(wrong));
        }
        // two hours east of Greenwich
        let east = ShortDate([70, 1, 1, 2, 0, 0, 8]);
        assert_eq!(east.hundredths(), Some(0));
        let west = ShortDate([70, 1, 1, 0, 0, 0, 0xfc]);
        assert_eq!(west.hundredths(), Some(360_000));
        let nowhere = ShortDate([70, 1, 1, 0, 0, 1, 0xa0]);
        assert_eq!(nowhere.hundredths(), Some(100));
    }
}
