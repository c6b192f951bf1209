//! Why a request failed, and whether another one may succeed.

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use sinterfs_model::{Error, Kind};

use crate::address::without_queries;

/// What a failed request means for those who wait for its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Another try may succeed, after this time if the server named one.
    Temporary(Option<Duration>),
    /// The object is another one than at first.
    Changed,
    /// The object is that of the given entity tag.
    Unchanged,
    /// There is no such object.
    Missing,
    /// The server wants other credentials.
    Denied,
    /// The server does not serve ranges.
    NoRanges,
    /// The bytes have another digest than their name.
    Damaged,
    /// Anything else.
    Final,
}

/// A failed request.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) cause: Cause,
    pub(crate) what: String,
}

impl Failure {
    pub(crate) fn new(cause: Cause, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { cause, what }
    }

    pub(crate) fn temporary(what: impl Into<String>) -> Self {
        Self::new(Cause::Temporary(None), what)
    }

    /// Converts what the client of the object store says.
    pub(crate) fn of(error: &object_store::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        let mut failed_on_the_way = None;
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref::<Refused>() {
                return refused.failure();
            }
            if let Some(tls) = distrust(error) {
                return Self::new(
                    Cause::Final,
                    format!("the connection is not trusted: {tls}"),
                );
            }
            if let Some(http) = error.downcast_ref::<object_store::client::HttpError>() {
                failed_on_the_way = Some(innermost(http));
            }
            cause = error.source();
        }
        if let Some(what) = failed_on_the_way {
            if what == NOT_ALLOWED {
                return Self::new(
                    Cause::Final,
                    "the server redirects from https to http, which is refused",
                );
            }
            return Self::temporary(without_queries(&what));
        }
        Self::new(Cause::Final, without_queries(&error.to_string()))
    }

    /// Converts what the client of HTTP says.
    pub(crate) fn of_client(error: &reqwest::Error) -> Self {
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(tls) = distrust(error) {
                let what = format!("the connection is not trusted: {tls}");
                return Self::new(Cause::Final, what);
            }
            cause = error.source();
        }
        let what = innermost(error);
        if what == NOT_ALLOWED {
            return Self::new(
                Cause::Final,
                "the server redirects from https to http, which is refused",
            );
        }
        let what = without_queries(&what);
        if error.is_redirect() || error.is_builder() {
            return Self::new(Cause::Final, what);
        }
        Self::temporary(what)
    }

    /// Converts to the error of a read; `doing` says what was read from where.
    pub(crate) fn error(&self, doing: fmt::Arguments<'_>) -> Error {
        let what = format!("{doing}: {}", self.what);
        match self.cause {
            Cause::Changed => Error::new(Kind::Stale, what),
            Cause::Missing => Error::not_found(what),
            Cause::NoRanges => Error::unsupported(what),
            Cause::Damaged => Error::corrupt(what),
            Cause::Denied | Cause::Unchanged | Cause::Temporary(_) | Cause::Final => {
                Error::new(Kind::Io, what)
            }
        }
    }
}

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// An answer that has not the range that was asked for.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    after: Option<Duration>,
}

impl Refused {
    pub(crate) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let after = headers.get(header::RETRY_AFTER);
        let seconds = after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Self {
            status,
            after: seconds.map(|seconds| Duration::from_secs(seconds).min(LONGEST_WAIT)),
        }
    }

    pub(crate) fn failure(&self) -> Failure {
        let cause = match self.status.as_u16() {
            200 => Cause::NoRanges,
            304 => Cause::Unchanged,
            401 | 403 | 407 => Cause::Denied,
            404 | 410 => Cause::Missing,
            412 => Cause::Changed,
            501 | 505 => Cause::Final,
            408 | 425 | 429 | 500..=599 => Cause::Temporary(self.after),
            _ => Cause::Final,
        };
        Failure::new(cause, self.to_string())
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.as_u16() {
            200 => f.write_str("the server does not serve parts of files: download the image"),
            412 => f.write_str("the object was replaced after it was opened"),
            416 => f.write_str("the object is empty, or shorter than it was"),
            _ => write!(f, "the server answered {}", self.status),
        }
    }
}

impl std::error::Error for Refused {}

/// What the client says of a redirect from `https` to `http`.
const NOT_ALLOWED: &str = "URL scheme is not allowed";

/// Returns the error of TLS that an error is, if it is one: of a certificate, or of the protocol.
fn distrust<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a rustls::Error> {
    let inner = error.downcast_ref::<std::io::Error>()?.get_ref()?;
    let inner: &(dyn std::error::Error + 'static) = inner;
    inner.downcast_ref().or_else(|| distrust(inner))
}

/// Returns the words of the last cause of an error.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
