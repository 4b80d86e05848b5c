from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.report.reports import HOSTILE
from vantage import Corpus, Instrument, Scale, demo_corpus, perspective
from vantage.corpora import About
from vantage.notebook import html

TAGS = {
    *("div", "b", "span", "p", "table", "thead", "tbody", "tr", "th", "td", "details", "summary", "ol", "ul", "li"),
}


class Seen(HTMLParser):
    """The tags of a piece of HTML, all of them closed in order, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_text_is_given_only_our_own_tags_come_out(one: str, other: str) -> None:
    made = html.block(one, html.line(other), html.grid([one, "n"], [[other, 1]]), html.listed([one]), note=other)
    seen = Seen(html.folded(one, made))
    assert seen.tags <= TAGS
    assert seen.attributes <= {"style"}


def hostile() -> Corpus:
    return Corpus(
        items=pl.DataFrame(
            {"item": [HOSTILE], "text": [HOSTILE], HOSTILE: [None]}, schema_overrides={HOSTILE: pl.Int64}
        ),
        raters=pl.DataFrame({"rater": ["r"]}),
        judgments=pl.DataFrame({"item": [HOSTILE], "question": "<i>", "rater": ["r"], "value": [1.0]}),
        instruments=Instrument.of_questions("mine", HOSTILE, {"<i>": Scale.labels("no", "</td><script>")}),
        about=About(name="x", title=HOSTILE, notes=(HOSTILE,)),
    )


@pytest.mark.parametrize("shown", [hostile(), hostile().instruments[0], demo_corpus(), Instrument.load("appraisals")])
def test_corpora_and_instruments_show_themselves(shown: Corpus | Instrument) -> None:
    text = shown._repr_html_()
    # marimo refuses anything but plain text.
    assert type(text) is str
    seen = Seen(text)
    assert seen.tags <= TAGS
    assert len(text) < 40_000
    title = shown.about.title if isinstance(shown, Corpus) else shown.title
    assert " ".join(title.split())[:20] in seen.text


def test_a_corpus_on_disk_is_shown_without_reading_its_judgments(tmp_path: Path) -> None:
    corpus = Corpus.read(demo_corpus().write(tmp_path / "c"))
    assert "The baker" in corpus._repr_html_()
    assert "judgments" not in corpus._tables


def test_splits_and_evaluations_show_themselves() -> None:
    corpus = demo_corpus()
    split = perspective.split(corpus, question="trust")
    seen = Seen(split._repr_html_())
    assert "annotations" in seen.text
    assert f"{len(split.train):,}" in seen.text
    predicted = split.test.select("item", "rater", "value")
    text = perspective.evaluate(predicted, split, resamples=0)._repr_html_()
    assert type(text) is str
    assert Seen(text).tags <= TAGS
    assert "macro" in text
