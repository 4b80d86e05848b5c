"""Agreement on sets: the options that each rater says apply, compared whole and not one by one."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from vantage.errors import InputError, nearest
from vantage.measures.base import measure, table
from vantage.measures.parts import counts, parts
from vantage.measures.presentation import Against, Column, View
from vantage.measures.ratings import By, Floats, Judgments, by_columns
from vantage.measures.resampling import Resampled, Resampling

Distance: TypeAlias = Literal["masi", "jaccard"]
_RUN: Final = ["item", "condition", "rater", "sample"]

VIEW: Final = View(
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


@measure("set-alpha", "agreement", view=VIEW)
def set_alpha(
    data: Judgments,
    *,
    by: By = (),
    distance: Distance = "masi",
    ci: Resampled = "auto",
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """Krippendorff's alpha on the sets of options that raters say apply to an item.

    The questions about the options of one question (`emotions.joy`, `emotions.fear` …) make up one set each; `whole`
    names that question. The distance of two sets is 1 − |A ∩ B| / |A ∪ B| (`jaccard`), or `masi` (Passonneau 2006),
    which takes off more where neither set holds the other; two empty sets are equal. A set with an option that was
    not answered is left out as `incomplete`. Bootstrap intervals over items.

    >>> votes = {"item": [*"aaaabbbb"], "rater": [*"xxyyxxyy"], "value": [1, 0, 1, 0, 0, 1, 1, 1],
    ...          "question": ["mood.joy", "mood.fear"] * 4}
    >>> set_alpha(votes, ci="none").select("whole", pl.col("estimate").round(3)).rows()
    [('mood', 0.5)]
    """
    if distance not in get_args(Distance):
        raise InputError(f"distance '{distance}' is not known", remedy=nearest(distance, get_args(Distance)))
    how = Resampling(ci, "percentile", resamples, confidence, seed).chosen(0)
    columns = [column for column in by_columns(by) if column != "question"]
    rows: list[dict[str, Any]] = []
    for part in parts(data, columns):
        whole = pl.col("question").str.extract(r"^(.*)\.[^.]*$")
        frame = part.frame.with_columns(whole.alias("__whole")).filter(pl.col("__whole").is_not_null())
        for (name,), asked in sorted(frame.partition_by("__whole", as_dict=True).items()):
            options = asked["question"].unique().sort().to_list()
            if len(options) > 1:
                rows.append({**part.key, "whole": name, **_row(asked, options, distance, how)})
    if not rows:
        raise InputError("no question has several options", remedy="declare it with several: in the instrument")
    return table(rows, [*columns, "whole"])


def _row(asked: pl.DataFrame, options: list[str], distance: Distance, how: Resampling) -> dict[str, Any]:
    sets = asked.pivot("question", index=_RUN, values="value", aggregate_function="first")
    complete = sets.drop_nulls(options)
    answered = asked.filter(pl.col("value").is_not_null())
    several = complete.filter(pl.len().over("item", "condition") > 1)
    used = answered.join(several.select(_RUN), on=_RUN, how="semi", nulls_equal=True)
    single = len(complete) - len(several)
    row = counts(used, asked, incomplete=len(answered) - len(complete) * len(options), unpaired=single * len(options))
    if several.is_empty():
        return {**row, "reason": "no item has two complete sets"}
    chosen, kind = np.unique(several.select(options).to_numpy() > 0, axis=0, return_inverse=True)
    apart = distances(chosen, distance)
    unit = several.select(pl.struct("item", "condition").rank("dense")).to_series().to_numpy().astype(np.int64) - 1
    table_ = np.zeros((int(unit.max()) + 1, len(chosen)))
    np.add.at(table_, (unit, kind.ravel()), 1.0)
    size = table_.sum(axis=1)
    within = np.einsum("uk,kl,ul->u", table_, apart, table_) / (size - 1)
    sums = np.column_stack([within, size, table_])

    def alpha(total: Floats) -> Floats:
        share, number = total[:, 2:], total[:, 1]
        by_chance = np.einsum("rk,kl,rl->r", share, apart, share) / (number * (number - 1))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(1 - total[:, 0] / number / by_chance)

    estimate = float(alpha(sums.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(estimate):
        return {**row, "reason": "all sets are the same"}
    return {**row, "estimate": estimate, **how.stated(how.of_sums(sums, alpha))}


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
