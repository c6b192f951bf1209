//! The blocks of an opened DwarFS image for a new one: taken over as they are, or written anew.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_format::{CreateOptions, FormerRuns, MetadataPlan, Reuse, RewriteOptions, Rewritten};
use sinterfs_model::{ContentMap, ImageWriter, Observer, Result};

use super::writer::write_options;
use crate::read::Dwarfs;
use crate::rewrite::{
    self, AppendingWriter, BaseImage, BlockRules, MetadataRule, Rebuild, Selection,
};

/// An opened image as one whose blocks can be taken over.
pub(super) struct ReusableBlocks(pub(super) Arc<Dwarfs>);

impl Reuse for ReusableBlocks {
    fn former_runs(&self) -> Result<FormerRuns> {
        self.0.history().map(FormerRuns::new)
    }

    fn create_on(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
        content: ContentMap,
        path: &Path,
    ) -> Result<Box<dyn ImageWriter>> {
        let base = BaseImage::new(Arc::clone(&self.0), content, path.to_owned())?;
        let own = write_options(options)?;
        let writer = AppendingWriter::new(Box::new(out), own, base, options.threads)?;
        Ok(Box::new(writer))
    }

    fn rewrite(
        &self,
        out: Box<dyn Write + Send>,
        options: &RewriteOptions<'_>,
        observer: &dyn Observer,
    ) -> Result<Rewritten> {
        let create = write_options(&options.create)?;
        let metadata = match options.metadata {
            MetadataPlan::Keep => MetadataRule::Keep,
            MetadataPlan::Encode => MetadataRule::Encode,
            MetadataPlan::Rebuild(tree, map) => MetadataRule::Rebuild(Box::new(Rebuild {
                tree,
                map,
                options: create.clone(),
            })),
        };
        let selection = options.selection.clone();
        let own = rewrite::RewriteOptions {
            blocks: BlockRules {
                encoding: options.compression.clone(),
                by_category: options.by_category.clone(),
                selection: selection.map(|(names, inverted)| Selection { names, inverted }),
                keep_smaller: options.keep_smaller,
            },
            metadata,
            metadata_encoding: create.metadata_encoding,
            history: create.history,
            section_index: create.section_index,
            digest: create.digest,
            metadata_copy: create.metadata_copy,
            threads: options.threads,
        };
        let report = rewrite::rewrite(&self.0, out, &own, observer)?;
        Ok(Rewritten {
            image: report.image,
            recoded: report.recoded,
        })
    }
}
