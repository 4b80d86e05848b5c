"""Who judges differently: the one analysis of groups, as the sections of reports show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from vantage.errors import InputError
from vantage.instruments import Question
from vantage.measures.ratings import Ints
from vantage.measures.relations.groups import OTHERS
from vantage.measures.relations.groups import groups as analysed
from vantage.report.cases import label
from vantage.report.cells import counted, shortened
from vantage.report.distributions import AnswerCounts, answers_of, text_of_items, trait_groups
from vantage.report.engine import Analysis, there
from vantage.report.marks import mark
from vantage.report.parts import Column, Figure, Part, Table
from vantage.report.spectrum import colours_of

NOT_TRAITS: Final = ("model", "style", "served")
"""Columns that only models have."""
DRAWN: Final = 6
"""So many traits have a figure."""
ROWS: Final = 18
"""So many rows a figure has at most: questions with the same answers are drawn below each other."""
TEXTS: Final = 3
"""So many texts are listed that part the groups of a trait most."""
Counted: TypeAlias = tuple[Question, pl.Series, Ints]
"""A question, its items, and how often each group gave each answer to them: items × groups × answers."""


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
    # Of two options the means and differences are those of the second one.
    binary = [one for one in people.questions if not one.scale.ordered and len(one.scale.codes) == 2]
    second = {one.id: label(people, one.id, max(one.scale.codes)) for one in binary}
    last = pl.col("question").replace_strict(second, default=None, return_dtype=pl.String)
    option = pl.format("“{}”", pl.coalesce("option", last))
    # Of more than two options each has a row, which its question alone does not name.
    several = pl.col("option").n_unique().over("question") > 1
    # One of two groups says everything that the other one says.
    mirrored = (pl.col("row") == "group") & (pl.col("versus") != OTHERS) & (pl.col("group") > pl.col("versus"))
    asked = pl.col("row").is_in(["group", "trend", "slope"]) & pl.col("p").is_not_null() & ~mirrored
    verbs = {
        name: pl.coalesce(pl.format("choose {} {} often", option, pl.lit(often)), pl.lit(f"give {size} answers"))
        for name, size, often in (("more", "higher", "more"), ("less", "lower", "less"))
    }
    return frame.with_columns(
        pl.col("trait").str.replace_all("_", " "),
        pl.when(asked).then("estimate").alias("tested"),
        *(_named(name) for name in ("higher", "lower")),
        pl.when(pl.col("row") != "missing").then("group").otherwise(pl.lit("not known")).alias("group"),
        about=pl.when(several).then(pl.format("{}: {}", "question", option)).otherwise("question"),
        **verbs,
    )


def _named(column: str) -> pl.Expr:
    """Who a sentence speaks of: raters of a group by its name; what a trend compares has words of its own."""
    of_group = (pl.col("row") == "group") & (pl.col(column) != OTHERS)
    return pl.when(of_group).then(pl.format("raters with “{}”", pl.col(column))).otherwise(pl.col(column)).alias(column)


def trait_figures(analysis: Analysis) -> list[Part]:
    """For each trait one figure of how its groups answer, and the texts that part the groups most."""
    people, texts = analysis.people, text_of_items(analysis.corpus)
    asked = [question for question in people.questions if question.scale.codes or question.scale.slides]
    shown: list[Part] = []
    for trait in [name for name in people.traits if name not in NOT_TRAITS]:
        if (place := sum(isinstance(part, Figure) for part in shown)) == DRAWN:
            break
        names = [name for name, members in trait_groups(people, trait) if members.sum() > 1]
        by_answers: dict[tuple[str, ...], list[Counted]] = {}
        for question in asked if len(names) > 1 else ():
            counts = AnswerCounts.of(people, question, trait=trait)
            given = counts.counts[:, [counts.groups.index(f"{trait} = {name}") for name in names]]
            if given.any():
                by_answers.setdefault(answers_of(question)[2], []).append((question, counts.items, given))
        # Questions with the same answers are drawn below each other.
        alike = max(by_answers.values(), key=lambda some: sum(given.sum() for _, _, given in some), default=[])
        if drawn := alike[: max(1, ROWS // max(len(names), 1))]:
            slug, words = f"trait-{place + 1}", trait.replace("_", " ")
            known = people.raters[trait].drop_nulls()
            level, rest = people.trait_scales[trait].level, known.n_unique() - len(names)
            ordered = {"ordered": ", in its order", "numeric": ", in parts from low to high"}.get(level, "")
            left = f" {counted(rest, 'smaller group')} not drawn." if level != "numeric" and rest else ""
            shown.append(_shares_of(drawn, names, slug, f"by {words}{ordered}.{left}"))
            shown += _parting(drawn, names, texts, slug, words)
    return there(shown or None)


def _shares_of(drawn: Sequence[Counted], names: Sequence[str], slug: str, by: str) -> Figure:
    first = drawn[0][0]
    labels, ticks = answers_of(first)[1:]
    if any(answers_of(question)[1] != labels for question, _, _ in drawn):
        labels = ticks
    rows = [
        (f"{question.title or question.id}: {name}" if len(drawn) > 1 else name, label, int(votes))
        for question, _, given in drawn
        for name, of_group in zip(names, given.sum(axis=0), strict=True)
        for label, votes in zip(labels, of_group, strict=True)
    ]
    options: dict[str, Any] = {"category": "group", "part": "answer", "value": "answers", "order": list(labels)}
    options |= {"colours": colours_of(first), "label": "share of the answers"}
    about = f" about {first.title or first.id}" if len(drawn) == 1 else ""
    frame = pl.DataFrame(rows, ["group", "answer", "answers"], orient="row")
    return Figure(slug, f"The answers of people{about}, {by}", "", "shares", frame, options)


def _parting(
    drawn: Sequence[Counted], names: Sequence[str], texts: Mapping[str, str], slug: str, trait: str
) -> list[Part]:
    """The texts on which the shares of the groups, or their means, lie apart most, given how many answered."""
    best: list[tuple[float, int, int]] = []
    for place, (question, _, counts) in enumerate(drawn):
        codes = answers_of(question)[0]
        n = counts.sum(axis=2, keepdims=True)
        low, high = question.scale.ends
        scores = codes[:, None] / ((high - low) or 1.0) if question.scale.has_distances else np.eye(len(codes))
        means = np.divide(counts @ scores, n, out=np.zeros((*n.shape[:2], scores.shape[1])), where=n > 0)
        middle = (n * means).sum(axis=1, keepdims=True) / np.maximum(n.sum(axis=1, keepdims=True), 1)
        between = (n * (means - middle) ** 2).sum(axis=(1, 2))
        several = (n[:, :, 0] > 1).sum(axis=1) > 1
        best += [(-float(between[at]), place, int(at)) for at in np.flatnonzero(several & (between > 0))]
    rows = []
    for _, place, at in sorted(best)[:TEXTS]:
        question, items, counts = drawn[place]
        row = {"item": items[at], "question": question.id, "text": shortened(texts.get(items[at], items[at]), 280)}
        marks = {f"group_{n}": mark(answers_of(question)[2], votes) for n, votes in enumerate(counts[at].tolist(), 1)}
        rows.append(row | marks)
    if not rows:
        return []
    columns = {f"group_{place}": Column(name) for place, name in enumerate(names, 1)}
    shown = [*(["question"] if len(drawn) > 1 else []), "text", *columns]
    caption = f"Texts on which groups by {trait} differ most, with their answers; with few answers, some by chance."
    return [Table(f"{slug}-texts", caption, pl.DataFrame(rows), columns, shown, ["item", "question"])]
