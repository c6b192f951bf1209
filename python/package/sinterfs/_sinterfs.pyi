"""The extension module; its classes and functions are used by those of the package."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ._mount import MountOptions as _MountOptions
from ._options import Options as _Options

_Stat = tuple[int, int, int, int, int, int, int, int, tuple[int, int, int]]
_Progress = Callable[[str, int, int, int, int], object]

class RawFile:
    @property
    def size(self) -> int: ...
    @property
    def stat(self) -> _Stat: ...
    def read_at(self, offset: int, size: int) -> bytes: ...
    def read_to_end(self, offset: int) -> bytes: ...

class RawWalk:
    def __iter__(self) -> Iterator[list[tuple[str, _Stat]]]: ...
    def __next__(self) -> list[tuple[str, _Stat]]: ...

class RawImage:
    @staticmethod
    def open_path(
        path: str,
        options: _Options,
    ) -> RawImage: ...
    @staticmethod
    def open_url(
        url: str,
        options: _Options,
    ) -> RawImage: ...
    @staticmethod
    def open_descriptor(
        descriptor: int,
        name: str,
        options: _Options,
    ) -> RawImage: ...
    @staticmethod
    def open_bytes(
        content: bytes,
        options: _Options,
    ) -> RawImage: ...
    @staticmethod
    def open_object(
        object: object,
        options: _Options,
    ) -> RawImage: ...
    def format(self) -> str: ...
    def info(self) -> dict[str, object]: ...
    def warnings(self) -> list[str]: ...
    def close(self) -> None: ...
    def stat(self, path: str, follow: bool) -> _Stat: ...
    def read(self, path: str) -> bytes: ...
    def read_many(self, paths: list[str], threads: int) -> list[bytes]: ...
    def list(self, path: str) -> list[tuple[str, int]]: ...
    def walk(self, path: str) -> RawWalk: ...
    def readlink(self, path: str) -> str: ...
    def xattrs(self, path: str) -> dict[str, bytes]: ...
    def file(self, path: str) -> RawFile: ...

class RawMount:
    def warnings(self) -> list[str]: ...
    def unmount(self, lazy: bool) -> None: ...

def mount(images: list[RawImage], dir: str, options: _MountOptions) -> RawMount: ...
def extract(
    image: RawImage,
    target: str,
    *,
    paths: list[str],
    globs: list[str],
    exclude: list[str],
    max_depth: int | None,
    strip: int,
    threads: int,
    owner: bool | None,
    permissions: bool,
    times: bool,
    xattrs: bool,
    sparse: bool,
    overwrite: str,
    continue_on_error: bool,
    salvage: bool,
    progress: _Progress | None,
) -> tuple[tuple[int, int, int, int, int, int, int, int, int, int], list[str]]: ...
def check(
    path: str,
    *,
    deep: bool,
    threads: int,
    options: _Options,
    progress: _Progress | None,
) -> tuple[list[str], list[str], int, int, str | None]: ...
def diff(
    old: str, new: str, *, ignore: list[str], renames: bool, threads: int
) -> tuple[list[tuple[str, int, str, str | None, list[tuple[str, str, str]]]], list[str]]: ...
def build(
    sources: list[str],
    image: str,
    *,
    format: str | None,
    level: int | None,
    compression: str | None,
    block_size: int | None,
    threads: int | None,
    memory: int | None,
    max_zeros: int | None,
    include: list[str],
    exclude: list[str],
    create_timestamp: int | None,
    options: list[tuple[str, str]],
    strict: bool,
    replace: bool,
    progress: _Progress | None,
) -> tuple[str, int, int, int, int, str | None, str | None, list[tuple[str, int]], list[str]]: ...
def formats() -> list[tuple[str, list[str]]]: ...
def is_url(path: str) -> bool: ...
