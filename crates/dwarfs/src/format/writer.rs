//! New DwarFS images: the format's options and the common ones to the options of the writer.

use std::io::Write;
use std::sync::Arc;

use sinterfs_block::{ReadAt, Sink};
use sinterfs_codec::Encoding;
use sinterfs_format::{
    Blob, Capabilities, CreateOptions, Level, PipelineFormat, PlanOptions, ReadOptions, Rework,
    level,
};
use sinterfs_model::{Categorizers, ImageWriter, Result, Setting};

use super::levels;
use super::locate::located;
use crate::rewrite;
use crate::write::{DwarfsOptions, DwarfsWriter, TimeResolution, WriteOptions, category_codecs};

impl PipelineFormat for DwarfsOptions {
    fn level(&self, level: u8) -> Result<&'static Level> {
        level::at(levels::of(self.purpose.unwrap_or_default()), level)
    }

    fn categorizers(&self) -> Categorizers {
        Categorizers::ALL
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            uncompressed_files: true,
            media_categories: true,
            all_times: true,
            patches: false,
            ..Capabilities::USUAL
        }
    }

    fn plan(&self) -> PlanOptions<'_> {
        PlanOptions {
            base: self.base.as_deref(),
            lookback: self.lookback,
            read_cost: self.read_cost,
            history: self.history,
            ..PlanOptions::default()
        }
    }

    fn rework(&self) -> Rework {
        let lookback = self.lookback.map(|_| Setting("lookback"));
        Rework {
            all: self.purpose.is_some(),
            only_with_all: lookback.or(self.read_cost.map(|_| Setting("read_cost"))),
            tree: self.pack_metadata.is_some()
                || self.time_resolution.is_some()
                || self.keep_all_times,
        }
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        _: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        Ok(Box::new(DwarfsWriter::new(out, self.resolved(options)?)?))
    }

    fn sign(&self, source: &Arc<dyn ReadAt>, signature: &str, out: &mut dyn Write) -> Result<()> {
        let options = located(&**source, &ReadOptions::default())?;
        rewrite::sign(source, &options, signature.as_bytes(), out)
    }
}

impl DwarfsOptions {
    /// Returns the options of the writer.
    pub(super) fn resolved(&self, options: &CreateOptions) -> Result<WriteOptions> {
        let special = &options.settings.special;
        // a codec named by the user is the only one; content that it hardly shrinks is stored
        let (incompressible, hot) = if options.is_compression_chosen {
            (Encoding::default(), None)
        } else {
            // the files needed first are cheap to decode
            let hot = special.hot.map(str::parse).transpose()?;
            (special.incompressible.parse()?, hot)
        };
        let of_source = options.source_times;
        let unit = of_source.map(|(nanos, _)| TimeResolution::from_nanos(nanos));
        let unit = unit.transpose()?.unwrap_or(TimeResolution::SECOND);
        let time_resolution = self.time_resolution.unwrap_or(unit);
        let of_level = || options.settings.metadata_compression.parse();
        let metadata = self.metadata_compression.clone();
        let codecs = category_codecs(special.flac, incompressible, hot);
        Ok(WriteOptions {
            block_size_bits: u8::try_from(options.block_size.trailing_zeros()).unwrap_or(u8::MAX),
            encoding: options.compression.parse()?,
            by_category: [&self.by_category[..], &codecs].concat(),
            metadata_encoding: metadata.map_or_else(of_level, Ok)?,
            time_resolution,
            keep_all_times: self.keep_all_times || of_source.is_some_and(|(_, all)| all),
            create_timestamp: options.create_timestamp,
            history: self
                .history
                .then(|| self.recorded(options, time_resolution)),
            xattrs: options.xattrs,
            own: self.clone(),
            ..WriteOptions::default()
        })
    }
}
