//! The options of mkfs.erofs 1.9, translated to options of `sinter build -f erofs`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::mkfs_erofs_options::RULES;
use super::parsed::{Parsed, with_value};
use super::table::{Style, Tool};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "mkfs.erofs",
    usage: "[OPTIONS] IMAGE DIR|TAR",
    about: "\
Packs a directory or a tar archive into an EROFS image, as `sinter build -f erofs` does, for the
oldest Linux that supports the requested features. Without -z nothing is compressed, without -C
physical clusters have 4 KiB. The time of creation is recorded only if -T or SOURCE_DATE_EPOCH is
given, and the UUID is derived from the content, so equal trees give equal images. Each line shows
the equivalent option of `sinter build`.",
    style: Style::Getopt,
    help: &["-h", "-help"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

const NO_OTHER: &str = "the smaller layout is always chosen";
const ONCE: &str = "equal files are always stored once";

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image, source] = operands(&mut parsed)?;
    let former = former_image(&parsed, &image)?;
    let layout = Layout::new(&mut parsed)?;
    parsed.push(
        "--target-kernel",
        format!("{}.{}", layout.least.0, layout.least.1),
    );
    parsed.push("--compression", &layout.compression);
    if layout.compression != "none" {
        parsed.push("--block-size", layout.cluster.to_string());
    }
    if !layout.extended.is_empty() {
        parsed.push("--extended", layout.extended.join(","));
    }
    if let Some(size) = parsed.text("--chunksize")? {
        let size = values::bytes("--chunksize", size)?;
        parsed.push("--chunk-size", size.to_string());
    }
    for (theirs, ours) in [
        ("--blobdev", "--blob-device"),
        ("--xattr-prefix", "--xattr-prefix"),
    ] {
        let values: Vec<OsString> = parsed.values(theirs).map(OsString::from).collect();
        values
            .into_iter()
            .for_each(|value| parsed.push(ours, value));
    }
    times(&mut parsed)?;
    simple_options(&mut parsed)?;
    excludes(&mut parsed, Path::new(&source))?;
    hints(&mut parsed)?;
    let mut words: Vec<OsString> = vec!["build".into(), "--format=erofs".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.push(with_value("--output", &image));
    if former {
        words.extend(["--whiteouts=none".into(), "--".into(), image, source]);
    } else {
        words.extend(["--".into(), source]);
    }
    Ok(words)
}

/// Returns whether the image that exists is the lower layer of the new one.
fn former_image(parsed: &Parsed, image: &OsStr) -> Result<bool> {
    for (name, only) in [
        ("--clean", &["", "data"][..]),
        ("--incremental", &["", "data"]),
    ] {
        if let Some(mode) = parsed.text(name)?
            && !only.contains(&mode)
        {
            let what = format!("{name}={mode}: an image has all data of its files ({name}=data)");
            return Err(Error::unsupported(what));
        }
    }
    let adds = parsed.is_given("--incremental");
    if adds && !Path::new(image).exists() {
        let what = "--incremental adds to an image that exists";
        return Err(Error::invalid(what).path(Path::new(image)));
    }
    Ok(adds)
}

/// Returns the image and the source.
fn operands(parsed: &mut Parsed) -> Result<[OsString; 2]> {
    if parsed.values("--ungzip").any(|value| !value.is_empty()) {
        let typed = parsed.typed("--ungzip");
        let what = format!("{typed}=X: the decompressed archive is not written elsewhere");
        return Err(Error::unsupported(what));
    }
    match parsed.text("--sort")? {
        None | Some("path" | "none") => {}
        Some(other) => {
            let what = format!("--sort={other}: path and none are known");
            return Err(Error::invalid(what));
        }
    }
    let Some(kind) = parsed.text("--tar")? else {
        return parsed.two_operands("the image and the directory are missing");
    };
    if !matches!(kind, "" | "-" | "f" | "i") {
        let what = format!(
            "--tar={kind}: an archive has the data of its files: f packs it, i refers to it"
        );
        return Err(Error::unsupported(what));
    }
    parsed.push_flag("--empty-archive");
    if let [image] = &*parsed.operands {
        return Ok([image.clone(), "-".into()]);
    }
    parsed.two_operands("the image is missing")
}

/// Translates a file of hints: lines of a cluster size, optionally the number of an algorithm,
/// and a regular expression of absolute paths.
fn hints(parsed: &mut Parsed) -> Result<()> {
    let Some(file) = parsed.values("--compress-hints").last().map(OsString::from) else {
        return Ok(());
    };
    let file = Path::new(&file);
    let mut has_sizes = false;
    for line in values::lines_of(file)? {
        let text = String::from_utf8_lossy(&line).into_owned();
        let wrong = || {
            let what = format!("--compress-hints: `{text}` is not SIZE [ALGORITHM] REGEX");
            Error::invalid(what).path(file)
        };
        let words: Vec<&str> = text.split_whitespace().collect();
        let (size, expression) = match words[..] {
            [size, expression] => (size, expression),
            [size, algorithm, expression] if algorithm.parse::<u8>().is_ok() => (size, expression),
            _ => return Err(wrong()),
        };
        let size: u64 = size.parse().map_err(|_| wrong())?;
        if size > 0 {
            has_sizes = true;
        } else if expression.contains('"') {
            let what = "--compress-hints: quotes in expressions are not supported";
            return Err(Error::unsupported(what).path(file));
        } else {
            let action = format!("uncompressed@path_regex(\"{expression}\")");
            parsed.push("--action", action);
        }
    }
    if has_sizes {
        let note = "mkfs.erofs --compress-hints: sizes have no effect here: -C sets the size for \
                    all files";
        parsed.notes.borrow_mut().push(note.to_owned());
    }
    Ok(())
}

/// Translates what is left out.
fn excludes(parsed: &mut Parsed, source: &Path) -> Result<()> {
    let values = |name| parsed.values(name).map(OsString::from).collect::<Vec<_>>();
    let (paths, expressions) = (values("--exclude-path"), values("--exclude-regex"));
    for path in paths {
        let relative = if names::bytes(&path).starts_with(b"/") {
            values::relative_to(source, &path)?
        } else {
            names::bytes(&path).into_owned()
        };
        let pattern = values::literal_pattern(&relative);
        parsed.push("--exclude", values::os_string(pattern));
    }
    for expression in expressions {
        parsed.push("--exclude-regex", expression);
    }
    Ok(())
}

/// The options that decide about the layout.
struct Layout {
    compression: String,
    cluster: u64,
    extended: Vec<String>,
    /// The oldest Linux that supports it, as major and minor version.
    least: (u32, u32),
}

impl Layout {
    fn new(parsed: &mut Parsed) -> Result<Self> {
        let (compression, least) = compression(parsed)?;
        let cluster = values::bytes("-C", parsed.text("-C")?.unwrap_or("4096"))?;
        let mut layout = Self {
            compression,
            cluster,
            extended: Vec::new(),
            least,
        };
        if cluster > 4096 {
            layout.needs((5, 15));
        }
        if parsed.text("--tar")? == Some("i") {
            layout.index(parsed)?;
        } else if let Some(size) = parsed.text("-b")?.filter(|size| *size != "4096") {
            if !["512", "1024", "2048"].contains(&size) {
                let what = format!(
                    "-b {size}: blocks of 512, 1024, 2048 and 4096 bytes are supported; -C sets \
                     the cluster size"
                );
                return Err(Error::unsupported(what));
            }
            layout.extended.push(format!("block={size}"));
            layout.needs((6, 6));
        }
        let words = parsed
            .values("-E")
            .map(|list| list.to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let words = || words.iter().flat_map(|list| list.split(','));
        let mut notes = Vec::new();
        for word in words() {
            match word {
                "dedupe" | "fragments" | "all-fragments" => layout.needs((6, 1)),
                "ztailpacking" => layout.needs((5, 17)),
                "legacy-compress" if layout.compression != "none" => {
                    layout.extended.push(word.to_owned());
                }
                "legacy-compress" => notes.push(format!(
                    "mkfs.erofs -E {word} has no effect here: nothing is compressed"
                )),
                "48bit" => layout.needs((6, 15)),
                "^dedupe" | "^fragments" | "^all-fragments" | "^ztailpacking" | "^48bit" => {}
                "^inline_data" | "noinline_data" => {
                    layout.extended.push("^inline_data".to_owned());
                }
                "inline_data" => {}
                "xattr-name-filter" | "plain-xattr-prefixes" => notes.push(format!(
                    "mkfs.erofs -E {word} has no effect here: that is so where it is of use"
                )),
                "nosbcrc" => notes.push(format!(
                    "mkfs.erofs -E {word} has no effect here: the checksum is always there"
                )),
                "force-inode-compact"
                | "force-inode-extended"
                | "force-inode-blockmap"
                | "force-chunk-indexes"
                | "dot-omitted" => {
                    notes.push(format!(
                        "mkfs.erofs -E {word} has no effect here: {NO_OTHER}"
                    ));
                }
                "fragdedupe" | "^fragdedupe" => {
                    notes.push(format!("mkfs.erofs -E {word} has no effect here: {ONCE}"));
                }
                _ if word.starts_with("fragments=") || word.starts_with("all-fragments=") => {
                    layout.needs((6, 1));
                    notes.push(format!(
                        "mkfs.erofs -E {word}: the size has no effect here: -C sets it"
                    ));
                }
                _ if word.starts_with("fragdedupe=") => {
                    notes.push(format!("mkfs.erofs -E {word} has no effect here: {ONCE}"));
                }
                _ => {
                    let what = format!(
                        "-E {word} is not supported, only dedupe, fragments, all-fragments, \
                         ztailpacking, legacy-compress and 48bit"
                    );
                    return Err(Error::unsupported(what));
                }
            }
        }
        for (option, version) in [
            ("--chunksize", (5, 15)),
            ("--blobdev", (5, 17)),
            ("--xattr-prefix", (6, 6)),
        ] {
            if parsed.is_given(option) {
                layout.needs(version);
            }
        }
        // features that newer targets enable by default are enabled only on request a size may
        // follow the name
        let is = |word: &str, name: &str| word.split('=').next() == Some(name);
        let packs_all = words().any(|enabled| is(enabled, "all-fragments"));
        if packs_all {
            layout.extended.push("all-fragments".to_owned());
        }
        for (word, since) in [("fragments", (6, 1)), ("ztailpacking", (5, 17))] {
            if packs_all {
                // includes fragments, and leaves no tails to pack
            } else if words().any(|enabled| is(enabled, word)) {
                layout.extended.push(word.to_owned());
            } else if layout.least >= since {
                layout.extended.push(format!("^{word}"));
            }
        }
        if words().any(|enabled| enabled == "dedupe") {
            layout.extended.push("dedupe".to_owned());
        }
        parsed.notes.borrow_mut().append(&mut notes);
        Ok(layout)
    }

    /// Makes an index of an archive, whose members are in blocks of 512 bytes.
    fn index(&mut self, parsed: &Parsed) -> Result<()> {
        if parsed.text("-b")?.is_some_and(|size| size != "512") || self.compression != "none" {
            let what = "--tar=i: an index refers to blocks of 512 bytes, which are not compressed";
            return Err(Error::invalid(what));
        }
        self.extended
            .extend(["block=512".to_owned(), "index".to_owned()]);
        self.needs((6, 6));
        Ok(())
    }

    fn needs(&mut self, version: (u32, u32)) {
        self.least = self.least.max(version);
    }
}

/// Returns the codec with its options, and the oldest Linux that supports it.
fn compression(parsed: &Parsed) -> Result<(String, (u32, u32))> {
    let Some(text) = parsed.text("-z")? else {
        return Ok(("none".to_owned(), (5, 4)));
    };
    let (text, others) = text.split_once(':').unwrap_or((text, ""));
    let mut notes = parsed.notes.borrow_mut();
    if !others.is_empty() {
        notes.push(format!(
            "mkfs.erofs -z: {others} has no effect here: all files have the first codec"
        ));
    }
    let (codec, options) = text.split_once(',').unwrap_or((text, ""));
    let mut level = None;
    for option in options.split(',').filter(|option| !option.is_empty()) {
        let name = option.split('=').next().unwrap_or_default();
        if matches!(name, "dictsize" | "lc" | "lp" | "pb") {
            notes.push(format!(
                "mkfs.erofs -z {option} has no effect here: the encoder chooses its parameters"
            ));
            continue;
        }
        let number = option.strip_prefix("level=").unwrap_or(option);
        if number.parse::<u32>().is_err() {
            let what = format!("-z {text}: `{option}` is not supported, only level=N");
            return Err(Error::unsupported(what));
        }
        level = Some(number);
    }
    // the extreme presets: the encoder here has no others
    let plain = level.and_then(|level| level.strip_prefix("10"));
    let level = match (codec, plain) {
        ("lzma", Some("0")) => Some("1"),
        ("lzma", Some(digit)) if digit.len() == 1 => Some(digit),
        _ => level,
    };
    let (ours, default, least) = match codec {
        "lz4" => ("lz4", None, (5, 4)),
        "lz4hc" => ("lz4hc", Some("9"), (5, 4)),
        "lzma" => ("lzma", Some("6"), (6, 1)),
        "deflate" | "libdeflate" => ("deflate", Some("1"), (6, 6)),
        "zstd" => ("zstd", Some("3"), (6, 10)),
        _ => return Err(Error::invalid(format!("-z: unknown codec {codec}"))),
    };
    let compression = match level.or(default) {
        Some(level) => format!("{ours}:level={level}"),
        None => ours.to_owned(),
    };
    Ok((compression, least))
}

fn times(parsed: &mut Parsed) -> Result<()> {
    let ignores = parsed.is_given("--ignore-mtime");
    let Some(time) = parsed.text("-T")?.map(|time| time.trim().to_owned()) else {
        if ignores {
            parsed.push("--set-time", "now");
        }
        return if parsed.is_given("--mkfs-time") {
            Err(Error::invalid("--mkfs-time needs -T"))
        } else {
            Ok(())
        };
    };
    let time = values::time("-T", &time)?;
    parsed.push("--create-timestamp", &time);
    if ignores || !parsed.is_given("--mkfs-time") {
        parsed.push("--set-time", time);
    }
    Ok(())
}

/// Adds options that do not depend on the layout.
fn simple_options(parsed: &mut Parsed) -> Result<()> {
    match parsed.text("-x")? {
        Some(number) if number.starts_with('-') => parsed.translated.push("--no-xattrs".into()),
        Some(number) if number.parse::<u32>().is_ok() => {
            let note = format!("mkfs.erofs -x has no effect here: {NO_OTHER}");
            parsed.notes.borrow_mut().push(note);
        }
        Some(number) => {
            let what = format!("-x: `{number}` is not a number");
            return Err(Error::invalid(what));
        }
        None => {}
    }
    if parsed
        .text("-d")?
        .is_some_and(|level| level == "0" || level == "1")
    {
        parsed.push_flag("--quiet");
    }
    match parsed.text("-U")? {
        Some("clear") => parsed.push("--uuid", "00000000-0000-0000-0000-000000000000"),
        Some("random") => {
            let file = "/proc/sys/kernel/random/uuid";
            let uuid = std::fs::read_to_string(file);
            let uuid = uuid.map_err(|error| Error::io("cannot read", error).path(file))?;
            parsed.push("--uuid", uuid.trim());
        }
        Some(uuid) => {
            let uuid = uuid.to_owned();
            parsed.push("--uuid", uuid);
        }
        None => {}
    }
    match parsed.text("--ovlfs-strip")? {
        Some("" | "1") => parsed.push_flag("--ovlfs-strip"),
        None | Some("0") => {}
        Some(other) => {
            let what = format!("--ovlfs-strip={other}: 0 and 1 are known");
            return Err(Error::invalid(what));
        }
    }
    if let Some(path) = parsed.values("--mount-point").last().map(OsString::from)
        && parsed
            .translated
            .iter()
            .any(|word| names::bytes(word).starts_with(b"--file-contexts="))
    {
        parsed.push("--mount-point", path);
    }
    if let Some(size) = parsed.text("--offset")? {
        let size = values::bytes("--offset", size)?;
        parsed.push("--header-size", size.to_string());
    }
    let offsets = (parsed.text("--uid-offset")?, parsed.text("--gid-offset")?);
    match offsets {
        (None, None) => Ok(()),
        (uid, gid) if uid == gid => {
            let offset = uid.unwrap_or_default().to_owned();
            parsed.push("--id-offset", offset);
            Ok(())
        }
        _ => Err(Error::unsupported(
            "--uid-offset and --gid-offset have to be equal; --id-offset adds one number to both",
        )),
    }
}
