"""Threads and processes that read one image: every byte is compared.

``SINTER_PYTHON_SOAK=SECONDS`` makes the load longer than its two seconds.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import multiprocessing
import os
import random
import signal
import threading
import time

import pytest
import sinterfs

SECONDS = float(os.environ.get("SINTER_PYTHON_SOAK", "2"))


def hashes(tree):
    found = {}
    for path, _, files in os.walk(tree):
        for name in files:
            full = os.path.join(path, name)
            if os.path.isfile(full) and not os.path.islink(full):
                with open(full, "rb") as file:
                    content = file.read()
                relative = os.path.relpath(full, tree)
                found[relative] = (
                    len(content),
                    hashlib.sha256(content).hexdigest(),
                    content[-100:],
                )
    return found


def read_at_random(image, expected, seed, seconds):
    """Read files at random until the time is over; return how many."""
    choice = random.Random(seed)
    paths = sorted(expected)
    count, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        path = choice.choice(paths)
        size, digest, last = expected[path]
        with image.open_file(path) as file:
            if choice.random() < 0.5:
                content = file.read()
                assert len(content) == size
                assert hashlib.sha256(content).hexdigest() == digest, path
            else:
                assert file.read_at(max(0, size - 100), 200) == last, path
        count += 1
    return count


def load(image, expected, seed, threads, seconds):
    """Read with threads; what a process of the load test does."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        seeds = range(seed * 100, seed * 100 + threads)
        done = [pool.submit(read_at_random, image, expected, number, seconds) for number in seeds]
        return sum(future.result() for future in done)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_with_threads_share_an_image(image, tree, method):
    expected = hashes(tree)
    context = multiprocessing.get_context(method)
    image.read_bytes("sub/noise")
    # threads of the parent read while its children are made
    stop = threading.Event()

    def read():
        while not stop.is_set():
            image.read_bytes("sub/noise")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        workers = 8 if method == "fork" else 2
        with concurrent.futures.ProcessPoolExecutor(workers, mp_context=context) as pool:
            seconds = SECONDS if method == "fork" else 0.2
            futures = [
                pool.submit(load, image, expected, seed, 8, seconds) for seed in range(workers)
            ]
            assert all(future.result(timeout=seconds + 120) > 0 for future in futures)
    finally:
        stop.set()
        for reader in readers:
            reader.join()


def memory(row):
    """Return the bytes of a row of what the system tells of this process."""
    with open("/proc/self/status") as rows:
        return next(int(line.split()[1]) << 10 for line in rows if line.startswith(row))


def grown_by_reading(path, cache_bytes, seed, count):
    """Read files at random with eight threads; return how many bytes the process grew at most."""
    image = sinterfs.Image.open(path, cache_bytes=cache_bytes)
    names = image.listdir()
    before = memory("VmRSS")

    def read(thread):
        choice = random.Random(seed * 100 + thread)
        for _ in range(count):
            name = choice.choice(names)
            assert image.read_bytes(name) == content_of(name)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(read, range(8)))
    return memory("VmHWM") - before


def content_of(name):
    """Return 1,000,000 bytes that a name decides, half as long when encoded, without repeats."""
    return random.Random(name).randbytes(500_000).hex().encode()


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
@pytest.mark.parametrize(
    "options",
    [{"format": "dwarfs", "block_size": 1 << 20}, {"format": "squashfs"}],
    ids=lambda options: options["format"],
)
def test_memory_of_processes_with_threads_is_bounded(options, tmp_path):
    top, path = tmp_path / "tree", tmp_path / "image"
    top.mkdir()
    names = [str(number) for number in range(128)]
    for name in names:
        (top / name).write_bytes(content_of(name))
    report = sinterfs.build(top, path, compression="zstd:level=1", **options)
    assert report.image_bytes < 0.6 * report.bytes
    cache, freed, block, content = 8 << 20, 16 << 20, 1 << 20, 1 << 20
    # each thread has a block, stored and decoded; what it read, and what that is compared with
    bound = cache + freed + 8 * (2 * block + 2 * content)
    assert bound < 0.6 * report.bytes
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(4, mp_context=context) as pool:
        done = [pool.submit(grown_by_reading, path, cache, seed, 60) for seed in range(4)]
        grown = [future.result(timeout=300) for future in done]
    assert max(grown) <= bound, [size >> 20 for size in grown]


def in_child(work):
    """Run a function in a forked child; return what it sends."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sender, work())
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as pipe:
        told = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return told


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_reads_the_file_that_its_parent_opened(image, path, tmp_path):
    other = tmp_path / "image"
    other.write_bytes(path.read_bytes())
    opened = sinterfs.Image.open(other)
    file = opened.open_file("hello.txt")
    os.unlink(other)
    assert in_child(lambda: opened.read_bytes("hello.txt") + file.read()) == b"hello, world\n" * 2
    assert in_child(lambda: image["sub/link"].read_bytes()) == b"hello, world\n"
    bytes_image = sinterfs.Image.open(path.read_bytes())
    assert in_child(lambda: bytes_image.read_bytes("hello.txt")) == b"hello, world\n"


def read_at_places(image, contents, seed, count):
    choice = random.Random(seed)
    for _ in range(count):
        name, content = choice.choice(contents)
        start = choice.randrange(len(content))
        with image.open_file(name, buffering=0) as file:
            assert file.read_at(start, 1000) == content[start : start + 1000]


def in_threads(image, contents, seed):
    """Read by eight threads, two of which want the same blocks at a time."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = [pool.submit(read_at_places, image, contents, seed + n // 2, 8) for n in range(8)]
        for future in done:
            future.result()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_children_read_while_threads_of_the_parent_wait_for_blocks(tmp_path):
    top, path = tmp_path / "tree", tmp_path / "image.dwarfs"
    top.mkdir()
    contents = [(str(number), content_of(number)[:250_000]) for number in range(16)]
    for name, content in contents:
        (top / name).write_bytes(content)
    sinterfs.build(top, path, compression="lzma:level=1", block_size=512 << 10)
    # the cache has room for two of eight blocks: threads wait for decoders all the time
    image = sinterfs.Image.open(path, cache_bytes=1 << 20)
    stop = threading.Event()

    def read(seed):
        while not stop.is_set():
            read_at_places(image, contents, seed, 8)

    readers = [threading.Thread(target=read, args=(number // 2,)) for number in range(8)]
    for reader in readers:
        reader.start()
    try:
        for seed in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(60)
                code = 1
                try:
                    in_threads(image, contents, seed * 10)
                    code = 0
                finally:
                    os._exit(code)
            assert os.waitpid(child, 0)[1] == 0, f"child {seed}"
    finally:
        stop.set()
        for reader in readers:
            reader.join()


class Objects:
    """A file object that other processes share the position of."""

    def __init__(self, path) -> None:
        self.inner = open(path, "rb", buffering=0)

    def __getattr__(self, name):
        return getattr(self.__dict__["inner"], name) if name != "raw" else None


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_file_objects_and_walks_are_refused_in_a_child(path):
    source = Objects(path)
    image = sinterfs.Image.open(source)

    def work():
        try:
            image.read_bytes("hello.txt")
        except OSError as error:
            return str(error).encode()
        return b"read"

    assert b"another process" in in_child(work)
    assert image.read_bytes("hello.txt") == b"hello, world\n"
    source.inner.close()
    with sinterfs.Image.open(path) as image:
        walk = image._raw.walk("")

        def go_on():
            try:
                next(walk)
            except OSError as error:
                return str(error).encode()
            return b"listed"

        assert b"another process" in in_child(go_on)
        assert next(walk)


def test_threads_share_a_file(image, tree):
    content = (tree / "sub/noise").read_bytes()
    with image.open_file("sub/noise") as file:

        def read(seed):
            choice = random.Random(seed)
            for _ in range(200):
                offset, size = choice.randrange(len(content)), choice.randrange(5000)
                assert file.read_at(offset, size) == content[offset : offset + size]
            return True

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(pool.map(read, range(8)))
