"""The data: targets, annotators, annotations per item, and the official split."""

from __future__ import annotations

import polars as pl

from vantage.corpora import Corpus
from vantage.report.parts import Column, Section, Table
from vantage.report.published import Published
from vantage.studies.wcsent.printed import ANNOTATORS, QUESTIONS, TARGETS


def data(people: Corpus) -> tuple[Section, list[Published]]:
    """What was judged, by whom and how often."""
    items, judgments = people.items, people.judgments
    counts = items.group_by("target").agg(pl.len().alias("pairs")).sort("pairs", descending=True)
    targets = counts.with_columns((pl.col("pairs") / len(items)).alias("share"))
    per_item = judgments.group_by("item", "question").len("annotations")
    spread = (
        per_item.group_by("question", "annotations")
        .len("items")
        .pivot(on="annotations", index="question", values="items", on_columns=sorted(per_item["annotations"].unique()))
        .fill_null(0)
    )
    raters = judgments.group_by("question").agg(
        pl.col("rater").n_unique().alias("annotators"), pl.len().alias("annotations"), pl.col("item").n_unique()
    )
    by_question = ordered(raters.join(spread, on="question"))
    text = (
        f"The release has {len(judgments):,} ratings from −3 to 3 by {people.raters.height} annotators: how "
        f"trustworthy, "
        f"sociable and competent each of {len(items):,} pairs of a sentence and a target makes the target look. The "
        f"{items['text'].n_unique():,} different sentences are mostly tweets."
    )
    parts = [
        Table("targets", "Pairs of sentence and target by target.", targets, {"share": Column(percent=True, digits=1)}),
        Table(
            "annotations",
            "Annotators and annotations per question, and how many items have how many annotations.",
            by_question.rename({str(n): f"with {n}" for n in sorted(per_item["annotations"].unique())}),
            {"item": "items"},
            keys=("question",),
        ),
    ]
    if "split" in items.columns:
        parts.append(_split(items))
    told = dict(counts.iter_rows())
    rows = [Published(f"pairs about {target}", "Table 1", n, told.get(target)) for target, n in TARGETS.items()]
    rows.append(Published("annotators", "Section 3", "210", people.raters.height))
    found = dict(by_question.select("question", "annotators").iter_rows())
    why = "Different annotator ids in the released ratings; no filter gives the printed figures."
    rows += [
        Published(f"annotators of {q}", "Section 3", n, found.get(q), why)
        for q, n in zip(QUESTIONS, ANNOTATORS, strict=True)
    ]
    return Section("Data", [text], parts), rows


def _split(items: pl.DataFrame) -> Table:
    finals = [f"final_{q}" for q in QUESTIONS if f"final_{q}" in items.columns]
    frame = items.group_by("split").agg(
        pl.len().alias("pairs"),
        pl.col("text").n_unique().alias("texts"),
        *(pl.col(name).mean().alias(f"mean {name.removeprefix('final_')}") for name in finals),
    )
    order = {"train": 0, "validation": 1, "test": 2}
    frame = frame.sort(pl.col("split").replace_strict(order, default=3))
    texts = [set(items.filter(split=part)["text"]) for part in frame["split"]]
    shared = sum(len(a & b) for n, a in enumerate(texts) for b in texts[n + 1 :])
    return Table(
        "split",
        "The official split, with the means of the released scores.",
        frame,
        keys=("split",),
        notes=[f"{shared} texts stand in more than one part." if shared else "No text stands in more than one part."],
    )


def ordered(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of the questions in the paper."""
    order = {question: n for n, question in enumerate(QUESTIONS)}
    return frame.sort(pl.col("question").replace_strict(order, default=9), maintain_order=True)
