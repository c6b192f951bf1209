//! Facts about EROFS images as dump.erofs prints them, for scripts that read them.
//!
//! Enters what the library reports of an image and of its inodes; leaves lines, or nothing for
//! other formats. Facts: the output of dump.erofs 1.9.4, beside which a test runs; times are in
//! UTC.

use std::fmt::Write;

use sinterfs::image::{InfoRows, InfoValue};
use sinterfs::model::Ino;
use sinterfs::ops::{Follow, ListOptions, Unread, WalkStep, list, resolve};
use sinterfs::platform::names;
use sinterfs::{Error, FileType, Image, Result};

use crate::calendar;
use crate::facts::Facts;
use crate::rows::permissions;

/// The selected output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum DumpErofs {
    /// The superblock.
    Superblock,
    /// Numbers and sizes of files.
    Statistics,
    /// An inode.
    Inode,
    /// The places of its content, too.
    Extents,
    /// The entries of a directory, too.
    Entries,
    /// Attributes for udev.
    Udev,
}

/// The upper ends of the rows of a distribution of sizes, in KiB.
const SIZES: [u64; 16] = [
    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768,
];

/// The extensions that are counted.
const EXTENSIONS: [&str; 9] = [
    ".txt", ".so", ".xml", ".apk", ".odex", ".vdex", ".oat", ".rc", ".otf",
];

/// Names of types, by the letters of `ls -l`, as an inode shows them.
const TYPES: [(&str, &str); 7] = [
    ("-", "regular file"),
    ("d", "directory"),
    ("c", "char dev"),
    ("b", "block dev"),
    ("p", "FIFO file"),
    ("s", "SOCK file"),
    ("l", "symlink file"),
];

/// No facts.
static NONE: InfoRows = Vec::new();

/// Returns the lines about an image; `None` if it is not EROFS. The inode is selected by a path or
/// a number. Unreadable entries go to `unread`.
pub fn lines(
    asked: &[DumpErofs],
    image: &Image,
    (path, nid): (Option<&std::ffi::OsStr>, Option<u64>),
    unread: &mut Unread,
) -> Result<Option<String>> {
    let root = image.raw().info().root;
    let Some(of_root) = image.inode_info(root)? else {
        return Ok(None);
    };
    let details = image.info()?;
    let mut text = String::new();
    let is_asked = |one| asked.contains(&one);
    if is_asked(DumpErofs::Superblock) {
        superblock(
            &mut text,
            Facts(&details),
            Facts(&of_root).map("superblock").unwrap_or(Facts(&NONE)),
        );
    }
    if is_asked(DumpErofs::Udev) {
        let uuid = Facts(&details).text("uuid");
        text += &format!(
            "ID_FS_UUID={uuid}\nID_FS_UUID_ENC={uuid}\nID_FS_TYPE=erofs\nID_FS_USAGE=filesystem\n"
        );
    }
    if is_asked(DumpErofs::Statistics) {
        statistics(&mut text, image, unread)?;
    }
    let of_inode = [DumpErofs::Inode, DumpErofs::Extents, DumpErofs::Entries];
    if asked.iter().any(|one| of_inode.contains(one)) {
        let (ino, shown) = match (path, nid) {
            (Some(path), _) => {
                let ino = resolve(&**image.raw(), &names::bytes(path), Follow::Nothing)?;
                let shown = String::from_utf8_lossy(&names::bytes(path)).into_owned();
                (ino, format!("/{}", shown.trim_matches('/')))
            }
            (None, Some(nid)) if packed(Facts(&of_root)) == Some(Ino(nid)) => {
                (Ino(nid), "(packed file)".to_owned())
            }
            (None, Some(nid)) => (Ino(nid), path_of(image, Ino(nid), unread)?),
            (None, None) => return Err(Error::invalid("--path or --nid names an inode")),
        };
        let rows = image.inode_info(ino)?.unwrap_or_default();
        let facts = Facts(&rows);
        inode(&mut text, facts, &shown);
        if is_asked(DumpErofs::Entries) {
            entries(&mut text, facts);
        }
        if is_asked(DumpErofs::Extents) {
            extents(&mut text, facts, &shown);
        }
    }
    Ok(Some(text))
}

/// Returns the number of the packed inode, from the facts about another one.
fn packed(facts: Facts<'_>) -> Option<Ino> {
    let packed = facts.map("superblock")?.number("packed");
    (packed > 0).then_some(Ino(packed))
}

/// Finds the path of an inode.
fn path_of(image: &Image, ino: Ino, unread: &mut Unread) -> Result<String> {
    let raw = &**image.raw();
    let root = raw.info().root;
    let mut found = (ino == root).then(|| "/".to_owned());
    let options = ListOptions {
        recursive: true,
        itself: false,
    };
    if found.is_none() {
        list(raw, root, b"", options, unread, &mut |row| {
            if row.ino == ino && found.is_none() {
                found = Some(format!("/{}", String::from_utf8_lossy(&row.path)));
            }
            Ok(if found.is_some() {
                WalkStep::Over
            } else {
                WalkStep::On
            })
        })?;
    }
    found.ok_or_else(|| Error::not_found(format!("no directory has an entry of inode {}", ino.0)))
}

fn superblock(text: &mut String, facts: Facts<'_>, fields: Facts<'_>) {
    let features = |name: &str| {
        let mut names = String::new();
        for name in fields.texts(name).iter().flat_map(|text| text.split(',')) {
            // devices and a second algorithm share one bit
            if name != "compr_head2" {
                names += name.strip_prefix('0').map_or(name, |_| "lz4_0padding");
                names.push(' ');
            }
        }
        names
    };
    let required = features("required features");
    let mut row = |name: &str, value: &str| {
        // writing to a string cannot fail
        let _ = writeln!(text, "{:<46}{value}", format!("Filesystem {name}:"));
    };
    row("magic number", "0xE0F5E1E2");
    row("blocksize", &facts.number("block size").to_string());
    let devices = facts.list("devices").iter().map(|device| match device {
        InfoValue::Map(device) => Facts(device).number("blocks"),
        _ => 0,
    });
    let blocks = devices.fold(facts.number("blocks"), u64::saturating_add);
    row("blocks", &blocks.to_string());
    let start = fields.number("metadata block");
    row("inode metadata start block", &start.to_string());
    let start = fields.number("attribute block");
    row("shared xattr metadata start block", &start.to_string());
    row("root nid", &fields.number("root").to_string());
    if let packed @ 1.. = fields.number("packed") {
        row("packed nid", &packed.to_string());
    }
    if required.contains("compr_cfgs") {
        row("compr_algs", &facts.texts("algorithms").join(", "));
    } else {
        let distance = if required.contains("lz4_0padding") {
            fields.number("lz4 distance")
        } else {
            0
        };
        row("lz4_max_distance", &distance.to_string());
    }
    row("sb_size", &fields.number("length").to_string());
    row("inode count", &facts.number("inodes").to_string());
    let time = i64::try_from(facts.number("build time")).unwrap_or(0);
    row("created", &calendar::ctime(time));
    row("compatible features", &features("compatible features"));
    row("incompatible features", &required);
    row("UUID", facts.text("uuid"));
    if !required.is_empty() {
        let version = facts.text("oldest Linux");
        let _ = writeln!(
            text,
            "{:<46}{version}",
            "Required upstream Linux kernel version:"
        );
    }
}

/// Formats a part of a whole in percent, as C does where the whole is nothing.
#[allow(clippy::cast_precision_loss, reason = "two digits are shown")]
fn percent(part: u64, whole: u64) -> String {
    match (part, whole) {
        (0, 0) => "-nan".to_owned(),
        (_, 0) => "inf".to_owned(),
        _ => format!("{:.2}", part as f64 * 100.0 / whole as f64),
    }
}

fn inode(text: &mut String, facts: Facts<'_>, path: &str) {
    let (size, stored) = (facts.number("size"), facts.number("stored bytes"));
    let letter = facts.text("type");
    let kind = TYPES.iter().find(|(one, _)| *one == letter);
    let kind = kind.map_or("unknown", |(_, name)| name);
    let mode = u16::try_from(facts.number("mode") & 0o777).unwrap_or(0);
    let (secs, nanos) = facts.text("time").split_once('.').unwrap_or(("0", "0"));
    let time = calendar::utc_seconds(secs.parse().unwrap_or(0));
    text.push_str(&format!(
        "Path : {path}\nSize: {size}  On-disk size: {stored}  {kind}\nNID: {}   Links: {}   \
         Layout: {}   Compression ratio: {}%\nInode size: {}   Xattr size: {}\nUid: {}   \
         Gid: {}  Access: {mode:04o}/{}\nTimestamp: {time}.{nanos}\n",
        facts.number("nid"),
        facts.number("links"),
        facts.number("layout"),
        percent(stored, size),
        facts.number("inode bytes"),
        facts.number("attribute bytes"),
        facts.number("uid"),
        facts.number("gid"),
        permissions(mode),
    ));
}

fn entries(text: &mut String, facts: Facts<'_>) {
    text.push_str("\n       NID TYPE  FILENAME\n");
    for entry in facts.list("entries") {
        if let InfoValue::Map(entry) = entry {
            let entry = Facts(entry);
            let (nid, kind) = (entry.number("nid"), entry.number("type"));
            let _ = writeln!(text, "{nid:>10} {kind:>4}  {}", entry.text("name"));
        }
    }
}

fn extents(text: &mut String, facts: Facts<'_>, path: &str) {
    text.push_str("\n Ext:   logical offset   |  length :     physical offset    |  length\n");
    let all = facts.list("extents");
    for (number, extent) in all.iter().enumerate() {
        if let InfoValue::Map(extent) = extent {
            let extent = Facts(extent);
            let (start, len) = (extent.number("start"), extent.number("length"));
            let (at, stored) = (extent.number("offset"), extent.number("stored bytes"));
            let device = match extent.number("device") {
                0 => String::new(),
                device => format!("  # device {device}"),
            };
            let (end, stored_end) = (start.saturating_add(len), at.saturating_add(stored));
            let _ = writeln!(
                text,
                "{number:>4}: {start:>8}..{end:>8} | {len:>7} : {at:>10}..{stored_end:>10} | \
                 {stored:>7}{device}"
            );
        }
    }
    let _ = writeln!(text, "{path}: {} extents found", all.len());
}

/// Numbers of files, and their bytes.
#[derive(Default)]
struct FileCounts {
    of_type: [u64; 7],
    compressed: u64,
    original: u64,
    stored: u64,
    original_sizes: [u64; SIZES.len() + 1],
    stored_sizes: [u64; SIZES.len() + 1],
    extensions: [u64; EXTENSIONS.len() + 1],
}

impl FileCounts {
    fn add(&mut self, kind: FileType, facts: Facts<'_>, path: &[u8]) {
        let index = TYPES
            .iter()
            .position(|(letter, _)| *letter == kind.letter().to_string());
        if let Some(count) = index.and_then(|index| self.of_type.get_mut(index)) {
            *count += 1;
        }
        if kind != FileType::File {
            return;
        }
        let size = facts.number("size");
        // sizes are what the image says
        self.original = self.original.saturating_add(size);
        count_size(&mut self.original_sizes, size);
        self.add_stored(facts);
        // as there, `.x` counts as `.xml`
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        let dot = name.iter().rposition(|&byte| byte == b'.');
        let end = dot.and_then(|dot| name.get(dot..));
        let is_begun = |one: &&str| end.is_some_and(|end| one.as_bytes().starts_with(end));
        let known = EXTENSIONS.iter().position(is_begun);
        let index = known.unwrap_or(EXTENSIONS.len());
        self.extensions
            .get_mut(index)
            .into_iter()
            .for_each(|count| *count += 1);
    }

    /// Adds what is stored, which the packed inode has as well.
    fn add_stored(&mut self, facts: Facts<'_>) {
        let stored = facts.number("stored bytes");
        self.compressed += u64::from(matches!(facts.number("layout"), 1 | 3));
        self.stored = self.stored.saturating_add(stored);
        count_size(&mut self.stored_sizes, stored);
    }
}

fn count_size(rows: &mut [u64; SIZES.len() + 1], size: u64) {
    let row = SIZES.iter().position(|end| size < end << 10);
    let count = rows.get_mut(row.unwrap_or(SIZES.len()));
    count.into_iter().for_each(|count| *count += 1);
}

fn statistics(text: &mut String, image: &Image, unread: &mut Unread) -> Result<()> {
    let raw = &**image.raw();
    let root = raw.info().root;
    let mut counts = FileCounts::default();
    let of = |ino: Ino| Ok::<_, Error>(image.inode_info(ino)?.unwrap_or_default());
    let of_root = of(root)?;
    counts.add(FileType::Directory, Facts(&of_root), b"");
    let options = ListOptions {
        recursive: true,
        itself: false,
    };
    list(raw, root, b"", options, unread, &mut |row| {
        counts.add(row.kind, Facts(&of(row.ino)?), &row.path);
        Ok(WalkStep::On)
    })?;
    let all: u64 = counts.of_type.iter().sum();
    let uncompressed = all - counts.compressed;
    if let Some(packed) = packed(Facts(&of_root)) {
        counts.add_stored(Facts(&of(packed)?));
    }
    let [files, directories, chars, blocks, fifos, sockets, symlinks] = counts.of_type;
    text.push_str(&format!(
        "Filesystem total file count:\t\t{all}\nFilesystem unknown type count:\t\t0\nFilesystem \
         regular file count:\t\t{files}\nFilesystem directory count:\t\t{directories}\nFilesystem \
         char dev count:\t\t{chars}\nFilesystem block dev count:\t\t{blocks}\nFilesystem FIFO file \
         count:\t\t{fifos}\nFilesystem SOCK file count:\t\t{sockets}\nFilesystem symlink file \
         count:\t\t{symlinks}\nFilesystem compressed files:            {}\nFilesystem uncompressed \
         files:          {}\nFilesystem total original file size:    {} Bytes\nFilesystem total \
         file size:             {} Bytes\nFilesystem compress rate:               {}%\n",
        counts.compressed,
        uncompressed,
        counts.original,
        counts.stored,
        percent(counts.stored, counts.original),
    ));
    for (title, sizes) in [
        ("Original", &counts.original_sizes),
        ("On-disk", &counts.stored_sizes),
    ] {
        let _ = writeln!(
            text,
            "\n{title} file size distribution:\n{:<23}{:>5}{:>17} |{:<50}|",
            ">=(KB) .. <(KB)", "count", "ratio", "distribution"
        );
        let mut from = 0;
        for (number, &count) in sizes.iter().enumerate() {
            let end = SIZES.get(number);
            let range = match end {
                Some(end) => format!("{from:>6} .. {end:<6}"),
                None => format!("{from:>6} ..       "),
            };
            distribution(text, &range, count, files);
            from = end.copied().unwrap_or(from);
        }
    }
    let _ = writeln!(
        text,
        "\nFile type distribution:\n{:<23}{:>5}{:>17} |{:<50}|",
        "type", "count", "ratio", "distribution"
    );
    let names = EXTENSIONS.iter().copied().chain(["others"]);
    for (name, &count) in names.zip(&counts.extensions) {
        distribution(text, &format!("{name:<17}"), count, files);
    }
    Ok(())
}

/// Adds a row of a distribution.
fn distribution(text: &mut String, name: &str, count: u64, all: u64) {
    let ratio = if all == 0 {
        "0.00".to_owned()
    } else {
        percent(count, all)
    };
    let marks = usize::try_from((count * 50).checked_div(all).unwrap_or(0)).unwrap_or(0);
    let bar = "#".repeat(marks);
    let _ = writeln!(text, "{name}\t{count:<8} {ratio:>11}% |{bar:<50}|");
}
