"""Scores and coarse labels under the rules that the paper uses, and how the questions go together."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from vantage.corpora import Corpus
from vantage.errors import InputError
from vantage.measures.aggregation import aggregate, bands
from vantage.measures.correlate import correlate
from vantage.measures.variation import opposed_items
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.report.published import Published
from vantage.studies.wcsent.data_part import ordered
from vantage.studies.wcsent.printed import QUESTIONS, SENTIMENT, STANCE, TABLE_2, TABLE_9, TIES

RULES = {
    "votes (Table 2)": {"method": "signs", "ties": "neutral"},
    "means (released)": {"method": "mean", "rounding": "half_up"},
    "medians": {"method": "median", "rounding": "half_even"},
    "majority (App. F.1)": {"method": "majority", "coarse": True, "ties": "neutral"},
}
OPPOSED = {
    "released scores": {"aggregate": "mean", "rounding": "half_up"},
    "means beyond ½": {"aggregate": "mean", "beyond": 0.5},
    "medians, rounded": {"aggregate": "median", "rounding": "half_even"},
    "medians": {"aggregate": "median"},
    "votes": {"aggregate": "votes"},
    "means": {"aggregate": "mean"},
}


def scores(people: Corpus) -> tuple[Section, list[Published]]:
    """Mean, median and votes, and the labels that follow from them."""
    labels = pl.concat(
        [
            bands(people, by="question", **how).select(  # type: ignore[arg-type]
                pl.lit(rule).alias("rule"), "question", "band", "count", pl.col("estimate").alias("share")
            )
            for rule, how in RULES.items()
        ]
    )
    wide = ordered(labels.pivot(on="band", index=["rule", "question"], values="count"))
    means = aggregate(people, method="mean").select("item", "question", "value")
    ties = bands(people, by="question", method="signs", ties="none").unique("question")
    undecided = dict(ties.select("question", "undecided").iter_rows())
    opposed = pl.DataFrame(
        [
            {"rule": rule, "pairs": opposed_items(people, ci="none", **how).row(0, named=True)["opposed"]}  # type: ignore[arg-type]
            for rule, how in OPPOSED.items()
        ]
    )
    parts: list[Table | Figure] = [
        Figure(
            "scores",
            "Distribution of the mean score of a pair, by question.",
            "Three violins from −3 to 3: trust is the widest and has most pairs below zero, competence the narrowest.",
            "distribution",
            ordered(means).select("question", "value"),
            {"value": "value", "category": "question", "kind": "violin", "label": "mean score"},
        ),
        Figure(
            "labels",
            "Coarse labels by question under four rules of aggregation.",
            "Stacked bars. Under the votes of Table 2 hardly anything is neutral; under the released scores about a "
            "fifth is.",
            "shares",
            ordered(labels).select(
                pl.concat_str("question", pl.lit(": "), "rule").alias("label"), pl.col("band").cast(pl.String), "share"
            ),
            {"category": "label", "part": "band", "order": ["low", "neutral", "high"], "sequential": True},
        ),
        Table(
            "labels",
            "Items by coarse label under four rules of aggregation.",
            wide,
            keys=("rule", "question"),
            notes=[
                "Votes: the sign of high minus low ratings, neutral ones ignored. Means are rounded half up and "
                "medians half to even before they become bands. Majority: the most frequent band; ties are neutral."
            ],
        ),
        Table(
            "opposed",
            "Pairs whose questions point in opposite directions (one above zero, another below), by rule.",
            opposed,
            keys=("rule",),
            notes=["The paper prints 159, which none of the rules gives."],
        ),
    ]
    rows = []
    for question, printed in zip(QUESTIONS, TABLE_2, strict=True):
        mine = labels.filter(rule=next(iter(RULES)), question=question)
        counts = dict(mine.select(pl.col("band").cast(pl.String), "count").iter_rows())
        rows += [
            Published(f"{question}: {band}", "Table 2", n, counts.get(band), "high minus low votes; neutral ignored")
            for band, n in zip(("low", "neutral", "high"), printed, strict=True)
        ]
        why = "as many high as low votes, and some; no further condition gives the printed figure"
        tied = TIES[QUESTIONS.index(question)]
        rows.append(Published(f"tied items, {question}", "Appendix F.1", tied, undecided.get(question), why))
    rows.append(
        Published(
            "pairs with opposed questions",
            "Section 5",
            "159",
            opposed["pairs"][0],
            "released scores; no rule gives 159",
        )
    )
    text = (
        "The paper reports scores and labels under several rules and does not always name the one it used. The tables "
        "show what each rule gives; the released scores are means rounded half up."
    )
    return Section("Scores and labels", [text], parts), rows


def relations(people: Corpus, stance: Path | None, seed: int) -> tuple[Section, list[Published], list[Finding]]:
    """How the questions go together, and how they follow stance and sentiment where a file is given."""
    found = correlate(people, correlation="spearman", aggregate="median", rounding="half_even", seed=seed)
    rows = []
    for row in found.iter_rows(named=True):
        figure = TABLE_9.get((row["first"], row["second"]))
        if figure:
            what = f"{row['first']} with {row['second']}"
            rows.append(
                Published(what, "Table 9", figure, row["estimate"], "Spearman of medians rounded to whole points")
            )
    parts: list[Table | Figure] = [
        Table(
            "relations",
            "Rank correlations of the median scores between questions, over pairs of sentence and target.",
            found,
            {"estimate": Column("Spearman", digits=2)},
            ("first", "second", "estimate", "items"),
            ("first", "second"),
        ),
        *_co_occurrence(people),
    ]
    text = [
        "The questions are far from independent: a sentence that makes its target look honest mostly makes it look "
        "likeable too. Competence goes its own way most often."
    ]
    if stance is not None:
        extra, more = _stance(people, stance, seed)
        parts += extra
        rows += more
    else:
        text.append(
            "Stance and sentiment are not in the release; with a file of them (option stance) they are related too."
        )
        rows += [
            Published(f"{kind} with {question}", "Table 6", figure, None, "needs the stance file of SemEval-2016")
            for kind, printed in (("stance", STANCE), ("sentiment", SENTIMENT))
            for question, figure in zip(QUESTIONS, printed, strict=True)
        ]
    top = found.sort("estimate", descending=True).row(0, named=True)
    finding = Finding(
        "{first} and {second} go together most (rank correlation {estimate:.2f}).",
        {"first": top["first"].capitalize(), "second": top["second"], "estimate": top["estimate"]},
    )
    return Section("Relations between the questions", text, parts), rows, [finding]


def _co_occurrence(people: Corpus) -> list[Figure]:
    """How often two questions have which pair of released scores."""
    final = aggregate(people, method="mean", rounding="half_up").select("item", "question", "value")
    wide = final.pivot(on="question", index="item", values="value").drop_nulls()
    figures = []
    for one, other in (("trust", "sociability"), ("trust", "competence"), ("sociability", "competence")):
        counts = wide.group_by(one, other).len("pairs").sort(one, other, descending=[True, False])
        top = counts.sort("pairs", descending=True).row(0, named=True)
        counts = counts.with_columns(
            pl.col(one).cast(pl.Int64).cast(pl.String), pl.col(other).cast(pl.Int64).cast(pl.String)
        )
        figures.append(
            Figure(
                f"{one}-{other}",
                f"Pairs by their scores for {one} (rows) and {other} (columns).",
                f"A heat map along the diagonal; most frequent is {one} {top[one]:g} with {other} {top[other]:g}.",
                "heat",
                _square(counts, one, other),
                {"row": one, "column": other, "value": "pairs", "label": "pairs", "digits": 0, "width": 4.2},
            )
        )
    return figures


def _square(counts: pl.DataFrame, one: str, other: str) -> pl.DataFrame:
    """Every combination of two scores, from −3 to 3, those that never occur as zero."""
    codes = [str(code) for code in range(-3, 4)]
    grid = pl.DataFrame({one: list(reversed(codes))}).join(pl.DataFrame({other: codes}), how="cross")
    return grid.join(counts, on=[one, other], how="left", maintain_order="left").with_columns(
        pl.col("pairs").fill_null(0)
    )


def _stance(people: Corpus, path: Path, seed: int) -> tuple[list[Table | Figure], list[Published]]:
    """Correlations with stance and sentiment, joined by text and target."""
    try:
        table = pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"the stance file cannot be read ({error})", file=path, remedy="give a CSV file") from None
    for column in ("text", "target", "stance"):
        if column not in table.columns:
            raise InputError(
                f"the stance file has no column '{column}'", file=path, remedy="text, target, stance, sentiment"
            )
    kinds = [name for name in ("stance", "sentiment") if name in table.columns]
    items = people.items.join(
        table.select("text", "target", *kinds), on=["text", "target"], how="left", maintain_order="left"
    )
    joined = Corpus(
        items.unique("item", keep="first", maintain_order=True), people.raters, people.judgments, people.instruments
    )
    order = {"stance": ["AGAINST", "NONE", "FAVOR"], "sentiment": ["NEGATIVE", "NEITHER", "POSITIVE"]}
    found = correlate(
        joined, outside=kinds, order={k: order[k] for k in kinds}, correlation="spearman", aggregate="median", seed=seed
    ).filter(pl.col("second").is_in(kinds) | pl.col("first").is_in(kinds))
    rows = []
    for row in found.iter_rows(named=True):
        kind, question = (row["first"], row["second"]) if row["first"] in kinds else (row["second"], row["first"])
        printed = {"stance": STANCE, "sentiment": SENTIMENT}[kind]
        if question in QUESTIONS:
            figure = printed[QUESTIONS.index(question)]
            rows.append(Published(f"{kind} with {question}", "Table 6", figure, row["estimate"], "Spearman of medians"))
    caption = "Rank correlations of the median scores with stance and sentiment, from the file that was given."
    return [
        Table(
            "stance",
            caption,
            found,
            {"estimate": Column("Spearman", digits=2)},
            ("first", "second", "estimate", "items"),
        )
    ], rows
