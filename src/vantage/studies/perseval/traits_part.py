"""What traits do to predictions: votes in every combination, and labels that change with nothing but the trait."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.corpora import Corpus
from vantage.perspective import ablation, label_change
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.perseval.evaluated import Evaluated


def lattice(found: list[Evaluated]) -> tuple[Section | None, list[Finding]]:
    """Every combination of traits in the vote, for raters that were told one trait at a time."""
    rows: list[dict[str, Any]] = []
    for one in found:
        for rater in one.one_trait_raters:
            told = {trait: _whole(frame, one) for trait, frame in one.told(rater).items()}
            if not told:
                continue
            people = one.asked if one.asked is not None and ":" in rater else one.task.split()
            scored = ablation(told, people, seed=one.seed).filter(pl.col("class") == one.task.label)
            rows += [{"corpus": one.task.name, "rater": rater, **row} for row in scored.iter_rows(named=True)]
    if not rows:
        return None, []
    frame = pl.DataFrame(rows, infer_schema_length=None).drop("class", "low", "high", "ties")
    text = (
        "Each rater was told one trait of the user at a time; here the traits vote in every combination. Ties go to "
        "the trait named first, and with two traits every disagreement is a tie: the share of annotations that the "
        "rule for ties decided stands beside each score."
    )
    parts: list[Table | Figure] = []
    several = frame.filter(pl.col("size").max().over("corpus", "rater") > 1)
    if len(several):
        drawn = several.with_columns(pl.format("{}: {}", "corpus", "rater").alias("panel"))
        parts.append(
            Figure(
                "lattice",
                "F1 of the vote over every combination of traits; lines join combinations that differ by one trait.",
                "A lattice from single traits on the left to all of them on the right, at the height of their F1.",
                "lattice",
                drawn.select("panel", "traits", "size", "f1"),
                {"sets": "traits", "value": "f1", "panel": "panel", "label": "F1"},
            )
        )
    else:
        text += " The corpora have one trait each, so that there is one combination and no lattice to draw."
    parts.append(
        Table(
            "ablation",
            "Scores of the vote over every combination of traits.",
            frame,
            {"f1": Column("F1", digits=3), "tied": Column("decided by ties", percent=True)},
            keys=("corpus", "rater", "traits"),
        )
    )
    return Section("Which traits matter in the vote?", [text], parts), []


def changes(found: list[Evaluated]) -> tuple[Section | None, list[Finding]]:
    """How often the label changes with the trait: in predictions, among people, and when only the prompt changes."""
    rows: list[dict[str, Any]] = []
    prompts: list[dict[str, Any]] = []
    for one in found:
        for rater in one.one_trait_raters:
            for trait, frame in one.told(rater).items():
                told = label_change(frame, one.task.people, trait, one.task.question)
                key = {"corpus": one.task.name, "rater": rater, "trait": trait}
                mine = {row["who"]: row for row in told.iter_rows(named=True)}
                rows.append(
                    {
                        **key,
                        **{f"model_{name}": mine["model"][name] for name in ("between", "texts", "annotations")},
                        "people_between": mine["people"]["between"],
                        "texts": mine["model"]["compared_texts"],
                        "annotations": mine["model"]["compared_annotations"],
                    }
                )
        for (rater, style), frame in one.predictions.items():
            if style.startswith("values:"):
                trait = style.removeprefix("values:")
                prompts.append({"corpus": one.task.name, "rater": rater, "trait": trait, **_between(one, frame, trait)})
    if not rows:
        return None, []
    text = (
        "The first number is the chance that two users with different values of the trait get different labels for the "
        "same text; beside it stands the same among the people themselves. A rater that uses a trait as people "
        "differ by it has similar numbers. Changed texts over annotations, the paper's count, cannot exceed texts over "
        "annotations and is given for comparison only."
    )
    parts: list[Table | Figure] = [
        Table(
            "label-change",
            "How often labels differ between users of different trait values.",
            pl.DataFrame(rows, infer_schema_length=None),
            {
                "model_between": Column("rater", digits=3),
                "people_between": Column("people", digits=3),
                "model_texts": Column("share of texts changed", digits=3),
                "model_annotations": Column("changed texts / annotations", digits=3),
            },
            keys=("corpus", "rater", "trait"),
        )
    ]
    if prompts:
        parts.append(
            Table(
                "prompt-change",
                "How often a model's label changes when nothing but the value of the trait in the prompt does: every "
                "text was put with every value.",
                pl.DataFrame(prompts, infer_schema_length=None),
                {"between": Column("chance of another label", digits=3), "changed": Column("share of texts", digits=3)},
                keys=("corpus", "rater", "trait"),
            )
        )
    return Section("Does the label change with the trait?", [text], parts), []


def _whole(frame: pl.DataFrame, one: Evaluated) -> pl.DataFrame:
    """Predictions by one trait for every pair; none where the trait of the user is not known."""
    whole = one.task.split().test if one.asked is None else one.asked.test
    pairs = one.task.split().test if len(frame) > len(whole) else whole
    return pairs.select("item", "rater").join(frame, on=["item", "rater"], how="left")


def _between(one: Evaluated, frame: pl.DataFrame, trait: str) -> dict[str, Any]:
    """Label change where the value of a trait stands in the place of the user."""
    values = frame["rater"].unique().sort()
    people = one.task.people
    raters = pl.DataFrame({"rater": values, "kind": ["person"] * len(values), trait: values})
    items = people.items.join(frame, on="item", how="semi")
    judged = frame.with_columns(pl.lit(one.task.question).alias("question")).drop_nulls("value")
    told = Corpus(items, raters, judged, people.instruments)
    row = label_change(frame, told, trait, one.task.question).row(0, named=True)
    return {"between": row["between"], "changed": row["texts"], "texts": row["compared_texts"], "values": len(values)}
