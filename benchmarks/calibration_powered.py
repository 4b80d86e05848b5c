"""Coverage and width of powered estimates on data whose every answer is known: politeness (CDI) and DICES-350.

`python -m benchmarks.calibration_powered cdi 500` and `… dices 100` add to benchmarks/calibration_powered.json, each
run with draws of its own, and write the tables of docs/powered.md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.calibration import DATA
from vantage import measures
from vantage.measures.powered import contributions

Floats = NDArray[np.float64]

COUNTS = Path(__file__).with_suffix(".json")
PAGE = Path(__file__).parents[1] / "docs" / "powered.md"
RESAMPLES = 200
MODEL = "model"
ITEMS, JUDGED, PEOPLE = 350, 60, 30
"""Items of a draw from DICES-350, with replacement; how many of them people judge; and how many people."""
SAMPLES = 10
"""How often a model that gives a distribution answers each item."""
SIZES = (100, 200, 500)


@cache
def politeness() -> pl.DataFrame:
    """The requests with people's labels, GPT-4o's, and the text features."""
    frame = pl.read_csv(DATA / "cdi" / "politeness_dataset.csv")
    return frame.with_columns(
        human=pl.col("Prediction_human").cast(pl.Float64),
        model=(pl.col("Prediction_gpt-4o") == "polite").cast(pl.Float64),
    )


def judged(frame: pl.DataFrame, chosen: NDArray[np.int64]) -> pl.DataFrame:
    """Judgments of the model on all requests and of people on the chosen ones, with the text features."""
    features = [name for name in frame.columns if name.startswith("Feature_")]
    every = frame.with_row_index("item").with_columns(pl.col("item").cast(pl.Int64))
    sides = [(every, "model", MODEL), (every[chosen], "human", "people")]
    return pl.concat(
        [
            part.select("item", pl.lit(rater).alias("rater"), pl.col(name).alias("value"), *features)
            for part, name, rater in sides
        ]
    )


def cdi(draws: int, seed: int = 0) -> dict[str, Any]:
    """Coverage of the prevalence, effective labels, and how often the misleading feature is significant."""
    frame = politeness()
    truth = float(frame["human"].mean())  # type: ignore[arg-type]
    feature = misleading()
    out: dict[str, Any] = {"truth": truth, "feature": feature}
    for n in SIZES:
        held = dict.fromkeys(("people", "model", "both"), 0)
        labels, significant = [], 0
        for draw in range(draws):
            rng = np.random.default_rng([seed, n, draw])
            table = judged(frame, rng.permutation(len(frame))[:n])
            estimates = measures.prevalence(table, powered_by=MODEL)
            for row in estimates.iter_rows(named=True):
                held[row["judged_by"]] += row["low"] <= truth <= row["high"]
            labels.append(n + estimates["labels_gained"][2])
            fit = measures.regress(table, on=[feature], powered_by=MODEL).filter(judged_by="both", term=feature)
            significant += (fit["p"][0] or 1.0) < 0.05
        out[str(n)] = {"draws": draws, **held, "labels": float(np.median(labels)), "significant": significant}
    return out


@cache
def misleading() -> str:
    """The feature that differs most between the model's labels, where people's labels show nothing."""
    frame = politeness()
    features = [name for name in frame.columns if name.startswith("Feature_")]
    p = {}
    for name in features:
        fits = [
            measures.regress(
                frame.select(pl.int_range(pl.len()).alias("item"), pl.lit("r").alias("rater"), name, value=side),
                on=[name],
            ).filter(term=name)["p"][0]
            for side in ("model", "human")
        ]
        p[name] = fits
    return min(
        (name for name, (_, human) in p.items() if human is not None and human > 0.5), key=lambda name: p[name][0]
    )


def population() -> tuple[NDArray[np.int64], list[str]]:
    """The answers of DICES-350 as codes (0 safe, 1 unsure, 2 unsafe), items × raters, and the texts."""
    file = json.loads((DATA / "dices" / "dices_350_crowdsourced.json").read_text(encoding="utf-8"))
    codes = {"Yes": 0, "Unsure": 1, "No": 2}
    rows = file["instances"]
    answers = [[codes[a] for a in row["annotations"]["safety"]["individual_human_scores"]] for row in rows]
    return np.array(answers), [" ".join(row["instance"].values()) for row in rows]


def shares_of(answers: NDArray[np.int64]) -> Floats:
    """The distribution of the answers to each item."""
    return np.stack([(answers == code).mean(axis=1) for code in range(3)], axis=1)


def models(answers: NDArray[np.int64], texts: list[str]) -> dict[str, Floats]:
    """What each model answers, as a distribution for each item of the population."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline

    real = shares_of(answers)
    learnt = make_pipeline(TfidfVectorizer(sublinear_tf=True, min_df=2), Ridge(1.0))
    predicted = np.clip(cross_val_predict(learnt, texts, real, cv=10), 0.02, None)
    most = np.eye(3)[real.argmax(axis=1)]
    return {
        "noisy copy": 0.8 * real + 0.2 / 3,
        "one label": 0.8 * most + 0.2 / 3,
        "TF-IDF": predicted / predicted.sum(axis=1, keepdims=True),
        "random": np.full_like(real, 1 / 3),
        "constant": np.tile([1.0, 0.0, 0.0], (len(real), 1)),
        "adversarial": 0.8 * real[:, ::-1] + 0.2 / 3,
    }


MEASURES: Mapping[str, tuple[Callable[..., pl.DataFrame], dict[str, Any]]] = {
    "alpha": (measures.alpha, {"level": "nominal"}),
    "entropy": (measures.entropy, {}),
    "share unsafe": (measures.prevalence, {"value": 2}),
    "split items": (measures.split_items, {"neutral": 1}),
}


def long(items: NDArray[np.int64], raters: list[str], values: NDArray[np.int64], sample: int = 0) -> pl.DataFrame:
    """A table of items × raters as judgments."""
    item, rater = (grid.ravel() for grid in np.indices(values.shape))
    return pl.DataFrame({"item": items[item], "rater": np.array(raters)[rater], "value": values.ravel()}).with_columns(
        pl.lit(sample).alias("sample")
    )


def truths(answers: NDArray[np.int64], draws: int = 300) -> dict[str, float]:
    """The values of the population; those of entropy and split items are for so many people."""
    everyone = long(np.arange(len(answers)), [f"p{n}" for n in range(answers.shape[1])], answers)
    rng = np.random.default_rng(9)
    per_item: dict[str, list[float]] = {"entropy": [], "split items": []}
    for _ in range(draws):
        chosen = rng.permutation(answers.shape[1])[:PEOPLE]
        some = long(np.arange(len(answers)), [f"p{n}" for n in chosen], answers[:, chosen])
        for name, values in per_item.items():
            function, options = MEASURES[name]
            values.append(function(some, ci="none", **options)["estimate"][0])
    whole = {
        name: MEASURES[name][0](everyone, ci="none", **MEASURES[name][1])["estimate"][0]
        for name in ("alpha", "share unsafe")
    }
    return whole | {name: float(np.mean(values)) for name, values in per_item.items()}


def drawn(answers: NDArray[np.int64], said: Floats, single: bool, rng: np.random.Generator) -> pl.DataFrame:
    """A draw: items with replacement, people on some of them, and the model on all."""
    place = rng.integers(0, len(answers), ITEMS)
    items = np.arange(ITEMS)
    people = rng.permutation(answers.shape[1])[:PEOPLE]
    asked = long(items[:JUDGED], [f"p{n}" for n in people], answers[np.ix_(place[:JUDGED], people)])
    edges = said[place].cumsum(axis=1)
    replies = [
        long(items, [MODEL], (rng.random(ITEMS)[:, None] > edges).sum(axis=1)[:, None].clip(max=2), sample)
        for sample in range(1 if single else SAMPLES)
    ]
    return pl.concat([asked, *replies])


def dices_350(draws: int, seed: int = 0) -> dict[str, Any]:
    """How often intervals hold the value of the population, and how wide they are beside those of people alone."""
    answers, texts = population()
    truth, every = truths(answers), models(answers, texts)
    out: dict[str, Any] = {}
    for draw in range(draws):
        for measure, (function, options) in MEASURES.items():
            with same_people():
                for name, said in every.items():
                    table = drawn(answers, said, name == "one label", np.random.default_rng([seed, draw]))
                    estimates = function(table, powered_by=MODEL, resamples=RESAMPLES, seed=draw, **options)
                    people, _, both = estimates.iter_rows(named=True)
                    held = {"draws": 1} | {
                        side: int(row["low"] <= truth[measure] <= row["high"])
                        for side, row in (("both", both), ("people", people))
                    }
                    width = (both["high"] - both["low"]) / (people["high"] - people["low"])
                    added(out, {f"{name}, {measure}": held | {"width": width, "lambda": both["lambda"]}})
    return out


@contextmanager
def same_people() -> Iterator[None]:
    """Leaves out raters once for all models, since people's judgments of a draw are the same for each of them."""
    real = contributions.without_each_rater
    kept: list[Any] = []

    def once(*arguments: Any) -> Any:
        if not kept:
            kept.append(real(*arguments))
        return kept[0]

    with patch("vantage.measures.powered.estimate.without_each_rater", once):
        yield


def added(counts: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    """Counts of several runs together."""
    for name, row in further.items():
        before = counts.get(name, {})
        counts[name] = {key: before.get(key, 0) + value for key, value in row.items()}
    return counts


def tables(counts: dict[str, Any]) -> str:
    """The two tables of docs/powered.md."""
    lines = []
    if counted := counts.get("cdi"):
        lines += ["| people's labels | people alone | model alone | both | effective labels | feature significant |"]
        lines += ["| ---: | ---: | ---: | ---: | ---: | ---: |"]
        for n in map(str, SIZES):
            row = counted[n]
            shares = [f"{100 * row[name] / row['draws']:.1f} %" for name in ("people", "model", "both")]
            significant = f"{100 * row['significant'] / row['draws']:.1f} %"
            lines.append(f"| {n} | {' | '.join(shares)} | {row['labels']:.0f} | {significant} |")
        lines.append("")
    if counted := counts.get("dices"):
        lines += [f"| model | {' | '.join(MEASURES)} |", f"| --- |{' ---: |' * len(MEASURES)}"]
        names = list(dict.fromkeys(name.split(", ")[0] for name in counted))
        for model in names:
            cells = []
            for measure in MEASURES:
                row = counted[f"{model}, {measure}"]
                share, width = row["both"] / row["draws"], row["width"] / row["draws"]
                cells.append(f"{100 * share:.1f} % ({width:.2f})")
            lines.append(f"| {model} | {' | '.join(cells)} |")
        # People's judgments of a draw are the same beside every model.
        alone = [counted[f"{names[0]}, {measure}"] for measure in MEASURES]
        cells = [f"{100 * row['people'] / row['draws']:.1f} %" for row in alone]
        lines.append(f"| people alone | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    words = sys.argv[1:]
    draws = next((int(word) for word in words if word.isdecimal()), 100)
    counts = json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    start = time.perf_counter()
    if "cdi" in words or "dices" not in words:
        counts["cdi"] = cdi(draws)
    if "dices" in words or "cdi" not in words:
        before = counts.get("dices", {})
        done = max((row["draws"] for row in before.values()), default=0)
        counts["dices"] = added(before, dices_350(draws, seed=1 + done))
    COUNTS.write_text(json.dumps(counts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if PAGE.exists():
        head, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- coverage -->\n")
        _, _, tail = rest.partition("<!-- /coverage -->")
        PAGE.write_text(f"{head}<!-- coverage -->\n\n{tables(counts)}\n\n<!-- /coverage -->{tail}", encoding="utf-8")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
