"""The file systems of fsspec, with fsspec's own tests as far as a read-only one can pass them."""

from __future__ import annotations

import errno
import os
import pickle
import zipfile

import fsspec
import pytest
import sinterfs
from fsspec.implementations.local import LocalFileSystem
from fsspec.tests import abstract
from sinterfs.filesystem import DwarfsFileSystem, SinterFileSystem
from upath import UPath


class ReadOnlyFixtures(abstract.AbstractFixtures):
    """Scenarios of fsspec's tests, built by its own methods in a directory, then as an image."""

    @pytest.fixture
    def packed(self, tmp_path):
        """Return a function that fills a directory and packs it."""

        def pack(fill):
            source = tmp_path / "scenario"
            source.mkdir()
            filled = fill(LocalFileSystem(auto_mkdir=True), os.path.join, str(source))
            sinterfs.build(source, tmp_path / "scenario.dwarfs", level=1)
            self.image = str(tmp_path / "scenario.dwarfs")
            return os.path.relpath(filled, source)

        return pack

    @pytest.fixture
    def fs_bulk_operations_scenario_0(self, packed):
        return packed(self._bulk_operations_scenario_0)

    @pytest.fixture
    def fs_glob_edge_cases_files(self, packed):
        return packed(self._glob_edge_cases_files)

    @pytest.fixture
    def fs_dir_and_file_with_same_name_prefix(self, packed):
        return packed(self._dir_and_file_with_same_name_prefix)

    @pytest.fixture
    def fs_10_files_with_hashed_names(self, packed):
        return packed(self._10_files_with_hashed_names)

    @pytest.fixture
    def fs(self):
        """Return a file system that opens its image when it is first used."""
        test = self

        class Late:
            def __getattr__(self, name):
                found = SinterFileSystem(test.image, skip_instance_cache=True)
                return getattr(found, name)

        return Late()

    @pytest.fixture
    def fs_join(self):
        return lambda *parts: "/".join(parts)

    @pytest.fixture
    def fs_path(self):
        return ""


class TestGet(ReadOnlyFixtures, abstract.AbstractGetTests):
    """Files and directories fetched from the image, by the tests of fsspec."""

    # writes to the file system that it reads
    test_get_directory_recursive = None


@pytest.fixture
def files(path):
    return SinterFileSystem(str(path), skip_instance_cache=True)


def test_chained_urls(images, tree, tmp_path):
    noise = (tree / "sub/noise").read_bytes()
    for name, path in images.items():
        for protocol in ["sinter", name]:
            with fsspec.open(f"{protocol}://sub/noise::file://{path}") as file:
                assert isinstance(file, sinterfs.ImageFile)
                assert file.read() == noise
    with pytest.raises(OSError, match="is squashfs, not dwarfs"):
        fsspec.open(f"dwarfs://x::file://{images['squashfs']}", skip_instance_cache=True).open()
    archive = tmp_path / "x.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.write(images["erofs"], "inside.erofs")
    with fsspec.open(f"erofs://sub/link::zip://inside.erofs::file://{archive}") as file:
        assert file.read() == b"hello, world\n"
    memory = fsspec.filesystem("memory")
    memory.pipe("/x.squashfs", images["squashfs"].read_bytes())
    with fsspec.open("sinter://hello.txt::memory://x.squashfs", "rt") as text:
        assert text.read() == "hello, world\n"
    found = fsspec.open_files(f"sinter://sub/file-0*::file://{images['dwarfs']}")
    assert len(found) == 10


def test_listings_are_those_of_the_directory(files, tree):
    local = LocalFileSystem()
    for path in ["", "sub", "/sub/deep/", "empty"]:
        names = [os.path.join(path.strip("/"), name) for name in os.listdir(tree / path.strip("/"))]
        assert files.ls(path, detail=False) == sorted(names)
        assert [row["name"] for row in files.ls(path)] == sorted(names)
    listed = {os.path.basename(row["name"]): row for row in local.ls(str(tree), detail=True)}
    for path in ["hello.txt", "sub", "sub/link", "dangling", "fifo"]:
        ours, theirs = files.info(path), listed.get(path) or local.info(str(tree / path))
        for key in ["type", "islink", "mode", "uid", "gid", "nlink"]:
            if key != "nlink" or theirs["type"] == "file":
                assert ours[key] == theirs[key], (path, key)
        if ours["type"] == "file":
            assert ours["size"] == theirs["size"]
        assert files.exists(path) and files.isdir(path) == local.isdir(str(tree / path))
        assert files.isfile(path) == local.isfile(str(tree / path))
    assert files.ls("hello.txt", detail=False) == ["hello.txt"]
    top = str(tree)
    for more in [{}, {"withdirs": True}, {"maxdepth": 1}]:
        ours = files.find("sub", **more)
        theirs = [os.path.relpath(path, top) for path in local.find(f"{top}/sub", **more)]
        assert sorted(ours) == sorted(theirs), more
    assert files.du("sub") == sum(row["size"] for row in files.find("sub", detail=True).values())
    assert files.glob("sub/file-1*") == [f"sub/file-1{digit}" for digit in range(10)]
    assert sorted(name for name, _, _ in files.walk(""))[0] == ""
    with pytest.raises(FileNotFoundError):
        files.ls("no")
    with pytest.raises(FileNotFoundError):
        files.info("sub/no")


def test_contents_and_ranges(files, tree):
    noise = (tree / "sub/noise").read_bytes()
    assert files.cat("sub/noise") == noise
    assert files.cat_file("sub/noise", 5, 9) == noise[5:9]
    assert files.cat_file("sub/noise", -9) == noise[-9:]
    assert files.cat_ranges(["sub/noise", "hello.txt"], [1, 0], [4, 5]) == [noise[1:4], b"hello"]
    assert files.head("sub/noise", 10) == noise[:10] and files.tail("sub/noise", 10) == noise[-10:]
    assert set(files.cat(["hello.txt", "again.txt"])) == {"hello.txt", "again.txt"}
    with files.open("hello.txt", "r") as text:
        assert text.read() == "hello, world\n"
    assert files.modified("hello.txt").timestamp() == pytest.approx(1_600_000_000, abs=1)
    for write in [
        lambda: files.open("new", "wb"),
        lambda: files.pipe_file("new", b""),
        lambda: files.touch("new"),
        lambda: files.mkdir("new"),
        lambda: files.makedirs("new/new"),
        lambda: files.rmdir("empty"),
        lambda: files.rm("hello.txt"),
        lambda: files.mv("hello.txt", "new"),
        lambda: files.cp_file("hello.txt", "new"),
        lambda: files.put_file(str(tree / "hello.txt"), "new"),
    ]:
        with pytest.raises(OSError, match="read-only") as caught:
            write()
        assert caught.value.errno == errno.EROFS
    assert files.ukey("hello.txt") == files.ukey("hello.txt")


def test_file_systems_are_pickled(path):
    files = fsspec.filesystem("sinter", fo=str(path))
    again = pickle.loads(pickle.dumps(files))
    assert again.cat("hello.txt") == b"hello, world\n"
    mapper = files.get_mapper("sub/deep")
    assert mapper["zeros"] == bytes(100_000)
    assert fsspec.get_filesystem_class("dwarfs") is DwarfsFileSystem


def test_paths_are_those_of_pathlib(images, tree):
    for name, image in images.items():
        for top in [UPath("sinter://", fo=str(image)), UPath(f"{name}://::file://{image}")]:
            names = sorted(os.listdir(tree), key=os.fsencode)
            assert sorted((path.name for path in top.iterdir()), key=os.fsencode) == names
            file = top / "sub" / "file-07"
            local = tree / "sub" / "file-07"
            assert (file.name, file.parent.name) == ("file-07", "sub")
            assert file.read_text() == local.read_text()
            assert file.stat().st_size == local.stat().st_size
            assert file.is_file() and (top / "sub").is_dir() and not (top / "no").exists()
            with file.open("rb") as content:
                assert content.read() == local.read_bytes()
            found = sorted(path.name for path in (top / "sub").glob("file-1*"))
            assert found == sorted(path.name for path in (tree / "sub").glob("file-1*"))
            assert pickle.loads(pickle.dumps(file)).read_bytes() == local.read_bytes()
            with pytest.raises(OSError, match="read-only"):
                file.write_text("x")
            with pytest.raises(OSError, match="read-only"):
                (top / "new").mkdir()


def test_a_file_system_shows_its_image_and_refuses_what_it_has_not(path):
    made = SinterFileSystem(str(path), skip_instance_cache=True)
    assert repr(made) == f"<sinterfs.SinterFileSystem {str(path)!r}>"
    with pytest.raises(ValueError, match="asynchronous"):
        SinterFileSystem(str(path), asynchronous=True, skip_instance_cache=True)
