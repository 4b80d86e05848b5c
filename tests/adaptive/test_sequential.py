"""The always-valid interval: its estimate and standard error, and its error at all looks together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import vantage
from benchmarks.adaptive import missed
from vantage.adaptive.sequential import FEWEST, AlwaysValid, always_valid
from vantage.scales import Level


def ratings(seed: int, items: int = 150, each: int = 4, raters: int = 40) -> pl.DataFrame:
    """Five-point answers of raters who differ in severity."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), each)
    rater = np.concatenate([rng.choice(raters, each, replace=False) for _ in range(items)])
    latent = rng.normal(size=items)[item] + 0.5 * rng.normal(size=raters)[rater] + rng.normal(size=len(item))
    return pl.DataFrame({"item": item, "rater": rater, "value": np.clip(latent.round(), -2, 2) + 3})


def of(frame: pl.DataFrame, level: Level, aim: float = 0.2) -> AlwaysValid:
    """The interval of a table."""
    unit, rater, value = (frame[name].to_numpy() for name in ("item", "rater", "value"))
    return always_valid(unit, rater, value, level, aim=aim)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_it_is_alpha_and_its_standard_error_is_how_much_alpha_varies(level: Level) -> None:
    frame = ratings(1)
    plain = vantage.measures.alpha(frame, level=level, ci="none").row(0, named=True)
    assert of(frame, level).estimate == pytest.approx(plain["estimate"], abs=1e-9)
    found = [of(ratings(1000 + seed), level) for seed in range(80)]
    varies = float(np.std([one.estimate or 0.0 for one in found]))
    # A little more, because of the items that are added.
    assert 0.9 * varies < np.mean([one.error for one in found]) < 1.35 * varies
    assert {one.over for one in found} == {"both"}


def width(now: AlwaysValid) -> float:
    """How wide it is."""
    assert now.low is not None
    assert now.high is not None
    return now.high - now.low


def test_it_is_shortest_where_it_was_aimed_at() -> None:
    frame = ratings(2, items=400)
    reached = of(frame, "nominal").error * 2 * 3.03
    widths = {}
    for aim in (reached / 4, reached, reached * 4):
        widths[aim] = width(of(frame, "nominal", aim=aim))
    assert widths[reached] == min(widths.values())
    assert widths[reached] == pytest.approx(reached, rel=0.02)


def test_the_ratings_that_are_missing_are_about_right() -> None:
    small, aim = ratings(3, items=300, each=3, raters=200), 0.1
    now = of(small, "nominal", aim=aim)
    more = now.more
    assert more is not None
    assert more > 0
    each = 3 + round(more / 300)
    later = of(ratings(3, items=300, each=each, raters=200), "nominal", aim=aim)
    assert width(later) == pytest.approx(aim, rel=0.2)
    assert "more ratings" in now.sentence


def test_too_few_items_and_equal_answers_have_no_interval() -> None:
    few = of(ratings(4, items=FEWEST - 1), "nominal")
    assert few.low is None
    assert f"needs {FEWEST} items" in few.sentence
    same = of(ratings(5).with_columns(value=pl.lit(1.0)), "nominal")
    assert "all answers are the same" in same.sentence


@pytest.mark.slow
def test_it_holds_at_every_look_where_the_usual_interval_does_not() -> None:
    wrong, usual, looks = missed("60 items × 4, 30 % yes", 200, seed=3)
    assert looks > 150
    assert wrong < 0.05
    assert usual > 0.2
