"""Who judges differently: the one analysis of groups, as the sections of reports show it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.instruments import Question
from vantage.measures.ratings import Ints
from vantage.measures.relations.groups import OTHERS
from vantage.measures.relations.groups import groups as analysed
from vantage.report.cases import answered, text_of_items
from vantage.report.cells import shortened
from vantage.report.distributions import answer_places, answers_of
from vantage.report.engine import Analysis, there
from vantage.report.marks import mark
from vantage.report.parts import Column, Figure, Part, Table
from vantage.report.spectrum import colours_of

NOT_TRAITS: Final = ("model", "style", "served")
"""Columns that only models have."""
DRAWN: Final = 6
"""So many traits have a figure."""
GROUPS: Final = 6
"""So many groups of a trait are drawn, those with most people."""
ROWS: Final = 18
"""So many rows a figure has at most: questions with the same answers are drawn below each other."""
TEXTS: Final = 3
"""So many texts are listed that part the groups of a trait most."""


def traits(analysis: Analysis) -> pl.DataFrame | None:
    """Every group of people by every trait and question: described, and compared where there are people enough.

    `tested` is the difference that sentences are about: of two groups one, of an ordered trait its trend, of a number
    its slope.
    """
    people = analysis.people
    known = [name for name in people.traits if name not in NOT_TRAITS and people.raters[name].count()]
    if not known or people.raters["rater"].n_unique() < 2:
        return None
    try:
        frame = analysed(people, by="question", traits=known, kinds="all")
    except InputError:
        return None
    if "trait" not in frame.columns:
        return None  # no question has a trait whose groups can be described
    frame = frame.with_columns(
        (pl.col(name) if name in frame.columns else pl.lit(None, kind)).alias(name)
        for name, kind in {"option": pl.String, "low": pl.Float64, "high": pl.Float64, "df": pl.Float64}.items()
    )
    option = pl.format("“{}”", "option")
    # Of more than two options each has a row, which its question alone does not name.
    several = pl.col("option").n_unique().over("question") > 1
    # One of two groups says everything that the other one says.
    mirrored = (pl.col("row") == "group") & (pl.col("versus") != OTHERS) & (pl.col("group") > pl.col("versus"))
    asked = pl.col("row").is_in(["group", "trend", "slope"]) & pl.col("p").is_not_null() & ~mirrored
    verbs = {
        name: pl.when(pl.col("option").is_null())
        .then(pl.lit(f"give {size} answers"))
        .otherwise(pl.format("choose {} {} often", option, pl.lit(often)))
        for name, size, often in (("more", "higher", "more"), ("less", "lower", "less"))
    }
    return frame.with_columns(
        pl.col("trait").str.replace_all("_", " "),
        pl.when(asked).then("estimate").alias("tested"),
        *(_named(name) for name in ("higher", "lower")),
        pl.when(pl.col("row") != "missing").then("group").otherwise(pl.lit("not known")).alias("group"),
        about=pl.when(several).then(pl.format("{}: {}", "question", "option")).otherwise("question"),
        **verbs,
    )


def _named(column: str) -> pl.Expr:
    """Who a sentence speaks of: raters of a group by its name; what a trend compares has words of its own."""
    of_group = (pl.col("row") == "group") & (pl.col(column) != OTHERS)
    return pl.when(of_group).then(pl.format("raters with “{}”", pl.col(column))).otherwise(pl.col(column)).alias(column)


def trait_figures(analysis: Analysis) -> list[Part]:
    """For each trait one figure of how its groups answer, and the texts that part the groups most."""
    people, texts = analysis.people, text_of_items(analysis.corpus)
    shown: list[Part] = []
    for trait in [name for name in people.traits if name not in NOT_TRAITS]:
        grouped = _grouped(people, trait)
        if grouped is None or sum(isinstance(part, Figure) for part in shown) == DRAWN:
            continue
        level = people.trait_scales[trait].level
        rows, names = grouped
        by_answers: dict[tuple[str, ...], list[Question]] = {}
        judged = set(rows["question"])
        for question in people.questions:
            if question.id in judged and (question.scale.codes or question.scale.slides):
                by_answers.setdefault(answers_of(question)[2], []).append(question)
        counted = {one.id: _counts(rows, one, names) for some in by_answers.values() for one in some}
        asked = max(by_answers.values(), key=lambda some: sum(counted[one.id][1].sum() for one in some), default=[])
        drawn = asked[: max(1, ROWS // len(names))]
        if not drawn:
            continue
        slug, words = f"trait-{sum(isinstance(part, Figure) for part in shown) + 1}", trait.replace("_", " ")
        shown.append(_shares_of(drawn, counted, names, slug, words, level))
        if listed := _parting(drawn, counted, names, texts, slug, words):
            shown.append(listed)
    return there(shown or None)


def _grouped(people: Corpus, trait: str) -> tuple[pl.DataFrame, list[str]] | None:
    """The answers with the group of their rater, and the groups of two people or more in the order of the trait."""
    scale, column = people.trait_scales[trait], people.raters[trait]
    if scale.level == "numeric":
        known = column.cast(pl.Float64)
        thirds = [known.quantile(share, "lower") for share in (1 / 3, 2 / 3)]
        edges = sorted({float(edge) for edge in thirds if edge is not None})
        part = pl.Series(np.searchsorted(edges, known.fill_null(np.inf).to_numpy()))
        ends = pl.DataFrame({"part": part, "known": known}).drop_nulls().group_by("part")
        named = {
            place: f"{low:g} to {high:g}"
            for place, low, high in ends.agg(pl.col("known").min(), high=pl.col("known").max()).sort("part").iter_rows()
        }
        groups = part.replace_strict(named, default=None, return_dtype=pl.String).set(known.is_null(), None)
        order = list(named.values())
    else:
        groups = column.cast(pl.String)
        order = list(scale.order) or groups.drop_nulls().value_counts(sort=True)[trait].to_list()
    raters = people.raters.select("rater").with_columns(group=groups)
    several = set(raters.group_by("group").len().filter(pl.col("len") > 1)["group"].drop_nulls())
    names = [name for name in order if name in several][:GROUPS]
    rows = answered(people).select("item", "question", "rater", "value").join(raters, on="rater")
    return (rows.filter(pl.col("group").is_in(names)), names) if len(names) > 1 else None


def _counts(rows: pl.DataFrame, question: Question, names: Sequence[str]) -> tuple[list[str], Ints]:
    """The items of a question, and how often each group gave each answer to them: items × groups × answers."""
    mine = rows.filter(pl.col("question") == question.id)
    codes = answers_of(question)[0]
    items = mine["item"].unique(maintain_order=True)
    at = mine["item"].replace_strict(items, range(len(items)), return_dtype=pl.Int64).to_numpy()
    group = mine["group"].replace_strict(list(names), range(len(names)), return_dtype=pl.Int64).to_numpy()
    place = (at * len(names) + group) * len(codes) + answer_places(mine["value"].to_numpy(), question, codes)
    shape = (len(items), len(names), len(codes))
    return items.to_list(), np.bincount(place, minlength=math.prod(shape)).reshape(shape)


def _shares_of(
    drawn: Sequence[Question],
    counted: Mapping[str, tuple[list[str], Ints]],
    names: Sequence[str],
    slug: str,
    trait: str,
    level: str,
) -> Figure:
    labels, ticks = answers_of(drawn[0])[1:]
    if any(answers_of(question)[1] != labels for question in drawn):
        labels = ticks
    rows = [
        (f"{question.title or question.id}: {name}" if len(drawn) > 1 else name, label, int(votes))
        for question in drawn
        for name, given in zip(names, counted[question.id][1].sum(axis=0), strict=True)
        for label, votes in zip(labels, given, strict=True)
    ]
    options: dict[str, Any] = {"category": "group", "part": "answer", "value": "answers", "order": list(labels)}
    options |= {"colours": colours_of(drawn[0]), "label": "share of the answers"}
    order = {"ordered": ", in its order", "numeric": ", in three parts from low to high"}.get(level, "")
    about = f" about {drawn[0].title or drawn[0].id}" if len(drawn) == 1 else ""
    caption = f"The answers of people{about}, by {trait}{order}."
    return Figure(
        slug, caption, "", "shares", pl.DataFrame(rows, ["group", "answer", "answers"], orient="row"), options
    )


def _parting(
    drawn: Sequence[Question],
    counted: Mapping[str, tuple[list[str], Ints]],
    names: Sequence[str],
    texts: Mapping[str, str],
    slug: str,
    trait: str,
) -> Table | None:
    """The texts on which the shares of the groups, or their means, lie apart most, given how many answered."""
    best: list[tuple[float, Question, int]] = []
    for question in drawn:
        counts, (codes, _, _) = counted[question.id][1], answers_of(question)
        n = counts.sum(axis=2, keepdims=True)
        low, high = question.scale.ends
        scores = codes[:, None] / ((high - low) or 1.0) if question.scale.has_distances else np.eye(len(codes))
        means = np.divide(counts @ scores, n, out=np.zeros((*n.shape[:2], scores.shape[1])), where=n > 0)
        middle = (n * means).sum(axis=1, keepdims=True) / np.maximum(n.sum(axis=1, keepdims=True), 1)
        between = (n * (means - middle) ** 2).sum(axis=(1, 2))
        several = (n[:, :, 0] > 1).sum(axis=1) > 1
        best += [(float(between[at]), question, int(at)) for at in np.flatnonzero(several & (between > 0))]
    best.sort(key=lambda one: (-one[0], one[1].id, one[2]))
    rows = [
        {
            "item": (item := counted[question.id][0][at]),
            "question": question.id,
            "text": shortened(texts.get(item, item), 280),
            **{
                f"group_{place}": mark(answers_of(question)[2], votes.tolist())
                for place, votes in enumerate(counted[question.id][1][at], 1)
            },
        }
        for _, question, at in best[:TEXTS]
    ]
    if not rows:
        return None
    columns = {f"group_{place}": Column(name) for place, name in enumerate(names, 1)}
    shown = [*(["question"] if len(drawn) > 1 else []), "text", *columns]
    caption = f"The texts that part people most by {trait}, with the answers of each group"
    caption += "; of few answers, some by chance."
    return Table(f"{slug}-texts", caption, pl.DataFrame(rows), columns, shown, ["item", "question"])
