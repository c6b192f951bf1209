"""What long work returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ExtractReport:
    """Counts of an extraction."""

    directories: int
    files: int
    #: Further names of files.
    links: int
    symlinks: int
    #: Devices, fifos and sockets.
    specials: int
    #: Bytes of content that were written.
    bytes: int
    #: Entries that were there and stayed as they were.
    kept: int
    #: Entries that could not be restored.
    failed: int
    #: Files of which parts could not be read.
    damaged: int
    #: Entries that were restored without some of their metadata.
    imperfect: int
    warnings: list[str]


@dataclass(frozen=True)
class CheckReport:
    """What a check found."""

    #: Everything that is wrong, each with its place.
    problems: list[str]
    #: What is unusual but harmless.
    notes: list[str]
    #: Blocks that were decoded.
    blocks: int
    #: Files that were read.
    files: int
    #: The root digest with which the bytes were compared, if the image has one.
    root_digest: str | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True)
class FieldChange:
    """A field that differs, with both values as text (none for content)."""

    field: str
    old: str
    new: str


@dataclass(frozen=True)
class Change:
    """A path and what happened to it."""

    path: str
    #: The bits of the type in ``st_mode``.
    file_type: int
    #: ``added``, ``removed``, ``changed`` or ``renamed``.
    what: str
    #: The new path of what was renamed.
    new_path: str | None
    fields: list[FieldChange]


@dataclass(frozen=True)
class BuildReport:
    """What was built."""

    format: str
    files: int
    #: Bytes of their content.
    bytes: int
    image_bytes: int
    #: Files that could not be read as they were, or that the image does not keep.
    incomplete: int
    #: The root digest, if the image has one.
    root_digest: str | None
    #: The name, with the digest of its manifest, of an image that was made to be in a registry.
    pushed: str | None
    #: What the format could not keep, with counts.
    losses: list[tuple[str, int]]
    warnings: list[str]
