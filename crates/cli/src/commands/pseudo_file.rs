//! `unsquashfs -pf`: writes an image, or a part of it, as definitions of pseudo files.

use std::ffi::OsString;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use sinterfs::build::{NewFile, is_same_file};
use sinterfs::model::{Image, MAX_ZEROS};
use sinterfs::ops::{FilteredImage, PartialImage, Unread};
use sinterfs::{Error, Result};

use crate::args::extract::ExtractArgs;
use crate::flags::message;
use crate::pseudo_file_lines::PseudoFileLines;
use crate::shell_pattern::{NameForm, Wanted};
use crate::standard_files;
use crate::{exit, messages};

/// Writes the definitions.
pub fn run(args: &ExtractArgs) -> Result<ExitCode> {
    let opened = args.image.open()?;
    let filter = args.filter.filter()?;
    let image = FilteredImage::new(&**opened.raw(), &filter);
    let part = args.part.options();
    let part = part
        .map(|part| PartialImage::new(&image, &part))
        .transpose()?;
    let image = part.as_ref().map_or(&image as &dyn Image, |part| part);
    let mut unread = Unread::default();
    let (wanted, missing) = wanted(args, image, &mut unread)?;
    let how = args.chosen.names.unwrap_or_default();
    let lines = PseudoFileLines {
        wanted: &wanted,
        excluded: &Wanted::new(&args.chosen.leave_out, how)?,
        max_depth: args.max_depth.unwrap_or(usize::MAX),
        threads: args.jobs.threads(),
        max_zeros: args.max_zeros.unwrap_or(MAX_ZEROS),
    };
    let output = args.output.as_deref().unwrap_or(Path::new("-"));
    let refused = if output == Path::new("-") {
        let mut out = BufWriter::new(standard_files::output());
        let refused = lines.write(image, &mut out)?;
        let failed = |error| Error::io("cannot write the definitions", error);
        out.flush().map_err(failed)?;
        refused
    } else {
        if is_same_file(output, &args.image.image) {
            let what = "the definitions would replace their image";
            return Err(Error::invalid(what).path(output));
        }
        let file = NewFile::create(output, args.force)?;
        file.fill(|out| lines.write(image, out))?
    };
    let all_read = unread.is_empty();
    exit::unread(unread);
    for error in missing.iter().chain(&refused) {
        messages::line(format_args!("sinter: {}", message(error)));
    }
    Ok(ExitCode::from(if refused.is_empty() && all_read {
        0
    } else {
        exit::PARTIAL
    }))
}

/// Finds what is written, by the rules of unsquashfs; returns an error for each path that is
/// missing.
fn wanted(
    args: &ExtractArgs,
    image: &dyn Image,
    unread: &mut Unread,
) -> Result<(Wanted, Vec<Error>)> {
    let paths = args.paths.iter().map(OsString::from);
    let typed: Vec<OsString> = paths.chain(args.glob.iter().map(OsString::from)).collect();
    if args.chosen.follows_or_requires() {
        let (found, missing) = args.chosen.chosen(image, &typed, unread)?;
        return Ok((Wanted::new(&found, NameForm::Literal)?, missing));
    }
    let how = args.chosen.names.unwrap_or_default();
    Ok((Wanted::new(&typed, how)?, Vec::new()))
}
