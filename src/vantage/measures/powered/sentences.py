"""What a powered estimate says in words, from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from vantage.measures.ratings import group_name


def sentences(result: pl.DataFrame, model: str | Sequence[str], by: Sequence[str] = ()) -> list[str]:
    """One sentence for each estimate of both: what the model is worth, or why it is worth nothing.

    >>> row = {"judged_by": "both", "estimate": 0.5, "lambda": 0.41, "labels_gained": 110.8, "representative": True,
    ...        "reason": None}
    >>> sentences(pl.DataFrame([row]), "gpt-4o")
    ['gpt-4o is worth 111 additional labels of people (λ = 0.41).']
    """
    name = model if isinstance(model, str) else " and ".join(model)
    made = []
    for row in result.filter(pl.col("judged_by") == "both").iter_rows(named=True):
        keys = {column: row[column] for column in (*by, "term", "first", "second") if row.get(column) is not None}
        where = f"{group_name(keys)}: " if keys else ""
        made += [f"{where}{sentence}." for sentence in [worth(row, name), row["reason"]] if sentence]
    return made


def worth(row: dict[str, object], model: str) -> str | None:
    """What the model is worth in a row of both, without a full stop; null where there is no estimate."""
    lam, gained = row["lambda"], row["labels_gained"]
    if row["estimate"] is None or not isinstance(lam, float) or not isinstance(gained, float):
        return None
    if lam == 0:
        return f"{model} adds nothing to people's judgments (λ = 0)"
    if round(gained) < 0:
        return f"{model} costs {-gained:,.0f} labels of people here (λ = {lam:.2f})"
    labels = "label" if round(gained) == 1 else "labels"
    return f"{model} is worth {gained:,.0f} additional {labels} of people (λ = {lam:.2f})"
