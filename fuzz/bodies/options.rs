//! Options as text, and the small files that options name.
//!
//! In: a byte that selects the parser, then the text. **Invariant** that is asserted: what is
//! accepted is written in a form that is accepted again and means the same.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use sinterfs_block::digest::Root;
use sinterfs_codec::Encoding;
use sinterfs_erofs::write as erofs;
use sinterfs_pipeline::{Categorizers, Order, ReadCost};
use sinterfs_source::{Chmod, Definition, HotList, IdMap, Priorities};
use sinterfs_squashfs::write as squashfs;

/// Parses a text; what is accepted is written and parsed again.
fn again<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let written = value.to_string();
        let second = written.parse::<T>().ok();
        assert_eq!(
            second.as_ref(),
            Some(&value),
            "of {text:?}, written as {written:?}"
        );
    }
}

/// Reads one input.
pub fn run(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    match kind % 16 {
        0 => again::<Encoding>(text),
        1 => again::<squashfs::Compression>(text),
        2 => again::<erofs::Compression>(text),
        3 => again::<Root>(text),
        4 => drop(text.parse::<erofs::Uuid>()),
        5 => drop(text.parse::<erofs::Label>()),
        6 => drop(text.parse::<sinterfs_erofs::Kernel>()),
        7 => drop(text.parse::<erofs::Extended>()),
        8 => drop(text.parse::<Order>()),
        9 => drop(text.parse::<Categorizers>()),
        10 => drop(text.parse::<Chmod>()),
        11 => drop(text.parse::<ReadCost>()),
        12 => drop(IdMap::parse(text.split(' '))),
        13 => drop(HotList::parse(bytes)),
        14 => drop(Priorities::parse(bytes)),
        _ => drop(Definition::parse_all(bytes)),
    }
}
