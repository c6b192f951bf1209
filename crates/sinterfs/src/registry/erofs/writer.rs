//! New EROFS images: our options to the writer's own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs_block::Sink;
use sinterfs_erofs::Kernel;
use sinterfs_erofs::write::{DeviceName, ErofsWriter, Extended, WriteOptions, XattrPrefixes};
use sinterfs_model::{ImageWriter, Observer, Result, Setting, Source};
use sinterfs_pipeline::{Categorizers, Transform};
use sinterfs_platform::names;

use super::{devices, index, levels};
use crate::registry::per_file::CODE_AND_TEXT;
use crate::write::create::{Blob, CreateOptions};
use crate::write::level::Level;
use crate::write::pipeline_format::PipelineFormat;
use crate::write::purpose::Purpose;
use crate::write::report::PipelineReport;
use crate::write::request::VolumeOptions;

/// Makes EROFS images.
pub(super) struct ErofsBuilder;

impl PipelineFormat for ErofsBuilder {
    fn level(&self, level: u8, _: Purpose, volume: &VolumeOptions) -> Result<&'static Level> {
        let kernel = kernel(volume)?;
        levels::level((kernel.major, kernel.minor), level)
    }

    fn categorizers(&self) -> Categorizers {
        CODE_AND_TEXT
    }

    fn knows(&self, option: Setting) -> bool {
        matches!(
            option,
            Setting::ActionUncompressed
                | Setting::Duplicates
                | Setting::CreateTimestamp
                | Setting::BlobDevice
                | Setting::ChunkSize
                | Setting::Holes
                | Setting::Xattrs
                | Setting::XattrPrefixes
                | Setting::Uuid
                | Setting::Label
                | Setting::TargetKernel
                | Setting::Extended
        )
    }

    fn patches(&self) -> bool {
        true
    }

    fn kept_device(&self, device: &Path) -> Result<Option<PathBuf>> {
        devices::other_name_of(device)
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        blob: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        let (name, sink) = blob.map(|blob| (blob.name, blob.sink)).unzip();
        let name = name.map(|name: OsString| DeviceName::new(&names::bytes(&name)));
        let options = WriteOptions {
            device: name.transpose()?,
            ..write_options(options)?
        };
        Ok(Box::new(ErofsWriter::new(out, sink, options)?))
    }

    fn index(&self, options: &CreateOptions) -> Result<bool> {
        let extended = options
            .volume
            .extended
            .as_deref()
            .map(str::parse::<Extended>);
        Ok(extended.transpose()?.unwrap_or_default().index)
    }

    fn write_index(
        &self,
        out: Box<dyn Sink>,
        source: &dyn Source,
        (options, transform): (&CreateOptions, &Transform),
        observer: &dyn Observer,
    ) -> Result<PipelineReport> {
        let writer = ErofsWriter::new(out, None, write_options(options)?)?;
        index::write(writer, source, transform, observer)
    }
}

/// Returns the oldest kernel that mounts an image.
fn kernel(volume: &VolumeOptions) -> Result<Kernel> {
    let asked = volume.target_kernel.as_deref();
    asked.map_or(Ok(Kernel::default()), str::parse)
}

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let volume = &options.volume;
    let label = volume.label.as_deref().map(str::parse).transpose()?;
    let extended = volume.extended.as_deref().map(str::parse).transpose()?;
    Ok(WriteOptions {
        // one that is too large is refused as such
        block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
        compression: options.compression.parse()?,
        kernel: kernel(volume)?,
        device: None,
        chunk_size: (options.per_file.chunk_size)
            .map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
        extended: extended.unwrap_or_default(),
        holes: !options.per_file.no_holes,
        xattrs: !options.per_file.no_xattrs,
        xattr_prefixes: XattrPrefixes::from_names(&options.per_file.xattr_prefixes)?,
        made: options.create_timestamp,
        uuid: volume.uuid.as_deref().map(str::parse).transpose()?,
        label: label.unwrap_or_default(),
    })
}
