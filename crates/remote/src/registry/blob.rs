//! A blob of a registry, by ranges. Its name is the digest of its bytes, so it never changes.
//!
//! **Invariant:** a part has the requested range, or it is a failure; the target of a redirect gets
//! no credentials, and is forgotten when it refuses. Only the whole blob is compared with its
//! digest here.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, Method, StatusCode, header};
use reqwest::{Response, Url};

use super::answers::read_watched;
use super::endpoint::{Call, Endpoint};
use super::manifest::digest_of;
use super::session::{ReadKind, Session};
use crate::content_range::ContentRange;
use crate::failure::{Cause, Failure, Refused};
use crate::objects::{Arrived, Fetched, Wanted};

/// A blob.
pub(crate) struct RegistryBlob {
    session: Arc<Session>,
    digest: String,
    len: u64,
    /// The last target of a redirect. Such URLs expire.
    elsewhere: Mutex<Option<(Arc<Endpoint>, Url)>>,
}

impl RegistryBlob {
    pub(crate) fn new(session: Arc<Session>, digest: String, len: u64) -> Self {
        Self {
            session,
            digest,
            len,
            elsewhere: Mutex::default(),
        }
    }

    /// Gets a part once; each leaf of bytes that comes gives `arrived` more time.
    pub(crate) async fn get(
        &self,
        wanted: &Wanted,
        arrived: Option<&Arrived>,
    ) -> Result<Fetched, Failure> {
        let range = match wanted {
            Wanted::Range(range) => range.start..range.end.min(self.len),
            Wanted::Last(count) => self.len.saturating_sub(*count)..self.len,
        };
        let count = range.end.saturating_sub(range.start);
        let bytes = if count == 0 {
            Vec::new()
        } else {
            self.whole(&range, arrived).await?
        };
        Ok(Fetched {
            start: range.start,
            bytes,
            total: self.len,
            etag: Some(self.digest.clone()),
        })
    }

    /// Gets a range, in one or several answers.
    async fn whole(
        &self,
        range: &Range<u64>,
        arrived: Option<&Arrived>,
    ) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        let (mut rest, mut in_pieces) = (range.clone(), false);
        while !rest.is_empty() {
            let progress = |count: u64| {
                if let Some(arrived) = arrived {
                    arrived.note((rest.start - range.start).saturating_add(count));
                }
            };
            let mut bytes = self.part(&rest, &progress).await?;
            rest.start = rest.start.saturating_add(bytes.len() as u64);
            in_pieces |= !rest.is_empty();
            all.append(&mut bytes);
        }
        // one that came in one answer is compared already
        if in_pieces && *range == (0..self.len) && digest_of(&all) != self.digest {
            return Err(Failure::new(
                Cause::Damaged,
                "the bytes have another digest",
            ));
        }
        Ok(all)
    }

    /// Gets a range or its beginning from where bytes were last, or else from the first server that
    /// has it.
    async fn part(
        &self,
        range: &Range<u64>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u8>, Failure> {
        let elsewhere = self.elsewhere().clone();
        if let Some((endpoint, url)) = elsewhere {
            let answer = endpoint.send_bare(&call(url, range)?).await;
            let bytes = match answer {
                Ok(answer) => self.bytes(answer, range, progress).await,
                Err(failure) => Err(failure),
            };
            match bytes {
                // tried again there, after the time that it may have named
                Err(Failure {
                    cause: Cause::Temporary(_),
                    ..
                }) if self.session.is_registry(&endpoint) => return bytes,
                Ok(_) => return bytes,
                Err(_) => *self.elsewhere() = None,
            }
        }
        let from = async |endpoint: Arc<Endpoint>| {
            let part = format!("blobs/{}", self.digest);
            let url = endpoint.url(&self.session.reference.repository, &part)?;
            let answer = endpoint.send(&call(url.clone(), range)?).await?;
            let led_to = answer.url().clone();
            let bytes = self.bytes(answer, range, progress).await?;
            if led_to != url {
                *self.elsewhere() = Some((endpoint, led_to));
            }
            Ok(bytes)
        };
        self.session.first(ReadKind::Content, from).await
    }

    /// Reads the bytes of an answer.
    async fn bytes(
        &self,
        answer: Response,
        range: &Range<u64>,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Vec<u8>, Failure> {
        let count = self.check(&answer, range)?;
        let most = usize::try_from(count).unwrap_or(usize::MAX);
        let bytes = read_watched(answer, most, self.session.stall, progress).await?;
        if (bytes.len() as u64) < count {
            let got = bytes.len();
            let what = format!("the answer ended after {got} of {count} bytes");
            return Err(Failure::temporary(what));
        }
        if *range == (0..self.len) && count == self.len && digest_of(&bytes) != self.digest {
            return Err(Failure::new(
                Cause::Damaged,
                "the bytes have another digest",
            ));
        }
        Ok(bytes)
    }

    fn elsewhere(&self) -> std::sync::MutexGuard<'_, Option<(Arc<Endpoint>, Url)>> {
        let guard = self.elsewhere.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares the range of an answer with the requested one; returns the number of its bytes.
    fn check(&self, answer: &Response, range: &Range<u64>) -> Result<u64, Failure> {
        let is_all = *range == (0..self.len);
        match answer.status() {
            StatusCode::OK if is_all => return Ok(self.len),
            StatusCode::PARTIAL_CONTENT => {}
            status => return Err(Refused::of(status, answer.headers()).failure()),
        }
        let found = ContentRange::of(answer.headers()).filter(|found| {
            let is_wanted = found.first == range.start && found.last < range.end;
            is_wanted && found.total.is_none_or(|total| total == self.len)
        });
        let found = found.map(|found| found.len());
        found.ok_or_else(|| Failure::new(Cause::Final, "the registry sent another range"))
    }
}

/// Makes the request for a range.
fn call(url: Url, range: &Range<u64>) -> Result<Call, Failure> {
    let last = range.end.saturating_sub(1);
    let wanted = HeaderValue::from_str(&format!("bytes={}-{last}", range.start));
    let wanted = wanted.map_err(|_| Failure::new(Cause::Final, "no range"))?;
    Ok(Call::new(Method::GET, url).header(header::RANGE, wanted))
}
