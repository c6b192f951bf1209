//! `sinter extract --oci`: writes an image as a container image, in an OCI layout.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use sinterfs::ops::{ArchiveFormat, ArchiveOptions, ContainerRequest, container};
use sinterfs::platform::names;
use sinterfs::{Error, Result};

use super::archive;
use crate::args::extract::ExtractArgs;
use crate::progress::Display;
use crate::{exit, messages, text};

/// Writes the container image and prints a summary.
pub fn run(args: &ExtractArgs) -> Result<ExitCode> {
    let output = args.output.as_deref();
    let output = output.ok_or_else(|| Error::invalid("--oci needs -o DIR or -o DIR:TAG"))?;
    let (layout, tag) = place(output)?;
    let request = ContainerRequest {
        image: args.image.image.clone(),
        open: args.image.options(),
        options: ArchiveOptions {
            // the specification of layers advises against sparse files
            sparse: false,
            ..archive::options(args, ArchiveFormat::Tar)
        },
        xattrs: args.filter.filter()?,
        part: args.part.options(),
        layout,
        tag,
        platform: args.archive.platform.clone(),
        replace: args.force,
    };
    let display = Display::start(args.verbosity.show());
    let report = container(&request, display.observer())?;
    let seconds = display.observer().elapsed().as_secs_f64();
    let warnings = display.observer().warnings();
    drop(display);
    if args.verbosity.json {
        let mut shown = archive::as_json(&report.archive, seconds);
        text::named_losses("tar", &report.archive.losses);
        shown["digest"] = report.digest.into();
        text::print(&format!("{shown:#}\n"))?;
    } else {
        text::losses("tar", &report.archive.losses, args.verbosity.quiet);
        if !args.verbosity.quiet {
            messages::line(archive::summary(&report.archive, seconds));
            messages::line(format_args!("image: {}", report.digest));
        }
    }
    let complete = warnings == 0 && report.archive.is_complete();
    Ok(ExitCode::from(if complete { 0 } else { exit::PARTIAL }))
}

/// Splits `[oci:]DIR[:TAG]`; a directory that exists may have a colon in its name.
fn place(output: &Path) -> Result<(PathBuf, Option<String>)> {
    let bytes = names::bytes(output);
    let bytes = bytes.strip_prefix(b"oci:").unwrap_or(&bytes);
    let path = |bytes: &[u8]| names::path_buf(bytes.to_vec());
    let colon = bytes.iter().position(|&byte| byte == b':');
    // no tag has a slash: that is the colon of a drive
    let is_drive = bytes.get(1..3) == Some(b":/");
    let Some(colon) = colon.filter(|_| !is_drive && !path(bytes).exists()) else {
        return Ok((path(bytes), None));
    };
    let (dir, tag) = bytes.split_at(colon);
    let tag = std::str::from_utf8(&tag[1..])
        .ok()
        .filter(|tag| !tag.is_empty());
    let tag = tag.ok_or_else(|| Error::invalid("the tag of -o DIR:TAG is empty or not UTF-8"))?;
    if dir.is_empty() {
        return Err(Error::invalid("the directory of -o DIR:TAG is missing"));
    }
    Ok((path(dir), Some(tag.to_owned())))
}
