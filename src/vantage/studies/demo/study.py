"""The study of the demo: planted beside found, and a small model that is asked as one more rater.

Careless raters are looked for first and left out of what follows; then agreement, models, raters, traits and ambiguous
sentences are measured, all of trust. No estimate looks at what was planted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from typing import Any, Final

import numpy as np
import polars as pl

from vantage.corpora import Corpus
from vantage.corpora.bundled import planted_corpus
from vantage.documents import Document
from vantage.measures import Floats, Resampling, alpha, alt_test, compare, per_item, rater_quality, split_items
from vantage.raters.models.base import ModelError
from vantage.report.recipe import Analysis, Data
from vantage.studies.execution import Context
from vantage.studies.recipes import recipe_study

QUESTION: Final = "trust"
SPLIT: Final = 0.3
"""A sentence is found to be ambiguous when at least this share of its answers are low and as many are high."""
CARELESS: Final = {"random": "p07", "constant": "p19"}
NARROW: Final = "p11"
AS_PLANTED: Final = "as planted"
SYNTHETIC: Final = ("model-a", "model-b")


def collect(context: Context[Any]) -> Corpus:
    """The bundled sentences with their synthetic ratings, and what the model answers about trust."""
    corpus = planted_corpus()
    context.warn(
        "The ratings are synthetic: a program drew them, so that the truth is known. They say nothing about people."
    )
    if not context.options.asked:
        return corpus
    asked = corpus.items["item"].head(context.options.asked)
    try:
        return context.rate(corpus, context.raters("scoring"), corpus.instruments[0], questions=[QUESTION], items=asked)
    except ModelError as error:
        # Everything but the model's own row can be shown without it.
        context.warn(f"No real model was asked: {error}")
        return corpus


@dataclass
class Demo(Analysis):
    """The corpus of the demo and its parts."""

    resamples: int = 1000

    @cached_property
    def quality(self) -> pl.DataFrame:
        """How well each person follows the others."""
        return rater_quality(self.people)

    @cached_property
    def careless(self) -> list[str]:
        """People whose answers are not shown to follow those of the others."""
        return sorted(self.quality.filter((pl.col("low") <= 0) | pl.col("estimate").is_null())["rater"])

    @cached_property
    def kept(self) -> Corpus:
        """People without those who answer carelessly."""
        return self.people.filter(~pl.col("rater").is_in(self.careless))

    @cached_property
    def trust(self) -> Corpus:
        """The answers about trust, of people who are kept and of models."""
        return self.corpus.filter(~pl.col("rater").is_in(self.careless), question=QUESTION)

    @cached_property
    def careful(self) -> Corpus:
        """The answers of people who are kept about trust."""
        return self.kept.filter(question=QUESTION)

    @cached_property
    def split(self) -> pl.DataFrame:
        """The sentences with the shares of low and high answers."""
        return split_items(self.careful, share=SPLIT, per="item")

    @cached_property
    def models(self) -> list[str]:
        """The models that answered about trust."""
        return sorted(self.trust.raters.filter(pl.col("kind").cast(pl.String) == "model")["rater"])

    def followed(self, model: str) -> dict[str, Any]:
        """How well a model's answers follow the mean of people's."""
        pair = self.trust.filter(pl.col("rater").is_in([*self.careful.raters["rater"], model]))
        return rater_quality(pair, kinds="all").filter(rater=model).row(0, named=True)


def estimates(corpus: Corpus, *, resamples: int = 1000, seed: int = 0) -> pl.DataFrame:
    """The estimate of every planted value, with its interval and what that is over."""
    demo = Demo(corpus, seed=seed, resamples=resamples)
    how: dict[str, Any] = {"resamples": resamples, "seed": seed}
    rows: list[dict[str, Any]] = []

    def add(name: str, row: dict[str, Any], over: str = "items") -> None:
        rows.append({"id": name, **{c: row[c] for c in ("estimate", "low", "high")}, "over": row.get("over") or over})

    for row in alpha(demo.kept, by="question", ci="both", **how).iter_rows(named=True):
        add(row["question"], row)
    readings = alpha(demo.careful.filter(reading="ambiguous"), ci="both", **how)
    add("ambiguous", readings.row(0, named=True))
    for name, rater in CARELESS.items():
        add(name, demo.quality.filter(rater=rater).row(0, named=True))
    for model in demo.models:
        add(model, demo.followed(model))
    add("narrow", spread_ratio(demo.careful, NARROW, Resampling("items", **how)))
    for trait in ("home", "hand"):
        add(trait, compare(demo.careful, between=trait).row(0, named=True))
    return pl.DataFrame(rows)


def spread_ratio(corpus: Corpus, rater: str, how: Resampling) -> dict[str, float | None]:
    """The standard deviation of a rater's answers over that of the others' answers to the same items."""
    answers = corpus.judgments.drop_nulls("value")
    own = answers.filter(rater=rater)
    shared = answers.join(own.select("item", "question"), on=["item", "question"], how="semi")
    mine = (shared["rater"] == rater).cast(pl.Float64).to_numpy()
    value = shared["value"].to_numpy()
    powers = np.column_stack([np.ones_like(value), value, value**2])
    sums = per_item(shared["item"], np.hstack([powers * mine[:, None], powers * (1 - mine)[:, None]]))

    def ratio(total: Floats) -> Floats:
        count, first, second = (total[:, [n, n + 3]] for n in range(3))
        variance = (second - first**2 / count) / (count - 1)
        return np.asarray(np.sqrt(variance[:, 0] / variance[:, 1]))

    low, high = how.of_sums(sums, ratio)
    return {"estimate": float(ratio(sums.sum(axis=0, keepdims=True))[0]), "low": low, "high": high}


def planted_values(demo: Demo) -> Data:
    """Every planted value beside its estimate, with a verdict; real models come last in the panel of the models."""
    planted = pl.read_csv((resources.files("vantage.studies.demo") / "planted.csv").read_bytes())
    known = planted.rows_by_key("id", named=True, include_key=True, unique=True)
    measured = estimates(demo.corpus, resamples=demo.resamples, seed=demo.seed)
    by_truth = measured.rows_by_key("id", named=True, include_key=True, unique=True)
    rows: list[dict[str, Any]] = []
    for truth in _truths()["values"]:
        row = {"none": None, **truth, **by_truth[truth["id"]], **known[truth["id"]]}
        rows.append({**row, "verdict": _verdict(row["planted"], row["low"], row["high"], row["none"])})
        if truth["id"] == SYNTHETIC[-1]:
            for model in (name for name in demo.models if name not in SYNTHETIC):
                words = {"what": f"{model}, a real model: nothing is planted", "label": f"{model}, real"}
                nothing = dict.fromkeys(("planted", "coverage", "corpora"))
                rows.append({**row, **words, **by_truth[model], **nothing, "verdict": "–"})
    frame = pl.DataFrame(rows, infer_schema_length=None)
    judged = frame.drop_nulls("planted")
    held = judged.filter((pl.col("low") <= pl.col("planted")) & (pl.col("planted") <= pl.col("high")))
    facts = {"values": len(judged), "held": len(held), "corpora": int(judged["corpora"][0])}
    return Data(frame, {**facts, "as_planted": int((judged["verdict"] == AS_PLANTED).sum())})


def _verdict(planted: float, low: float | None, high: float | None, none: float | None) -> str:
    """What an interval says of a planted value.

    >>> _verdict(0.5, 0.4, 0.6, 0), _verdict(0.5, -0.1, 0.6, 0)
    ('as planted', 'not found: the interval also holds 0')
    >>> _verdict(0.5, 0.6, 0.7, 0), _verdict(0, -0.1, 0.2, None)
    ('missed: outside the interval', 'as planted')
    """
    if low is None or high is None:
        return "not found: no interval"
    if not low <= planted <= high:
        return "missed: outside the interval"
    if none is not None and low <= none <= high:
        return f"not found: the interval also holds {none:g}"
    return AS_PLANTED


def planted_sets(demo: Demo) -> pl.DataFrame:
    """Who and what was planted, beside who and what was found."""
    people = demo.people.raters
    careless = people.filter(pl.col("planted").is_in(["answers at random", "gives one answer"]))["rater"]
    narrow = people.filter(pl.col("planted").str.starts_with("uses less"))["rater"]
    good = demo.corpus.raters.filter(pl.col("planted") == "as good as a careful person")["rater"]
    flags = rater_quality(demo.kept).explode("flags").filter(pl.col("flags").str.starts_with("uses a narrow part"))
    items = demo.corpus.items
    ambiguous = items.filter(reading="ambiguous")["item"]
    # Nothing is planted about a real model, so that it is neither found nor missed.
    passing = alt_test(demo.trust, resamples=demo.resamples, seed=demo.seed).filter("stands_in")["model"]
    among_models = [model for model in passing if model in SYNTHETIC]
    pairs: dict[str, tuple[Sequence[str], Sequence[str], int]] = {
        "careless-raters": (sorted(careless), demo.careless, len(people)),
        "narrow-raters": (sorted(narrow), sorted(flags["rater"].unique()), demo.kept.raters.height),
        "good-models": (sorted(good), among_models, len(SYNTHETIC)),
        "ambiguous-items": (sorted(ambiguous), sorted(demo.split.filter("split")["item"]), len(items)),
    }
    rows = []
    for truth in _truths()["sets"]:
        planted, hits, among = pairs[truth["id"]]
        missed, alarms = len(set(planted) - set(hits)), len(set(hits) - set(planted))
        wrong = f"{missed} missed, {alarms} too many" if missed or alarms else ""
        row = {**truth, "planted": _listed(planted), "found": _listed(hits), "among": among, "missed": missed}
        errors = f"; {wrong}" if wrong else ""
        rows.append({**row, "false_alarms": alarms, "verdict": wrong or AS_PLANTED, "errors": errors})
    return pl.DataFrame(rows)


def _listed(names: Sequence[str], most: int = 4) -> str:
    return ", ".join(names) if 0 < len(names) <= most else str(len(names) or "none")


def followed(demo: Demo) -> pl.DataFrame:
    """How well each model's answers follow the mean of people's; sentences are about those that are `real`."""
    rows = [{**demo.followed(model), "model": model} for model in demo.models]
    real = pl.when(~pl.col("model").is_in(SYNTHETIC)).then("estimate").alias("real")
    return pl.DataFrame(rows).select("model", "estimate", "low", "high", "bias", "units", real)


def split_sentences(demo: Demo) -> pl.DataFrame:
    """The sentences about which people are split most evenly, with what was planted."""
    known = demo.corpus.items.select("item", "text", "reading")
    return (
        demo.split.join(known, on="item", how="left")
        .sort("estimate", descending=True)
        .head(15)
        .select("item", "text", "low_share", "high_share", "split", pl.col("reading").alias("planted"))
    )


@cache
def _truths() -> dict[str, list[dict[str, Any]]]:
    data: dict[str, list[dict[str, Any]]] = Document.bundled("vantage.studies.demo", "truths.yaml").data
    return data


STUDY: Final = recipe_study("demo", __package__, collect, sys.modules[__name__], prepare=Demo.from_run)
