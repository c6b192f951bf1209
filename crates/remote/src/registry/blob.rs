//! A blob of a registry, by ranges. Its name is the digest of its bytes, so it never changes.
//!
//! **Invariant:** a part is of the range that was asked for, or it is a failure; where the registry
//! has led to is asked without credentials, and forgotten when it refuses.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderValue, Method, StatusCode, header};
use reqwest::{Response, Url};

use super::session::{Call, Session, read};
use crate::failure::{Cause, Failure, Refused};
use crate::objects::{Fetched, Wanted};

/// A blob.
pub(crate) struct RegistryBlob {
    session: Arc<Session>,
    digest: String,
    len: u64,
    /// Where the registry led to last. Such URLs expire.
    elsewhere: Mutex<Option<Url>>,
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

    /// Gets a part once.
    pub(crate) async fn get(&self, wanted: &Wanted) -> Result<Fetched, Failure> {
        let range = match wanted {
            Wanted::Range(range) => range.start..range.end.min(self.len),
            Wanted::Last(count) => self.len.saturating_sub(*count)..self.len,
        };
        let count = range.end.saturating_sub(range.start);
        let bytes = if count == 0 {
            Vec::new()
        } else {
            let answer = self.ask(&range).await?;
            self.check(&answer, &range)?;
            let most = usize::try_from(count).unwrap_or(usize::MAX);
            read(answer, most, self.session.stall).await?
        };
        if (bytes.len() as u64) < count {
            let got = bytes.len();
            let what = format!("the answer ended after {got} of {count} bytes");
            return Err(Failure::temporary(what));
        }
        Ok(Fetched {
            start: range.start,
            bytes,
            total: self.len,
            etag: Some(self.digest.clone()),
        })
    }

    /// Asks where the bytes were last, or else the registry.
    async fn ask(&self, range: &Range<u64>) -> Result<Response, Failure> {
        let last = range.end.saturating_sub(1);
        let wanted = HeaderValue::from_str(&format!("bytes={}-{last}", range.start));
        let wanted = wanted.map_err(|_| Failure::new(Cause::Final, "no range"))?;
        let call = |url| Call::new(Method::GET, url).header(header::RANGE, wanted.clone());
        let elsewhere = self.elsewhere().clone();
        if let Some(url) = elsewhere {
            let answer = self.session.send_bare(&call(url)).await?;
            if !answer.status().is_client_error() {
                return Ok(answer);
            }
            *self.elsewhere() = None;
        }
        let url = self.session.url(&format!("blobs/{}", self.digest))?;
        let answer = self.session.send(&call(url.clone())).await?;
        if answer.status().is_success() && *answer.url() != url {
            *self.elsewhere() = Some(answer.url().clone());
        }
        Ok(answer)
    }

    fn elsewhere(&self) -> std::sync::MutexGuard<'_, Option<Url>> {
        let guard = self.elsewhere.lock();
        guard.unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares what an answer says with what was asked for.
    fn check(&self, answer: &Response, range: &Range<u64>) -> Result<(), Failure> {
        let is_all = *range == (0..self.len);
        match answer.status() {
            StatusCode::OK if is_all => return Ok(()),
            StatusCode::PARTIAL_CONTENT => {}
            status => return Err(Refused::of(status, answer.headers()).failure()),
        }
        let last = range.end.saturating_sub(1);
        let expected = format!("bytes {}-{last}/", range.start);
        let found = answer.headers().get(header::CONTENT_RANGE);
        let total = found.and_then(|found| found.to_str().ok()?.strip_prefix(&expected));
        if total.is_some_and(|total| total == "*" || total.parse() == Ok(self.len)) {
            return Ok(());
        }
        Err(Failure::new(
            Cause::Final,
            "the registry sent another range",
        ))
    }
}
