from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.raters.models.endpoint import Endpoint
from tests.runs.test_rating import answering
from vantage import Corpus, InputError, demo_corpus, rate
from vantage.corpora.readers import load
from vantage.runs.reparse import reparse

from .conftest import MakePlan, corpus


def test_replies_are_read_again_and_only_what_differs_changes(endpoint: Endpoint, plan: MakePlan) -> None:
    rater = plan(1).parts[0].rater
    rated = rate(corpus(4), rater, "warmth-competence", questions=["trust"])
    assert reparse(rated).changes.is_empty()
    # As an older parser would have left them.
    worse = rated.judgments.with_columns(
        pl.when(pl.col("item") < "i0002").then(None).otherwise("value").alias("value"),
        pl.when(pl.col("item") < "i0002").then(pl.lit("unparsed")).otherwise("status").alias("status"),
        pl.lit("older").alias("rule"),
    )
    done = reparse(Corpus(rated.items, rated.raters, worse, rated.instruments))
    assert done.read == 4
    assert done.changes["item"].to_list() == ["i0000", "i0001"]
    assert done.changes.row(0, named=True) | {"reply": "2"} == done.changes.row(0, named=True)
    assert done.corpus.judgments.equals(rated.judgments)


@pytest.mark.parametrize("style", ["two-step", "together", "together+reasoning", "json+reasoning", "coarse"])
def test_every_style_reads_the_same_again(endpoint: Endpoint, plan: MakePlan, style: str) -> None:
    endpoint.reply = answering
    part = plan(3, style, ()).parts[0]
    rated = rate(part.corpus, part.rater, "warmth-competence")
    done = reparse(rated)
    assert done.read == 9
    assert done.corpus.judgments.equals(rated.judgments)


def test_a_corpus_without_replies_is_told() -> None:
    with pytest.raises(InputError, match="no column 'reply'"):
        reparse(demo_corpus())


@pytest.mark.data
def test_published_replies_are_read_with_our_parser(data_dir: Path) -> None:
    published = load("appraisals", str(data_dir / "appraisals"))
    done = reparse(published)
    assert done.read > 20_000
    # The authors count only a bare number; ours reads more, and takes back what says two things.
    gained = done.changes.filter(pl.col("status_now") == "answered").height
    assert gained > 0
    answered = [c.judgments.filter(status="answered").height for c in (published, done.corpus)]
    assert answered[1] > answered[0]
