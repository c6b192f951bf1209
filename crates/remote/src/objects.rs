//! Objects of web servers and object stores, by ranges.
//!
//! In: an address, and credentials from where each store's own tools look for them (`AWS_*`,
//! instance roles; `GOOGLE_*`; `AZURE_*`). Out: one answer for one range.
//! **Invariant:** a body is read up to the length of the range and no further; a part is complete,
//! in however many answers it comes, and all of them are of one version.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, GetOptions, GetRange, GetResult, ObjectStore, RetryConfig};
use sinterfs_model::{Error, Result};
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use crate::address::{Address, Scheme, without_queries};
use crate::content_range::ContentRange;
use crate::failure::{Cause, Failure, UnsoundRange};
use crate::plan::LEAF;
use crate::retry::Deadline;
use crate::runtime;
use crate::service::Connector;
use crate::version::{ObjectVersion, is_strong};

/// The part of an object to get.
#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Range(Range<u64>),
    /// The last bytes, for an object whose length is not known yet.
    Last(u64),
}

/// Of which versions a part is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Condition<'a> {
    Any,
    /// The one with this entity tag.
    Is(&'a str),
    /// Any but the one with this entity tag, of which bytes are here.
    IsNot(&'a str),
}

/// A part of an object, and what the answer said about the whole.
#[derive(Debug)]
pub(crate) struct Fetched {
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
    /// The length of the object in bytes.
    pub(crate) total: u64,
    pub(crate) etag: Option<String>,
}

/// The received bytes of a part. As long as bytes come, there is time for the rest.
#[derive(Debug)]
pub(crate) struct Arrived {
    bytes: Mutex<Vec<u8>>,
    deadline: Deadline,
    /// The time that a leaf of bytes gives.
    more: Duration,
    /// The most leaves that have come. Bytes that come again are no progress.
    leaves: AtomicU64,
}

impl Arrived {
    pub(crate) fn new(deadline: Deadline, more: Duration) -> Self {
        Self {
            bytes: Mutex::default(),
            deadline,
            more,
            leaves: AtomicU64::new(0),
        }
    }

    pub(crate) fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets what has come.
    pub(crate) fn clear(&self) {
        self.bytes().clear();
    }

    /// Returns how many bytes have come.
    pub(crate) fn len(&self) -> u64 {
        self.bytes().len() as u64
    }

    /// Takes all that has come.
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes())
    }

    /// Makes room for bytes that were announced.
    fn reserve(&self, count: usize) {
        self.bytes().reserve_exact(count);
    }

    /// Adds bytes.
    fn push(&self, bytes: &[u8]) {
        let mut all = self.bytes();
        all.extend_from_slice(bytes);
        let count = all.len() as u64;
        drop(all);
        self.note(count);
    }

    /// Allows time for the rest if more leaves of the part have come than before.
    pub(crate) fn note(&self, count: u64) {
        let leaves = count / LEAF;
        if self.leaves.fetch_max(leaves, Ordering::Relaxed) < leaves {
            self.deadline.extend(self.more);
        }
    }
}

/// An object of a store.
#[derive(Debug)]
pub(crate) struct Object {
    store: Box<dyn ObjectStore>,
    path: Path,
    scheme: Scheme,
    stall: Duration,
}

impl Object {
    /// Prepares requests; nothing is sent yet.
    pub(crate) fn new(address: &Address, stall: Duration) -> Result<Self> {
        // the client of TLS takes the cryptography that the runtime chooses
        runtime::handle()?;
        let timeouts = Timeouts {
            connect: stall,
            request: None,
            // the caller retries requests, since it knows their purpose
            retry: RetryConfig {
                max_retries: 0,
                ..RetryConfig::default()
            },
        };
        let (store, path) = store(address, &timeouts).map_err(|error| {
            let what = without_queries(&error.to_string());
            Error::invalid(format!("cannot use {}: {what}", address.host()))
        })?;
        Ok(Self {
            store,
            path,
            scheme: address.scheme,
            stall,
        })
    }

    /// Returns whether the last bytes can be requested without knowing the length.
    pub(crate) fn serves_last(&self) -> bool {
        self.scheme != Scheme::Azure
    }

    /// Gets a part once, or its missing bytes: received bytes stay in `arrived`, so that another
    /// try continues after them. If the server sends a part in pieces, requests the rest until all
    /// of it has arrived.
    pub(crate) async fn get(
        &self,
        wanted: &Wanted,
        condition: Condition<'_>,
        arrived: &Arrived,
        version: Option<&ObjectVersion>,
    ) -> std::result::Result<Fetched, Failure> {
        let before = arrived.len();
        let first = match wanted {
            Wanted::Range(range) => {
                GetRange::Bounded(range.start.saturating_add(before)..range.end)
            }
            Wanted::Last(count) => GetRange::Suffix(*count),
        };
        let mut answer = self.ask(first, condition).await?;
        let etag = answer.etag.clone();
        let total = match answer.range.total.or(version.map(|version| version.len)) {
            Some(total) => total,
            None => self.length(&etag).await?,
        };
        let is_same = |version: &ObjectVersion| version.len == total && version.etag == etag;
        if !version.is_none_or(is_same) {
            return Err(Failure::new(Cause::Changed, CHANGED));
        }
        let range = match wanted {
            Wanted::Range(range) => range.start.saturating_add(before)..range.end.min(total),
            Wanted::Last(count) => total.saturating_sub(*count)..total,
        };
        let mut rest = range.clone();
        loop {
            rest.start = self.take(answer, &rest, arrived).await?;
            if rest.is_empty() {
                break;
            }
            let condition = etag.as_deref().map_or(Condition::Any, Condition::Is);
            answer = self.ask(GetRange::Bounded(rest.clone()), condition).await?;
            if answer.etag != etag || answer.range.total.is_some_and(|other| other != total) {
                return Err(Failure::new(Cause::Changed, CHANGED));
            }
        }
        Ok(Fetched {
            start: range.start.saturating_sub(before),
            bytes: arrived.take(),
            total,
            etag,
        })
    }

    /// Sends a request for a range, and waits for the head of the answer.
    async fn ask(
        &self,
        range: GetRange,
        condition: Condition<'_>,
    ) -> std::result::Result<Answer, Failure> {
        let options = GetOptions {
            range: Some(range),
            if_match: match condition {
                Condition::Is(etag) if is_strong(etag) => Some(etag.to_owned()),
                _ => None,
            },
            if_none_match: match condition {
                Condition::IsNot(etag) => Some(etag.to_owned()),
                _ => None,
            },
            ..GetOptions::default()
        };
        let answer = timeout(self.stall, self.store.get_opts(&self.path, options)).await;
        let answer = answer.map_err(silent)?.map_err(|e| Failure::of(&e))?;
        let unsound = || Failure::new(Cause::Final, UnsoundRange.to_string());
        Ok(Answer {
            range: *answer.extensions.get().ok_or_else(unsound)?,
            etag: answer.meta.e_tag.clone(),
            result: answer,
        })
    }

    /// Asks for the last byte, whose place says how long an object is.
    async fn length(&self, etag: &Option<String>) -> std::result::Result<u64, Failure> {
        let answer = self.ask(GetRange::Suffix(1), Condition::Any).await;
        let answer = answer.map_err(|failure| match failure.cause {
            Cause::Final | Cause::NoRanges => Failure::new(
                Cause::Final,
                "the server does not say how long the object is",
            ),
            _ => failure,
        })?;
        if answer.etag != *etag {
            return Err(Failure::new(Cause::Changed, CHANGED));
        }
        Ok(answer.range.last.saturating_add(1))
    }

    /// Takes the bytes of an answer, which has a range or its beginning; returns where they end.
    async fn take(
        &self,
        answer: Answer,
        range: &Range<u64>,
        arrived: &Arrived,
    ) -> std::result::Result<u64, Failure> {
        let end = answer.range.last.saturating_add(1);
        if answer.range.first != range.start || end > range.end {
            return Err(Failure::new(Cause::Final, "the server sent another range"));
        }
        let len = usize::try_from(answer.range.len()).unwrap_or(usize::MAX);
        arrived.reserve(len);
        let mut left = len;
        let mut body = answer.result.into_stream();
        loop {
            let next = timeout(self.stall, body.next()).await.map_err(silent);
            let chunk = match next {
                Ok(None) => break,
                Ok(Some(Ok(chunk))) => chunk,
                // what follows the range is of no use
                _ if left == 0 => break,
                Ok(Some(Err(error))) => return Err(Failure::of(&error)),
                Err(failure) => return Err(failure),
            };
            if chunk.len() > left {
                // nothing of it can be believed
                arrived.clear();
                return Err(Failure::temporary("the server sent more than the range"));
            }
            left -= chunk.len();
            arrived.push(&chunk);
        }
        if left > 0 {
            let got = len - left;
            let what = format!("the answer ended after {got} of {len} bytes");
            return Err(Failure::temporary(what));
        }
        Ok(end)
    }
}

/// The head of an answer, and its body to come.
struct Answer {
    range: ContentRange,
    etag: Option<String>,
    result: GetResult,
}

fn silent(_: Elapsed) -> Failure {
    Failure::temporary("the server sends nothing")
}

/// The message for bytes of another version.
pub(crate) const CHANGED: &str = "the object was replaced after it was opened";

/// The time limits of requests.
#[derive(Debug, Clone)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    /// Of one request with its body; `None` leaves that to the caller.
    pub(crate) request: Option<Duration>,
    pub(crate) retry: RetryConfig,
}

/// Returns the client of the store that an object is in, and the object's name there.
pub(crate) fn store(
    address: &Address,
    timeouts: &Timeouts,
) -> object_store::Result<(Box<dyn ObjectStore>, Path)> {
    let (bucket, key) = address.bucket_and_key();
    let retry = timeouts.retry.clone();
    // what else its requests need is known to the connector
    let client = |allow_http: bool| ClientOptions::new().with_allow_http(allow_http);
    let connector = || Connector {
        connect: timeouts.connect,
        request: timeouts.request,
    };
    let in_bucket = || Path::from_url_path(key);
    Ok(match address.scheme {
        Scheme::Http | Scheme::Https => {
            let store = HttpBuilder::new()
                .with_url(&address.url)
                .with_client_options(client(address.scheme == Scheme::Http))
                .with_retry(retry)
                .with_http_connector(connector())
                .build()?;
            (Box::new(store), Path::default())
        }
        Scheme::S3 => {
            let plain = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"];
            let store = AmazonS3Builder::from_env()
                .with_bucket_name(bucket)
                .with_client_options(client(is_plain(&plain)))
                .with_retry(retry)
                .with_http_connector(connector())
                .build()?;
            (Box::new(store), in_bucket()?)
        }
        Scheme::Gcs => {
            let store = GoogleCloudStorageBuilder::from_env()
                .with_bucket_name(bucket)
                .with_client_options(client(is_plain(&["GOOGLE_BASE_URL"])))
                .with_retry(retry)
                .with_http_connector(connector())
                .build()?;
            (Box::new(store), in_bucket()?)
        }
        Scheme::Registry => {
            let what = "a registry is not an object store".into();
            return Err(object_store::Error::Generic {
                store: "oci",
                source: what,
            });
        }
        Scheme::Azure => {
            let store = MicrosoftAzureBuilder::from_env()
                .with_container_name(bucket)
                .with_client_options(client(is_plain(&[
                    "AZURE_STORAGE_ENDPOINT",
                    "AZURE_ENDPOINT",
                ])))
                .with_retry(retry)
                .with_http_connector(connector())
                .build()?;
            (Box::new(store), in_bucket()?)
        }
    })
}

/// Returns whether the environment names an endpoint without TLS.
fn is_plain(names: &[&str]) -> bool {
    let endpoint = names.iter().find_map(std::env::var_os);
    endpoint.is_some_and(|url| url.as_encoded_bytes().starts_with(b"http://"))
}
