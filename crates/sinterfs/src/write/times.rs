//! Times and units of time as people write them.

use sinterfs_model::{Error, Result};

/// Reads a unit of time, in nanoseconds: a number (1 if missing) and ns, us, ms, s, min or h.
pub fn resolution(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "min" => 60_000_000_000,
        "h" | "hour" => 3_600_000_000_000,
        _ => return Err(wrong(text)),
    };
    let number: u64 = if digits.is_empty() {
        1
    } else {
        digits.parse().map_err(|_| wrong(text))?
    };
    number
        .checked_mul(unit)
        .filter(|&nanos| nanos > 0)
        .ok_or_else(|| wrong(text))
}

/// Writes a unit of time, given in nanoseconds, as `resolution` reads it.
pub fn shown(nanos: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
    let &(unit, name) = unit.unwrap_or(&(1, "ns"));
    format!("{}{name}", nanos / unit)
}

fn wrong(text: &str) -> Error {
    Error::invalid(format!(
        "`{text}` is not a unit of time (as in 1ns, 100ms, 1s, 2s, 1min, 1h)"
    ))
}

#[cfg(test)]
mod tests {
    use super::{resolution, shown};

    #[test]
    fn units() {
        for (text, nanos) in [
            ("1ns", 1),
            ("ns", 1),
            ("100ms", 100_000_000),
            ("2s", 2_000_000_000),
            ("1h", 3_600_000_000_000),
        ] {
            assert_eq!(resolution(text).unwrap(), nanos);
            assert_eq!(resolution(&shown(nanos)).unwrap(), nanos);
        }
        for text in ["", "5", "0s", "1parsec", "-1s", "99999999999h", "1.5s"] {
            assert!(resolution(text).is_err(), "{text}");
        }
    }
}
