"""How an image is opened: checked and made independent of the working directory."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import TypedDict, Union

StrPath = Union[str, "os.PathLike[str]"]


class Options(TypedDict):
    """All options of opening, as the extension module takes them and as they are pickled."""

    offset: int | None
    cache_bytes: int | None
    devices: list[str]
    objects: str | None
    image: str | None
    partition: int | None


def strings(paths: Iterable[StrPath]) -> list[str]:
    """Return paths as strings; one path alone is a mistake."""
    if isinstance(paths, (str, bytes)):
        raise TypeError("a list of paths is wanted, not one path")
    return [os.fspath(path) for path in paths]


def opening_options(
    *,
    offset: int | None,
    cache_bytes: int | None,
    devices: Iterable[StrPath],
    objects: StrPath | None,
    image: str | int | None,
    partition: int | None,
) -> Options:
    """Return options whose paths do not depend on the working directory."""
    if image is not None and not isinstance(image, str):
        image = str(operator.index(image))
    return {
        "offset": offset,
        "cache_bytes": cache_bytes,
        "devices": [os.path.abspath(device) for device in strings(devices)],  # noqa: PTH100
        "objects": None if objects is None else os.path.abspath(objects),  # noqa: PTH100
        "image": image,
        "partition": partition,
    }
