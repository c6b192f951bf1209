//! The row of EROFS: our options to its own, its findings to details that any program can show.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::{FileSource, ReadAt, Sink};
use sinterfs_erofs::Kernel;
use sinterfs_erofs::composefs::{Composefs, Objects};
use sinterfs_erofs::read::{Algorithm, Erofs, Slot};
use sinterfs_erofs::write::{DeviceName, ErofsWriter, WriteOptions};
use sinterfs_model::{Error, Image, ImageWriter, Ino, Observer, Result};
use sinterfs_ops::StoredBlock;
use sinterfs_pipeline::Categorizers;

use super::{Asked, Bid, Blob, CODE_AND_TEXT, CreateOptions, Format, Handle, VolumeOptions};
use crate::info::{Details, Value};
use crate::open::OpenOptions;
use crate::verify::check::{CheckReport, Depth};
use crate::write::levels::{self, Level};

/// EROFS, composefs' images among them.
#[derive(Debug)]
pub struct ErofsFormat;

impl Format for ErofsFormat {
    fn name(&self) -> &'static str {
        "erofs"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["erofs"]
    }

    fn bid(&self, source: &Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Bid> {
        Ok(
            match sinterfs_erofs::read::is_image(&**source, options.offset.unwrap_or(0))? {
                true => Bid::Certain,
                false => Bid::No,
            },
        )
    }

    fn open(&self, source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Box<dyn Handle>> {
        let concrete = Arc::new(open(source, options)?);
        let image: Arc<dyn Image> = match options.objects.clone() {
            None => Arc::clone(&concrete) as _,
            Some(dir) => {
                let (image, store) = (Arc::clone(&concrete), Arc::new(Store(dir)));
                let view = Composefs::new(image, store, options.verify_objects);
                Arc::new(match options.proof {
                    // what the image names is as good as the image, and nothing else is
                    Some(_) => view.all_named(),
                    None => view,
                })
            }
        };
        Ok(Box::new(Opened { image, concrete }))
    }

    fn check(
        &self,
        source: Arc<dyn ReadAt>,
        options: &OpenOptions,
        _: Depth,
        observer: &dyn Observer,
    ) -> Result<CheckReport> {
        let image = match open(source, options) {
            Ok(image) => image,
            Err(error) if error.kind() == sinterfs_model::Kind::Corrupt => {
                return Ok(CheckReport {
                    problems: vec![error.to_string()],
                    ..CheckReport::default()
                });
            }
            Err(error) => return Err(error),
        };
        let report = sinterfs_erofs::check::check(&image, observer)?;
        let (problems, notes) = report.findings.in_words();
        Ok(CheckReport {
            sections: None,
            inodes: Some(report.inodes),
            blocks: 0,
            files: 0,
            root_digest: None,
            signed: None,
            problems,
            notes,
        })
    }

    fn level(&self, level: u8, volume: &VolumeOptions) -> Result<&'static Level> {
        let kernel = kernel(volume)?;
        let [rows @ .., (_, oldest)] = &levels::EROFS;
        let known = |first: (u16, u16)| (kernel.major, kernel.minor) >= first;
        let row = rows.iter().find(|(first, _)| known(*first));
        Ok(levels::of(row.map_or(oldest, |(_, levels)| levels), level))
    }

    fn categorizers(&self) -> Categorizers {
        CODE_AND_TEXT
    }

    fn knows(&self, option: Asked) -> bool {
        matches!(
            option,
            Asked::BlobDevice
                | Asked::ChunkSize
                | Asked::NoSparse
                | Asked::NoXattrs
                | Asked::XattrPrefix
                | Asked::Uuid
                | Asked::Label
                | Asked::TargetKernel
                | Asked::Extended
        )
    }

    fn patches(&self) -> bool {
        true
    }

    fn create(
        &self,
        out: Box<dyn Sink>,
        blob: Option<Blob>,
        options: &CreateOptions,
    ) -> Result<Box<dyn ImageWriter>> {
        let (name, sink) = blob.map(|blob| (blob.name, blob.sink)).unzip();
        let name = name.map(|name: OsString| DeviceName::new(name.as_bytes()));
        let options = WriteOptions {
            device: name.transpose()?,
            ..write_options(options)?
        };
        Ok(Box::new(ErofsWriter::new(out, sink, options)?))
    }
}

/// Returns the oldest kernel that is to mount an image.
fn kernel(volume: &VolumeOptions) -> Result<Kernel> {
    let asked = volume.target_kernel.as_deref();
    asked.map_or(Ok(Kernel::default()), str::parse)
}

fn write_options(options: &CreateOptions) -> Result<WriteOptions> {
    let volume = &options.volume;
    let label = volume.label.as_deref().map(str::parse).transpose()?;
    let extended = volume.extended.as_deref().map(str::parse).transpose()?;
    Ok(WriteOptions {
        // one that is too large is refused as such
        block_size: u32::try_from(options.block_size).unwrap_or(u32::MAX),
        compression: options.compression.parse()?,
        kernel: kernel(volume)?,
        device: None,
        chunk_size: (options.per_file.chunk_size)
            .map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
        extended: extended.unwrap_or_default(),
        holes: !options.per_file.no_holes,
        xattrs: !options.per_file.no_xattrs,
        xattr_prefixes: options.per_file.xattr_prefixes.clone(),
        made: options.create_timestamp,
        uuid: volume.uuid.as_deref().map(str::parse).transpose()?,
        label: label.unwrap_or_default(),
    })
}

/// A directory of composefs' objects.
pub(crate) struct Store(pub(crate) PathBuf);

impl Objects for Store {
    fn open(&self, path: &[u8]) -> Result<Arc<dyn ReadAt>> {
        let path = Path::new(OsStr::from_bytes(path));
        // an image names objects of the store, not files of this machine
        if !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            let what = format!("{} names no object", path.display());
            return Err(Error::corrupt(what));
        }
        Ok(Arc::new(FileSource::open(self.0.join(path))?))
    }
}

/// Opens an image with the devices that are given, or else are beside it under the names that it
/// calls them.
fn open(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Erofs> {
    let mut own = sinterfs_erofs::read::OpenOptions {
        offset: options.offset.unwrap_or(0),
        devices: Vec::new(),
        limits: options.limits,
        cache_bytes: options.cache_bytes,
        cache: options.cache.clone(),
    };
    if options.proof.is_some() {
        // what is on other devices is in no digest
        let others = sinterfs_erofs::read::needed_devices(&source, own.offset)?;
        if !others.is_empty() || !options.devices.is_empty() {
            return Err(Error::unsupported(
                "the image has content on other devices, which its digest does not cover",
            ));
        }
        return Erofs::open(source, &own);
    }
    for path in &options.devices {
        own.devices.push(Arc::new(FileSource::open(path)?));
    }
    if let (true, Some(dir)) = (own.devices.is_empty(), options.beside.as_deref()) {
        let slots = sinterfs_erofs::read::needed_devices(&source, own.offset)?;
        let found = slots.iter().map(|slot| named(dir, slot));
        let found = found.collect::<Result<Option<Vec<_>>>>()?;
        own.devices = found.unwrap_or_default();
    }
    Erofs::open(source, &own)
}

/// Finds a device by its tag, if that is the name of a file in the image's directory and no way
/// out of it.
fn named(dir: &Path, slot: &Slot) -> Result<Option<Arc<dyn ReadAt>>> {
    let name = match std::str::from_utf8(&slot.tag) {
        Ok(name) if !name.is_empty() && name != "." && name != ".." => name,
        _ => return Ok(None),
    };
    let path = dir.join(name);
    if name.contains('/') || !path.is_file() {
        return Ok(None);
    }
    Ok(Some(Arc::new(FileSource::open(path)?)))
}

/// An opened EROFS image.
struct Opened {
    image: Arc<dyn Image>,
    concrete: Arc<Erofs>,
}

impl Handle for Opened {
    fn image(&self) -> &Arc<dyn Image> {
        &self.image
    }

    fn details(&self) -> Result<Details> {
        Ok(details(&self.concrete))
    }

    fn dump(&self, out: &mut dyn Write) -> Result<()> {
        sinterfs_erofs::dump::dump(&self.concrete, out)
    }

    fn offset(&self) -> u64 {
        self.concrete.offset()
    }

    fn cache(&self) -> &Arc<BlockCache> {
        self.concrete.cache()
    }

    fn decoded_bytes(&self) -> u64 {
        // how much clusters hold is known only when all indexes have been read; LZ4's most
        let stored = self.image.info().totals.stored;
        stored.saturating_mul(255)
    }

    fn stored_blocks(&self, of: Option<Ino>, visit: &mut dyn FnMut(StoredBlock<'_>)) -> Result<()> {
        let Some(file) = of else {
            return Ok(());
        };
        self.concrete.stored_runs(file, &mut |run| {
            visit(StoredBlock {
                block: run.block,
                stored: run.stored,
                codec: run.algorithm.map_or("none", Algorithm::name),
                category: "",
            });
        })
    }
}

fn details(image: &Erofs) -> Details {
    let (superblock, info) = (image.superblock(), image.info());
    let mut details: Details = vec![
        ("format".to_owned(), Value::from("EROFS")),
        ("offset in file".to_owned(), image.offset().into()),
        ("image bytes".to_owned(), info.totals.stored.into()),
        ("inodes".to_owned(), superblock.inodes.into()),
        ("block size".to_owned(), superblock.block_size().into()),
        ("blocks".to_owned(), superblock.blocks.into()),
    ];
    let mut add = |name: &str, value: Value| details.push((name.to_owned(), value));
    let texts = |texts: Vec<String>| Value::List(texts.into_iter().map(Value::from).collect());
    if let Some(version) = image.composefs_version() {
        add("composefs version", u64::from(version).into());
    }
    add("features", texts(superblock.features()));
    add(
        "oldest Linux",
        Kernel::oldest_for(superblock).to_string().into(),
    );
    add("checksum", superblock.checksum.is_some().into());
    let used = superblock.configs.clone();
    let algorithms = Algorithm::ALL.into_iter().filter(|one| used.has(*one));
    add(
        "algorithms",
        texts(algorithms.map(|one| one.name().to_owned()).collect()),
    );
    if superblock.uuid != [0; 16] {
        add("uuid", uuid(&superblock.uuid).into());
    }
    if !superblock.volume_name.is_empty() {
        let name = String::from_utf8_lossy(&superblock.volume_name);
        add("volume name", name.into_owned().into());
    }
    let made = superblock
        .epoch
        .checked_add(i64::from(superblock.build_time));
    if let Some(made) = made.and_then(|made| u64::try_from(made).ok()) {
        add("build time", made.into());
    }
    for (name, _, size) in image.special_inodes() {
        add(&format!("{name} bytes"), size.into());
    }
    let prefixes = image.xattr_prefixes();
    if !prefixes.is_empty() {
        let prefixes = prefixes.iter();
        let prefixes = prefixes.map(|prefix| String::from_utf8_lossy(prefix).into_owned());
        add("attribute prefixes", texts(prefixes.collect()));
    }
    if !superblock.devices.is_empty() {
        add(
            "devices",
            Value::List(superblock.devices.iter().map(device).collect()),
        );
    }
    details
}

fn device(slot: &Slot) -> Value {
    let tag = String::from_utf8_lossy(&slot.tag).into_owned();
    Value::Map(vec![
        ("tag".to_owned(), tag.into()),
        ("blocks".to_owned(), slot.blocks.into()),
        ("first block".to_owned(), slot.first_block.into()),
    ])
}

fn uuid(bytes: &[u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut parts = Vec::new();
    let mut rest = hex.as_str();
    for len in [8, 4, 4, 4, 12] {
        let (part, next) = rest.split_at(len);
        parts.push(part);
        rest = next;
    }
    parts.join("-")
}
