"""Scores of every cell: the splits behind them, four levels in the paper's layout, and the paper."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any, Final

import polars as pl

from vantage.perspective import average_user
from vantage.perspective.splits import people_pairs
from vantage.perspective.tally import CLOSENESS
from vantage.report.engine import Data, there
from vantage.studies.perseval.analysis import Evaluated, Perspectives, stacked
from vantage.studies.perseval.cells import GridCell

LEVELS: Final = ("global", "user", "text")
VARIANT: Final = ("users", "adaptation", "extended")
TEXTS: Final = {"yes": "extended", "no": "strict"}


def splits(analysis: Perspectives) -> Data:
    """Users, texts and annotations of each part of each split."""

    def parts(one: Evaluated) -> Iterator[dict[str, Any]]:
        for name, extended in (("strict", False), ("extended", True)):
            split = one.task.split(extended=extended)
            for row in split.counts.iter_rows(named=True):
                yield {"texts_of": name, **row, "share": split.given_away if row["part"] == "adaptation" else None}

    frame = analysis.per_corpus(parts)
    return Data(frame, {name: sum(len(getattr(one, name)) for one in analysis.evaluated) for name in ("done", "cells")})


def not_run(analysis: Perspectives) -> pl.DataFrame:
    """The combinations that were not run, counted by reason."""
    cells = analysis.per_corpus(lambda one: [{**c.row(), "reason": c.reason} for c in one.cells if c.reason])
    raters = pl.col("rater").unique(maintain_order=True).str.join(", ").alias("raters")
    groups = cells.group_by("corpus", "users", "adaptation", "reason", maintain_order=True)
    return groups.agg(raters, pl.len().alias("cells"))


def scores(analysis: Perspectives) -> Data:
    """The cells of one corpus at all levels."""
    (one,) = analysis.evaluated
    label = {"macro": "macro F1", CLOSENESS: CLOSENESS}.get(one.task.label, f"F1 of '{one.task.label}'")
    frame = stacked(_row(one, cell) for cell in one.done)
    return Data(frame, {"of": one.task.name, "score": label, "units": one.over})


def trait_scores(analysis: Perspectives) -> pl.DataFrame:
    """The cells of one corpus by trait: F1 of each value, averaged over the values."""
    (one,) = analysis.evaluated
    there(one.task.tested_traits or None)
    return stacked(
        {**cell.row(), **{trait: scored.f1("trait", one.task.label, trait) for trait in scored.traits}}
        for cell, scored in one.evaluations.items()
    )


def sizes(analysis: Perspectives) -> pl.DataFrame:
    """Annotators, texts and annotations of each corpus, and of its strict split."""

    def counted(one: Evaluated) -> Iterator[dict[str, int]]:
        pairs, split = people_pairs(one.task.people, one.task.question), one.task.split("unnamed", "train")
        row = {"annotators": pairs["rater"].n_unique(), "texts": pairs["item"].n_unique()}
        yield {**row, "annotations": len(pairs), "in_split": len(split.train) + len(split.test)}

    return analysis.per_corpus(counted)


def beside_the_paper(analysis: Perspectives) -> pl.DataFrame:
    """The paper's raters and the one of ours in the same variant, on the same test set and by the same rule."""
    printed = pl.read_csv(files(__package__).joinpath("printed.csv").read_bytes())

    def beside(one: Evaluated) -> Iterator[dict[str, Any]]:
        task = one.task
        named_alike = task.name != "hs-brexit" or analysis.options.groups == "hub"
        same = task.method != "balanced" and task.seed == 42 and named_alike
        for row in printed.filter(pl.col("corpus") == task.name, pl.lit(same)).iter_rows(named=True):
            cell = _counterpart(one, row)
            reference = None if cell is None else one.as_printed(cell)
            here = {f"here_{level}": reference and reference.f1(level, task.label) for level in LEVELS}
            rest = {"here": cell and cell.rater, "annotations": len(reference.pairs) if reference else None}
            known = [row["users"], row["adaptation"], TEXTS.get(row["extended"], "–")]
            yield {**row, "variant": ", ".join(part for part in known if part != "–") or "any", **here, **rest}

    return analysis.per_corpus(beside)


def _row(one: Evaluated, cell: GridCell) -> dict[str, Any]:
    evaluation, label = one.evaluations[cell], one.task.label
    levels = {row["level"]: row for row in evaluation.summary.filter(pl.col("class") == label).iter_rows(named=True)}
    user = average_user(evaluation, label)
    accuracy = evaluation.summary.filter(pl.col("class") == "micro", level="global")["recall"][0]
    row: dict[str, Any] = cell.row()
    for level in LEVELS:
        scored = user if level == "user" else levels[level]
        row |= {level: levels[level]["f1"], f"{level}_low": scored["low"], f"{level}_high": scored["high"]}
    row |= {f"{level}s_counted": levels[level]["groups"] for level in ("user", "text")}
    return {**row, "accuracy": accuracy, "annotations": len(evaluation.pairs), "support": levels["global"]["support"]}


def _counterpart(one: Evaluated, printed: dict[str, Any]) -> GridCell | None:
    """Our rater in the variant of a printed row: an encoder where there is one, else the best that learned."""
    way = printed["approach"].rpartition(", ")[2]
    fitting = [cell for cell in one.done if all(cell.row()[name] == printed[name] for name in VARIANT)]
    if printed["where"] == "Table 5":
        prompted = [cell for cell in fitting if cell.kind == "prompted" and cell.rater.endswith(f": {way}")]
        return prompted[0] if prompted else None
    learned = [cell for cell in fitting if cell.kind == "trained"]
    encoders = [cell for cell in learned if cell.rater in ("baseline", "tokens")]
    return encoders[0] if encoders else one.best(learned)
