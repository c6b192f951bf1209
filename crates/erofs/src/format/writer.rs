//! New EROFS images: our options to the writer's own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, CreateOptions, IndexWriter, Level, PipelineFormat, Purpose, VolumeOptions,
    level::CODE_AND_TEXT,
};
use sinterfs_model::{Categorizers, ImageWriter, MapExtent, Result, Setting, StoredRange};
use sinterfs_platform::names;

use super::{devices, levels};
use crate::Kernel;
use crate::write::{DeviceName, ErofsWriter, Extended, WriteOptions, XattrPrefixes};

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

    fn is_index(&self, options: &CreateOptions) -> Result<bool> {
        let extended = options.volume.extended.as_deref();
        let extended = extended.map(str::parse::<Extended>).transpose()?;
        Ok(extended.is_some_and(|extended| extended.index))
    }

    fn create_index(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
    ) -> Result<Box<dyn IndexWriter>> {
        Ok(Box::new(ErofsWriter::new(
            out,
            None,
            write_options(options)?,
        )?))
    }
}

impl IndexWriter for ErofsWriter {
    fn refer(&mut self, ranges: &[StoredRange], len: u64) -> Result<Vec<MapExtent>> {
        Self::refer(self, ranges, len)
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
