//! Why a request failed, and whether another one may succeed.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::DateTime;
use http::{HeaderMap, StatusCode, header};
use sinterfs_model::{Error, Kind};

use crate::address::without_queries;
use crate::redirects::BadRedirect;
use crate::runtime;

/// The consequence of a failed request for the threads that wait for its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// Another try may succeed, after this time if the server named one.
    Temporary(Option<Duration>),
    /// The object is another one than at first.
    Changed,
    /// The object has the given entity tag.
    Unchanged,
    /// There is no such object.
    Missing,
    /// The server wants other credentials.
    Denied,
    /// The server does not serve ranges.
    NoRanges,
    /// The bytes have another digest than their name.
    Damaged,
    /// A stop was requested.
    Stopped,
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
            if error.is::<UnsoundRange>() || error.is::<BadRedirect>() || error.is::<Unreachable>()
            {
                return Self::new(Cause::Final, error.to_string());
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
        if error.is_builder() {
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
            Cause::Stopped => runtime::stopped(),
            Cause::Denied | Cause::Unchanged | Cause::Temporary(_) | Cause::Final => {
                Error::new(Kind::Io, what)
            }
        }
    }
}

/// The longest wait that a server may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(120);

/// An answer with another range than requested.
#[derive(Debug)]
pub(crate) struct Refused {
    status: StatusCode,
    after: Option<Duration>,
}

impl Refused {
    pub(crate) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        let after = headers.get(header::RETRY_AFTER);
        let after = after.and_then(|value| wait_of(value.to_str().ok()?.trim()));
        Self {
            status,
            after: after.map(|after| after.min(LONGEST_WAIT)),
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

/// Returns the time of a `Retry-After`, which is a number of seconds or a date (RFC 9110, section
/// 10.2.3); `None` if it is neither.
fn wait_of(value: &str) -> Option<Duration> {
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(value.parse().map_or(LONGEST_WAIT, Duration::from_secs));
    }
    let until = DateTime::parse_from_rfc2822(value).ok()?.timestamp();
    let until = UNIX_EPOCH.checked_add(Duration::from_secs(u64::try_from(until).ok()?))?;
    // a date that is over means at once
    Some(until.duration_since(SystemTime::now()).unwrap_or_default())
}

/// An answer with a part, which does not say soundly which one.
#[derive(Debug)]
pub(crate) struct UnsoundRange;

impl fmt::Display for UnsoundRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the server does not say which bytes it sent")
    }
}

impl std::error::Error for UnsoundRange {}

/// A host that is not there: nobody knows its name, or nothing listens at its port.
#[derive(Debug)]
pub(crate) struct Unreachable(String);

impl Unreachable {
    /// Returns what an error says about that; `None` for any other error.
    pub(crate) fn of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        use std::io::ErrorKind::{ConnectionRefused, HostUnreachable, NetworkUnreachable};
        let mut cause = Some(error);
        while let Some(error) = cause {
            let kind = error.downcast_ref().map(std::io::Error::kind);
            let is_io = kind.is_some_and(|kind| {
                [ConnectionRefused, HostUnreachable, NetworkUnreachable].contains(&kind)
            });
            // the client has no other sign of it
            if is_io || error.to_string().starts_with("dns error") {
                return Some(Self(innermost(error)));
            }
            cause = error.source();
        }
        None
    }

    /// Converts to a failure that is final.
    pub(crate) fn failure(&self) -> Failure {
        Failure::new(Cause::Final, self.to_string())
    }
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// The client's message for a redirect from `https` to `http`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_seconds_or_dates() {
        let past = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (value, expected) in [
            ("0", Some(0)),
            ("17", Some(17)),
            ("99999999999999999999999", Some(LONGEST_WAIT.as_secs())),
            (past, Some(0)),
            ("", None),
            ("-1", None),
            ("soon", None),
            ("Sun, 06 Nov 1794 08:49:37 GMT", None),
        ] {
            assert_eq!(wait_of(value), expected.map(Duration::from_secs), "{value}");
        }
        let far = wait_of("Wed, 06 Nov 2109 08:49:37 GMT").unwrap();
        assert!(far > Duration::from_secs(1_000_000), "{far:?}");
    }
}
