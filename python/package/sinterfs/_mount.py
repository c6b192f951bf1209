"""Mounted images."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from types import TracebackType

    from . import _sinterfs


class MountOptions(TypedDict):
    """All options of a mount, as the extension module takes them; None is its default."""

    method: str
    overlay: str | None
    threads: int
    allow_other: bool | None
    uid: int | None
    gid: int | None
    umask: int
    fsname: str | None
    decode_ahead: bool
    trim_after: float | None
    unmount_after: float | None
    stats: str | None
    record: str | None
    damage_log: str | None


class Mount:
    """An image that is mounted; a context manager that unmounts it. ``Image.mount`` makes one.

    Threads of this process serve it, without the interpreter. It is unmounted at the latest when
    the object is collected or the interpreter ends; a child of a fork leaves it to its parent.
    """

    def __init__(self, raw: _sinterfs.RawMount, path: str) -> None:
        """Wrap a handle; ``Image.mount`` makes one."""
        self._raw = raw
        #: The directory.
        self.path = path
        self._finalizer = weakref.finalize(self, raw.unmount, True)

    def __repr__(self) -> str:
        return f"<sinterfs.Mount {self.path!r}>"

    def __fspath__(self) -> str:
        return self.path

    def __enter__(self) -> Mount:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.unmount(lazy=True)

    @property
    def warnings(self) -> list[str]:
        """Why the mount is not through the kernel, and what it does not show."""
        return self._raw.warnings()

    def unmount(self, *, lazy: bool = False) -> None:
        """Unmount; nothing happens if somebody has done so.

        While something in the directory is in use, this is an OSError with ``EBUSY``, and the image
        stays mounted. With ``lazy`` it is detached from its directory at once, and what is open can
        be read until it is closed, as long as this process runs.
        """
        self._raw.unmount(lazy)
        self._finalizer.detach()


def absolute(path: str | os.PathLike[str] | None) -> str | None:
    """Return a path that does not depend on the working directory."""
    return None if path is None else os.path.abspath(path)  # noqa: PTH100
