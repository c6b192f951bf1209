//! The options of mkfs.erofs 1.9, translated to those of `sinter build -f erofs`.

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
Packs a directory into an EROFS image, as `sinter build -f erofs` does, for the oldest Linux that
supports the requested features. Without -z nothing is compressed, without -C physical clusters have
4 KiB. The time of creation is recorded only if -T or SOURCE_DATE_EPOCH is given, and the UUID is
derived from the content, so equal trees give equal images. Each line shows the equivalent option of
`sinter build`.",
    style: Style::Getopt,
    help: &["-h", "-help"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

const NO_OTHER: &str = "the smaller layout is always chosen";

const RULES: &[Rule] = &[
    rule(
        &["-z"],
        "CODEC[,level=N]",
        Combined("--compression CODEC[:level=N]"),
    ),
    rule(&["-C"], "BYTES", Combined("--block-size")),
    rule(&["-b"], "4096", Combined("the only supported block size")),
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
    rule(
        &["--mkfs-time"],
        "",
        Combined("with -T: only --create-timestamp"),
    ),
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
        Refused("--exclude-path takes a path, `sinter build --exclude` a glob"),
    ),
    rule(
        &["--ignore-mtime"],
        "",
        Refused("-T SECONDS sets the time of all files"),
    ),
    rule(
        &["--offset"],
        "N",
        Refused("`sinter build --header FILE` prepends a file to the image"),
    ),
    rule(
        &["--tar"],
        "X",
        Refused("`sinter build -f erofs TAR -o IMAGE`"),
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
    let [image, source] = parsed.two_operands("the image and the directory are missing")?;
    let layout = Layout::new(&parsed)?;
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
    let source_path = Path::new(&source);
    let excluded: Vec<OsString> = parsed
        .values("--exclude-path")
        .map(OsString::from)
        .collect();
    for path in excluded {
        let relative = if path.as_bytes().starts_with(b"/") {
            values::relative_to(source_path, &path)?
        } else {
            path.as_bytes().to_vec()
        };
        parsed.push(
            "--exclude",
            values::os_string(values::literal_pattern(&relative)),
        );
    }
    let mut words: Vec<OsString> = vec!["build".into(), "--format=erofs".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), source]);
    Ok(words)
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
    fn new(parsed: &Parsed) -> Result<Self> {
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
        for word in words() {
            match word {
                "dedupe" | "fragments" | "all-fragments" => layout.needs((6, 1)),
                "ztailpacking" => layout.needs((5, 17)),
                _ => {
                    let what = format!(
                        "-E {word}: {NO_OTHER}; supported are dedupe, fragments, all-fragments and \
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
    let Some(time) = parsed.text("-T")?.map(str::to_owned) else {
        return if parsed.is_given("--mkfs-time") {
            Err(Error::invalid("--mkfs-time needs -T"))
        } else {
            Ok(())
        };
    };
    let time = values::time("-T", &time)?;
    parsed.push("--create-timestamp", time);
    if !parsed.is_given("--mkfs-time") {
        parsed.push("--set-time", time);
    }
    Ok(())
}

/// Adds options that do not depend on the layout.
fn simple_options(parsed: &mut Parsed) -> Result<()> {
    match parsed.text("-x")? {
        Some(number) if number.starts_with('-') => parsed.translated.push("--no-xattrs".into()),
        Some(_) => {
            let what = format!("-x: {NO_OTHER}; -x-1 omits extended attributes");
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
            "--uid-offset and --gid-offset have to be equal; --id-offset adds one number to both",
        )),
    }
}
