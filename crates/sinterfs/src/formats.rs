//! The list of formats, and which of them an image or a new image is of.
//!
//! **Invariant:** no other file of the library names the crate of a format, but for the writer of
//! composefs and for compressed devices (rule `tidy/src/formats.rs`). A new format is a crate and a
//! line here.

#[cfg(any(all(feature = "mount", target_os = "linux"), feature = "write"))]
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_format::{Bid, Format, ReadOptions};
#[cfg(feature = "write")]
use sinterfs_format::{PipelineFormat, Purpose, VolumeOptions};
#[cfg(feature = "write")]
use sinterfs_model::Setting;
#[cfg(all(feature = "mount", target_os = "linux"))]
use sinterfs_model::{Backing, Loss};
use sinterfs_model::{Error, Result};

#[cfg(feature = "write")]
use crate::about::{FormatInfo, levels};
#[cfg(all(feature = "mount", target_os = "linux"))]
use crate::object_verification::ObjectVerification;
use crate::open_options::OpenOptions;

/// All formats; the first is the default, and is written.
pub const FORMATS: &[&dyn Format] = &[
    &sinterfs_dwarfs::format::DwarfsFormat,
    &sinterfs_squashfs::format::SquashfsFormat,
    &sinterfs_erofs::format::ErofsFormat,
    #[cfg(feature = "composefs")]
    &crate::composefs::ComposefsFormat,
    &sinterfs_cramfs::format::CramfsFormat,
    &sinterfs_romfs::format::RomfsFormat,
    &sinterfs_cromfs::format::CromfsFormat,
    &sinterfs_wim::format::WimFormat,
    // before ISO 9660: discs with both have all files in this one
    &sinterfs_udf::format::UdfFormat,
    &sinterfs_iso9660::format::Iso9660Format {
        udf: sinterfs_udf::format::other_tree,
    },
    &sinterfs_ext::format::ExtFormat,
    &sinterfs_fat::format::FatFormat,
];

/// The format whose images the pipeline does not write.
#[cfg(feature = "write")]
const COMPOSEFS: &str = "composefs";

/// Extensions that promise a format which is not written: better refused than disappointed.
#[cfg(feature = "write")]
const FOREIGN: &[&str] = &["esd", "swm", "cpio", "tar", "zip"];

/// A format whose images are written.
#[cfg(feature = "write")]
#[derive(Clone, Copy)]
pub(crate) struct Writing {
    /// The format.
    pub(crate) format: &'static dyn Format,
    /// Its writer for the pipeline; `None` for composefs.
    pub(crate) pipeline: Option<&'static dyn PipelineFormat>,
}

#[cfg(feature = "write")]
impl Writing {
    /// Returns a format with its writer, if it has one.
    fn of(format: &'static dyn Format) -> Option<Self> {
        let pipeline = format.pipeline();
        let is_written = pipeline.is_some() || format.name() == COMPOSEFS;
        is_written.then_some(Self { format, pipeline })
    }

    /// Returns the writer for the pipeline.
    ///
    /// # Errors
    /// `Unsupported` for other formats.
    pub(crate) fn by_pipeline(&self) -> Result<&'static dyn PipelineFormat> {
        self.pipeline.ok_or_else(|| {
            let format = self.format.name();
            let what = format!("{format} images are not written by the pipeline");
            Error::unsupported(what)
        })
    }

    /// Returns whether the report of a build names the digest of the image, which others compute of
    /// the same files, so that nothing else is kept in the image.
    pub(crate) fn reports_digest(&self) -> bool {
        self.pipeline.is_none()
    }

    /// Returns the compression of blocks at a level, if levels choose one.
    fn codec_of_level(&self, level: u8) -> Option<&'static str> {
        let pipeline = self.pipeline?;
        let level = pipeline.level(level, Purpose::default(), &VolumeOptions::default());
        Some(level.ok()?.compression)
    }
}

/// Finds a format that is written by its name or an extension of its images' names.
#[cfg(feature = "write")]
pub fn by_name(name: &str) -> Result<Writing> {
    let named = |f: &&dyn Format| f.name() == name || f.extensions().contains(&name);
    let found = FORMATS.iter().copied().find(named);
    let written = || names(written().map(|writing| writing.format));
    let Some(format) = found else {
        let what = format!("unknown format `{name}`; the formats are {}", written());
        return Err(Error::invalid(what));
    };
    Writing::of(format).ok_or_else(|| {
        let what = format!(
            "{name} images are read, but not written; the formats are {}",
            written()
        );
        Error::unsupported(what)
    })
}

/// Returns the formats that are written.
#[cfg(feature = "write")]
pub fn written() -> impl Iterator<Item = Writing> {
    FORMATS.iter().copied().filter_map(Writing::of)
}

/// Finds the format of a new image: by name, else by the extension, else the default.
#[cfg(feature = "write")]
pub fn for_output(name: Option<&str>, output: Option<&Path>) -> Result<Writing> {
    if let Some(name) = name {
        return by_name(name);
    }
    match output.map_or(Ok(None), promised)? {
        Some(format) => by_name(format.name()),
        None => by_name(FORMATS[0].name()),
    }
}

/// Returns the format that the extension of a new image promises, if any does. `Unsupported` if it
/// is one that is not written.
#[cfg(feature = "write")]
pub fn promised(output: &Path) -> Result<Option<&'static dyn Format>> {
    let extension = output.extension().and_then(|extension| extension.to_str());
    let promised = extension.and_then(|e| FORMATS.iter().find(|f| f.extensions().contains(&e)));
    if let Some(format) = promised {
        return Ok(Some(*format));
    }
    match extension {
        Some(promised) if FOREIGN.contains(&promised) => {
            let option = Setting::Format;
            let what = format!(
                "an image named .{promised} would not be what its name says; the formats are {} \
                 ({option} {} writes it all the same)",
                names(written().map(|writing| writing.format)),
                FORMATS[0].name()
            );
            Err(Error::unsupported(what).about([option]))
        }
        _ => Ok(None),
    }
}

/// Finds the format of an image by who bids most. Only where no format knows the first bytes is the
/// whole file searched.
pub(crate) fn for_image(
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<&'static dyn Format> {
    match format_of(source, options)? {
        Some(format) => Ok(format),
        None => searched(source, options),
    }
}

/// Finds the format of an image whose first bytes no format knows.
pub(crate) fn searched(
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<&'static dyn Format> {
    let options = &options.read();
    let mut best = (Bid::No, None);
    for &format in FORMATS {
        let bid = format.bid(source, options)?;
        if bid.beats(best.0) {
            best = (bid, Some(format));
        }
    }
    match best.1 {
        Some(format) => Ok(format),
        None => Err(unknown(&**source)?),
    }
}

/// Returns the format that knows the first bytes, or those at the options' offset.
pub(crate) fn format_of(
    source: &Arc<dyn ReadAt>,
    options: &OpenOptions,
) -> Result<Option<&'static dyn Format>> {
    let here = ReadOptions {
        offset: Some(options.start_offset()),
        ..options.read()
    };
    for &format in FORMATS {
        if format.bid(source, &here)? == Bid::Certain {
            return Ok(Some(format));
        }
    }
    Ok(None)
}

/// The first bytes of files that are taken for images.
const NO_IMAGES: [(&[u8], &str); 4] = [
    (b"PK\x03\x04", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"QFI\xfb", "a disk of QEMU (qcow2)"),
];

/// Returns the error about bytes of no known format.
fn unknown(source: &dyn ReadAt) -> Result<Error> {
    if source.is_empty() {
        return Ok(Error::unsupported("the file is empty"));
    }
    let names = names(FORMATS.iter().copied());
    let start = source.read(0, source.len().min(8))?;
    let known = NO_IMAGES.iter().find(|(magic, _)| start.starts_with(magic));
    let is = known.map_or(String::new(), |(_, is)| format!("{is}, "));
    let what = format!("{is}not an image of a known format ({names})");
    Ok(Error::unsupported(what))
}

/// Makes the image of a composefs-dump(5).
#[cfg(feature = "write")]
pub fn dump_image(dump: &Path, store: Option<&Path>) -> Result<Arc<dyn sinterfs_model::Image>> {
    #[cfg(feature = "composefs")]
    {
        crate::composefs::dump::image(dump, store)
    }
    #[cfg(not(feature = "composefs"))]
    {
        let _ = store;
        let what = "dumps: not in this build of the program (Cargo feature `composefs`)";
        Err(Error::unsupported(what).path(dump))
    }
}

/// Makes a file of an image that the kernel mounts, and names what the file does not show.
#[cfg(all(feature = "mount", target_os = "linux"))]
pub(crate) fn kernel_file(
    image: Arc<dyn sinterfs_model::Image>,
    options: &sinterfs_mount::MountOptions,
) -> Result<(Arc<dyn Backing>, Vec<Loss>)> {
    let shown = sinterfs_erofs::lookalike::Shown {
        uid: options.uid,
        gid: options.gid,
        umask: options.umask,
        uuid: sinterfs_mount::IMAGE_UUID,
    };
    let made = sinterfs_erofs::lookalike::Lookalike::new(image, shown)?;
    let losses = made.losses().to_vec();
    Ok((Arc::new(made), losses))
}

/// Mounts an image whose content is files of a directory, without a process that serves it.
#[cfg(all(feature = "mount", target_os = "linux"))]
pub(crate) fn mount_overlay(
    image: &Path,
    open: &OpenOptions,
    dir: &Path,
    options: &sinterfs_mount::MountOptions,
) -> Result<ObjectVerification> {
    #[cfg(feature = "composefs")]
    {
        crate::composefs::mount_overlay(image, open, dir, options)
    }
    #[cfg(not(feature = "composefs"))]
    {
        let _ = (image, open, dir, options);
        let what = "stores of objects: not in this build of the program (Cargo feature \
                    `composefs`)";
        Err(Error::unsupported(what))
    }
}

/// Describes the formats that are written.
#[cfg(feature = "write")]
pub fn formats() -> Vec<FormatInfo> {
    let described = |new: Writing| {
        let about = new.format.about();
        FormatInfo {
            name: new.format.name(),
            title: about.title,
            extensions: new.format.extensions(),
            levels: levels((0..=9).map_while(|level| new.codec_of_level(level))),
            codecs: about.codecs,
            notes: about.notes,
        }
    };
    written().map(described).collect()
}

/// Returns the names of the formats that are read.
pub fn formats_read() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name()).collect()
}

fn names(formats: impl Iterator<Item = &'static dyn Format>) -> String {
    let names: Vec<_> = formats.map(<dyn Format>::name).collect();
    names.join(", ")
}
