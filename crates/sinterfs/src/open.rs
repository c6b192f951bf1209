//! Opening an image file: its format is found, the image validated and ready to serve.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::cache::BlockCache;
use sinterfs_block::digest::Root;
use sinterfs_block::{FileSource, ReadAt};
use sinterfs_model::{Error, Image, Limits, Result};
use sinterfs_ops::{StoredBlock, Usage};

use crate::info::Details;
use crate::registry::{self, Format, Handle};
use crate::verify::prove::{self, Proof, Proven};

/// How to open an image.
#[derive(Debug, Clone)]
pub struct OpenOptions {
    /// Where the image begins in its file, in bytes; `None` finds it behind any header.
    pub offset: Option<u64>,
    /// How long the image is, in bytes; `None` finds out where something may follow it in its file.
    pub len: Option<u64>,
    /// Bytes that decoded blocks may take, if `cache` is not given.
    pub cache_bytes: u64,
    /// A cache of decoded blocks to share with other images.
    pub cache: Option<Arc<BlockCache>>,
    /// What a hostile image may make us allocate.
    pub limits: Limits,
    /// The files of an image's further devices, in their order.
    pub devices: Vec<PathBuf>,
    /// The directory of the objects that composefs images refer to.
    pub objects: Option<PathBuf>,
    /// Whether these are hashed when they are first read, and compared with the digests that images name.
    pub verify_objects: bool,
    /// What the image must prove to be before a byte of it is believed.
    pub proof: Option<Box<Proof>>,
    /// The directory where further files of the image may be, by names that the image tells.
    pub beside: Option<PathBuf>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            offset: None,
            len: None,
            cache_bytes: 512 << 20,
            cache: None,
            limits: Limits::default(),
            devices: Vec::new(),
            objects: None,
            verify_objects: true,
            proof: None,
            beside: None,
        }
    }
}

impl OpenOptions {
    /// Completes the options for an image of which the file is known.
    pub(crate) fn beside(&self, image: &Path) -> Self {
        let dir = || match image.parent() {
            Some(dir) if dir.as_os_str().is_empty() => PathBuf::from("."),
            Some(dir) => dir.to_owned(),
            None => PathBuf::from("."),
        };
        Self {
            beside: Some(self.beside.clone().unwrap_or_else(dir)),
            proof: self
                .proof
                .as_ref()
                .map(|proof| Box::new(proof.beside(image))),
            ..self.clone()
        }
    }
}

/// An opened image with what its format can tell of it.
pub struct Opened {
    format: &'static dyn Format,
    handle: Box<dyn Handle>,
    /// The root digest of which all that is read was verified.
    root: Option<Root>,
    /// What the signer of that said besides.
    comment: Option<String>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened")
            .field("format", &self.format.name())
            .finish_non_exhaustive()
    }
}

impl Opened {
    /// Returns the image.
    pub fn image(&self) -> &Arc<dyn Image> {
        self.handle.image()
    }

    /// Returns what the format can do with the image.
    pub(crate) fn handle(&self) -> &dyn Handle {
        &*self.handle
    }

    /// Makes other processors decode ahead of whoever waits much for it: for an image that is served.
    pub fn decode_ahead(&self) {
        self.handle.decode_ahead();
    }

    /// Returns what is wrong with parts of the image without which it can be read, too.
    pub fn warnings(&self) -> Vec<Error> {
        self.handle.warnings()
    }

    /// Returns what is known of the image.
    pub fn details(&self) -> Result<Details> {
        let mut details = self.handle.details()?;
        if let Some(root) = self.root {
            let at = details.len().min(3);
            details.insert(at, ("verified digest".to_owned(), root.to_string().into()));
            let comment = self.comment.as_deref();
            details.extend(comment.map(|comment| ("signed".to_owned(), comment.into())));
        }
        Ok(details)
    }

    /// Measures what takes the room in the image.
    pub fn usage(&self) -> Result<Usage> {
        let show =
            |of, visit: &mut dyn FnMut(StoredBlock<'_>)| self.handle.stored_blocks(of, visit);
        sinterfs_ops::usage(&**self.image(), &show)
    }

    /// Writes all structures as text.
    pub fn dump(&self, out: &mut dyn Write) -> Result<()> {
        self.handle.dump(out)
    }
}

/// Opens an image file of any format.
pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Opened> {
    let path = path.as_ref();
    let source = FileSource::open(path)?;
    open_source(Arc::new(source), &options.beside(path)).map_err(|e| e.path(path))
}

/// Opens an image from any bytes.
pub fn open_source(source: Arc<dyn ReadAt>, options: &OpenOptions) -> Result<Opened> {
    open_proven(&prove::prove(source, options)?)
}

/// Opens an image from bytes that were proven, as far as that was asked for.
pub(crate) fn open_proven(proven: &Proven) -> Result<Opened> {
    let Proven {
        source, options, ..
    } = proven;
    let format = registry::for_image(source, options)?;
    let handle = format.open(Arc::clone(source), options)?;
    Ok(Opened {
        format,
        handle,
        root: proven.root(),
        comment: proven.comment.clone(),
    })
}
