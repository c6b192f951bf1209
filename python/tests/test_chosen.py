"""One image of several in a file: of a WIM file by wimlib, of a disk by sfdisk."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess

import fsspec
import pytest
import sinterfs

SECTOR = 512
#: Where partitions of the disk start and end: an image, something else, another image.
BORDERS = [2048, 16384, 32768, 65536]


@pytest.fixture(scope="module")
def wim(tmp_path_factory):
    """Make a WIM file of two images that are called 2 and second: the number goes first."""
    if shutil.which("wimlib-imagex") is None:
        pytest.skip("no wimlib-imagex")
    work = tmp_path_factory.mktemp("wim")
    for number, (verb, name) in enumerate([("capture", "2"), ("append", "second")], 1):
        (work / f"tree-{number}").mkdir()
        (work / f"tree-{number}" / "which").write_text(f"image {number}")
        words = ["wimlib-imagex", verb, f"tree-{number}", "x.wim", name]
        subprocess.run(words, cwd=work, check=True, stdout=subprocess.DEVNULL)
    return work / "x.wim"


@pytest.fixture(scope="module")
def disk(tmp_path_factory, images):
    sfdisk = shutil.which("sfdisk", path=f"{os.environ['PATH']}:/usr/sbin")
    if sfdisk is None:
        pytest.skip("no sfdisk")
    work = tmp_path_factory.mktemp("disk")
    contents = [images["squashfs"].read_bytes(), b"noise" * 9, images["dwarfs"].read_bytes()]
    table = "label: gpt\n"
    with open(work / "disk", "wb") as file:
        file.truncate(BORDERS[-1] * SECTOR + (1 << 20))
        for start, end, content in zip(BORDERS, BORDERS[1:], contents):
            assert len(content) <= (end - start) * SECTOR
            table += f"start={start},size={end - start}\n"
            file.seek(start * SECTOR)
            file.write(content)
    words = [sfdisk, "-q", work / "disk"]
    subprocess.run(words, input=table, text=True, check=True)
    return work / "disk"


def test_an_image_of_a_wim_is_chosen(wim):
    with sinterfs.Image.open(wim) as image:
        assert image.listdir() == ["1", "2"]
    for chosen, found in [(1, "1"), ("1", "1"), (2, "2"), ("2", "2"), ("second", "2")]:
        for source in [wim, wim.read_bytes()]:
            with sinterfs.Image.open(source, image=chosen) as image:
                assert image["which"].read_text() == f"image {found}"
        assert sinterfs.check(wim, deep=True, image=chosen).ok
    for wrong in [3, 0, -1, "third"]:
        with pytest.raises(sinterfs.PathNotFoundError, match="no image"):
            sinterfs.Image.open(wim, image=wrong)
    for wrong in [1.5, b"second", [1]]:
        with pytest.raises(TypeError):
            sinterfs.Image.open(wim, image=wrong)


def test_a_partition_of_a_disk_is_chosen(disk, tree):
    # two images: which one is meant is not guessed
    with pytest.raises(OSError, match="partition"):
        sinterfs.Image.open(disk)
    noise = (tree / "sub/noise").read_bytes()
    for number, form in [(1, "squashfs"), (3, "dwarfs")]:
        with open(disk, "rb") as file:
            for source in [disk, file]:
                with sinterfs.Image.open(source, partition=number) as image:
                    assert image.format == form
                    assert image.read_bytes("sub/noise") == noise
        assert sinterfs.check(disk, deep=True, partition=number).ok
    with sinterfs.Image.open(disk, partition=1, offset=0) as image:
        assert image.format == "squashfs"
    with pytest.raises(sinterfs.UnsupportedImageError):
        sinterfs.Image.open(disk, partition=2)
    with pytest.raises(sinterfs.PathNotFoundError, match="no partition 9"):
        sinterfs.Image.open(disk, partition=9)
    with pytest.raises(OverflowError):
        sinterfs.Image.open(disk, partition=-1)
    with pytest.raises(OverflowError):
        sinterfs.Image.open(disk, offset=-1)


def test_where_there_is_no_choice_it_is_refused(images, wim):
    for name in ["dwarfs", "squashfs", "erofs"]:
        says = f"`image` is for wim, udf and iso9660 images; this is an? {name} image"
        with pytest.raises(sinterfs.InvalidRequestError, match=says):
            sinterfs.Image.open(images[name], image=1)
        with pytest.raises(sinterfs.InvalidRequestError, match=says):
            sinterfs.check(images[name], image=1)
        with pytest.raises(sinterfs.InvalidRequestError, match="partition"):
            sinterfs.Image.open(images[name], partition=1)
    with pytest.raises(sinterfs.InvalidRequestError, match="partition"):
        sinterfs.Image.open(wim, image=1, partition=1)


def test_the_choice_is_pickled(wim, disk):
    with sinterfs.Image.open(wim, image="second") as image:
        assert pickle.loads(pickle.dumps(image))["which"].read_text() == "image 2"
    with sinterfs.Image.open(disk, partition=3) as image:
        assert pickle.loads(pickle.dumps(image)).format == "dwarfs"


def test_file_systems_pass_the_choice_on(wim, disk):
    files = fsspec.filesystem("sinter", fo=str(wim), image=2)
    assert files.cat("which") == b"image 2"
    assert pickle.loads(pickle.dumps(files)).cat("which") == b"image 2"
    # another choice is another instance
    assert fsspec.filesystem("sinter", fo=str(wim), image=1).cat("which") == b"image 1"
    files = fsspec.filesystem("squashfs", fo=str(disk), partition=1)
    assert files.cat("hello.txt") == b"hello, world\n"
    with pytest.raises(OSError, match="is dwarfs, not squashfs"):
        fsspec.filesystem("squashfs", fo=str(disk), partition=3)
    chained = f"sinter://which::file://{wim}"
    with fsspec.open(chained, sinter={"image": "second"}) as file:
        assert file.read() == b"image 2"
