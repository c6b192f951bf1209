//! Keys and screens of the browser, on an image in memory and a terminal in memory.

use std::sync::Arc;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use sinterfs::model::{Image, Ino};
use sinterfs_testkit::{Builder, MemImage, Piece, meta};

use super::draw::{Look, draw};
use super::entries::{KnownSizes, Sizes, Sort};
use super::keys::Key;
use super::preview::{Preview, TEXT};
use super::state::{Browser, BrowserJob, View};

fn image() -> MemImage {
    let mut b = Builder::new(meta(0o755, 1_000_000_000, 0), 64 << 10);
    let file = |text: &[u8]| [Piece::Data(text.to_vec())];
    let docs = b.dir(Builder::ROOT, b"docs", meta(0o755, 5, 0));
    b.file(
        docs,
        b"README",
        meta(0o644, 9, 0),
        &file(b"one\ttwo\nthree\n"),
    );
    b.file(
        docs,
        b"bad \x1b[31m",
        meta(0o644, 8, 0),
        &file(b"\0\x01binary, and more of it"),
    );
    b.dir(Builder::ROOT, b"empty", meta(0o755, 6, 0));
    b.file(
        Builder::ROOT,
        b"big",
        meta(0o644, 7, 0),
        &file(&[b'x'; 5000]),
    );
    b.finish(1)
}

fn browser() -> Browser {
    let image: Arc<dyn Image> = Arc::new(image());
    let mut browser = Browser::new(image, "i.dwarfs".to_owned(), &[]).unwrap();
    let Some(BrowserJob::Measure { path, .. }) = browser.measure() else {
        panic!("nothing to measure");
    };
    assert!(path.is_empty() && browser.measure().is_none());
    browser
}

fn measured() -> Browser {
    let mut browser = browser();
    let sizes = [
        ("", 5037, 2000),
        ("docs", 37, 600),
        ("docs/README", 14, 100),
        ("docs/bad \x1b[31m", 23, 500),
        ("empty", 0, 0),
        ("big", 5000, 1400),
    ];
    let known = sizes
        .map(|(path, apparent, stored)| (path.as_bytes().to_vec(), Sizes { apparent, stored }));
    browser.sized(KnownSizes::from(known), true);
    browser
}

/// Draws and returns the lines of the screen, without blanks at their ends.
fn screen(browser: &mut Browser, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let look = Look { has_color: false };
    terminal.draw(|frame| draw(frame, browser, look)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(width).max(1));
    let line = |row: &[ratatui::buffer::Cell]| -> String {
        let line: String = row.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned()
    };
    rows.map(line).collect()
}

fn names(browser: &Browser) -> Vec<String> {
    let names = browser
        .entries()
        .map(|entry| String::from_utf8_lossy(&entry.name).into_owned());
    names.collect()
}

fn press(browser: &mut Browser, keys: &str) -> Option<BrowserJob> {
    keys.chars().fold(None, |_, c| browser.press(Key::Char(c)))
}

#[test]
fn a_directory_has_sizes() {
    let lines = screen(&mut browser(), 80, 24);
    assert_eq!(lines[0], " i.dwarfs:/");
    assert!(
        lines[22].ends_with("by size in the image; measuring ..."),
        "{}",
        lines[22]
    );
    let lines = screen(&mut measured(), 80, 24);
    assert_eq!(lines.len(), 24);
    assert!(lines[0].starts_with(" i.dwarfs:/ ") && lines[0].ends_with("5.04 kB as 2.00 kB"));
    assert_eq!(lines[1], "    SIZE IN IMAGE               NAME");
    assert_eq!(lines[2], "    4.9K     1.4K ############  big");
    assert_eq!(lines[3], "      37      600 #####         docs/");
    assert_eq!(lines[4], "       0        0               empty/");
    assert_eq!(lines[22], " 3 entries, by size in the image");
    assert!(lines[23].starts_with(" Enter: open") && lines[23].len() <= 80);
}

#[test]
fn small_windows_are_cut_to_size() {
    let lines = screen(&mut measured(), 40, 10);
    assert_eq!(lines[2], "    4.9K     1.4K  big");
    let lines = screen(&mut measured(), 20, 6);
    assert_eq!(lines[2], "     1.4K  big");
    assert_eq!(lines[4], " 3 entries, by size");
    let mut browser = measured();
    for (width, height) in [(1, 1), (1, 24), (80, 1), (3, 2), (0, 0), (10, 5)] {
        screen(&mut browser, width, height);
        press(&mut browser, "jl");
        screen(&mut browser, width, height);
        press(&mut browser, "qh");
    }
}

#[test]
fn keys_walk_and_come_back() {
    let mut browser = measured();
    press(&mut browser, "jl");
    assert_eq!(browser.path(), b"docs");
    let lines = screen(&mut browser, 80, 24);
    assert!(lines[0].starts_with(" i.dwarfs:/docs"));
    assert!(
        lines[2].ends_with("bad \\x1b[31m") && lines[3].ends_with("README"),
        "{lines:?}"
    );
    // the cursor is where it was
    press(&mut browser, "h");
    assert_eq!((browser.path(), browser.cursor()), (&b""[..], 1));
    press(&mut browser, "G");
    assert_eq!(browser.cursor(), 2);
    browser.press(Key::Down);
    assert_eq!(browser.cursor(), 2);
    browser.press(Key::Enter);
    assert_eq!((browser.path(), browser.counts()), (&b"empty"[..], (0, 0)));
    assert!(screen(&mut browser, 80, 24)[22].starts_with(" 0 entries"));
    assert_eq!(press(&mut browser, "jlse "), None);
    assert_eq!(browser.message, "");
    assert_eq!(press(&mut browser, "q"), Some(BrowserJob::Quit));
    assert_eq!(browser.press(Key::Ctrl('c')), Some(BrowserJob::Quit));
    assert_eq!(browser.press(Key::Ctrl('z')), Some(BrowserJob::Suspend));
}

#[test]
fn entries_are_sorted_by_all_keys() {
    let mut browser = measured();
    assert_eq!(names(&browser), ["big", "docs", "empty"]);
    press(&mut browser, "jss");
    assert_eq!((browser.sort, browser.cursor()), (Sort::Name, 1));
    press(&mut browser, "s");
    assert_eq!(names(&browser), ["big", "empty", "docs"]);
    assert_eq!((browser.sort, browser.cursor()), (Sort::Time, 2));
    assert_eq!(browser.message, "sorted by time");
}

#[test]
fn a_search_shows_its_matches() {
    let mut browser = measured();
    press(&mut browser, "/E");
    assert_eq!(names(&browser), [""; 0]);
    browser.press(Key::Backspace);
    press(&mut browser, "e");
    assert_eq!(names(&browser), ["empty"]);
    assert!(screen(&mut browser, 80, 24)[22].starts_with(" /e"));
    browser.press(Key::Enter);
    assert!(screen(&mut browser, 80, 24)[22].starts_with(" 1 of 3 with \"e\""));
    // letters are keys again
    assert_eq!(press(&mut browser, "q"), Some(BrowserJob::Quit));
    browser.press(Key::Esc);
    assert_eq!(names(&browser), ["big", "docs", "empty"]);
    assert_eq!(browser.cursor(), 2);
    press(&mut browser, "/doc");
    browser.press(Key::Enter);
    browser.press(Key::Enter);
    assert_eq!(
        (browser.path(), browser.search.as_str()),
        (&b"docs"[..], "")
    );
}

#[test]
fn marked_entries_are_extracted() {
    let mut browser = measured();
    press(&mut browser, " ");
    assert_eq!(browser.cursor(), 1);
    press(&mut browser, "l ");
    assert_eq!(browser.marks(), 2);
    assert!(screen(&mut browser, 80, 24)[2].starts_with('*'));
    press(&mut browser, "e");
    assert!(screen(&mut browser, 80, 24)[22].starts_with(" extract 2 entries to: ."));
    press(&mut browser, "/out");
    let job = browser.press(Key::Enter);
    let paths = vec![b"big".to_vec(), b"docs/bad \x1b[31m".to_vec()];
    let dir = "./out".into();
    assert_eq!(job, Some(BrowserJob::Extract { paths, dir }));
    // it is not stopped by one key
    assert_eq!(press(&mut browser, "q"), None);
    assert!(browser.message.starts_with("still extracting"));
    assert_eq!(press(&mut browser, "q"), Some(BrowserJob::Quit));
    assert!(browser.is_extracting());
    browser.extracted("out: 2 files".to_owned());
    assert!(!browser.is_extracting());
    assert_eq!(press(&mut browser, "q"), Some(BrowserJob::Quit));
    press(&mut browser, "u");
    assert_eq!(browser.marks(), 0);
    // without marks, what is under the cursor
    press(&mut browser, "e");
    browser.press(Key::Backspace);
    assert_eq!(browser.press(Key::Enter), None);
    press(&mut browser, "e");
    browser.press(Key::Esc);
    assert!(matches!(browser.view, View::List));
}

#[test]
fn files_are_shown_as_text_or_bytes() {
    let mut browser = measured();
    press(&mut browser, "jlG");
    let Some(BrowserJob::Read { ino, offset, len }) = press(&mut browser, "l") else {
        panic!("nothing to read");
    };
    assert_eq!((offset, len), (0, 14));
    assert_eq!(screen(&mut browser, 80, 24)[2], "reading ...");
    // an answer about another file is late
    browser.read(Ino(ino.0 ^ 1), 0, Ok(b"other".to_vec()));
    browser.read(ino, 0, Ok(b"one\ttwo\nthree\n".to_vec()));
    let lines = screen(&mut browser, 80, 24);
    assert_eq!(lines[1], " docs/README: 14 B, line 1");
    assert_eq!(lines[2..5], ["one     two", "three", ""]);
    assert_eq!(press(&mut browser, "x"), None);
    let lines = screen(&mut browser, 80, 24);
    assert_eq!(
        lines[2],
        "00000000  6f 6e 65 09 74 77 6f 0a  74 68 72 65 65 0a        one.two.three."
    );
    assert_eq!(press(&mut browser, "q"), None);
    assert!(matches!(browser.view, View::List));
    press(&mut browser, "gl");
    browser.read(ino, 0, Ok(Vec::new()));
    let Some(BrowserJob::Read { ino, .. }) = press(&mut browser, "ql") else {
        panic!("nothing to read");
    };
    browser.read(ino, 0, Err("damaged".to_owned()));
    assert_eq!(screen(&mut browser, 80, 24)[2], "cannot be read: damaged");
}

#[test]
fn large_files_are_read_where_they_are_looked_at() {
    let size = 10 << 20;
    let content = |offset: u64, len: usize| -> Vec<u8> {
        let rows = (offset / 16..).flat_map(|row| [(row % 251) as u8; 16]);
        rows.take(len).collect()
    };
    let (mut preview, needed) = Preview::new(b"large".to_vec(), size);
    assert_eq!(needed, Some((0, TEXT)));
    preview.read(0, Ok(content(0, TEXT)));
    assert!(preview.is_hex);
    assert_eq!(preview.scroll(20, 20), None);
    let (offset, len) = preview.end(20).unwrap();
    assert!(offset + len as u64 == size, "{offset} {len}");
    preview.read(offset, Ok(content(offset, len)));
    assert_eq!(preview.end(20), None);
    let shown = preview.shown(20);
    assert_eq!(shown.len(), 20);
    assert!(shown[19].starts_with("009ffff0  "), "{}", shown[19]);
    let byte = (size / 16 - 1) % 251;
    assert!(
        shown[19].contains(&format!(" {byte:02x} {byte:02x} ")),
        "{}",
        shown[19]
    );
    // back, to what is not in memory any more
    let (offset, len) = preview.scroll(-100_000, 20).unwrap();
    preview.read(offset, Ok(content(offset, len)));
    assert_eq!(preview.scroll(0, 20), None);
    let row = preview.top;
    assert!(preview.shown(1)[0].starts_with(&format!("{:08x}", row * 16)));
    let (mut text, _) = Preview::new(b"text".to_vec(), size);
    text.read(0, Ok(b"line\n".repeat(TEXT / 5)));
    assert!(!text.is_hex && text.is_cut());
    assert_eq!(text.len(), TEXT as u64 / 5);
}

#[test]
fn help_names_every_key() {
    let mut browser = measured();
    press(&mut browser, "?");
    let lines = screen(&mut browser, 80, 24).join("\n");
    for key in ["Enter", "Backspace", "/", "Space", "Ctrl-C"] {
        assert!(lines.contains(key), "{lines}");
    }
    press(&mut browser, "q");
    assert!(matches!(browser.view, View::List));
}
