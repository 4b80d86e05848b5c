"""Agreement on what answers are made into: opting out of an answer, and the whole set of options that apply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias, Unpack

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.agreement.alpha import alpha
from vantage.measures.agreement.chance_corrected import ac1, fleiss, randolph
from vantage.measures.agreement.pairwise import pairwise
from vantage.measures.agreement.rater_pairs import cohen
from vantage.measures.base import measure, table
from vantage.measures.intervals import IntervalOptions
from vantage.measures.parts import counts, parts
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Floats, Judgments, by_columns, recoded, scales_of
from vantage.scales import STATUSES

OPT_OUTS_VIEW: Final = View(
    "Agreement on opting out",
    symbol="κ",
    columns={"estimate": Column("κ", digits=2)},
    method="Agreement on opting out was measured with an opt-out and an answer as two categories.",
)


@measure("opt-outs", family="agreement", view=OPT_OUTS_VIEW, interval=("raters", "sources"))
def opt_outs(
    data: Judgments,
    *,
    by: By = (),
    status: str | Sequence[str] = "not_mentioned",
    **resampling: Unpack[IntervalOptions],
) -> pl.DataFrame:
    """Agreement on opting out: an opt-out against any value, as a question with two answers.

    Five rows per group, told apart by `coefficient`: percent agreement, Randolph's, Fleiss' and Cohen's kappa
    and Gwet's AC1. `status` names the opt-out, or several that count as one; judgments with another status
    than these and without a value are left out and counted. Intervals over items, raters or both.

    >>> rows = {"item": [1, 1, 2, 2, 3, 3], "rater": [*"ababab"], "value": [2, 5, None, None, None, 1],
    ...         "status": ["answered"] * 2 + ["not_mentioned"] * 3 + ["answered"]}
    >>> opt_outs(rows, ci="none").select("coefficient", pl.col("estimate").round(3)).rows()
    [('agreement', 0.667), ('randolph', 0.333), ('fleiss', 0.333), ('cohen', 0.4), ('ac1', 0.333)]
    """
    wanted = [status] if isinstance(status, str) else list(status)
    columns = by_columns(by)
    named = [opt_out.status for scale in scales_of(data).values() for opt_out in scale.opt_outs]
    known = list(dict.fromkeys([*STATUSES[1:], *named]))
    for name in wanted:
        if name not in known:
            raise InputError(f"'{name}' is not a way to opt out", remedy=nearest(name, known))
    chosen = pl.col("status").cast(pl.String).is_in(wanted)
    binary = recoded(data, by, pl.when(pl.col("value").is_not_null()).then(0.0).when(chosen).then(1.0))
    results = {
        "agreement": pairwise(binary, by=columns, **resampling),
        "randolph": randolph(binary, by=columns, categories=(0, 1), **resampling),
        "fleiss": fleiss(binary, by=columns, **resampling),
        "cohen": cohen(binary, by=columns, **resampling),
        "ac1": ac1(binary, by=columns, categories=(0, 1), **resampling),
    }
    other = ("measure", "options", "pairs", "pairs_undefined")
    rows = [result.drop(other, strict=False).with_columns(coefficient=pl.lit(name)) for name, result in results.items()]
    return table([row for group in zip(*map(pl.DataFrame.to_dicts, rows), strict=True) for row in group], columns)


Distance: TypeAlias = Literal["masi", "jaccard"]
_RUN: Final = ["item", "condition", "rater", "sample"]
SET_ALPHA_VIEW: Final = View(
    "Agreement on the set of options that apply",
    symbol="α",
    columns={"estimate": Column("alpha", digits=2)},
    show=("estimate", "items", "raters"),
    says=(
        Against(
            0.0,
            above="Raters agree better than chance on the sets[ of {rows}]",
            below="Raters agree less than chance on the sets[ of {rows}]",
            within="Agreement on the sets[ of {rows}] cannot be told apart from chance",
            label="{whole}",
        ),
    ),
    method="Agreement on sets is Krippendorff's alpha with a distance of sets.",
    sources=("passonneau2006",),
)


@measure("set-alpha", "agreement", view=SET_ALPHA_VIEW, interval=("raters", "sources"))
def set_alpha(
    data: Judgments, *, by: By = (), distance: Distance = "masi", **resampling: Unpack[IntervalOptions]
) -> pl.DataFrame:
    """Krippendorff's alpha on the sets of options that raters say apply to an item.

    The questions about the options of one question (`emotions.joy`, `emotions.fear` …) make up one set each; `whole`
    names that question. The distance of two sets is 1 − |A ∩ B| / |A ∪ B| (`jaccard`), or `masi` (Passonneau 2006),
    which takes off more where neither set holds the other; two empty sets are equal. A set with an option that was
    not answered is left out as `incomplete`. Intervals as for `alpha`.

    >>> votes = {"item": [*"aaaabbbb"], "rater": [*"xxyyxxyy"], "value": [1, 0, 1, 0, 0, 1, 1, 1],
    ...          "question": ["mood.joy", "mood.fear"] * 4}
    >>> set_alpha(votes, ci="none").select("whole", pl.col("estimate").round(3)).rows()
    [('mood', 0.5)]
    """
    columns = [column for column in by_columns(by) if column != "question"]
    rows: list[dict[str, Any]] = []
    for part in parts(data, columns):
        whole = pl.col("question").str.extract(r"^(.*)\.[^.]*$")
        frame = part.frame.with_columns(whole.alias("__whole")).filter(pl.col("__whole").is_not_null())
        for (name,), asked in sorted(frame.partition_by("__whole", as_dict=True).items()):
            if asked["question"].n_unique() > 1:
                rows.append({**part.key, "whole": name, **_row(asked, distance, resampling)})
    if not rows:
        raise InputError("no question has several options", remedy="declare it with several: in the instrument")
    return table(rows, [*columns, "whole"])


def _row(asked: pl.DataFrame, distance: Distance, resampling: IntervalOptions) -> dict[str, Any]:
    """Alpha of sets: that of their codes, with the distances of sets."""
    questions = asked["question"].unique().sort().to_list()
    # The complete sets are answers of their own, coded by their place among the different sets.
    complete = asked.pivot("question", index=_RUN, values="value", aggregate_function="first").drop_nulls(questions)
    chosen, kind = np.unique(complete.select(questions).to_numpy() > 0, axis=0, return_inverse=True)
    sets = complete.select(*_RUN, value=pl.Series(kind.ravel(), dtype=pl.Float64))
    answered = asked.filter(pl.col("value").is_not_null())
    several = sets.filter(pl.len().over("item", "condition") > 1)
    used = answered.join(several.select(_RUN), on=_RUN, how="semi", nulls_equal=True)
    left_out = {"incomplete": len(answered) - len(sets) * len(questions)}
    left_out["unpaired"] = (len(sets) - len(several)) * len(questions)
    row = counts(used, asked, **left_out)
    if several.is_empty():
        return {**row, "reason": "no item has two complete sets"}
    apart = (np.arange(len(chosen)), distances(chosen, distance))
    result = alpha(several, distance=apart, kinds="all", **resampling).row(0, named=True)
    if result["estimate"] is None:
        return {**row, "reason": "all sets are the same"}
    return {**row, **{name: result[name] for name in ("estimate", "low", "high", "over", "reason")}}


def distances(sets: Any, distance: Distance) -> Floats:
    """The distance of each two of these sets, given as rows of yes and no.

    >>> distances(np.array([[1, 1, 0], [1, 0, 0]]), "jaccard").tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    member = np.asarray(sets, dtype=np.float64)
    both = member @ member.T
    size = member.sum(axis=1)
    either = size[:, None] + size[None, :] - both
    similar = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    if distance == "masi":
        smaller = np.minimum(size[:, None], size[None, :])
        same, nested = both == either, both == smaller
        similar *= np.where(same, 1.0, np.where(nested, 2 / 3, np.where(both > 0, 1 / 3, 0.0)))
    return 1 - similar
