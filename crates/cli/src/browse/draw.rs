//! How the browser looks.
//!
//! **Invariant:** nothing depends on colour; a line that does not fit is cut, and what matters less
//! is left out where the window is narrow.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use sinterfs::FileType;

use super::entries::{ListedEntry, Sizes};
use super::preview::Preview;
use super::state::{Browser, View};
use crate::{size, text};

/// Columns of a size.
const SIZE: usize = 7;

/// Columns of the bar that shows an entry's part of the largest one.
const BAR: usize = 12;

/// The width from which there is a bar.
const BAR_FROM: u16 = 60;

/// The width from which the bytes of files are shown in addition to their share of the image.
const APPARENT_FROM: u16 = 30;

/// Lines that are not for entries: the path, the heads of the columns, the message and the keys.
const FRAME: u16 = 4;

/// How things are distinguished.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub has_color: bool,
}

impl Look {
    fn colored(self, color: Color) -> Style {
        if self.has_color {
            Style::new().fg(color)
        } else {
            Style::new()
        }
    }

    fn bar(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn of(self, entry: &ListedEntry) -> Style {
        match entry.kind {
            FileType::Directory => self.colored(Color::Blue).add_modifier(Modifier::BOLD),
            FileType::Symlink => self.colored(Color::Cyan),
            FileType::File => Style::new(),
            _ => self.colored(Color::Yellow),
        }
    }
}

/// Draws one frame.
pub fn draw(frame: &mut Frame<'_>, browser: &mut Browser, look: Look) {
    let area = frame.area();
    browser.fit(usize::from(area.height.saturating_sub(FRAME)).max(1));
    let mut page = Page {
        buffer: frame.buffer_mut(),
        area,
        look,
    };
    page.line(0, &title(browser, area.width), look.bar());
    match &browser.view {
        View::Help => page.lines(&HELP),
        View::File(preview, _) => page.file(preview, browser.height),
        View::List | View::Search | View::ExtractTo(_) => page.list(browser),
    }
    page.bottom(browser);
}

struct Page<'a> {
    buffer: &'a mut Buffer,
    area: Rect,
    look: Look,
}

impl Page<'_> {
    /// Writes a line over the whole width.
    fn line(&mut self, row: u16, content: &str, style: Style) {
        if row >= self.area.height {
            return;
        }
        let width = usize::from(self.area.width);
        let line = Rect::new(0, row, self.area.width, 1);
        self.buffer.set_style(line, style);
        self.buffer.set_stringn(0, row, content, width, style);
    }

    fn lines(&mut self, lines: &[&str]) {
        for (row, line) in (1..self.area.height.saturating_sub(2)).zip(lines) {
            self.line(row, line, Style::new());
        }
    }

    fn list(&mut self, browser: &Browser) {
        let (cursor, height) = (browser.cursor(), browser.height);
        let heads = self.columns("", "SIZE", "IN IMAGE", None, "NAME");
        self.line(1, &heads, Style::new().add_modifier(Modifier::BOLD));
        let known = browser.entries().filter_map(|entry| browser.sizes(entry));
        let largest = known.map(|sizes| sizes.stored).max().unwrap_or(0);
        let rows = browser.entries().enumerate().skip(browser.top).take(height);
        for ((number, entry), row) in rows.zip(2..) {
            let sizes = browser.sizes(entry);
            let mark = if browser.is_marked(entry) { "*" } else { "" };
            let bar = bar(sizes, largest);
            let [apparent, stored] = shown_sizes(sizes);
            let content = self.columns(mark, &apparent, &stored, Some(&bar), &name(entry));
            let style = if number == cursor {
                self.look.bar()
            } else {
                self.look.of(entry)
            };
            self.line(row, &content, style);
        }
    }

    /// Returns the columns of a line as far as the window has room for them.
    fn columns(
        &self,
        mark: &str,
        apparent: &str,
        stored: &str,
        bar: Option<&str>,
        name: &str,
    ) -> String {
        let width = self.area.width;
        let mut line = format!("{mark:1}");
        if width >= APPARENT_FROM {
            line += &format!("{apparent:>SIZE$} ");
        }
        line += &format!("{stored:>8}");
        if width >= BAR_FROM {
            line += &format!(" {:BAR$}", bar.unwrap_or_default());
        }
        line + "  " + name
    }

    fn file(&mut self, preview: &Preview, height: usize) {
        let of = text::name(&preview.path);
        let place = if preview.is_hex { "byte" } else { "line" };
        let at = if preview.is_hex {
            preview.top * super::preview::ROW
        } else {
            preview.top + 1
        };
        let head = format!(" {of}: {}, {place} {at}", size::human(preview.size));
        self.line(1, &head, Style::new().add_modifier(Modifier::BOLD));
        for (line, row) in preview.shown(height).iter().zip(2..) {
            self.line(row, line, Style::new());
        }
    }

    /// Writes the message or what is being typed, and the keys.
    fn bottom(&mut self, browser: &Browser) {
        let Some(row) = self.area.height.checked_sub(2).filter(|row| *row > 1) else {
            return;
        };
        let message = match &browser.view {
            View::Search => format!("/{}\u{2581}", browser.search),
            View::ExtractTo(dir) => {
                format!("extract {} to: {dir}\u{2581}", browser.to_extract())
            }
            View::File(preview, _) if preview.is_cut() => {
                "the first 256 KiB; x shows all bytes".to_owned()
            }
            _ if !browser.message.is_empty() => browser.message.clone(),
            _ => state(browser),
        };
        self.line(row, &format!(" {message}"), Style::new());
        let keys = match &browser.view {
            View::Search => " Enter: keep it  Esc: all entries",
            View::ExtractTo(_) => " Enter: extract  Esc: do not",
            View::File(..) => " x: text/bytes  Space: next page  q: back",
            View::Help => " any key: back",
            View::List => {
                " Enter: open  /: search  s: sort  Space: mark  e: extract  ?: help  q: end"
            }
        };
        self.line(row + 1, keys, self.look.bar());
    }
}

/// Returns what is shown, as far as there is room: the image, the directory, and its sizes.
fn title(browser: &Browser, width: u16) -> String {
    let place = format!(" {}:/{}", browser.title, text::name(browser.path()));
    let Some(total) = browser.total() else {
        return place;
    };
    let sizes = format!(
        "{} as {} ",
        size::human(total.apparent),
        size::human(total.stored)
    );
    let used = place.chars().count() + sizes.chars().count();
    match usize::from(width)
        .checked_sub(used)
        .filter(|room| *room > 1)
    {
        Some(room) => format!("{place}{}{sizes}", " ".repeat(room)),
        None => place,
    }
}

/// Returns what there is to say about the list.
fn state(browser: &Browser) -> String {
    let (shown, all) = browser.counts();
    let mut state = if browser.search.is_empty() {
        text::count(all as u64, "entry")
    } else {
        format!("{shown} of {all} with \"{}\"", browser.search)
    };
    state += &format!(", by {}", browser.sort.word());
    match browser.marks() {
        0 => {}
        marks => state += &format!(", {marks} marked"),
    }
    if browser.total().is_none() {
        state += "; measuring ...";
    }
    state
}

fn shown_sizes(sizes: Option<Sizes>) -> [String; 2] {
    match sizes {
        Some(sizes) => [sizes.apparent, sizes.stored].map(size::short),
        None => ["".to_owned(), "".to_owned()],
    }
}

fn bar(sizes: Option<Sizes>, largest: u64) -> String {
    let stored = sizes.unwrap_or_default().stored;
    let part = u128::from(stored) * BAR as u128 / u128::from(largest.max(1));
    "#".repeat(part as usize)
}

fn name(entry: &ListedEntry) -> String {
    let mut shown = text::name(&entry.name);
    match (entry.kind, &entry.target) {
        (FileType::Directory, _) => shown.push('/'),
        (_, Some(target)) => shown += &format!(" -> {}", text::name(target)),
        _ => {}
    }
    shown
}

const HELP: [&str; 15] = [
    "",
    " Up Down k j      move",
    " PgUp PgDn        a page",
    " Home End g G     first, last entry",
    " Enter Right l    open a directory, look at a file",
    " Left Backspace h the directory above",
    " /                show names that contain a text; Esc shows all",
    " s                sort by size in the image, size, name, time",
    " Space            mark; u: unmark all",
    " e                extract what is marked, or this entry",
    " x                in a file: text or bytes",
    " q Ctrl-C         end",
    "",
    " SIZE is the bytes of files; IN IMAGE their share of the image:",
    " a block that several files use is divided among them.",
];
