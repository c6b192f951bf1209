"""Reading: everything is compared with the directory that the image was built of."""

from __future__ import annotations

import errno
import io
import os
import pathlib
import pickle
import stat

import pytest
import sinterfs
from sinterfs.__main__ import main


def everything(top: pathlib.Path) -> list[str]:
    found = []
    for path, directories, files in os.walk(top):
        found += [os.path.relpath(os.path.join(path, name), top) for name in directories + files]
    return sorted(found, key=os.fsencode)


def test_paths_and_metadata_are_those_of_the_source(image, tree):
    paths = sorted(image, key=os.fsencode)
    assert paths == everything(tree)
    for path in paths:
        ours, theirs = image.lstat(path), os.lstat(tree / path)
        assert ours.st_mode == theirs.st_mode
        assert (ours.st_uid, ours.st_gid) == (theirs.st_uid, theirs.st_gid)
        assert int(ours.st_mtime) == theirs.st_mtime_ns // 10**9
        if stat.S_ISREG(theirs.st_mode):
            assert ours.st_size == theirs.st_size
            assert image.read_bytes(path) == (tree / path).read_bytes()
        if stat.S_ISLNK(theirs.st_mode):
            assert image.readlink(path) == os.readlink(tree / path)
    files = [path for path in paths if stat.S_ISREG(os.lstat(tree / path).st_mode)]
    contents = [(tree / path).read_bytes() for path in files]
    for threads in [0, 1, 3]:
        assert image.read_many(files, threads=threads) == contents
    assert image.read_many(reversed(files)) == contents[::-1]
    assert image.read_many([]) == []
    with pytest.raises(FileNotFoundError, match="missing"):
        image.read_many([files[0], "missing"])
    with pytest.raises(TypeError, match="a list of paths"):
        image.read_many("hello.txt")
    assert image.stat("hello.txt").st_nlink == 2
    assert image.stat("hello.txt").st_ino == image.stat("again.txt").st_ino


def test_times_are_exact_where_the_image_has_them(images):
    with sinterfs.Image.open(images["dwarfs"]) as image:
        found = image.stat("hello.txt")
        assert found.st_mtime_ns == 1_600_000_000_123_456_789
        assert found.st_mtime == found.st_mtime_ns / 1_000_000_000
        assert found[stat.ST_MTIME] == 1_600_000_000
        assert (found.st_blksize, found.st_rdev) == (4096, 0)


def test_listings_and_walks_are_those_of_os(image, tree):
    for top in ["", "sub", "/sub/deep/", "empty"]:
        below = tree / top.strip("/")
        assert image.listdir(top) == sorted(os.listdir(below), key=os.fsencode)
        with os.scandir(below) as entries:
            theirs = {entry.name: entry for entry in entries}
        for entry in image.scandir(top):
            other = theirs.pop(entry.name)
            if entry.name not in ("circle", "absolute"):
                assert entry.is_dir() == other.is_dir()
                assert entry.is_file() == other.is_file()
            assert entry.is_symlink() == other.is_symlink()
            assert entry.is_dir(follow_symlinks=False) == other.is_dir(follow_symlinks=False)
            assert image.lexists(entry.path)
        assert not theirs
    ours = {path: (set(dirs), set(files)) for path, dirs, files in image.walk()}
    theirs = {}
    for path, dirs, files in os.walk(tree):
        links = {name for name in dirs if os.path.islink(os.path.join(path, name))}
        relative = os.path.relpath(path, tree)
        theirs["" if relative == "." else relative] = (set(dirs) - links, set(files) | links)
    assert ours == theirs
    pruned = []
    for path, dirs, _ in image.walk():
        dirs.clear()
        pruned.append(path)
    assert pruned == [""] or len(pruned) == 1


def test_entries_are_like_a_mapping(image):
    entry = image["sub/link"]
    assert (entry.name, entry.path, entry.is_symlink()) == ("link", "sub/link", True)
    assert entry.read_text() == "hello, world\n"
    assert entry.readlink() == "../hello.txt"
    assert entry == image["/sub/link"] and len({entry, image["sub/link"]}) == 1
    assert "sub/noise" in image and "dangling" in image and "no" not in image and 1 not in image
    assert image.exists("sub/link") and not image.exists("dangling")
    assert image.lexists("circle") and not image.exists("circle") and "circle/x" not in image
    # absolute targets count from the root of the image
    assert image["absolute"].is_dir() and image.exists("absolute/deep/zeros")
    assert [below.name for below in image["sub/deep"].scandir()] == ["zeros"]
    for missing in ["no", "hello.txt/x", "hello.txt/", "sub/\0"]:
        assert missing not in image and not image.exists(missing)
        with pytest.raises(KeyError):
            image[missing]


def test_files_are_those_of_python(image, tree):
    content = (tree / "sub/noise").read_bytes()
    with image.open_file("sub/noise") as file, open(tree / "sub/noise", "rb") as other:
        assert isinstance(file, io.BufferedReader)
        for offset, whence, size in [(5, 0, 10), (-7, 2, 100), (-3, 1, 2), (2_000_000, 0, 999_999)]:
            assert file.seek(offset, whence) == other.seek(offset, whence)
            assert file.read(size) == other.read(size)
        buffer = bytearray(1000)
        file.seek(1234)
        assert file.readinto(buffer) == 1000 and buffer == content[1234:2234]
        assert file.seek(10**10) == 10**10 and file.read() == b""
        file.seek(0)
        assert file.read() == content
        assert file.read_at(3, 4) == content[3:7] and file.read_at(10**12, 4) == b""
        assert file.size == len(content) and file.stat().st_size == len(content)
        with pytest.raises(OSError):
            file.seek(-1)
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    with pytest.raises(ValueError):
        file.read()
    with image.open_file("hello.txt", "r") as text:
        assert text.readlines() == ["hello, world\n"]
    with image.open_file("sub/noise", "rb", 0) as raw:
        assert isinstance(raw, io.RawIOBase) and raw.read(5) == content[:5]
        with pytest.raises(OSError) as caught:
            raw.seek(-1)
        assert caught.value.errno == errno.EINVAL
        with pytest.raises(ValueError, match="whence"):
            raw.seek(0, 9)
    with pytest.raises(ValueError, match="read-only"):
        image.open_file("hello.txt", "w")
    for mode in "r", "rt":
        with image["hello.txt"].open(mode, encoding="ascii") as text:
            assert text.read() == image.read_text("hello.txt")
            assert text.encoding == "ascii"
    with image["hello.txt"].open() as file:
        assert file.read() == image.read_bytes("hello.txt")
    for given in {"encoding": "utf-8"}, {"errors": "strict"}, {"newline": ""}:
        with pytest.raises(ValueError, match="is for text"):
            image.open_file("hello.txt", **given)
        with pytest.raises(ValueError, match="is for text"):
            image["hello.txt"].open("rb", **given)
    with pytest.raises(ValueError, match="'r', 'rt' or 'rb'"):
        image["hello.txt"].open("w")
    with image["hello.txt"].open() as file:
        assert list(file) == [b"hello, world\n"]


@pytest.mark.parametrize(
    ("ask", "kind", "number"),
    [
        (lambda image: image.stat("no/such"), FileNotFoundError, errno.ENOENT),
        (lambda image: image.open_file("no"), sinterfs.PathNotFoundError, errno.ENOENT),
        (lambda image: image.open_file("sub"), IsADirectoryError, errno.EISDIR),
        (lambda image: image.open_file("fifo"), ValueError, errno.EINVAL),
        (lambda image: image.listdir("hello.txt"), NotADirectoryError, errno.ENOTDIR),
        (lambda image: list(image.entries("hello.txt")), NotADirectoryError, errno.ENOTDIR),
        (lambda image: image.readlink("hello.txt"), sinterfs.SinterError, errno.EINVAL),
        (lambda image: image.stat("hello.txt/x"), NotADirectoryError, errno.ENOTDIR),
        (lambda image: image.lstat("hello.txt/"), NotADirectoryError, errno.ENOTDIR),
        (lambda image: image.open_file("hello.txt/x"), NotADirectoryError, errno.ENOTDIR),
        (lambda image: image.read_many(["hello.txt/x"]), NotADirectoryError, errno.ENOTDIR),
        (lambda image: image.listdir("hello.txt/x"), NotADirectoryError, errno.ENOTDIR),
        (lambda image: image.stat("sub/\0"), ValueError, errno.EINVAL),
        (lambda image: image.read_bytes("\0"), ValueError, errno.EINVAL),
        (lambda image: image.readlink("link\0"), ValueError, errno.EINVAL),
        (lambda image: sinterfs.Image.open("no\0such"), ValueError, errno.EINVAL),
        (lambda image: image.stat("circle"), OSError, errno.ELOOP),
        (lambda image: image.read_bytes("circle/x"), OSError, errno.ELOOP),
        (lambda image: image.read_many(["hello.txt", "sub"]), IsADirectoryError, errno.EISDIR),
        (lambda image: image.open_file("hello.txt").read_at(-1, 1), OSError, errno.EINVAL),
        (lambda image: image.open_file("hello.txt").read_at(0, -1), OSError, errno.EINVAL),
    ],
)
def test_errors_have_types_and_numbers(image, ask, kind, number):
    with pytest.raises(kind) as caught:
        ask(image)
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == number
    assert caught.value.strerror and caught.value.filename


def test_files_that_are_no_images(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        sinterfs.Image.open(tmp_path / "no")
    assert caught.value.filename == str(tmp_path / "no")
    with pytest.raises(IsADirectoryError):
        sinterfs.Image.open(tmp_path)
    (tmp_path / "text").write_text("text" * 1000)
    with pytest.raises(sinterfs.UnsupportedImageError, match="not an image"):
        sinterfs.Image.open(tmp_path / "text")
    with pytest.raises(TypeError):
        sinterfs.Image.open(5)
    with pytest.raises(TypeError, match="binary"), open(tmp_path / "text") as text:
        sinterfs.Image.open(text)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(sinterfs.InvalidRequestError):
        sinterfs.Image.open(tmp_path / "fifo")


def test_options_of_other_formats_are_refused(images, tmp_path):
    options = [("devices", "erofs, composefs and wim"), ("objects", "erofs and composefs")]
    for name, formats in options:
        given = {name: [tmp_path] if name == "devices" else tmp_path}
        says = f"`{name}` is for {formats} images; this is a dwarfs image"
        for source in [images["dwarfs"], images["dwarfs"].read_bytes()]:
            with pytest.raises(sinterfs.InvalidRequestError, match=says):
                sinterfs.Image.open(source, **given)
        with pytest.raises(sinterfs.InvalidRequestError, match="this is a squashfs image"):
            sinterfs.Image.open(images["squashfs"], **given)


def test_damage_is_an_error_with_a_place(images, tmp_path):
    content = bytearray(images["dwarfs"].read_bytes())
    for at in range(5000, 500_000, 1000):
        content[at] ^= 0x55
    damaged = tmp_path / "damaged.dwarfs"
    damaged.write_bytes(content)
    with sinterfs.Image.open(damaged) as image, pytest.raises(sinterfs.CorruptImageError) as caught:
        for path in image:
            if image[path].is_file(follow_symlinks=False):
                image.read_bytes(path)
    assert caught.value.errno == errno.EIO and "corrupt" in str(caught.value)
    assert not sinterfs.check(damaged, deep=True).ok
    with sinterfs.Image.open(damaged) as image:
        with pytest.raises(sinterfs.CorruptImageError):
            image.extract(tmp_path / "strict")
        report = image.extract(tmp_path / "saved", salvage=True)
    assert report.damaged > 0 and report.warnings
    assert (tmp_path / "saved/sub/noise").stat().st_size == 3_000_001


def test_damage_of_a_wim_is_found_whatever_the_threads(tree, tmp_path):
    target = tmp_path / "x.wim"
    sinterfs.build(tree, target, level=1)
    content = bytearray(target.read_bytes())
    noise = (tree / "sub/noise").read_bytes()
    at = content.find(noise[2_500_000:2_500_100])
    assert at > 0, "noise is stored as it is"
    content[at] ^= 1
    # the digest is of the whole file, which several threads would read in parts
    with sinterfs.Image.open(bytes(content)) as image:
        with pytest.raises(sinterfs.CorruptImageError):
            image.read_many(["sub/noise"], threads=4)
        with pytest.raises(sinterfs.CorruptImageError):
            image.read_bytes("sub/noise")


class Foreign:
    """A file object that is nothing but seek, tell and read."""

    def __init__(self, content: bytes) -> None:
        self.inner = io.BytesIO(content)

    def seek(self, offset, whence=0):
        return self.inner.seek(offset, whence)

    def tell(self):
        return self.inner.tell()

    def read(self, size):
        return self.inner.read(min(size, 100_000))


class Broken(Foreign):
    def read(self, size):
        if self.inner.tell() > 100_000:
            raise ConnectionError("gone")
        return super().read(size)


def test_images_from_bytes_and_file_objects(path, tree):
    content = path.read_bytes()
    noise = (tree / "sub/noise").read_bytes()
    with open(path, "rb") as file:
        sources = [content, bytearray(content), io.BytesIO(content), file, Foreign(content)]
        for source in sources:
            with sinterfs.Image.open(source) as image:
                assert image.read_bytes("sub/noise") == noise
                assert image.listdir("empty") == []
    behind = b"#!/bin/sh\n" + bytes(4086) + content
    with sinterfs.Image.open(behind, offset=4096) as image:
        assert image.read_bytes("sub/noise") == noise


def test_the_exception_of_a_file_object_is_the_cause(images):
    content = images["squashfs"].read_bytes()
    broken = Broken(content)
    with pytest.raises(OSError) as caught, sinterfs.Image.open(broken) as image:
        image.read_bytes("sub/noise")
    assert isinstance(caught.value.__cause__, ConnectionError)


class Interrupted(Foreign):
    def read(self, size):
        raise KeyboardInterrupt


def test_an_interrupt_of_a_file_object_is_none_of_its_errors(images):
    with pytest.raises(KeyboardInterrupt):
        sinterfs.Image.open(Interrupted(images["squashfs"].read_bytes()))


def test_images_are_pickled_by_their_path(image, path):
    pickled = pickle.dumps(image)
    assert len(pickled) < 1000
    with pickle.loads(pickled) as again:
        assert again.read_text("hello.txt") == "hello, world\n"
        assert repr(again) == f"<sinterfs.Image {str(path)!r}>"
    with pickle.loads(pickle.dumps(sinterfs.Image.open(path.read_bytes()))) as again:
        assert again.exists("hello.txt")


def test_a_closed_image_says_so(path):
    image = sinterfs.Image.open(path)
    file = image.open_file("hello.txt", "rb", 0)
    image.close()
    image.close()
    for ask in [lambda: image.stat(""), lambda: file.read(), lambda: image.format]:
        with pytest.raises(OSError, match="closed") as caught:
            ask()
        assert caught.value.errno == errno.EBADF


def test_facts_and_formats(image, path):
    assert image.format == path.suffix[1:]
    assert isinstance(image.info(), dict) and image.info()
    assert image.warnings() == []
    assert "dwarfs" in sinterfs.formats()["dwarfs"]


def test_extended_attributes(tmp_path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/file").write_text("x")
    os.setxattr(tmp_path / "tree/file", "user.name", b"value\0")
    sinterfs.build(tmp_path / "tree", tmp_path / "x.squashfs")
    with sinterfs.Image.open(tmp_path / "x.squashfs") as image:
        assert image.xattrs("file") == {"user.name": b"value\0"}
        assert image["file"].xattrs() == image.xattrs("/file")
        assert image.xattrs("") == {}


def test_patterns_match_as_those_of_pathlib(image, tree):
    for pattern in ["*", "*.txt", "sub/*", "sub/file-0?", "sub/[d-e]*", "*/deep/zeros", "**/zeros"]:
        theirs = sorted(str(path.relative_to(tree)) for path in tree.glob(pattern))
        assert sorted(image.glob(pattern)) == theirs, pattern
        assert theirs
    assert sorted(image.glob("**"), key=os.fsencode) == everything(tree)
    assert sorted(image.glob("**/**/zeros")) == ["sub/deep/zeros"]
    assert list(image.glob("")) == list(image.glob("none/*")) == []
    with pytest.raises(ValueError, match="leads out"):
        image.glob("../*")


def test_entries_lead_to_what_is_below_them(image):
    sub = image["sub"]
    assert (sub / "deep" / "zeros").read_bytes() == bytes(100_000)
    assert {entry.name for entry in sub} == set(image.listdir("sub"))
    with pytest.raises(KeyError):
        sub / "none"


def test_notebooks_show_the_names_in_the_root(image):
    shown = image._repr_html_()
    assert image.format in shown
    assert "<td>hello.txt</td><td>13</td>" in shown
    assert "<td>sub/</td><td></td>" in shown
    shown.encode()


def test_names_in_html_are_escaped(tmp_path):
    (tmp_path / "tree").mkdir()
    for number in range(25):
        (tmp_path / f"tree/<b>{number:02}").write_text("x")
    sinterfs.build(tmp_path / "tree", tmp_path / "x.dwarfs")
    with sinterfs.open(tmp_path / "x.dwarfs") as image:
        shown = image._repr_html_()
    assert "&lt;b&gt;00" in shown and "<b>" not in shown
    assert "and 5 more" in shown


def test_the_package_shows_what_it_offers(path):
    assert set(dir(sinterfs)) == {*sinterfs.__all__, "__version__"}
    assert sinterfs.__version__[0].isdigit()
    with sinterfs.open(path) as image:
        assert image.exists("hello.txt")


def test_the_command_line_is_that_of_zipfile(path, tree, tmp_path, capsys):
    assert main(["-l", str(path)]) == 0
    assert "          13 hello.txt\n" in capsys.readouterr().out
    assert main(["-t", str(path)]) == 0
    (tmp_path / "small").mkdir()
    (tmp_path / "small/a").write_text("a")
    made = str(tmp_path / "small.sqfs")
    assert main(["-c", made, str(tmp_path / "small")]) == 0
    assert main(["-e", made, str(tmp_path / "out")]) == 0
    assert (tmp_path / "out/a").read_text() == "a"
    capsys.readouterr()
    assert main(["-t", str(tmp_path / "none")]) == 1
    assert "none" in capsys.readouterr().err
    damaged = tmp_path / "damaged.sqfs"
    damaged.write_bytes(b"x" * 1000)
    assert main(["-l", str(damaged)]) == 1
    with pytest.raises(SystemExit):
        main(["-c", made])
