//! The blocks of an opened DwarFS image for a new one: taken over as they are, or written anew.

use std::any::Any;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::Sink;
use sinterfs_format::{
    CreateOptions, FormerRuns, MetadataPlan, PipelineFormat, Reuse, RewriteOptions, Rewritten,
};
use sinterfs_model::{ContentMap, Error, ImageWriter, Observer, Result};

use crate::read::Dwarfs;
use crate::rewrite::{
    self, AppendingWriter, BaseImage, BlockRules, MetadataRule, Rebuild, Selection,
};
use crate::write::DwarfsOptions;

/// An opened image as one whose blocks can be taken over.
pub(super) struct ReusableBlocks(pub(super) Arc<Dwarfs>);

impl Reuse for ReusableBlocks {
    fn former_runs(&self) -> Result<FormerRuns> {
        self.0.history().map(FormerRuns::new)
    }

    fn create_on(
        &self,
        out: Box<dyn Sink>,
        format: &dyn PipelineFormat,
        options: &CreateOptions,
        content: ContentMap,
        path: &Path,
    ) -> Result<Box<dyn ImageWriter>> {
        let base = BaseImage::new(Arc::clone(&self.0), content, path.to_owned())?;
        let own = own_options(format)?.resolved(options)?;
        let writer = AppendingWriter::new(Box::new(out), own, base, options.threads)?;
        Ok(Box::new(writer))
    }

    fn rewrite(
        &self,
        out: Box<dyn Write + Send>,
        options: &RewriteOptions<'_>,
        observer: &dyn Observer,
    ) -> Result<Rewritten> {
        let own = own_options(options.format)?;
        if options.compression.is_none() && !own.by_category.is_empty() {
            let what = "a codec for a category has no effect when blocks are kept";
            return Err(Error::invalid(what));
        }
        let create = own.resolved(&options.create)?;
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
        let rules = rewrite::RewriteOptions {
            blocks: BlockRules {
                encoding: options.compression.clone(),
                by_category: own.by_category.clone(),
                selection: selection.map(|(names, inverted)| Selection { names, inverted }),
                keep_smaller: options.keep_smaller,
            },
            metadata,
            metadata_encoding: create.metadata_encoding,
            history: create.history,
            own: create.own,
            threads: options.threads,
        };
        let report = rewrite::rewrite(&self.0, out, &rules, observer)?;
        Ok(Rewritten {
            image: report.image,
            recoded: report.recoded,
        })
    }
}

/// Returns the options of a new image that has blocks of this one.
fn own_options(format: &dyn PipelineFormat) -> Result<&DwarfsOptions> {
    let own = (format as &dyn Any).downcast_ref();
    own.ok_or_else(|| Error::invalid("only DwarFS images have blocks of DwarFS images"))
}
