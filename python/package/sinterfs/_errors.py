"""Errors: subclasses of OSError with an errno, a message and the path."""

from __future__ import annotations


class SinterError(OSError):
    """An error of an image or of a request; ``errno``, ``strerror`` and ``filename`` are set."""


class CorruptImageError(SinterError):
    """The image contradicts its format or its checksums; the message has the place."""


class UnsupportedImageError(SinterError):
    """The file is no image of a known format, or has or needs something that is not supported."""


class LimitExceededError(SinterError):
    """A limit of the library or of the format would be exceeded."""


class InvalidRequestError(SinterError, ValueError):
    """An option or an argument is invalid."""


class PathNotFoundError(SinterError, FileNotFoundError):
    """A path does not exist in the image."""


_KINDS: dict[str, type[SinterError]] = {
    "corrupt": CorruptImageError,
    "unsupported": UnsupportedImageError,
    "limit": LimitExceededError,
    "invalid": InvalidRequestError,
    "not found": PathNotFoundError,
}


def make(kind: str, number: int, message: str, path: str | None) -> OSError:
    """Return the exception for an error of the extension module."""
    made = _KINDS.get(kind, OSError)
    return made(number, message) if path is None else made(number, message, path)
