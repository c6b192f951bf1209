//! Appending to an image: it is rewritten with its files and the new sources.
//!
//! In: an image that exists. Out: the names that its root has, and the options that make the new
//! image as the former one was. **Invariant:** as in mksquashfs, the files of the former image keep
//! their names and attributes, and its codec, block size and switches override the options.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::Path;

use sinterfs::image::InfoRows;
use sinterfs::model::Cursor;
use sinterfs::platform::{Directory, OpenFor, names, process};
use sinterfs::{Error, Kind, OpenOptions, Result};

use super::parsed::{Parsed, with_value};
use crate::facts::Facts;
use crate::unsquashfs_superblock;

/// An image that is appended to.
pub(super) struct FormerImage {
    path: OsString,
    /// The path of its root in the new image; empty for the root.
    at: OsString,
    /// The names of the new root that it takes.
    pub(super) taken: BTreeSet<Vec<u8>>,
    facts: InfoRows,
}

impl FormerImage {
    /// Opens the image that the last operand names, if mksquashfs would append to it; fails if it
    /// is not SquashFS, and for options that would change what it has.
    pub(super) fn of(parsed: &Parsed, image: &OsStr) -> Result<Option<Self>> {
        let path = Path::new(image);
        let found = path.metadata().ok();
        let exists = found.is_some_and(|found| found.is_file() && found.len() > 0);
        if parsed.is_given("-noappend") || !exists {
            return Ok(None);
        }
        refuse_changes(parsed)?;
        // an image after a header would lose the header
        let options = OpenOptions {
            offset: Some(0),
            ..OpenOptions::default()
        };
        let not_squashfs = || {
            let what = "the file exists and is not a SquashFS image to append to: -noappend \
                        replaces it";
            Error::invalid(what).path(path)
        };
        let opened = sinterfs::open_with(path, &options).map_err(|error| match error.kind() {
            Kind::Unsupported => not_squashfs(),
            _ => error,
        })?;
        let facts = opened.info()?;
        if Facts(&facts).text("format") != "SquashFS" {
            return Err(not_squashfs());
        }
        let at = parsed.values("-root-becomes").last().map(OsStr::to_owned);
        let mut taken = BTreeSet::new();
        if let Some(name) = &at {
            if names::bytes(name).contains(&b'/') || name.is_empty() {
                return Err(Error::invalid(
                    "-root-becomes needs the name of a directory",
                ));
            }
            taken.insert(names::bytes(name).into_owned());
        } else {
            let image = opened.raw();
            image.read_dir(image.info().root, Cursor::START, &mut |entry| {
                taken.insert(entry.name.to_vec());
                ControlFlow::Continue(())
            })?;
        }
        Ok(Some(Self {
            path: image.to_owned(),
            at: at.unwrap_or_default(),
            taken,
            facts,
        }))
    }

    /// Returns the options that keep what the image is.
    pub(super) fn words(&self) -> Vec<OsString> {
        let mut words = vec!["--force".into()];
        let mut place = self.at.clone();
        place.push("=");
        place.push(&self.path);
        words.push(with_value("--at", &place));
        words.push(with_value("--compression", self.compression().as_ref()));
        let facts = Facts(&self.facts);
        let block_size = facts.number("block size");
        words.push(with_value("--block-size", block_size.to_string().as_ref()));
        let plain = facts.texts("not compressed");
        if !plain.is_empty() {
            words.push(with_value("--no-compress", plain.join(",").as_ref()));
        }
        words.extend((!facts.flag("export table")).then(|| "--no-exports".into()));
        let flags = facts.texts("flags");
        for (name, option) in [
            ("no fragments", "--no-fragments"),
            ("always fragments", "--tailends"),
            ("no xattrs", "--no-xattrs"),
        ] {
            words.extend(flags.contains(&name).then(|| option.into()));
        }
        words
    }

    /// Returns the codec with its options.
    fn compression(&self) -> String {
        let facts = Facts(&self.facts);
        let codec = facts.text("compression");
        let Some(options) = facts.map("compressor options") else {
            return match codec {
                "gzip" => "gzip:level=9".to_owned(),
                "zstd" => "zstd:level=15".to_owned(),
                codec => codec.to_owned(),
            };
        };
        let level = options.number("level");
        match codec {
            "gzip" | "zstd" if level > 0 => format!("{codec}:level={level}"),
            "lz4" if options.number("flags") & 1 != 0 => "lz4hc:level=12".to_owned(),
            "xz" => {
                let mut text = "xz".to_owned();
                let dict = options.number("dictionary");
                if dict > 0 {
                    text += &format!(":dict={dict}");
                }
                let filters = unsquashfs_superblock::filters(options.number("filters"));
                if !filters.is_empty() {
                    text += &format!(":bcj={}", filters.join(","));
                }
                text
            }
            codec => codec.to_owned(),
        }
    }

    /// Returns the options for the root, unless they are given: the attributes of a single
    /// directory, otherwise mksquashfs' defaults for generated roots.
    pub(super) fn root(source: Option<&OsStr>) -> Result<[(&'static str, String); 4]> {
        let own = || {
            let (uid, gid) = process::owner();
            (0o777, uid, gid, None)
        };
        let (mode, uid, gid, time) = match source {
            None => own(),
            Some(dir) => {
                let failed = |error| Error::io("cannot read the source", error).path(dir);
                let opened = Directory::open(dir.as_ref(), OpenFor::Walk).map_err(failed)?;
                let found = Directory::status_of(opened.as_file()).map_err(failed)?;
                (
                    u32::from(found.meta.mode) & 0o7777,
                    found.meta.uid,
                    found.meta.gid,
                    Some(found.meta.times.modified.secs),
                )
            }
        };
        Ok([
            ("--root-mode", format!("{mode:04o}")),
            ("--root-uid", uid.to_string()),
            ("--root-gid", gid.to_string()),
            (
                "--root-time",
                time.map_or_else(String::new, |time| time.to_string()),
            ),
        ])
    }
}

/// Fails for options that mksquashfs applies to what is added, and that would apply to all here.
fn refuse_changes(parsed: &Parsed) -> Result<()> {
    if parsed.is_given("-offset") {
        return Err(Error::unsupported(format!(
            "{} with an image that exists: the bytes before it would be replaced by zeros; append \
             by \
             `sinter merge --header FILE`, or replace the image by -noappend",
            parsed.typed("-offset")
        )));
    }
    let ours = |option: &str| {
        let start = with_value(option, "".as_ref());
        let mut words = parsed.translated.iter();
        words.any(|word| word == option || names::bytes(word).starts_with(&names::bytes(&start)))
    };
    let changes = [
        ("--all-root", "-all-root"),
        ("--set-owner", "-force-uid"),
        ("--set-group", "-force-gid"),
        ("--id-offset", "-uid-gid-offset"),
        ("--xattrs-include", "-xattrs-include"),
        ("--xattrs-exclude", "-xattrs-exclude"),
        ("--xattrs-add", "-xattrs-add"),
        ("--no-xattrs", "-no-xattrs"),
        ("--no-hardlinks", "-no-hardlinks"),
    ];
    let translated = changes.iter().find(|(option, _)| ours(option));
    let given = [
        "-inode-time",
        "-repro-time",
        "-force-file-mode",
        "-force-dir-mode",
        "-max-depth",
        "-ef",
        "-e",
        "-action",
        "-action-file",
        "-log-action",
        "-log-action-file",
    ];
    let given = given.into_iter().find(|option| parsed.is_given(option));
    match translated.map(|(_, typed)| *typed).or(given) {
        None => Ok(()),
        Some(option) => Err(Error::unsupported(format!(
            "{option} would also apply to the existing files: make an image of the new files, and \
             combine both by `sinter merge`, or replace the image by -noappend"
        ))),
    }
}
