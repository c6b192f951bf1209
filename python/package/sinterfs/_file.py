"""Files of an image as Python's own binary files."""

from __future__ import annotations

import errno
import io
import operator
import os
from typing import TYPE_CHECKING, Any

from ._stat import stat_result

if TYPE_CHECKING:
    from ._sinterfs import RawFile

#: Bytes that a buffered file reads at least.
BUFFER_SIZE = 64 << 10

#: The last position that files of the system can have.
LAST_POSITION = (1 << 63) - 1


class ImageRawIO(io.RawIOBase):
    """A regular file of an image, unbuffered. ``read_at`` may be called by many threads."""

    def __init__(self, file: RawFile, name: str) -> None:
        super().__init__()
        self._file = file
        self._position = 0
        self.name = name
        self.mode = "rb"

    def readable(self) -> bool:
        """Return True."""
        self._require_open()
        return True

    def seekable(self) -> bool:
        """Return True."""
        self._require_open()
        return True

    def tell(self) -> int:
        """Return the position."""
        self._require_open()
        return self._position

    def write(self, _: object, /) -> int:
        """Fail: images are read-only."""
        raise io.UnsupportedOperation("write")

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position and return it."""
        self._require_open()
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._file.size}
        if whence not in start:
            raise ValueError(f"invalid whence ({whence}, should be 0, 1 or 2)")
        position = start[whence] + operator.index(offset)
        if position < 0:
            raise OSError(errno.EINVAL, f"negative seek position {position}", self.name)
        if position > LAST_POSITION:
            raise OverflowError(f"seek position {position} is too large")
        self._position = position
        return position

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 (what has the buffer protocol)
        """Fill a buffer from the position on and return the count of bytes."""
        self._require_open()
        view = memoryview(buffer).cast("B")
        content = self._file.read_at(self._position, len(view))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)

    def readall(self) -> bytes:
        """Read everything from the position on."""
        self._require_open()
        content = self._file.read_to_end(self._position)
        self._position += len(content)
        return content

    def read_at(self, offset: int, size: int) -> bytes:
        """Read bytes from an offset on, whatever the position; fewer only at the end."""
        self._require_open()
        if offset < 0 or size < 0:
            raise OSError(errno.EINVAL, f"{size} bytes from {offset} on", self.name)
        return self._file.read_at(offset, size)

    def stat(self) -> os.stat_result:
        """Return the metadata of the file."""
        return stat_result(self._file.stat)

    @property
    def size(self) -> int:
        """The length in bytes."""
        return self._file.size

    def _require_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")


class ImageFile(io.BufferedReader):
    """A regular file of an image, buffered. ``read_at`` may be called by many threads."""

    raw: ImageRawIO

    def __init__(self, raw: ImageRawIO, buffer_size: int = BUFFER_SIZE) -> None:
        super().__init__(raw, buffer_size)

    def read_at(self, offset: int, size: int) -> bytes:
        """Read bytes from an offset on, whatever the position; fewer only at the end."""
        return self.raw.read_at(offset, size)

    def stat(self) -> os.stat_result:
        """Return the metadata of the file."""
        return self.raw.stat()

    @property
    def size(self) -> int:
        """The length in bytes."""
        return self.raw.size
