"""Variances of answers in presentations: the same as from the whole covariance, for few items and for many."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulators import presented
from vantage import measures
from vantage.measures.codes import dense
from vantage.measures.models.crossed import Crossed
from vantage.measures.models.gaussian import Gaussian
from vantage.measures.variance.item_blocks import ItemBlocks


@pytest.mark.parametrize("seed", range(4))
def test_with_gaps_they_are_those_of_the_whole_covariance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    item, order, wording, _ = (grid.ravel() for grid in np.indices((25, 2, 3, 2)))
    kept = rng.permutation(rng.random(len(item)) < 0.6)
    item, order, wording = dense(item[kept])[0], order[kept], wording[kept]
    inside = dense(item * 3 + wording)[0]
    value = rng.normal(size=25)[item] + rng.normal(size=2)[order] + 0.7 * rng.normal(size=(25, 3))[item, wording]
    value += 0.5 * rng.normal(size=len(item))
    blocks = ItemBlocks.of(value, item, [item, inside], [order, wording])
    whole = Gaussian(value, np.ones((len(value), 1)), Crossed([item, inside, order, wording])).fit(np.ones(4))
    found = blocks.variances()
    assert found == pytest.approx(whole.variances, rel=1e-4, abs=1e-5)
    assert blocks.profiled(np.sqrt(found[:-1] / found[-1]))[0] == pytest.approx(whole.deviance, abs=1e-6)


def test_many_items_have_the_variances_that_were_planted() -> None:
    rows = measures.reliability(
        presented(np.random.default_rng(0), 5_000), by="rater", presentations=True, show="components", ci="none"
    )
    found = dict(rows.select("component", "variance").iter_rows())
    planted = {
        "item": 1.0,
        "order": 0.08,
        "wording": 0.19 / 3,
        "item × order": 0.25,
        "item × wording": 0.16,
        "order × wording": 0.0,
        "residual": 0.49,
    }
    assert found == pytest.approx(planted, rel=0.06, abs=0.004)
