"""What opening, listing and reading files take with this package and with other readers.

``compare.py DIRECTORY WORK [RUNS]``: packs the directory as SquashFS (zstd, by mksquashfs), as
DwarFS (by default, and for remote reads) and as a zip in WORK, unless they are there (MKSQUASHFS of
the environment has other options of mksquashfs: "-comp gzip" is what it does by default); then runs
each reader in turn, each in a process of its own, and prints the least time of each step and the
ratio of ours on the SquashFS image to it. Steps: open; list all files; read 500 files of each size
(up to 4 KiB, up to 128 KiB, larger) and 500 of any, in random order; read the latter with four new
processes, each of which opens the image, or uses a mount that nobody has read yet. What a reader
returns is compared with the directory. Readers that are not installed (PySquashfsImage,
squashfsspec, ratarmountcore) are left out by name; with ``SINTER`` (the program), its FUSE mounts
are read, too. CHOICES of the environment picks readers by parts of their names; one that takes more
than LIMIT seconds (300) is left out. With CLOCK=cpu, the time is that of the processors, and of one
process: for machines that have other work.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterable
from typing import NamedTuple

#: The largest file of each choice, in bytes.
SIZES = {"small": 4 << 10, "medium": 128 << 10, "large": 1 << 40}

#: What tells the time.
CLOCK = time.process_time if os.environ.get("CLOCK") == "cpu" else time.perf_counter

#: Processes that read at once.
WORKERS = 4


class Reader(NamedTuple):
    """How an image is opened, its regular files listed, and one read, or many by one call."""

    open: Callable[[str], object]
    files: Callable[[object], Iterable[tuple[str, int]]]
    read: Callable[[object, str], bytes]
    many: Callable[[object, list[str]], list[bytes]] | None = None

    def contents(self, image: object, paths: list[str]) -> list[bytes]:
        """Read files."""
        if self.many:
            return self.many(image, paths)
        return [self.read(image, path) for path in paths]


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


def _ours_many() -> Reader:
    return _ours()._replace(many=lambda image, paths: image.read_many(paths))


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
            for name, info in (source.list(top) or {}).items():
                path = f"{top.rstrip('/')}/{name}"
                if info.mode & 0o170000 == 0o040000:
                    todo.append(path)
                elif _regular(info.mode):
                    yield path.lstrip("/"), info.size

    def read(source: object, path: str) -> bytes:
        with source.open(source.lookup("/" + path)) as file:
            return file.read()

    return Reader(lambda path: open_mount_source(path, indexFilePath=":memory:"), files, read)


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
    "sinterfs squashfs, read_many": (_ours_many, "squashfs"),
    "sinterfs.filesystem squashfs": (_ours_fsspec, "squashfs"),
    "PySquashfsImage": (_pysquashfs, "squashfs"),
    "squashfsspec": (_squashfsspec, "squashfs"),
    "ratarmountcore squashfs": (_ratarmount, "squashfs"),
    "sinterfs dwarfs": (_ours, "dwarfs"),
    "sinterfs dwarfs, read_many": (_ours_many, "dwarfs"),
    "sinterfs dwarfs for remote": (_ours, "dwarfs for remote"),
    "sinterfs dwarfs for remote, read_many": (_ours_many, "dwarfs for remote"),
    "FUSE mount of ours, squashfs": (lambda: _directory(), "squashfs mount"),
    "FUSE mount of ours, dwarfs": (lambda: _directory(), "dwarfs mount"),
    "zipfile": (_zip, "zip"),
    "fsspec zip": (_fsspec_zip, "zip"),
    "ratarmountcore zip": (_ratarmount, "zip"),
    "directory": (_directory, "directory"),
}


def _imported(name: str) -> None:
    """Import what a reader needs."""
    READERS[name][0]()


def _part(name: str, path: str, files: list[str]) -> list[str]:
    """Read files in a process of its own; return their digests."""
    reader = READERS[name][0]()
    image = reader.open(path)
    contents = reader.contents(image, files)
    return [hashlib.sha256(content).hexdigest() for content in contents]


def measure(name: str, path: str, wanted: str, part: str) -> None:
    """Print the seconds of the steps of a part, and digests of what was read, as JSON."""
    with open(wanted) as names:
        chosen: dict[str, list[str]] = json.load(names)
    steps, digests = PARTS[part](name, path, chosen)
    print(json.dumps({"digests": digests, "seconds": steps}))


def alone(
    name: str, path: str, chosen: dict[str, list[str]]
) -> tuple[dict[str, float], dict[str, str]]:
    """Measure the steps of one process."""
    reader = READERS[name][0]()
    start = CLOCK()
    image = reader.open(path)
    opened = CLOCK()
    count = len(list(reader.files(image)))
    steps = {"open": opened - start, "list": CLOCK() - opened}
    assert count, "an image without files"
    digests = {}
    for choice, files in chosen.items():
        start = CLOCK()
        contents = reader.contents(image, files)
        steps[choice] = CLOCK() - start
        digests[choice] = hashlib.sha256(b"".join(contents)).hexdigest()
    return steps, digests


def together(
    name: str, path: str, chosen: dict[str, list[str]]
) -> tuple[dict[str, float], dict[str, str]]:
    """Measure the step of several processes."""
    parts = [(name, path, chosen["any"][worker::WORKERS]) for worker in range(WORKERS)]
    with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
        pool.map(_imported, [name] * 4 * WORKERS, chunksize=1)
        start = time.perf_counter()
        read = pool.starmap(_part, parts, chunksize=1)
        steps = {f"{WORKERS} workers": time.perf_counter() - start}
    by_path = {
        file: digest
        for (_, _, files), found in zip(parts, read)
        for file, digest in zip(files, found)
    }
    in_order = "".join(by_path[file] for file in chosen["any"])
    return steps, {f"{WORKERS} workers": hashlib.sha256(in_order.encode()).hexdigest()}


#: What is measured in one process, and with one mount.
PARTS = {"alone": alone, "together": together}


def choose(directory: str, work: str) -> tuple[str, dict[str, str]]:
    """Choose files; return the name of their list and the digests of their contents."""
    reader = _directory()
    files = sorted(reader.files(directory))
    chosen, least = {}, -1
    for choice, most in SIZES.items():
        sized = [path for path, size in files if least < size <= most]
        chosen[choice] = random.Random(1).sample(sized, min(500, len(sized)))
        least = most
    chosen["any"] = random.Random(1).sample([path for path, _ in files], min(500, len(files)))
    wanted = os.path.join(work, "wanted.json")
    with open(wanted, "w") as names:
        json.dump(chosen, names)
    digests = {}
    print(f"{len(files)} files")
    for choice, paths in chosen.items():
        contents = [reader.read(directory, path) for path in paths]
        print(f"{choice}: {len(paths)} files, {sum(map(len, contents))} bytes")
        digests[choice] = hashlib.sha256(b"".join(contents)).hexdigest()
    each = "".join(hashlib.sha256(content).hexdigest() for content in contents)
    digests[f"{WORKERS} workers"] = hashlib.sha256(each.encode()).hexdigest()
    return wanted, digests


def pack(directory: str, work: str) -> dict[str, str]:
    """Make what the readers read."""
    import sinterfs

    made = {kind: os.path.join(work, f"data.{kind}") for kind in ["squashfs", "dwarfs", "zip"]}
    made["dwarfs for remote"] = os.path.join(work, "remote.dwarfs")
    if not os.path.exists(made["squashfs"]):
        how = ["-quiet", "-no-progress", *os.environ.get("MKSQUASHFS", "-comp zstd").split()]
        subprocess.run(["mksquashfs", directory, made["squashfs"], *how], check=True)
    if not os.path.exists(made["dwarfs"]):
        sinterfs.build(directory, made["dwarfs"])
    if not os.path.exists(made["dwarfs for remote"]):
        sinterfs.build(directory, made["dwarfs for remote"], purpose="remote")
    if not os.path.exists(made["zip"]):
        with zipfile.ZipFile(
            made["zip"], "w", zipfile.ZIP_DEFLATED, strict_timestamps=False
        ) as archive:
            for file, _ in _directory().files(directory):
                archive.write(os.path.join(directory, file), file)
    return made | {"directory": directory}


def mounted(made: dict[str, str], work: str) -> dict[str, str]:
    """Mount the images by FUSE, if there is a program for that."""
    sinter = os.environ.get("SINTER")
    if not sinter:
        return {}
    points = {}
    for kind in ["squashfs", "dwarfs"]:
        point = os.path.join(work, f"{kind}-mount")
        os.makedirs(point, exist_ok=True)
        subprocess.run([sinter, "mount", "--fuse", made[kind], point], check=True)
        points[f"{kind} mount"] = point
    return points


def limited(command: list[str]) -> str:
    """Run a reader for a limited time, with its workers; return the last line that it prints."""
    limit = float(os.environ.get("LIMIT", "300"))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        try:
            out, errors = running.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise
    if running.returncode:
        raise OSError(errors.strip().splitlines()[-1])
    return out.splitlines()[-1]


def main() -> None:
    """Measure everything in turn."""
    directory, work, runs = sys.argv[1], sys.argv[2], int((sys.argv[3:] or ["3"])[0])
    best: dict[str, dict[str, float]] = {}
    os.makedirs(work, exist_ok=True)
    made = pack(directory, work)
    wanted, digests = choose(directory, work)
    choices = os.environ.get("CHOICES", "").split(",")
    names = [name for name in READERS if any(choice in name for choice in choices)]
    left_out = set()
    for name in names * runs:
        if name in left_out:
            continue
        seconds: dict[str, float] = {}
        for part in PARTS:
            points = mounted(made, work) if READERS[name][1].endswith("mount") else {}
            path = (made | points).get(READERS[name][1])
            if path is None:
                break
            command = [sys.executable, __file__, "--measure", name, path, wanted, part]
            try:
                told = json.loads(limited(command))
            except (subprocess.SubprocessError, OSError) as why:
                print(f"left out: {name}: {why}")
                left_out.add(name)
                break
            finally:
                for point in points.values():
                    subprocess.run([os.environ["SINTER"], "umount", point], check=True)
            for step, digest in told["digests"].items():
                assert digest == digests[step], f"{name} read something else"
            seconds |= told["seconds"]
        else:
            known = best.setdefault(name, seconds)
            best[name] = {step: min(known[step], seconds[step]) for step in seconds}
    ours = best["sinterfs squashfs"]
    print(f"{'':30}{''.join(f'{step:>16}' for step in ours)}   seconds, ours / theirs")
    for name, seconds in best.items():
        cells = [f"{seconds[step]:9.4f}{ours[step] / seconds[step]:7.2f}" for step in seconds]
        print(f"{name:30}{''.join(cells)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:6])
    else:
        main()
