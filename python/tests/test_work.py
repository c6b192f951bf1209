"""Building, extracting, checking, comparing; progress and interrupts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading

import pytest
import sinterfs


def test_extracted_trees_equal_the_source(image, tree, tmp_path):
    report = image.extract(tmp_path / "all")
    assert report.files and report.failed == 0 and report.warnings == []
    assert (
        subprocess.run(
            ["diff", "-r", "-x", "fifo", "--no-dereference", tree, tmp_path / "all"]
        ).returncode
        == 0
    )
    some = image.extract(tmp_path / "some", ["/sub/deep"], globs=["*.txt"], strip=0)
    assert some.files + some.links == 3
    assert sorted(os.listdir(tmp_path / "some")) == ["again.txt", "hello.txt", "sub"]
    image.extract(tmp_path / "without", exclude=["*.txt", "sub/deep"])
    assert "hello.txt" not in os.listdir(tmp_path / "without")
    assert (tmp_path / "without/sub").exists() and not (tmp_path / "without/sub/deep").exists()
    image.extract(tmp_path / "flat", max_depth=1)
    assert (tmp_path / "flat/hello.txt").exists() and os.listdir(tmp_path / "flat/sub") == []
    with pytest.raises(OSError):
        image.extract(tmp_path / "some")
    kept = image.extract(tmp_path / "some", overwrite="keep")
    assert kept.kept >= 3
    with pytest.raises(ValueError):
        image.extract(tmp_path / "some", overwrite="perhaps")
    with pytest.raises(OSError):
        image.extract(tmp_path / "none", ["no/such/path"])
    with pytest.raises(TypeError):
        image.extract(tmp_path / "none", "hello.txt")


def test_builds_report_what_they_made(tree, tmp_path):
    told = []
    target = tmp_path / "x.dwarfs"
    report = sinterfs.build(tree, target, level=1, progress=lambda *stage: told.append(stage))
    assert report.format == "dwarfs" and report.incomplete == 0
    assert report.image_bytes == target.stat().st_size
    stages = {stage for stage, *_ in told}
    assert {"scan", "compress"} <= stages
    assert all(items >= 0 and size >= 0 for _, items, size, _, _ in told)
    with pytest.raises(sinterfs.InvalidRequestError, match="exists"):
        sinterfs.build(tree, target)
    again = sinterfs.build(tree, target, level=1, replace=True, with_digest=True)
    assert again.root_digest and len(again.root_digest) == 64
    assert sinterfs.check(target, deep=True).root_digest == again.root_digest
    filtered = tmp_path / "filtered.squashfs"
    sinterfs.build(tree, filtered, include=["file-01"], exclude=["file-*", "noise"])
    with sinterfs.Image.open(filtered) as image:
        assert image.listdir("sub") == ["deep", "file-01", "link"]
    with pytest.raises(sinterfs.InvalidRequestError):
        sinterfs.build([], tmp_path / "y.dwarfs")
    with pytest.raises(sinterfs.SinterError, match="purpose"):
        sinterfs.build(tree, tmp_path / "y.dwarfs", purpose="fun")
    both = {"metadata_copy": True, "category_compression": ["text::lz4", "fits::none"]}
    sinterfs.build(tree, tmp_path / "z.dwarfs", options=both)
    labelled = {"label": "NAME", "uuid": "01234567-89ab-cdef-0123-456789abcdef"}
    sinterfs.build(tree, tmp_path / "z.erofs", options=labelled)
    with pytest.raises(sinterfs.InvalidRequestError, match="only to dwarfs"):
        sinterfs.build(tree, tmp_path / "z.squashfs", options={"metadata_copy": True})
    with pytest.raises(sinterfs.InvalidRequestError, match="exports, padding"):
        sinterfs.build(tree, tmp_path / "z.squashfs", options={"nonsense": 1})


def test_an_option_out_of_range_is_refused(tree, tmp_path):
    for format in ["dwarfs", "squashfs", "erofs", "cramfs", "wim", "iso9660"]:
        with pytest.raises(sinterfs.InvalidRequestError, match="0 to 9"):
            sinterfs.build(tree, tmp_path / "x", format=format, level=10)
    assert not (tmp_path / "x").exists()


def test_layers_hide_each_other(tree, tmp_path):
    upper = tmp_path / "upper"
    upper.mkdir()
    (upper / "hello.txt").write_text("new")
    sinterfs.build([tree, upper], tmp_path / "x.erofs")
    with sinterfs.Image.open(tmp_path / "x.erofs") as image:
        assert image.read_text("hello.txt") == "new"
        assert image.exists("sub/noise")


def test_an_exception_of_the_callback_ends_the_work(tree, tmp_path):
    def refuse(*_):
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        sinterfs.build(tree, tmp_path / "x.dwarfs", progress=refuse)
    assert os.listdir(tmp_path) == []


def test_an_interrupt_ends_the_work(tree, tmp_path):
    script = textwrap.dedent(
        """
        import os, signal, sys, threading, sinterfs
        # a process of the background may have been started with this signal ignored
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def interrupt(stage, *_):
            os.kill(os.getpid(), signal.SIGINT)
        try:
            sinterfs.build(sys.argv[1], sys.argv[2], level=9, progress=interrupt)
        except KeyboardInterrupt:
            sys.exit(42)
        """
    )
    target = tmp_path / "x.dwarfs"
    done = subprocess.run([sys.executable, "-c", script, tree, target], timeout=120)
    assert done.returncode == 42 or done.returncode == -signal.SIGINT
    assert not target.exists()


def test_an_interrupt_ends_a_read(tmp_path):
    (tmp_path / "tree").mkdir()
    # half a second of decoding
    noise = random.Random(1).randbytes(2 << 20)
    (tmp_path / "tree/half").write_bytes(bytes(byte & 15 for byte in noise))
    sinterfs.build(tmp_path / "tree", tmp_path / "x.squashfs", compression="xz")
    script = textwrap.dedent(
        """
        import signal, sys, time, sinterfs
        def interrupt(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, interrupt)
        image = sinterfs.Image.open(sys.argv[1])
        def whole():
            return sum(map(len, image.read_many(["half"] * 20)))
        start = time.perf_counter()
        assert whole() == 20 * (2 << 20)
        full = time.perf_counter() - start
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        start = time.perf_counter()
        try:
            whole()
        except KeyboardInterrupt:
            sys.exit(42 if time.perf_counter() - start < full / 2 else 43)
        """
    )
    done = subprocess.run([sys.executable, "-c", script, tmp_path / "x.squashfs"], timeout=120)
    assert done.returncode == 42


def test_checks_find_damage(path, tmp_path):
    told = []
    report = sinterfs.check(path, deep=True, progress=lambda *stage: told.append(stage))
    assert report.ok and report.problems == [] and report.files >= 50
    cut = tmp_path / "cut"
    cut.write_bytes(path.read_bytes()[:-5000])
    try:
        assert not sinterfs.check(cut, deep=True).ok
    except sinterfs.SinterError as error:
        assert error.filename == str(cut)


def test_differences_of_two_trees(path, tree, tmp_path):
    assert sinterfs.diff(tree, path, ignore=["mtime"]) == []
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", tree, copy], check=True)
    (copy / "hello.txt").write_text("bye")
    (copy / "sub/file-01").write_text("CONTENT 1\n")
    (copy / "added").write_text("this is new")
    os.rename(copy / "sub/noise", copy / "moved")
    os.unlink(copy / "dangling")
    found = {change.path: change for change in sinterfs.diff(path, copy, ignore=["mtime"])}
    assert found["added"].what == "added"
    assert found["dangling"].what == "removed"
    assert (found["sub/noise"].what, found["sub/noise"].new_path) == ("renamed", "moved")
    (field,) = found["hello.txt"].fields
    assert (field.field, field.old, field.new) == ("size", "13", "3")
    assert [field.field for field in found["sub/file-01"].fields] == ["content"]
    with pytest.raises(ValueError, match="no field"):
        sinterfs.diff(path, copy, ignore=["colour"])


def test_other_threads_run_while_work_is_done(tree, tmp_path):
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            done.wait(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        sinterfs.build(tree, tmp_path / "x.dwarfs", level=9)
    finally:
        done.set()
        thread.join()
    assert counted[0] > 2
