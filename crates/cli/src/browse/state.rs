//! The state of the browser, and its changes by keys.
//!
//! In: keys, and results of jobs. Out: jobs. **Invariant:** the cursor is on an entry, or there is
//! none; a failure is a message and changes nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use sinterfs::model::{Image, Ino};
use sinterfs::{FileType, Result};

use super::entries::{KnownSizes, ListedEntry, Sizes, Sort, joined, ordered, read};
use super::keys::Key;
use super::preview::{Needed, Preview};
use crate::{flags, text};

/// Work for other threads, or for the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowserJob {
    /// To measure what is in a directory.
    Measure { path: Vec<u8>, ino: Ino },
    /// To read a range of a file.
    Read { ino: Ino, offset: u64, len: usize },
    /// To extract paths below a directory.
    Extract { paths: Vec<Vec<u8>>, dir: PathBuf },
    /// To stop, as Ctrl-Z does.
    Suspend,
    /// To end.
    Quit,
}

/// The contents of the screen.
#[derive(Debug)]
pub enum View {
    List,
    /// The list, while a search is typed.
    Search,
    /// The list, while the directory to extract to is typed.
    ExtractTo(String),
    /// A file.
    File(Box<Preview>, Ino),
    Help,
}

/// A directory on the way to the one that is shown.
#[derive(Debug, Clone)]
struct ShownDirectory {
    path: Vec<u8>,
    ino: Ino,
}

/// The browser.
pub struct Browser {
    image: Arc<dyn Image>,
    /// The name of the image.
    pub title: String,
    /// The directories above the one that is shown.
    above: Vec<ShownDirectory>,
    here: ShownDirectory,
    entries: Vec<ListedEntry>,
    /// The entries that are shown, in order.
    shown: Vec<usize>,
    cursor: usize,
    /// The first entry on the screen.
    pub top: usize,
    /// Lines for entries or content on the screen.
    pub height: usize,
    pub sort: Sort,
    pub search: String,
    marks: BTreeSet<Vec<u8>>,
    sizes: KnownSizes,
    /// The directories that were measured, or are being.
    measured: BTreeSet<Vec<u8>>,
    pub view: View,
    pub message: String,
    /// Extractions that have not ended.
    extractions: usize,
    /// Whether the last key requested the end although something is being extracted.
    asked_to_end: bool,
}

impl Browser {
    /// Shows a directory of an image, given by its path.
    pub fn new(image: Arc<dyn Image>, title: String, path: &[(Vec<u8>, Ino)]) -> Result<Self> {
        let root = image.info().root;
        let mut steps = vec![ShownDirectory {
            path: Vec::new(),
            ino: root,
        }];
        steps.extend(path.iter().map(|(path, ino)| ShownDirectory {
            path: path.clone(),
            ino: *ino,
        }));
        let here = steps.pop().unwrap_or(ShownDirectory {
            path: Vec::new(),
            ino: root,
        });
        let (entries, all) = read(&*image, here.ino);
        let message = match all {
            Ok(()) => String::new(),
            Err(error) if entries.is_empty() => return Err(error),
            Err(error) => flags::message(&error),
        };
        let mut browser = Self {
            entries,
            image,
            title,
            above: steps,
            here,
            shown: Vec::new(),
            cursor: 0,
            top: 0,
            height: 1,
            sort: Sort::default(),
            search: String::new(),
            marks: BTreeSet::new(),
            sizes: KnownSizes::new(),
            measured: BTreeSet::new(),
            view: View::List,
            message,
            extractions: 0,
            asked_to_end: false,
        };
        browser.arrange(None);
        Ok(browser)
    }

    /// Returns the path of the directory that is shown.
    pub fn path(&self) -> &[u8] {
        &self.here.path
    }

    /// Returns the entries that are shown, in order.
    pub fn entries(&self) -> impl Iterator<Item = &ListedEntry> {
        self.shown
            .iter()
            .filter_map(|number| self.entries.get(*number))
    }

    /// Returns how many entries are shown, and how many there are.
    pub fn counts(&self) -> (usize, usize) {
        (self.shown.len(), self.entries.len())
    }

    /// Returns the number of the entry under the cursor among those that are shown.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Returns the sizes of an entry, if they are known.
    pub fn sizes(&self, entry: &ListedEntry) -> Option<Sizes> {
        match entry.kind {
            FileType::Directory | FileType::File => {
                let path = joined(&self.here.path, &entry.name);
                self.sizes.get(&path).copied()
            }
            _ => Some(Sizes::default()),
        }
    }

    /// Returns whether an entry is marked.
    pub fn is_marked(&self, entry: &ListedEntry) -> bool {
        self.marks.contains(&joined(&self.here.path, &entry.name))
    }

    /// Returns how many entries are marked, in all directories.
    pub fn marks(&self) -> usize {
        self.marks.len()
    }

    /// Returns the sum of what is known of the directory.
    pub fn total(&self) -> Option<Sizes> {
        self.sizes.get(&self.here.path).copied()
    }

    /// Takes the number of lines on the screen, and scrolls so that the cursor is on it.
    pub fn fit(&mut self, height: usize) {
        self.height = height;
        let least = (self.cursor + 1).saturating_sub(height);
        let most = self.shown.len().saturating_sub(height).max(least);
        self.top = self.top.clamp(least, self.cursor.max(least)).min(most);
    }

    /// Asks for the sizes in this directory, unless they are known.
    pub fn measure(&mut self) -> Option<BrowserJob> {
        let ShownDirectory { path, ino } = self.here.clone();
        let is_new = self.measured.insert(path.clone());
        is_new.then_some(BrowserJob::Measure { path, ino })
    }

    /// Takes sizes; `all` if they cover the whole image.
    pub fn sized(&mut self, sizes: KnownSizes, all: bool) {
        if all {
            self.measured.extend(sizes.keys().cloned());
        }
        self.sizes.extend(sizes);
        let under = self.under_cursor().map(|entry| entry.name.clone());
        self.arrange(under.as_deref());
    }

    /// Takes what became of an extraction.
    pub fn extracted(&mut self, message: String) {
        self.extractions = self.extractions.saturating_sub(1);
        self.message = message;
    }

    /// Returns whether something is being extracted.
    pub fn is_extracting(&self) -> bool {
        self.extractions > 0
    }

    /// Takes what was read of a file.
    pub fn read(&mut self, ino: Ino, offset: u64, bytes: std::result::Result<Vec<u8>, String>) {
        if let View::File(preview, of) = &mut self.view
            && *of == ino
        {
            preview.read(offset, bytes);
        }
    }

    /// Changes what a key changes.
    pub fn press(&mut self, key: Key) -> Option<BrowserJob> {
        if key == Key::Ctrl('c') {
            return Some(BrowserJob::Quit);
        }
        if key == Key::Ctrl('z') {
            return Some(BrowserJob::Suspend);
        }
        let asked_to_end = std::mem::take(&mut self.asked_to_end);
        match std::mem::replace(&mut self.view, View::List) {
            View::List => {
                self.message.clear();
                if key == Key::Char('q') && self.is_extracting() && !asked_to_end {
                    self.asked_to_end = true;
                    self.message = "still extracting; q again stops that and ends".to_owned();
                    return None;
                }
                self.press_in_list(key)
            }
            View::Search => self.press_in_search(key),
            View::ExtractTo(dir) => self.press_in_prompt(key, dir),
            View::File(preview, ino) => self.press_in_file(key, preview, ino),
            View::Help => None,
        }
    }

    fn press_in_list(&mut self, key: Key) -> Option<BrowserJob> {
        let page = self.height.saturating_sub(1).max(1);
        match key {
            Key::Up | Key::Char('k') => self.cursor = self.cursor.saturating_sub(1),
            Key::Down | Key::Char('j') => self.move_to(self.cursor + 1),
            Key::PageUp => self.cursor = self.cursor.saturating_sub(page),
            Key::PageDown => self.move_to(self.cursor + page),
            Key::Home | Key::Char('g') => self.cursor = 0,
            Key::End | Key::Char('G') => self.move_to(usize::MAX),
            Key::Enter | Key::Right | Key::Char('l') => return self.open(),
            Key::Left | Key::Backspace | Key::Char('h') => return self.leave(),
            Key::Char('s') => self.change_order(),
            Key::Char('/') => self.view = View::Search,
            Key::Char(' ') => self.mark(),
            Key::Char('u') => self.marks.clear(),
            Key::Char('e') => self.ask_where(),
            Key::Char('?') => self.view = View::Help,
            Key::Esc if !self.search.is_empty() => self.look_for(String::new()),
            Key::Char('q') => return Some(BrowserJob::Quit),
            _ => {}
        }
        None
    }

    fn press_in_search(&mut self, key: Key) -> Option<BrowserJob> {
        let mut search = std::mem::take(&mut self.search);
        self.view = View::Search;
        match key {
            Key::Char(c) => search.push(c),
            Key::Backspace => {
                search.pop();
            }
            Key::Enter | Key::Up | Key::Down => self.view = View::List,
            Key::Esc => {
                self.view = View::List;
                search.clear();
            }
            _ => {}
        }
        self.look_for(search);
        None
    }

    fn press_in_prompt(&mut self, key: Key, mut dir: String) -> Option<BrowserJob> {
        match key {
            Key::Esc => return None,
            Key::Enter if dir.is_empty() => return None,
            Key::Enter => {
                let paths = self.chosen();
                let entries = text::count(paths.len() as u64, "entry");
                self.message = format!("extracting {entries} to {dir} ...");
                self.extractions += 1;
                let dir = dir.into();
                return Some(BrowserJob::Extract { paths, dir });
            }
            Key::Char(c) => dir.push(c),
            Key::Backspace => {
                dir.pop();
            }
            _ => {}
        }
        self.view = View::ExtractTo(dir);
        None
    }

    fn press_in_file(
        &mut self,
        key: Key,
        mut preview: Box<Preview>,
        ino: Ino,
    ) -> Option<BrowserJob> {
        let height = self.height as u64;
        let page = i64::try_from(height).unwrap_or(1);
        let needed: Needed = match key {
            Key::Up | Key::Char('k') => preview.scroll(-1, height),
            Key::Down | Key::Char('j') | Key::Enter => preview.scroll(1, height),
            Key::PageUp => preview.scroll(-page, height),
            Key::PageDown | Key::Char(' ') => preview.scroll(page, height),
            Key::Home | Key::Char('g') => preview.scroll(i64::MIN, height),
            Key::End | Key::Char('G') => preview.end(height),
            Key::Char('x') => preview.toggle(),
            Key::Esc | Key::Left | Key::Backspace | Key::Char('q' | 'h') => return None,
            _ => None,
        };
        self.view = View::File(preview, ino);
        needed.map(|(offset, len)| BrowserJob::Read { ino, offset, len })
    }

    fn move_to(&mut self, cursor: usize) {
        self.cursor = cursor.min(self.shown.len().saturating_sub(1));
    }

    fn under_cursor(&self) -> Option<&ListedEntry> {
        self.entries.get(*self.shown.get(self.cursor)?)
    }

    /// Orders the entries and puts the cursor on a name, or on the first one.
    fn arrange(&mut self, name: Option<&[u8]>) {
        let shown = ordered(&self.entries, self.sort, &self.search, &|entry| {
            self.sizes(entry)
        });
        self.shown = shown;
        let mut all = self.shown.iter();
        let found = all.position(|number| {
            let entry = self.entries.get(*number);
            entry.is_some_and(|entry| Some(&*entry.name) == name)
        });
        self.cursor = found.unwrap_or(0);
    }

    fn change_order(&mut self) {
        self.sort = self.sort.next();
        self.message = format!("sorted by {}", self.sort.word());
        let under = self.under_cursor().map(|entry| entry.name.clone());
        self.arrange(under.as_deref());
    }

    fn look_for(&mut self, search: String) {
        self.search = search;
        let under = self.under_cursor().map(|entry| entry.name.clone());
        self.arrange(under.as_deref());
    }

    fn open(&mut self) -> Option<BrowserJob> {
        let entry = self.under_cursor()?.clone();
        let path = joined(&self.here.path, &entry.name);
        match entry.kind {
            FileType::Directory => {
                let step = ShownDirectory {
                    path,
                    ino: entry.ino,
                };
                let above = std::mem::replace(&mut self.here, step);
                self.above.push(above);
                if !self.list(None) {
                    self.here = self.above.pop()?;
                }
                self.measure()
            }
            FileType::File => {
                let (preview, needed) = Preview::new(path, entry.size);
                self.view = View::File(Box::new(preview), entry.ino);
                needed.map(|(offset, len)| BrowserJob::Read {
                    ino: entry.ino,
                    offset,
                    len,
                })
            }
            _ => {
                let target = entry
                    .target
                    .map(|target| format!(" to {}", text::name(&target)));
                let target = target.unwrap_or_default();
                self.message = format!("{}{target}: no file or directory", kind_word(entry.kind));
                None
            }
        }
    }

    fn leave(&mut self) -> Option<BrowserJob> {
        let above = self.above.pop()?;
        let from = std::mem::replace(&mut self.here, above);
        let name = from
            .path
            .rsplit(|byte| *byte == b'/')
            .next()
            .map(<[u8]>::to_vec);
        if !self.list(name.as_deref()) {
            let above = std::mem::replace(&mut self.here, from);
            self.above.push(above);
        }
        self.measure()
    }

    /// Reads the directory that is shown; returns whether that is possible.
    fn list(&mut self, name: Option<&[u8]>) -> bool {
        let (entries, all) = read(&*self.image, self.here.ino);
        if let Err(error) = &all {
            self.message = flags::message(error);
        }
        if entries.is_empty() && all.is_err() {
            return false;
        }
        self.entries = entries;
        self.search.clear();
        self.top = 0;
        self.arrange(name);
        true
    }

    fn mark(&mut self) {
        let Some(entry) = self.under_cursor() else {
            return;
        };
        let path = joined(&self.here.path, &entry.name);
        if !self.marks.remove(&path) {
            self.marks.insert(path);
        }
        self.move_to(self.cursor + 1);
    }

    /// Returns the marked paths, or that under the cursor.
    fn chosen(&self) -> Vec<Vec<u8>> {
        if !self.marks.is_empty() {
            return self.marks.iter().cloned().collect();
        }
        let under = self.under_cursor();
        under
            .map(|entry| joined(&self.here.path, &entry.name))
            .into_iter()
            .collect()
    }

    fn ask_where(&mut self) {
        if self.chosen().is_empty() {
            self.message = "there is nothing to extract".to_owned();
        } else {
            self.view = View::ExtractTo(".".to_owned());
        }
    }

    /// Returns what is going to be extracted, in words.
    pub fn to_extract(&self) -> String {
        text::count(self.chosen().len() as u64, "entry")
    }
}

fn kind_word(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "a symlink",
        FileType::CharDevice | FileType::BlockDevice => "a device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::File | FileType::Directory => "an entry",
    }
}
