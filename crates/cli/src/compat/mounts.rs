//! The options of programs that mount images (mount.sinter and mount.dwarfs for mount(8), dwarfs,
//! squashfuse, erofsfuse), translated to options of `sinter mount`.

use std::ffi::{OsStr, OsString};

use sinterfs::Result;
use sinterfs::platform::names;

use super::parsed::Parsed;
use super::table::Meaning::{Already, Combined, Each, Noted, Refused, Same};
use super::table::{Rule, Style, Tool, rule};
use super::values;
use crate::mount_options::split_bytes;

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
    translate: mount_for_mount,
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
    translate: drive_dwarfs,
};

/// The FUSE driver of SquashFS.
pub(super) const SQUASHFUSE: Tool = Tool {
    name: "squashfuse",
    translate: drive_squashfs,
    ..DWARFS
};

/// The same by the low-level interface of FUSE, as apptainer calls it.
pub(super) const SQUASHFUSE_LL: Tool = Tool {
    name: "squashfuse_ll",
    ..SQUASHFUSE
};

/// The FUSE driver of EROFS.
pub(super) const EROFSFUSE: Tool = Tool {
    name: "erofsfuse",
    translate: drive_erofs,
    ..DWARFS
};

const DRIVER_RULES: &[Rule] = &[
    rule(&["-o"], "OPTIONS", Combined("-o OPTIONS")),
    rule(&["-f"], "", Same("--foreground")),
    rule(&["-s"], "", Same("--threads=1")),
    rule(&["--offset"], "BYTES", Same("--offset")),
    rule(&["--device"], "FILE", Each("--device")),
    rule(
        &["-d"],
        "",
        Noted("`sinter mount -f --stats FILE` has counters of what happens"),
    ),
    rule(
        &["--dbglevel"],
        "N",
        Noted("`sinter mount -f --stats FILE` has counters of what happens"),
    ),
    rule(
        &["--auto-mountpoint"],
        "",
        Refused("make the directory, and name it as the second argument"),
    ),
];

/// What the real drivers are told about speed, memory and messages, and why it has no effect here.
const TUNING: &[(&[&str], &str)] = &[
    (
        &["blocksize", "max_background", "congestion_threshold"],
        "the kernel decides how much it reads at once",
    ),
    (
        &[
            "no_cache_files",
            "cache_image",
            "kernel_cache",
            "auto_cache",
        ],
        "the kernel keeps data that was read as long as it has memory for it",
    ),
    (
        &[
            "attr_timeout",
            "entry_timeout",
            "negative_timeout",
            "ac_attr_timeout",
            "noforget",
        ],
        "the kernel keeps names and attributes, which never change",
    ),
    (
        &["decratio"],
        "a block is decoded as far as a read needs it",
    ),
    (
        &["mlock"],
        "pages of the cache are freed when the system is short of memory",
    ),
    (
        &["imagesize", "image_size", "image-size"],
        "an image knows its own length",
    ),
    (
        &["preload_all"],
        "blocks are decoded when they are read, and ahead of readers",
    ),
    (
        &["debug", "debuglevel", "perfmon", "perfmon_trace"],
        "`sinter mount --stats FILE` has counters",
    ),
    (
        &["block_allocator", "cache_sparse"],
        "memory is allocated in one way",
    ),
    (
        &["clone_fd", "max_threads", "max_idle_threads", "auto_clone"],
        "`workers` sets the number of threads",
    ),
    (
        &[
            "async_read",
            "sync_read",
            "big_writes",
            "large_read",
            "atomic_o_trunc",
        ],
        "requests are answered by several threads, and nothing is written",
    ),
    (
        &[
            "no_splice_read",
            "no_splice_write",
            "no_splice_move",
            "splice_read",
            "splice_write",
            "splice_move",
        ],
        "the program chooses how it answers",
    ),
    (&["nonempty"], "a mount hides what is in its directory"),
];

/// Takes what only tunes from mount options, with a note for each.
fn without_tuning(options: &OsStr, parsed: &Parsed, tool: &str) -> OsString {
    let mut kept: Vec<&[u8]> = Vec::new();
    let bytes = names::bytes(options);
    for option in split_bytes(&bytes) {
        let name = option
            .split(|&byte| byte == b'=')
            .next()
            .unwrap_or_default();
        let is_same = |known: &&str| known.as_bytes() == name;
        match TUNING.iter().find(|(known, _)| known.iter().any(is_same)) {
            Some((_, why)) => {
                let name = String::from_utf8_lossy(name);
                let note = format!("{tool} -o {name} has no effect here: {why}");
                parsed.notes.borrow_mut().push(note);
            }
            None => kept.push(option),
        }
    }
    values::os_string(kept.join(&b','))
}

fn mount_for_mount(parsed: Parsed) -> Result<Vec<OsString>> {
    mount(parsed, "mount")
}

fn drive_dwarfs(parsed: Parsed) -> Result<Vec<OsString>> {
    mount(parsed, "dwarfs")
}

fn drive_squashfs(parsed: Parsed) -> Result<Vec<OsString>> {
    mount(parsed, "squashfuse")
}

fn drive_erofs(parsed: Parsed) -> Result<Vec<OsString>> {
    mount(parsed, "erofsfuse")
}

fn mount(parsed: Parsed, tool: &str) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = vec!["mount".into(), "--called-by-mount".into()];
    for options in parsed.values("-o") {
        let options = without_tuning(options, &parsed, tool);
        if !options.is_empty() {
            words.extend(["-o".into(), options]);
        }
    }
    if let Some((_, subtype)) = parsed.text("-t")?.and_then(|kind| kind.split_once('.')) {
        words.extend(["-o".into(), format!("subtype={subtype}").into()]);
    }
    words.extend(parsed.translated);
    words.push("--".into());
    words.extend(parsed.operands);
    Ok(words)
}
