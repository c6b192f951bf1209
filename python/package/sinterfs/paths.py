"""Paths of images for ``universal_pathlib``, which finds the class by its entry points.

``UPath("sinter://a/b.txt", fo="data.dwarfs")`` and ``UPath("sinter://a::file:///data/x.dwarfs")``
behave as ``pathlib`` does for reading.
"""

from __future__ import annotations

import fsspec
from upath import UPath

# universal_pathlib learns how paths are written from classes that are loaded, and warns otherwise
for _protocol in ("sinter", "dwarfs", "squashfs", "erofs"):
    fsspec.get_filesystem_class(_protocol)


class SinterPath(UPath):
    """A path in an image; what would write raises an OSError with ``EROFS``."""
