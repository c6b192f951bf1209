"""Images: opened, listed, read, extracted."""

from __future__ import annotations

import errno
import fnmatch
import html
import io
import os
import stat as modes
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Callable, Literal, overload

from . import _sinterfs
from ._file import BUFFER_SIZE, ImageFile, ImageRawIO
from ._mount import Mount, absolute
from ._options import Options, StrPath, opening_options, strings
from ._reports import ExtractReport
from ._stat import stat_result

if TYPE_CHECKING:
    from types import TracebackType

#: Names that a notebook shows of an image.
SHOWN = 20

#: Called with a stage, items and bytes done, items and bytes expected (0: not known).
Progress = Callable[[str, int, int, int, int], object]


class Entry:
    """A name in an image, like ``os.DirEntry``, and what can be done with it."""

    __slots__ = ("__weakref__", "_image", "_type", "name", "path")

    def __init__(self, image: Image, path: str, file_type: int) -> None:
        self._image = image
        self._type = file_type
        #: The path from the root of the image, without a leading slash.
        self.path = path
        #: The last part of the path.
        self.name = path.rpartition("/")[2]

    def __repr__(self) -> str:
        return f"<sinterfs.Entry {self.path!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return self._image is other._image and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __truediv__(self, name: StrPath) -> Entry:
        """Return the entry of a path below this directory; a KeyError tells that there is none."""
        return self._image[f"{self.path}/{os.fspath(name)}"]

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over the entries of the directory."""
        return iter(self.scandir())

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether this is a directory, or a symlink to one."""
        return self._is(modes.S_IFDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether this is a regular file, or a symlink to one."""
        return self._is(modes.S_IFREG, follow_symlinks)

    def is_symlink(self) -> bool:
        """Return whether this is a symlink."""
        return self._type == modes.S_IFLNK

    def _is(self, file_type: int, follow_symlinks: bool) -> bool:
        if not follow_symlinks or not self.is_symlink():
            return self._type == file_type
        try:
            return modes.S_IFMT(self.stat().st_mode) == file_type
        except (FileNotFoundError, NotADirectoryError):
            return False

    def inode(self) -> int:
        """Return the inode number, which stays the same for an image."""
        return self.stat(follow_symlinks=False).st_ino

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the metadata."""
        return self._image.stat(self.path, follow_symlinks=follow_symlinks)

    @overload
    def open(self, mode: Literal["rb"] = "rb", buffering: Literal[-1] = -1) -> ImageFile: ...
    @overload
    def open(self, mode: Literal["rb"], buffering: Literal[0]) -> ImageRawIO: ...
    @overload
    def open(
        self,
        mode: Literal["r", "rt"],
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...
    def open(
        self,
        mode: str = "rb",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any] | ImageRawIO:
        """Open the file for reading; see ``Image.open_file``."""
        return self._image._open(self.path, mode, buffering, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        """Return the content."""
        return self._image.read_bytes(self.path)

    def read_text(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the content as text."""
        return self.read_bytes().decode(encoding, errors)

    def readlink(self) -> str:
        """Return the target of the symlink."""
        return self._image.readlink(self.path)

    def xattrs(self) -> dict[str, bytes]:
        """Return the extended attributes."""
        return self._image.xattrs(self.path)

    def scandir(self) -> Entries:
        """Iterate over the entries of the directory."""
        return self._image.scandir(self.path)


class Entries:
    """The entries of a directory: an iterator and a context manager, as of ``os.scandir``."""

    def __init__(self, image: Image, prefix: str, rows: list[tuple[str, int]]) -> None:
        self._image = image
        self._prefix = prefix
        self._rows = iter(rows)

    def __iter__(self) -> Entries:
        return self

    def __next__(self) -> Entry:
        name, file_type = next(self._rows)
        return Entry(self._image, self._prefix + name, file_type)

    def __enter__(self) -> Entries:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the iteration."""
        self._rows = iter(())


class Image:
    """An opened image of any format; the content decides which one.

    Paths count from the root of the image, with or without a leading slash; symlinks are followed
    inside the image. An image may be used by many threads, and by children of a fork, which open
    their own handle; it is pickled by its path and options. Decoded blocks are kept in memory, up
    to ``cache_bytes`` (512 MiB) a process.

    >>> import sinterfs, tempfile, pathlib
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> (directory / "tree").mkdir()
    >>> _ = (directory / "tree" / "hello.txt").write_text("hello")
    >>> report = sinterfs.build(directory / "tree", directory / "tree.dwarfs")
    >>> image = sinterfs.Image.open(directory / "tree.dwarfs")
    >>> image.format, list(image)
    ('dwarfs', ['hello.txt'])
    >>> image["hello.txt"].read_text()
    'hello'
    >>> with image.open_file("hello.txt") as file:
    ...     file.seek(1), file.read(3)
    (1, b'ell')
    """

    def __init__(self, raw: _sinterfs.RawImage, source: object, options: Options) -> None:
        """Wrap a handle; ``Image.open`` makes one."""
        self._raw = raw
        self._source = source
        self._options = options

    @classmethod
    def open(
        cls,
        source: StrPath | bytes | BinaryIO,
        *,
        offset: int | None = None,
        cache_bytes: int | None = None,
        devices: Iterable[StrPath] = (),
        objects: StrPath | None = None,
        image: str | int | None = None,
        partition: int | None = None,
    ) -> Image:
        """Open an image by its path or URL, or from bytes or a binary file object that can seek.

        A URL (``https://``, ``s3://``, ``gs://``, ``az://``, ``oci://``) is read where it lies.
        ``offset`` is where the image starts in the file, or in the partition, if that shall not be
        searched; ``devices`` are further files of an EROFS or WIM image; ``objects`` is the
        directory of the objects of a composefs image; ``image`` is the number or the name of one
        image of a WIM file, which has all of them as directories without it; ``partition`` is the
        number of a partition of a disk image, by default the only one with a known format. Of a
        file object, the position is not kept.
        """
        options = opening_options(
            offset=offset,
            cache_bytes=cache_bytes,
            devices=devices,
            objects=objects,
            image=image,
            partition=partition,
        )
        raw = _sinterfs.RawImage
        if isinstance(source, str) and _sinterfs.is_url(source):
            return cls(raw.open_url(source, options), source, options)
        if isinstance(source, (str, os.PathLike)):
            path = os.path.abspath(source)  # noqa: PTH100 (names that are not UTF-8)
            return cls(raw.open_path(path, options), path, options)
        if isinstance(source, (bytes, bytearray, memoryview)):
            content = bytes(source)
            return cls(raw.open_bytes(content, options), content, options)
        if isinstance(source, io.BytesIO):
            content = source.getvalue()
            return cls(raw.open_bytes(content, options), content, options)
        if isinstance(getattr(source, "raw", source), io.FileIO):
            if source.writable():
                source.flush()
            name = getattr(source, "name", "")
            known = isinstance(name, str) and _is_open_as(source.fileno(), name)
            where = f"descriptor {source.fileno()}"
            if known:
                where = os.path.abspath(name)  # noqa: PTH100
            made = raw.open_descriptor(source.fileno(), where, options)
            return cls(made, where if known else source, options)
        is_binary = hasattr(source, "seek") and hasattr(source, "read")
        if not is_binary or isinstance(source, io.TextIOBase):
            raise TypeError(f"a path, bytes or a binary file is wanted, not {type(source)!r}")
        return cls(raw.open_object(source, options), source, options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (type(self), self._source, self._options)

    def __repr__(self) -> str:
        source = self._source if isinstance(self._source, str) else type(self._source).__name__
        return f"<sinterfs.Image {source!r}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the format, and the names in the root with their sizes."""
        rows = []
        entries = sorted(self.scandir(), key=lambda entry: entry.name)
        for entry in entries[:SHOWN]:
            is_file = entry.is_file(follow_symlinks=False)
            size = entry.stat(follow_symlinks=False).st_size if is_file else ""
            slash = "/" if entry.is_dir(follow_symlinks=False) else ""
            # a name that is not UTF-8 has surrogates, which no notebook can store
            name = (entry.name + slash).encode(errors="replace").decode()
            rows.append(f"<tr><td>{html.escape(name)}</td><td>{size}</td></tr>")
        if len(entries) > SHOWN:
            rows.append(f"<tr><td>and {len(entries) - SHOWN} more</td><td></td></tr>")
        title = html.escape(repr(self).encode(errors="replace").decode())
        head = f"<tr><th>{title}: {html.escape(self.format)}</th><th>bytes</th></tr>"
        return f"<table>{head}{''.join(rows)}</table>"

    def __enter__(self) -> Image:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the image in this process. Files of it that are open cannot be read any more."""
        self._raw.close()

    @property
    def format(self) -> str:
        """The name of the format, as in ``dwarfs``."""
        return self._raw.format()

    def info(self) -> dict[str, object]:
        """Return facts about the image, as ``sinter info --json`` prints them."""
        return self._raw.info()

    def warnings(self) -> list[str]:
        """Return damage to parts that are not needed to read the image."""
        return self._raw.warnings()

    def __getitem__(self, path: StrPath) -> Entry:
        """Return the entry of a path; a KeyError tells that there is none."""
        name = os.fspath(path)
        try:
            found = self._raw.stat(name, False)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            raise KeyError(name) from None
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise KeyError(name) from None
        return Entry(self, name.strip("/"), modes.S_IFMT(found[0]))

    def __contains__(self, path: object) -> bool:
        return isinstance(path, (str, os.PathLike)) and self.lexists(path)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the paths of everything in the image, directories before their entries."""
        return (entry.path for entry in self.entries())

    def entries(self, top: StrPath = "") -> Iterator[Entry]:
        """Iterate over everything below a directory, a directory before its entries."""
        for batch in self._raw.walk(os.fspath(top)):
            for path, stat in batch:
                yield Entry(self, path, modes.S_IFMT(stat[0]))

    def stats(self, top: StrPath = "") -> Iterator[tuple[str, os.stat_result]]:
        """Iterate over the paths below a directory with their metadata, symlinks not followed."""
        for batch in self._raw.walk(os.fspath(top)):
            for path, stat in batch:
                yield path, stat_result(stat)

    def glob(self, pattern: StrPath) -> Iterator[str]:
        """Iterate over the paths that match a pattern, as ``pathlib.Path.glob`` has them.

        ``*``, ``?`` and ``[...]`` match within a name, ``**`` directories of any depth. Symlinks
        are not followed. Paths of a directory are in the order of the image.
        """
        parts = [part for part in os.fspath(pattern).split("/") if part not in ("", ".")]
        if ".." in parts:
            raise ValueError(f"a pattern leads out of its directory: {os.fspath(pattern)!r}")
        return self._glob("", parts)

    def _glob(self, top: str, parts: list[str]) -> Iterator[str]:
        if not parts:
            return
        first, rest = parts[0], parts[1:]
        if first == "**":
            while rest and rest[0] == "**":
                rest = rest[1:]
            if not rest:
                yield from (entry.path for entry in self.entries(top))
                return
            for path, _, _ in self.walk(top):
                yield from self._glob(path, rest)
            return
        for entry in self.scandir(top):
            if fnmatch.fnmatchcase(entry.name, first):
                if not rest:
                    yield entry.path
                elif entry.is_dir(follow_symlinks=False):
                    yield from self._glob(entry.path, rest)

    def exists(self, path: StrPath) -> bool:
        """Return whether a path exists, after symlinks; one in a circle leads nowhere."""
        return self._has(path, follow=True)

    def lexists(self, path: StrPath) -> bool:
        """Return whether a path exists, if only as a symlink that leads nowhere."""
        return self._has(path, follow=False)

    def _has(self, path: StrPath, *, follow: bool) -> bool:
        try:
            self._raw.stat(os.fspath(path), follow)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return False
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            return False
        return True

    def stat(self, path: StrPath, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return the metadata of a path."""
        return stat_result(self._raw.stat(os.fspath(path), follow_symlinks))

    def lstat(self, path: StrPath) -> os.stat_result:
        """Return the metadata of a path without following a final symlink."""
        return self.stat(path, follow_symlinks=False)

    def listdir(self, path: StrPath = "") -> list[str]:
        """Return the names in a directory, sorted by their bytes."""
        return [name for name, _ in self._raw.list(os.fspath(path))]

    def scandir(self, path: StrPath = "") -> Entries:
        """Iterate over the entries of a directory, sorted by the bytes of their names."""
        top = os.fspath(path).strip("/")
        return Entries(self, f"{top}/" if top else "", self._raw.list(top))

    def walk(self, top: StrPath = "") -> Iterator[tuple[str, list[str], list[str]]]:
        """Iterate over directories as ``os.walk`` does: path, names of directories, other names.

        Names that the caller removes from the first list are not entered.
        """
        todo = [os.fspath(top).strip("/")]
        while todo:
            path = todo.pop()
            rows = self._raw.list(path)
            directories = [name for name, kind in rows if kind == modes.S_IFDIR]
            others = [name for name, kind in rows if kind != modes.S_IFDIR]
            yield path, directories, others
            prefix = f"{path}/" if path else ""
            todo.extend(prefix + name for name in reversed(directories))

    def readlink(self, path: StrPath) -> str:
        """Return the target of a symlink."""
        return self._raw.readlink(os.fspath(path))

    def xattrs(self, path: StrPath) -> dict[str, bytes]:
        """Return the extended attributes of a path; a final symlink is not followed."""
        return self._raw.xattrs(os.fspath(path))

    def read_bytes(self, path: StrPath) -> bytes:
        """Return the content of a file."""
        return self._raw.read(os.fspath(path))

    def read_many(self, paths: Iterable[StrPath], *, threads: int = 0) -> list[bytes]:
        """Return the contents of files, in the order of their paths.

        They are read in the order of the image and by several threads (0: one a processor), which
        is faster than one after the other in any order: each block is decoded once.
        """
        return self._raw.read_many(strings(paths), threads)

    def read_text(self, path: StrPath, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the content of a file as text."""
        return self.read_bytes(path).decode(encoding, errors)

    @overload
    def open_file(
        self, path: StrPath, mode: Literal["rb"] = "rb", buffering: Literal[-1] = -1
    ) -> ImageFile: ...
    @overload
    def open_file(
        self, path: StrPath, mode: Literal["rb"], buffering: Literal[0]
    ) -> ImageRawIO: ...
    @overload
    def open_file(
        self,
        path: StrPath,
        mode: Literal["r", "rt"],
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.TextIOWrapper: ...
    def open_file(
        self,
        path: StrPath,
        mode: str = "rb",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any] | ImageRawIO:
        """Open a file for reading, as the function ``open`` does: buffered, or as text.

        The mode is ``"rb"`` unless it is given; ``encoding``, ``errors`` and ``newline`` are for
        text (``"r"``) only, and an error otherwise. Binary files have ``read_at(offset, size)``
        besides, which many threads may call at once.
        """
        return self._open(path, mode, buffering, encoding, errors, newline)

    def _open(
        self,
        path: StrPath,
        mode: str,
        buffering: int,
        encoding: str | None,
        errors: str | None,
        newline: str | None,
    ) -> IO[Any] | ImageRawIO:
        if mode in ("r", "rt", "tr"):
            if buffering == 0:
                raise ValueError("text is always buffered")
            binary = self._open_binary(path, buffering)
            return io.TextIOWrapper(binary, encoding or "utf-8", errors, newline)
        if mode not in ("rb", "br"):
            raise ValueError(f"images are read-only: the mode is {mode!r}, not 'r', 'rt' or 'rb'")
        for name, value in ("encoding", encoding), ("errors", errors), ("newline", newline):
            if value is not None:
                raise ValueError(f"{name} is for text: the mode is {mode!r}, not 'r'")
        return self._open_binary(path, buffering)

    def _open_binary(self, path: StrPath, buffering: int) -> ImageFile | ImageRawIO:
        name = os.fspath(path)
        raw = ImageRawIO(self._raw.file(name), name)
        if buffering == 0:
            return raw
        return ImageFile(raw, BUFFER_SIZE if buffering < 0 else buffering)

    def mount(
        self,
        target: StrPath,
        *,
        lower: Iterable[Image] = (),
        method: Literal["auto", "kernel", "fuse"] = "auto",
        overlay: StrPath | None = None,
        threads: int = 0,
        allow_other: bool | None = None,
        uid: int | None = None,
        gid: int | None = None,
        umask: int = 0,
        fsname: str | None = None,
        decode_ahead: bool = True,
        trim_after: float | None = None,
        unmount_after: float | None = None,
        stats: StrPath | None = None,
        record: StrPath | None = None,
        damage_log: StrPath | None = None,
    ) -> Mount:
        """Mount the image on a directory (Linux); a ``with`` statement unmounts it at its end.

        Images of ``lower`` are layers below this one. Root gets a mount through EROFS of the kernel
        where that shows everything, everybody else one through FUSE; ``method`` insists on one of
        them. With ``overlay`` the mount is writable: changes are stored in the directories
        ``upper`` and ``work`` of that directory, or in memory for ``"tmpfs"``. ``uid`` and ``gid``
        replace the owners of all files; ``umask`` has permission bits that are cleared. Decoded
        blocks are freed after ``trim_after`` seconds without reads (300); the image is unmounted
        after ``unmount_after`` seconds without use. ``stats`` is a file that gets counters as JSON,
        ``record`` one that gets the paths of files in the order of their first read,
        ``damage_log`` one that gets what could not be read.
        """
        raw = _sinterfs.mount(
            [self._raw, *(image._raw for image in lower)],
            os.fspath(target),
            {
                "method": method,
                "overlay": "tmpfs" if overlay == "tmpfs" else absolute(overlay),
                "threads": threads,
                "allow_other": allow_other,
                "uid": uid,
                "gid": gid,
                "umask": umask,
                "fsname": fsname,
                "decode_ahead": decode_ahead,
                "trim_after": trim_after,
                "unmount_after": unmount_after,
                "stats": absolute(stats),
                "record": absolute(record),
                "damage_log": absolute(damage_log),
            },
        )
        return Mount(raw, os.path.abspath(target))  # noqa: PTH100 (names that are not UTF-8)

    def extract(
        self,
        target: StrPath,
        paths: Iterable[StrPath] = (),
        *,
        globs: Iterable[str] = (),
        exclude: Iterable[str] = (),
        max_depth: int | None = None,
        strip: int = 0,
        threads: int = 0,
        owner: bool | None = None,
        permissions: bool = True,
        times: bool = True,
        xattrs: bool = True,
        sparse: bool = True,
        overwrite: Literal["refuse", "replace", "keep"] = "refuse",
        continue_on_error: bool = False,
        salvage: bool = False,
        progress: Progress | None = None,
    ) -> ExtractReport:
        """Restore everything, or paths and what matches globs, in a directory.

        What matches a pattern of ``exclude`` is left out with everything below it: a pattern of
        names at any depth, or, with a slash, of whole paths. So is what has more than ``max_depth``
        components. Nothing is written outside ``target``, whatever names and symlinks the image
        has. Owners are restored for root, unless ``owner`` says otherwise. With
        ``continue_on_error``, entries that cannot be restored are counted and in the report's
        warnings; without, the first is raised. With ``salvage``, files of which parts cannot be
        read are restored with zeros in their place and counted.
        """
        counts, warnings = _sinterfs.extract(
            self._raw,
            os.fspath(target),
            paths=[path.strip("/") for path in strings(paths)],
            globs=strings(globs),
            exclude=strings(exclude),
            max_depth=max_depth,
            strip=strip,
            threads=threads,
            owner=owner,
            permissions=permissions,
            times=times,
            xattrs=xattrs,
            sparse=sparse,
            overwrite=overwrite,
            continue_on_error=continue_on_error,
            salvage=salvage,
            progress=progress,
        )
        return ExtractReport(*counts, warnings)


def _is_open_as(descriptor: int, name: str) -> bool:
    """Return whether a name is that of the file that is open."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(descriptor))  # noqa: PTH116
    except OSError:
        return False


def _reopened(kind: type[Image], source: Any, options: Options) -> Image:  # noqa: ANN401
    """Open an image that was pickled."""
    return kind.open(source, **options)
