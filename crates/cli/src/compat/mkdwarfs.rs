//! The options of mkdwarfs 0.15, translated to options of `sinter build -f dwarfs`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::Parsed;
use super::table::Meaning::{Already, Combined, Noted, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "mkdwarfs",
    usage: "-i DIR -o IMAGE [OPTIONS]",
    about: "\
Packs a directory into a DwarFS image, as `sinter build` does. Levels are those of sinter; codecs,
block sizes and orders are those of mkdwarfs. Devices, FIFOs and sockets are always included. The
time of creation is recorded only if SOURCE_DATE_EPOCH is set, so equal trees give equal images.
Each line shows the equivalent option of `sinter build`.",
    style: Style::Getopt,
    help: &["-h", "-H", "--long-help"],
    version: &[],
    rules: &[RULES],
    translate,
};

const NO_OTHER: &str = "repeated data is found by content-defined anchors, without a window";
const PROBED: &str = "incompressible files are recognized by the entropy of their first bytes; \
                      -C incompressible::CODEC chooses their codec";

const RULES: &[Rule] = &[
    rule(&["-i", "--input"], "DIR", Combined("the source")),
    rule(&["-o", "--output"], "IMAGE", Same("--output")),
    rule(&["-f", "--force"], "", Same("--force")),
    rule(&["-l", "--compress-level"], "0..9", Same("--level")),
    rule(
        &["-S", "--block-size-bits"],
        "N",
        Combined("--block-size 2^N"),
    ),
    rule(&["-N", "--num-workers"], "N", Same("--jobs")),
    rule(&["-L", "--memory-limit"], "SIZE", Combined("--memory")),
    rule(&["-B", "--max-lookback-blocks"], "N", Same("--lookback")),
    rule(
        &["-C", "--compression"],
        "CODEC",
        Combined("--compression, with CATEGORY:: in front for one category"),
    ),
    rule(
        &["--metadata-compression"],
        "CODEC",
        Combined("--metadata-compression"),
    ),
    rule(
        &["--categorize"],
        "[=KIND,..]",
        Combined("--categorize; hotness with --hotness-list"),
    ),
    rule(&["--order"], "ORDER", Combined("--order")),
    rule(&["--header"], "FILE", Same("--header")),
    rule(&["--set-owner"], "UID", Same("--set-owner")),
    rule(&["--set-group"], "GID", Same("--set-group")),
    rule(&["--set-time"], "TIME", Same("--set-time")),
    rule(&["--chmod"], "MODE,..", Same("--chmod")),
    rule(&["--keep-all-times"], "", Same("--keep-all-times")),
    rule(&["--time-resolution"], "UNIT", Same("--time-resolution")),
    rule(
        &["-P", "--pack-metadata"],
        "TABLE,..",
        Combined("--pack-metadata"),
    ),
    rule(
        &["--no-create-timestamp"],
        "",
        Same("--no-create-timestamp"),
    ),
    rule(&["--no-history"], "", Same("--no-history")),
    rule(
        &["--no-history-timestamps"],
        "",
        Already("the history has no timestamps"),
    ),
    rule(&["--no-section-index"], "", Same("--no-section-index")),
    rule(
        &["--with-devices", "--with-specials"],
        "",
        Already("files of all types are included"),
    ),
    rule(
        &["--log-level"],
        "LEVEL",
        Combined("error, warn: --quiet; others: no effect"),
    ),
    rule(&["--no-progress"], "", Same("--quiet")),
    rule(
        &["--progress"],
        "MODE",
        Combined("none: --quiet; simple, ascii, unicode: no effect"),
    ),
    rule(
        &["-F", "--filter"],
        "RULE",
        Refused("`sinter build --exclude GLOB` excludes files"),
    ),
    rule(
        &["--debug-filter"],
        "[=X]",
        Refused("`sinter ls -R IMAGE` lists what was included"),
    ),
    rule(
        &["--input-list"],
        "FILE",
        Combined("--files-from FILE; - is standard input, -i the directory of its paths"),
    ),
    rule(
        &["--remove-empty-dirs"],
        "",
        Refused("`sinter build --exclude` excludes directories by name"),
    ),
    rule(
        &["--recompress"],
        "[=X]",
        Refused("`sinter recompress IMAGE -o NEW`"),
    ),
    rule(
        &["--rebuild-metadata"],
        "[=X]",
        Refused("`sinter recompress --rebuild-metadata IMAGE -o NEW`"),
    ),
    rule(
        &["--change-block-size"],
        "",
        Refused("`sinter recompress --block-size SIZE IMAGE -o NEW`"),
    ),
    rule(
        &["--recompress-categories"],
        "X",
        Refused("`sinter recompress IMAGE -o NEW -C CATEGORY::CODEC`"),
    ),
    rule(
        &["--no-metadata-version-history"],
        "",
        Noted("new images have no such history"),
    ),
    rule(
        &["--remove-header"],
        "",
        Refused("`sinter recompress --remove-header IMAGE -o NEW`"),
    ),
    rule(
        &["--no-check"],
        "",
        Refused("`sinter recompress` always verifies the checksums of its input"),
    ),
    rule(&["-W", "--window-size"], "N", Noted(NO_OTHER)),
    rule(&["-w", "--window-step"], "N", Noted(NO_OTHER)),
    rule(&["--bloom-filter-size"], "N", Noted(NO_OTHER)),
    rule(
        &["--schema-compression"],
        "CODEC",
        Noted("--metadata-compression also applies to the schema"),
    ),
    rule(
        &["--history-compression"],
        "CODEC",
        Noted("--metadata-compression also applies to the history"),
    ),
    rule(
        &["--no-history-command-line"],
        "",
        Noted("the history has the settings; --no-history omits it"),
    ),
    rule(
        &["--no-sparse-files"],
        "",
        Noted("holes are always preserved"),
    ),
    rule(
        &["--file-hash"],
        "X",
        Noted("equal files are compared byte by byte"),
    ),
    rule(
        &["--max-similarity-size"],
        "SIZE",
        Noted("large files are compared by samples"),
    ),
    rule(
        &["--num-scanner-workers"],
        "N",
        Noted("-N sets the number of all threads"),
    ),
    rule(
        &["--num-segmenter-workers"],
        "N",
        Noted("-N sets the number of all threads"),
    ),
    rule(
        &["--compress-niceness"],
        "N",
        Noted("nice(1) sets the priority of all threads"),
    ),
    rule(
        &["--no-category-names"],
        "",
        Noted("category names are always stored"),
    ),
    rule(
        &["--no-category-metadata"],
        "",
        Noted("category metadata is always stored"),
    ),
    rule(
        &["--no-hardlink-table"],
        "",
        Noted("no hard link table is stored"),
    ),
    rule(&["--hotness-list"], "FILE", Combined("--hot")),
    rule(&["--incompressible-min-input-size"], "SIZE", Noted(PROBED)),
    rule(&["--incompressible-block-size"], "SIZE", Noted(PROBED)),
    rule(&["--incompressible-ratio"], "X", Noted(PROBED)),
    rule(&["--incompressible-zstd-level"], "N", Noted(PROBED)),
    rule(&["--incompressible-fragments"], "", Noted(PROBED)),
    rule(
        &["--hollow"],
        "",
        Refused("images always contain file data"),
    ),
    rule(
        &["--log-with-context"],
        "",
        Noted("log messages have no source locations"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let list = parsed.values("--input-list").last().map(OsString::from);
    let source = parsed.values("-i").last().map(OsString::from);
    let source = source.or_else(|| list.is_some().then(|| ".".into()));
    let source = source.ok_or_else(|| Error::invalid("-i DIR is missing"))?;
    if let Some(list) = list {
        parsed.push("--files-from", list);
    }
    if let Some(more) = parsed.operands.first() {
        let what = format!(
            "{}: unexpected argument; -i names the source, -o the image",
            more.display()
        );
        return Err(Error::invalid(what));
    }
    if let Some(bits) = parsed.text("-S")? {
        let bits: Option<u32> = bits.parse().ok().filter(|bits| *bits < 63);
        let bits = bits.ok_or_else(|| {
            let what = format!(
                "{} needs the base-2 logarithm of a size",
                parsed.typed("-S")
            );
            Error::invalid(what)
        })?;
        parsed.push("--block-size", (1_u64 << bits).to_string());
    }
    if let Some(memory) = parsed.text("-L")?.filter(|memory| *memory != "auto") {
        let memory = values::bytes(parsed.typed("-L"), memory)?;
        parsed.push("--memory", memory.to_string());
    }
    for (theirs, ours) in [
        ("-C", "--compression"),
        ("--metadata-compression", "--metadata-compression"),
    ] {
        let codecs: Vec<String> = parsed
            .values(theirs)
            .map(|text| translate_codec(&text.to_string_lossy()))
            .collect();
        codecs.iter().for_each(|codec| parsed.push(ours, codec));
    }
    match parsed.text("--order")? {
        Some("nilsimsa") => parsed.push("--order", "similarity"),
        Some(order @ ("none" | "path" | "revpath" | "similarity")) => {
            let order = order.to_owned();
            parsed.push("--order", order);
        }
        Some(order) => {
            let what = format!("--order {order}: supported are none, path, revpath and similarity");
            return Err(Error::unsupported(what));
        }
        None => {}
    }
    match parsed.text("-P")? {
        None | Some("auto") => {}
        Some(tables) => {
            let tables = tables.to_owned();
            parsed.push("--pack-metadata", tables);
        }
    }
    set_verbosity(&mut parsed)?;
    categories(&mut parsed)?;
    let mut words: Vec<OsString> = vec!["build".into(), "--format=dwarfs".into()];
    words.append(&mut parsed.translated);
    words.extend(["--".into(), source]);
    Ok(words)
}

/// Translates the kinds of content, of which `hotness` is the files of a list.
fn categories(parsed: &mut Parsed) -> Result<()> {
    const HOTNESS: &str = "hotness";
    let list = parsed.values("--hotness-list").last().map(OsString::from);
    let has_list = list.is_some();
    if let Some(list) = list {
        parsed.push("--hot", list);
    }
    let Some(kinds) = parsed.text("--categorize")?.map(str::to_owned) else {
        return Ok(());
    };
    let given: Vec<&str> = kinds.split(',').filter(|kind| !kind.is_empty()).collect();
    let others: Vec<&str> = given
        .iter()
        .copied()
        .filter(|kind| *kind != HOTNESS)
        .collect();
    if others.len() < given.len() && !has_list {
        let note =
            "mkdwarfs --categorize=hotness has no effect here: --hotness-list names no files";
        parsed.notes.borrow_mut().push(note.to_owned());
    }
    match (&given[..], &others[..]) {
        ([], _) => parsed.translated.push("--categorize".into()),
        (_, []) => parsed.translated.push("--no-categorize".into()),
        (_, others) => parsed.push("--categorize", others.join(",")),
    }
    Ok(())
}

/// Translates a codec with its parameters.
fn translate_codec(text: &str) -> String {
    let (category, codec) = match text.split_once("::") {
        Some((category, codec)) => (Some(category), codec),
        None => (None, text),
    };
    let options = codec.split(':').map(|option| match option.split_once('=') {
        Some(("dict_size", bits)) => format!("dict={bits}"),
        _ if option == "null" => "none".to_owned(),
        _ => option.to_owned(),
    });
    let codec = options.collect::<Vec<_>>().join(":");
    category.map_or(codec.clone(), |category| format!("{category}::{codec}"))
}

/// Adds `--quiet` if the log level or the kind of progress asks for it.
fn set_verbosity(parsed: &mut Parsed) -> Result<()> {
    let level = match parsed.text("--log-level")? {
        None | Some("info") => false,
        Some("error" | "warn") => true,
        Some("verbose" | "debug" | "trace") => {
            let note = "mkdwarfs --log-level has no effect here: messages have one level of detail";
            parsed.notes.borrow_mut().push(note.to_owned());
            false
        }
        Some(level) => {
            let what = format!(
                "--log-level {level}: error, warn, info, verbose, debug and trace are known"
            );
            return Err(Error::invalid(what));
        }
    };
    let progress = parsed.text("--progress")? == Some("none");
    if level || progress {
        parsed.push_flag("--quiet");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs() {
        for (theirs, ours) in [
            ("null", "none"),
            ("zstd:level=22:long", "zstd:level=22:long"),
            (
                "lzma:level=9:dict_size=24:extreme",
                "lzma:level=9:dict=24:extreme",
            ),
            (
                "pcmaudio/waveform::flac:level=8",
                "pcmaudio/waveform::flac:level=8",
            ),
        ] {
            assert_eq!(translate_codec(theirs), ours);
        }
    }
}
