"""Read-only file system images: DwarFS, SquashFS, EROFS, composefs, ISO 9660 and others.

``sinterfs.open`` opens an image of any format; ``build``, ``check`` and ``diff`` make, verify and
compare images. ``sinterfs.filesystem`` has the implementations for fsspec.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib.metadata import version as _version
from typing import BinaryIO, Literal

from . import _sinterfs
from ._errors import (
    CorruptImageError,
    InvalidRequestError,
    LimitExceededError,
    PathNotFoundError,
    SinterError,
    UnsupportedImageError,
)
from ._file import ImageFile, ImageRawIO
from ._image import Entry, Image, Progress
from ._mount import Mount
from ._options import StrPath, opening_options, strings
from ._reports import BuildReport, Change, CheckReport, ExtractReport, FieldChange

__all__ = [
    "BuildReport",
    "Change",
    "CheckReport",
    "CorruptImageError",
    "Entry",
    "ExtractReport",
    "FieldChange",
    "Image",
    "ImageFile",
    "ImageRawIO",
    "InvalidRequestError",
    "LimitExceededError",
    "Mount",
    "PathNotFoundError",
    "SinterError",
    "UnsupportedImageError",
    "build",
    "check",
    "diff",
    "formats",
    "open",
]

__version__ = _version("sinterfs")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def open(
    source: StrPath | bytes | BinaryIO,
    *,
    offset: int | None = None,
    cache_bytes: int | None = None,
    devices: Iterable[StrPath] = (),
    objects: StrPath | None = None,
    image: str | int | None = None,
    partition: int | None = None,
) -> Image:
    """Open an image by its path or URL, or from bytes or a binary file: ``Image.open``."""
    return Image.open(
        source,
        offset=offset,
        cache_bytes=cache_bytes,
        devices=devices,
        objects=objects,
        image=image,
        partition=partition,
    )


def _texts(value: object) -> list[str]:
    """Return the values of an option as text: none for ``None``."""
    if value is None:
        return []
    if isinstance(value, bool):
        return [str(value).lower()]
    if isinstance(value, (str, int)):
        return [str(value)]
    if isinstance(value, os.PathLike):
        return [os.fspath(value)]
    if isinstance(value, Iterable):
        return strings(value)
    raise TypeError(f"not a value of an option: {value!r}")


def build(
    source: StrPath | Iterable[StrPath],
    image: StrPath,
    *,
    format: str | None = None,
    level: int | None = None,
    purpose: Literal["mount", "archive", "remote"] | None = None,
    compression: str | None = None,
    block_size: int | None = None,
    threads: int | None = None,
    memory: int | None = None,
    max_zeros: int | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    time_resolution: str | None = None,
    create_timestamp: int | None = None,
    with_digest: bool = False,
    options: Mapping[str, str | int | bool | StrPath | Iterable[str]] | None = None,
    strict: bool = False,
    replace: bool = False,
    progress: Progress | None = None,
) -> BuildReport:
    """Pack a directory, an archive, a list of files or an image into an image.

    Several sources are layers; later ones hide earlier ones. The format is that of the extension,
    else DwarFS. Options mean what ``sinter build --help`` says of them; patterns of ``include``
    come before those of ``exclude``, and the first that matches applies. ``options`` has options of
    one format by their names, as ``{"metadata_copy": True}`` or ``{"uuid": "..."}``; a list sets
    one more than once. The error about a name that the format does not have lists them. On an
    error, or if ``progress`` raises one before the image is complete, nothing is left of it.
    """
    named = {"purpose": purpose, "time_resolution": time_resolution, **(options or {})}
    if with_digest:
        named["with_digest"] = True
    given = [(name, text) for name, value in named.items() for text in _texts(value)]
    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    made = _sinterfs.build(
        strings(paths),
        os.fspath(image),
        format=format,
        level=level,
        compression=compression,
        block_size=block_size,
        threads=threads,
        memory=memory,
        max_zeros=max_zeros,
        include=strings(include),
        exclude=strings(exclude),
        create_timestamp=create_timestamp,
        options=given,
        strict=strict,
        replace=replace,
        progress=progress,
    )
    return BuildReport(*made)


def check(
    path: StrPath,
    /,
    *,
    deep: bool = False,
    threads: int = 0,
    offset: int | None = None,
    devices: Iterable[StrPath] = (),
    objects: StrPath | None = None,
    image: str | int | None = None,
    partition: int | None = None,
    progress: Progress | None = None,
) -> CheckReport:
    """Verify checksums and structure of an image file; with ``deep`` every block and file, too.

    Damage is in the report; an error means that nothing could be checked. The options of opening
    are those of ``Image.open``.
    """
    options = opening_options(
        offset=offset,
        cache_bytes=None,
        devices=devices,
        objects=objects,
        image=image,
        partition=partition,
    )
    found = _sinterfs.check(
        os.fspath(path), deep=deep, threads=threads, options=options, progress=progress
    )
    return CheckReport(*found)


def diff(
    old: StrPath,
    new: StrPath,
    *,
    ignore: Iterable[str] = (),
    renames: bool = True,
    threads: int = 0,
) -> list[Change]:
    """Compare two trees, each a directory, an archive or an image.

    ``ignore`` names fields that are not compared: type, mode, uid, gid, size, mtime, target,
    device, links, xattrs, content. What cannot be read is an error.
    """
    changes, warnings = _sinterfs.diff(
        os.fspath(old), os.fspath(new), ignore=strings(ignore), renames=renames, threads=threads
    )
    if warnings:
        raise SinterError(5, warnings[0])
    return [
        Change(path, kind, what, to, [FieldChange(*row) for row in fields])
        for path, kind, what, to, fields in changes
    ]


def formats() -> dict[str, list[str]]:
    """Return the names of the formats with the extensions of their files."""
    return dict(_sinterfs.formats())
