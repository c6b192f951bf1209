//! HTML, piece by piece.
//!
//! **Invariant:** text that is not the page's own goes through `text`, which leaves no character a
//! meaning.

use std::fmt::Write;

/// A page on the way.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Adds markup.
    pub fn raw(&mut self, markup: &str) {
        self.0.push_str(markup);
    }

    /// Adds text.
    pub fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
    }

    /// Adds a name, isolated from the writing direction of the text around it.
    pub fn name(&mut self, name: &str) {
        self.raw("<bdi>");
        self.text(name);
        self.raw("</bdi>");
    }

    /// Adds a heading.
    pub fn heading(&mut self, text: &str) {
        self.raw("<h2>");
        self.text(text);
        self.raw("</h2>\n");
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        self.raw("<p>");
        self.text(text);
        self.raw("</p>\n");
    }

    /// Begins a table.
    pub fn table(&mut self, caption: &str) {
        self.raw("<table>\n<caption>");
        self.text(caption);
        self.raw("</caption>\n");
    }

    /// Adds the head of a table; titles that begin with `-` are above numbers.
    pub fn head(&mut self, cells: &[&str]) {
        self.raw("<tr>");
        for cell in cells {
            self.raw(if cell.starts_with('-') {
                "<th scope=\"col\" class=\"n\">"
            } else {
                "<th scope=\"col\">"
            });
            self.text(cell.trim_start_matches('-'));
            self.raw("</th>");
        }
        self.raw("</tr>\n");
    }

    /// Adds a row: a name, numbers after a `-` each, and a bar of a part of a whole.
    pub fn row(&mut self, cells: &[&str], bar: Option<(u64, u64)>) {
        self.raw("<tr>");
        for (at, cell) in cells.iter().enumerate() {
            if at == 0 {
                self.raw("<td>");
                self.name(cell);
            } else {
                self.raw("<td class=\"n\">");
                self.text(cell.strip_prefix('-').unwrap_or(cell));
            }
            self.raw("</td>");
        }
        if let Some((part, whole)) = bar {
            let width = percent(part, whole);
            let _ = write!(
                self.0,
                "<td class=\"b\"><span class=\"bar\" style=\"width:{width:.2}%\"></span></td>"
            );
        }
        self.raw("</tr>\n");
    }

    /// Adds a row: a name, numbers, and a bar from one place to another of a whole.
    pub fn span(&mut self, cells: &[&str], [from, to]: [u64; 2], whole: u64) {
        self.row(cells, None);
        // the bar goes into the row that just ended
        let end = self.0.len() - "</tr>\n".len();
        self.0.truncate(end);
        let (left, width) = (
            percent(from, whole),
            percent(to.saturating_sub(from), whole),
        );
        let _ = writeln!(
            self.0,
            "<td class=\"b\"><span class=\"bar\" style=\"margin-left:{left:.2}%;width:{width:.2}%\"></span></td></tr>"
        );
    }

    /// Returns the page.
    pub fn finish(self) -> String {
        self.0
    }
}

/// Returns how much of a whole a part is, from 0 to 100.
pub fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    100.0 * part as f64 / whole as f64
}

/// Returns how much of a whole a part is, in words.
pub fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => String::new(),
        _ => format!("{:.1} %", percent(part, whole)),
    }
}
