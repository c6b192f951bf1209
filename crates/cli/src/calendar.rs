//! Seconds since 1970 as a date in UTC; proleptic Gregorian, so any 64-bit time has one.

/// Shows a time as `YYYY-MM-DD hh:mm`.
pub fn utc(secs: i64) -> String {
    let (days, rest) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}",
        rest / 3600,
        rest / 60 % 60
    )
}

/// Shows a time as `YYYY-MM-DD hh:mm:ss`.
pub fn utc_seconds(secs: i64) -> String {
    format!("{}:{:02}", utc(secs), secs.rem_euclid(60))
}

/// Shows a time as ctime(3) does.
pub fn ctime(secs: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (days, rest) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let name = |names: &[&'static str], index: i64| {
        let index = usize::try_from(index).unwrap_or(0);
        names.get(index).copied().unwrap_or_default()
    };
    let (hours, minutes, seconds) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!(
        "{} {} {day:>2} {hours:02}:{minutes:02}:{seconds:02} {year}",
        name(&DAYS, days.rem_euclid(7)),
        name(&MONTHS, month - 1),
    )
}

/// Turns days since 1970 into year, month and day: years are counted from March, so that a leap
/// day ends its year, in eras of 400 years of 146097 days.
pub fn date(days: i64) -> (i64, i64, i64) {
    let since_year_0 = days.saturating_add(719_468);
    let era = since_year_0.div_euclid(146_097);
    let day_of_era = since_year_0.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{ctime, utc};

    #[test]
    fn dates() {
        for (secs, shown) in [
            (0, "1970-01-01 00:00"),
            (-1, "1969-12-31 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_700_000_000, "2023-11-14 22:13"),
            (4_294_967_295, "2106-02-07 06:28"),
            (-2_147_483_648, "1901-12-13 20:45"),
        ] {
            assert_eq!(utc(secs), shown);
        }
        assert_eq!(ctime(951_782_461), "Tue Feb 29 00:01:01 2000");
        utc(i64::MAX);
        utc(i64::MIN);
    }
}
