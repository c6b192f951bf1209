"""Trees and images that the tests share."""

from __future__ import annotations

import os
import pathlib
import random

import pytest
import sinterfs

FORMATS = ["dwarfs", "squashfs", "erofs"]


def make_tree(top: pathlib.Path) -> None:
    (top / "sub/deep").mkdir(parents=True)
    (top / "empty").mkdir()
    (top / "hello.txt").write_text("hello, world\n")
    (top / "sub/noise").write_bytes(random.Random(1).randbytes(3_000_001))
    (top / "sub/deep/zeros").write_bytes(bytes(100_000))
    (top / os.fsdecode(b"latin-\xe9")).write_bytes(b"e")
    os.symlink("../hello.txt", top / "sub/link")
    os.symlink("/sub", top / "absolute")
    os.symlink("nowhere", top / "dangling")
    os.symlink("circle", top / "circle")
    os.link(top / "hello.txt", top / "again.txt")
    os.mkfifo(top / "fifo")
    os.chmod(top / "hello.txt", 0o640)
    os.utime(top / "hello.txt", ns=(1_600_000_000_123_456_789,) * 2)
    for number in range(50):
        (top / f"sub/file-{number:02}").write_text(f"content {number}\n" * number)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    top = tmp_path_factory.mktemp("data") / "tree"
    top.mkdir()
    make_tree(top)
    return top


@pytest.fixture(scope="session")
def images(tree: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, pathlib.Path]:
    work = tmp_path_factory.mktemp("images")
    made = {}
    for name in FORMATS:
        made[name] = work / f"tree.{name}"
        resolution = {"time_resolution": "1ns"} if name == "dwarfs" else {}
        sinterfs.build(tree, made[name], level=3, **resolution)
    return made


@pytest.fixture(params=FORMATS)
def path(request: pytest.FixtureRequest, images: dict[str, pathlib.Path]) -> pathlib.Path:
    return images[request.param]


@pytest.fixture
def image(path: pathlib.Path):
    with sinterfs.Image.open(path) as opened:
        yield opened
