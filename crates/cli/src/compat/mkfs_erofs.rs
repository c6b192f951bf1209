//! mkfs.erofs 1.9: its options as those of `sinter build -f erofs`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "mkfs.erofs",
    usage: "[OPTIONS] IMAGE DIR",
    about: "\
Packs a directory into an EROFS image, as `sinter build -f erofs` does, for the oldest Linux that reads what
is asked for: nothing is compressed without -z, clusters have 4 KiB without -C. The image does not tell when it
was made unless -T or SOURCE_DATE_EPOCH says so, and its UUID is made of its content, so that equal trees are
equal images. Beside each option is that of `sinter build` that it stands for.",
    style: Style::Getopt,
    help: &["-h", "-help"],
    version: &["-V"],
    rules: RULES,
    translate,
};

const NO_OTHER: &str = "the layout is chosen by what is smaller";

const RULES: &[Rule] = &[
    rule(
        &["-z"],
        "CODEC[,level=N]",
        Combined("--compression CODEC[:level=N]"),
    ),
    rule(&["-C"], "BYTES", Combined("--block-size")),
    rule(
        &["-b"],
        "4096",
        Combined("blocks have 4096 bytes; nothing else is taken"),
    ),
    rule(
        &["-E"],
        "X,..",
        Combined("--extended: dedupe, fragments, all-fragments, ztailpacking"),
    ),
    rule(&["-L"], "NAME", Same("--label")),
    rule(&["-U"], "UUID", Same("--uuid")),
    rule(
        &["-T"],
        "SECONDS",
        Combined("--create-timestamp=SECONDS --set-time SECONDS"),
    ),
    rule(&["--mkfs-time"], "", Combined("with -T: no --set-time")),
    rule(&["--all-time"], "", Already("unless --mkfs-time")),
    rule(&["--preserve-mtime"], "", Already("unless -T")),
    rule(&["-x"], "-1", Combined("--no-xattrs")),
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
        &["--exclude-regex"],
        "X",
        Refused("`sinter build --exclude` takes globs, --exclude-path paths"),
    ),
    rule(
        &["--ignore-mtime"],
        "",
        Refused("-T SECONDS gives all files that time"),
    ),
    rule(
        &["--offset"],
        "N",
        Refused("`sinter build --header FILE` puts a file before the image"),
    ),
    rule(
        &["--tar"],
        "X",
        Refused("`sinter build -f erofs TAR -o IMAGE`"),
    ),
    rule(
        &["--hard-dereference"],
        "",
        Refused("names of one file are one inode in all images"),
    ),
    rule(
        &["--max-extent-bytes"],
        "N",
        Refused("-C bounds what one cluster decodes to"),
    ),
    rule(&["--file-contexts"], "FILE", Same("--file-contexts")),
    rule(
        &["--mount-point"],
        "X",
        Refused("--file-contexts takes paths from the root of the image"),
    ),
    rule(
        &["--compress-hints"],
        "FILE",
        Refused("one codec and one size are for all files"),
    ),
    rule(
        &["--incremental"],
        "X",
        Refused("`sinter merge` makes one image of several"),
    ),
    rule(
        &["--clean"],
        "X",
        Refused("an image is always made anew, with all content"),
    ),
    rule(&["-m"], "N", Refused("metadata is never compressed")),
    rule(
        &["--MZ"],
        "[=X]",
        Refused("metadata has no zone of its own"),
    ),
    rule(
        &["--zD"],
        "[=X]",
        Refused("directories are never compressed"),
    ),
    rule(
        &["--dsunit"],
        "N",
        Refused("content begins at any block of 4096 bytes"),
    ),
    rule(
        &["--fsalignblks"],
        "N",
        Refused("images have any number of blocks; truncate(1) makes them longer"),
    ),
    rule(
        &["--root-xattr-isize"],
        "N",
        Refused("attributes of the root have the room that they need"),
    ),
    rule(
        &["--zfeature-bits"],
        "N",
        Refused("-E names the features to use"),
    ),
    rule(
        &["--ovlfs-strip"],
        "[=X]",
        Refused("whiteouts and opaque directories are kept as they are"),
    ),
    rule(
        &["--aufs"],
        "",
        Refused("whiteouts of AUFS are kept as the files that they are"),
    ),
    rule(&["--s3"], "X", Refused("download the source first")),
    rule(
        &["--oci"],
        "[=X]",
        Refused("`sinter build LAYOUT -o IMAGE` takes a downloaded OCI layout"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [image, source] = parsed.two_operands("an image and a directory have to be named")?;
    let asked = Asked::of(&parsed)?;
    parsed.push(
        "--target-kernel",
        format!("{}.{}", asked.least.0, asked.least.1),
    );
    parsed.push("--compression", &asked.compression);
    if asked.compression != "none" {
        parsed.push("--block-size", asked.cluster.to_string());
    }
    if !asked.extended.is_empty() {
        parsed.push("--extended", asked.extended.join(","));
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
    small(&mut parsed)?;
    let source_path = Path::new(&source);
    let excluded: Vec<OsString> = parsed
        .values("--exclude-path")
        .map(OsString::from)
        .collect();
    for path in excluded {
        let below = match path.as_bytes().starts_with(b"/") {
            true => values::below(source_path, &path)?,
            false => path.as_bytes().to_vec(),
        };
        parsed.push("--exclude", values::system(values::literal(&below)));
    }
    let mut words: Vec<OsString> = vec!["build".into(), "--format=erofs".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), source]);
    Ok(words)
}

/// What decides about the layout.
struct Asked {
    compression: String,
    cluster: u64,
    extended: Vec<String>,
    /// The oldest Linux that reads it, as a pair of numbers.
    least: (u32, u32),
}

impl Asked {
    fn of(parsed: &Parsed) -> Result<Self> {
        if parsed.text("-b")?.is_some_and(|size| size != "4096") {
            let what = "-b: blocks have 4096 bytes; -C is the size of clusters";
            return Err(Error::unsupported(what));
        }
        let (compression, least) = compression(parsed.text("-z")?)?;
        let cluster = values::bytes("-C", parsed.text("-C")?.unwrap_or("4096"))?;
        let mut asked = Self {
            compression,
            cluster,
            extended: Vec::new(),
            least,
        };
        if cluster > 4096 {
            asked.needs((5, 15));
        }
        let words = parsed
            .values("-E")
            .map(|list| list.to_string_lossy().into_owned());
        let words: Vec<String> = words.collect();
        let words = || words.iter().flat_map(|list| list.split(','));
        for word in words() {
            match word {
                "dedupe" | "fragments" | "all-fragments" => asked.needs((6, 1)),
                "ztailpacking" => asked.needs((5, 17)),
                _ => {
                    let what = format!(
                        "-E {word}: {NO_OTHER}; --extended has dedupe, fragments, all-fragments and \
                         ztailpacking"
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
                asked.needs(version);
            }
        }
        // what newer targets have by default is asked for, or it is not there
        let packs_all = words().any(|asked| asked == "all-fragments");
        if packs_all {
            asked.extended.push("all-fragments".to_owned());
        }
        for (word, since) in [("fragments", (6, 1)), ("ztailpacking", (5, 17))] {
            if packs_all {
                // has what the first is, and leaves nothing for the second
            } else if words().any(|asked| asked == word) {
                asked.extended.push(word.to_owned());
            } else if asked.least >= since {
                asked.extended.push(format!("^{word}"));
            }
        }
        if words().any(|asked| asked == "dedupe") {
            asked.extended.push("dedupe".to_owned());
        }
        Ok(asked)
    }

    fn needs(&mut self, version: (u32, u32)) {
        self.least = self.least.max(version);
    }
}

/// Returns the codec with its options, and the oldest Linux that has it.
fn compression(text: Option<&str>) -> Result<(String, (u32, u32))> {
    let Some(text) = text else {
        return Ok(("none".to_owned(), (5, 4)));
    };
    if text.contains(':') {
        let what = "-z: one codec is for all files";
        return Err(Error::unsupported(what));
    }
    let (codec, options) = text.split_once(',').unwrap_or((text, ""));
    let mut level = None;
    for option in options.split(',').filter(|option| !option.is_empty()) {
        let number = option.strip_prefix("level=").unwrap_or(option);
        if number.parse::<u32>().is_err() {
            let what = format!("-z {text}: of `{option}` nothing is known; there is level=N");
            return Err(Error::unsupported(what));
        }
        level = Some(number);
    }
    let (ours, default, least) = match codec {
        "lz4" => ("lz4", None, (5, 4)),
        "lz4hc" => ("lz4hc", Some("9"), (5, 4)),
        "lzma" => ("lzma", Some("6"), (6, 1)),
        "deflate" | "libdeflate" => ("deflate", Some("1"), (6, 6)),
        "zstd" => ("zstd", Some("3"), (6, 10)),
        _ => return Err(Error::invalid(format!("-z: there is no codec {codec}"))),
    };
    let compression = match level.or(default) {
        Some(level) => format!("{ours}:level={level}"),
        None => ours.to_owned(),
    };
    Ok((compression, least))
}

fn times(parsed: &mut Parsed) -> Result<()> {
    let Some(time) = parsed.text("-T")?.map(str::to_owned) else {
        return match parsed.is_given("--mkfs-time") {
            true => Err(Error::invalid("--mkfs-time says what -T is for")),
            false => Ok(()),
        };
    };
    let time = values::time("-T", &time)?;
    parsed.push("--create-timestamp", time);
    if !parsed.is_given("--mkfs-time") {
        parsed.push("--set-time", time);
    }
    Ok(())
}

/// Adds what is one word.
fn small(parsed: &mut Parsed) -> Result<()> {
    match parsed.text("-x")? {
        Some(number) if number.starts_with('-') => parsed.translated.push("--no-xattrs".into()),
        Some(_) => {
            let what = format!("-x: {NO_OTHER}; -x-1 leaves attributes out");
            return Err(Error::unsupported(what));
        }
        None => {}
    }
    if parsed
        .text("-d")?
        .is_some_and(|level| level == "0" || level == "1")
    {
        parsed.push_flag("--quiet");
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
            "--uid-offset and --gid-offset: --id-offset adds one number to both",
        )),
    }
}
