"""What opening, listing and reading 500 files take with this package and with other readers.

``compare.py DIRECTORY WORK [RUNS]``: packs the directory as SquashFS (zstd, by mksquashfs), as
DwarFS and as a zip in WORK, unless they are there; then runs each reader in turn, each in a process
of its own, and prints the least time of each step and the ratio of ours on the SquashFS image to
it. The files are chosen once at random; what a reader returns is compared with the directory.
Readers that are not installed (PySquashfsImage, squashfsspec, ratarmountcore) are left out by name.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable
from typing import NamedTuple


class Reader(NamedTuple):
    """How an image is opened, its regular files listed, and one read."""

    open: Callable[[str], object]
    files: Callable[[object], Iterable[tuple[str, int]]]
    read: Callable[[object, str], bytes]


def _regular(mode: int) -> bool:
    return mode & 0o170000 == 0o100000


def _found(image: object) -> Iterable[tuple[str, int]]:
    """List what a file system of fsspec finds; some have symlinks among the files."""
    for path, row in image.find("", detail=True).items():
        yield path, row["size"]


def _ours() -> Reader:
    import sinterfs

    return Reader(
        sinterfs.Image.open,
        lambda image: (
            (path, stat.st_size) for path, stat in image.stats() if _regular(stat.st_mode)
        ),
        lambda image, path: image.read_bytes(path),
    )


def _ours_fsspec() -> Reader:
    from sinterfs.filesystem import SinterFileSystem

    return Reader(SinterFileSystem, _found, lambda image, path: image.cat_file(path))


def _pysquashfs() -> Reader:
    from PySquashfsImage import SquashFsImage

    def files(image: SquashFsImage) -> Iterable[tuple[str, int]]:
        for entry in image:
            if entry.is_file and not entry.is_symlink:
                yield entry.path.lstrip("/"), entry.size

    return Reader(
        SquashFsImage.from_file,
        files,
        lambda image, path: image.select("/" + path).read_bytes(),
    )


def _squashfsspec() -> Reader:
    from squashfsspec import SquashFSFileSystem

    return Reader(SquashFSFileSystem, _found, lambda image, path: image.cat_file(path))


def _fsspec_zip() -> Reader:
    from fsspec.implementations.zip import ZipFileSystem

    return Reader(ZipFileSystem, _found, lambda image, path: image.cat_file(path))


def _ratarmount() -> Reader:
    from ratarmountcore.mountsource.factory import open_mount_source

    def files(source: object) -> Iterable[tuple[str, int]]:
        todo = ["/"]
        while todo:
            top = todo.pop()
            for name, info in source.list(top).items():
                path = f"{top.rstrip('/')}/{name}"
                if info.mode & 0o170000 == 0o040000:
                    todo.append(path)
                elif _regular(info.mode):
                    yield path.lstrip("/"), info.size

    def read(source: object, path: str) -> bytes:
        with source.open(source.lookup("/" + path)) as file:
            return file.read()

    return Reader(lambda path: open_mount_source(path, writeIndex=False), files, read)


def _zip() -> Reader:
    return Reader(
        zipfile.ZipFile,
        lambda image: ((row.filename, row.file_size) for row in image.infolist()),
        lambda image, path: image.read(path),
    )


def _directory() -> Reader:
    def files(top: str) -> Iterable[tuple[str, int]]:
        todo = [top]
        while todo:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        yield os.path.relpath(entry.path, top), entry.stat().st_size

    def read(top: str, path: str) -> bytes:
        with open(os.path.join(top, path), "rb") as file:
            return file.read()

    return Reader(str, files, read)


#: A name, the reader, and what it reads.
READERS = {
    "sinterfs squashfs": (_ours, "squashfs"),
    "sinterfs.filesystem squashfs": (_ours_fsspec, "squashfs"),
    "PySquashfsImage": (_pysquashfs, "squashfs"),
    "squashfsspec": (_squashfsspec, "squashfs"),
    "ratarmountcore squashfs": (_ratarmount, "squashfs"),
    "sinterfs dwarfs": (_ours, "dwarfs"),
    "zipfile": (_zip, "zip"),
    "fsspec zip": (_fsspec_zip, "zip"),
    "ratarmountcore zip": (_ratarmount, "zip"),
    "directory": (_directory, "directory"),
}


def measure(name: str, path: str, wanted: str) -> None:
    """Print the seconds of each step, and what was read, as JSON."""
    with open(wanted) as names:
        chosen = json.load(names)
    reader = READERS[name][0]()
    start = time.perf_counter()
    image = reader.open(path)
    opened = time.perf_counter()
    count = len(list(reader.files(image)))
    listed = time.perf_counter()
    contents = [reader.read(image, file) for file in chosen]
    done = time.perf_counter()
    digest = hashlib.sha256(b"".join(contents)).hexdigest()
    steps = {"open": opened - start, "list": listed - opened, "read": done - listed}
    print(json.dumps({"files": count, "digest": digest, "seconds": steps}))


def choose(directory: str, work: str) -> tuple[str, str]:
    """Choose 500 files; return the name of their list and the digest of their contents."""
    reader = _directory()
    files = sorted(path for path, _ in reader.files(directory))
    chosen = random.Random(1).sample(files, min(500, len(files)))
    wanted = os.path.join(work, "wanted.json")
    with open(wanted, "w") as names:
        json.dump(chosen, names)
    contents = b"".join(reader.read(directory, path) for path in chosen)
    print(f"{len(files)} files; {len(chosen)} are read, {len(contents)} bytes")
    return wanted, hashlib.sha256(contents).hexdigest()


def pack(directory: str, work: str) -> dict[str, str]:
    """Make what the readers read."""
    import sinterfs

    made = {kind: os.path.join(work, f"data.{kind}") for kind in ["squashfs", "dwarfs", "zip"]}
    if not os.path.exists(made["squashfs"]):
        how = ["-comp", "zstd", "-quiet", "-no-progress"]
        subprocess.run(["mksquashfs", directory, made["squashfs"], *how], check=True)
    if not os.path.exists(made["dwarfs"]):
        sinterfs.build(directory, made["dwarfs"])
    if not os.path.exists(made["zip"]):
        with zipfile.ZipFile(
            made["zip"], "w", zipfile.ZIP_DEFLATED, strict_timestamps=False
        ) as archive:
            for file, _ in _directory().files(directory):
                archive.write(os.path.join(directory, file), file)
    return made | {"directory": directory}


def main() -> None:
    """Measure everything in turn."""
    directory, work, runs = sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["3"])[0])
    best: dict[str, dict[str, float]] = {}
    made = pack(directory, work)
    wanted, digest = choose(directory, work)
    for name in list(READERS) * runs:
        path = made[READERS[name][1]]
        command = [sys.executable, __file__, "--measure", name, path, wanted]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"left out: {name}: {done.stderr.strip().splitlines()[-1]}")
            continue
        told = json.loads(done.stdout)
        assert told["digest"] == digest, f"{name} read something else"
        seconds = told["seconds"]
        known = best.setdefault(name, seconds)
        best[name] = {step: min(known[step], seconds[step]) for step in seconds}
    print(f"{'':30}{'open':>18}{'list':>18}{'read 500':>18}   seconds, ours / theirs")
    ours = best["sinterfs squashfs"]
    for name, seconds in best.items():
        cells = [f"{seconds[step]:9.4f}{ours[step] / seconds[step]:9.2f}" for step in seconds]
        print(f"{name:30}{''.join(cells)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:5])
    else:
        main()
