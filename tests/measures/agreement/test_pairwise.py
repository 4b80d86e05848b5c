"""Pairwise agreement and differences between raters, against their definitions."""

from __future__ import annotations

from itertools import chain, combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from irrCAC.raw import CAC
from numpy.typing import NDArray
from pandas import DataFrame

from vantage.errors import InputError
from vantage.measures.agreement.pairwise import difference, pairwise
from vantage.measures.intervals import wilson
from vantage.scales import Band, Scale

N = float("nan")
Table = NDArray[np.float64]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    shape = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    elements = st.sampled_from([-2.0, -1.0, 0.0, 1.0, 2.0, N])
    table: Table = draw(arrays(np.float64, shape, elements=elements))
    return table


def items_of(table: Table) -> list[list[float]]:
    items = [[float(v) for v in column if not np.isnan(v)] for column in table.T]
    return [item for item in items if len(item) > 1]


@pytest.mark.parametrize("coarse", [False, "sign"])
@pytest.mark.parametrize("over", ["items", "pairs"])
@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_agreement_equals_the_definition(coarse: Any, over: Any, table: Table) -> None:
    found = pairwise(table, coarse=coarse, over=over, resamples=10).row(0, named=True)
    items = items_of(np.sign(table) if coarse else table)
    if not items:
        assert found["estimate"] is None
        assert found["reason"] == "no item has answers from two raters"
        return
    agreed = [[a == b for a, b in combinations(item, 2)] for item in items]
    expected = np.mean([np.mean(a) for a in agreed]) if over == "items" else np.mean(list(chain(*agreed)))
    assert found["estimate"] == pytest.approx(expected)
    if len(items) > 1:
        assert found["low"] <= found["estimate"] <= found["high"] or found["low"] is None


@pytest.mark.parametrize("sd", ["sample", "population"])
@given(table=tables())
@settings(max_examples=25, deadline=None)
def test_differences_equal_the_definition(sd: Any, table: Table) -> None:
    apart, spread = difference(table, sd=sd, ci="none").iter_rows(named=True)
    items = items_of(table)
    assert (apart["statistic"], spread["statistic"]) == ("mean absolute difference", "standard deviation")
    if not items:
        assert apart["estimate"] is spread["estimate"] is None
        return
    expected = np.mean([np.mean([abs(a - b) for a, b in combinations(item, 2)]) for item in items])
    assert apart["estimate"] == pytest.approx(expected)
    assert spread["estimate"] == pytest.approx(np.mean([np.std(item, ddof=sd == "sample") for item in items]))


def test_percent_agreement_equals_the_peer() -> None:
    rng = np.random.default_rng(1)
    table = rng.integers(1, 4, (4, 50)).astype(float)
    table[rng.random(table.shape) < 0.3] = N
    peer = CAC(DataFrame(table.T), digits=12).fleiss()["est"]["pa"]
    assert pairwise(table, ci="none")["estimate"][0] == pytest.approx(peer, abs=1e-9)


def test_pooled_pairs_weigh_items_by_their_answers() -> None:
    votes: list[list[float]] = [[1, 1], [1, 2], [1, N]]
    assert pairwise(votes, ci="none")["estimate"][0] == pytest.approx(0.5)
    assert pairwise(votes, over="pairs", ci="none")["estimate"][0] == pytest.approx(0.75)


def test_many_scale_points() -> None:
    rng = np.random.default_rng(2)
    table = rng.integers(0, 101, (5, 60)).astype(float)
    apart, spread = difference(table, resamples=20)["estimate"]
    pairs = [abs(a - b) for a, b in combinations(table, 2)]
    assert apart == pytest.approx(np.mean(pairs))
    assert spread == pytest.approx(table.std(axis=0, ddof=1).mean())
    assert pairwise(table, resamples=20)["estimate"][0] == pytest.approx(np.mean(np.array(pairs) == 0))


class OneQuestion:
    """What the measures need of a corpus."""

    def __init__(self, scale: Scale, values: list[float]) -> None:
        self.id, self.scale, self.questions = "mood", scale, [self]
        self.frame = pl.DataFrame({"item": [1, 1, 2, 2], "rater": [*"abab"], "question": ["mood"] * 4, "value": values})

    def with_columns_of(self, by: Any) -> pl.DataFrame:
        return self.frame


def test_bands_of_the_scale() -> None:
    bands = [Band("low", below=3), Band("high", at_least=3)]
    banded: Any = OneQuestion(Scale.points(1, 5, bands=bands), [1.0, 2.0, 2.0, 3.0])
    assert pairwise(banded, coarse=True, ci="none")["estimate"][0] == 0.5
    # Of two raters none can be left out.
    assert pairwise(banded, coarse=True, ci="raters").select("low", "high").row(0) == (None, None)
    plain: Any = OneQuestion(Scale.points(1, 5), [1.0, 2.0, 2.0, 3.0])
    with pytest.raises(InputError, match="question 'mood' has no bands"):
        pairwise(plain, coarse=True)
    nominal: Any = OneQuestion(Scale.labels("a", "b", "c"), [0.0, 1.0, 2.0, 1.0])
    with pytest.raises(InputError, match="nominal scale"):
        difference(nominal)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coarse": True}, "does not say its coarse bands"),
        ({"coarse": "thirds"}, "cannot be coarsened by 'thirds'"),
        ({"over": "raters"}, "over 'raters' is not known"),
        ({"ci": "people"}, "no interval over 'people'"),
    ],
)
def test_bad_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        pairwise([[1, 2], [1, 2]], **options)


def test_units_that_all_agree_alike_are_no_certainty() -> None:
    # On every item two of three raters agree, which is a third of the pairs.
    row = pairwise([[1, 1, 2, 1, 2, 1], [1, 1, 2, 2, 1, 2], [2, 2, 1, 1, 1, 1]], ci="items").row(0, named=True)
    assert row["estimate"] == pytest.approx(1 / 3)
    assert (row["low"], row["high"]) == pytest.approx(wilson(2, 6, 0.95))
