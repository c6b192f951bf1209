//! Sizes: parsing (`16M`, `1g`, `512k`) and display.

/// Parses a size in bytes: a number with an optional k, m, g or t (powers of 1024).
pub fn parse(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_lowercase();
    let shift = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => {
            return Err(format!(
                "`{text}`: the unit is one of k, m, g, t (as in 16M)"
            ));
        }
    };
    let number: u64 = digits
        .parse()
        .map_err(|_| format!("`{text}` is not a size (as in 16M)"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("`{text}` is more than 64 bits hold"))
}

/// Formats a size with three digits and a decimal unit.
pub fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            let digits = if unit == "B" || value >= 99.95 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.0} PB")
}

/// Formats a size as `ls -h` does: up to three digits, rounded up, with a unit of 1024.
pub fn short(bytes: u64) -> String {
    if bytes < 1024 {
        return bytes.to_string();
    }
    let (mut shift, mut unit) = (10, "K");
    for (further, letter) in [(20, "M"), (30, "G"), (40, "T"), (50, "P"), (60, "E")] {
        // what would be rounded up to 1024 has the next unit
        if bytes > 1023 << (further - 10) {
            (shift, unit) = (further, letter);
        }
    }
    let tenths = (u128::from(bytes) * 10).div_ceil(1 << shift);
    if tenths < 100 {
        return format!("{}.{}{unit}", tenths / 10, tenths % 10);
    }
    format!("{}{unit}", bytes.div_ceil(1 << shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(parse("4096"), Ok(4096));
        assert_eq!(parse("16M"), Ok(16 << 20));
        assert_eq!(parse("1GiB"), Ok(1 << 30));
        assert_eq!(parse("2kb"), Ok(2048));
        for wrong in ["", "M", "12x", "-1", "1.5M", "99999999999G"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shown() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (35_812_345, "35.8 MB"),
            (999_600, "1.00 MB"),
        ] {
            assert_eq!(human(bytes), text);
        }
    }

    #[test]
    fn short_as_ls_shows_them() {
        // by `truncate -s N f; ls -sh --apparent-size f` of coreutils 9.1
        for (bytes, text) in [
            (0, "0"),
            (1023, "1023"),
            (1024, "1.0K"),
            (1025, "1.1K"),
            (10_137, "9.9K"),
            (10_138, "10K"),
            (1_047_552, "1023K"),
            (1_047_553, "1.0M"),
            (1 << 60, "1.0E"),
        ] {
            assert_eq!(short(bytes), text, "{bytes}");
        }
    }
}
