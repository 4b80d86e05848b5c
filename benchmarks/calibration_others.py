"""Cases of benchmarks/calibration_models.py beyond models of ratings: comparisons, sets, panels and G-studies."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np
import polars as pl

from benchmarks.planning import judges
from vantage.corpora.tuples import design
from vantage.measures import scaling, scaling_split_half, set_alpha
from vantage.measures.audits.g_study import g_study
from vantage.measures.panels.panel import panel

MEMBERS, TASTE = 30, 0.5
VALUES = np.random.default_rng(99).normal(0, 1.2, MEMBERS)
"""How good the texts are that are compared; each rater likes each of them more or less, with this deviation."""


def within(rows: pl.DataFrame, truth: Any) -> float:
    """The share of intervals that hold the truth; one that is not given holds nothing."""
    low, high = (rows[name].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in ("low", "high"))
    return float(((low <= truth) & (truth <= high)).mean())


def chosen(rng: np.random.Generator, tuples: Any, raters: int, each: int = 4) -> pl.DataFrame:
    """Best and worst of each tuple, by so many of the raters."""
    liked = VALUES + TASTE * rng.normal(size=(raters, MEMBERS))
    unit = np.repeat(np.arange(len(tuples)), each)
    rater = np.argsort(rng.random((len(tuples), raters)), axis=1)[:, :each].ravel()
    felt = liked[rater[:, None], tuples[unit]] + rng.gumbel(size=(len(unit), tuples.shape[1]))
    about = {"item": unit, "rater": rater}
    about |= {f"item_{place + 1}": np.char.add("t", tuples[unit, place].astype(str)) for place in range(4)}
    return pl.concat(
        pl.DataFrame({**about, "question": name, "value": (choose(felt, axis=1) + 1).astype(float)})
        for name, choose in (("best", np.argmax), ("worst", np.argmin))
    )


@cache
def true_scores(method: Any) -> dict[str, float]:
    """The scores of the texts in many tuples, each judged by raters of its own."""
    rng = np.random.default_rng(1)
    tuples = np.argsort(rng.random((4000, MEMBERS)), axis=1)[:, :4]
    rows = scaling(chosen(rng, tuples, 400), method=method, ci="none")
    return dict(rows.select("member", "estimate").iter_rows())


def compared(seed: int, raters: int) -> pl.DataFrame:
    """Best and worst of tuples in which every text stands eight times."""
    return chosen(np.random.default_rng([seed, 2]), np.array(design(MEMBERS, 4, 8, seed)), raters)


def scored(seed: int, method: Any, raters: int) -> dict[str, float]:
    """The intervals of all texts."""
    rows = scaling(compared(seed, raters), method=method, ci="both", resamples=200, seed=seed)
    truth = true_scores(method)
    return {"score, held": within(rows, np.array([truth[name] for name in rows["member"]]))}


@cache
def true_reliability(raters: int) -> float:
    """What the reliability of such scores is on average."""
    rows = [scaling_split_half(compared(10_000 + n, raters), ci="none", splits=20)["estimate"][0] for n in range(200)]
    return float(np.mean(rows))


def halved(seed: int, raters: int) -> dict[str, float]:
    """The interval of the reliability of scores."""
    rows = scaling_split_half(compared(seed, raters), splits=20, seed=seed)
    return {"reliability, held": within(rows, true_reliability(raters))}


def sets(rng: np.random.Generator, items: int, raters: int, each: int) -> pl.DataFrame:
    """Which of four options apply; raters are stricter or milder about each."""
    item = np.repeat(np.arange(items), each)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :each].ravel()
    shape = (len(item), 4)
    value = rng.normal(size=(items, 4))[item] + 0.5 * rng.normal(size=(raters, 4))[rater] + rng.normal(size=shape)
    return pl.concat(
        pl.DataFrame(
            {"item": item, "rater": rater, "question": f"mood.{n}", "value": (value[:, n] > 0.3).astype(float)}
        )
        for n in range(4)
    )


@cache
def true_alpha() -> float:
    """Alpha of a table of many items and raters."""
    return float(set_alpha(sets(np.random.default_rng(1), 6000, 1500, 4), ci="none")["estimate"][0])


def agreed(seed: int, items: int, raters: int) -> dict[str, float]:
    """The interval of alpha of sets, over both."""
    rows = set_alpha(sets(np.random.default_rng([seed, 3]), items, raters, 4), ci="both", resamples=200, seed=seed)
    return {"alpha, held": within(rows, true_alpha())}


@cache
def true_votes(correlation: float, members: int) -> tuple[float, float]:
    """Effective votes and mean error correlation of such models on many items."""
    whole = panel(judges(np.random.default_rng(1), 20_000, correlation, members), level="ordinal", ci="none")
    return float(whole["estimate"][0]), float(whole["correlation"][0])


def voted(seed: int, correlation: float, members: int, items: int) -> dict[str, float]:
    """The intervals of effective votes and of error correlations."""
    data = judges(np.random.default_rng([seed, members]), items, correlation, members)
    votes, pairs = true_votes(correlation, members)
    matrix = panel(data, level="ordinal", show="matrix", seed=seed).drop_nulls("low")
    return {
        "votes, held": within(panel(data, level="ordinal", seed=seed), votes),
        "error correlation, held": within(matrix, pairs),
    }


def presented(rng: np.random.Generator, items: int) -> pl.DataFrame:
    """Answers of a model in two orders and three wordings, twice each."""
    item, order, wording, sample = (grid.ravel() for grid in np.indices((items, 2, 3, 2)))
    value = rng.normal(size=items)[item] + 0.4 * order + np.array([0.0, 0.3, -0.2])[wording]
    value = value + 0.5 * rng.normal(size=(items, 2))[item, order] + 0.4 * rng.normal(size=(items, 3))[item, wording]
    shown = np.array([f"order={o} wording={w}" for o in ("up", "down") for w in (1, 2, 3)])[order * 3 + wording]
    return pl.DataFrame(
        {"item": item, "rater": "model", "sample": sample, "presentation": shown,
         "value": value + 0.7 * rng.normal(size=len(item))}
    )  # fmt: skip


@cache
def true_shares(show: Any) -> pl.DataFrame:
    """The shares and reliabilities of many items in these presentations."""
    return g_study(presented(np.random.default_rng(1), 20_000), show=show, ci="none")


def generalized(seed: int, items: int) -> dict[str, float]:
    """The intervals of the components and of the reliabilities of a G-study."""
    data = presented(np.random.default_rng([seed, 4]), items)
    rows, truth = g_study(data), true_shares("components")
    found = {
        f"share of {name}, held": within(rows.filter(component=name), truth.filter(component=name)["estimate"][0])
        for name in rows["component"]
    }
    rows, truth = g_study(data, show="reliability"), true_shares("reliability")
    ends = rows.select(low="dependability_low", high="dependability_high")
    found["reliability, held"] = within(rows[1:2], truth["estimate"][1])
    return found | {"dependability, held": within(ends[1:2], truth["dependability"][1])}


CASES: dict[str, tuple[Callable[[int], dict[str, float]], int]] = {
    "best–worst scaling, 12 raters": (partial(scored, method="counts", raters=12), 1),
    "best–worst scaling, 30 raters": (partial(scored, method="counts", raters=30), 1),
    "Bradley–Terry, 30 raters": (partial(scored, method="bradley-terry", raters=30), 5),
    "split-half of scaling, 12 raters": (partial(halved, raters=12), 1),
    "split-half of scaling, 30 raters": (partial(halved, raters=30), 1),
    "set-alpha, 20 raters": (partial(agreed, items=80, raters=20), 1),
    "set-alpha, 60 raters": (partial(agreed, items=150, raters=60), 1),
    "panel, 3 models, 150 items": (partial(voted, correlation=0.0, members=3, items=150), 1),
    "panel, 4 models, 150 items": (partial(voted, correlation=0.3, members=4, items=150), 1),
    "panel, 6 models, 200 items": (partial(voted, correlation=0.6, members=6, items=200), 1),
    "G-study, 40 items": (partial(generalized, items=40), 1),
    "G-study, 120 items": (partial(generalized, items=120), 1),
}
"""What is simulated, and of how many tables one is."""
