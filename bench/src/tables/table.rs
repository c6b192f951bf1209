//! Tables as Markdown that can be read as plain text, too, and the figures in them.

/// Lays out a table; columns of figures to the right, others to the left.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let columns: Vec<Column> = header
        .iter()
        .enumerate()
        .map(|(index, name)| Column::new(name, index, rows))
        .collect();
    let line = |cells: &[String]| {
        let cell = |index: usize| cells.get(index).map_or("", String::as_str);
        let padded = columns
            .iter()
            .enumerate()
            .map(|(index, column)| column.padded(cell(index)));
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let names: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
    let rules: Vec<String> = columns.iter().map(Column::rule).collect();
    let mut text = line(&names) + &line(&rules);
    for row in rows {
        text += &line(row);
    }
    text
}

/// How a column is laid out.
struct Column {
    width: usize,
    figures: bool,
}

impl Column {
    fn new(name: &str, index: usize, rows: &[Vec<String>]) -> Self {
        let is_figure = |cell: &String| {
            let digits = cell.trim_start_matches(['+', '-']);
            digits.is_empty() || digits.parse::<f64>().is_ok()
        };
        let cells = || rows.iter().filter_map(|row| row.get(index));
        let widths = cells().map(|cell| cell.chars().count());
        Self {
            width: widths.fold(name.chars().count().max(3), usize::max),
            figures: cells().all(is_figure),
        }
    }

    fn padded(&self, cell: &str) -> String {
        let width = self.width;
        if self.figures {
            format!("{cell:>width$}")
        } else {
            format!("{cell:<width$}")
        }
    }

    fn rule(&self) -> String {
        if self.figures {
            format!("{}:", "-".repeat(self.width - 1))
        } else {
            "-".repeat(self.width)
        }
    }
}

/// Shows a figure with three digits that matter; a dash for none.
pub fn figure(value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if value.abs() >= 99.95 => format!("{value:.0}"),
        Some(value) if value.abs() >= 9.995 => format!("{value:.1}"),
        Some(value) if value.abs() >= 0.9995 || value == 0.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

/// Shows megabytes (10^6) of bytes, small images in more detail.
pub fn megabytes(bytes: Option<f64>) -> String {
    match bytes {
        Some(bytes) if bytes >= 1e8 => format!("{:.1}", bytes / 1e6),
        Some(bytes) => format!("{:.2}", bytes / 1e6),
        None => "-".into(),
    }
}

/// Shows a ratio.
pub fn ratio(part: Option<f64>, whole: Option<f64>) -> String {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0.0 => format!("{:.2}", part / whole),
        _ => "-".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [
            vec!["a".to_owned(), "1.00".to_owned(), "b 1".to_owned()],
            vec!["größer".to_owned(), "-".to_owned()],
        ];
        assert_eq!(
            table(&["tool", "s", "on"], &rows),
            "| tool   |    s | on  |\n\
             | ------ | ---: | --- |\n\
             | a      | 1.00 | b 1 |\n\
             | größer |    - |     |\n"
        );
    }

    #[test]
    fn figures_have_three_digits() {
        for (value, text) in [
            (0.0, "0.00"),
            (0.0123, "0.012"),
            (0.9999, "1.00"),
            (9.999, "10.0"),
            (99.96, "100"),
            (1234.5, "1234"),
        ] {
            assert_eq!(figure(Some(value)), text);
        }
        assert_eq!(figure(None), "-");
        assert_eq!(megabytes(Some(35_090_000.0)), "35.09");
        assert_eq!(ratio(Some(1.0), Some(3.0)), "0.33");
        assert_eq!(ratio(Some(1.0), Some(0.0)), "-");
        assert_eq!(ratio(Some(1.0), None), "-");
    }
}
