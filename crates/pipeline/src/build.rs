//! The whole pipeline: scan -> dedupe -> order -> segment -> compress -> commit -> finish.
//!
//! Enters a source, a writer and options; leaves the image, written by the writer, and a report.
//! **Invariant:** the image depends only on the source and the options, not on the number of
//! threads, on memory or on timing.

use sinterfs_model::{ImageWriter, Observer, Result, Source, Stage, Summary, Tally, Tree};
use sinterfs_workers::catch_panic;

use crate::dedupe::dedupe;
use crate::grown::grown;
use crate::hole_limit;
use crate::options::Options;
use crate::place::{Placed, place};
use crate::plan::StagePlan;
use crate::program::check_program;
use crate::read::ReadProblems;
use crate::report::Report;
use crate::store::store;
use crate::warning_counter::WarningCounter;

/// Bytes of a program that builds: its code, its libraries and the stacks of its threads.
const PROGRAM: u64 = 32 << 20;

/// The most copies of a name in memory: of the source, of the tree, in directories and in what is
/// written of them.
const COPIES_OF_NAMES: u64 = 4;

/// Packs the tree of a source with a writer and returns what was done.
///
/// Memory: `Options::memory`, divided by `Budget`, and the names of the tree. Blocks that are no
/// longer in memory are compared with in a scratch file as large as they are.
///
/// # Errors
/// Fails on an error of the writer, of an encoder or of the scan as a whole, and with `Cancelled`
/// if the observer asks to stop. A file that cannot be read is no error: the observer is warned,
/// the report counts it, and what could be read is stored.
pub fn build(
    source: &dyn Source,
    mut writer: Box<dyn ImageWriter>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report> {
    let mut plan = StagePlan::new(writer.geometry(), options)?;
    let warnings = WarningCounter::new(observer);
    let problems = ReadProblems::default();
    let mut tree = catch_panic("scan", || source.scan(&warnings))?;
    options.transform.check(&tree)?;
    if hole_limit::stores_zeros(&writer.geometry()) {
        hole_limit::refuse_long_holes(source, &tree, options.max_zeros)?;
    }
    if let Some(path) = &options.program {
        check_program(&tree, &options.transform, path)?;
    }
    plan.decode_base(writer.base(), &tree, observer)?;
    let mut contents = dedupe(
        source,
        &tree,
        &plan.first_read(&problems),
        plan.scratch(),
        observer,
    )?;
    let order = plan.order(&tree, &mut contents, observer)?;
    let encoder = writer.encoder();
    let reads = plan.reads(source, &tree, &contents, &order, &problems, observer);
    let (cut, budget) = plan.segmentation(&*encoder, &order, &reads)?;
    writer.begin(&tree)?;
    let stored = store(&reads, &mut *writer, &*encoder, &cut, &budget, observer)?;
    let threads = sinterfs_workers::thread_count(options.threads);
    let grown = grown(source, &tree, &contents.empty, threads, observer)?;
    let placed = place(&mut tree, &contents, stored)?;
    options.transform.apply(&mut tree)?;
    let metadata_memory = metadata_memory(&tree, writer.memory_of_inode());
    let image = finish(writer, &tree, &placed, observer)?;
    Ok(Report {
        tree: tree.stats(),
        left_out: warnings.count(),
        unreadable: problems.unreadable.into_inner(),
        changed: problems.changed.into_inner() + grown,
        retried: problems.retried.into_inner(),
        memory: budget.memory.max(plan.decoding_memory()),
        metadata_memory,
        image,
        ..placed.report
    })
}

/// Returns the most memory that a build takes beyond the budget, for inodes of the given size.
fn metadata_memory(tree: &Tree, inode: u64) -> u64 {
    let inodes = tree.nodes().len() as u64;
    let of_inodes = inodes.saturating_mul(inode);
    let of_names = tree.name_bytes().saturating_mul(COPIES_OF_NAMES);
    PROGRAM.saturating_add(of_inodes).saturating_add(of_names)
}

/// Copies the blocks of the base that are used, and writes the metadata.
fn finish(
    mut writer: Box<dyn ImageWriter>,
    tree: &Tree,
    placed: &Placed,
    observer: &dyn Observer,
) -> Result<Summary> {
    if !placed.used.is_empty() {
        writer.put_base_blocks(&placed.used, observer)?;
    }
    let tally = |items, stored| Tally {
        items,
        bytes: 0,
        stored,
    };
    observer.expect(Stage::Finish, tally(1, 0));
    let image = writer.finish(tree, &placed.map)?;
    observer.advance(Stage::Finish, tally(1, image.metadata_bytes));
    Ok(image)
}
