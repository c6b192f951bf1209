//! Signatures of images, as artifacts that refer to them.
//!
//! In: the digest of an image's manifest. Out: what is attached to it, or the same put there.
//! **Invariant:** nothing that is found here is believed: signatures are compared with a key by the
//! caller. Spec: OCI distribution-spec 1.1, "Listing Referrers" and "Referrers Tag Schema".

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method, StatusCode, header};
use serde_json::{Value, json};
use sinterfs_block::{MemorySource, ReadAt};
use tokio::time::Instant;

use super::answers::{read, refusal};
use super::blob::RegistryBlob;
use super::endpoint::{Call, Endpoint};
use super::manifest::{Descriptor, EMPTY, MANIFEST, Manifest, digest_of};
use super::resolve::{MAX_MANIFEST_LEN, get};
use super::session::{ReadKind, Session};
use super::upload::{put, put_blob};
use crate::failure::{Cause, Failure};
use crate::objects::Wanted;
use crate::retry;

/// The types of artifacts with signatures, and of their layers.
const SIGNATURES: &str = "application/vnd.sinterfs.signature.v1";
const MINISIG: &str = "application/vnd.sinterfs.minisig.v1";
const DIGESTS: &str = "application/vnd.sinterfs.digests.v1";

/// The type of a list of manifests.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// Artifacts that are looked at for one image, and the longest signature.
const MAX_ARTIFACTS: usize = 32;
const LONGEST_SIGNATURE: u64 = 64 << 10;

/// A signature that is attached to an image, of which nothing is known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachedSignature {
    /// The file of minisign.
    pub signature: Vec<u8>,
    /// The digests whose root is signed, for an image without digests.
    pub digests: Option<Vec<u8>>,
}

/// The manifest that something is attached to.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) digest: String,
    pub(crate) len: u64,
}

/// Attaches a signature. A registry that does not list referrers gets the list as a tag.
pub(crate) async fn attach(
    session: &Session,
    subject: &Subject,
    attached: AttachedSignature,
    patience: Duration,
) -> Result<(), Failure> {
    let config = b"{}".to_vec();
    let mut layers = vec![(MINISIG, attached.signature)];
    layers.extend(attached.digests.map(|digests| (DIGESTS, digests)));
    let described = |(kind, bytes): &(&str, Vec<u8>)| {
        let digest = digest_of(bytes);
        json!({ "mediaType": kind, "digest": digest, "size": bytes.len() })
    };
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": SIGNATURES,
        "config": described(&(EMPTY, config.clone())),
        "layers": layers.iter().map(described).collect::<Vec<_>>(),
        "subject": {
            "mediaType": MANIFEST,
            "digest": subject.digest,
            "size": subject.len,
        },
    });
    let blobs = layers.into_iter().map(|(_, bytes)| bytes).chain([config]);
    for bytes in blobs {
        let digest = digest_of(&bytes);
        let bytes: Arc<dyn ReadAt> = Arc::new(MemorySource(bytes));
        put_blob(session, &digest, &bytes, patience).await?;
    }
    let manifest = manifest.to_string();
    let digest = digest_of(manifest.as_bytes());
    let len = manifest.len();
    let lists = put(session, &digest, manifest, MANIFEST, patience).await?;
    if lists {
        return Ok(());
    }
    let entry = json!({
        "mediaType": MANIFEST,
        "digest": digest,
        "size": len,
        "artifactType": SIGNATURES,
    });
    note(session, subject, entry, patience).await
}

/// Adds an artifact to the tag that lists the artifacts of a manifest. If two processes do so at
/// once, one may be lost: registries offer no protection against that.
async fn note(
    session: &Session,
    subject: &Subject,
    entry: Value,
    patience: Duration,
) -> Result<(), Failure> {
    let deadline = Instant::now() + patience;
    let tag = tag(&subject.digest);
    let mut entries = match retry::until(deadline, || get(session, &tag)).await {
        Ok((list, _)) => entries(&list),
        Err(failure) if failure.cause == Cause::Missing => Vec::new(),
        Err(failure) => return Err(failure),
    };
    if entries
        .iter()
        .any(|one| one.get("digest") == entry.get("digest"))
    {
        return Ok(());
    }
    entries.push(entry);
    let list = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": entries });
    put(session, &tag, list.to_string(), INDEX, patience).await?;
    Ok(())
}

/// Returns the tag that lists what refers to a manifest.
fn tag(digest: &str) -> String {
    digest.replacen(':', "-", 1)
}

fn entries(list: &Value) -> Vec<Value> {
    let entries = list.get("manifests").and_then(Value::as_array);
    entries.cloned().unwrap_or_default()
}

/// Returns the signatures that are attached to a manifest. `longest` bounds digests in bytes.
pub(crate) async fn attached(
    session: &Arc<Session>,
    subject: &str,
    longest: u64,
    patience: Duration,
) -> Result<Vec<AttachedSignature>, Failure> {
    let deadline = Instant::now() + patience;
    let listed = match retry::until(deadline, || referrers(session, subject)).await {
        Ok(list) => Some(list),
        // a registry without the list answers in many ways
        Err(failure) if !matches!(failure.cause, Cause::Denied) => None,
        Err(failure) => return Err(failure),
    };
    let tag = tag(subject);
    let list = match listed {
        Some(list) => list,
        None => match retry::until(deadline, || get(session, &tag)).await {
            Ok((list, _)) => list,
            Err(failure) if failure.cause == Cause::Missing => return Ok(Vec::new()),
            Err(failure) => return Err(failure),
        },
    };
    let is_signature =
        |one: &Value| one.get("artifactType").and_then(Value::as_str) == Some(SIGNATURES);
    let mut found = Vec::new();
    for entry in entries(&list)
        .into_iter()
        .filter(is_signature)
        .take(MAX_ARTIFACTS)
    {
        let digest = entry
            .get("digest")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if !super::reference::is_digest(digest) {
            continue;
        }
        let (manifest, _) = retry::until(deadline, || get(session, digest)).await?;
        let of = manifest.pointer("/subject/digest").and_then(Value::as_str);
        if of == Some(subject) {
            found.extend(artifact(session, &manifest, longest, deadline).await?);
        }
    }
    Ok(found)
}

/// Gets the signature of an artifact; `None` if there is none that makes sense.
async fn artifact(
    session: &Arc<Session>,
    manifest: &Value,
    longest: u64,
    deadline: Instant,
) -> Result<Option<AttachedSignature>, Failure> {
    let Ok(Manifest { layers, .. }) = Manifest::parse(manifest) else {
        return Ok(None);
    };
    let find = |kind: &str, longest: u64| {
        let is_wanted = |layer: &&Descriptor| layer.media_type == kind && layer.len <= longest;
        layers.iter().find(is_wanted)
    };
    let Some(signature) = find(MINISIG, LONGEST_SIGNATURE) else {
        return Ok(None);
    };
    let digests = match find(DIGESTS, longest) {
        Some(digests) => Some(whole(session, digests, deadline).await?),
        None => None,
    };
    Ok(Some(AttachedSignature {
        signature: whole(session, signature, deadline).await?,
        digests,
    }))
}

/// Gets a small blob, which is compared with its digest.
async fn whole(
    session: &Arc<Session>,
    layer: &Descriptor,
    deadline: Instant,
) -> Result<Vec<u8>, Failure> {
    let blob = RegistryBlob::new(Arc::clone(session), layer.digest.clone(), layer.len);
    let all = Wanted::Range(0..layer.len);
    let part = retry::until(deadline, || blob.get(&all, None)).await?;
    Ok(part.bytes)
}

/// Requests the list of artifacts that refer to a manifest.
async fn referrers(session: &Session, subject: &str) -> Result<Value, Failure> {
    let from = async |endpoint: Arc<Endpoint>| {
        let part = format!("referrers/{subject}");
        let url = endpoint.url(&session.reference.repository, &part)?;
        let call = Call::new(Method::GET, url);
        let call = call.header(header::ACCEPT, HeaderValue::from_static(INDEX));
        let answer = endpoint.send(&call).await?;
        if answer.status() != StatusCode::OK {
            return Err(refusal(answer, session.stall).await);
        }
        let bytes = read(answer, MAX_MANIFEST_LEN, session.stall).await?;
        let list: Option<Value> = serde_json::from_slice(&bytes).ok();
        let list = list.filter(|list| list.get("manifests").is_some_and(Value::is_array));
        list.ok_or_else(|| Failure::new(Cause::Final, "it is not a list of artifacts"))
    };
    session.first(ReadKind::Tag, from).await
}
