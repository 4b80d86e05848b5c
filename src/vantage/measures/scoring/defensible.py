"""Error or perspective: what people say in a second round of the answers of the first, others' and their own.

Items are answers of the first round (`vantage collect second-round`). Answers that most others find defensible may well
differ; one that most others, or its own authors, take back is an error (Weber-Genzel et al. 2024).
"""

from __future__ import annotations

from typing import Any, Final, Literal, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.measures.base import measure, table
from vantage.measures.intervals import SHARES, IntervalOptions, wilson
from vantage.measures.presentation import Column, View
from vantage.measures.ratings import Floats, Judgments, has_column, judgments_frame
from vantage.measures.resampling import Resampling, mean_with_interval

NEEDED: Final = ("first_item", "first_question", "given_by")
HALF: Final = 0.5

VIEW: Final = View(
    "Which answers are defensible",
    columns={name: Column(percent=True, digits=0) for name in ("estimate", "own")},
    show=("score", "first_item", "answer", "givers", "estimate", "own", "verdict", "items", "judgments", "reason"),
    notes=(
        "An answer is an error where the interval of the share of others who find it defensible lies below one half, "
        "defensible where it lies above, and open otherwise.",
    ),
    method="In a second round, people said which of the answers of the first were defensible.",
    sources=("webergenzel2024",),
)


@measure("defensible", "accuracy", view=VIEW, pools=False)
def defensible(
    data: Judgments, *, per: Literal["score", "answer"] = "score", **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """Which answers of a first round are defensible, by the question and over all of its items.

    Every row of a second round says whether an answer of the first is defensible (1) or an error (0); `first_item`,
    `first_question` and `given_by`, the raters who gave the answer, are columns of its items.

    `peer_validated` is the share of the first round's answers that others find defensible, `self_validated` the share
    of people's own answers that they stand by. `errors` is the share of answers that fewer than half of the others
    find defensible, and `divided` the share of items with two or more different answers of which half of the others or
    more find each defensible: they are divided among perspectives, not by errors. `disagreed`, the share of items with
    two or more answers at all, stands beside it. Intervals are over the items of the first round; shares of few others
    are uncertain, and `errors` and `divided` are then nearer to one half than they should be.

    With `per="answer"` each answer has a row: the share of others who find it defensible with Wilson's interval, the
    share of its own authors, and a `verdict`.

    >>> second = {"item": ["a|no"] * 3, "rater": [*"pqr"], "value": [1, 0, 1], "first_item": ["a"] * 3}
    >>> second |= {"first_question": ["irony"] * 3, "given_by": [["p"]] * 3}
    >>> defensible(second, per="answer").select("estimate", "own", "verdict").rows()
    [(0.5, 1.0, 'open')]
    """
    if missing := [name for name in NEEDED if not has_column(data, name)]:
        raise InputError(
            f"the items have no column '{missing[0]}', so they are not answers from a first round",
            remedy="make them with: vantage collect second-round",
        )
    how = Resampling(**resampling)
    beside = [*NEEDED, *(["answer"] if has_column(data, "answer") else [])]
    frame = judgments_frame(data, beside).filter(pl.col("value").is_not_null(), pl.col("sample") == 0)
    own = pl.col("rater").cast(pl.String).is_in(pl.col("given_by"))
    answer = pl.col("answer") if "answer" in beside else pl.col("item").cast(pl.String)
    answers = (
        frame.with_columns(__own=own, answer=answer)
        .group_by("first_question", "first_item", "item", maintain_order=True)
        .agg(
            pl.col("answer").first(),
            pl.col("given_by").first().list.len().alias("givers"),
            pl.col("value").filter(~pl.col("__own")).sum().alias("__for"),
            (~pl.col("__own")).sum().alias("judgments"),
            pl.col("value").filter(pl.col("__own")).mean().alias("own"),
            pl.col("__own").sum().alias("__own"),
        )
    )
    rows: list[dict[str, Any]] = []
    for (name,), part in answers.group_by("first_question", maintain_order=True):
        made = _by_answer(part, how.confidence) if per == "answer" else _scored(part, how)
        rows += [{"question": name, **row} for row in made]
    return table(rows or [{"question": None, "estimate": None, "reason": "no answer has been judged yet"}], "question")


def _by_answer(answers: pl.DataFrame, confidence: float) -> list[dict[str, Any]]:
    rows = []
    for row in answers.iter_rows(named=True):
        about = {name: row[name] for name in ("first_item", "answer", "givers", "own", "judgments")}
        if not row["judgments"]:
            rows.append({**about, "estimate": None, "verdict": "open", "reason": "nobody else has judged it"})
            continue
        low, high = wilson(row["__for"], row["judgments"], confidence)
        verdict = "error" if high < HALF else "defensible" if low > HALF else "open"
        estimate = row["__for"] / row["judgments"]
        rows.append({**about, "estimate": estimate, "low": low, "high": high, "over": "raters", "verdict": verdict})
    return rows


def _scored(answers: pl.DataFrame, how: Resampling) -> list[dict[str, Any]]:
    judged = answers.filter(pl.col("judgments") > 0).with_columns(share=pl.col("__for") / pl.col("judgments"))
    stood = answers.filter(pl.col("__own") > 0)
    # Every answer that a person gave counts, so an answer of three people counts three times.
    each = judged.select(pl.exclude("givers").repeat_by("givers").explode())
    yours = stood.select(pl.exclude("__own").repeat_by("__own").explode())
    fine = (pl.col("share") >= HALF).sum()
    items = judged.group_by("first_item", maintain_order=True).agg(fine.alias("fine"), pl.len().alias("n"))
    units: dict[str, tuple[pl.Series, Floats]] = {
        "peer_validated": (each["first_item"], each["share"].to_numpy()),
        "self_validated": (yours["first_item"], yours["own"].to_numpy()),
        "errors": (each["first_item"], (each["share"] < HALF).to_numpy().astype(np.float64)),
        "divided": (items["first_item"], (items["fine"] > 1).to_numpy().astype(np.float64)),
        "disagreed": (items["first_item"], (items["n"] > 1).to_numpy().astype(np.float64)),
    }
    rows: list[dict[str, Any]] = []
    for score, (item, values) in units.items():
        if not len(values):
            reason = "nobody has judged their own answer" if score == "self_validated" else "nobody else has judged"
            rows.append({"score": score, "estimate": None, "reason": reason})
        else:
            rows.append({"score": score, "judgments": len(values), **mean_with_interval(item, values, how, SHARES)})
    return rows
