"""Regression of judgments on item columns: against ppi-python, statsmodels, and designs with known coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy.optimize import minimize, root

import vantage
from tests.measures.powered.peer import ppi_python
from vantage.errors import InputError


def table(
    n: int = 800, judged: int = 200, seed: int = 0, *, logistic: bool = True
) -> tuple[pl.DataFrame, Any, Any, Any]:
    """Judgments of one person and a model, with the columns, the answers and the model's."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.normal(size=n), rng.integers(0, 2, n)])
    latent = 0.4 + x @ [0.8, -0.6] + (rng.logistic(size=n) if logistic else rng.normal(size=n))
    said = latent + rng.normal(size=n)
    y, f = ((latent > 0) * 1.0, (said > 0) * 1.0) if logistic else (latent, said)
    columns = {"item": np.arange(n), "length": x[:, 0], "quoted": x[:, 1]}
    every = pl.DataFrame({**columns, "rater": "bot", "kind": "model", "value": f})
    people = pl.DataFrame({**columns, "rater": "ann", "kind": "person", "value": y})[:judged]
    return pl.concat([every, people]), np.column_stack([np.ones(n), x]), y, f


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:'penalty' was deprecated:FutureWarning")
@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_coefficients_are_those_of_ppi_python(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ppi = ppi_python()

    def to_the_end(loss: Any, start: Any, *, jac: Any, **options: Any) -> Any:
        """The peer's minimiser stops when its loss hardly falls; its gradient is followed until it is 0."""
        found = minimize(loss, start, jac=jac, **options)
        found.x = root(jac, found.x, tol=1e-15).x
        return found

    monkeypatch.setattr("ppi_py.ppi.minimize", to_the_end)
    frame, x, y, f = table(logistic=family == "logistic")
    both = vantage.measures.regress(frame, on=["length", "quoted"], powered_by="bot").filter(judged_by="both")
    inputs = (x[:200], y[:200], f[:200], x[200:], f[200:])
    lam = both["lambda"][0]
    if family == "logistic":
        estimate = ppi.ppi_logistic_pointestimate(*inputs)
        low, high = ppi.ppi_logistic_ci(*inputs, alpha=0.05, lam=lam)
    else:
        estimate = ppi.ppi_ols_pointestimate(*inputs)
        low, high = ppi.ppi_ols_ci(*inputs, alpha=0.05, lam=lam)
    assert both["estimate"].to_numpy() == pytest.approx(estimate, abs=1e-9)
    # Ours allow for items that draw the fit to themselves, and for few of them.
    longer = (both["high"] - both["low"]).to_numpy() / (high - low)
    assert longer.min() > 1
    assert longer.max() < 1.04
    assert 0 < lam < 1


@pytest.mark.parametrize("family", ["logistic", "linear"])
def test_people_alone_are_the_plain_regression(family: str) -> None:
    frame, x, y, _ = table(logistic=family == "logistic")
    people = vantage.measures.regress(frame, on=["length", "quoted"], powered_by="bot").filter(judged_by="people")
    plain = vantage.measures.regress(frame.filter(kind="person"), on=["length", "quoted"])
    for name in ("term", "estimate", "se", "p", "low", "high"):
        assert people[name].to_list() == plain[name].to_list()
    model = sm.Logit(y[:200], x[:200]).fit(disp=0) if family == "logistic" else sm.OLS(y[:200], x[:200]).fit()
    assert plain["estimate"].to_numpy() == pytest.approx(model.params, abs=1e-8)
    if family == "logistic":
        robust = sm.Logit(y[:200], x[:200]).fit(disp=0, cov_type="HC0").bse
        assert plain["se"].to_numpy() == pytest.approx(robust, rel=0.04)
    else:
        assert plain["se"].to_numpy() == pytest.approx(model.get_robustcov_results("HC3").bse, rel=0.005)


def test_few_items_show_no_more_than_chance() -> None:
    found = []
    for seed in range(60):
        x, y = np.random.default_rng(seed).normal(size=(2, 10))
        frame = pl.DataFrame({"item": range(10), "rater": "r", "value": y, "x": x})
        found.append(vantage.measures.regress(frame, on="x", family="linear")["p"][1] < 0.05)
    assert sum(found) <= 6  # 12 by normal quantiles and White's standard errors


def test_known_probabilities_mend_what_chosen_items_bias() -> None:
    frame, _, _, f = table(n=4000, judged=4000, seed=2)
    truth = vantage.measures.regress(frame.filter(kind="person"), on="length").filter(term="length")["estimate"][0]
    rng = np.random.default_rng(1)
    # People were asked more about items whose answer the model and the column predict together.
    length = frame.filter(kind="model")["length"].to_numpy()
    chance = np.where((f == 1) == (length > 0), 0.5, 0.05)
    drawn = np.flatnonzero(rng.random(4000) < chance)
    sample = frame.join(pl.DataFrame({"item": np.arange(4000), "chance": chance}), on="item").filter(
        (pl.col("kind") == "model") | pl.col("item").is_in(drawn)
    )
    biased = vantage.measures.regress(sample, on="length", powered_by="bot").filter(term="length")
    mended = vantage.measures.regress(sample, on="length", powered_by="bot", probability="chance").filter(term="length")
    for who in ("people", "both"):
        row = mended.row(by_predicate=pl.col("judged_by") == who, named=True)
        assert row["low"] < truth < row["high"]
        wrong = biased.row(by_predicate=pl.col("judged_by") == who, named=True)
        assert not wrong["low"] < truth < wrong["high"]
    widths = {row["judged_by"]: row["high"] - row["low"] for row in mended.iter_rows(named=True)}
    assert widths["both"] < widths["people"]


def test_words_are_compared_with_the_first_and_raters_widen() -> None:
    rng = np.random.default_rng(0)
    item, rater = (grid.ravel() for grid in np.indices((60, 12)))
    genre = np.array(["blog", "news", "tweet"])[item % 3]
    value = (genre == "news") + rng.normal(size=60)[item] + rng.normal(size=12)[rater] + rng.normal(size=720)
    frame = pl.DataFrame({"item": item, "rater": rater, "genre": genre, "value": value})
    both = vantage.measures.regress(frame, on="genre")
    assert both["term"].to_list() == ["constant", "genre: news", "genre: tweet"]
    assert both["over"].unique().to_list() == ["both"]
    items = vantage.measures.regress(frame, on="genre", ci="items")
    # Raters who answer higher do so for every genre: they move the constant, not the difference.
    assert both["se"][0] > 1.3 * items["se"][0]
    assert both["se"][1] == pytest.approx(items["se"][1], rel=0.1)


def test_what_cannot_be_estimated_says_why() -> None:
    frame, *_ = table(judged=60)
    people = frame.filter(kind="person").with_columns(split=pl.col("value"), same=pl.lit(1.0), word=pl.lit("a"))
    assert "separates the two answers perfectly" in vantage.measures.regress(people, on="split")["reason"][0]
    assert "collinear" in vantage.measures.regress(people, on="same", family="linear")["reason"][0]
    with pytest.raises(InputError, match="no columns to regress on"):
        vantage.measures.regress(people, on=[])
    with pytest.raises(InputError, match="no column 'lenght'"):
        vantage.measures.regress(people, on="lenght")
    twice = people.with_columns(item=pl.lit(1))
    with pytest.raises(InputError, match="item '1' has several values of length"):
        vantage.measures.regress(twice, on="length")
    gaps = people.with_columns(length=pl.when(pl.col("item") < 5).then(None).otherwise("length"))
    found = vantage.measures.regress(gaps, on="length")
    assert (found["items"][0], found["left_out"][0]["without_columns"]) == (55, 5)
