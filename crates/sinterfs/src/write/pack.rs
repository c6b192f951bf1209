//! A build by the pipeline: from an open input to the image's file.
//!
//! **Invariant:** on an error nothing is left of the image, nor of the device that takes its
//! content.

use std::path::Path;

use sinterfs_model::{Error, Loss, Observer, Result, Setting};
use sinterfs_pipeline::{HotList, Priorities, Scratch};

use crate::write::create::Blob;
use crate::write::job::{BuildJob, Prepared};
use crate::write::output::{Output, is_same_file};
use crate::write::pipeline_format::PipelineFormat;
use crate::write::report::{BuildReport, PipelineReport, demand_all, interrupted};
use crate::write::request::BuildRequest;
use crate::write::resolve::create_options;

/// Opens the input of a build and runs the pipeline from it to the destination.
pub(crate) fn pack(
    format: &dyn PipelineFormat,
    job: BuildJob<'_>,
    observer: &dyn Observer,
) -> Result<BuildReport> {
    let (name, request) = (job.format, job.request);
    let prepared = job.open()?;
    let work = Work {
        name,
        format,
        request,
        prepared: &prepared,
    };
    work.run(observer)
        .map_err(|error| prepared.input.located(error))
}

/// A build whose input is open.
struct Work<'a> {
    name: &'static str,
    format: &'a dyn PipelineFormat,
    request: &'a BuildRequest,
    prepared: &'a Prepared,
}

impl Work<'_> {
    fn run(&self, observer: &dyn Observer) -> Result<BuildReport> {
        let (request, input) = (self.request, &self.prepared.input);
        let create = create_options(request, self.name, self.format, self.prepared)?;
        let options = self.pipeline_options()?;
        let scratch = Scratch::new(options.scratch.clone());
        input.spill(&scratch)?;
        let patches = self.format.patches();
        let output = Output::open(&request.destination, patches.then_some(&scratch))?;
        let mut out = output.writer();
        if let Some(header) = &self.prepared.header {
            header.write(&mut out)?;
            if header.is_program() {
                output.make_executable()?;
            }
        }
        let (blob, blob_output) = blob(request)?.unzip();
        let sink = Box::new(output.writer());
        let writer = match &self.prepared.base {
            Some(base) => base.create(sink, &create, observer)?,
            None => self.format.create(sink, blob, &create)?,
        };
        let packed = input.read(observer, |source, observer| {
            sinterfs_pipeline::build(source, writer, &options, observer)
        });
        let pipeline = packed.map_err(|error| interrupted(error, observer))?;
        let report = self.report(pipeline);
        if request.strict {
            demand_all(&report)?;
        }
        // the device comes first: no image names one that is not there
        blob_output.map_or(Ok(()), Output::commit)?;
        output.commit()?;
        Ok(report)
    }

    fn pipeline_options(&self) -> Result<sinterfs_pipeline::Options> {
        let request = self.request;
        let level = self
            .format
            .level(request.level, request.purpose(), &request.volume)?;
        Ok(sinterfs_pipeline::Options {
            threads: request.threads,
            order: request.order.unwrap_or(level.order),
            priorities: priorities(request.sort.as_deref())?,
            hot: hot(request.hot.as_deref())?,
            duplicates: request.duplicates,
            lookback: request.lookback,
            read_cost: request.read_cost.unwrap_or(level.read_cost),
            memory: request.memory,
            scratch: request.scratch_dir(),
            categorizers: request
                .categorizers
                .unwrap_or_else(|| self.format.categorizers()),
            transform: request.attributes.transform()?,
        })
    }

    /// Completes the pipeline's report with counts of the input.
    fn report(&self, mut pipeline: PipelineReport) -> BuildReport {
        let input = &self.prepared.input;
        input.add_unrepresented(&mut pipeline.image.losses);
        let lost = self.lost_times(&pipeline);
        pipeline.image.losses.extend(lost);
        pipeline.memory = pipeline.memory.saturating_add(input.cache_bytes());
        BuildReport {
            format: self.name,
            pipeline,
            conflicts: input.conflicts(),
            objects: None,
        }
    }

    /// Counts the times that an image has and a format without them does not keep.
    fn lost_times(&self, pipeline: &PipelineReport) -> Option<Loss> {
        let times = self.prepared.input.times();
        let has_all = times.is_some_and(|(_, all)| all);
        let tree = &pipeline.tree;
        let lost = has_all && !self.format.knows(Setting::AllTimes);
        lost.then(|| Loss {
            what: "files with times of access and of inode change",
            count: tree.directories + tree.files + tree.symlinks + tree.specials,
        })
    }
}

/// Opens the file for content that is stored outside the image.
fn blob(request: &BuildRequest) -> Result<Option<(Blob, Output)>> {
    let Some(path) = &request.blob_device else {
        return Ok(None);
    };
    let image = request.path();
    if image.is_some_and(|image| is_same_file(image, path)) {
        return Err(Error::invalid("the image and its device would be one file").path(path));
    }
    let output = Output::create(path, request.destination.replaces())?;
    let name = path.file_name().unwrap_or_default().to_owned();
    let sink = Box::new(output.writer());
    Ok(Some((Blob { name, sink }, output)))
}

fn priorities(file: Option<&Path>) -> Result<Priorities> {
    let Some(path) = file else {
        return Ok(Priorities::default());
    };
    Priorities::parse(&read(path)?).map_err(|error| error.path(path))
}

fn hot(file: Option<&Path>) -> Result<HotList> {
    let Some(path) = file else {
        return Ok(HotList::default());
    };
    Ok(HotList::parse(&read(path)?))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| Error::io("cannot read", error).path(path))
}
