//! The options of mkfs.cramfs 2.42 (util-linux), translated to options of `sinter build -f cramfs`.

use std::ffi::OsString;

use sinterfs::{Error, Result};

use super::parsed::{Parsed, with_value};
use super::table::Meaning::{Already, Combined, Noted, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;

pub(super) const TOOL: Tool = Tool {
    name: "mkfs.cramfs",
    usage: "[OPTIONS] DIR IMAGE",
    about: "\
Packs a directory into a CRAMFS image, as `sinter build -f cramfs` does. Files of 16 MiB or more and
names of more than 252 bytes are left out, not cut. Each line shows the equivalent option of
`sinter build`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[RULES],
    translate,
};

/// The same under its former name.
pub(super) const MKCRAMFS: Tool = Tool {
    name: "mkcramfs",
    ..TOOL
};

const RULES: &[Rule] = &[
    rule(&["-b"], "BYTES", Combined("--block-size")),
    rule(&["-e"], "N", Combined("--extended edition=N")),
    rule(
        &["-N"],
        "big|little|host",
        Combined("--extended big-endian"),
    ),
    rule(&["-i"], "FILE", Combined("--extended boot=FILE")),
    rule(&["-n"], "NAME", Same("--label")),
    rule(&["-p"], "", Combined("--extended front-padding")),
    rule(&["-z"], "", Combined("unless given: --no-sparse")),
    rule(&["-E"], "", Same("--strict")),
    rule(&["-s"], "", Already("names are sorted")),
    rule(&["-v"], "", Noted("`sinter ls -R IMAGE` lists the image")),
    rule(
        &["-l"],
        "[MODE]",
        Noted("an image gets its name when it is complete, and devices are not written to"),
    ),
];

fn translate(mut parsed: Parsed) -> Result<Vec<OsString>> {
    let [source, image] = parsed.two_operands("the directory and the image are missing")?;
    if let Some(size) = parsed.text("-b")? {
        let size = values::bytes("-b", size)?;
        parsed.push("--block-size", size.to_string());
    }
    if !parsed.is_given("-z") {
        parsed.translated.push("--no-sparse".into());
    }
    let extended = extended(&parsed)?;
    if !extended.is_empty() {
        parsed.push("--extended", extended.join(","));
    }
    // the format has neither, which is no news to users of this name
    parsed.push("--set-time", "0");
    parsed.translated.push("--no-xattrs".into());
    let mut words: Vec<OsString> = vec!["build".into(), "--format=cramfs".into(), "--force".into()];
    words.append(&mut parsed.translated);
    words.extend([with_value("--output", &image), "--".into(), source]);
    Ok(words)
}

/// Returns the words of `--extended`.
fn extended(parsed: &Parsed) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let is_big = match parsed.text("-N")? {
        Some("big") => true,
        Some("little") => false,
        Some("host") | None => cfg!(target_endian = "big"),
        Some(other) => {
            let what = format!("-N {other}: must be big, little or host");
            return Err(Error::invalid(what));
        }
    };
    if is_big {
        words.push("big-endian".to_owned());
    }
    if parsed.is_given("-p") {
        words.push("front-padding".to_owned());
    }
    if let Some(number) = parsed.text("-e")? {
        words.push(format!("edition={number}"));
    }
    if let Some(file) = parsed.text("-i")? {
        if file.contains(',') {
            return Err(Error::unsupported("-i: the path must not contain a comma"));
        }
        words.push(format!("boot={file}"));
    }
    Ok(words)
}
