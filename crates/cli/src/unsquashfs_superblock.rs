//! The superblock of a SquashFS image as `unsquashfs -s` prints it, for scripts that read it.
//!
//! Enters what `sinter info` reports of an image; leaves lines, or nothing for other formats and
//! versions before 4. Facts: the output of Debian's unsquashfs 4.5.1, with which a test compares
//! each byte; the time is in UTC.

use std::fmt::Write;
use std::path::Path;

use sinterfs::image::InfoRows;

use crate::calendar;
use crate::facts::Facts;

/// The filters of xz, by bit.
const FILTERS: [&str; 8] = [
    "x86", "powerpc", "ia64", "arm", "armthumb", "sparc", "arm64", "riscv",
];

/// The strategies of gzip, by bit.
const STRATEGIES: [&str; 5] = [
    "default",
    "filtered",
    "huffman_only",
    "run_length_encoded",
    "fixed",
];

/// The algorithms of lzo, by number.
const ALGORITHMS: [&str; 5] = [
    "lzo1x_1",
    "lzo1x_1_11",
    "lzo1x_1_12",
    "lzo1x_1_15",
    "lzo1x_999",
];

/// The selected output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum UnsquashfsFacts {
    /// The whole superblock.
    Superblock,
    /// The time of creation, in seconds since 1970.
    MkfsTime,
}

/// Returns the lines about an image; `None` if it is not SquashFS 4.
pub fn lines(asked: UnsquashfsFacts, image: &Path, rows: &InfoRows) -> Option<String> {
    let facts = Facts(rows);
    if asked == UnsquashfsFacts::MkfsTime && facts.text("format") == "SquashFS" {
        return Some(format!("{}\n", facts.number("created")));
    }
    let version = facts.text("version").strip_prefix("4.")?;
    if facts.text("format") != "SquashFS" {
        return None;
    }
    let size = facts.number("image bytes");
    let exportable = facts.flag("export table");
    let not = |is: bool| if is { "" } else { "not " };
    let mut text = format!(
        "Found a valid SQUASHFS 4:{version} superblock on {}.\nCreation or last append time {}\n\
         Filesystem size {size} bytes ({} Kbytes / {} Mbytes)\nCompression {}\n",
        image.display(),
        calendar::ctime(i64::try_from(facts.number("created")).unwrap_or(i64::MAX)),
        hundredths(size, 10),
        hundredths(size, 20),
        facts.text("compression"),
    );
    if let Some(options) = facts.map("compressor options") {
        text += &compressor(facts.text("compression"), options);
    }
    // writing to a string cannot fail
    let _ = writeln!(text, "Block size {}", facts.number("block size"));
    let _ = writeln!(text, "Filesystem is {}exportable via NFS", not(exportable));
    let plain = facts.texts("not compressed");
    let stored = |part: &str| {
        if plain.contains(&part) {
            "uncompressed"
        } else {
            "compressed"
        }
    };
    let ids = if plain.contains(&"inodes") {
        "uncompressed"
    } else {
        stored("ids")
    };
    text += &format!(
        "Inodes are {}\nData is {}\nUids/Gids (Id table) are {ids}\n",
        stored("inodes"),
        stored("data"),
    );
    let flags = facts.texts("flags");
    let flag = |name: &str| flags.contains(&name);
    if flag("no fragments") {
        text += "Fragments are not stored\n";
    } else {
        text += &format!(
            "Fragments are {}\nTailends are {}packed into fragments\n",
            stored("fragments"),
            not(flag("always fragments")),
        );
    }
    if flag("no xattrs") {
        text += "Xattrs are not stored\n";
    } else {
        text += &format!("Xattrs are {}\n", stored("xattrs"));
    }
    text += &format!("Duplicates are {}removed\n", not(flag("duplicates")));
    for (what, row) in [
        ("fragments", "fragments"),
        ("inodes", "inodes"),
        ("ids", "owners and groups"),
    ] {
        text += &format!("Number of {what} {}\n", facts.number(row));
    }
    if !flag("no xattrs") {
        text += &format!("Number of xattr ids {}\n", facts.number("xattr lists"));
    }
    Some(text)
}

/// Returns the names of the filters of xz that are set.
pub fn filters(bits: u64) -> Vec<&'static str> {
    named(&FILTERS, bits)
}

fn named(names: &[&'static str], bits: u64) -> Vec<&'static str> {
    let names = names.iter().enumerate();
    let set = names.filter(|(bit, _)| bits >> bit & 1 != 0);
    set.map(|(_, name)| *name).collect()
}

/// Returns the lines about the options of the codec.
fn compressor(codec: &str, options: Facts<'_>) -> String {
    let number = |name| options.number(name);
    match codec {
        "gzip" => format!(
            "\tcompression-level {}\n\twindow-size {}\n\tStrategies selected: {}\n",
            number("level"),
            number("window log"),
            match number("strategies") {
                0 => "default".to_owned(),
                bits => named(&STRATEGIES, bits).join(", "),
            }
        ),
        "xz" => {
            let mut text = format!("\tDictionary size {}\n", number("dictionary"));
            text += &match number("filters") {
                0 => "\tNo filters specified\n".to_owned(),
                bits => format!("\tFilters selected: {}\n", filters(bits).join(", ")),
            };
            text
        }
        "lzo" => {
            let algorithm = usize::try_from(number("algorithm")).unwrap_or(usize::MAX);
            let name = ALGORITHMS.get(algorithm).copied().unwrap_or("unknown");
            let level = match name {
                "lzo1x_999" => format!("\tcompression level {}\n", number("level")),
                _ => String::new(),
            };
            format!("\talgorithm {name}\n{level}")
        }
        "lz4" if number("flags") & 1 != 0 => {
            "\tHigh Compression option specified (-Xhc)\n".to_owned()
        }
        "zstd" => format!("\tcompression-level {}\n", number("level")),
        _ => String::new(),
    }
}

/// Returns a number of units of 2^`log` bytes with two digits after the point, rounded as printf
/// does.
fn hundredths(bytes: u64, log: u32) -> String {
    let unit = (1_u64 << log) as f64;
    format!("{:.2}", bytes as f64 / unit)
}
