"""Metadata of an image as ``os.stat_result``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._sinterfs import _Stat

_NANOSECONDS = 1_000_000_000


def stat_result(stat: _Stat) -> os.stat_result:
    """Return metadata as the functions of ``os`` have it; ``st_dev`` is 0."""
    mode, ino, nlink, uid, gid, size, allocated, rdev, (accessed, modified, changed) = stat
    seconds = (accessed // _NANOSECONDS, modified // _NANOSECONDS, changed // _NANOSECONDS)
    exact = (accessed / _NANOSECONDS, modified / _NANOSECONDS, changed / _NANOSECONDS)
    # In the order that every system's os.stat_result has; what only some have follows by name. By
    # name, all of it would take twice as long, which is most of what listing takes.
    fields = (mode, ino, 0, nlink, uid, gid, size, *seconds, *exact, accessed, modified, changed)
    others = {"st_blksize": 4096, "st_blocks": -(-allocated // 512), "st_rdev": rdev}
    return os.stat_result(fields, others)
