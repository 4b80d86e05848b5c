"""Captions and columns: what intervals are over is said once, or row by row where rows differ."""

from __future__ import annotations

import numpy as np
import polars as pl

from vantage.measures import Against, View, registry
from vantage.measures.agreement.pairwise import difference
from vantage.measures.intervals import Over
from vantage.report.parts import Table
from vantage.report.views import present


def judged(raters: int, question: str) -> pl.DataFrame:
    rater, item = (grid.ravel() for grid in np.indices((raters, 20)))
    value = np.random.default_rng(raters).integers(0, 5, len(item)).astype(float)
    return pl.DataFrame({"item": item, "rater": rater, "value": value}).with_columns(question=pl.lit(question))


def shown(data: pl.DataFrame, ci: Over = "auto") -> Table:
    frame = difference(data, by="question", resamples=50, ci=ci)
    part = present(frame, registry()["difference"].view, name="difference", by=["question"]).parts[0]
    assert isinstance(part, Table)
    return part


def test_rows_that_differ_in_their_target_say_so_themselves() -> None:
    mixed = shown(pl.concat([judged(12, "a"), judged(3, "b")]))
    assert "95 % intervals (over items and raters or items: see each row)" in mixed.caption
    assert "over" in [head.column for head in mixed.heads()]
    assert dict(mixed.frame.select("question", "over").rows()) == {"a": "both", "b": "items"}


def test_one_target_is_said_in_the_caption_with_the_reason() -> None:
    few = shown(judged(3, "b"))
    assert few.caption.endswith("over items, since fewer than four raters judged several items each.")
    assert not {"over", "reason"} & {head.column for head in few.heads()}
    many = shown(judged(12, "a"))
    assert many.caption.endswith("with 95 % intervals over items and raters.")
    assert shown(judged(12, "a"), ci="raters").caption.endswith("with 95 % intervals over raters.")


def test_a_row_that_is_another_one_turned_round_has_its_interval_turned_round() -> None:
    """Of two groups only one is compared; beside it the other must not have a narrower interval."""
    pairs = [("q", "a", 0.3), ("q", "b", -0.3), ("r", "a", 0.1), ("r", "b", -0.1)]
    rows = [{"question": q, "group": g, "estimate": e, "low": e - 0.2, "high": e + 0.2} for q, g, e in pairs]
    frame = pl.DataFrame([{**row, "tested": row["estimate"] if row["group"] == "a" else None} for row in rows])
    rule = Against(0.0, value="tested", above="{rows}", within="{rows}")
    [table] = present(frame, View("Groups", says=(rule,)), name="groups", keys=["question", "group"]).parts
    assert isinstance(table, Table)
    ends = {row["group"]: (row["low"], row["high"]) for row in table.frame.filter(question="q").to_dicts()}
    assert ends["b"] == (-ends["a"][1], -ends["a"][0])
    assert ends["a"][0] < 0.1
    assert table.frame.filter(question="q")["p_family"].n_unique() == 1


def test_what_only_rounding_tells_apart_was_not_corrected() -> None:
    frame = pl.DataFrame({"question": ["q"], "estimate": [0.27], "low": [0.17], "high": [0.41]})
    view = View("Alpha", says=(Against(0.0, above="{rows}"),), show=["estimate", "p"])
    [table] = present(frame, view, name="alpha", by=["question"], keys=["question"]).parts
    assert isinstance(table, Table)
    assert "p_family" not in table.frame.columns
    assert not table.notes
