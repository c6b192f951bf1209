//! New objects in object stores, from a stream of bytes whose length is not known before.
//!
//! In: an address, and bytes through a socket. Out: the object, once `finish` is called.
//! **Invariant:** the object appears whole or not at all: its parts are not visible before the
//! upload is completed, and an upload that fails, or that nobody finishes, is aborted. Memory holds
//! `IN_FLIGHT` parts and the one that is being filled. One that is to stop aborts within
//! `runtime::GRACE`. A process that is killed by SIGKILL leaves parts without an object; stores
//! remove them by a rule for incomplete uploads.

use std::fs::File;
use std::io::Read;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use object_store::path::Path;
use object_store::{MultipartUpload, ObjectStore, ObjectStoreExt, RetryConfig};
use sinterfs_model::{Error, Kind, Result, Setting};

use crate::address::{Address, Scheme, without_queries};
use crate::failure::{Cause, Failure};
use crate::objects::{Timeouts, store};
use crate::options::RemoteOptions;
use crate::runtime;

/// Bytes of the first parts; stores demand 5 MiB at least.
const FIRST_PART: usize = 8 << 20;
/// Bytes of the largest parts, and after how many parts they double: stores take 10,000.
const LARGEST_PART: usize = 128 << 20;
const DOUBLED_AFTER: usize = 1000;

/// Parts on their way at once.
const IN_FLIGHT: usize = 4;

/// Bytes a second of the slowest line.
const SLOWEST: u64 = 64 << 10;

/// An object that is being written.
#[derive(Debug)]
pub struct Upload {
    /// Our end; other descriptors of it may be open, so that only `shutdown` ends the stream.
    stream: UnixStream,
    worker: Option<JoinHandle<()>>,
    state: Arc<UploadState>,
}

/// The state that both sides share.
#[derive(Debug, Default)]
struct UploadState {
    /// Whether the end of the stream is the end of the object.
    is_complete: AtomicBool,
    outcome: Mutex<Option<Result<()>>>,
}

impl Upload {
    /// Begins an upload. Whether the store lets us write is known then, unless it is Azure.
    ///
    /// # Errors
    /// `Unsupported` for URLs of other than object stores; `Invalid` if the object exists and is
    /// not to be replaced; `Io` if the store refuses or cannot be reached.
    pub fn begin(address: &Address, replace: bool, options: &RemoteOptions) -> Result<Self> {
        if !matches!(address.scheme, Scheme::S3 | Scheme::Gcs | Scheme::Azure) {
            let what = "this can be written to object stores (s3://, gs://, az://) only";
            return Err(Error::unsupported(what));
        }
        let sending = Sending::begin(address, replace, options)?;
        let failed = |e| Error::io("cannot prepare an upload", e);
        let (stream, end) = UnixStream::pair().map_err(failed)?;
        let state = Arc::new(UploadState::default());
        let known = Arc::clone(&state);
        let worker = Builder::new().name("upload".into()).spawn(move || {
            let outcome = sending.send(&end, &known.is_complete);
            *known.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            // the writing side learns of a failure from the closed socket, and then finds the
            // outcome
            drop(end);
        });
        Ok(Self {
            stream,
            worker: Some(worker.map_err(failed)?),
            state,
        })
    }

    /// Returns a file that takes the object's bytes in turn.
    pub fn sink(&self) -> Result<File> {
        let stream = self.stream.try_clone();
        let stream = stream.map_err(|e| Error::io("cannot prepare an upload", e))?;
        Ok(File::from(OwnedFd::from(stream)))
    }

    /// Completes the object of all bytes that were written.
    ///
    /// # Errors
    /// `Io` if the store refuses or cannot be reached.
    pub fn finish(mut self) -> Result<()> {
        self.state.is_complete.store(true, Ordering::Release);
        // fails only if the other end is closed after a failure, which is the outcome then
        let _ = self.stream.shutdown(Shutdown::Write);
        self.wait()
    }

    /// Returns why nothing more can be written.
    pub fn failure(mut self) -> Error {
        let _ = self.stream.shutdown(Shutdown::Write);
        let ended = || Error::new(Kind::Io, "the upload ended early");
        self.wait().err().unwrap_or_else(ended)
    }

    fn wait(&mut self) -> Result<()> {
        let ended = || Error::new(Kind::Io, "the upload ended without an answer");
        match self.worker.take().map(JoinHandle::join) {
            Some(Ok(())) => {}
            Some(Err(_)) | None => return Err(ended()),
        }
        let mut outcome = self
            .state
            .outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        outcome.take().unwrap_or_else(|| Err(ended()))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.worker.is_some() {
            // what was written is no object: the worker aborts
            let _ = self.stream.shutdown(Shutdown::Both);
            let _ = self.wait();
        }
    }
}

/// The outcome of a part.
type Answer = std::result::Result<(), Failure>;

/// The side of the store.
struct Sending {
    upload: Box<dyn MultipartUpload>,
    host: String,
    stop: fn() -> bool,
}

impl Sending {
    fn begin(address: &Address, replace: bool, options: &RemoteOptions) -> Result<Self> {
        runtime::handle()?;
        let host = address.host();
        let timeouts = Timeouts {
            connect: options.stall,
            request: Some(options.stall + Duration::from_secs(FIRST_PART as u64 / SLOWEST)),
            retry: RetryConfig {
                retry_timeout: options.deadline,
                ..RetryConfig::default()
            },
        };
        let (store, path) = store(address, &timeouts).map_err(|error| {
            let what = without_queries(&error.to_string());
            Error::invalid(format!("cannot use {host}: {what}"))
        })?;
        let stop = options.stop;
        let begun = runtime::spawn(async move { begin(&*store, &path, replace, stop).await })?;
        let upload =
            runtime::wait_for_end(&begun, stop)?.map_err(|failure| match failure.cause {
                Cause::Changed => exists(),
                _ => failed(&failure, &host),
            })?;
        Ok(Self { upload, host, stop })
    }

    /// Sends all bytes up to the end of the stream.
    fn send(mut self, stream: &UnixStream, is_complete: &AtomicBool) -> Result<()> {
        let sent = self.send_parts(stream, is_complete);
        let (mut upload, stop) = (self.upload, self.stop);
        let ended = runtime::spawn(async move {
            let completed = match sent {
                Ok(()) => {
                    let completed = runtime::until_stopped(stop, upload.complete()).await;
                    completed.map_or_else(|| Err(stopped()), |done| done.map_err(|e| refused(&e)))
                }
                Err(failure) => Err(failure),
            };
            if completed.is_err() {
                abort(&mut *upload, stop).await;
            }
            completed
        })?;
        let completed = runtime::wait_for_end(&ended, stop)?;
        completed
            .map(drop)
            .map_err(|failure| failed(&failure, &self.host))
    }

    /// Sends parts up to the end of the stream, and waits for the answers to all of them: parts
    /// that arrive after an upload is aborted would stay. They end at once when the work is to
    /// stop.
    fn send_parts(
        &mut self,
        stream: &UnixStream,
        is_complete: &AtomicBool,
    ) -> std::result::Result<(), Failure> {
        let (sender, answers) = mpsc::channel();
        let sent = self.begin_parts(stream, is_complete, &sender, &answers);
        drop(sender);
        // the first failure is the reason for the others
        answers.into_iter().fold(sent, std::result::Result::and)
    }

    fn begin_parts(
        &mut self,
        stream: &UnixStream,
        is_complete: &AtomicBool,
        sender: &mpsc::Sender<Answer>,
        answers: &mpsc::Receiver<Answer>,
    ) -> std::result::Result<(), Failure> {
        let lost = |error: Error| match error.kind() {
            Kind::Cancelled => Failure::new(Cause::Stopped, error.to_string()),
            _ => Failure::new(Cause::Final, "the upload of a part ended without an answer"),
        };
        let handle = runtime::handle().map_err(|e| Failure::new(Cause::Final, e.to_string()))?;
        for number in 0.. {
            let len = part_len(number);
            let mut part = Vec::with_capacity(len);
            let read = stream.take(len as u64).read_to_end(&mut part);
            read.map_err(|e| Failure::new(Cause::Final, format!("cannot read: {e}")))?;
            let is_last = part.len() < len;
            if is_last && !is_complete.load(Ordering::Acquire) {
                return Err(Failure::new(Cause::Final, "the image was not completed"));
            }
            // an empty object has one part, too
            if number == 0 || !part.is_empty() {
                if number >= IN_FLIGHT {
                    runtime::wait(answers, self.stop).map_err(lost)??;
                }
                let (sending, sender) = (self.upload.put_part(part.into()), sender.clone());
                let stop = self.stop;
                handle.spawn(async move {
                    let sent = runtime::until_stopped(stop, sending).await;
                    let sent =
                        sent.map_or_else(|| Err(stopped()), |done| done.map_err(|e| refused(&e)));
                    // nobody waits any more if the process ends
                    let _ = sender.send(sent);
                });
            }
            if is_last {
                break;
            }
        }
        Ok(())
    }
}

/// Returns the length of a part in bytes.
fn part_len(number: usize) -> usize {
    let doublings = u32::try_from(number / DOUBLED_AFTER).unwrap_or(u32::MAX);
    let len = FIRST_PART
        .checked_shl(doublings.min(16))
        .unwrap_or(LARGEST_PART);
    len.min(LARGEST_PART)
}

async fn begin(
    store: &dyn ObjectStore,
    path: &Path,
    replace: bool,
    stop: fn() -> bool,
) -> std::result::Result<Box<dyn MultipartUpload>, Failure> {
    if !replace {
        match store.head(path).await {
            Ok(_) => return Err(Failure::new(Cause::Changed, "it exists")),
            Err(object_store::Error::NotFound { .. }) => {}
            Err(error) => return Err(refused(&error)),
        }
    }
    let begun = store.put_multipart(path).await;
    let mut upload = begun.map_err(|error| refused(&error))?;
    if stop() {
        abort(&mut *upload, stop).await;
        return Err(stopped());
    }
    Ok(upload)
}

/// Removes the parts of an upload; nothing better can be done here if that fails.
async fn abort(upload: &mut dyn MultipartUpload, stop: fn() -> bool) {
    let aborted = upload.abort();
    if stop() {
        let _ = tokio::time::timeout(runtime::GRACE, aborted).await;
    } else {
        let _ = aborted.await;
    }
}

fn stopped() -> Failure {
    Failure::new(Cause::Stopped, "stopped on request")
}

/// Converts what the client says of a request that was to write.
fn refused(error: &object_store::Error) -> Failure {
    use object_store::Error::{NotFound, PermissionDenied, Unauthenticated};
    match error {
        NotFound { .. } => Failure::new(Cause::Missing, "there is no such bucket"),
        PermissionDenied { .. } | Unauthenticated { .. } => {
            Failure::new(Cause::Denied, "the store refuses the credentials")
        }
        _ => Failure::of(error),
    }
}

fn exists() -> Error {
    let option = Setting("replace");
    Error::invalid(format!("the output exists; use {option} to replace it")).about([option])
}

fn failed(failure: &Failure, host: &str) -> Error {
    failure.error(format_args!("cannot upload to {host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_parts_are_enough_for_large_images() {
        assert_eq!(part_len(0), FIRST_PART);
        assert_eq!(part_len(DOUBLED_AFTER), 2 * FIRST_PART);
        assert_eq!(part_len(9_999), LARGEST_PART);
        let bytes: u64 = (0..10_000).map(|number| part_len(number) as u64).sum();
        assert!(bytes > 880_000_000_000, "{bytes}");
    }
}
