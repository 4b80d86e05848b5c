"""Who may stand in for a person: simulated raters that do not read, and models as good as people or better.

The simulator is written apart from the measure: people answer by an item's own tendency, raters that do not read know
the answers of people to all items at most.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from tests.often import times
from vantage.measures.scoring.replaceability import alt_test

Design = Literal["rare", "even", "options", "stars"]
DESIGNS: tuple[Design, ...] = ("rare", "even", "options", "stars")
BLIND = ("modal", "other", "marginal", "uniform", "median")
SEEING = ("person", "expert")


def simulated(design: Design, model: str, seed: int) -> tuple[pl.DataFrame, Any]:
    """People, a model of some sort, and how their answers are aligned."""
    rng = np.random.default_rng([seed, DESIGNS.index(design)])
    items, people = 200, 5
    draw: Callable[[], Any]
    if design in ("rare", "even"):
        # The share of people who say yes, by item: mostly few of them, or anything.
        tendency = rng.beta(*((0.15, 1.35) if design == "rare" else (0.8, 0.8)), items)
        draw = lambda: (rng.random(items) < tendency).astype(float)  # noqa: E731
        best = (tendency > 0.5).astype(float)
    elif design == "options":
        shares = rng.dirichlet([0.9, 0.4, 0.2], items)
        draw = lambda: (rng.random((items, 1)) > np.cumsum(shares, axis=1)).sum(axis=1).astype(float)  # noqa: E731
        best = shares.argmax(axis=1).astype(float)
    else:
        mean = 3 + rng.normal(size=items) * 0.8
        draw = lambda: np.clip(np.rint(mean + rng.normal(size=items)), 1, 5)  # noqa: E731
        best = np.clip(np.rint(mean), 1, 5)
    answers = np.array([draw() for _ in range(people)])
    codes, often = np.unique(answers, return_counts=True)
    order = np.argsort(-often, kind="stable")
    said = {
        "modal": lambda: np.full(items, codes[order[0]]),
        "other": lambda: np.full(items, codes[order[1]]),
        "marginal": lambda: rng.permutation(answers.ravel())[:items],
        "uniform": lambda: rng.choice(codes, items),
        "median": lambda: np.array([np.median(np.delete(answers, i, axis=1)) for i in range(items)]),
        "person": draw,
        "expert": lambda: best,
    }[model]()
    table = np.vstack([answers, said])
    rater, item = (grid.ravel() for grid in np.indices(table.shape))
    kind = np.where(rater < people, "person", "model")
    frame = {"item": item, "rater": np.array([*"abcde", "m"])[rater], "kind": kind, "value": table.ravel()}
    return pl.DataFrame(frame), "rmse" if design == "stars" else "accuracy"


def verdicts(design: Design, model: str, seeds: range) -> list[dict[str, Any]]:
    rows = []
    for seed in seeds:
        data, alignment = simulated(design, model, seed)
        # People who tell texts apart, judged as experts are: epsilon 0.2.
        rows.append(alt_test(data, alignment=alignment, epsilon=0.2, resamples=300, seed=seed).row(0, named=True))
    return rows


@pytest.mark.parametrize("design", DESIGNS)
def test_a_rater_that_does_not_read_never_stands_in(design: Design) -> None:
    for model in BLIND:
        for row in verdicts(design, model, range(1)):
            assert row["stands_in"] is False
            assert row["skill"] is None or row["skill"] < 0.5


@pytest.mark.parametrize("design", DESIGNS)
def test_a_model_as_good_as_people_stands_in(design: Design) -> None:
    for model in SEEING:
        for row in verdicts(design, model, range(1)):
            assert row["stands_in"] is True
            assert row["skill_low"] <= row["skill"] <= row["skill_high"]
            assert row["skill_low"] > 0.3


def test_the_test_alone_is_passed_without_reading() -> None:
    rows = verdicts("rare", "modal", range(3))
    assert all(row["passes"] and row["unread"] == "the modal answer" for row in rows)
    assert all(row["kappa"] == row["floor"] == 0 for row in rows)


@pytest.mark.slow
def test_hundreds_of_raters_that_do_not_read() -> None:
    rows = [row for design in DESIGNS for model in BLIND for row in verdicts(design, model, range(times(25, 10)))]
    assert len(rows) == times(500, 200)
    assert sum(row["passes"] for row in rows) > len(rows) / 10, "many pass the test alone"
    assert sum(row["stands_in"] for row in rows) == 0


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_nineteen_of_twenty_good_models_stand_in(design: Design) -> None:
    for model in SEEING:
        rows = verdicts(design, model, range(times(100, 40)))
        assert sum(bool(row["stands_in"]) for row in rows) >= 0.95 * len(rows), model


def people_and_models(folder: Path) -> pl.DataFrame:
    """The answers of people and of six models (Calderon et al. 2025), with the label of each as text."""
    rows = [
        (key, rater, kind, str(label))
        for file, kind in (("human_annotations", "person"), ("llm_annotations", "model"))
        for rater, labels in json.loads((folder / f"{file}.json").read_text(encoding="utf-8")).items()
        for key, label in labels.items()
    ]
    return pl.DataFrame(rows, schema=["key", "rater", "kind", "label"], orient="row")


@pytest.mark.slow
def test_framing_questions_as_their_authors_count_them(data_dir: Path) -> None:
    key = pl.col("key").str.split("__")
    value = pl.col("label").replace_strict({"yes": 1.0, "no": 0.0}, default=None, return_dtype=pl.Float64)
    data = people_and_models(data_dir / "people-and-models" / "framing").with_columns(
        item=key.list.first(), question=key.list.last(), value=value
    )
    people = data.filter(pl.col("kind") == "person", pl.col("value").is_not_null())
    modal = people.group_by("question").agg(pl.col("value").mode().sort().first())
    blind = data.filter(rater="gpt-4o").drop("value").join(modal, on="question").with_columns(rater=pl.lit("modal"))
    found = alt_test(pl.concat([data, blind.select(data.columns)]), by="question", alignment="accuracy", resamples=300)
    passes, stands_in = (
        dict(found.group_by("model").agg(pl.col(name).sum()).iter_rows()) for name in ("passes", "stands_in")
    )
    assert passes == {
        "gemini_pro": 16,
        "gpt-4o": 15,
        "gpt-4o-mini": 9,
        "modal": 10,
        **dict.fromkeys(("gemini_flash", "llama-31", "mistral-v03"), 7),
    }
    # The figures of docs/compare-model.md.
    assert stands_in == {
        "gemini_pro": 14,
        "gpt-4o": 12,
        "gpt-4o-mini": 6,
        "gemini_flash": 4,
        "llama-31": 3,
        "mistral-v03": 1,
        "modal": 0,
    }


@pytest.mark.slow
def test_stars_of_reviews_are_read_by_all_six_models(data_dir: Path) -> None:
    data = people_and_models(data_dir / "people-and-models" / "cebab_stars")
    data = data.with_columns(item="key", value=pl.col("label").cast(pl.Float64))
    three = data.filter(rater="gpt-4o").with_columns(rater=pl.lit("three"), value=pl.lit(3.0))
    found = alt_test(pl.concat([data, three]), alignment="rmse", resamples=300)
    blind, models = found.filter(model="three").row(0, named=True), found.filter(pl.col("model") != "three")
    assert models["stands_in"].all()
    assert models["estimate"].min() == pytest.approx(0.5)
    assert models["estimate"].max() == pytest.approx(0.9)
    assert (blind["estimate"], blind["stands_in"], blind["skill"]) == (pytest.approx(0.1), False, pytest.approx(0))
