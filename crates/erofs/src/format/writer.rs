//! New EROFS images: our options to the writer's own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sinterfs_block::Sink;
use sinterfs_format::{
    Blob, Capabilities, CreateOptions, IndexWriter, Level, PipelineFormat, PlanOptions,
    level::CODE_AND_TEXT,
};
use sinterfs_model::{Categorizers, ImageWriter, MapExtent, Result, StoredRange};
use sinterfs_platform::names;

use super::{devices, levels};
use crate::write::{DeviceName, ErofsOptions, ErofsWriter, WriteOptions};

impl PipelineFormat for ErofsOptions {
    fn level(&self, level: u8) -> Result<&'static Level> {
        levels::level((self.kernel.major, self.kernel.minor), level)
    }

    fn categorizers(&self) -> Categorizers {
        CODE_AND_TEXT
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            uncompressed_files: true,
            ..Capabilities::USUAL
        }
    }

    fn plan(&self) -> PlanOptions<'_> {
        PlanOptions {
            device: self.blob_device.as_deref(),
            ..PlanOptions::default()
        }
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
            ..self.resolved(options)?
        };
        Ok(Box::new(ErofsWriter::new(out, sink, options)?))
    }

    fn is_index(&self) -> bool {
        self.extended.index
    }

    fn create_index(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
    ) -> Result<Box<dyn IndexWriter>> {
        let options = self.resolved(options)?;
        Ok(Box::new(ErofsWriter::new(out, None, options)?))
    }
}

impl ErofsOptions {
    /// Returns the options of the writer for an image without a device.
    fn resolved(&self, options: &CreateOptions) -> Result<WriteOptions> {
        Ok(WriteOptions {
            // one that is too large is refused as such
            block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
            compression: options.compression.parse()?,
            device: None,
            xattrs: options.xattrs,
            made: options.create_timestamp,
            own: self.clone(),
        })
    }
}

impl IndexWriter for ErofsWriter {
    fn refer(&mut self, ranges: &[StoredRange], len: u64) -> Result<Vec<MapExtent>> {
        Self::refer(self, ranges, len)
    }
}
