"""The Wright map, at few raters and at many."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from vantage.errors import InputError
from vantage.report.charts import draw


def ruler(people: int, items: int) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    facet = ["person"] * people + ["model"] * 2 + ["item"] * items + ["threshold"] * 2
    name = [f"p{n}" for n in range(people)] + ["gpt", "llama"] + [f"i{n}" for n in range(items)] + ["0|1", "1|2"]
    estimate = np.concatenate([rng.normal(size=len(name) - 2), [-0.5, 0.5]])
    bounds = {"low": estimate - 0.5, "high": estimate + 0.5}
    return pl.DataFrame({"facet": facet, "name": name, "estimate": estimate, **bounds})


def words(figure: object) -> list[str]:
    """All texts that a figure shows."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]  # type: ignore[attr-defined]


def test_few_raters_and_items_are_named_with_their_intervals() -> None:
    shown = words(draw("wright", ruler(9, 12), {}))
    assert {"p0", "p8", "i0", "i11", "gpt", "llama", "0 | 1", "1 | 2"} <= set(shown)
    assert {"9 people", "2 models", "12 items"} <= set(shown)


def test_of_many_the_outermost_are_named_and_models_always() -> None:
    figure = draw("wright", ruler(1000, 400), {})
    shown = words(figure)
    assert {"1,000 people", "400 items", "gpt", "llama"} <= set(shown)
    assert len(shown) < 60


def test_a_frame_without_names_is_refused() -> None:
    with pytest.raises(InputError, match="no column 'facet'"):
        draw("wright", pl.DataFrame({"estimate": [1.0]}), {})
