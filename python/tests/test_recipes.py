"""Recipes of the documents, as they stand there: pictures for workers, a bar of progress."""

from __future__ import annotations

import importlib.util
import multiprocessing
import pathlib
import re
import sys
import types

import pytest
import sinterfs

DOCS = pathlib.Path(__file__).parents[2] / "docs/python.md"


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """Return the recipe as a module that workers can import."""
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if "class Pictures" in block]
    (tmp_path / "recipe.py").write_text(block + "\n\ndef get(pair):\n    return pair[0][pair[1]]\n")
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.spec_from_file_location("recipe", tmp_path / "recipe.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["recipe"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["recipe"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_pictures_come_from_workers(recipe, tmp_path, method):
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    for number in range(20):
        made = recipe.Image.new("RGB", (16, 8), (number, 2 * number, 3))
        made.save(pictures / f"{number:02}.png")
    (pictures / "labels.txt").write_text("none")
    sinterfs.build(pictures, tmp_path / "pictures.dwarfs")
    dataset = recipe.Pictures(tmp_path / "pictures.dwarfs")
    assert len(dataset) == 20
    with multiprocessing.get_context(method).Pool(2) as pool:
        pairs = [(dataset, index) for index in range(20)]
        for number, picture in enumerate(pool.map(recipe.get, pairs)):
            assert picture.size == (16, 8)
            assert picture.getpixel((0, 0)) == (number, 2 * number, 3)


class Bar:
    """What the recipe uses of tqdm."""

    def __init__(self, **_):
        self.desc, self.n, self.total, self.seen = "", 0, None, []

    def __enter__(self):
        Bar.last = self
        return self

    def __exit__(self, *_):
        pass

    def set_description(self, desc, refresh):
        self.desc = desc

    def reset(self):
        self.n = 0

    def update(self, more):
        self.n += more
        assert self.n >= 0
        assert self.total is None or self.n <= self.total
        self.seen.append((self.desc, self.n))


def test_the_first_steps_run(tmp_path, monkeypatch):
    (tmp_path / "DIR/sub").mkdir(parents=True)
    (tmp_path / "DIR/sub/a.txt").write_text("a" * 1000)
    text = (DOCS.parent / "guides/python.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    first, bar = [block for block in blocks if "pandas" not in block]
    names = {}
    exec(first, names)
    assert names["image"].read_text("sub/a.txt") == (tmp_path / "out/sub/a.txt").read_text()
    (tmp_path / "dir.dwarfs").unlink()
    exec(bar, names)
    assert ("compress", 1000) in Bar.last.seen
