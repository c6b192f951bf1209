//! The options of programs that mount images (mount.sinter and mount.dwarfs for mount(8), dwarfs,
//! squashfuse, erofsfuse), translated to options of `sinter mount`.

use std::ffi::OsString;

use sinterfs::Result;

use super::parsed::Parsed;
use super::table::Meaning::{Already, Combined, Each, Refused, Same};
use super::table::{Rule, Style, Tool, rule};

/// Called by mount(8) for a file system of this type.
pub(super) const MOUNT_SINTER: Tool = Tool {
    name: "mount.sinter",
    usage: "IMAGE DIR [-sfnv] [-o OPTIONS] [-t TYPE]",
    about: "\
Mounts an image for mount(8), as `sinter mount` does. Each line shows the equivalent of `sinter
mount`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[HELPER_RULES],
    translate: mount,
};

/// The same for the type `dwarfs`.
pub(super) const MOUNT_DWARFS: Tool = Tool {
    name: "mount.dwarfs",
    ..MOUNT_SINTER
};

/// The same, called for the type `fuse.sinter`.
pub(super) const MOUNT_FUSE_SINTER: Tool = Tool {
    name: "mount.fuse.sinter",
    ..MOUNT_SINTER
};

const HELPER_RULES: &[Rule] = &[
    rule(&["-o"], "OPTIONS", Combined("-o OPTIONS")),
    rule(&["-f"], "", Same("--dry-run")),
    rule(&["-s"], "", Same("--sloppy")),
    rule(&["-n"], "", Already("the kernel keeps the table of mounts")),
    rule(
        &["-v"],
        "",
        Already("failures and warnings are always reported"),
    ),
    rule(
        &["-t"],
        "TYPE",
        Combined("the type after a dot becomes -o subtype=TYPE"),
    ),
    rule(
        &["-N"],
        "NAMESPACE",
        Refused("run `sinter mount` in that namespace, by nsenter(1)"),
    ),
];

/// The FUSE driver of DwarFS.
pub(super) const DWARFS: Tool = Tool {
    name: "dwarfs",
    usage: "IMAGE DIR [-f] [-o OPTIONS]",
    about: "\
Mounts an image, as `sinter mount` does. Each line shows the equivalent of `sinter mount`.",
    style: Style::Getopt,
    help: &["-h"],
    version: &["-V"],
    rules: &[DRIVER_RULES],
    translate: mount,
};

/// The FUSE driver of SquashFS.
pub(super) const SQUASHFUSE: Tool = Tool {
    name: "squashfuse",
    ..DWARFS
};

/// The FUSE driver of EROFS.
pub(super) const EROFSFUSE: Tool = Tool {
    name: "erofsfuse",
    ..DWARFS
};

const DRIVER_RULES: &[Rule] = &[
    rule(&["-o"], "OPTIONS", Combined("-o OPTIONS")),
    rule(&["-f"], "", Same("--foreground")),
    rule(&["-s"], "", Same("--threads=1")),
    rule(&["--offset"], "BYTES", Same("--offset")),
    rule(&["--device"], "FILE", Each("--device")),
    rule(
        &["-d", "--dbglevel"],
        "",
        Refused("`sinter mount -f --stats FILE` has counters of what happens"),
    ),
    rule(
        &["--auto-mountpoint"],
        "",
        Refused("make the directory, and name it as the second argument"),
    ),
];

fn mount(parsed: Parsed) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["mount".into(), "--called-by-mount".into()];
    for options in parsed.values("-o") {
        words.extend(["-o".into(), options.to_owned()]);
    }
    if let Some((_, subtype)) = parsed.text("-t")?.and_then(|kind| kind.split_once('.')) {
        words.extend(["-o".into(), format!("subtype={subtype}").into()]);
    }
    words.extend(parsed.translated);
    words.push("--".into());
    words.extend(parsed.operands);
    Ok(words)
}
