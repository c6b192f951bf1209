//! Putting blobs and manifests into a repository.
//!
//! In: bytes and their digest. Out: nothing, when the registry has them and has compared the
//! digest. **Invariant:** an upload that failed or was stopped is cancelled, as far as the registry
//! can be reached; nothing refers to it. Spec: OCI distribution-spec 1.1, "Pushing blobs".

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use reqwest::{Response, Url};
use sinterfs_block::ReadAt;
use tokio::time::Instant;

use super::answers::refusal;
use super::endpoint::Call;
use super::manifest::digest_of;
use super::session::Session;
use crate::failure::{Cause, Failure};
use crate::{retry, runtime};

/// The bytes of one request: what GHCR takes at most.
const CHUNK: u64 = 4 << 20;

/// The largest chunk that a registry may insist on.
const LARGEST: u64 = 64 << 20;

/// The time that a registry may take to process the received bytes before it answers.
const HASHING: Duration = Duration::from_secs(600);

/// An upload on its way.
struct Upload {
    /// The address for the next bytes.
    place: Url,
    /// The bytes of one request.
    chunk: u64,
}

/// Puts a blob unless it is there.
pub(crate) async fn put_blob(
    session: &Session,
    digest: &str,
    content: &Arc<dyn ReadAt>,
    patience: Duration,
) -> Result<(), Failure> {
    let is_there = || has(session, digest);
    if retry::until(Instant::now() + patience, is_there).await? {
        return Ok(());
    }
    let begin = || begin(session);
    let mut upload = retry::until(Instant::now() + patience, begin).await?;
    let sent = runtime::until_stopped(session.stop, async {
        send(session, &mut upload, content, patience).await?;
        finish(session, &upload, digest, patience).await
    });
    let sent = sent.await;
    let sent = sent.unwrap_or_else(|| Err(Failure::new(Cause::Stopped, "stopped on request")));
    if let Err(failure) = &sent {
        let call = Call::new(Method::DELETE, upload.place);
        let cancelled = session.send(&call);
        // registries remove what is left after a day or so
        if failure.cause == Cause::Stopped {
            let _ = tokio::time::timeout(runtime::GRACE, cancelled).await;
        } else {
            let _ = cancelled.await;
        }
    }
    sent
}

/// Asks whether a blob is there.
async fn has(session: &Session, digest: &str) -> Result<bool, Failure> {
    let there = session.url(&format!("blobs/{digest}"))?;
    let answer = session.send(&Call::new(Method::HEAD, there)).await?;
    Ok(answer.status() == StatusCode::OK)
}

/// Begins an upload.
async fn begin(session: &Session) -> Result<Upload, Failure> {
    let call = Call::new(Method::POST, session.url("blobs/uploads/")?);
    let answer = session.send(&call).await?;
    if answer.status() != StatusCode::ACCEPTED {
        return Err(refusal(answer, session.stall).await);
    }
    let least = answer.headers().get("oci-chunk-min-length");
    let least = least.and_then(|value| value.to_str().ok()?.parse().ok());
    Ok(Upload {
        place: place(&answer)?,
        chunk: least.unwrap_or(CHUNK).clamp(CHUNK, LARGEST),
    })
}

/// Sends all bytes. After a request that failed in transit, the number of received bytes is
/// requested from the registry.
async fn send(
    session: &Session,
    upload: &mut Upload,
    content: &Arc<dyn ReadAt>,
    patience: Duration,
) -> Result<(), Failure> {
    let mut at = 0;
    let mut deadline = Instant::now() + patience;
    while at < content.len() {
        let end = content.len().min(at.saturating_add(upload.chunk));
        let body = read(content, at, end).await?;
        match patch(session, &upload.place, at, body).await {
            Ok(next) => {
                upload.place = next;
                at = end;
                deadline = Instant::now() + patience;
            }
            Err(failure) => {
                let Cause::Temporary(_) = failure.cause else {
                    return Err(failure);
                };
                let asking = &*upload;
                let ask = || progress(session, asking);
                retry::pause(&failure, deadline).await?;
                let (next, has) = retry::until(deadline, ask).await?;
                if has > end {
                    return Err(Failure::new(
                        Cause::Final,
                        "the registry has too many bytes",
                    ));
                }
                (upload.place, at) = (next, has);
            }
        }
    }
    Ok(())
}

async fn read(content: &Arc<dyn ReadAt>, at: u64, end: u64) -> Result<Vec<u8>, Failure> {
    let content = Arc::clone(content);
    let read = move || {
        let len = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len];
        content.read_at(at, &mut bytes).map(|()| bytes)
    };
    // a disk may be slow, and the image itself remote
    let read = tokio::task::spawn_blocking(read).await;
    let failed =
        |what: String| Failure::new(Cause::Final, format!("cannot read the image: {what}"));
    let read = read.map_err(|error| failed(error.to_string()))?;
    read.map_err(|error| failed(error.to_string()))
}

async fn patch(session: &Session, to: &Url, at: u64, body: Vec<u8>) -> Result<Url, Failure> {
    let last = at.saturating_add(body.len() as u64).saturating_sub(1);
    let mut call = Call::new(Method::PATCH, to.clone());
    call.body = body;
    call.headers = upload_headers(&format!("{at}-{last}"));
    let answer = session.send(&call).await?;
    if answer.status() != StatusCode::ACCEPTED {
        return Err(refusal(answer, session.stall).await);
    }
    place(&answer)
}

fn upload_headers(range: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let kind = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, kind);
    if let Ok(range) = HeaderValue::from_str(range) {
        headers.insert(header::CONTENT_RANGE, range);
    }
    headers
}

/// Asks how many bytes an upload has, and where the next ones go.
async fn progress(session: &Session, upload: &Upload) -> Result<(Url, u64), Failure> {
    let call = Call::new(Method::GET, upload.place.clone());
    let answer = session.send(&call).await?;
    if answer.status() != StatusCode::NO_CONTENT {
        return Err(refusal(answer, session.stall).await);
    }
    let range = answer.headers().get(header::RANGE);
    let last = range.and_then(|range| range.to_str().ok()?.strip_prefix("0-"));
    let last: Option<u64> = last.and_then(|last| last.parse().ok());
    // registries also report 0-0 for an upload without bytes; a single byte is never sent
    let has = last.filter(|&last| last > 0);
    Ok((
        place(&answer)?,
        has.map_or(0, |last| last.saturating_add(1)),
    ))
}

/// Ends an upload; the registry compares the digest.
async fn finish(
    session: &Session,
    upload: &Upload,
    digest: &str,
    patience: Duration,
) -> Result<(), Failure> {
    let mut url = upload.place.clone();
    url.query_pairs_mut().append_pair("digest", digest);
    let mut call = Call::new(Method::PUT, url);
    call.work = HASHING;
    let put = || async {
        let answer = session.send(&call).await?;
        match answer.status() {
            StatusCode::CREATED => Ok(()),
            _ => Err(refusal(answer, session.stall).await),
        }
    };
    let put = retry::until(Instant::now() + HASHING + patience, put).await;
    match put {
        // an answer may have been lost
        Err(_) if has(session, digest).await.unwrap_or(false) => Ok(()),
        put => put,
    }
}

/// Puts a manifest under a tag or its digest; returns whether the registry lists it for what it
/// refers to.
pub(crate) async fn put(
    session: &Session,
    version: &str,
    manifest: String,
    media_type: &'static str,
    patience: Duration,
) -> Result<bool, Failure> {
    let digest = digest_of(manifest.as_bytes());
    let url = session.url(&format!("manifests/{version}"))?;
    let kind = HeaderValue::from_static(media_type);
    let mut call = Call::new(Method::PUT, url).header(header::CONTENT_TYPE, kind);
    call.body = manifest.into_bytes();
    let put = || async {
        let answer = session.send(&call).await?;
        if answer.status() != StatusCode::CREATED {
            return Err(refusal(answer, session.stall).await);
        }
        let stored = answer.headers().get("docker-content-digest");
        if stored.is_some_and(|stored| stored.as_bytes() != digest.as_bytes()) {
            return Err(Failure::new(
                Cause::Final,
                "the registry stored another manifest",
            ));
        }
        Ok(answer.headers().contains_key("oci-subject"))
    };
    retry::until(Instant::now() + patience, put).await
}

/// Returns where an answer leads to.
fn place(answer: &Response) -> Result<Url, Failure> {
    let location = answer.headers().get(header::LOCATION);
    let location = location.and_then(|location| location.to_str().ok());
    let url = location.and_then(|location| answer.url().join(location).ok());
    url.ok_or_else(|| Failure::new(Cause::Final, "the registry does not say where to go on"))
}
