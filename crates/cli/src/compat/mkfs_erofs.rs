//! mkfs.erofs 1.9: its options as those of `sinter build -f erofs`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sinterfs::{Error, Result};

use super::scan::{Said, with_value};
use super::table::Does::{Already, Noted, Refused, Same};
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
    finish,
};

const NO_OTHER: &str = "the layout is chosen by what is smaller";

const RULES: &[Rule] = &[
    rule(
        &["-z"],
        "CODEC[,level=N]",
        Noted("--compression CODEC[:level=N]"),
    ),
    rule(&["-C"], "BYTES", Noted("--block-size")),
    rule(
        &["-b"],
        "4096",
        Noted("blocks have 4096 bytes; nothing else is taken"),
    ),
    rule(
        &["-E"],
        "X,..",
        Noted("--extended: dedupe, fragments, all-fragments, ztailpacking"),
    ),
    rule(&["-L"], "NAME", Same("--label")),
    rule(&["-U"], "UUID", Same("--uuid")),
    rule(
        &["-T"],
        "SECONDS",
        Noted("--create-timestamp=SECONDS --set-time SECONDS"),
    ),
    rule(&["--mkfs-time"], "", Noted("with -T: no --set-time")),
    rule(&["--all-time"], "", Already("unless --mkfs-time")),
    rule(&["--preserve-mtime"], "", Already("unless -T")),
    rule(&["-x"], "-1", Noted("--no-xattrs")),
    rule(&["-d"], "0..9", Noted("0 and 1: --quiet")),
    rule(&["--quiet"], "", Same("--quiet")),
    rule(&["--all-root"], "", Same("--all-root")),
    rule(&["--force-uid"], "UID", Same("--set-owner")),
    rule(&["--force-gid"], "GID", Same("--set-group")),
    rule(
        &["--uid-offset"],
        "N",
        Noted("--id-offset, with the same --gid-offset"),
    ),
    rule(
        &["--gid-offset"],
        "N",
        Noted("--id-offset, with the same --uid-offset"),
    ),
    rule(&["--exclude-path"], "PATH", Noted("--exclude /PATH")),
    rule(&["--chunksize"], "BYTES", Noted("--chunk-size")),
    rule(&["--blobdev"], "FILE", Noted("--blob-device")),
    rule(&["--xattr-prefix"], "NAME", Noted("--xattr-prefix")),
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

fn finish(mut said: Said) -> Result<Vec<OsString>> {
    let [image, source] = said.two_operands("an image and a directory have to be named")?;
    let asked = Asked::of(&said)?;
    said.say(
        "--target-kernel",
        format!("{}.{}", asked.least.0, asked.least.1),
    );
    said.say("--compression", &asked.compression);
    if asked.compression != "none" {
        said.say("--block-size", asked.cluster.to_string());
    }
    if !asked.extended.is_empty() {
        said.say("--extended", asked.extended.join(","));
    }
    if let Some(size) = said.text("--chunksize")? {
        let size = values::bytes("--chunksize", size)?;
        said.say("--chunk-size", size.to_string());
    }
    for (theirs, ours) in [
        ("--blobdev", "--blob-device"),
        ("--xattr-prefix", "--xattr-prefix"),
    ] {
        let values: Vec<OsString> = said.all(theirs).map(OsString::from).collect();
        values.into_iter().for_each(|value| said.say(ours, value));
    }
    times(&mut said)?;
    small(&mut said)?;
    let source_path = Path::new(&source);
    let excluded: Vec<OsString> = said.all("--exclude-path").map(OsString::from).collect();
    for path in excluded {
        let below = match path.as_bytes().starts_with(b"/") {
            true => values::below(source_path, &path)?,
            false => path.as_bytes().to_vec(),
        };
        said.say("--exclude", values::system(values::literal(&below)));
    }
    let mut words: Vec<OsString> = vec!["build".into(), "--format=erofs".into(), "--force".into()];
    words.append(&mut said.words);
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
    fn of(said: &Said) -> Result<Self> {
        if said.text("-b")?.is_some_and(|size| size != "4096") {
            let what = "-b: blocks have 4096 bytes; -C is the size of clusters";
            return Err(Error::unsupported(what));
        }
        let (compression, least) = compression(said.text("-z")?)?;
        let cluster = values::bytes("-C", said.text("-C")?.unwrap_or("4096"))?;
        let mut asked = Self {
            compression,
            cluster,
            extended: Vec::new(),
            least,
        };
        if cluster > 4096 {
            asked.needs((5, 15));
        }
        let words = said
            .all("-E")
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
            if said.has(option) {
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

fn times(said: &mut Said) -> Result<()> {
    let Some(time) = said.text("-T")?.map(str::to_owned) else {
        return match said.has("--mkfs-time") {
            true => Err(Error::invalid("--mkfs-time says what -T is for")),
            false => Ok(()),
        };
    };
    let time = values::time("-T", &time)?;
    said.say("--create-timestamp", time);
    if !said.has("--mkfs-time") {
        said.say("--set-time", time);
    }
    Ok(())
}

/// Adds what is one word.
fn small(said: &mut Said) -> Result<()> {
    match said.text("-x")? {
        Some(number) if number.starts_with('-') => said.words.push("--no-xattrs".into()),
        Some(_) => {
            let what = format!("-x: {NO_OTHER}; -x-1 leaves attributes out");
            return Err(Error::unsupported(what));
        }
        None => {}
    }
    if said
        .text("-d")?
        .is_some_and(|level| level == "0" || level == "1")
    {
        said.flag("--quiet");
    }
    let offsets = (said.text("--uid-offset")?, said.text("--gid-offset")?);
    match offsets {
        (None, None) => Ok(()),
        (uid, gid) if uid == gid => {
            let offset = uid.unwrap_or_default().to_owned();
            said.say("--id-offset", offset);
            Ok(())
        }
        _ => Err(Error::unsupported(
            "--uid-offset and --gid-offset: --id-offset adds one number to both",
        )),
    }
}
