//! Getting ranges until they arrive, some at once.
//!
//! **Invariant:** after the first answer nothing is returned whose length or entity tag differs.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sinterfs_model::{Error, Result};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::address::Address;
use crate::failure::{Cause, Failure};
use crate::objects::{Arrived, CHANGED, Condition, Fetched, Object, Wanted};
use crate::options::RemoteOptions;
use crate::registry::RegistryBlob;
use crate::retry::{self, Deadline};
use crate::version::ObjectVersion;

/// Requests at once for one image.
const AT_ONCE: usize = 8;

/// Of these, requests for what nobody waits for yet.
pub(crate) const AHEAD_AT_ONCE: usize = 6;

/// Whether somebody waits for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Urgency {
    Now,
    Ahead,
}

/// The source of parts.
enum Origin {
    Object(Object),
    Blob(RegistryBlob),
}

/// Gets parts of one version of an object.
pub(crate) struct Fetcher {
    origin: Origin,
    host: String,
    deadline: Duration,
    /// Returns whether waiting threads should stop.
    pub(crate) stop: fn() -> bool,
    version: OnceLock<ObjectVersion>,
    /// Bytes of the object that came.
    fetched: AtomicU64,
    all: Semaphore,
    ahead: Semaphore,
}

impl Fetcher {
    pub(crate) fn new(address: &Address, options: &RemoteOptions) -> Result<Self> {
        let object = Object::new(address, options.stall)?;
        Ok(Self::of(Origin::Object(object), address, options))
    }

    /// Gets parts of a blob of a registry.
    pub(crate) fn of_blob(blob: RegistryBlob, address: &Address, options: &RemoteOptions) -> Self {
        Self::of(Origin::Blob(blob), address, options)
    }

    fn of(origin: Origin, address: &Address, options: &RemoteOptions) -> Self {
        Self {
            origin,
            host: address.host(),
            deadline: options.deadline,
            stop: options.stop,
            version: OnceLock::new(),
            fetched: AtomicU64::new(0),
            all: Semaphore::new(AT_ONCE),
            ahead: Semaphore::new(AHEAD_AT_ONCE),
        }
    }

    /// Returns whether the last bytes can be requested without knowing the length.
    pub(crate) fn serves_last(&self) -> bool {
        matches!(&self.origin, Origin::Object(object) if object.serves_last())
    }

    /// Decides for a version; everything is compared with it from now on.
    pub(crate) fn pin(&self, version: ObjectVersion) {
        // the first one counts
        let _ = self.version.set(version);
    }

    /// Returns the version that was decided for.
    pub(crate) fn version(&self) -> Option<&ObjectVersion> {
        self.version.get()
    }

    /// Returns the bytes that came so far.
    pub(crate) fn fetched(&self) -> u64 {
        self.fetched.load(Ordering::Relaxed)
    }

    /// Converts a failure to the error of a read.
    pub(crate) fn error(&self, failure: &Failure, wanted: &Wanted) -> Error {
        let host = &self.host;
        match wanted {
            Wanted::Range(range) => {
                let count = range.end.saturating_sub(range.start);
                let start = range.start;
                failure.error(format_args!(
                    "cannot read {count} bytes at {start:#x} from {host}"
                ))
            }
            Wanted::Last(count) => failure.error(format_args!(
                "cannot read the last {count} bytes from {host}"
            )),
        }
    }

    /// Gets a part, trying again until the deadline. With a known entity tag, an object that still
    /// has it is the failure `Unchanged`.
    pub(crate) async fn get(
        &self,
        wanted: &Wanted,
        urgency: Urgency,
        known: Option<&str>,
    ) -> std::result::Result<Fetched, Failure> {
        // never closed
        let _ahead = match urgency {
            Urgency::Ahead => self.ahead.acquire().await.ok(),
            Urgency::Now => None,
        };
        let _one = self.all.acquire().await.ok();
        // a mistyped host should fail soon
        let patience = match self.version.get() {
            Some(_) => self.deadline,
            None => self.deadline / 3,
        };
        let deadline = Deadline::new(Instant::now() + patience);
        let arrived = Arrived::new(deadline, self.deadline / 2);
        let once = || self.once(wanted, known, &arrived);
        let part = retry::within(arrived.deadline(), once).await?;
        let count = part.bytes.len() as u64;
        self.fetched.fetch_add(count, Ordering::Relaxed);
        Ok(part)
    }

    /// Gets a part once, and compares its version.
    async fn once(
        &self,
        wanted: &Wanted,
        known: Option<&str>,
        arrived: &Arrived,
    ) -> std::result::Result<Fetched, Failure> {
        let version = self.version.get();
        // what has come is of this version, or it is of no use
        if !matches!(wanted, Wanted::Range(_)) || !version.is_some_and(ObjectVersion::is_strong) {
            arrived.clear();
        }
        let is_same = |total: u64, etag: Option<&str>| {
            version.is_none_or(|version| version.len == total && version.etag.as_deref() == etag)
        };
        let condition = match (version.and_then(|version| version.etag.as_deref()), known) {
            (Some(etag), _) => Condition::Is(etag),
            (None, Some(known)) => Condition::IsNot(known),
            (None, None) => Condition::Any,
        };
        let part = match &self.origin {
            Origin::Object(object) => object.get(wanted, condition, arrived, version).await?,
            Origin::Blob(blob) => blob.get(wanted, Some(arrived)).await?,
        };
        if !is_same(part.total, part.etag.as_deref()) {
            return Err(Failure::new(Cause::Changed, CHANGED));
        }
        Ok(part)
    }
}
