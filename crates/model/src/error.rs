//! The one error of all crates: a kind for tables (errno, exit code), what is wrong, and where.
//!
//! Rules: a message says what was expected and what was found, lower case, no full stop; the
//! place is added by whoever knows it; nothing is logged and swallowed.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::setting::Setting;

/// The result of every fallible call in SinterFS.
pub type Result<T> = std::result::Result<T, Error>;

/// The meaning of an error to the caller; the mount and the command line each map it in one table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The image contradicts its format or its checksums.
    Corrupt,
    /// The image or the request needs something that is not implemented or was not built in.
    Unsupported,
    /// A path, an inode or an attribute does not exist.
    NotFound,
    /// A path leads through something that is not a directory.
    NotDirectory,
    /// A bound of `Limits` or of the format would be exceeded.
    Limit,
    /// An option or an argument is invalid.
    Invalid,
    /// A path leads through more symlinks than are followed.
    Loop,
    /// A call of the operating system failed.
    Io,
    /// A remote object was replaced while it was read.
    Stale,
    /// The user or another thread requested a stop.
    Cancelled,
}

/// A place in an image: a structure and its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The structure in the format's own words, for example `section header`.
    pub structure: Cow<'static, str>,
    /// The offset in bytes from the start of the image file, if it is known.
    pub offset: Option<u64>,
}

/// A failure: its kind, message, place in the image, path and cause.
pub struct Error(Box<Inner>);

struct Inner {
    kind: Kind,
    what: Cow<'static, str>,
    place: Option<Place>,
    path: Option<PathBuf>,
    settings: Vec<Setting>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Makes an error of a kind with a message.
    #[cold]
    pub fn new(kind: Kind, what: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            what: what.into(),
            place: None,
            path: None,
            settings: Vec::new(),
            source: None,
        }))
    }

    /// Makes a `Corrupt` error.
    #[cold]
    pub fn corrupt(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Corrupt, what)
    }

    /// Makes an `Unsupported` error.
    #[cold]
    pub fn unsupported(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Unsupported, what)
    }

    /// Makes a `NotFound` error.
    #[cold]
    pub fn not_found(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::NotFound, what)
    }

    /// Makes a `NotFound` error for the number of an inode that the image does not have.
    #[cold]
    pub fn no_inode(number: u64) -> Self {
        Self::not_found(format!("no inode {number:#x}"))
    }

    /// Makes a `Limit` error.
    #[cold]
    pub fn limit(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Limit, what)
    }

    /// Makes an `Invalid` error.
    #[cold]
    pub fn invalid(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Kind::Invalid, what)
    }

    /// Makes an `Io` error from an error of the operating system; `what` names the operation that
    /// failed.
    #[cold]
    pub fn io(what: impl Into<Cow<'static, str>>, source: impl Into<std::io::Error>) -> Self {
        Self::new(Kind::Io, what).because(source.into())
    }

    /// Adds the place in the image, unless a more exact one is already known.
    #[must_use]
    pub fn at(mut self, structure: impl Into<Cow<'static, str>>, offset: u64) -> Self {
        self.0.place.get_or_insert(Place {
            structure: structure.into(),
            offset: Some(offset),
        });
        self
    }

    /// Adds the structure in the image, without an offset (for example in compressed metadata).
    #[must_use]
    pub fn within(mut self, structure: impl Into<Cow<'static, str>>) -> Self {
        self.0.place.get_or_insert(Place {
            structure: structure.into(),
            offset: None,
        });
        self
    }

    /// Adds the path that the error concerns, unless one is already known.
    #[must_use]
    pub fn path(mut self, path: impl AsRef<Path>) -> Self {
        self.0.path.get_or_insert_with(|| path.as_ref().to_owned());
        self
    }

    /// Adds the options that the message names.
    #[must_use]
    pub fn about(mut self, settings: impl IntoIterator<Item = Setting>) -> Self {
        self.0.settings.extend(settings);
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Changes `Invalid` and `NotFound` to `Corrupt`, for an error about an inode number that came
    /// from a directory of the image and not from the caller.
    #[must_use]
    pub fn into_corrupt_entry(mut self) -> Self {
        if matches!(self.0.kind, Kind::Invalid | Kind::NotFound) {
            self.0.kind = Kind::Corrupt;
        }
        self
    }

    /// Returns whether the error is about what an image has in one place, so that the rest of the
    /// image may still be read: not one of the system, of an argument, or a request to stop.
    pub fn is_about_image(&self) -> bool {
        use Kind::{Corrupt, Limit, Loop, NotDirectory, NotFound, Unsupported};
        matches!(
            self.0.kind,
            Corrupt | Unsupported | Limit | NotFound | NotDirectory | Loop
        )
    }

    /// Returns the kind.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Returns the message without place, path and cause.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// Returns the place in the image.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Returns the path that the error concerns.
    pub fn concerned_path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the options that the message names.
    pub fn settings(&self) -> &[Setting] {
        &self.0.settings
    }

    /// Returns the error of the operating system that caused this one, if any.
    pub fn io_source(&self) -> Option<&std::io::Error> {
        self.0.source.as_ref()?.downcast_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", path.display())?;
        }
        if self.0.kind == Kind::Corrupt {
            f.write_str("corrupt image: ")?;
        }
        self.write_details(f)
    }
}

impl Error {
    /// Writes the place, what is wrong, and the cause. A corrupt image is called so once, by the
    /// outermost error.
    fn write_details(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.0.place {
            f.write_str(&place.structure)?;
            if let Some(offset) = place.offset {
                write!(f, " at {offset:#x}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.0.what)?;
        let Some(source) = &self.0.source else {
            return Ok(());
        };
        f.write_str(": ")?;
        match source.downcast_ref::<Self>() {
            Some(inner) if self.0.kind == Kind::Corrupt && inner.0.path.is_none() => {
                inner.write_details(f)
            }
            _ => write!(f, "{source}"),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| &**s as _)
    }
}

impl sinterfs_workers::FromPanic for Error {
    fn from_panic(what: String) -> Self {
        Self::invalid(what)
    }
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        use std::io::ErrorKind;
        let system = error.io_source().map(Self::kind);
        let kind = match error.kind() {
            Kind::Corrupt => ErrorKind::InvalidData,
            Kind::Unsupported => ErrorKind::Unsupported,
            Kind::NotFound => ErrorKind::NotFound,
            Kind::NotDirectory => ErrorKind::NotADirectory,
            Kind::Invalid => ErrorKind::InvalidInput,
            Kind::Stale => ErrorKind::StaleNetworkFileHandle,
            Kind::Limit | Kind::Loop | Kind::Cancelled => ErrorKind::Other,
            Kind::Io => system.unwrap_or(ErrorKind::Other),
        };
        Self::new(kind, error)
    }
}
