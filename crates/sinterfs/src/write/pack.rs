//! A build by the pipeline: from an open input to the image's file.
//!
//! **Invariant:** on an error nothing is left of the image, nor of the device that takes its
//! content.

use std::path::Path;

use sinterfs_block::Sink;
use sinterfs_format::{Blob, CreateOptions, PipelineFormat};
use sinterfs_model::{Error, Geometry, Observer, Order, Result, Setting};
use sinterfs_platform::Scratch;
use sinterfs_source::{HotList, Priorities};

use crate::output::Output;
use crate::output::naming::is_same_file;
use crate::write::device_names;
use crate::write::header::HeaderBytes;
use crate::write::index;
use crate::write::job::{BuildJob, Prepared};
use crate::write::level_of::level_of;
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
pub(crate) struct Work<'a> {
    pub(crate) name: &'static str,
    pub(crate) format: &'a dyn PipelineFormat,
    pub(crate) request: &'a BuildRequest,
    pub(crate) prepared: &'a Prepared,
}

/// The options of a build, for the image and for the pipeline.
pub(crate) type Resolved = (CreateOptions, sinterfs_pipeline::Options);

impl Work<'_> {
    fn run(&self, observer: &dyn Observer) -> Result<BuildReport> {
        let (request, input) = (self.request, &self.prepared.input);
        let resolved = self.resolve()?;
        let scratch = Scratch::new(resolved.1.scratch.clone());
        input.spill(&scratch)?;
        let patches = self.format.patches();
        let output = Output::open(
            &request.destination,
            &request.open,
            patches.then_some(&scratch),
        )?;
        let output = output.instead_of(request.former_parity.clone());
        let mut out = output.writer();
        if let Some(header) = &self.prepared.header {
            header.write(&mut out)?;
            if header.is_program() {
                output.make_executable()?;
            }
        }
        let (blob, blob_output) = blob(request, &scratch)?.unzip();
        let sink = Box::new(output.writer());
        let report = self.report(self.write(sink, blob, &resolved, observer)?);
        if request.strict {
            demand_all(&report)?;
        }
        match blob_output {
            Some(device) => device_names::commit(output, device, self.format)?,
            None => output.commit()?,
        }
        Ok(report)
    }

    /// Resolves all options, before anything is written.
    pub(crate) fn resolve(&self) -> Result<Resolved> {
        let create = create_options(self.request, self.name, self.format, self.prepared)?;
        Ok((create, self.pipeline_options()?))
    }

    /// Writes the image, and what goes to a device of its own, to their sinks.
    pub(crate) fn write(
        &self,
        sink: Box<dyn Sink>,
        blob: Option<Blob>,
        (create, options): &Resolved,
        observer: &dyn Observer,
    ) -> Result<PipelineReport> {
        if self.format.is_index(create)? {
            return self.write_index(sink, create, options, observer);
        }
        let writer = match &self.prepared.base {
            Some(base) => base.create(sink, create, observer)?,
            None => self.format.create(sink, blob, create)?,
        };
        self.refuse_grouping(&writer.geometry())?;
        let packed = self.prepared.input.read(observer, |source, observer| {
            sinterfs_pipeline::build(source, writer, options, observer)
        });
        packed.map_err(|error| interrupted(error, observer))
    }

    /// Writes an index of the input.
    fn write_index(
        &self,
        sink: Box<dyn Sink>,
        create: &CreateOptions,
        options: &sinterfs_pipeline::Options,
        observer: &dyn Observer,
    ) -> Result<PipelineReport> {
        let writer = self.format.create_index(sink, create)?;
        let written = self.prepared.input.read(observer, |source, observer| {
            index::write(writer, source, &options.transform, observer)
        });
        written.map_err(|error| interrupted(error, observer))
    }

    /// Fails for options about which contents are next to each other in a block, if no block has
    /// content of several files.
    fn refuse_grouping(&self, geometry: &Geometry) -> Result<()> {
        if sinterfs_pipeline::groups_contents(geometry) {
            return Ok(());
        }
        let request = self.request;
        let (option, value) = if request.order == Some(Order::Similarity) {
            (Setting::Order, " similarity")
        } else if request.categorizers.is_some() {
            (Setting::Categorize, "")
        } else {
            return Ok(());
        };
        let what = format!(
            "{option}{value} does not apply to {} images in which each file has its own blocks",
            self.name
        );
        Err(Error::invalid(what).about([option]))
    }

    fn pipeline_options(&self) -> Result<sinterfs_pipeline::Options> {
        let request = self.request;
        let level = level_of(self.format, request)?;
        Ok(sinterfs_pipeline::Options {
            threads: request.threads,
            order: request.order.unwrap_or(level.order),
            priorities: priorities(request.sort.as_deref())?,
            hot: hot(request.hot.as_deref())?,
            duplicates: request.duplicates,
            lookback: request.lookback,
            read_cost: request.read_cost.unwrap_or(level.read_cost),
            memory: request.memory,
            max_zeros: request.max_zeros(),
            scratch: request.scratch_dir(),
            categorizers: request
                .categorizers
                .unwrap_or_else(|| self.format.categorizers()),
            transform: request.attributes_at_end().transform()?,
            program: self.prepared.header.as_ref().and_then(HeaderBytes::entry),
        })
    }

    /// Completes the pipeline's report with counts of the input.
    pub(crate) fn report(&self, mut pipeline: PipelineReport) -> BuildReport {
        let input = &self.prepared.input;
        input.add_unrepresented(&mut pipeline.image.losses);
        if !self.format.knows(Setting::AllTimes) {
            let lost = input.times_of_access(&pipeline.tree);
            pipeline.image.losses.extend(lost);
        }
        if !self.format.has_named_streams() {
            let streams = input.streams_as_attributes();
            pipeline.image.losses.extend(streams);
        }
        pipeline.left_out = pipeline.left_out.saturating_add(input.left_out());
        pipeline.memory = pipeline.memory.saturating_add(input.cache_bytes());
        BuildReport {
            format: self.name,
            pipeline,
            conflicts: input.conflicts(),
            objects: None,
            pushed: None,
        }
    }
}

/// Opens the file for content that is stored outside the image.
fn blob(request: &BuildRequest, scratch: &Scratch) -> Result<Option<(Blob, Output)>> {
    let Some(path) = &request.blob_device else {
        return Ok(None);
    };
    let image = request.path();
    if image.is_some_and(|image| is_same_file(image, path)) {
        return Err(Error::invalid("the image and its device would be one file").path(path));
    }
    let output = Output::create(path, request.destination.replaces())?;
    // its beginning is written last
    let output = if output.seeks() {
        output
    } else {
        output.behind(scratch.file()?)?
    };
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
