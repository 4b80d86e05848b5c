"""Before and after: what context changes among people taken together, and in the answers of every single rater."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.measures import Contrast, Spread, alpha, ambiguity, compare, named
from vantage.report.recipe import there
from vantage.studies.context.analysis import ContextAnalysis, Statements, paired
from vantage.studies.context.models import BOTH, Rated
from vantage.studies.context.pipeline.controls import CONTEXT, KINDS, STATIC, condition_of
from vantage.studies.context.pipeline.detection import LEAST
from vantage.studies.context.tasks import TASK

GROUPS: Final = 40
"""The most groups of items that are left out in turn."""
TINY: Final = 1e-18
"""A variance that only rounding leaves, where leaving out statements changes nothing."""
WITHOUT: Final = "without"
MOVES: Final = {
    "settled": ("ambiguous", "right"),
    "corrected": ("wrong", "right"),
    "misled": ("right", "wrong"),
    "unsettled": ("right", "ambiguous"),
}
"""What becomes of an answer: what it was without context, and what it is with it."""
PEOPLE: Final = "people"


def changes(analysis: ContextAnalysis) -> pl.DataFrame:
    """What each kind of context changes among people: ambiguity score, alpha and F1, with intervals over statements."""
    return _of_parts(analysis, _changed, "person", "slot")


def _of_parts(
    analysis: ContextAnalysis, rows_of: Callable[[Statements, pl.DataFrame], Iterator[dict[str, Any]]], *raters: str
) -> pl.DataFrame:
    """Rows by task and kind of context, from judgments of statements with it (called `context`) and without."""
    rows: list[dict[str, Any]] = []
    for part, (control, kind) in product(analysis.parts.values(), KINDS.items()):
        both = part.said(*raters).filter(pl.col("condition").is_in([STATIC, condition_of(control)]))
        both = both.filter(pl.col("condition").n_unique().over("item") == 2)
        if len(both):
            both = both.with_columns(pl.col("condition").replace(condition_of(control), CONTEXT))
            rows += [{TASK: part.task.name, "kind": kind, **row} for row in rows_of(part, both)]
    return pl.DataFrame(there(rows or None), infer_schema_length=None)


def _changed(part: Statements, said: pl.DataFrame) -> Iterator[dict[str, Any]]:
    items = said["item"].unique().sort().to_list()
    groups = min(len(items), GROUPS)
    drawn = np.random.default_rng(part.seed).permutation(len(items)) % groups
    known = said.join(pl.DataFrame({"item": items, "group": drawn}), on="item", maintain_order="left")
    # -1 leaves out nothing.
    rest = [known.filter(pl.col("group") != one).with_columns(pl.lit(one).alias(WITHOUT)) for one in range(-1, groups)]
    how: dict[str, Any] = {"by": [WITHOUT, "condition"], "ci": "none"}
    results: dict[str, Callable[..., pl.DataFrame]] = {
        "ambiguity score": ambiguity,
        "agreement (alpha)": partial(alpha, level="nominal"),
    }
    for quantity, measure in results.items():
        wide = measure(pl.concat(rest), **how).pivot("condition", index=WITHOUT, values="estimate").sort(WITHOUT)
        before, after = (wide[name].cast(pl.Float64).to_numpy() for name in BOTH)
        row: dict[str, Any] = {STATIC: float(before[0]), CONTEXT: float(after[0])}
        row["difference"] = row[CONTEXT] - row[STATIC]
        spread = Spread.without((after - before)[1:]) if len(items) >= LEAST else None
        if spread is not None and spread.variance > TINY:
            gap = Contrast(row["difference"], spread.variance**0.5, spread.freedom)
            row |= {**gap.stated(0.95, "difference"), "p": gap.p}
        defined = {name: value if value is not None and np.isfinite(value) else None for name, value in row.items()}
        yield {"quantity": quantity, **defined, "items": len(items)}
    gold = part.labels.select("item", pl.col("value").alias("gold"))
    scored = said.join(gold, on="item", maintain_order="left").with_columns(pl.lit(PEOPLE).alias("person"))
    for quantity, answers in (("F1, ambiguous is wrong", scored), ("F1, decided answers", scored.drop_nulls("value"))):
        one = Rated(part, {}, answers)
        common = one.common(*BOTH)
        row = one.scores({name: name for name in BOTH}, common)
        yield {"quantity": quantity, **row, "p": row.get("difference_p"), "items": len(common)}


def transitions(analysis: ContextAnalysis) -> pl.DataFrame:
    """How answers to the same statement change: of people together, of each person and of each model.

    `change` is that of the share of right answers: for people from a mixed model with statements and people as random
    effects, for a single rater with Student's interval.
    """
    return _of_parts(analysis, _moved, "person", "model")


def _moved(part: Statements, said: pl.DataFrame) -> Iterator[dict[str, Any]]:
    gold = part.labels.select("item", pl.col("value").alias("gold"))
    kinds = part.corpus.raters.select("rater", person=pl.col("kind").cast(pl.String) == "person")
    right = pl.when(pl.col("value") == pl.col("gold")).then(pl.lit("right")).otherwise(pl.lit("wrong"))
    unclear = pl.col("status").cast(pl.String) == "ambiguous"
    state = pl.when(unclear).then(pl.lit("ambiguous")).otherwise(right).alias("state")
    known = said.join(gold, on="item", maintain_order="left").join(kinds, on="rater").with_columns(state)
    wide = known.pivot("condition", index=["rater", "person", "item", "sample"], values="state").drop_nulls()
    together = wide.filter("person")
    if together["rater"].n_unique() > 1:
        yield {"who": PEOPLE, **_shares(together), **_modelled(together)}
    for (rater,), one in wide.group_by("rater", maintain_order=True):
        shares = one.group_by("item", maintain_order=True).agg((pl.col(BOTH) == "right").mean())
        row = paired("change", (shares[CONTEXT] - shares[STATIC]).to_numpy())
        yield {"who": rater, **_shares(one), **row, "p": None, "together": None}


def _shares(wide: pl.DataFrame) -> dict[str, Any]:
    moves = {name: (pl.col(STATIC) == old) & (pl.col(CONTEXT) == new) for name, (old, new) in MOVES.items()}
    sides = {f"right_{name}": pl.col(name) == "right" for name in BOTH}
    shares = wide.select(**{name: one.mean() for name, one in {**sides, **moves}.items()}).row(0, named=True)
    return {**shares, "pairs": len(wide), "items": wide["item"].n_unique(), "raters": wide["rater"].n_unique()}


def _modelled(wide: pl.DataFrame) -> dict[str, Any]:
    """The change of people's right answers in the mixed model of `compare`."""
    long = wide.unpivot(BOTH, index=["rater", "item"], variable_name="condition", value_name="state")
    judged = long.with_columns(value=(pl.col("state") == "right").cast(pl.Float64))
    row = compare(judged, between="condition", values=[CONTEXT, STATIC]).row(0, named=True)
    if wide["item"].n_unique() < LEAST:
        return {"change": row["difference"], "p": None, "together": None}
    return {**named("change", {**row, "estimate": row["difference"]}), "p": row["p"], "together": row["difference"]}
