"""Mounts: what they show is compared with the directory that the image was built of."""

from __future__ import annotations

import errno
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest
import sinterfs

pytestmark = pytest.mark.skipif(
    not (sys.platform == "linux" and os.path.exists("/dev/fuse")), reason="no /dev/fuse"
)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="overlayfs needs root")


@pytest.fixture
def target(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "target"
    made.mkdir()
    return made


@pytest.mark.parametrize("method", ["auto", "fuse"])
def test_a_mount_shows_the_source_and_ends(image, tree, target, method):
    with image.mount(target, method=method) as mount:
        assert os.path.ismount(target)
        assert os.fspath(mount) == str(target)
        assert sorted(os.listdir(target)) == sorted(os.listdir(tree))
        for name in ["hello.txt", "sub/noise", "sub/deep/zeros", "sub/link"]:
            assert (target / name).read_bytes() == (tree / name).read_bytes()
        assert os.stat(target / "hello.txt").st_mode == os.stat(tree / "hello.txt").st_mode
        with pytest.raises(OSError) as caught:
            (target / "new").write_text("x")
        assert caught.value.errno == errno.EROFS
    assert not os.path.ismount(target)
    mount.unmount()
    # the image is as it was
    assert image["hello.txt"].read_text() == "hello, world\n"


def test_what_is_in_use_stays_or_is_detached(image, target):
    mount = image.mount(target, method="fuse")
    image.close()
    with open(target / "sub/noise", "rb") as file:
        with pytest.raises(OSError) as caught:
            mount.unmount()
        assert caught.value.errno == errno.EBUSY
        assert os.path.ismount(target)
        mount.unmount(lazy=True)
        assert not os.path.ismount(target)
        assert len(file.read()) == 3_000_001
    mount.unmount()


def test_options_are_those_of_the_command(image, tree, target, tmp_path):
    stats, record = tmp_path / "stats", tmp_path / "record"
    options = {"uid": 7, "gid": 8, "umask": 0o077, "threads": 2, "fsname": "named"}
    options.update(method="fuse", stats=stats, record=record, trim_after=1.5, decode_ahead=False)
    with image.mount(target, damage_log=tmp_path / "damage", unmount_after=600, **options):
        found = os.stat(target / "hello.txt")
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (7, 8, 0o600)
        mounts = pathlib.Path("/proc/self/mounts").read_text()
        assert f"named {target} fuse.sinter " in mounts
        (target / "sub/file-07").read_bytes()
        (target / "hello.txt").read_bytes()
    assert record.read_text() == "sub/file-07\nhello.txt\n"
    assert json.loads(stats.read_text())["reads"] >= 2
    assert (tmp_path / "damage").read_text() == ""


def test_a_mount_ends_when_nobody_uses_it(image, target):
    mount = image.mount(target, method="fuse", unmount_after=0.05)
    subprocess.run(
        ["timeout", "30", "sh", "-c", f"while mountpoint -q '{target}'; do sleep 0.05; done"],
        check=True,
    )
    mount.unmount()


@needs_root
def test_layers_and_changes(images, tree, target, tmp_path):
    (tmp_path / "top").mkdir()
    (tmp_path / "top/hello.txt").write_text("patched")
    sinterfs.build(tmp_path / "top", tmp_path / "top.squashfs")
    with (
        sinterfs.Image.open(tmp_path / "top.squashfs") as top,
        sinterfs.Image.open(images["dwarfs"]) as base,
    ):
        with top.mount(target, lower=[base], method="fuse"):
            assert (target / "hello.txt").read_text() == "patched"
            assert (target / "sub/noise").read_bytes() == (tree / "sub/noise").read_bytes()
        with base.mount(target, overlay=tmp_path / "changes"):
            (target / "hello.txt").write_text("changed")
        assert (tmp_path / "changes/upper/hello.txt").read_text() == "changed"
        with base.mount(target, overlay="tmpfs"):
            (target / "hello.txt").unlink()
        with pytest.raises(sinterfs.InvalidRequestError, match="one image only"):
            top.mount(target, lower=[base], stats=tmp_path / "stats")
    assert not os.path.ismount(target)


def test_failures_are_those_of_python(image, path, target, tmp_path):
    with pytest.raises(FileNotFoundError):
        image.mount(tmp_path / "missing")
    for wrong in [{"method": "nfs"}, {"umask": 0o1777}, {"trim_after": -1.0}]:
        with pytest.raises(sinterfs.InvalidRequestError):
            image.mount(target, **wrong)
    with pytest.raises(TypeError):
        image.mount(target, threads="many")

    class Remote(io.BytesIO):
        pass

    reader = io.BufferedReader(Remote(path.read_bytes()))
    opened = sinterfs.Image.open(reader)
    with pytest.raises(sinterfs.UnsupportedImageError, match="file object"):
        opened.mount(target)
    image.close()
    with pytest.raises(OSError, match="closed"):
        image.mount(target)
    assert not os.path.ismount(target)


SCRIPT = """
import os, sinterfs, sys
image = sinterfs.Image.open(sys.argv[1])
mount = image.mount(sys.argv[2], method="fuse")
child = os.fork()
if child == 0:
    mount.unmount()
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
print(open(sys.argv[2] + "/hello.txt").read(), end="")
"""


def test_a_mount_is_of_one_process_and_ends_with_it(path, target):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, path, target], capture_output=True, text=True, timeout=60
    )
    assert (ran.stdout, ran.returncode) == ("hello, world\n", 0), ran.stderr
    assert not os.path.ismount(target)
