//! The options of mkfs.erofs 1.9, translated to those of `sinter build -f erofs`.

use std::ffi::OsString;
use std::path::Path;

use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Noted, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
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

const RULES: &[Rule] = &[
    rule(
        &["-z"],
        "CODEC[,level=N]",
        Combined("--compression CODEC[:level=N]; levels 100 to 109 of lzma are 1 to 9"),
    ),
    rule(&["-C"], "BYTES", Combined("--block-size")),
    rule(&["-b"], "4096", Combined("the only supported block size")),
    rule(
        &["-E"],
        "X,..",
        Combined(
            "--extended: dedupe, fragments, all-fragments, ztailpacking; without an effect: \
             nosbcrc, force-inode-compact, force-inode-extended, force-chunk-indexes, fragdedupe=X",
        ),
    ),
    rule(&["-L"], "NAME", Same("--label")),
    rule(&["-U"], "UUID", Same("--uuid")),
    rule(
        &["-T"],
        "SECONDS",
        Combined("--create-timestamp=SECONDS --set-time SECONDS"),
    ),
    rule(
        &["--mkfs-time"],
        "",
        Combined("with -T: only --create-timestamp"),
    ),
    rule(&["--all-time"], "", Already("unless --mkfs-time")),
    rule(&["--preserve-mtime"], "", Already("unless -T")),
    rule(
        &["-x"],
        "N",
        Combined("-1: --no-xattrs; others have no effect: the smaller layout is always chosen"),
    ),
    rule(
        &["--ignore-mtime"],
        "",
        Combined("--set-time, to -T or the current time"),
    ),
    rule(&["--exclude-regex"], "REGEX", Combined("--exclude-regex")),
    rule(&["--offset"], "N", Combined("--header-size")),
    rule(
        &["--tar"],
        "[=f]",
        Combined("the source is an archive, or without one standard input"),
    ),
    rule(&["-d"], "0..9", Combined("0 and 1: --quiet")),
    rule(&["--quiet"], "", Same("--quiet")),
    rule(&["--all-root"], "", Same("--all-root")),
    rule(&["--force-uid"], "UID", Same("--set-owner")),
    rule(&["--force-gid"], "GID", Same("--set-group")),
    rule(
        &["--uid-offset"],
        "N",
        Combined("--id-offset, with the same --gid-offset"),
    ),
    rule(
        &["--gid-offset"],
        "N",
        Combined("--id-offset, with the same --uid-offset"),
    ),
    rule(&["--exclude-path"], "PATH", Combined("--exclude /PATH")),
    rule(&["--chunksize"], "BYTES", Combined("--chunk-size")),
    rule(&["--blobdev"], "FILE", Combined("--blob-device")),
    rule(&["--xattr-prefix"], "NAME", Combined("--xattr-prefix")),
    rule(&["--workers"], "N", Same("--jobs")),
    rule(
        &["--async-queue-limit"],
        "N",
        Noted("--workers sets the number of threads"),
    ),
    rule(
        &["--hard-dereference"],
        "",
        Refused("hard links are always preserved"),
    ),
    rule(
        &["--max-extent-bytes"],
        "N",
        Refused("-C limits the decoded size of a cluster"),
    ),
    rule(&["--file-contexts"], "FILE", Same("--file-contexts")),
    rule(
        &["--mount-point"],
        "X",
        Refused("--file-contexts matches paths from the root of the image"),
    ),
    rule(
        &["--compress-hints"],
        "FILE",
        Refused("all files have the same codec and cluster size"),
    ),
    rule(
        &["--incremental"],
        "X",
        Refused("`sinter merge` combines several images into one"),
    ),
    rule(
        &["--clean"],
        "X",
        Refused("images are always written from scratch, with all data"),
    ),
    rule(&["-m"], "N", Refused("metadata is never compressed")),
    rule(&["--MZ"], "[=X]", Refused("metadata has no separate zone")),
    rule(
        &["--zD"],
        "[=X]",
        Refused("directories are never compressed"),
    ),
    rule(
        &["--dsunit"],
        "N",
        Refused("data is aligned to blocks of 4096 bytes"),
    ),
    rule(
        &["--fsalignblks"],
        "N",
        Refused("images are not padded; truncate(1) extends them"),
    ),
    rule(
        &["--root-xattr-isize"],
        "N",
        Refused("the root has room for exactly its extended attributes"),
    ),
    rule(
        &["--zfeature-bits"],
        "N",
        Refused("-E selects features by name"),
    ),
    rule(
        &["--ovlfs-strip"],
        "[=X]",
        Refused("whiteouts and opaque directories are stored unchanged"),
    ),
    rule(
        &["--aufs"],
        "",
        Refused("whiteouts of AUFS are stored as regular files"),
    ),
    rule(&["--s3"], "X", Refused("download the source first")),
    rule(
        &["--oci"],
        "[=X]",
        Refused("`sinter build LAYOUT -o IMAGE` packs a downloaded OCI layout"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image, source] = operands(&mut parsed)?;
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
    let mut words: Vec<OsString> = vec!["build".into(), "--format=erofs".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), source]);
    Ok(words)
}

/// Returns the image and the source.
fn operands(parsed: &mut Parsed) -> Result<[OsString; 2]> {
    let Some(kind) = parsed.text("--tar")? else {
        return parsed.two_operands("the image and the directory are missing");
    };
    if !matches!(kind, "" | "f") {
        let what = format!("--tar={kind}: an image holds all data (--tar=f)");
        return Err(Error::unsupported(what));
    }
    if let [image] = &*parsed.operands {
        return Ok([image.clone(), "-".into()]);
    }
    parsed.two_operands("the image is missing")
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
        if parsed.text("-b")?.is_some_and(|size| size != "4096") {
            let what = "-b: only blocks of 4096 bytes are supported; -C sets the cluster size";
            return Err(Error::unsupported(what));
        }
        let (compression, least) = compression(parsed.text("-z")?)?;
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
                "nosbcrc" => notes.push(format!(
                    "mkfs.erofs -E {word} has no effect here: the checksum is always there"
                )),
                "force-inode-compact" | "force-inode-extended" | "force-chunk-indexes" => {
                    notes.push(format!(
                        "mkfs.erofs -E {word} has no effect here: {NO_OTHER}"
                    ));
                }
                _ if word.starts_with("fragdedupe=") => {
                    notes.push(format!("mkfs.erofs -E {word} has no effect here: {ONCE}"));
                }
                _ => {
                    let what = format!(
                        "-E {word} is not supported, only dedupe, fragments, all-fragments and \
                         ztailpacking; Linux 5.4 is the oldest that reads the images"
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
        // features that newer targets enable by default are enabled only on request
        let packs_all = words().any(|enabled| enabled == "all-fragments");
        if packs_all {
            layout.extended.push("all-fragments".to_owned());
        }
        for (word, since) in [("fragments", (6, 1)), ("ztailpacking", (5, 17))] {
            if packs_all {
                // includes fragments, and leaves no tails to pack
            } else if words().any(|enabled| enabled == word) {
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

    fn needs(&mut self, version: (u32, u32)) {
        self.least = self.least.max(version);
    }
}

/// Returns the codec with its options, and the oldest Linux that supports it.
fn compression(text: Option<&str>) -> Result<(String, (u32, u32))> {
    let Some(text) = text else {
        return Ok(("none".to_owned(), (5, 4)));
    };
    if text.contains(':') {
        let what = "-z: only one codec is supported, for all files";
        return Err(Error::unsupported(what));
    }
    let (codec, options) = text.split_once(',').unwrap_or((text, ""));
    let mut level = None;
    for option in options.split(',').filter(|option| !option.is_empty()) {
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
    let Some(time) = parsed.text("-T")?.map(str::to_owned) else {
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
    parsed.push("--create-timestamp", time);
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
