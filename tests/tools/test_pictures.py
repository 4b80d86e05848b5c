"""The pictures of the README and the documentation are those of their data, and of the pages they show."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageChops

from tools import pictures
from tools.pictures import CHARTS, IMAGES, KEPT, PHOTOGRAPHS, browser, kept, photographed, published

FAR = 12
"""So many steps of brightness, of 255, may parts of a picture differ between fonts and versions of Chromium."""


@pytest.fixture(scope="module")
def opened() -> Iterator[Callable[..., Any]]:
    if shutil.which("chromium") is None:
        pytest.skip("there is no Chromium on this machine")
    with browser() as open_:
        yield open_


@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_a_photograph_shows_the_page_as_it_is(name: str, opened: Callable[..., Any]) -> None:
    picture, words = photographed(name, opened)
    assert words == (KEPT / f"{name}.txt").read_text("utf-8"), "run: make reference"
    now, then = (Image.open(one).convert("L") for one in (io.BytesIO(picture), IMAGES / f"{name}.png"))
    assert now.size == then.size
    # What a reader sees from afar: where things are, and how dark.
    small = (now.width // 40, now.height // 40)
    apart = np.asarray(ImageChops.difference(now.resize(small), then.resize(small))).max()
    assert apart <= FAR, "run: make reference"


def test_every_picture_is_made_by_something(tmp_path: Path) -> None:
    from tools.reference import PAGES

    made = {Path(name).name for name in PAGES if name.startswith("images/")} | {f"{name}.png" for name in PHOTOGRAPHS}
    assert {path.name for path in IMAGES.iterdir() if path.is_file()} == made
    assert {path.name for path in KEPT.iterdir()} == {
        *(f"{name}.json" for name in (*CHARTS, "report")),
        *(f"{name}.txt" for name in PHOTOGRAPHS),
    }


def test_what_is_kept_of_a_chart_gives_the_same_chart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept("raters")
    monkeypatch.setattr(pictures, "KEPT", tmp_path)
    pictures.keep("raters", before)
    after = pictures.kept("raters")
    assert after.data.equals(before.data)
    assert (after.chart, after.options) == (before.chart, before.options)
    assert pictures.chart("raters") == (IMAGES / "raters.svg").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planted", "raters"])
def test_figures_of_the_readme_are_those_of_the_demo(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = kept(name)
    monkeypatch.setattr(pictures, "KEPT", tmp_path)
    pictures.keep(name, CHARTS[name]())
    now = pictures.kept(name)
    assert now.options == known.options
    assert list(now.data.rows()) == [
        tuple(pytest.approx(cell, abs=1e-4) if isinstance(cell, float) else cell for cell in row)
        for row in known.data.rows()
    ]


@pytest.mark.slow
@pytest.mark.data
def test_the_published_figures_of_the_readme_are_those_of_the_study(data_dir: Path) -> None:
    assert data_dir.is_dir()
    assert published().write_json() + "\n" == (KEPT / "report.json").read_text("utf-8")
