//! Bodies of answers.
//!
//! In: an answer of a registry. Out: its body, or why it refused. **Invariant:** no body is read
//! beyond a bound; nothing of a URL's query is in a failure. Spec: OCI distribution-spec 1.1,
//! "Error Codes".

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

use crate::address::without_queries;
use crate::failure::{Cause, Failure, Refused};

/// The longest explanation of a refusal, and how many characters of it are shown.
const LONGEST_REASON: usize = 16 << 10;
const SHOWN: usize = 200;

/// Reads a body to its end; a longer one is a failure.
pub(crate) async fn read(
    answer: Response,
    most: usize,
    stall: Duration,
) -> Result<Vec<u8>, Failure> {
    read_watched(answer, most, stall, |_| ()).await
}

/// Does the same, and reports how many bytes have come each time that some have.
pub(crate) async fn read_watched(
    mut answer: Response,
    most: usize,
    stall: Duration,
    mut progress: impl FnMut(u64),
) -> Result<Vec<u8>, Failure> {
    let silent = |_| Failure::temporary("the registry sends nothing");
    let mut body = Vec::new();
    while let Some(chunk) = timeout(stall, answer.chunk())
        .await
        .map_err(silent)?
        .map_err(|error| Failure::of_client(&error))?
    {
        if chunk.len() > most.saturating_sub(body.len()) {
            let what = "the registry sent more than it may";
            return Err(Failure::new(Cause::Final, what));
        }
        body.extend_from_slice(&chunk);
        progress(body.len() as u64);
    }
    Ok(body)
}

/// Converts a refusal, with what the registry says about it.
pub(crate) async fn refusal(answer: Response, stall: Duration) -> Failure {
    let mut failure = Refused::of(answer.status(), answer.headers()).failure();
    let body = read(answer, LONGEST_REASON, stall)
        .await
        .unwrap_or_default();
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let field = |name: &str| {
        let text = value.pointer(&format!("/errors/0/{name}"))?.as_str()?;
        let shown = text.chars().filter(|char| !char.is_control()).take(SHOWN);
        Some(without_queries(&shown.collect::<String>()))
    };
    let said: Vec<_> = [field("code"), field("message")]
        .into_iter()
        .flatten()
        .collect();
    if !said.is_empty() {
        failure.what = format!("{} ({})", failure.what, said.join(": "));
    }
    failure
}
