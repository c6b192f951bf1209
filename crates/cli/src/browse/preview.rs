//! The content of a file on the screen: as text, or as bytes.
//!
//! **Invariant:** memory is one window of the file, for any size; a position is a line of that
//! window or a row of bytes of the file.

use crate::text;

/// The bytes of a file that are shown as text.
pub const TEXT: usize = 256 << 10;

/// Bytes in a row.
pub const ROW: u64 = 16;

/// The rows of bytes that are read at once.
const ROWS: u64 = 512;

/// A file that is looked at.
#[derive(Debug, Clone)]
pub struct Preview {
    pub path: Vec<u8>,
    pub size: u64,
    /// Whether it is shown as bytes.
    pub is_hex: bool,
    /// The first line or row on the screen.
    pub top: u64,
    window: ReadPart,
}

/// The part of the file that is in memory.
#[derive(Debug, Clone)]
enum ReadPart {
    /// It is being read.
    Awaited,
    /// It cannot be read.
    Failed(String),
    Read {
        offset: u64,
        bytes: Vec<u8>,
    },
}

/// A range of the file that is needed: its offset and its length.
pub type Needed = Option<(u64, usize)>;

impl Preview {
    /// Begins to look at a file.
    pub fn new(path: Vec<u8>, size: u64) -> (Self, Needed) {
        let preview = Self {
            path,
            size,
            is_hex: false,
            top: 0,
            window: ReadPart::Awaited,
        };
        let needed = preview.first();
        (preview, needed)
    }

    fn first(&self) -> Needed {
        let len = usize::try_from(self.size).map_or(TEXT, |size| size.min(TEXT));
        Some((0, len))
    }

    /// Takes what was read; what is not text is shown as bytes.
    pub fn read(&mut self, offset: u64, bytes: Result<Vec<u8>, String>) {
        let is_first = matches!(self.window, ReadPart::Awaited) && !self.is_hex;
        self.window = match bytes {
            Ok(bytes) => {
                self.is_hex |= is_first && !is_text(&bytes);
                ReadPart::Read { offset, bytes }
            }
            Err(why) => ReadPart::Failed(why),
        };
    }

    /// Shows bytes instead of text, or the reverse.
    pub fn toggle(&mut self) -> Needed {
        self.is_hex = !self.is_hex;
        self.top = 0;
        let is_at_start = matches!(&self.window, ReadPart::Read { offset: 0, .. });
        if is_at_start { None } else { self.first() }
    }

    /// Moves by lines or rows, with the given number on the screen.
    pub fn scroll(&mut self, by: i64, height: u64) -> Needed {
        let last = self.len().saturating_sub(height);
        self.top = self.top.saturating_add_signed(by).min(last);
        self.missing(height)
    }

    /// Moves to the end.
    pub fn end(&mut self, height: u64) -> Needed {
        self.top = self.len().saturating_sub(height);
        self.missing(height)
    }

    /// Returns the number of lines or rows.
    pub fn len(&self) -> u64 {
        match (&self.window, self.is_hex) {
            (_, true) => self.size.div_ceil(ROW),
            (ReadPart::Read { bytes, .. }, false) => lines(bytes).count() as u64,
            _ => 0,
        }
    }

    /// Returns what has to be read to show bytes here.
    fn missing(&self, height: u64) -> Needed {
        if !self.is_hex {
            return None;
        }
        let start = self.top * ROW;
        let end = (start + height * ROW).min(self.size);
        let is_there = match &self.window {
            ReadPart::Read { offset, bytes } => {
                *offset <= start && end <= offset + bytes.len() as u64
            }
            ReadPart::Awaited => false,
            ReadPart::Failed(_) => true,
        };
        let start = self.top.saturating_sub(ROWS / 4) * ROW;
        let len = (ROWS * ROW).min(self.size.saturating_sub(start));
        (!is_there).then_some((start, len as usize))
    }

    /// Returns the lines on a screen of this height.
    pub fn shown(&self, height: usize) -> Vec<String> {
        let (offset, bytes) = match &self.window {
            ReadPart::Awaited => return vec!["reading ...".to_owned()],
            ReadPart::Failed(why) => return vec![format!("cannot be read: {why}")],
            ReadPart::Read { offset, bytes } => (*offset, bytes),
        };
        if self.size == 0 {
            return vec!["(empty)".to_owned()];
        }
        let top = usize::try_from(self.top).unwrap_or(usize::MAX);
        if !self.is_hex {
            let lines = lines(bytes).skip(top).map(shown_line);
            return lines.take(height).collect();
        }
        let skipped = (self.top * ROW).saturating_sub(offset);
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        let here = bytes.get(skipped..).unwrap_or_default();
        let rows = here.chunks(ROW as usize).take(height).enumerate();
        rows.map(|(index, row)| hex_row((self.top + index as u64) * ROW, row))
            .collect()
    }

    /// Returns whether the text on the screen is not all of the file.
    pub fn is_cut(&self) -> bool {
        !self.is_hex && self.size > TEXT as u64
    }
}

/// Returns the lines of a text, without an empty one after the last.
fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.split(|byte| *byte == b'\n')
}

/// Columns of a line after which no further tab is looked for: no window is as wide.
const COLUMNS: usize = 4096;

/// Shows a line, with tabs as blanks and other control characters replaced.
fn shown_line(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let parts = line.split(|byte| *byte == b'\t');
    let mut shown = String::new();
    let mut column = 0;
    for (index, part) in parts.enumerate() {
        if index > 0 {
            let blanks = 8 - column % 8;
            shown.extend(std::iter::repeat_n(' ', blanks));
            column += blanks;
        }
        let part = String::from_utf8_lossy(part);
        let part = text::one_line(&part);
        column += part.chars().count();
        shown.push_str(&part);
        if column > COLUMNS {
            break;
        }
    }
    shown
}

/// Returns whether bytes are text: UTF-8 but for what is cut off at the end, without NUL.
fn is_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && bytes.len() == TEXT,
    };
    valid && !bytes.contains(&0)
}

fn hex_row(offset: u64, row: &[u8]) -> String {
    let mut shown = format!("{offset:08x} ");
    for index in 0..ROW as usize {
        if index == 8 {
            shown.push(' ');
        }
        match row.get(index) {
            Some(byte) => shown.push_str(&format!(" {byte:02x}")),
            None => shown.push_str("   "),
        }
    }
    shown.push_str("  ");
    shown.extend(row.iter().map(|byte| match byte {
        0x20..=0x7e => char::from(*byte),
        _ => '.',
    }));
    shown
}
