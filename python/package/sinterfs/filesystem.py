"""Images as file systems of fsspec: ``sinter://``, ``dwarfs://``, ``squashfs://``, ``erofs://``.

``fsspec.open("sinter://a/b.txt::file:///data/x.dwarfs")`` opens a file of an image, which may be
anywhere that fsspec reads. An image in a local file is opened by its path, others through their
file object. Instances are kept and shared, as fsspec does: they hold the image open, with a cache
of decoded blocks of up to ``cache_bytes``; an image that gets replaced needs
``skip_instance_cache=True``.
"""

from __future__ import annotations

import datetime
import errno
import os
import stat as modes
from typing import Any, NoReturn

import fsspec
from fsspec.archive import AbstractArchiveFileSystem
from fsspec.implementations.local import LocalFileSystem

from ._file import ImageFile, ImageRawIO
from ._image import Image

_TYPES = {modes.S_IFDIR: "directory", modes.S_IFREG: "file"}


class SinterFileSystem(AbstractArchiveFileSystem):  # type: ignore[misc]
    """An image of any format as a read-only file system."""

    protocol: str | tuple[str, ...] = "sinter"
    root_marker = ""
    cachable = True
    #: The format that an image must have.
    _format: str | None = None

    def __init__(
        self,
        fo: Any = "",  # noqa: ANN401
        target_protocol: str | None = None,
        target_options: dict[str, Any] | None = None,
        offset: int | None = None,
        cache_bytes: int | None = None,
        devices: tuple[str, ...] = (),
        objects: str | None = None,
        image: str | int | None = None,
        partition: int | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Open an image: ``fo`` is a path, a URL or a binary file object.

        The other options are those of ``Image.open``.
        """
        if kwargs.get("asynchronous"):
            raise ValueError("images are read synchronously: asynchronous=True is not supported")
        super().__init__(**kwargs)
        self.of: Any = None
        self.fo = fo
        if isinstance(fo, (str, os.PathLike)):
            options = target_options or {}
            target = fsspec.open(fo, "rb", protocol=target_protocol, **options)
            if isinstance(target.fs, LocalFileSystem) and target.compression is None:
                fo = target.path
            else:
                self.of = target
                fo = target.__enter__()
        self.image = Image.open(
            fo,
            offset=offset,
            cache_bytes=cache_bytes,
            devices=devices,
            objects=objects,
            image=image,
            partition=partition,
        )
        if self._format not in (None, self.image.format):
            found = self.image.format
            self.close()
            raise OSError(errno.EINVAL, f"the image is {found}, not {self._format}", str(self.fo))

    def __repr__(self) -> str:
        return f"<sinterfs.{type(self).__name__} {self.fo!r}>"

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:  # noqa: ANN401
        """Return a path, or paths, without the protocol and slashes around them."""
        stripped = super()._strip_protocol(path)
        if isinstance(stripped, list):
            return [part.strip("/") for part in stripped]
        return stripped.strip("/")

    def close(self) -> None:
        """Close the image."""
        if hasattr(self, "image"):
            self.image.close()
        if self.of is not None:
            self.of.__exit__(None, None, None)
            self.of = None

    def _described(self, path: str, found: os.stat_result) -> dict[str, Any]:
        """Return what fsspec's file system of local files tells of one."""
        described: dict[str, Any] = {"name": path, "islink": modes.S_ISLNK(found.st_mode)}
        if described["islink"]:
            described["destination"] = self.image.readlink(path)
            # what leads nowhere, or in a circle, is described itself
            if self.image.exists(path):
                found = self.image.stat(path)
        kind = modes.S_IFMT(found.st_mode)
        described.update(
            size=found.st_size if kind == modes.S_IFREG else 0,
            type=_TYPES.get(kind, "other"),
            mode=found.st_mode,
            uid=found.st_uid,
            gid=found.st_gid,
            mtime=found.st_mtime,
            ino=found.st_ino,
            nlink=found.st_nlink,
        )
        return described

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the details of a path."""
        path = self._strip_protocol(path)
        return self._described(path, self.image.lstat(path))

    def exists(self, path: str, **kwargs: Any) -> bool:  # noqa: ANN401
        """Return whether a path exists."""
        return self.image.lexists(self._strip_protocol(path))

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:  # noqa: ANN401
        """List a directory, or a file alone."""
        path = self._strip_protocol(path)
        try:
            names = self.image.listdir(path)
        except NotADirectoryError:
            return [self.info(path)] if detail else [path]
        prefix = f"{path}/" if path else ""
        paths = sorted(prefix + name for name in names)
        if not detail:
            return paths
        return [self._described(path, self.image.lstat(path)) for path in paths]

    def find(
        self,
        path: str,
        maxdepth: int | None = None,
        withdirs: bool = False,
        detail: bool = False,
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """List everything below a path, in one pass over the image."""
        path = self._strip_protocol(path)
        if maxdepth is not None or not self.exists(path) or not self.isdir(path):
            return super().find(path, maxdepth, withdirs, detail, **kwargs)
        found = {}
        if withdirs and path:
            found[path] = self.info(path)
        for name, stat in self.image.stats(path):
            described = self._described(name, stat) if detail or modes.S_ISLNK(stat.st_mode) else {}
            is_dir = modes.S_ISDIR(stat.st_mode) or described.get("type") == "directory"
            if withdirs or not is_dir:
                found[name] = described
        ordered = sorted(found)
        return {name: found[name] for name in ordered} if detail else ordered

    def isdir(self, path: str) -> bool:
        """Return whether a path is a directory, after symlinks."""
        return self._is(path, modes.S_IFDIR)

    def isfile(self, path: str) -> bool:
        """Return whether a path is a regular file, after symlinks."""
        return self._is(path, modes.S_IFREG)

    def _is(self, path: str, kind: int) -> bool:
        path = self._strip_protocol(path)
        return self.image.exists(path) and modes.S_IFMT(self.image.stat(path).st_mode) == kind

    def modified(self, path: str) -> datetime.datetime:
        """Return the time of the last change of a file's content."""
        seconds = self.image.stat(self._strip_protocol(path)).st_mtime
        return datetime.datetime.fromtimestamp(seconds, tz=datetime.timezone.utc)

    def created(self, path: str) -> datetime.datetime:
        """Return the time of the last change of a file: images have no other."""
        return self.modified(path)

    def cat_file(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> bytes:
        """Return the content of a file, or a range of it; negative numbers count from its end."""
        if start is None and end is None:
            return self.image.read_bytes(self._strip_protocol(path))
        file = ImageRawIO(self.image._raw.file(self._strip_protocol(path)), path)
        first, last, _ = slice(start, end).indices(file.size)
        return file.read_at(first, max(0, last - first))

    def cat(
        self,
        path: str | list[str],
        recursive: bool = False,
        on_error: str = "raise",
        **kwargs: Any,  # noqa: ANN401
    ) -> bytes | dict[str, bytes]:
        """Return the contents of files; many are read together (see ``Image.read_many``)."""
        paths = self.expand_path(path, recursive=recursive)
        if len(paths) < 2 or on_error != "raise" or kwargs:
            one: bytes | dict[str, bytes]
            one = super().cat(path, recursive=recursive, on_error=on_error, **kwargs)
            return one
        return dict(zip(paths, self.image.read_many(paths)))

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> ImageFile:
        path = self._strip_protocol(path)
        if mode != "rb":
            self._refuse(path)
        return self.image.open_file(path)

    def _refuse(self, path: str, *args: Any, **kwargs: Any) -> NoReturn:  # noqa: ANN401
        """Refuse to write; fsspec's own ``mkdir`` would do nothing and say nothing."""
        raise OSError(errno.EROFS, "images are read-only", self._strip_protocol(path))

    mkdir = makedirs = rmdir = rm_file = cp_file = _refuse


class DwarfsFileSystem(SinterFileSystem):
    """A DwarFS image as a read-only file system."""

    protocol = "dwarfs"
    _format = "dwarfs"


class SquashfsFileSystem(SinterFileSystem):
    """A SquashFS image as a read-only file system."""

    protocol = "squashfs"
    _format = "squashfs"


class ErofsFileSystem(SinterFileSystem):
    """An EROFS image as a read-only file system."""

    protocol = "erofs"
    _format = "erofs"
