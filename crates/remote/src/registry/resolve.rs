//! From a reference to the manifest of one image.

use std::sync::Arc;

use http::{HeaderValue, Method, StatusCode, header};
use serde_json::Value;
use tokio::time::Instant;

use super::answers::{read, refusal};
use super::endpoint::{Call, Endpoint};
use super::manifest::{ACCEPTED, Manifest, choose, digest_of};
use super::session::{ReadKind, Session};
use crate::failure::{Cause, Failure};
use crate::retry;

/// The longest manifest, as registries bound them.
pub(super) const MAX_MANIFEST_LEN: usize = 4 << 20;

/// Gets the manifest that the reference names, and its digest; from an index, the manifest of a
/// platform.
pub(crate) async fn resolve(
    session: &Session,
    platform: Option<&str>,
    patience: std::time::Duration,
) -> Result<(Manifest, String), Failure> {
    let deadline = Instant::now() + patience;
    let version = session.reference.version();
    let (value, digest) = retry::until(deadline, || get(session, version)).await?;
    let Some(chosen) = choose(&value, platform)? else {
        return Ok((Manifest::parse(&value)?, digest));
    };
    let (value, digest) = retry::until(deadline, || get(session, &chosen)).await?;
    Ok((Manifest::parse(&value)?, digest))
}

/// Gets a manifest by its tag or digest; also returns its digest.
pub(super) async fn get(session: &Session, version: &str) -> Result<(Value, String), Failure> {
    let asked = if version.starts_with("sha256:") {
        ReadKind::Content
    } else {
        ReadKind::Tag
    };
    let from = async |endpoint: Arc<Endpoint>| {
        let part = format!("manifests/{version}");
        let url = endpoint.url(&session.reference.repository, &part)?;
        let accepted = HeaderValue::from_static(ACCEPTED);
        let call = Call::new(Method::GET, url).header(header::ACCEPT, accepted);
        let answer = endpoint.send(&call).await?;
        if answer.status() != StatusCode::OK {
            return Err(refusal(answer, session.stall).await);
        }
        let stated = answer.headers().get("docker-content-digest").cloned();
        let bytes = read(answer, MAX_MANIFEST_LEN, session.stall).await?;
        let wrong = |what: &str| Failure::new(Cause::Final, what);
        let digest = digest_of(&bytes);
        if version.starts_with("sha256:") && digest != version {
            return Err(wrong("the manifest is not the one that the digest names"));
        }
        // other algorithms are not compared
        let stated = stated.filter(|stated| stated.as_bytes().starts_with(b"sha256:"));
        if stated.is_some_and(|stated| stated.as_bytes() != digest.as_bytes()) {
            return Err(wrong(
                "the manifest is not the one whose digest the registry states",
            ));
        }
        let value = serde_json::from_slice(&bytes);
        Ok((
            value.map_err(|_| wrong("the manifest is not JSON"))?,
            digest,
        ))
    };
    session.first(asked, from).await
}
