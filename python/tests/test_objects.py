"""Images that are read from file objects and descriptors, and what threads do with them."""

from __future__ import annotations

import io
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
from typing import BinaryIO

import pytest
import sinterfs


class Objects:
    """A file object of Python alone, whose reads may fail."""

    def __init__(self, path: pathlib.Path) -> None:
        self._file = io.BytesIO(path.read_bytes())
        self.reads = 0
        #: The read that fails.
        self.fails_at = None

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        self.reads += 1
        if self.fails_at is not None and self.reads >= self.fails_at:
            raise OSError(5, "on purpose")
        return self._file.read(size)


def run(script: str, *arguments: object) -> None:
    """Run a script that must end, whatever its threads do."""
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    subprocess.run(command, check=True, timeout=120)


def test_threads_that_use_a_closed_image_end(path):
    script = """
        import sys, threading, sinterfs
        image = sinterfs.Image.open(sys.argv[1])
        image.close()
        sys.setswitchinterval(1e-5)
        def use():
            for _ in range(2000):
                try:
                    image.exists("hello.txt")
                except OSError:
                    pass
        threads = [threading.Thread(target=use) for _ in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    run(script, path)


@pytest.fixture
def many_inodes(tmp_path):
    """Return an image that is read piece by piece when it is listed."""
    mkfs = "/usr/sbin/mkfs.ext4"
    if not os.path.exists(mkfs):
        pytest.skip("no mkfs.ext4")
    tree, image = tmp_path / "tree", tmp_path / "image"
    for number in range(100):
        (tree / f"d{number:03}").mkdir(parents=True)
        (tree / f"d{number:03}/f").write_bytes(os.urandom(20_000))
    with open(image, "wb") as file:
        file.truncate(16 << 20)
    subprocess.run([mkfs, "-q", "-d", tree, image], check=True)
    return image


def test_missing_paths_and_reads_by_threads_do_not_wait_for_each_other(many_inodes):
    script = """
        import random, sys, threading, sinterfs
        class Objects:
            def __init__(self): self.file = open(sys.argv[1], "rb")
            def seek(self, *to): return self.file.seek(*to)
            def tell(self): return self.file.tell()
            def read(self, size=-1): return self.file.read(size)
        image = sinterfs.Image.open(Objects(), cache_bytes=0)
        sys.setswitchinterval(1e-5)
        def use(seed):
            choice = random.Random(seed)
            for _ in range(1000):
                name = f"d{choice.randrange(100):03}/" + choice.choice(["f", "missing"])
                try:
                    image.read_bytes(name)
                except FileNotFoundError:
                    pass
        threads = [threading.Thread(target=use, args=(seed,)) for seed in range(4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
    run(script, many_inodes)


def test_no_thread_reads_a_file_object_in_the_background(tmp_path):
    top, path = tmp_path / "tree", tmp_path / "image.squashfs"
    top.mkdir()
    for number in range(200):
        (top / f"{number:03}").write_bytes(os.urandom(10_000).hex().encode())
    sinterfs.build(top, path)
    mine = threading.current_thread()

    class Watched(Objects):
        def read(self, size: int = -1) -> bytes:
            assert threading.current_thread() is mine
            return super().read(size)

    image = sinterfs.Image.open(Watched(path))
    for number in range(200):
        image.read_bytes(f"{number:03}")
    # the blocks that are in order are decoded ahead of a file of the system
    assert sinterfs.Image.open(path).read_bytes("007") == image.read_bytes("007")


def test_a_name_that_is_another_file_by_now_is_not_used(path, tmp_path):
    first = tmp_path / "image"
    first.write_bytes(path.read_bytes())
    with open(first, "rb") as file:
        image = sinterfs.Image.open(file)
        assert pickle.loads(pickle.dumps(image)).listdir() == image.listdir()
        os.rename(first, tmp_path / "moved")
        first.write_bytes(b"another file")
        image = sinterfs.Image.open(file)
        assert image["hello.txt"].read_text() == "hello, world\n"
        with pytest.raises(TypeError):
            pickle.dumps(image)


def test_what_was_written_by_the_object_is_there(path):
    with tempfile.TemporaryFile() as file:
        file.write(path.read_bytes()[:-1])
        file.write(path.read_bytes()[-1:])
        assert sinterfs.Image.open(file)["hello.txt"].read_text() == "hello, world\n"


def test_closing_an_image_closes_its_file(path, tmp_path):
    def opened() -> int:
        links = (os.path.join("/proc/self/fd", name) for name in os.listdir("/proc/self/fd"))
        return sum(os.path.lexists(link) and os.readlink(link) == str(other) for link in links)

    other = tmp_path / "image"
    other.write_bytes(path.read_bytes())
    image = sinterfs.Image.open(other)
    assert opened() > 0
    file = image.open_file("hello.txt", buffering=0)
    image.close()
    assert opened() == 0
    with pytest.raises(OSError, match="closed"):
        file.read_at(0, 1)


def test_what_comes_before_an_error_is_listed(many_inodes):
    source = Objects(many_inodes)
    image = sinterfs.Image.open(source, cache_bytes=0)
    before = source.reads
    whole = [entry.path for entry in image.entries()]
    # the last tenth of what a whole list needs
    source.fails_at = source.reads + (source.reads - before) * 9 // 10
    found = []
    with pytest.raises(OSError, match="file object"):
        for entry in image.entries():
            found.append(entry.path)
    assert len(found) > 10
    assert found == whole[: len(found)]


def test_reads_of_many_files_end_with_the_first_error(tmp_path):
    top, path = tmp_path / "tree", tmp_path / "image.squashfs"
    top.mkdir()
    names = [f"{number:03}" for number in range(64)]
    for name in names:
        (top / name).write_bytes(os.urandom(200_000))
    sinterfs.build(top, path)
    source = Objects(path)
    image = sinterfs.Image.open(source, cache_bytes=0)
    source.fails_at = source.reads + 10
    with pytest.raises(OSError, match="file object"):
        image.read_many(names, threads=1)
    assert source.reads < source.fails_at + 10


def test_descriptors_need_no_permission(path, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("not root")
    private = tmp_path / "private"
    private.write_bytes(path.read_bytes())
    private.chmod(0o600)

    def opened(file: BinaryIO) -> int:
        os.setuid(65534)
        return 0 if sinterfs.Image.open(file)["hello.txt"].read_bytes() else 1

    with open(private, "rb") as file:
        child = os.fork()
        if child == 0:
            code = 2
            try:
                code = opened(file)
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0


def test_lengths_that_no_memory_holds_are_memory_errors(tmp_path):
    top, path = tmp_path / "tree", tmp_path / "image.dwarfs"
    top.mkdir()
    for name, size in {"huge": 1 << 43, "large": (1 << 30) + 5, "other": 9}.items():
        with open(top / name, "wb") as file:
            file.truncate(size)
    sinterfs.build(top, path)
    script = """
        import resource, sys, sinterfs
        resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
        image = sinterfs.Image.open(sys.argv[1])
        file = image.open_file("huge", buffering=0)
        for read in (
            lambda: image.read_bytes("huge"),
            lambda: image.read_many(["other", "huge"]),
            lambda: file.readall(),
            lambda: file.read_at(5, 1 << 42),
        ):
            try:
                read()
            except MemoryError:
                pass
            else:
                raise SystemExit("no error")
        assert file.read_at((1 << 43) - 3, 100) == bytes(3)
        assert image.read_bytes("large") == bytes((1 << 30) + 5)
        assert image.read_many(["other", "large"])[1] == bytes((1 << 30) + 5)
    """
    run(script, path)
