"""Traits in people and in models: what they explain of human disagreement, and whether models exaggerate it."""

from __future__ import annotations

from typing import Any

import polars as pl

from vantage.errors import InputError
from vantage.measures.components import components
from vantage.perspective import exaggeration, explained
from vantage.report.parts import Column, Figure, Finding, Section, Table
from vantage.studies.perseval.evaluated import Evaluated


def people_and_models(found: list[Evaluated]) -> tuple[Section | None, list[Finding]]:
    """What traits explain among people beside what raters make of them."""
    with_traits = [one for one in found if one.task.traits]
    if not with_traits:
        return None, []
    gains = [
        {"corpus": one.task.name, **row}
        for one in with_traits
        for row in explained(one.task.people, one.task.question, seed=one.seed).iter_rows(named=True)
    ]
    shares = [row for one in with_traits for row in _components(one)]
    differences = [row for one in with_traits for row in _exaggerated(one)]
    text = (
        "The gain is the share of the squared error that a trait takes away when a new person's answer is predicted "
        "from the others' answers to the same text: at or below zero, the trait explains nothing that would hold for "
        "other people. The variance components say how much of all variation lies between the groups of a trait, on "
        "average and from text to text. A model that sets groups further apart than they are stereotypes: its ratio "
        "is above 1."
    )
    parts: list[Table | Figure] = [
        Table(
            "explained",
            "What each trait explains of people's answers to the same text, cross-validated over people.",
            pl.DataFrame(gains, infer_schema_length=None),
            {"gain": Column("gain", percent=True, digits=2)},
            keys=("corpus", "trait"),
        )
    ]
    if shares:
        parts.append(
            Table(
                "components",
                "Shares of the variance of people's answers, one trait at a time.",
                pl.DataFrame(shares, infer_schema_length=None),
                {
                    "item": Column("text", percent=True),
                    "trait_share": Column("groups on average", percent=True, digits=2),
                    "interaction": Column("groups by text", percent=True, digits=2),
                    "rater": Column("single people", percent=True),
                    "residual": Column("the rest", percent=True),
                },
                keys=("corpus", "trait"),
            )
        )
    if differences:
        frame = pl.DataFrame(differences, infer_schema_length=None)
        drawn = pl.concat(
            [
                frame.select(
                    "who",
                    pl.lit(side).alias("side"),
                    pl.col(side).alias("estimate"),
                    pl.col(f"{side}_low").alias("low"),
                    pl.col(f"{side}_high").alias("high"),
                )
                for side in ("people", "model")
            ]
        ).sort("who", maintain_order=True)
        if frame["who"].n_unique() <= 30:
            parts.append(
                Figure(
                    "differences",
                    "Difference between two groups on the same texts: among people and in what is predicted for them.",
                    "Two points per pair of groups and rater, people and model; where the model's lies further from "
                    "zero it exaggerates.",
                    "points",
                    drawn,
                    {"category": "who", "series": "side", "label": "difference of the mean answer", "reference": 0.0},
                )
            )
        parts.append(
            Table(
                "exaggeration",
                "Differences between groups on the texts that both judged, in people and in predictions for the same "
                "people.",
                frame.drop("who"),
                {
                    "people": Column(digits=3, signed=True, interval=("people_low", "people_high")),
                    "model": Column("rater's", digits=3, signed=True, interval=("model_low", "model_high")),
                    "ratio": Column(digits=2, interval=("low", "high")),
                },
                ("corpus", "rater", "trait", "first", "second", "people", "model", "ratio", "texts", "reason"),
                ("corpus", "rater", "trait", "first", "second"),
            )
        )
    return Section("Traits in people and in models", [text], parts), _findings(with_traits, gains, differences)


def _components(one: Evaluated) -> list[dict[str, Any]]:
    rows = []
    scale = one.task.people.question(one.task.question).scale
    if not (scale.ordered or len(scale.codes) == 2):
        return []
    people = one.task.people
    # Two answers are as good as ordered, which a nominal scale does not say of itself.
    plain = people.judgments.select("item", "rater", "value").join(people.raters, on="rater")
    for trait in one.task.traits:
        try:
            told = components(plain.drop_nulls(trait), trait=trait, ci="none")
        except InputError:
            continue
        share = dict(told.select("component", "estimate").iter_rows())
        rows.append(
            {
                "corpus": one.task.name,
                "trait": trait,
                "item": share.get("item"),
                "trait_share": share.get(trait),
                "interaction": share.get(f"item × {trait}"),
                "rater": share.get("rater"),
                "residual": share.get("residual"),
            }
        )
    return rows


def _exaggerated(one: Evaluated) -> list[dict[str, Any]]:
    rows = []
    for cell in one.focus:
        frame = one.predictions[cell.rater, cell.variant]
        for trait in one.evaluations[cell].traits:
            told = exaggeration(
                frame, one.task.people, trait, one.task.question, resamples=max(one.resamples, 1), seed=one.seed
            )
            for row in told.iter_rows(named=True):
                who = f"{one.task.name}, {cell.name}: {row['first']} − {row['second']}"
                rows.append({"who": who, "corpus": one.task.name, "rater": cell.name, **row})
    return rows


def _findings(found: list[Evaluated], gains: list[dict[str, Any]], differences: list[dict[str, Any]]) -> list[Finding]:
    told = []
    for one in found:
        mine = [row for row in gains if row["corpus"] == one.task.name and row["gain"] is not None]
        if mine:
            best = max(mine, key=lambda row: row["gain"])
            numbers = {"corpus": one.task.name, "trait": best["trait"].replace("_", " "), "gain": 100 * best["gain"]}
            sentence = (
                "{corpus}: among people themselves, {trait} explains {gain:.1f} % of what is left when the text is "
                "known"
                if best["gain"] > 0
                else "{corpus}: among people themselves, no trait explains anything that holds for other people"
            )
            told.append(Finding(f"{sentence}.", numbers))
        over = [
            row for row in differences if row["corpus"] == one.task.name and row["low"] is not None and row["low"] > 1
        ]
        sentence = "{corpus}: {rater} exaggerates the difference between {first} and {second} {ratio:.1f} times."
        told += [Finding(sentence, row) for row in over[:1]]
    return told
