//! Remote images on their way to files.
//!
//! **Invariant:** a pulled file is complete and has the digest that the registry names, or it is
//! not there. Where digests say what an older image has, all bytes are compared with them, so that
//! digests of another version give no mixture of both. What an interrupted pull has fetched is in
//! the cache, where the next one finds it.

mod equal_leaves;
mod splice;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sinterfs_block::ReadAt;
use sinterfs_block::digest::{Digests, Verified};
use sinterfs_format::{Bid, ReadOptions, Sectioned};
use sinterfs_model::{Error, Kind, Result};
use sinterfs_remote::{Address, Remote, RemoteOptions};

use crate::formats::FORMATS;
use crate::open::open_source;
use crate::open::trusted_source;
use crate::open_options::OpenOptions;
use crate::output::Output;
use crate::place::{self, TRANSPORT};
use equal_leaves::{OlderContent, equal_leaves};
use splice::Splice;

/// What a download was.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Pulled {
    /// The length of the file in bytes.
    pub len: u64,
    /// Bytes of the image that came from a server; those from the cache are not among them.
    pub fetched: u64,
    /// Bytes of the image that came from the older one.
    pub older: u64,
    /// Whether a mirror sent wrong bytes, so that everything came from the registry itself.
    pub wrong_mirror: bool,
}

/// Where to, and from what besides the remote image.
#[derive(Debug, Clone, Copy)]
pub struct PullTo<'a> {
    /// The file to write.
    pub output: &'a Path,
    /// Whether a file of that name is replaced.
    pub replace: bool,
    /// An older image, whose sections are taken where the remote one has the same; both are DwarFS.
    pub older: Option<&'a Path>,
}

/// Downloads a remote image to a file, which is compared with the proof that `options` require.
///
/// If the bytes have another digest than the registry named, or do not match the proof, what is in
/// the cache of them is forgotten; if mirrors were asked, the registry itself is asked once more.
/// If some came from the older image, all are fetched, after a warning.
///
/// # Errors
/// `Corrupt` if the bytes of the registry itself have another digest; `Invalid` if the file exists
/// and is not to be replaced; `Unsupported` if nothing can be taken from an older image; those of
/// reading.
pub fn pull(from: &Path, to: PullTo<'_>, options: &OpenOptions) -> Result<Pulled> {
    let located = |error: Error| error.path(place::shown(from));
    let address = Address::parse(from).map_err(located)?;
    let attempt = |remote: &RemoteOptions, older: Option<&Path>| -> Result<Attempt> {
        let output = Output::create(to.output, to.replace)?;
        let download = Download {
            from,
            address: &address,
            older,
            remote,
            options,
        };
        let attempt = download.write(&output).map_err(located)?;
        if matches!(attempt, Attempt::Whole(_)) {
            output.commit()?;
        }
        Ok(attempt)
    };
    let once = |remote: &RemoteOptions| -> Result<Pulled> {
        if let Attempt::Whole(pulled) = attempt(remote, to.older)? {
            return Ok(pulled);
        }
        (remote.warn)(&Error::invalid(NOT_ITS_DIGESTS));
        match attempt(remote, None)? {
            Attempt::Whole(pulled) => Ok(pulled),
            Attempt::WrongWithOlder(error) => Err(located(error)),
        }
    };
    let first = once(&options.remote);
    if !is_wrong(&first) || !asks_mirrors(&options.remote) {
        return first;
    }
    let mut itself = options.remote.clone();
    itself.mirrors = false;
    Ok(Pulled {
        wrong_mirror: true,
        ..once(&itself)?
    })
}

/// Returns whether something failed since bytes were not those that they should be.
fn is_wrong<T>(result: &Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == Kind::Corrupt)
}

fn asks_mirrors(options: &RemoteOptions) -> bool {
    options.mirrors && options.registry_hosts.is_some()
}

/// What is said when bytes are wrong of which some came from the older image.
const NOT_ITS_DIGESTS: &str =
    "the bytes do not match their digests: nothing is taken from the older image";

/// What came of a try of a download.
enum Attempt {
    Whole(Pulled),
    /// The bytes are wrong, and some of them came from the older image.
    WrongWithOlder(Error),
}

/// One try of a download.
struct Download<'a> {
    from: &'a Path,
    address: &'a Address,
    older: Option<&'a Path>,
    remote: &'a RemoteOptions,
    options: &'a OpenOptions,
}

impl Download<'_> {
    /// Writes all bytes. `Corrupt` if they have not the digest that the registry named, or do not
    /// match the proof; those in the cache are forgotten then.
    fn write(&self, output: &Output) -> Result<Attempt> {
        let options = RemoteOptions {
            // every byte is compared with its digest
            unpinned: self.remote.unpinned || self.options.trust.is_some(),
            ..self.remote.clone()
        };
        let mut remote = Remote::open(self.address, &options)?;
        if self.older.is_some() {
            // what comes next may be in the older image
            remote.stop_read_ahead();
        }
        let remote = Arc::new(remote);
        let (source, older) = match self.older {
            None => (Arc::clone(&remote) as Arc<dyn ReadAt>, 0),
            Some(path) => self.spliced(&remote, path)?,
        };
        let proven = self.proven(source);
        // without mirrors a wrong key is more likely than wrong bytes
        if is_wrong(&proven) && asks_mirrors(self.remote) {
            remote.forget_cached()?;
        }
        let source = proven?;
        let copied = place::copy_hashed(source, output.writer()).and_then(|(found, len)| {
            let expected = remote.etag().filter(|etag| etag.starts_with("sha256:"));
            match expected {
                Some(expected) if expected != found => Err(Error::corrupt(format!(
                    "the bytes have the digest {found}, expected {expected}"
                ))),
                _ => Ok(len),
            }
        });
        let len = match copied {
            Err(error) if error.kind() == Kind::Corrupt && older > 0 => {
                return Ok(Attempt::WrongWithOlder(error));
            }
            Err(error) if error.kind() == Kind::Corrupt => {
                remote.forget_cached()?;
                return Err(error);
            }
            copied => copied?,
        };
        Ok(Attempt::Whole(Pulled {
            len,
            fetched: remote.fetched(),
            older,
            wrong_mirror: false,
        }))
    }

    /// Has bytes compared with the proof that is required. The bytes behind those that digests in
    /// the image cover are as they are: no reader that asks for a proof reads them.
    fn proven(&self, source: Arc<dyn ReadAt>) -> Result<Arc<dyn ReadAt>> {
        let options = OpenOptions {
            remote: self.remote.clone(),
            ..self.options.beside(self.from)
        };
        let trusted = trusted_source::prove(Arc::clone(&source), &options)?;
        Ok(match trusted.verified {
            Some(verified) => Arc::new(ProvenCopy { source, verified }),
            None => source,
        })
    }

    /// Joins the remote image with what an older one has of it; also returns how much that is.
    fn spliced(&self, remote: &Arc<Remote>, path: &Path) -> Result<(Arc<dyn ReadAt>, u64)> {
        let older = place::source(path, self.options)?;
        let new = Arc::clone(remote) as Arc<dyn ReadAt>;
        let Some(format) = sectioned(&new)? else {
            return self.spliced_by_leaves(remote, (older, path));
        };
        let parts = format.older_parts(
            (&new, &|ranges| remote.peek(ranges)),
            &older,
            &self.options.read(),
            &|error| error.path(path),
        )?;
        let splice = Splice::new(Arc::clone(remote), older, parts)?;
        let count = splice.older_bytes();
        Ok((Arc::new(splice), count))
    }

    /// Does the same for an image without sections, by its digests. If no proof is required, all
    /// bytes are compared with these, wherever they come from: the digests may be of another
    /// version, whose leaves the older image has.
    fn spliced_by_leaves(
        &self,
        remote: &Arc<Remote>,
        (older, path): (Arc<dyn ReadAt>, &Path),
    ) -> Result<(Arc<dyn ReadAt>, u64)> {
        let remote_source = Arc::clone(remote) as Arc<dyn ReadAt>;
        let (digests, start) = self.digests(&remote_source)?.ok_or_else(|| {
            let what = "without digests of the image nothing can be taken from an older one: \
                        `sinter digest IMAGE -o IMAGE.digest` makes a file that is looked for \
                        beside it";
            Error::unsupported(what)
        })?;
        let is_proven = self.options.trust.is_some();
        let compared = |source: Arc<dyn ReadAt>| -> Result<Arc<dyn ReadAt>> {
            if is_proven {
                return Ok(source);
            }
            Ok(Arc::new(Verified::new(source, start, digests.clone())?))
        };
        let options = OpenOptions {
            trust: None,
            remote: self.remote.clone(),
            ..self.options.clone()
        };
        let before = open_source(Arc::clone(&older), &options.beside(path));
        let before = before.and_then(|image| OlderContent::of(&image));
        let before = before.map_err(|error| error.path(path))?;
        let new = compared(Arc::clone(&remote_source))?;
        let parts = open_source(new, &options.beside(self.from))
            .and_then(|new| equal_leaves(&new, (&digests, start), &before, (&*older, path)));
        if !is_proven && is_wrong(&parts) {
            (self.remote.warn)(&Error::invalid(NOT_ITS_DIGESTS));
            return Ok((remote_source, 0));
        }
        let splice = Splice::new(Arc::clone(remote), older, parts?)?;
        let count = splice.older_bytes();
        Ok((compared(Arc::new(splice))?, count))
    }

    /// Finds digests of the remote image, and where they begin: those that go with the proof, or
    /// else a file beside it, or in a registry those that are attached.
    fn digests(&self, new: &Arc<dyn ReadAt>) -> Result<Option<(Digests, u64)>> {
        let options = OpenOptions {
            remote: self.remote.clone(),
            ..self.options.beside(self.from)
        };
        if options.trust.is_some() {
            return trusted_source::stored_digests(new, &options);
        }
        let covers_it = |digests: &Digests| digests.covered() == new.len();
        let longest = new.len() / 128 + 4096;
        let attached = TRANSPORT.attached_signatures(self.from, longest, &options)?;
        if let Some(attached) = attached {
            let stored = attached.into_iter().find_map(|one| one.digests);
            let digests = stored.map(|stored| Digests::open(stored.into()));
            let digests = digests.transpose()?.filter(covers_it);
            return Ok(digests.map(|digests| (digests, 0)));
        }
        let mut beside = self.from.as_os_str().to_owned();
        beside.push(".digest");
        let beside = PathBuf::from(beside);
        let stored = place::source(&beside, &options).and_then(|file| match file.len() {
            len if len <= longest => file.read(0, len).map(Some),
            _ => Err(Error::limit(
                "the file of digests is too long for the image",
            )),
        });
        let stored = match stored {
            Err(error) if error.kind() == Kind::NotFound => None,
            stored => stored.map_err(|error| error.path(place::shown(&beside)))?,
        };
        let digests = stored.map(Digests::open).transpose()?;
        Ok(digests.filter(covers_it).map(|digests| (digests, 0)))
    }
}

/// Returns the format whose sections an image has that begins a source. It is not searched for.
fn sectioned(source: &Arc<dyn ReadAt>) -> Result<Option<&'static dyn Sectioned>> {
    let here = ReadOptions::at(0);
    for format in FORMATS {
        if let Some(sectioned) = format.sectioned()
            && format.bid(source, &here)? == Bid::Certain
        {
            return Ok(Some(sectioned));
        }
    }
    Ok(None)
}

/// An image of which a part is compared with its digests.
struct ProvenCopy {
    source: Arc<dyn ReadAt>,
    verified: Arc<Verified>,
}

impl ReadAt for ProvenCopy {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let start = self.verified.start();
        let end = start.saturating_add(self.verified.digests().covered());
        let cut = |at: u64| {
            let len = at.saturating_sub(offset);
            usize::try_from(len).map_or(buf.len(), |len| len.min(buf.len()))
        };
        let (first, last) = (cut(start), cut(end));
        let (before, rest) = buf.split_at_mut(first);
        let (covered, after) = rest.split_at_mut(last.saturating_sub(first));
        let at = |skip: usize| offset.saturating_add(skip as u64);
        for (source, part, skip) in [
            (&*self.source, before, 0),
            (&*self.verified as &dyn ReadAt, covered, first),
            (&*self.source, after, last.max(first)),
        ] {
            if !part.is_empty() {
                source.read_at(at(skip), part)?;
            }
        }
        Ok(())
    }

    fn will_need(&self, ranges: &[Range<u64>]) {
        self.source.will_need(ranges);
    }
}
