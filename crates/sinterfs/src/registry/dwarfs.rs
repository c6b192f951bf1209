//! The row of DwarFS: our options to its own, its findings to details that any program can show.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{ReadAt, Sink};
use sinterfs_dwarfs::dump::Parts;
use sinterfs_dwarfs::layout::SectionType;
use sinterfs_dwarfs::read::{Dwarfs, HistoryEntry, Offset, Version};
use sinterfs_dwarfs::rewrite::{
    self, BlockRules, Foundation, MetadataRule, OntoWriter, Rebuild, Selection,
};
use sinterfs_dwarfs::write::{DwarfsWriter, HistoryInfo, TimeResolution, WriteOptions, own_codecs};
use sinterfs_model::{ContentMap, Error, Image, ImageWriter, Ino, Loss, Observer, Result};
use sinterfs_ops::StoredBlock;

use super::{
    Asked, Bid, Blob, CreateOptions, Format, Handle, MetadataPlan, OwnDigests, RewriteOptions,
    Rewritten, VolumeOptions,
};
use crate::info::{Details, Value};
use crate::open::OpenOptions;
use crate::verify::check::{CheckReport, Depth};
use crate::write::levels::{self, Level};

/// DwarFS 2.x.
#[derive(Debug)]
pub struct DwarfsFormat;

const MAGIC: &[u8] = b"DWARFS\x02";

impl Format for DwarfsFormat {
    fn name(&self) -> &'static str {
        "dwarfs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["dwarfs", "dff", "dwfs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        if starts_with_magic(&**source, options.offset.unwrap_or(0))? {
            return Ok(Bid::Certain);
        }
        let behind = match options.offset {
            Some(_) => None,
            None => sinterfs_dwarfs::read::locate(&**source)?,
        };
        Ok(behind.map_or(Bid::No, Bid::Behind))
    }

    fn digest(
        &self,
        source: &Arc<dyn ReadAt>,
        options: &OpenOptions,
    ) -> Result<Option<OwnDigests>> {
        let options = own_options(&**source, options)?;
        let found = sinterfs_dwarfs::read::digest(Arc::clone(source), &options)?;
        Ok(found.map(|found| OwnDigests {
            start: found.start,
            digests: found.digests,
            signature: found.signature,
        }))
    }

    fn sign(&self, source: &Arc<dyn ReadAt>, signature: &str, out: &mut dyn Write) -> Result<()> {
        let options = own_options(&**source, &OpenOptions::default())?;
        rewrite::sign(source, &options, signature.as_bytes(), out)
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let options = own_options(&*source, options)?;
        let concrete = Arc::new(Dwarfs::open(source, &options)?);
        let image: Arc<dyn Image> = Arc::clone(&concrete) as _;
        Ok(Box::new(Opened { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        depth: Depth,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let options = own_options(&*source, options)?;
        let Depth { deep, threads } = depth;
        let report = sinterfs_dwarfs::check::check(source, &options, deep, threads, observer)?;
        let (problems, notes) = report.findings.in_words();
        let (sections, blocks) = (report.sections, report.blocks);
        Ok(CheckReport {
            sections: Some(sections),
            inodes: None,
            blocks,
            files: 0,
            root_digest: None,
            signed: None,
            problems,
            notes,
        })
    }

    fn level(&self, level: u8, _: &VolumeOptions) -> Result<&'static Level> {
        Ok(levels::of(&levels::DWARFS, level))
    }

    fn knows(&self, option: Asked) -> bool {
        matches!(
            option,
            Asked::CategoryCompression
                | Asked::MetadataCompression
                | Asked::Media
                | Asked::Base
                | Asked::Lookback
                | Asked::TimeResolution
                | Asked::AllTimes
                | Asked::PackMetadata
                | Asked::NoHistory
                | Asked::NoSectionIndex
                | Asked::WithDigest
                | Asked::NoXattrs
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
}

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let solid = &options.solid;
    let packing = solid.packing.as_deref().map(str::parse).transpose()?;
    let block_size_bits = options.block_size.trailing_zeros();
    Ok(WriteOptions {
        block_size_bits: u8::try_from(block_size_bits).unwrap_or(u8::MAX),
        encoding: options.compression.parse()?,
        by_category: [
            &solid.by_category[..],
            &own_codecs(solid.flac_level, solid.incompressible, solid.hot),
        ]
        .concat(),
        metadata_encoding: solid.metadata_compression,
        time_resolution: TimeResolution::from_nanos(solid.time_resolution)?,
        keep_all_times: solid.keep_all_times,
        create_timestamp: options.create_timestamp,
        history: history(options),
        section_index: solid.section_index,
        digest: solid.digest,
        xattrs: !options.per_file.no_xattrs,
        packing: packing.unwrap_or_default(),
        ..WriteOptions::default()
    })
}

fn starts_with_magic(source: &dyn ReadAt, at: u64) -> Result<bool> {
    let mut head = [0; MAGIC.len()];
    if source.len().saturating_sub(at) >= head.len() as u64 {
        source.read_at(at, &mut head)?;
    }
    Ok(head == MAGIC)
}

/// Turns our options into the format's. Where no sound image is found but one begins the file, it is
/// that one that is damaged, and opening it tells where.
fn own_options(
    source: &dyn ReadAt,
    options: &OpenOptions,
) -> Result<sinterfs_dwarfs::read::OpenOptions> {
    let found = match options.offset {
        Some(offset) => Some(offset),
        None => sinterfs_dwarfs::read::locate(source)?,
    };
    let offset = match found {
        Some(offset) => Offset::At(offset),
        None if starts_with_magic(source, 0)? => Offset::At(0),
        None => Offset::Auto,
    };
    Ok(sinterfs_dwarfs::read::OpenOptions {
        offset,
        len: options.len,
        limits: options.limits,
        cache_bytes: options.cache_bytes,
        cache: options.cache.clone(),
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
        former: options.solid.former.0.clone(),
    })
}

/// The runs that made an image that is read for another.
#[derive(Debug, Clone, Default)]
pub struct FormerRuns(Vec<HistoryEntry>);

impl FormerRuns {
    /// Adds those of another image behind these.
    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }
}

/// An opened DwarFS image.
struct Opened {
    image: Arc<dyn Image>,
    concrete: Arc<Dwarfs>,
}

impl Handle for Opened {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<Details> {
        details(&self.concrete)
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        sinterfs_dwarfs::dump::dump(&self.concrete, Parts::default(), out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decode_ahead(&self) {
        self.concrete.decode_ahead();
    }

    fn untold(&self) -> Result<Vec<Loss>> {
        let births = match self.concrete.options().has_btime {
            true => self.image.info().totals.inodes,
            false => 0,
        };
        let layouts = self.concrete.metadata_history()?.len() as u64;
        let unusable = self.concrete.xattrs_trouble().is_some();
        let losses = [
            ("extended attributes that cannot be used", unusable.into()),
            ("times of birth", births),
            ("notes on former versions of the metadata", layouts),
        ];
        let some = losses.into_iter().filter(|(_, count)| *count > 0);
        Ok(some.map(|(what, count)| Loss { what, count }).collect())
    }

    fn warnings(&self) -> Vec<Error> {
        self.concrete.xattrs_trouble().into_iter().collect()
    }

    fn decoded_bytes(&self) -> u64 {
        let blocks = self.concrete.block_count();
        blocks.saturating_mul(self.concrete.block_size())
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        if of.is_some() {
            return Ok(());
        }
        let (names, numbers) = self.concrete.block_categories()?.unwrap_or_default();
        let sections = self.concrete.sections()?.into_iter();
        let blocks = sections.filter(|section| section.kind == SectionType::BLOCK);
        for (block, section) in (0..).zip(blocks) {
            let number = usize::try_from(block).ok().and_then(|at| numbers.get(at));
            let number = number.and_then(|number| usize::try_from(*number).ok());
            visit(StoredBlock {
                block,
                stored: section.len,
                codec: &section.compression.to_string(),
                category: number
                    .and_then(|at| names.get(at))
                    .map_or("", String::as_str),
            });
        }
        Ok(())
    }

    fn former_runs(&self) -> Result<FormerRuns> {
        self.concrete.history().map(FormerRuns)
    }

    fn create_on(
        &self,
        out: Box<dyn Sink>,
        options: &CreateOptions,
        content: ContentMap,
        path: &Path,
    ) -> Result<Box<dyn ImageWriter>> {
        let foundation = Foundation::new(Arc::clone(&self.concrete), content, path.to_owned())?;
        let own = write_options(options)?;
        let writer = OntoWriter::new(Box::new(out), own, foundation, options.threads)?;
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
                encoding: options.compression,
                by_category: options.by_category.clone(),
                selection: selection.map(|(names, inverted)| Selection { names, inverted }),
                keep_smaller: options.keep_smaller,
            },
            metadata,
            metadata_encoding: create.metadata_encoding,
            history: create.history,
            section_index: create.section_index,
            digest: create.digest,
            threads: options.threads,
        };
        let report = rewrite::rewrite(&self.concrete, out, &own, observer)?;
        Ok(Rewritten {
            image: report.image,
            recoded: report.recoded,
        })
    }
}

fn details(image: &Dwarfs) -> Result<Details> {
    let (info, sizes) = (image.info(), image.sizes());
    let mut details: Details = vec![
        ("format".to_owned(), Value::from("DwarFS")),
        ("version".to_owned(), info.version.as_str().into()),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), sizes.image.into()),
        (
            "file bytes".to_owned(),
            info.totals.bytes.unwrap_or(0).into(),
        ),
        ("inodes".to_owned(), info.totals.inodes.into()),
        ("block size".to_owned(), image.block_size().into()),
        ("blocks".to_owned(), image.block_count().into()),
        ("block bytes".to_owned(), sizes.blocks.into()),
        ("metadata bytes".to_owned(), sizes.metadata.into()),
        (
            "metadata bytes decoded".to_owned(),
            sizes.metadata_decoded.into(),
        ),
        ("section index".to_owned(), image.has_index().into()),
        (
            "inodes with extended attributes".to_owned(),
            image.with_xattrs().into(),
        ),
        (
            "time resolution ns".to_owned(),
            info.capability.time_unit.into(),
        ),
    ];
    let mut add = |name: &str, value: Value| details.push((name.to_owned(), value));
    let features: Vec<Value> = image.features()?.into_iter().map(Value::from).collect();
    if !features.is_empty() {
        add("features", Value::List(features));
    }
    if let Some(made_by) = image.made_by()? {
        add("made by", made_by.into());
    }
    if let Some(created) = image.created()? {
        add("created", created.into());
    }
    match image.root_digest() {
        Ok(Some(root)) => add("root digest", root.to_string().into()),
        Ok(None) => {}
        Err(error) => add("root digest", error.what().into()),
    }
    add("sections", sections(image)?);
    let categories: Vec<Value> = image.categories()?.into_iter().map(category).collect();
    if !categories.is_empty() {
        add("categories", Value::List(categories));
    }
    let history: Vec<Value> = image.history()?.into_iter().map(history_entry).collect();
    if !history.is_empty() {
        add("history", Value::List(history));
    }
    Ok(details)
}

fn history_entry(entry: HistoryEntry) -> Value {
    let mut fields: Details = vec![
        ("version".to_owned(), version(&entry.version).into()),
        ("system".to_owned(), entry.system.into()),
        ("compiler".to_owned(), entry.compiler.into()),
        ("arguments".to_owned(), entry.arguments.join(" ").into()),
    ];
    if let Some(timestamp) = entry.timestamp {
        fields.push(("time".to_owned(), timestamp.into()));
    }
    if !entry.libraries.is_empty() {
        fields.push(("libraries".to_owned(), entry.libraries.join(", ").into()));
    }
    Value::Map(fields)
}

fn category(category: sinterfs_dwarfs::read::Category) -> Value {
    Value::Map(vec![
        ("name".to_owned(), category.name.into()),
        ("blocks".to_owned(), category.blocks.into()),
        ("bytes".to_owned(), category.stored.into()),
    ])
}

/// Sums sections by what they hold and how they are encoded.
fn sections(image: &Dwarfs) -> Result<Value> {
    let mut sums: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for section in image.sections()? {
        let key = (section.kind.to_string(), section.compression.to_string());
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(section.len));
    }
    let rows = sums
        .into_iter()
        .map(|((kind, compression), (count, bytes))| {
            Value::Map(vec![
                ("type".to_owned(), kind.into()),
                ("compression".to_owned(), compression.into()),
                ("count".to_owned(), count.into()),
                ("bytes".to_owned(), bytes.into()),
            ])
        });
    Ok(Value::List(rows.collect()))
}

fn version(version: &Version) -> String {
    let [major, minor, patch] = version.number;
    match &version.git_desc {
        Some(described) if !described.is_empty() => described.clone(),
        _ => format!("{major}.{minor}.{patch}"),
    }
}
