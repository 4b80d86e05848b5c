"""What rules save beside an oracle, and that the core is unbiased where pooling is not."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.adaptive import UNSAFE, biased, compared, counts_of, drawn_answers, known, mean_saved, table_of
from benchmarks.calibration import dices
from vantage.adaptive.simulated import error_saved, followed, oracle_ratings, worth
from vantage.adaptive.until import Until, needed
from vantage.measures.ratings import Floats


def test_the_oracle_gives_each_item_what_it_needs() -> None:
    shares = np.array([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0], [0.2, 0.8]])
    wanted = [needed(0.3, share) for share in (0.5, 0.1, 0.0, 0.2)]
    assert oracle_ratings(shares, 0.3).tolist() == wanted


def test_the_oracles_savings_are_those_of_the_best_allocation() -> None:
    from scipy.optimize import minimize

    shares = np.random.default_rng(0).dirichlet([1.0, 1.0], size=6)

    def error_of(n: Floats) -> float:
        return float((np.sqrt(shares * (1 - shares)).sum(axis=1) / np.sqrt(n)).sum())

    def variance_of(n: Floats) -> float:
        return float((shares.prod(axis=1) / n).sum())

    even = np.full(6, 10.0)
    # An error falls with the root of the number of ratings, a variance with the number.
    for saved, loss, power in (
        (error_saved(shares), error_of, 2),
        (mean_saved(shares, np.array([0.0, 1.0])), variance_of, 1),
    ):
        total = {"type": "eq", "fun": lambda n: n.sum() - 60}
        best = minimize(loss, even, bounds=[(0.1, 60)] * 6, constraints=total).fun
        assert 1 - (best / loss(even)) ** power == pytest.approx(saved, abs=1e-3)


@pytest.mark.slow
def test_a_rule_reaches_two_thirds_of_what_an_oracle_saves_on_dices() -> None:
    frame = dices()
    if frame is None:
        pytest.skip("DICES is not there")
    table = (table_of(frame) == UNSAFE).astype(np.int64)
    shares = counts_of(table, 2) / table.shape[1]
    for rule in ("width 0.3", "width 0.4"):
        found = compared(shares, lambda rng: rng.permuted(table, axis=1), rule, 2)
        assert 0.25 <= found.oracle_saved <= 0.30
        assert found.saved >= found.oracle_saved * 2 / 3
        held, _, near = known(shares, np.random.default_rng(0).permuted(table, axis=1), Until.parse(rule))
        assert held >= 0.93
        assert near >= 0.9
    assert 0.01 <= error_saved(shares) <= 0.03


def test_a_rule_stops_between_the_least_and_the_most() -> None:
    rng = np.random.default_rng(1)
    share = rng.beta(0.3, 0.3, size=200)
    draws = drawn_answers(np.column_stack([1 - share, share]), 20, rng)
    given = followed(draws, Until.parse("width 0.4"), 3, 2)
    assert given.min() >= 5, "nothing is known to 0.4 with fewer ratings"
    assert given.max() == 20
    split = np.abs(share - 0.5) < 0.2
    assert given[split].mean() > given[~split].mean() + 3


@pytest.mark.slow
def test_items_that_are_all_alike_are_not_worth_it() -> None:
    rng = np.random.default_rng(2)
    alike, clear = (rng.beta(s * 0.4, s * 0.6, size=150) for s in (80.0, 0.5))
    for share, expected in ((alike, False), (clear, True)):
        counts = counts_of(drawn_answers(np.column_stack([1 - share, share]), 8, rng), 2)
        row = worth(counts, [Until.parse("width 0.3")]).row(0, named=True)
        assert row["worth"] is expected
        assert row["sentence"].startswith("Adapting is worth it" if expected else "Adapting is not worth it")


@pytest.mark.slow
def test_the_core_is_unbiased_where_pooling_is_not() -> None:
    rng = np.random.default_rng(3)
    share = rng.beta(0.5, 1.5, size=350)
    table = drawn_answers(np.column_stack([1 - share, share]), 123, rng)
    rows = {(row["measure"], row["ratings"]): row for row in biased(table, 60, resamples=100)}
    core, pooled = rows["alpha", "the core"], rows["alpha", "all pooled"]
    assert abs(float(core["bias"])) < 0.02
    assert float(core["coverage"]) > 0.88
    assert float(pooled["bias"]) < -0.03
    assert float(pooled["coverage"]) < float(core["coverage"])
    assert abs(float(rows["share unsafe", "the core"]["bias"])) < 0.02
    assert abs(float(rows["share unsafe", "mean of all ratings"]["bias"])) > 0.02
