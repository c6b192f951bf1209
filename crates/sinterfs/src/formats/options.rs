//! The format of a new image, with its options.
//!
//! In: a typed structure of one format, or names and values. Out: the writer of that format.
//! **Invariant:** an option that the format does not have is refused here, with the formats that
//! have it; nowhere else are options of formats compared with formats.

use std::ffi::OsStr;
use std::path::Path;

use sinterfs_format::{Format, NamedOptions, PipelineFormat};
use sinterfs_model::{Error, Result, Setting};

pub use sinterfs_cramfs::write::CramfsOptions;
pub use sinterfs_dwarfs::write::DwarfsOptions;
pub use sinterfs_erofs::write::ErofsOptions;
pub use sinterfs_iso9660::write::IsoOptions;
pub use sinterfs_squashfs::write::SquashfsOptions;
pub use sinterfs_wim::write::WimOptions;

use crate::about::{FormatInfo, levels};
#[cfg(feature = "composefs")]
use crate::composefs::ComposefsOptions;
use crate::formats::FORMATS;

/// The format of a new image, with its options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FormatOptions {
    /// DwarFS.
    Dwarfs(DwarfsOptions),
    /// SquashFS.
    Squashfs(SquashfsOptions),
    /// EROFS.
    Erofs(ErofsOptions),
    /// composefs.
    #[cfg(feature = "composefs")]
    Composefs(ComposefsOptions),
    /// CRAMFS.
    Cramfs(CramfsOptions),
    /// ISO 9660.
    Iso9660(IsoOptions),
    /// WIM.
    Wim(WimOptions),
}

/// The same of the options of each format; composefs is not written by the pipeline.
macro_rules! each {
    ($options:expr, $own:ident => $value:expr, $of_composefs:expr) => {
        match $options {
            FormatOptions::Dwarfs($own) => $value,
            FormatOptions::Squashfs($own) => $value,
            FormatOptions::Erofs($own) => $value,
            #[cfg(feature = "composefs")]
            FormatOptions::Composefs($own) => $of_composefs,
            FormatOptions::Cramfs($own) => $value,
            FormatOptions::Iso9660($own) => $value,
            FormatOptions::Wim($own) => $value,
        }
    };
}

impl FormatOptions {
    /// Returns every format that is written, with the default options.
    pub fn all() -> Vec<Self> {
        vec![
            Self::Dwarfs(DwarfsOptions::default()),
            Self::Squashfs(SquashfsOptions::default()),
            Self::Erofs(ErofsOptions::default()),
            #[cfg(feature = "composefs")]
            Self::Composefs(ComposefsOptions::default()),
            Self::Cramfs(CramfsOptions::default()),
            Self::Iso9660(IsoOptions::default()),
            Self::Wim(WimOptions::default()),
        ]
    }

    /// Returns a format by its name or an extension of its images' names, with the default options.
    ///
    /// # Errors
    /// `Invalid` for an unknown format, `Unsupported` for one that is not written.
    pub fn named(name: &str) -> Result<Self> {
        by_name(name)
    }

    /// Returns the format of a new image, with the default options: by name, else by the extension
    /// of the output's name ([`crate::build::Destination::name`]), else DwarFS.
    ///
    /// # Errors
    /// As [`FormatOptions::named`].
    pub fn for_output(name: Option<&str>, output: Option<&Path>) -> Result<Self> {
        for_output(name, output)
    }

    /// Returns the name of the format.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Dwarfs(_) => "dwarfs",
            Self::Squashfs(_) => "squashfs",
            Self::Erofs(_) => "erofs",
            #[cfg(feature = "composefs")]
            Self::Composefs(_) => "composefs",
            Self::Cramfs(_) => "cramfs",
            Self::Iso9660(_) => "iso9660",
            Self::Wim(_) => "wim",
        }
    }

    /// Returns whether images are found after any number of other bytes.
    pub(crate) fn is_found_behind_header(&self) -> bool {
        let mut named = FORMATS
            .iter()
            .filter(|format| format.name() == self.format());
        named.any(|format| format.is_found_behind_header())
    }

    /// Returns the names of all options.
    pub fn names(&self) -> Vec<&'static str> {
        let own: &dyn NamedOptions = each!(self, own => own, own);
        own.names()
    }

    /// Sets an option by its name; a list gets one value more.
    ///
    /// # Errors
    /// `Invalid` for an option that the format does not have, and for a value that the option
    /// cannot have; `Io` for a file that cannot be read.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) -> Result<()> {
        let own: &mut dyn NamedOptions = each!(self, own => own, own);
        if own.set(name, value.as_ref())? {
            return Ok(());
        }
        Err(self.refused(name))
    }

    /// Returns the error about an option that other formats have, or none.
    fn refused(&self, name: &str) -> Error {
        let format = self.format();
        let (mut formats, mut setting) = (Vec::new(), None);
        for other in Self::all() {
            let known = other.names().into_iter().find(|known| *known == name);
            if let Some(known) = known {
                formats.push(other.format());
                setting = Some(Setting(known));
            }
        }
        let (Some((last, others)), Some(setting)) = (formats.split_last(), setting) else {
            let known = self.names().join(", ");
            let what = format!("{format} images have no option `{name}`; they have {known}");
            return Error::invalid(what);
        };
        let others = if others.is_empty() {
            String::new()
        } else {
            others.join(", ") + " and "
        };
        let what = format!("{setting} does not apply to {format} images, only to {others}{last}");
        Error::invalid(what).about([setting])
    }

    /// Returns the file outside of the image that gets all content, if there is one.
    pub fn device(&self) -> Option<&Path> {
        self.pipeline()?.plan().device
    }

    /// Returns whether the report of a build names the digest of the image, which others compute of
    /// the same files, so that nothing else is kept in the image.
    pub fn reports_digest(&self) -> bool {
        self.pipeline().is_none()
    }

    /// Returns what creates the writer; `None` for a format that the pipeline does not write.
    pub(crate) fn pipeline(&self) -> Option<&dyn PipelineFormat> {
        each!(self, own => Some(own as &dyn PipelineFormat), { let _ = own; None })
    }

    /// Returns the same.
    ///
    /// # Errors
    /// `Unsupported` for such a format.
    pub(crate) fn by_pipeline(&self) -> Result<&dyn PipelineFormat> {
        self.pipeline().ok_or_else(|| {
            let format = self.format();
            let what = format!("{format} images are not written by the pipeline");
            Error::unsupported(what)
        })
    }
}

/// Extensions that promise a format which is not written: better refused than disappointed.
const FOREIGN: &[&str] = &["esd", "swm", "cpio", "tar", "zip"];

/// Finds a format that is written by its name or an extension of its images' names.
pub(crate) fn by_name(name: &str) -> Result<FormatOptions> {
    let named = |f: &&dyn Format| f.name() == name || f.extensions().contains(&name);
    let Some(format) = FORMATS.iter().copied().find(named) else {
        let what = format!("unknown format `{name}`; the formats are {}", written());
        return Err(Error::invalid(what));
    };
    let mut all = FormatOptions::all().into_iter();
    let found = all.find(|options| options.format() == format.name());
    found.ok_or_else(|| {
        let written = written();
        let what = format!("{name} images are read, but not written; the formats are {written}");
        Error::unsupported(what)
    })
}

/// Lists the formats that are written.
fn written() -> String {
    let names: Vec<_> = FormatOptions::all()
        .iter()
        .map(FormatOptions::format)
        .collect();
    names.join(", ")
}

/// Finds the format of a new image: by name, else by the extension, else the default.
pub(crate) fn for_output(name: Option<&str>, output: Option<&Path>) -> Result<FormatOptions> {
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
pub(crate) fn promised(output: &Path) -> Result<Option<&'static dyn Format>> {
    let extension = output.extension().and_then(|extension| extension.to_str());
    let promised = extension.and_then(|e| FORMATS.iter().find(|f| f.extensions().contains(&e)));
    if let Some(format) = promised {
        return Ok(Some(*format));
    }
    match extension {
        Some(promised) if FOREIGN.contains(&promised) => {
            let option = Setting("format");
            let what = format!(
                "an image named .{promised} would not be what its name says; the formats are {} \
                 ({option} {} writes it all the same)",
                written(),
                FORMATS[0].name()
            );
            Err(Error::unsupported(what).about([option]))
        }
        _ => Ok(None),
    }
}

/// Describes the formats that are written.
pub fn formats() -> Vec<FormatInfo> {
    let mut described = Vec::new();
    for options in FormatOptions::all() {
        let named = FORMATS
            .iter()
            .find(|format| format.name() == options.format());
        described.extend(named.map(|format| {
            let about = format.about();
            let settings = |level| Some(options.pipeline()?.level(level).ok()?.compression);
            FormatInfo {
                name: format.name(),
                title: about.title,
                extensions: format.extensions(),
                levels: levels((0..=9).map_while(settings)),
                codecs: about.codecs,
                notes: about.notes,
            }
        }));
    }
    described
}
