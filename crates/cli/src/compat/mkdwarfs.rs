//! mkdwarfs 0.15: its options as those of `sinter build -f dwarfs`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::Parsed;
use super::table::Meaning::{Already, Combined, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "mkdwarfs",
    usage: "-i DIR -o IMAGE [OPTIONS]",
    about: "\
Packs a directory into a DwarFS image, as `sinter build` does. Levels are those of sinter, each smaller and
faster to make than its nearest in mkdwarfs; codecs, block sizes and orders are what they are there. Devices,
fifos and sockets are always kept. The image does not tell when it was made unless SOURCE_DATE_EPOCH says so, so
that equal trees are equal images. Beside each option is that of `sinter build` that it stands for.",
    style: Style::Getopt,
    help: &["-h", "-H", "--long-help"],
    version: &[],
    rules: RULES,
    translate,
};

const NO_OTHER: &str = "repeats are found by anchors, which need no sizes";
const PROBED: &str = "what does not compress is found by the entropy of its beginning; \
                      -C incompressible::CODEC chooses the codec";

const RULES: &[Rule] = &[
    rule(&["-i", "--input"], "DIR", Combined("the directory")),
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
        Combined("--compression, with CATEGORY:: before it for some blocks"),
    ),
    rule(
        &["--metadata-compression"],
        "CODEC",
        Combined("--metadata-compression"),
    ),
    rule(&["--categorize"], "[=KIND,..]", Same("--categorize")),
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
        Already("the history has no times"),
    ),
    rule(&["--no-section-index"], "", Same("--no-section-index")),
    rule(
        &["--with-devices", "--with-specials"],
        "",
        Already("all types of files are kept"),
    ),
    rule(
        &["--log-level"],
        "LEVEL",
        Combined("error, warn: --quiet; info: nothing"),
    ),
    rule(&["--no-progress"], "", Same("--quiet")),
    rule(
        &["--progress"],
        "MODE",
        Combined("none: --quiet; simple, ascii, unicode: nothing"),
    ),
    rule(
        &["-F", "--filter"],
        "RULE",
        Refused("`sinter build --exclude GLOB` leaves out what matches"),
    ),
    rule(
        &["--debug-filter"],
        "[=X]",
        Refused("`sinter ls -R IMAGE` tells what was taken"),
    ),
    rule(
        &["--input-list"],
        "FILE",
        Refused("`tar -c -T FILE | sinter build - -o IMAGE` packs the files of a list"),
    ),
    rule(
        &["--remove-empty-dirs"],
        "",
        Refused("`sinter build --exclude` leaves directories out by name"),
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
        Refused("images that are built have no such history"),
    ),
    rule(
        &["--remove-header"],
        "",
        Refused("`sinter recompress --remove-header IMAGE -o NEW`"),
    ),
    rule(
        &["--no-check"],
        "",
        Refused("what `sinter recompress` reads is always compared with its checksums"),
    ),
    rule(&["-W", "--window-size"], "N", Refused(NO_OTHER)),
    rule(&["-w", "--window-step"], "N", Refused(NO_OTHER)),
    rule(&["--bloom-filter-size"], "N", Refused(NO_OTHER)),
    rule(
        &["--schema-compression"],
        "CODEC",
        Refused("--metadata-compression is for the schema, too"),
    ),
    rule(
        &["--history-compression"],
        "CODEC",
        Refused("--metadata-compression is for the history, too"),
    ),
    rule(
        &["--no-history-command-line"],
        "",
        Refused("--no-history leaves out all of it"),
    ),
    rule(
        &["--no-sparse-files"],
        "",
        Refused("holes are kept as holes"),
    ),
    rule(
        &["--file-hash"],
        "X",
        Refused("equal files are compared byte by byte"),
    ),
    rule(
        &["--max-similarity-size"],
        "SIZE",
        Refused("of large files a sample is compared"),
    ),
    rule(
        &["--num-scanner-workers"],
        "N",
        Refused("-N is for all threads"),
    ),
    rule(
        &["--num-segmenter-workers"],
        "N",
        Refused("-N is for all threads"),
    ),
    rule(
        &["--compress-niceness"],
        "N",
        Refused("nice(1) is for all threads"),
    ),
    rule(
        &["--no-category-names"],
        "",
        Refused("the names of categories are always stored"),
    ),
    rule(
        &["--no-category-metadata"],
        "",
        Refused("the parameters of categories are always stored"),
    ),
    rule(
        &["--no-hardlink-table"],
        "",
        Refused("no table of hard links is stored"),
    ),
    rule(
        &["--hotness-list"],
        "FILE",
        Refused("`sinter build --hot FILE` puts the files of a list first"),
    ),
    rule(
        &["--incompressible-min-input-size"],
        "SIZE",
        Refused(PROBED),
    ),
    rule(&["--incompressible-block-size"], "SIZE", Refused(PROBED)),
    rule(&["--incompressible-ratio"], "X", Refused(PROBED)),
    rule(&["--incompressible-zstd-level"], "N", Refused(PROBED)),
    rule(&["--incompressible-fragments"], "", Refused(PROBED)),
    rule(
        &["--hollow"],
        "",
        Refused("images always hold the content of files"),
    ),
    rule(
        &["--log-with-context"],
        "",
        Refused("messages name files, and no places in the program"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let source = parsed.values("-i").last().map(OsString::from);
    let source = source.ok_or_else(|| Error::invalid("-i DIR says what to pack"))?;
    if let Some(more) = parsed.operands.first() {
        let what = format!("{}: -i names what to pack, -o the image", more.display());
        return Err(Error::invalid(what));
    }
    if let Some(bits) = parsed.text("-S")? {
        let bits: Option<u32> = bits.parse().ok().filter(|bits| *bits < 63);
        let bits = bits.ok_or_else(|| {
            let what = format!("{} wants the power of two of a size", parsed.typed("-S"));
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
            .map(|text| codec(&text.to_string_lossy()))
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
            let what = format!(
                "--order {order}: there are none, path, revpath and similarity, for all categories"
            );
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
    quiet(&mut parsed)?;
    let mut words: Vec<OsString> = vec!["build".into(), "--format=dwarfs".into()];
    words.append(&mut parsed.translated);
    words.extend(["--".into(), source]);
    Ok(words)
}

/// Returns a codec in our words.
fn codec(text: &str) -> String {
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

fn quiet(parsed: &mut Parsed) -> Result<()> {
    let level = match parsed.text("--log-level")? {
        None | Some("info") => false,
        Some("error" | "warn") => true,
        Some(level) => {
            let what = format!("--log-level {level}: there are error, warn and info");
            return Err(Error::unsupported(what));
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
            assert_eq!(codec(theirs), ours);
        }
    }
}
