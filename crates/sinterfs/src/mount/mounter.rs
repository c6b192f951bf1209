//! Mounts images with all that belongs to a mount: a cache of its size that is emptied when nobody
//! reads, several images as layers, the choice of the kernel or FUSE, logs and statistics.
//!
//! In: images, by their paths or opened, and a directory. Out: [`Mounted`].
//! **Invariant:** nothing is printed: warnings are in the result, or go to `warn` if they are known
//! only later.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sinterfs_model::{Error, Kind, Result, shown_name};
use sinterfs_mount::{MountOptions, Upper, check_layers};

use crate::formats;
use crate::image::Image;
use crate::mount::cache_trimmer::CacheTrimmer;
use crate::mount::damage_log::DamageLog;
use crate::mount::memory::default_cache_bytes;
use crate::mount::opened::{can_be_of_one_image, open_all};
use crate::mount::serve::{MountMethod, Mounted, because, mount, mount_layers};
use crate::mount::session::Watchers;
use crate::mount::statistics::Statistics;
use crate::open_options::OpenOptions;
use crate::place;
use crate::place::TRANSPORT;
use crate::place::transport::ReadNotes;

/// The threads that answer requests to a remote image: most of them wait for the network.
const REMOTE_THREADS: usize = 16;

/// The threads for all images of a process that serves many, as long as each has some.
const ALL_THREADS: usize = 64;

/// The least threads for one of many images.
const LEAST_THREADS: usize = 2;

/// The time without reads after which decoded blocks are freed, unless another is given.
const TRIM_AFTER: Duration = Duration::from_secs(300);

/// How images are mounted, as `sinter mount` does it.
///
/// ```no_run
/// # fn main() -> sinterfs::Result<()> {
/// use sinterfs::mount::{Mounter, Upper};
///
/// let mounter = Mounter {
///     upper: Some(Upper::Memory),
///     ..Mounter::default()
/// };
/// let mut mounted = mounter.mount(&["patch.dwarfs", "base.squashfs"], "/mnt")?;
/// for warning in mounted.take_warnings() {
///     eprintln!("{warning}");
/// }
/// if let Some(mut session) = mounted.session {
///     session.serve()?; // until it is unmounted, or a signal comes
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Mounter {
    /// How images are opened that are not opened yet. Several divide `cache_bytes` among them
    /// (512 MiB, or more on large machines, by default).
    pub open: OpenOptions,
    /// How they are shown. No `fsname` stands for the names of the images, and 0 `threads` for as
    /// many as suit the machine, its memory and the images.
    pub options: MountOptions,
    /// What serves names and attributes.
    pub method: MountMethod,
    /// The writable layer; without it the mount is read-only.
    pub upper: Option<Upper>,
    /// The most threads where `options` leaves their number open.
    pub most_threads: Option<usize>,
    /// Whether idle processors decode blocks before they are read.
    pub decode_ahead: bool,
    /// The category of content that is decoded as soon as the image is mounted, such as `hotness`.
    pub preload: Option<String>,
    /// The time without reads after which decoded blocks are freed. They are also freed when the
    /// system is short of memory.
    pub trim_after: Duration,
    /// The time without use after which the image is unmounted; `None` for never.
    pub unmount_after: Option<Duration>,
    /// A file that gets counters as JSON each second, of one image.
    pub stats: Option<PathBuf>,
    /// A file that gets the paths of files in the order of their first read, of one image. Nothing
    /// is decoded ahead then.
    pub record: Option<PathBuf>,
    /// Where files are named that could not be read.
    pub damage: Option<DamageLog>,
    /// Gets what goes wrong with `stats` and `damage` while the image is served, and the warnings
    /// of a mount that fails.
    pub warn: fn(&Error),
}

impl Default for Mounter {
    fn default() -> Self {
        Self {
            open: OpenOptions {
                cache_bytes: default_cache_bytes(),
                ..OpenOptions::default()
            },
            options: MountOptions {
                fsname: String::new(),
                ..MountOptions::default()
            },
            method: MountMethod::Auto,
            upper: None,
            most_threads: None,
            decode_ahead: true,
            preload: None,
            trim_after: TRIM_AFTER,
            unmount_after: None,
            stats: None,
            record: None,
            damage: None,
            warn: |_| {},
        }
    }
}

impl Mounter {
    /// Makes one cache for all images that are mounted by this and its copies, and divides threads
    /// among `count` of them. Such a cache is trimmed by [`CacheTrimmer::of_shared`].
    pub fn share(&mut self, count: usize) {
        self.open.share_cache();
        self.most_threads = Some((ALL_THREADS / count.max(1)).max(LEAST_THREADS));
    }

    /// Opens images, paths or URLs, and mounts them on a directory; several are layers, the topmost
    /// first.
    ///
    /// # Errors
    /// The errors of [`crate::open_with`] and [`mount`]; `Invalid` for an option that can be of one
    /// image only, or needs a process if the kernel serves the mount by itself.
    pub fn mount(&self, images: &[impl AsRef<Path>], dir: impl AsRef<Path>) -> Result<Mounted> {
        let images: Vec<&Path> = images.iter().map(AsRef::as_ref).collect();
        let (mut mounter, mut warnings) = (self.clone(), Vec::new());
        match mounter.open_and_mount(&images, dir.as_ref(), &mut warnings) {
            Ok(mut mounted) => {
                mounted.warnings = warnings;
                Ok(mounted)
            }
            Err(error) => {
                warnings.iter().for_each(self.warn);
                Err(error)
            }
        }
    }

    /// Mounts images that are opened; several are layers, the topmost first. `open` is not used.
    ///
    /// # Errors
    /// As of [`Self::mount`].
    pub fn mount_opened(&self, images: &[Image], dir: impl AsRef<Path>) -> Result<Mounted> {
        check_layers(images.len())?;
        let mut mounter = self.clone();
        if mounter.options.fsname.is_empty() {
            mounter.options.fsname = MountOptions::default().fsname;
        }
        let names: Vec<_> = (1..=images.len())
            .map(|number| format!("image {number}"))
            .collect();
        mounter.serve(images, &names, None, dir.as_ref())
    }

    /// Opens images and checks options, but mounts nothing. Returns the warnings.
    ///
    /// # Errors
    /// As of [`Self::mount`].
    pub fn check(&self, images: &[impl AsRef<Path>]) -> Result<Vec<Error>> {
        let images: Vec<&Path> = images.iter().map(AsRef::as_ref).collect();
        check_layers(images.len())?;
        let mut warnings = Vec::new();
        open_all(&images, &self.open, &mut warnings).map(|_| warnings)
    }

    /// Makes the mount show these paths or URLs as its source.
    pub fn name(&mut self, images: &[&Path]) {
        let names: Vec<_> = images.iter().map(|image| source_name(image)).collect();
        self.options.fsname = names.join(":");
        let first = images.first();
        self.options.image = first.and_then(|first| first.canonicalize().ok());
    }

    fn open_and_mount(
        &mut self,
        images: &[&Path],
        dir: &Path,
        warnings: &mut Vec<Error>,
    ) -> Result<Mounted> {
        check_layers(images.len())?;
        let first = images.first().copied().unwrap_or(Path::new(""));
        if self.options.fsname.is_empty() {
            self.name(images);
        }
        if self.options.threads == 0 && place::is_url(first) {
            self.options.threads = self.limited(REMOTE_THREADS);
        }
        if images.len() == 1
            && self.needs_no_process()?
            && let Some(mounted) = self.mount_objects(first, dir, warnings)?
        {
            return Ok(mounted);
        }
        let record = self.record.is_some();
        let notes = record.then(|| TRANSPORT.note_reads(&mut self.open));
        let opened = open_all(images, &self.open, warnings)?;
        // a list of what is read says more than the image
        if !TRANSPORT.has_list(&self.open) {
            announce_starts(images, &opened, warnings);
        }
        let names: Vec<_> = images.iter().map(|image| source_name(image)).collect();
        self.serve(&opened, &names, notes, dir)
    }

    /// Returns whether the kernel is to mount an image with its objects by itself. Fails if
    /// something is asked for that only a process does.
    fn needs_no_process(&self) -> Result<bool> {
        let is_asked = self.method == MountMethod::Kernel
            && self.open.objects.is_some()
            && self.upper.is_none();
        let watches = self.stats.is_some() || self.record.is_some() || self.damage.is_some();
        if is_asked && (watches || self.open.salvage) {
            return Err(Error::invalid(
                "statistics, records, salvage and logs of damage need a mount that a process \
                 serves, and the kernel alone serves this one",
            ));
        }
        Ok(is_asked)
    }

    /// Mounts an image with its objects by overlayfs, without a process that serves it; `None` if
    /// the kernel cannot do it.
    fn mount_objects(
        &self,
        image: &Path,
        dir: &Path,
        warnings: &mut Vec<Error>,
    ) -> Result<Option<Mounted>> {
        match formats::mount_overlay(image, &self.open, dir, &self.options) {
            Ok(verified) => Ok(Some(Mounted::with_objects(verified))),
            Err(error) if error.kind() == Kind::Corrupt => Err(error),
            Err(error) => {
                warnings.push(because("mounted without overlayfs", &error));
                Ok(None)
            }
        }
    }

    /// Mounts opened images, with what watches them.
    fn serve(
        &mut self,
        opened: &[Image],
        names: &[String],
        notes: Option<ReadNotes>,
        dir: &Path,
    ) -> Result<Mounted> {
        if self.options.threads == 0 && self.most_threads.is_some() {
            self.options.threads = self.limited(self.options.thread_count());
        }
        // what is decoded ahead is not what was needed
        if self.decode_ahead && self.record.is_none() {
            opened.iter().for_each(Image::decode_ahead);
        }
        let statistics = self.statistics(opened, notes)?;
        let mut images: Vec<_> = match &statistics {
            Some(statistics) => vec![statistics.image()],
            None => opened.iter().map(|image| Arc::clone(image.raw())).collect(),
        };
        let log = self.damage.as_ref();
        let damage = log.map(|log| log.start(&mut images, names, self.warn));
        let damage = damage.transpose()?;
        let mut mounted = match (images.as_slice(), &self.upper) {
            ([image], None) => mount(Arc::clone(image), dir, &self.options, self.method)?,
            (images, upper) => {
                mount_layers(images, upper.as_ref(), dir, &self.options, self.method)?
            }
        };
        if let Some(session) = &mut mounted.session {
            let own = opened.iter().filter(|_| self.open.cache.is_none());
            let trimmers = own.map(|image| CacheTrimmer::start(image, self.trim_after));
            session.watchers = Watchers {
                damage,
                statistics,
                trimmers: trimmers.collect::<Result<_>>()?,
            };
            if let Some(category) = self.preload.take() {
                preload(opened, category)?;
            }
            if let Some(after) = self.unmount_after {
                session.unmount_when_idle(after)?;
            }
        }
        Ok(mounted)
    }

    fn statistics(&self, opened: &[Image], notes: Option<ReadNotes>) -> Result<Option<Statistics>> {
        let (counters, record) = (self.stats.as_deref(), self.record.as_deref());
        if counters.is_none() && record.is_none() {
            return Ok(None);
        }
        let [image] = opened else {
            return Err(can_be_of_one_image("the files of statistics and reads"));
        };
        Statistics::start(counters, record, notes, image, self.warn).map(Some)
    }

    fn limited(&self, threads: usize) -> usize {
        self.most_threads
            .map_or(threads, |most| threads.min(most.max(1)))
    }
}

/// Decodes a category of the images' content in a thread. Content that cannot be decoded is an
/// error for its readers.
fn preload(opened: &[Image], category: String) -> Result<()> {
    let images = opened.to_vec();
    let work = move || {
        for image in images {
            let _ = image.preload(&category);
        }
    };
    let thread = std::thread::Builder::new().name("preload".into());
    let started = thread.spawn(work);
    started
        .map(drop)
        .map_err(|error| Error::io("cannot start a thread", error))
}

/// Has what remote images name as needed first fetched. Without it they are mounted all the same.
fn announce_starts(images: &[&Path], opened: &[Image], warnings: &mut Vec<Error>) {
    let images = images.iter().zip(opened);
    for (path, image) in images.filter(|(path, _)| place::is_url(path)) {
        if let Err(error) = image.announce_start() {
            let error = error.path(place::shown(path));
            let what = "nothing is fetched ahead of the first reads";
            warnings.push(because(what, &error));
        }
    }
}

/// Returns the source that `mount` and `df` show: the full path of the image.
fn source_name(image: &Path) -> String {
    let full = if place::is_url(image) {
        place::shown(image)
    } else {
        std::path::absolute(image).unwrap_or_else(|_| image.to_owned())
    };
    shown_name(full.as_os_str().as_encoded_bytes())
}
