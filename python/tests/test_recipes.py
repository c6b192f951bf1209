"""The recipe of docs/python.md for pictures, as it stands there, with workers."""

from __future__ import annotations

import importlib.util
import multiprocessing
import pathlib
import re
import sys

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
