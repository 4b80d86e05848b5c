from __future__ import annotations

import importlib.util
from importlib import resources
from pathlib import Path

import polars as pl

from vantage import demo_corpus

TOOL = Path(__file__).resolve().parents[2] / "tools" / "make_demo_corpus.py"


def test_the_bundled_file_is_what_the_tool_writes() -> None:
    spec = importlib.util.spec_from_file_location("make_demo_corpus", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    with resources.as_file(resources.files("vantage.corpora.bundled") / "demo.csv") as path:
        assert pl.read_csv(path).equals(tool.ratings()), "run: python tools/make_demo_corpus.py"


def test_the_demo_corpus_is_sound_and_says_what_it_is() -> None:
    corpus = demo_corpus()
    assert (corpus.items.height, corpus.raters.height) == (30, 9)
    assert corpus.items["target"].n_unique() == 6
    assert "synthetic" in corpus.about.title
    assert any("synthetic" in note for note in corpus.about.notes)
