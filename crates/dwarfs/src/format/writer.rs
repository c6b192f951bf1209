//! New DwarFS images: our options to the writer's own.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::{ReadAt, Sink};
use sinterfs_format::{
    Blob, CreateOptions, Level, PipelineFormat, Purpose, ReadOptions, VolumeOptions, level,
};
use sinterfs_model::{ImageWriter, Result, Setting};

use super::levels;
use super::locate::located;
use crate::rewrite;
use crate::write::{DwarfsWriter, HistoryInfo, TimeResolution, WriteOptions, category_codecs};

/// Makes DwarFS images.
pub(super) struct DwarfsBuilder;

impl PipelineFormat for DwarfsBuilder {
    fn level(&self, level: u8, purpose: Purpose, _: &VolumeOptions) -> Result<&'static Level> {
        level::at(levels::of(purpose), level)
    }

    fn knows(&self, option: Setting) -> bool {
        matches!(
            option,
            Setting::ActionUncompressed
                | Setting::Duplicates
                | Setting::CreateTimestamp
                | Setting::CategoryCompression
                | Setting::MetadataCompression
                | Setting::MediaCategories
                | Setting::Base
                | Setting::Lookback
                | Setting::Purpose
                | Setting::ReadCost
                | Setting::TimeResolution
                | Setting::AllTimes
                | Setting::PackMetadata
                | Setting::History
                | Setting::SectionIndex
                | Setting::WithDigest
                | Setting::MetadataCopy
                | Setting::Xattrs
        )
    }

    fn patches(&self) -> bool {
        false
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(DwarfsWriter::new(out, write_options(options)?)?))
    }

    fn sign(&self, source: &Arc<dyn ReadAt>, signature: &str, out: &mut dyn Write) -> Result<()> {
        let options = located(&**source, &ReadOptions::default())?;
        rewrite::sign(source, &options, signature.as_bytes(), out)
    }
}

pub(super) fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let solid = &options.solid;
    let packing = solid.packing.as_deref().map(str::parse).transpose()?;
    let block_size_bits = options.block_size.trailing_zeros();
    Ok(WriteOptions {
        block_size_bits: u8::try_from(block_size_bits).unwrap_or(u8::MAX),
        encoding: options.compression.parse()?,
        by_category: [
            &solid.by_category[..],
            &category_codecs(
                solid.flac_level,
                solid.incompressible.clone(),
                solid.hot.clone(),
            ),
        ]
        .concat(),
        metadata_encoding: solid.metadata_compression.clone(),
        time_resolution: TimeResolution::from_nanos(solid.time_resolution)?,
        keep_all_times: solid.keep_all_times,
        create_timestamp: options.create_timestamp,
        history: history(options),
        section_index: solid.section_index,
        digest: solid.digest,
        metadata_copy: solid.metadata_copy,
        xattrs: !options.per_file.no_xattrs,
        packing: packing.unwrap_or_default(),
        ..WriteOptions::default()
    })
}

fn history(options: &CreateOptions) -> Option<HistoryInfo> {
    let mut numbers = env!("CARGO_PKG_VERSION")
        .split(['.', '-'])
        .map(|part| part.parse().unwrap_or(0));
    Some(HistoryInfo {
        version: std::array::from_fn(|_| numbers.next().unwrap_or(0)),
        system_id: std::env::consts::OS.to_owned(),
        compiler_id: "rustc".to_owned(),
        arguments: options.solid.history.clone()?,
        timestamp: options.create_timestamp,
        library_versions: vec![concat!("sinterfs-", env!("CARGO_PKG_VERSION")).to_owned()],
        former: options.solid.former.of(),
    })
}
