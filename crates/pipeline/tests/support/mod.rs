//! What the tests of the pipeline share: a writer that keeps everything in memory and puts files
//! together again, a source of made-up files, and an observer that remembers.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod packing;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sinterfs_model::{
    Block, Category, Content, ContentMap, Error, Extent, ExtentSource, FileContent, Geometry,
    ImageWriter, MapExtent, Meta, NodeId, Observer, Result, Segment, SegmentEncoder, Source, Stage,
    Summary, Tally, Time, Tree, TreeBuilder,
};
use sinterfs_testkit::noise;
use sinterfs_workers::WorkerPermits;

/// What a build gave to its writer.
#[derive(Debug, Default)]
pub struct Image {
    pub blocks: Vec<(Category, Vec<u8>)>,
    pub tree: Option<Tree>,
    pub map: ContentMap,
}

/// A file put together: its bytes, and its runs of data (`true`) and holes with their lengths.
pub type Assembled = (Vec<u8>, Vec<(bool, u64)>);

impl Image {
    /// Puts every file together, by path.
    pub fn files(&self) -> BTreeMap<String, Assembled> {
        let tree = self.tree.as_ref().expect("finished");
        let mut files = BTreeMap::new();
        for (index, node) in tree.nodes().iter().enumerate() {
            let Content::File { size } = node.content else {
                continue;
            };
            let id = NodeId(index as u32);
            assert!(self.map.list_of(id).is_some(), "a file without a list");
            let (mut bytes, mut layout) = (Vec::new(), Vec::<(bool, u64)>::new());
            for extent in self.map.extents(id) {
                let (data, len) = match *extent {
                    MapExtent::Hole { len } => {
                        bytes.resize(bytes.len() + len as usize, 0);
                        (false, len)
                    }
                    MapExtent::Data { block, offset, len } => {
                        let block = &self.blocks[block.0 as usize].1;
                        bytes.extend_from_slice(&block[offset as usize..][..len as usize]);
                        (true, u64::from(len))
                    }
                };
                assert!(len > 0, "an empty extent");
                match layout.last_mut() {
                    Some(last) if last.0 == data => last.1 += len,
                    _ => layout.push((data, len)),
                }
            }
            assert_eq!(bytes.len() as u64, size, "size and extents of {id:?}");
            let path = String::from_utf8_lossy(&tree.path(id)).into_owned();
            files.insert(path, (bytes, layout));
        }
        files
    }

    /// Returns the bytes of all files, by path.
    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        self.files()
            .into_iter()
            .map(|(path, (bytes, _))| (path, bytes))
            .collect()
    }

    /// Returns the bytes in blocks.
    pub fn stored(&self) -> usize {
        self.blocks.iter().map(|block| block.1.len()).sum()
    }

    /// Renders everything that must not depend on threads.
    pub fn dump(&self) -> String {
        let tree = self.tree.as_ref().expect("finished");
        let maps: Vec<_> = (0..tree.nodes().len() as u32)
            .map(|id| (self.map.list_of(NodeId(id)), self.map.extents(NodeId(id))))
            .collect();
        format!("{:?}\n{maps:?}\n{:?}", self.blocks, tree.nodes())
    }
}

/// How the trivial encoder and the writer behave.
#[derive(Debug, Default)]
pub struct Faults {
    pub fail_encode_at: Option<u32>,
    pub panic_encode_at: Option<u32>,
    pub fail_put_at: Option<u32>,
    pub panic_put_at: Option<u32>,
}

pub struct MemoryWriter {
    pub geometry: Geometry,
    pub image: Arc<Mutex<Image>>,
    pub faults: Arc<Faults>,
}

impl MemoryWriter {
    pub fn new(block_size: u32) -> (Box<Self>, Arc<Mutex<Image>>) {
        Self::with(block_size, Faults::default())
    }

    pub fn with(block_size: u32, faults: Faults) -> (Box<Self>, Arc<Mutex<Image>>) {
        Self::of(Geometry::Solid { block_size }, faults)
    }

    pub fn of(geometry: Geometry, faults: Faults) -> (Box<Self>, Arc<Mutex<Image>>) {
        let image = Arc::new(Mutex::new(Image::default()));
        let writer = Self {
            geometry,
            image: Arc::clone(&image),
            faults: Arc::new(faults),
        };
        (Box::new(writer), image)
    }
}

struct Xor(Arc<Faults>);

impl SegmentEncoder for Xor {
    fn encode(&self, segment: &Segment, _permits: &WorkerPermits) -> Result<Block> {
        let Segment { sequence, data, .. } = segment;
        if self.0.fail_encode_at == Some(*sequence) {
            return Err(Error::unsupported("the encoder was told to fail"));
        }
        assert!(
            self.0.panic_encode_at != Some(*sequence),
            "the encoder was told to panic"
        );
        // finish in another order than asked, now and then
        if sequence % 3 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let bytes = data.iter().map(|byte| byte ^ 0x55).collect();
        Block::new(segment, bytes)
    }

    fn memory(&self, len: u32) -> u64 {
        u64::from(len)
    }

    fn window(&self) -> u64 {
        // as if it saw the whole segment
        u64::MAX
    }
}

impl ImageWriter for MemoryWriter {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn encoder(&self) -> Arc<dyn SegmentEncoder> {
        Arc::new(Xor(Arc::clone(&self.faults)))
    }

    fn put(&mut self, block: Block) -> Result<()> {
        let mut image = self.image.lock().unwrap();
        let id = image.blocks.len() as u32;
        if self.faults.fail_put_at == Some(id) {
            return Err(Error::io(
                "cannot write the image",
                std::io::Error::from_raw_os_error(28),
            ));
        }
        assert!(
            self.faults.panic_put_at != Some(id),
            "the writer was told to panic"
        );
        assert_eq!(block.sequence, id, "blocks come in sequence");
        let most = match self.geometry {
            Geometry::Solid { block_size } => block_size,
            Geometry::PerFile { unit, .. } => unit,
            _ => panic!("a geometry that is not known"),
        };
        assert!(block.decoded_len > 0 && block.decoded_len <= most);
        let bytes = block.bytes.iter().map(|byte| byte ^ 0x55).collect();
        image.blocks.push((block.category, bytes));
        Ok(())
    }

    fn finish(self: Box<Self>, tree: &Tree, map: &ContentMap) -> Result<Summary> {
        let mut image = self.image.lock().unwrap();
        image.tree = Some(tree.clone());
        image.map = ContentMap::new(tree.nodes().len());
        for list in 0..map.list_count() {
            image.map.push(map.list(list));
        }
        for id in (0..tree.nodes().len() as u32).map(NodeId) {
            if let Some(list) = map.list_of(id) {
                image.map.assign(id, list);
            }
        }
        let blocks = image.blocks.len() as u64;
        Ok(Summary {
            blocks,
            raw_bytes: image.stored() as u64,
            ..Summary::default()
        })
    }
}

/// A made-up file: runs of data, and holes.
#[derive(Debug, Clone, Default)]
pub struct File {
    pub parts: Vec<Part>,
    /// Read from the given opening on (0 is the first) instead of `parts`.
    pub later: Option<(usize, Vec<Part>)>,
    /// From which opening on opening fails.
    pub vanishes_at: Option<usize>,
    /// From which byte on reading fails.
    pub broken_from: Option<u64>,
    /// The openings, from the first on, for which reading fails so; `None` for all.
    pub mends_at: Option<usize>,
    /// From which opening on the time of modification is another.
    pub touched_at: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Data(Vec<u8>),
    Hole(u64),
}

pub fn data(bytes: impl Into<Vec<u8>>) -> File {
    File {
        parts: vec![Part::Data(bytes.into())],
        ..File::default()
    }
}

fn bytes(parts: &[Part]) -> Vec<u8> {
    let mut all = Vec::new();
    for part in parts {
        match part {
            Part::Data(bytes) => all.extend_from_slice(bytes),
            Part::Hole(len) => all.resize(all.len() + *len as usize, 0),
        }
    }
    all
}

impl File {
    pub fn bytes(&self) -> Vec<u8> {
        bytes(&self.parts)
    }
}

/// Files by path; directories come from the paths.
#[derive(Debug, Default)]
pub struct Mock {
    pub files: BTreeMap<String, File>,
    pub opened: Mutex<BTreeMap<String, usize>>,
    pub bytes_read: Arc<AtomicUsize>,
}

impl Mock {
    pub fn new<P: Into<String>>(files: impl IntoIterator<Item = (P, File)>) -> Self {
        let files = files
            .into_iter()
            .map(|(path, file)| (path.into(), file))
            .collect();
        Self {
            files,
            ..Self::default()
        }
    }

    pub fn contents(&self) -> BTreeMap<String, Vec<u8>> {
        self.files
            .iter()
            .map(|(path, file)| (path.clone(), file.bytes()))
            .collect()
    }
}

const SCANNED: Time = Time {
    secs: 1_000_000,
    nanos: 7,
};

impl Source for Mock {
    fn scan(&self, _: &dyn Observer) -> Result<Tree> {
        let meta = Meta {
            mode: 0o644,
            times: sinterfs_model::Times::all(SCANNED),
            ..Meta::default()
        };
        let mut builder = TreeBuilder::new(meta);
        let mut dirs = BTreeMap::from([(String::new(), NodeId::ROOT)]);
        for (path, file) in &self.files {
            let mut parent = String::new();
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            for part in above.split('/').filter(|part| !part.is_empty()) {
                let dir = if parent.is_empty() {
                    part.to_owned()
                } else {
                    format!("{parent}/{part}")
                };
                if !dirs.contains_key(&dir) {
                    let content = Content::Directory { first: 0, count: 0 };
                    let id = builder.add(dirs[&parent], part.as_bytes(), meta, content)?;
                    dirs.insert(dir.clone(), id);
                }
                parent = dir;
            }
            let size = file.bytes().len() as u64;
            builder.add(dirs[&parent], name.as_bytes(), meta, Content::File { size })?;
        }
        builder.finish()
    }

    fn open(&self, tree: &Tree, node: NodeId) -> Result<Box<dyn FileContent>> {
        let path = String::from_utf8(tree.path(node)).unwrap();
        let file = &self.files[&path];
        let mut opened = self.opened.lock().unwrap();
        let count = opened.entry(path.clone()).or_default();
        let time = *count;
        *count += 1;
        if file.vanishes_at.is_some_and(|at| time >= at) {
            return Err(Error::not_found("vanished").path(path));
        }
        let parts = match &file.later {
            Some((from, parts)) if time >= *from => parts,
            _ => &file.parts,
        };
        let secs = if file.touched_at.is_some_and(|at| time >= at) {
            2_000_000
        } else {
            SCANNED.secs
        };
        Ok(Box::new(MockContent {
            parts: parts.clone(),
            bytes: bytes(parts),
            broken_from: match file.mends_at {
                Some(at) if time >= at => None,
                _ => file.broken_from,
            },
            modified: Time { secs, ..SCANNED },
            bytes_read: Arc::clone(&self.bytes_read),
        }))
    }
}

struct MockContent {
    parts: Vec<Part>,
    bytes: Vec<u8>,
    broken_from: Option<u64>,
    modified: Time,
    bytes_read: Arc<AtomicUsize>,
}

impl FileContent for MockContent {
    fn len(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }

    fn modified(&self) -> Result<Option<Time>> {
        Ok(Some(self.modified))
    }

    fn extents(&self) -> Result<Vec<Extent>> {
        let mut offset = 0;
        let extents = self.parts.iter().map(|part| {
            let (len, source) = match part {
                Part::Data(bytes) => (bytes.len() as u64, ExtentSource::Block { block: 0, offset }),
                Part::Hole(len) => (*len, ExtentSource::Hole),
            };
            offset += len;
            Extent {
                offset: offset - len,
                len,
                source,
            }
        });
        Ok(extents.filter(|extent| extent.len > 0).collect())
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        if self
            .broken_from
            .is_some_and(|from| offset + buf.len() as u64 > from)
        {
            return Err(Error::io(
                "cannot read",
                std::io::Error::from_raw_os_error(5),
            ));
        }
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        self.bytes_read.fetch_add(len, Ordering::Relaxed);
        Ok(len)
    }
}

/// Remembers warnings; stops the work once `stop_after` items of `stop_in` are done.
#[derive(Debug, Default)]
pub struct Memory {
    pub warnings: Mutex<Vec<String>>,
    pub stop_in: Option<(Stage, u64)>,
    done: AtomicUsize,
    stopped: AtomicBool,
}

impl Memory {
    pub fn stopping_in(stage: Stage, after: u64) -> Self {
        Self {
            stop_in: Some((stage, after)),
            ..Self::default()
        }
    }

    pub fn warned(&self) -> Vec<String> {
        let mut warnings = self.warnings.lock().unwrap().clone();
        warnings.sort();
        warnings
    }
}

impl Observer for Memory {
    fn expect(&self, _: Stage, _: Tally) {}

    fn advance(&self, stage: Stage, done: Tally) {
        if let Some((at, after)) = self.stop_in
            && at == stage
        {
            let done =
                self.done.fetch_add(done.items as usize, Ordering::Relaxed) as u64 + done.items;
            if done >= after {
                self.stopped.store(true, Ordering::Relaxed);
            }
        }
    }

    fn warn(&self, warning: &Error) {
        self.warnings.lock().unwrap().push(warning.to_string());
    }

    fn cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Lines of words, the same for the same seed.
pub fn text(len: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 8] = [
        "block", "extent", "inode", "fragment", "chunk", "section", "link", "hole",
    ];
    let mut out = Vec::with_capacity(len + 16);
    for byte in noise(seed, len) {
        out.extend_from_slice(WORDS[usize::from(byte % 8)].as_bytes());
        out.push(if byte > 240 { b'\n' } else { b' ' });
        if out.len() >= len {
            break;
        }
    }
    out.truncate(len);
    out
}
