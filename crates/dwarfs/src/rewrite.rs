//! Rewrites an image without its source: recompresses blocks and metadata, or rebuilds the
//! metadata, with the same files in the same blocks.
//!
//! In: an opened image. Out: an image of the newest version, to a sink without seeking.
//!
//! **Invariant:** every copied byte was verified: sections by both of their hashes, recompressed
//! content by decoding it, and every range of a file is within its block. The new image depends
//! only on the old one and the options, not on the number of threads.

mod append_to_base;
mod blocks;
mod passthrough;
mod pipeline;
mod samples;
mod signature;

use std::io::Write;

use sinterfs_block::Bytes;
use sinterfs_codec::Encoding;
use sinterfs_model::{
    ContentMap, Error, ImageWriter, Observer, Result, Stage, Summary, Tally, Tree,
};
use sinterfs_workers::WorkerPermits;

use crate::check::needed_block_lens;
use crate::layout::{MINOR_WRITTEN, SectionCompression, SectionType};
use crate::read::Dwarfs;
use crate::read::section::SectionRange;
use crate::write::{DwarfsOptions, DwarfsWriter, HistoryInfo, WriteOptions};

pub use append_to_base::{AppendingWriter, BaseImage};
pub use blocks::{BlockRules, Selection};
use blocks::{OutputBlock, Recoder};
pub use signature::sign;

/// Options of a rewrite.
#[derive(Debug, Clone)]
pub struct RewriteOptions<'a> {
    /// The rules for blocks.
    pub blocks: BlockRules,
    /// The rule for the metadata.
    pub metadata: MetadataRule<'a>,
    /// The encoding of the history and of recompressed metadata.
    pub metadata_encoding: Encoding,
    /// The run that is added to the image's history; `None` drops the whole history.
    pub history: Option<HistoryInfo>,
    /// What the new image has, whether or not the old one has it; a second copy of the metadata is
    /// kept, too.
    pub own: DwarfsOptions,
    /// The number of threads; 0 means one for each processor.
    pub threads: usize,
}

/// A rule for the metadata.
#[derive(Debug, Clone)]
pub enum MetadataRule<'a> {
    /// Copies the stored bytes.
    Keep,
    /// Recompresses the tables.
    Encode,
    /// Rebuilds the tables from the image's tree.
    Rebuild(Box<Rebuild<'a>>),
}

/// The source from which metadata is rebuilt.
#[derive(Debug, Clone)]
pub struct Rebuild<'a> {
    /// The tree from a scan of the image; owners, modes and times may have been changed.
    pub tree: &'a Tree,
    /// The content of its files, in the image's blocks.
    pub map: &'a ContentMap,
    /// Options of the metadata; encodings, history and block size are ignored here, and without a
    /// creation time the image's is kept.
    pub options: WriteOptions,
}

/// The result of a rewrite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RewriteReport {
    /// The new image.
    pub image: Summary,
    /// The number of recompressed blocks; the others were copied.
    pub recoded: u64,
}

/// Rewrites an image.
///
/// Memory: the opened image, `2 * threads + 2` blocks, stored and decoded, and what the codec of
/// recompressed metadata takes.
///
/// `Corrupt` for any damage, `Invalid` for rules about categories that the image does not have.
pub fn rewrite(
    image: &Dwarfs,
    out: Box<dyn Write + Send>,
    options: &RewriteOptions<'_>,
    observer: &dyn Observer,
) -> Result<RewriteReport> {
    let recoder = Recoder::new(image, &options.blocks)?;
    let mut writer = Box::new(DwarfsWriter::for_rewrite(
        out,
        write_options(image, options)?,
    ));
    let kept_tables = !matches!(options.metadata, MetadataRule::Rebuild(_));
    if kept_tables {
        writer.set_minor(image.minor_version().max(MINOR_WRITTEN));
    }
    let recoded = put_blocks(image, &recoder, &mut writer, options.threads, observer)?;
    observer.expect(Stage::Finish, Tally::items(1));
    let summary = match &options.metadata {
        MetadataRule::Rebuild(rebuild) => {
            writer.set_categories(passthrough::categories(image)?);
            pass_through_unknown(image, &mut writer, false)?;
            writer.finish(rebuild.tree, rebuild.map)?
        }
        MetadataRule::Keep | MetadataRule::Encode => {
            let encode = matches!(options.metadata, MetadataRule::Encode);
            add_tables(image, &mut writer, encode)?;
            pass_through_unknown(image, &mut writer, true)?;
            writer.finish_sections()?
        }
    };
    observer.advance(
        Stage::Finish,
        Tally {
            items: 1,
            bytes: 0,
            stored: summary.metadata_bytes,
        },
    );
    Ok(RewriteReport {
        image: summary,
        recoded,
    })
}

fn write_options(image: &Dwarfs, options: &RewriteOptions<'_>) -> Result<WriteOptions> {
    let base = match &options.metadata {
        MetadataRule::Rebuild(rebuild) => {
            let own = rebuild.options.clone();
            WriteOptions {
                create_timestamp: own.create_timestamp.or(image.created()?),
                ..own
            }
        }
        MetadataRule::Keep | MetadataRule::Encode => WriteOptions::default(),
    };
    let history = match options.history.clone() {
        Some(info) => Some(HistoryInfo {
            former: image.history()?,
            ..info
        }),
        None => None,
    };
    Ok(WriteOptions {
        block_size_bits: u8::try_from(image.block_size().trailing_zeros()).unwrap_or(u8::MAX),
        metadata_encoding: options.metadata_encoding.clone(),
        history,
        own: DwarfsOptions {
            metadata_copy: options.own.metadata_copy || image.sections.copy.is_some(),
            pack_metadata: base.own.pack_metadata,
            ..options.own.clone()
        },
        ..base
    })
}

/// Writes all blocks; returns how many were recompressed.
fn put_blocks(
    image: &Dwarfs,
    recoder: &Recoder<'_>,
    writer: &mut DwarfsWriter,
    threads: usize,
    observer: &dyn Observer,
) -> Result<u64> {
    let needed = needed_block_lens(image);
    let count = u32::try_from(needed.len())
        .map_err(|_| Error::limit("more than 4294967295 blocks in a DwarFS image"))?;
    let all = image.block_size().saturating_mul(u64::from(count));
    for stage in [Stage::Compress, Stage::Commit] {
        observer.expect(
            stage,
            Tally {
                items: u64::from(count),
                bytes: all,
                stored: 0,
            },
        );
    }
    let tally = |done: &OutputBlock| Tally {
        items: 1,
        bytes: u64::from(done.decoded_len),
        stored: done.bytes.len() as u64,
    };
    let threads = sinterfs_workers::thread_count(threads);
    let permits = WorkerPermits::new(
        threads.saturating_sub(needed.len()),
        recoder.memory_capacity(threads),
    );
    let mut recoded = 0;
    let work = |number| {
        let needed = needed.get(number as usize).copied().unwrap_or(0);
        let done = recoder.block(number, needed, &permits)?;
        observer.advance(Stage::Compress, tally(&done));
        Ok(done)
    };
    pipeline::in_order(
        count,
        threads,
        &permits,
        observer,
        work,
        |done: OutputBlock| {
            let tally = tally(&done);
            writer.put_section(done.category, done.decoded_len, done.bytes)?;
            recoded += u64::from(done.recoded);
            observer.advance(Stage::Commit, tally);
            Ok(())
        },
    )?;
    Ok(recoded)
}

/// Writes the image's own schema and tables.
fn add_tables(image: &Dwarfs, writer: &mut DwarfsWriter, encode: bool) -> Result<()> {
    let sections = &image.sections;
    let parts = [
        (SectionType::METADATA_V2_SCHEMA, sections.schema),
        (SectionType::METADATA_V2, sections.metadata),
    ];
    for (kind, range) in parts {
        let range = range.ok_or_else(|| Error::corrupt(format!("no {kind} section")))?;
        if encode {
            check_hash(image, kind, range)?;
            let content = image.reader.load(range, kind, u64::MAX)?;
            writer.append_table(kind, &content)?;
        } else {
            let (compression, stored) = stored(image, kind, range)?;
            writer.append_stored_table(kind, compression, &stored)?;
        }
    }
    Ok(())
}

/// Copies sections of unknown types and, if `xattrs`, the extended attributes, which belong to
/// unchanged metadata only.
fn pass_through_unknown(image: &Dwarfs, writer: &mut DwarfsWriter, xattrs: bool) -> Result<()> {
    let xattrs = image.sections.xattrs.filter(|_| xattrs);
    let xattrs = xattrs.map(|range| (SectionType::XATTRS, range));
    for (kind, range) in xattrs
        .into_iter()
        .chain(image.sections.others.iter().copied())
    {
        // digests, signatures and copies of the metadata are of the old image
        let of_old = [
            SectionType::SECTION_INDEX,
            SectionType::DIGEST,
            SectionType::SIGNATURE,
            SectionType::METADATA_COPY,
        ];
        if !of_old.contains(&kind) {
            let (compression, stored) = stored(image, kind, range)?;
            writer.push_unknown(kind, compression, stored.to_vec());
        }
    }
    Ok(())
}

/// Reads the stored bytes of a section after verifying both of its hashes.
fn stored(
    image: &Dwarfs,
    kind: SectionType,
    range: SectionRange,
) -> Result<(SectionCompression, Bytes)> {
    check_hash(image, kind, range)?;
    let read = || {
        let header = image.reader.header_of(range, kind)?;
        let stored = image.reader.stored(range, &header)?;
        Ok((header.compression, stored))
    };
    read()
        .map_err(|error: Error| error.at(kind.to_string(), image.reader.file_offset(range.offset)))
}

/// Fails if the SHA-512/256 of a section does not match; reading verifies only the XXH3.
fn check_hash(image: &Dwarfs, kind: SectionType, range: SectionRange) -> Result<()> {
    let header = image.reader.header_of(range, kind)?;
    match image.reader.sha512_256_matches(range, &header)? {
        Some(false) => Err(Error::corrupt("SHA-512/256 does not match")
            .at(kind.to_string(), image.reader.file_offset(range.offset))),
        _ => Ok(()),
    }
}
