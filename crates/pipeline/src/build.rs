//! The whole pipeline: scan -> dedupe -> order -> segment -> compress -> commit -> finish.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use sinterfs_model::{
    Content, ContentMap, Error, ImageWriter, MapExtent, NodeId, Observer, Result, Source, Stage,
    Summary, Tally, Tree,
};

use crate::base::BaseIndex;
use crate::classify::Categorizers;
use crate::dedupe::{Contents, FirstRead, dedupe};
use crate::hot_list::HotList;
use crate::order::{Order, order};
use crate::plan::{InputSize, StagePlan};
use crate::read::{ContentReader, ReadProblems};
use crate::readahead::{self, ReadPlan};
use crate::scratch::Scratch;
use crate::sketches::Sketches;
use crate::sort_file::Priorities;
use crate::store::{self, Owner, StoredContents};
use crate::transform::Transform;
use crate::{Report, paths, threads};

/// Says how a tree is packed; what does not depend on the format.
#[derive(Debug, Clone)]
pub struct Options {
    /// Threads for each stage that has several; 0 means as many as the machine runs at once. The
    /// image does not depend on it.
    pub threads: usize,
    /// The order in which contents are stored.
    pub order: Order,
    /// Which files come before and after all others; among those of one priority `order` decides.
    pub priorities: Priorities,
    /// Which files come before even those, in small blocks where blocks hold many files.
    pub hot: HotList,
    /// Whether equal files are stored once.
    pub duplicates: bool,
    /// How many full blocks back repeated parts are looked for; 0 leaves the open blocks, `None`
    /// means all.
    pub lookback: Option<u32>,
    /// The bytes of memory that the build may take; `None` means 512 MiB and as much again for each
    /// thread, or what one worker needs if that is more. The image does not depend on it.
    pub memory: Option<u64>,
    /// The directory for unnamed files with what does not fit into that memory.
    pub scratch: PathBuf,
    /// What kinds of content are told apart, to be stored in streams of their own.
    pub categorizers: Categorizers,
    /// Changes of owners, times and modes.
    pub transform: Transform,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 0,
            order: Order::default(),
            priorities: Priorities::default(),
            hot: HotList::default(),
            duplicates: true,
            lookback: None,
            memory: None,
            scratch: std::env::temp_dir(),
            categorizers: Categorizers::ALL,
            transform: Transform::default(),
        }
    }
}

/// Packs the tree of a source with a writer and tells what was done.
///
/// Memory: as `Options::memory` says, divided by `Budget`; the names of the tree come on top.
/// Blocks that are no longer in memory are compared with in a scratch file as large as they are.
///
/// An error of the writer, of an encoder or of the scan as a whole ends the build, as does an
/// observer that asks to stop (`Cancelled`). A file that cannot be read does not: the observer is
/// warned, the report counts it, and what could be read is stored.
pub fn build(
    source: &dyn Source,
    mut writer: Box<dyn ImageWriter>,
    options: &Options,
    observer: &dyn Observer,
) -> Result<Report> {
    let shape = StagePlan::new(writer.geometry())?;
    let threads = threads::resolve(options.threads);
    let scanning = WarningCounter::new(observer);
    let mut tree = threads::guard("scan", || source.scan(&scanning))?;
    options.transform.check(&tree)?;
    let scratch = Scratch::new(options.scratch.clone());
    let by = shape.order(options.order);
    let categorizers = shape.categorizers(options.categorizers);
    let ground = match writer.base() {
        Some(base) => {
            let memory = options.memory;
            Some(BaseIndex::new(
                base, &tree, threads, memory, &scratch, observer,
            )?)
        }
        None => None,
    };
    let first = FirstRead {
        duplicates: options.duplicates,
        similar_below: match by {
            Order::Similarity => shape.similar_below(),
            _ => 0,
        },
        categorizers,
        known: ground.as_ref().map(|ground| &ground.known),
        threads,
    };
    let mut contents = dedupe(source, &tree, &first, &scratch, observer)?;
    let ranked = options.priorities.rank(&tree, observer);
    let mut order = order(&tree, &contents, by, ranked.as_deref())?;
    options
        .hot
        .first(&tree, &mut contents, &mut order, observer);
    // tens of megabytes that nobody needs from here on
    contents.sketches = Sketches::Absent;
    let trouble = ReadProblems::default();
    let total = readahead::total(&tree, &contents, &order);
    let stock = ground.map(|ground| ground.stock);
    let compared = match &stock {
        Some(stock) => stock.bytes.saturating_add(contents.new_bytes(&tree)),
        None => total.bytes,
    };
    let plan = ReadPlan {
        contents: &contents,
        order: &order,
        grouped: by == Order::Similarity && ranked.is_none(),
        reader: ContentReader {
            source,
            tree: &tree,
            observer,
            trouble: &trouble,
            spacing: shape.spacing(compared),
            categorizers,
        },
    };
    observer.expect(Stage::Segment, total);
    let encoder = writer.encoder();
    let decoding = stock.as_ref().map_or(0, |stock| stock.memory);
    let amount = InputSize {
        nodes: tree.nodes().len() as u64,
        content: total.bytes,
        compared,
    };
    let (cut, budget) = shape.prepare(&*encoder, amount, stock, threads, options)?;
    let stored = store::store(&plan, &mut *writer, &*encoder, &cut, &budget, observer)?;
    let placed = place(&mut tree, &contents, stored)?;
    options.transform.apply(&mut tree)?;
    let image = finish(writer, &tree, &placed, observer)?;
    Ok(Report {
        tree: tree.stats(),
        left_out: scanning.count(),
        unreadable: trouble.unreadable.into_inner(),
        changed: trouble.changed.into_inner(),
        memory: budget.memory.max(decoding),
        image,
        ..placed.report
    })
}

/// Takes over what is used of the base, and writes the metadata.
fn finish(
    mut writer: Box<dyn ImageWriter>,
    tree: &Tree,
    placed: &Placed,
    observer: &dyn Observer,
) -> Result<Summary> {
    if !placed.used.is_empty() {
        writer.take_over(&placed.used, observer)?;
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

/// Where the content of each file went, and what that says for the report.
struct Placed {
    map: ContentMap,
    /// The blocks of the base that are used.
    used: Vec<u32>,
    report: Report,
}

/// Returns each file its list of extents, and its node the size that was stored.
fn place(tree: &mut Tree, contents: &Contents, stored: StoredContents) -> Result<Placed> {
    let StoredContents { segmented, owners } = stored;
    let mut report = Report {
        matched_bytes: segmented.matched,
        reused_blocks: segmented.used.blocks.len() as u64,
        reused_bytes: segmented.used.bytes,
        unused_bytes: segmented.used.bytes - segmented.used.used,
        ..Report::default()
    };
    let mut rejected: Vec<NodeId> = owners
        .iter()
        .filter_map(|owner| match owner {
            Owner::Rejected(file) => Some(*file),
            Owner::Content(_) => None,
        })
        .collect();
    rejected.sort_unstable();
    for extent in &segmented.extents {
        if let MapExtent::Hole { len } = extent {
            report.hole_bytes = report.hole_bytes.saturating_add(*len);
        }
    }
    // the extents are not copied: for small units they are the largest table there is
    let ends = segmented.lists.iter().map(|list| list.end);
    let mut map = ContentMap::with_lists(tree.nodes().len(), segmented.extents, ends)?;
    for (number, (owner, list)) in (0..).zip(owners.iter().zip(&segmented.lists)) {
        let mut give = |file: NodeId| {
            map.assign(file, number);
            tree.nodes_mut()[file.index()].content = Content::File { size: list.size };
        };
        match *owner {
            Owner::Rejected(file) => give(file),
            Owner::Content(index) => {
                let content = &contents.items[index as usize];
                give(content.original);
                for &file in contents.duplicates(content) {
                    if rejected.binary_search(&file).is_err() {
                        give(file);
                        report.duplicates += 1;
                        report.duplicate_bytes = report.duplicate_bytes.saturating_add(list.size);
                    }
                }
            }
        }
    }
    let nothing = map.push(&[]);
    for &file in &contents.empty {
        map.assign(file, nothing);
        debug_assert_eq!(paths::size(tree, file), 0);
    }
    Ok(Placed {
        map,
        used: segmented.used.blocks,
        report,
    })
}

/// Counts the warnings that an observer gets.
pub struct WarningCounter<'a> {
    inner: &'a dyn Observer,
    warnings: AtomicU64,
}

impl std::fmt::Debug for WarningCounter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WarningCounter")
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

impl<'a> WarningCounter<'a> {
    /// Stands in front of another observer.
    pub fn new(inner: &'a dyn Observer) -> Self {
        Self {
            inner,
            warnings: AtomicU64::new(0),
        }
    }

    /// Returns how many warnings there were.
    pub fn count(&self) -> u64 {
        self.warnings.load(Ordering::Relaxed)
    }
}

impl Observer for WarningCounter<'_> {
    fn expect(&self, stage: Stage, total: Tally) {
        self.inner.expect(stage, total);
    }

    fn advance(&self, stage: Stage, done: Tally) {
        self.inner.advance(stage, done);
    }

    fn warn(&self, warning: &Error) {
        self.warnings.fetch_add(1, Ordering::Relaxed);
        self.inner.warn(warning);
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }
}
