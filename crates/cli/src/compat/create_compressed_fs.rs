//! The options of create_compressed_fs 3.14 (cloop-utils), translated to options of `sinter cloop`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Combined, Noted, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "create_compressed_fs",
    usage: "[OPTIONS] DEVICE IMAGE",
    about: "\
Compresses a file into a device image of cloop 2.0, as `sinter cloop` does. Each line shows the
equivalent option of `sinter cloop`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &[],
    rules: &[RULES],
    translate,
};

const RULES: &[Rule] = &[
    rule(&["-B"], "BYTES", Combined("--block-size")),
    rule(&["-L"], "N", Combined("--level")),
    rule(&["-b"], "", Combined("--level 12")),
    rule(&["-t"], "N", Same("--jobs")),
    rule(&["-m"], "", Noted("nothing waits in memory for the end")),
    rule(&["-r"], "", Noted("there is no temporary file")),
    rule(&["-f"], "FILE", Noted("there is no temporary file")),
    rule(&["-a"], "N", Noted("each thread has work for itself")),
    rule(&["-q"], "", Noted("progress is shown only on terminals")),
    rule(&["-v"], "", Noted("the sizes are always printed")),
    rule(&["-s"], "SIZE", Refused("the size is that of the file")),
    rule(&["-S"], "FILE", Refused("the header is in the image")),
    rule(
        &["-l", "-p"],
        "",
        Refused("no other machine helps: the threads of this one do"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [device, image] = parsed.two_operands("the device and the image are missing")?;
    for file in [&device, &image] {
        if file == "-" {
            let what = "`-`: the device and the image are files";
            return Err(Error::unsupported(what));
        }
    }
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if image.to_str().is_some_and(is_number) {
        let what = "a block size instead of an image is the old form, which writes to a pipe: \
                    name the image, and the size by -B";
        return Err(Error::unsupported(what));
    }
    if let Some(size) = parsed.text("-B")? {
        let size = values::bytes("-B", size)?;
        parsed.push("--block-size", size.to_string());
    }
    let level = match parsed.text("-L")? {
        // 7-Zip's Deflate, and the best of all: the level that searches hardest
        Some("-1" | "-2") => Some("12".to_owned()),
        Some(level) => Some(level.to_owned()),
        None => None,
    };
    let level = if parsed.is_given("-b") {
        Some("12".to_owned())
    } else {
        level
    };
    if let Some(level) = level {
        parsed.push("--level", level);
    }
    let mut words: Vec<OsString> = vec!["cloop".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), device]);
    Ok(words)
}
