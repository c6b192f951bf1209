"""Metadata of an image as ``os.stat_result``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._sinterfs import _Stat

_NANOSECONDS = 1_000_000_000


def stat_result(stat: _Stat) -> os.stat_result:
    """Return metadata as the functions of ``os`` have it; ``st_dev`` is 0."""
    mode, ino, nlink, uid, gid, size, allocated, rdev, times = stat
    seconds = tuple(time // _NANOSECONDS for time in times)
    exact = tuple(time / _NANOSECONDS for time in times)
    fields = {
        "st_atime": exact[0],
        "st_mtime": exact[1],
        "st_ctime": exact[2],
        "st_atime_ns": times[0],
        "st_mtime_ns": times[1],
        "st_ctime_ns": times[2],
        "st_blksize": 4096,
        "st_blocks": -(-allocated // 512),
        "st_rdev": rdev,
    }
    return os.stat_result((mode, ino, 0, nlink, uid, gid, size, *seconds), fields)
