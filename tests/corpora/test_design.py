"""Columns that look like sources, by a one-way analysis of variance written out."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from vantage.corpora import Corpus
from vantage.corpora.design import ALIKE, SamplingDesign, _may_be_source, _share, likely_sources
from vantage.errors import InputError
from vantage.instruments import Instrument
from vantage.scales import Scale


def means(groups: list[list[float]]) -> pl.DataFrame:
    rows = [(n, value) for n, group in enumerate(groups) for value in group]
    return pl.DataFrame(rows, schema={"__source": pl.Int64, "value": pl.Float64}, orient="row")


def spread(apart: float, *, sizes: tuple[int, ...] = (4, 6, 5, 7, 3, 5), seed: int = 0) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    return [(apart * rng.normal() + rng.normal(size=size)).tolist() for size in sizes]


def test_the_share_is_that_of_a_one_way_analysis_of_variance() -> None:
    groups = spread(3.0)
    value = np.concatenate(groups)
    n = np.array([len(group) for group in groups])
    freedom = len(value) - len(groups)
    within = sum(float(np.sum((np.array(group) - np.mean(group)) ** 2)) for group in groups) / freedom
    ratio = float(stats.f_oneway(*groups).statistic)
    usual = (len(value) - (n @ n) / len(value)) / (len(groups) - 1)
    apart = within * (ratio - 1) / usual
    assert _share(means(groups)) == pytest.approx(apart / (apart + within))
    # On a scale a thousand times as long, or as short, it is the same.
    for longer in (1000, 0.001):
        scaled = [[longer * v for v in group] for group in groups]
        assert _share(means(scaled)) == pytest.approx(apart / (apart + within))


def test_what_chance_could_bring_is_no_source() -> None:
    assert _share(means(spread(0.0))) == 0.0
    assert float(stats.f_oneway(*spread(0.7, seed=2)).pvalue) > 0.001
    assert _share(means(spread(0.7, seed=2))) == 0.0


def test_answers_that_are_the_same_within_sources() -> None:
    assert _share(means([[float(n)] * 4 for n in range(8)])) == 1.0
    assert _share(means([[2.0] * 4 for _ in range(8)])) == 0.0
    # With an item to each source nothing is known of what lies within.
    assert _share(means([[float(n)] for n in range(8)])) == 0.0


@pytest.mark.parametrize(("share", "likely"), [(ALIKE, ["author"]), (np.nextafter(ALIKE, 0), [])])
def test_a_source_is_likely_from_a_share_on(monkeypatch: pytest.MonkeyPatch, share: float, likely: list[str]) -> None:
    monkeypatch.setattr("vantage.corpora.design._share", lambda _: share)
    items = [f"i{n}" for n in range(40)]
    judgments = {"item": items, "rater": "r", "question": "trust", "value": [1.0, 2.0] * 20, "status": "answered"}
    corpus = Corpus(
        items=pl.DataFrame({"item": items, "text": items, "author": [f"a{n // 4}" for n in range(40)]}),
        raters=pl.DataFrame({"rater": ["r"]}),
        judgments=pl.DataFrame(judgments),
        instruments=Instrument.of_questions("test", "Test", {"trust": Scale.points(1, 5)}),
    )
    assert likely_sources(corpus) == likely


def test_which_columns_may_be_sources() -> None:
    authors = [f"a{n // 4}" for n in range(40)]
    assert _may_be_source(pl.Series("author", authors))
    assert not _may_be_source(pl.Series("text", authors))
    assert not _may_be_source(pl.Series("item", authors))
    assert not _may_be_source(pl.Series("author", np.arange(40) / 4))
    assert not _may_be_source(pl.Series("author", [f"a{n}" for n in range(40)]))


def test_a_design_names_columns_that_are_there() -> None:
    items, raters = pl.DataFrame({"item": ["a"], "author": ["x"]}), pl.DataFrame({"rater": ["r"], "team": ["t"]})
    assert SamplingDesign("author", "team").checked(items, raters).groups == "team"
    with pytest.raises(InputError, match="the items have no column 'writer'"):
        SamplingDesign("writer").checked(items, raters)
    with pytest.raises(InputError, match="the raters have no column 'class'"):
        SamplingDesign(None, "class").checked(items, raters)
